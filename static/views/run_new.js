// SPDX-License-Identifier: Apache-2.0
// The form that starts a run. The server checks it and shows the very messages that the model would be sent.
import { useEffect, useRef, useState } from '../vendor/preact.js';
import { call, token, useData } from '../api.js';
import { number, problemTitle } from '../format.js';
import { link, navigate, useQuery } from '../router.js';
import { bodyOf, faultsAt, firstValues, served, suits } from '../run_form.js';
import { tokens as tokensText } from '../runs.js';
import { Empty, html, Load, Loading, Notice, Section, Select, TokenField } from '../ui.js';
import { MessageList } from './messages.js';

const DEFAULTS = 3; // variants, as many as a run has that names none
const HISTORIES = [
  ['full', 'everything so far'],
  ['latest-pair', 'the last answer and its feedback'],
  ['single-user', 'everything so far, as one message'],
];
const FEEDBACKS = [
  ['full', 'all that helps'],
  ['paper', 'what the paper’s agent was told'],
];
const EFFORTS = [['', 'its own'], 'none', 'low', 'medium', 'high', 'xhigh'];
const VISIBILITIES = [
  ['public', 'everybody'],
  ['private', 'me'],
];

export default function NewRun() {
  const [{ from }] = useQuery();
  const base = useData(['/v1/problems', '/v1/archs', '/v1/queue', '/v1/runs?limit=50']);
  const like = useData(from ? `/v1/runs/${from}` : null);
  return html`<h1>Start a run</h1>
    <p class="lead">A model writes kernels for one problem. Each prompt is tried in several trajectories; in each turn
      of one the model answers with a kernel and is told what came of it.</p>
    <${Load} of=${base}>${([problems, archs, queue, runs]) =>
      from && !like.data && !like.error
        ? null
        : html`<${Form} problems=${problems.items} archs=${archs.items} lanes=${queue.lanes} runs=${runs.items}
            like=${like.data} />`}<//>`;
}

// ---- variants ----

// name → tokens of the whole prompt, as they come; asked for once.
const sizes = new Map();
function useSizes(v, names) {
  const [, again] = useState(0);
  const key = (name) =>
    link('/v1/prompts/preview', { arch: v.arch, problem: v.problem, workload: v.workload, variant: name });
  useEffect(() => {
    const ask = async () => {
      for (const path of names.map(key).filter((k) => !sizes.has(k))) {
        sizes.set(path, null);
        await call(path).then(
          (p) => sizes.set(path, p),
          () => sizes.delete(path),
        );
        again((n) => n + 1);
      }
    };
    ask();
  }, [names.map(key).join()]);
  return (name) => sizes.get(key(name));
}

function Variants({ all, chosen, v, change, faults }) {
  const size = useSizes(v, chosen);
  const shown = [...all].sort((a, b) => suits(b, v.problem) - suits(a, v.problem));
  const toggle = (name) => () =>
    change(
      chosen.includes(name)
        ? chosen.filter((n) => n !== name)
        : all.map((x) => x.name).filter((n) => n === name || chosen.includes(n)),
    );
  return html`<fieldset class="variants" aria-invalid=${faults.length ? 'true' : undefined}>
    <legend>Prompts: each has its trajectories</legend>
    <ul>${shown.map((x) => {
      const s = chosen.includes(x.name) ? size(x.name) : null;
      return html`<li><label class=${suits(x, v.problem) ? '' : 'other'}><input type="checkbox" name="variants"
        value=${x.name} checked=${chosen.includes(x.name)} onChange=${toggle(x.name)} /><span><b>${x.name}</b>
        ${s && html` <span class="size">${s.estimated ? 'about ' : ''}${number(s.tokens)} tokens</span>`}
        <small>${/^(ablation|every)/.test(x.for) ? '' : 'for '}${x.for}</small></span></label></li>`;
    })}</ul>${faults.map((f) => html`<small class="bad">${f.detail}</small>`)}</fieldset>`;
}

// ---- the form ----

function Field({ label, path, v, set, outcome, note, ...input }) {
  const name = path.split('.').at(-1);
  const faults = faultsAt(outcome, path);
  return html`<label>${label}<input name=${name} value=${v[name]} autocomplete="off" spellcheck=${false} ...${input}
    aria-invalid=${faults.length ? 'true' : undefined} onInput=${(e) => set({ [name]: e.target.value })} />
    ${faults.map((f) => html`<small class="bad">${f.detail}</small>`)}${note && html`<small>${note}</small>`}</label>`;
}

