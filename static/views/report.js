// SPDX-License-Identifier: Apache-2.0
// The parts of a report (evaluator/report.h). What an evaluation did not come to is not shown.
import { useEffect, useState } from '../vendor/preact.js';
import { call, download, exists } from '../api.js';
import { Histogram, Roofline } from '../chart.js';
import { Source } from '../code.js';
import { evaluate } from '../expr.js';
import { bytes, duration, number, share, times } from '../format.js';
import { Facts, html, Notice, Section, Table } from '../ui.js';

const yesNo = (v) => (v === true ? 'yes' : v === false ? 'no' : null);

export function Report({ report, submission }) {
  return html`<${Numbers} report=${report} submission=${submission} /><${Findings} report=${report} />
    <${TargetInstructions} report=${report} />
    <${Accuracy} report=${report} /><${Kernels} report=${report} /><${Environment} report=${report} />`;
}

// ---- time ----

function Interval({ value, ci95 }) {
  const low = Math.min(0.9, ci95[0] * 0.98),
    high = Math.max(1.1, ci95[1] * 1.02);
  const x = (v) => `${(100 * (v - low)) / (high - low)}%`;
  return html`<p class="quiet">Speedup with its 95 % interval, from ${times(low)} to ${times(high)}; the line is the
      vendor’s library, 1.0.</p><span class="meter wide"><span class="track" role="img" aria-label=${`${times(value)},
    95 % interval ${times(ci95[0])} to ${times(ci95[1])}`}>
    <i class="one" style=${{ left: x(1) }}></i><i class="ci" style=${{ left: x(ci95[0]),
      width: `${(100 * (ci95[1] - ci95[0])) / (high - low)}%` }}></i>
    <i class="point" style=${{ left: x(value) }}></i></span><span class="figure">${times(value)}</span></span>`;
}

function Numbers({ report, submission }) {
  const t = report.timing;
  if (!t) return null;
  const rows = [
    {
      name: 'candidate',
      median: t.candidate?.median_us,
      mean: t.candidate?.mean_us,
      first: t.candidate?.first_us,
      rest: t.candidate?.rest_us,
    },
    {
      name: report.baseline ? `${report.baseline.name} ${report.baseline.version || ''}` : 'baseline',
      median: t.baseline?.median_us,
      mean: t.baseline?.mean_us,
    },
  ];
  const us = (name, head) => ({
    head,
    csv: `${name}_us`,
    num: true,
    value: (r) => r[name],
    cell: (r) => number(r[name]),
  });
  const blocks = t.block_us || [];
  const series = [
    { name: 'baseline', colour: 'c0', values: blocks.flatMap(([a, , , d]) => [a, d]) },
    { name: 'candidate', colour: 'accent', values: blocks.flatMap(([, b, c]) => [b, c]) },
  ];
  return html`<${Section} title="Time">
    ${submission.speedup?.ci95 && html`<${Interval} ...${submission.speedup} />`}
    <${Table} name="Times" columns=${[{ head: 'µs', value: (r) => r.name }, us('median', 'Median'),
      us('mean', 'Mean'), us('first', 'First of a batch'), us('rest', 'Others')]} rows=${rows} />
    <${Facts} rows=${[
      ['Blocks', t.blocks && `${number(t.blocks)} in ${number(t.batches)} batches`],
      ['Input and output slots', t.slots && number(t.slots)],
      ['Empty kernel', t.floor_us && `${number(t.floor_us)} µs`],
      ['Share of the roofline', typeof t.roofline_share === 'number' && share(t.roofline_share)],
    ]} />
    <div class="charts">${
      blocks.length > 1 &&
      html`<${Histogram} title=${html`Launches: <i class="swatch accent"></i> candidate, <i
        class="swatch"></i> baseline`}
        label=${`Histogram of ${number(2 * blocks.length)} launches each of candidate and baseline`} series=${series}
          unit="µs" />`
    }
      <${RooflineOf} report=${report} /></div>
    ${
      t.launches?.length > 1 &&
      html`<${Table} name="Launches of the plan" columns=${[
        { head: 'Kernel', cls: 'wide mono', value: (l) => l.kernel },
        { head: 'µs', num: true, value: (l) => l.us, cell: (l) => number(l.us) },
      ]} rows=${t.launches} />`
    }
  <//>`;
}

