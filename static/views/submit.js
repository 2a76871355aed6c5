// SPDX-License-Identifier: Apache-2.0
// The editor: examples to begin with, validation by the server on demand, then the submission's own page.
import { useEffect, useRef, useState } from '../vendor/preact.js';
import { call, token, useData } from '../api.js';
import { problemTitle } from '../format.js';
import { navigate, useQuery } from '../router.js';
import { html, Load, Notice, Select, TokenField } from '../ui.js';

const MODES = [
  ['rank', 'rank: everything'],
  ['check', 'check: stop after correctness'],
  ['compile', 'compile: stop after the compiler'],
];
// What is typed survives a look at another page, in this tab.
const draft = {
  get: () => sessionStorage.getItem('draft') || '',
  set: (text) => sessionStorage.setItem('draft', text),
};

export default function Submit() {
  const base = useData(['/v1/problems', '/v1/archs', '/v1/queue', '/examples.json']);
  return html`<h1>Submit a kernel</h1>
    <p class="lead">Device code in CUDA or PTX; no host code. 
      The launch plan is JSON in a block comment that begins with <code>/*ptxbench-launch</code>.</p>
    <${Load} of=${base}>${([problems, archs, queue, examples]) => html`<${Editor} problems=${problems.items}
      archs=${archs.items} lanes=${queue.lanes} examples=${examples} />`}<//>`;
}

function choose(query, { problems, archs, lanes }) {
  const problem = problems.find((p) => p.name === query.problem) || problems[0];
  const served = lanes.filter((l) => l.healthy).map((l) => l.name.split('/'));
  const arch =
    archs.find((a) => a.name === query.arch)?.name ||
    served.find(([a]) => a === 'sm_90a')?.[0] ||
    served[0]?.[0] ||
    archs[0].name;
  const devices = [...new Set(['cpu', 'gpu', ...served.filter(([a]) => a === arch).map(([, d]) => d)])];
  const device = devices.includes(query.device)
    ? query.device
    : served.find(([a, d]) => a === arch && d !== 'cpu')?.[1] || 'cpu';
  const preferred = device === 'cpu' && problem.cpu_workload ? problem.cpu_workload : problem.default_workload;
  const workload = problem.workload_names.includes(query.workload) ? query.workload : preferred;
  const isServed = served.some(([a, d]) => a === arch && (d === device || (device === 'gpu' && d !== 'cpu')));
  return { problem, arch, device, devices, workload, isServed };
}

function Editor(all) {
  const [query, set] = useQuery();
  const { problem, arch, device, devices, workload, isServed } = choose(query, all);
  const [source, edit] = useState(draft.get()),
    [label, setLabel] = useState(''),
    [method, setMethod] = useState(''),
    [mode, setMode] = useState('rank');
  const [outcome, say] = useState(null),
    [busy, wait] = useState(false);
  const area = useRef(null);
  const examples = all.examples[problem.name] || [];
  const write = (text) => {
    edit(text);
    draft.set(text);
    say(null);
  };
  const open = async (name) => {
    const text = await call(`/problems/${problem.name}/examples/${name}`, { text: true });
    write(text);
    if (!label) setLabel(name);
  };
  useEffect(() => {
    if (query.example && examples.includes(query.example)) open(query.example).catch(say);
  }, [query.example, problem.name]);
  const post = async (dry) => {
    wait(true);
    say(null);
    try {
      const body = {
        problem: problem.name,
        workload,
        arch,
        device,
        mode,
        source,
        ...(label && { label }),
        ...(method && { method }),
      };
      const got = await call(`/v1/submissions${dry ? '?dry_run=1' : ''}`, { method: 'POST', body });
      if (dry) say(got);
      else navigate(`/submissions/${got.id}`);
    } catch (e) {
      say(e);
    }
    wait(false);
  };
  const keys = (e) => {
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) {
      e.preventDefault();
      post(false);
    }
  };
  const pick = (name) => (value) =>
    set(
      { [name]: value, ...(name === 'problem' || name === 'device' ? { workload: '' } : {}), example: '' },
      { replace: true },
    );
  return html`<form onSubmit=${(e) => {
    e.preventDefault();
    post(false);
  }} onKeyDown=${keys}>
    <div class="row">
      <${Select} label="Problem" value=${problem.name}
        options=${all.problems.map((p) => [p.name, problemTitle(p.name)])} onChange=${pick('problem')} />
      <${Select} label="Architecture" value=${arch} options=${all.archs.map((a) => [a.name, `${a.name} ${a.title}`])}
        onChange=${pick('arch')} />
      <${Select} label="Device" value=${device} options=${devices} onChange=${pick('device')} />
      <${Select} label="Workload" value=${workload} options=${problem.workload_names} onChange=${pick('workload')} />
      <${Select} label="How far" value=${mode} options=${MODES} onChange=${setMode} />
    </div>
    ${!isServed && html`<${Notice} kind="wait">
      <p>No worker serves ${arch} on ${device} at the moment; a submission would wait.</p><//>`}
    <div class="row">
      <${Select} label="Begin with an example" value="" options=${[['', 'choose'], ...examples]}
        onChange=${(name) => name && open(name).catch(say)} />
      <label>Label, shown on the board<input value=${label} maxlength="200"
        onInput=${(e) => setLabel(e.target.value)} /></label>
      <label>Method<input value=${method} maxlength="200" placeholder="by hand, a model, an agent"
        onInput=${(e) => setMethod(e.target.value)} /></label>
      <a href=${`/problems/${problem.name}`}>The problem</a>
    </div>
    <label>Source<textarea ref=${area} required spellcheck=${false} autocapitalize="off" autocomplete="off" wrap="off"
      value=${source} onInput=${(e) => write(e.target.value)}
      placeholder="Paste CUDA device code or a PTX module"></textarea></label>
    <p class="row"><button class="main" disabled=${busy}>Submit</button>
      <button type="button" disabled=${busy || !source} onClick=${() => post(true)}>Check the plan only</button>
      <small>Ctrl + Enter submits</small></p>
    <${Outcome} of=${outcome} source=${source} area=${area} />
    ${!token.get() && html`<details><summary>From another machine</summary><${TokenField} /></details>`}
  </form>`;
}

// What validation found; a fault that names a member of the plan leads to it in the text.
function Outcome({ of, source, area }) {
  if (!of) return null;
  if (!(of instanceof Error))
    return html`<${Notice} kind="good"><p>Valid, for the lane ${of.lane?.name || of.lane}. Nothing is stored yet.</p>
      <//>`;
  const show = (path) => {
    const name = /([A-Za-z_]\w*)[^A-Za-z_]*$/.exec(path)?.[1];
    const at = name ? source.indexOf(`"${name}"`) : -1;
    area.current.focus();
    if (at >= 0) area.current.setSelectionRange(at, at + name.length + 2);
  };
  return html`<${Notice} error=${{ message: of.message, status: of.status }}>${
    of.faults?.length > 0 &&
    html`<ul>${of.faults.map(
      (f) => html`<li>
    <button type="button" class="small mono" onClick=${() => show(f.path)}>${f.path}</button> ${f.detail}</li>`,
    )}</ul>`
  }<//>`;
}