function Form(all) {
  const [query] = useQuery();
  const [v, setAll] = useState(() => firstValues(all, query));
  const [outcome, say] = useState(null),
    [busy, wait] = useState(false);
  const prompts = useData(link('/v1/prompts', { arch: v.arch }));
  const set = (change) => {
    setAll((was) => ({ ...was, ...change }));
    say(null);
  };
  const variants = prompts.data?.items || [];
  const names = variants.map((x) => x.name);
  const usual = variants
    .filter((x) => suits(x, v.problem))
    .slice(0, DEFAULTS)
    .map((x) => x.name);
  const chosen = v.variants ? v.variants.filter((n) => names.includes(n)) : usual;
  const problem = all.problems.find((p) => p.name === v.problem) || all.problems[0];
  const post = async (dry) => {
    wait(true);
    say(null);
    try {
      const got = await call(`/v1/runs${dry ? '?dry_run=1' : ''}`, {
        method: 'POST',
        body: bodyOf({ ...v, variants: chosen }),
      });
      if (dry) say(got);
      else navigate(`/runs/${got.id}`);
    } catch (e) {
      say(e);
    }
    wait(false);
  };
  const given = { v, set, outcome };
  return html`<form class="new-run" noValidate onSubmit=${(e) => {
    e.preventDefault();
    post(false);
  }}>
    <h2>The task</h2><${What} ...${given} all=${all} problem=${problem} />
    <h2>The model</h2><${Who} ...${given} all=${all} />
    <h2>What it is told</h2>${!prompts.data && !prompts.error && html`<${Loading} />`}
    ${prompts.error && html`<${Notice} error=${prompts.error} />`}
    <${Variants} all=${variants} chosen=${chosen} v=${v} change=${(list) => set({ variants: list })}
      faults=${faultsAt(outcome, '$.variants')} />
    <${Told} ...${given} />
    <h2>How far it goes</h2><${Limits} ...${given} />
    <${Size} v=${v} chosen=${chosen} />
    <p class="row"><button class="main" disabled=${busy}>Start the run</button>
      <button type="button" disabled=${busy} onClick=${() => post(true)}>Check, and show the messages</button></p>
    <${Outcome} of=${outcome} />
    ${!token.get() && html`<details><summary>From another machine</summary><${TokenField} /></details>`}</form>`;
}