// Needs the problem's formulas and the architecture's limits.
function RooflineOf({ report }) {
  const [known, set] = useState(null);
  useEffect(() => {
    Promise.all([call(`/v1/problems/${report.problem}`), call(`/v1/archs/${report.arch}`)]).then(set, () => {});
  }, [report]);
  if (!known || !report.candidate_us) return null;
  const [problem, arch] = known;
  const axes = problem.workloads.find((w) => w.name === report.workload)?.axes || {};
  const flops = evaluate(problem.flops, axes),
    moved = evaluate(problem.bytes, axes);
  const sms = report.environment?.num_sms || arch.num_sms;
  const mhz = report.timing?.environment?.max_sm_mhz || arch.max_clock_mhz;
  const peak = sms * arch.bf16_flops_per_cycle_per_sm * mhz * 1e6;
  if (!flops || !moved || !peak) return null;
  const points = [
    {
      name: 'candidate',
      colour: 'accent',
      size: 10,
      intensity: flops / moved,
      flops: flops / (report.candidate_us * 1e-6),
    },
  ];
  if (report.baseline?.us)
    points.unshift({
      name: 'baseline',
      colour: 'c0',
      size: 16,
      hollow: true,
      intensity: flops / moved,
      flops: flops / (report.baseline.us * 1e-6),
    });
  const tflops = (rate) => `${number(rate / 1e12)} TFLOP/s`;
  const rates = points.map((p) => `${p.name} ${tflops(p.flops)}`);
  const text = `${rates.join(', ')} of ${tflops(peak)}; ${number(flops / moved)} FLOP per byte, the ridge is at
    ${number(peak / arch.memory_bytes_per_s)}`;
  return html`<div><${Roofline} title=${html`Roofline at the highest clock: ● candidate, ○ baseline`} peak=${peak}
    bandwidth=${arch.memory_bytes_per_s} points=${points} label=${text} /><p class="quiet">${text}.</p></div>`;
}

// ---- what was found ----

const place = (v) => (Array.isArray(v) ? `(${v.join(', ')})` : null);

function Findings({ report }) {
  const rows = [
    ...(report.faults || []).map((f) => ({ ...f, by: 'check' })),
    ...(report.sanitize?.findings || []).map((f) => ({ ...f, by: 'sanitizer' })),
  ];
  if (!rows.length) return null;
  const columns = [
    { head: 'What', cls: 'wide', value: (f) => f.detail || f.kind || f.status },
    { head: 'By', value: (f) => f.by },
    { head: 'Kernel', cls: 'mono', value: (f) => f.kernel },
    {
      head: 'Line',
      num: true,
      value: (f) => f.line ?? f.ptx_line,
      cell: (f) => (f.line ? html`<a href=${`#L${f.line}`}>${f.line}</a>` : f.ptx_line ? `PTX ${f.ptx_line}` : null),
    },
    { head: 'Block', value: (f) => place(f.cta) },
    { head: 'Thread', value: (f) => place(f.thread) },
    {
      head: 'Tensor',
      value: (f) => (f.tensor ? `${f.tensor}${f.distance ? `, ${number(f.distance)} B away` : ''}` : null),
    },
    { head: 'Instruction', cls: 'mono', value: (f) => f.instruction },
  ];
  return html`<${Section} title="Findings"><${Table} name="Findings" columns=${columns} rows=${rows} /><//>`;
}

function TargetInstructions({ report }) {
  const families = Object.entries(report.target?.families || {}).map(([name, f]) => ({ name, ...f }));
  if (!families.length) return null;
  const counted = families.some((f) => [f.static, f.warps, f.threads].some((v) => typeof v === 'number'));
  const count = (name, head) => ({ head, csv: name, num: true, value: (f) => f[name], cell: (f) => number(f[name]) });
  return html`<${Section} title="Instructions">
    ${counted && html`<${Table} name="Instruction families" columns=${[{ head: 'Family', value: (f) => f.name },
      count('static', 'In the module'), count('warps', 'Executed by warps'), count('threads', 'By threads')]}
      rows=${families} />`}
    <${Facts} rows=${[
      [
        'Share of the work on tensor units',
        typeof report.target.tensor_share === 'number' && share(report.target.tensor_share),
      ],
      ['Thread instructions', report.counts && number(report.counts.thread_instructions)],
      ['Warp instructions', report.counts && number(report.counts.warp_instructions)],
      ['Blocks', report.counts?.ctas && number(report.counts.ctas)],
    ]} />
    ${report.target.reason && html`<p class="quiet">Not known: ${report.target.reason}</p>`}<//>`;
}

// ---- accuracy ----

function Accuracy({ report }) {
  const rows = (report.check?.trials || []).flatMap((t) =>
    (t.tensors || []).map((x) => ({ ...x, distribution: t.distribution, deterministic: t.deterministic })),
  );
  if (!rows.length) return null;
  const figure = (name, head) => ({ head, csv: name, num: true, value: (t) => t[name], cell: (t) => number(t[name]) });
  const columns = [
    { head: 'Inputs', value: (t) => t.distribution },
    { head: 'Tensor', value: (t) => t.name },
    {
      head: 'Wrong',
      csv: 'bad',
      num: true,
      value: (t) => t.bad,
      cell: (t) => html`<span class=${t.bad ? 'bad' : ''}>${number(t.bad)}</span> of ${number(t.elements)}`,
    },
    { csv: 'elements', cell: null, value: (t) => t.elements },
    figure('max_abs', 'Largest error'),
    figure('max_rel', 'Relative'),
    figure('excess', 'Excess'),
    figure('nonfinite', 'Not finite'),
    figure('unwritten', 'Unwritten'),
    { head: 'Strict', value: (t) => yesNo(t.strict) },
    { head: 'Same twice', value: (t) => yesNo(t.deterministic) },
    {
      head: 'First wrong',
      cls: 'wide',
      value: (t) =>
        t.first_bad
          ? `[${(t.first_bad.index || []).join(', ')}]: ${number(t.first_bad.got)}, not ${number(t.first_bad.want)}`
          : null,
    },
    { csv: 'hints', cell: null, value: (t) => (t.hints || []).join('; ') },
  ];
  const hinted = rows.filter((t) => t.hints?.length);
  return html`<${Section} title="Accuracy"><${Table} name="Accuracy" columns=${columns} rows=${rows} />
    ${hinted.length > 0 && html`<ul class="hints">${hinted.flatMap((t) => t.hints.map((hint) => html`<li>
      ${t.name}, ${t.distribution}: ${hint}</li>`))}</ul>`}
    <p class="quiet">Rule: ${report.check.rule}. Excess is the squared error beyond what rounding explains,
      relative to the signal; seeds are in the report.</p><//>`;
}

// ---- kernels and surroundings ----

function Kernels({ report }) {
  if (!report.kernels?.length) return null;
  const size = (name, head) => ({
    head,
    csv: name,
    num: true,
    value: (k) => k[name],
    cell: (k) => (name === 'registers' ? number(k[name]) : bytes(k[name])),
  });
  return html`<${Section} title="Kernels"><${Table} name="Kernels" columns=${[
    { head: 'Kernel', cls: 'wide mono', value: (k) => k.name || k.symbol },
    size('registers', 'Registers'),
    size('shared_bytes', 'Static shared'),
    size('local_bytes', 'Local'),
    size('spill_store_bytes', 'Spill stores'),
    size('spill_load_bytes', 'Spill loads'),
    size('param_bytes', 'Parameters'),
  ]} rows=${report.kernels} /><//>`;
}

// {min, median, max} of the samples taken while it was timed.
const range = (v, unit) => v && `${[v.min, v.median, v.max].map(number).join(' / ')} ${unit}`;
// {name: value} in one line.
const listed = (object, show) =>
  object &&
  Object.entries(object)
    .map(([name, v]) => `${name} ${show(v)}`)
    .join(', ');

function Environment({ report }) {
  const e = report.timing?.environment || {};
  const d = report.environment || {};
  const code = report.cubin_sha256;
  return html`<${Section} title="Environment"><${Facts} rows=${[
    ['Device', d.name || report.device_model],
    ['SMs', d.num_sms && number(d.num_sms)],
    ['Memory', d.memory_bytes && bytes(d.memory_bytes)],
    ['Driver', d.driver],
    ['SM clock, least / median / most', range(e.sm_mhz, 'MHz')],
    ['Memory clock', range(e.memory_mhz, 'MHz')],
    ['Temperature', range(e.temperature_c, '°C')],
    ['Power', range(e.power_w, 'W')],
    ['Slowed down, share of samples', e.throttle && (listed(e.throttle, share) || 'never')],
    ['ECC errors meanwhile', typeof e.ecc_errors === 'number' && number(e.ecc_errors)],
    ['Compiler', report.compile?.compiler],
    ['Options', report.compile?.options && html`<code>${report.compile.options.join(' ')}</code>`, 'wide'],
    ['Versions', listed(report.versions, String)],
    ['Epoch', number(report.epoch)],
    ['Sandbox', report.sandbox?.join(', '), 'wide'],
    ['Device code', code && html`<span class="mono" title=${code}>${code.slice(0, 12)}…</span>`],
    ['Where the time of timing went', listed(report.timing?.parts_ms, duration), 'wide'],
  ]} /><//>`;
}

// ---- source, plan, log, files ----

function notesOf(report, text) {
  const last = text.split('\n').length;
  const notes = (report?.compile?.warnings || [])
    .filter((w) => w.line)
    .map((w) => ({ line: w.line, text: [w.code, w.text].filter(Boolean).join(': ') }));
  for (const f of [...(report?.faults || []), ...(report?.sanitize?.findings || [])])
    if (f.line) notes.push({ line: f.line, text: f.detail || f.kind, bad: true });
  return notes.filter((n) => n.line <= last);
}

// "source.cu(12): error: …" of NVRTC and "…, line 12; error : …" of ptxas.
function notesOfLog(log) {
  return (log || '')
    .split('\n')
    .map((l) => /^(\S*)\((\d+)\):\s*(error.*)$/.exec(l) || /^ptxas\s+(\S*), line (\d+);\s*(error.*)$/i.exec(l))
    .filter(Boolean)
    .map((m) => ({ line: Number(m[2]), text: m[3], bad: true }));
}

export function Code({ submission: s, report, source, log }) {
  if (source === undefined) return null;
  const plan = s.launch; // the service's, whether it came in a comment of the source or beside it
  const notes = [...notesOf(report, source), ...notesOfLog(log)];
  return html`${log && html`<${Section} title="Compiler"><details open=${s.verdict === 'COMPILE_ERROR'}>
    <summary>Log</summary><pre tabindex="0">${log}</pre></details><//>`}
    ${plan && html`<${Section} title="Launch plan"><${Plan} plan=${plan} /><//>`}
    <${Section} title="Source" id="source"><${Source} text=${source} language=${s.language} notes=${notes} /><//>
    <${Files} submission=${s} report=${report} log=${log} />`;
}

const argument = (a) =>
  Object.entries(a)
    .map(([k, v]) =>
      k === 'tensor' || k === 'buffer' || k === 'tensor_map'
        ? v
        : `${k} ${typeof v === 'object' ? JSON.stringify(v) : v}`,
    )
    .join(' + ');
const dims = (v) => (v === undefined ? null : [v].flat().join(' × '));

function Plan({ plan }) {
  const columns = [
    { head: 'Kernel', cls: 'wide mono', value: (l) => l.kernel },
    { head: 'Grid', value: (l) => dims(l.grid) },
    { head: 'Block', value: (l) => dims(l.block) },
    { head: 'Cluster', value: (l) => dims(l.cluster) },
    { head: 'Dynamic shared', csv: 'shared_bytes', num: true, value: (l) => l.shared_bytes,
      cell: (l) => (typeof l.shared_bytes === 'number' ? bytes(l.shared_bytes) : l.shared_bytes) },
    { head: 'Arguments', cls: 'wide', value: (l) => (l.args || []).map(argument).join(', ') },
  ];
  const maps = Object.entries(plan.tensor_maps || {}).map(([name, m]) => ({ name, ...m }));
  return html`<${Table} name="Launches" columns=${columns} rows=${plan.launches || []} />
    ${
      maps.length > 0 &&
      html`<${Table} name="Tensor maps" columns=${[
        { head: 'Map', cls: 'mono', value: (m) => m.name },
        { head: 'Over', value: (m) => m.tensor || m.buffer },
        { head: 'Box', value: (m) => dims(m.box) },
        { head: 'Swizzle', value: (m) => m.swizzle },
        { head: 'Dimensions', value: (m) => dims(m.dims) },
      ]} rows=${maps} />`
    }`;
}

const ENDINGS = { report: 'json', source: null, ptx: 'ptx', cubin: 'cubin', log: 'txt' };

// What there is to download: what was loaded is there; of what a compiler makes, the server is asked.
function Files({ submission: s, report, log }) {
  const [made, set] = useState([]);
  const [error, fail] = useState(null);
  const compiled = report?.stages?.some((x) => x.name === 'compile' && x.state === 'passed');
  useEffect(() => {
    set([]);
    if (!compiled) return;
    Promise.all(['ptx', 'cubin'].map(async (name) => (await exists(`/v1/submissions/${s.id}/${name}`)) && name)).then(
      (l) => set(l.filter(Boolean)),
      () => {},
    );
  }, [s.id, compiled]);
  const there = [report && 'report', 'source', ...made, log && 'log'].filter(Boolean);
  const ending = (name) => ENDINGS[name] || (s.language === 'ptx' ? 'ptx' : 'cu');
  const get = (name) =>
    download(`/v1/submissions/${s.id}/${name}`, `${s.id}-${name}.${ending(name)}`).then(() => fail(null), fail);
  return html`<${Section} title="Files"><ul class="line">${there.map(
    (name) => html`<li><button type="button" onClick=${() => get(name)}>${name}</button></li>`,
  )}</ul>${error && html`<${Notice} error=${error} />`}<//>`;
}