function What({ v, set, outcome, all, problem }) {
  const gpus = served(all.lanes, false);
  const devices = [...new Set(['gpu', 'cpu', ...gpus.filter(([a]) => a === v.arch).map(([, d]) => d), v.device])];
  const isServed = gpus.some(([a, d]) => a === v.arch && (d === v.device || (v.device === 'gpu' && d !== 'cpu')));
  return html`<div class="row">
      <${Select} label="Problem" value=${v.problem} options=${all.problems.map((p) => [p.name, problemTitle(p.name)])}
        onChange=${(x) => set({ problem: x, workload: '', variants: null })} />
      <${Select} label="Architecture" value=${v.arch} options=${all.archs.map((a) => [a.name, `${a.name} ${a.title}`])}
        onChange=${(x) => set({ arch: x, variants: null })} />
      <${Select} label="Device" value=${v.device} options=${devices}
        onChange=${(x) => set({ device: x, workload: '' })} />
      <${Select} label="Workload" value=${v.workload} options=${[['', 'the usual'], ...problem.workload_names]}
        onChange=${(x) => set({ workload: x })} />
      <${Field} label="Name, if it should have one" path="$.name" maxlength="64" ...${{ v, set, outcome }} /></div>
    ${
      !isServed &&
      html`<${Notice} kind="wait"><p>No worker serves ${v.arch} on ${v.device} at the moment; kernels would
      wait.</p><//>`
    }`;
}

function Who({ v, set, outcome, all }) {
  const figure = { type: 'number', inputmode: 'decimal', placeholder: 'its own', v, set, outcome };
  const providers = [...new Set(served(all.lanes, true).map(([, p]) => p))];
  const models = [...new Set(all.runs.filter((r) => r.provider === v.provider).map((r) => r.model))];
  return html`<div class="row">
      <${Field} label="Provider" path="$.provider" list="providers" maxlength="64" required ...${{ v, set, outcome }} />
      <datalist id="providers">${providers.map((p) => html`<option value=${p}></option>`)}</datalist>
      <${Field} label="Model" path="$.model" list="models" maxlength="128" required ...${{ v, set, outcome }} />
      <datalist id="models">${models.map((m) => html`<option value=${m}></option>`)}</datalist>
      <${Field} label="Condition" path="$.condition" maxlength="128" placeholder="what is done differently"
        ...${{ v, set, outcome }} /></div>
    <p class="quiet">Provider and model are names in the file of the machine that runs the agent: addresses and keys
      stand there.</p>
    ${
      v.provider &&
      !providers.includes(v.provider) &&
      html`<${Notice} kind="wait"><p>No agent serves the provider
      “${v.provider}” at the moment; calls would wait for one.</p><//>`
    }
    <div class="row">
      <${Select} label="Effort" value=${v.effort} options=${EFFORTS} onChange=${(x) => set({ effort: x })} />
      <${Field} label="Tokens of an answer, at most" path="$.params.max_tokens" ...${figure} min="1" />
      <${Field} label="Temperature" path="$.params.temperature" ...${figure} min="0" max="2" step="any" />
      <${Field} label="Top p" path="$.params.top_p" ...${figure} min="0" max="1" step="any" /></div>`;
}

function Told({ v, set }) {
  return html`<div class="row">
      <${Select} label="A call carries" value=${v.history} options=${HISTORIES}
        onChange=${(x) => set({ history: x })} />
      <${Select} label="After each turn it hears" value=${v.feedback} options=${FEEDBACKS}
        onChange=${(x) => set({ feedback: x })} /></div>`;
}

function Limits({ v, set, outcome }) {
  const figure = { type: 'number', inputmode: 'decimal', v, set, outcome };
  return html`<div class="row">
      <${Field} label="Trajectories of each prompt" path="$.trajectories" min="1" max="256" ...${figure} />
      <${Field} label="Turns of each, at most" path="$.turns" min="1" max="64" ...${figure} />
      <${Field} label="Ends early at a speedup of" path="$.target_speedup" min="0.01" step="any" ...${figure} /></div>
    <div class="row">
      <${Field} label="Budget, dollars" path="$.budget.usd" placeholder="none" ...${figure} min="0" step="any" />
      <${Field} label="Budget, tokens" path="$.budget.tokens" placeholder="none" ...${figure} min="0" />
      <${Select} label="Visible to" value=${v.visibility} options=${VISIBILITIES}
        onChange=${(x) => set({ visibility: x })} /></div>`;
}

// How large it is, before it costs anything.
function Size({ v, chosen }) {
  const all = chosen.length * Number(v.trajectories);
  if (!all || !Number(v.turns)) return null;
  const many = (n, one) => `${number(n)} ${one}${n === 1 ? '' : 's'}`;
  return html`<p class="size" role="status">${many(chosen.length, 'prompt')} × ${v.trajectories} × ${many(
    Number(v.turns),
    'turn',
  )}: ${number(all)} ${all === 1 ? 'trajectory' : 'trajectories'}, at most <b>${many(all * Number(v.turns), 'call')}</b>
    ${' '}of the model.</p>`;
}

// ---- what the server says ----

function Outcome({ of }) {
  const at = useRef(null);
  useEffect(() => {
    if (of) at.current?.scrollIntoView({ block: 'nearest' });
  }, [of]);
  if (!of) return null;
  if (of instanceof Error) {
    return html`<div ref=${at}><${Notice} error=${{ message: of.message, status: of.status }}>${
      of.faults?.length > 0 && html`<ul>${of.faults.map((f) => html`<li><code>${f.path}</code> ${f.detail}</li>`)}</ul>`
    }<//></div>`;
  }
  return html`<div ref=${at}><${Notice} kind="good"><p>Valid. Nothing is stored, and no model is asked yet.</p><//>
    <${Section} title="What the model would be sent first">${
      of.messages?.length
        ? of.messages.map(
            (m) => html`<details class="preview"><summary><b>${m.name}</b> <span class="quiet">about
            ${' '}${tokensText(m.tokens)} tokens · sha256 ${m.sha256.slice(0, 12)}…</span></summary>
            <${MessageList} messages=${m.messages} sha256=${m.sha256} tokens=${m.tokens} /></details>`,
          )
        : html`<${Empty}>Nothing.<//>`
    }<//></div>`;
}
