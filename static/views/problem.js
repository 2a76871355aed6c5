// SPDX-License-Identifier: Apache-2.0
// A problem: what to compute, on which shapes, how it is judged, against what, and how to begin.
import { useData } from '../api.js';
import { evaluate } from '../expr.js';
import { bytes, inputsText, number, problemTitle, ruleText } from '../format.js';
import { link, useTitle } from '../router.js';
import { Badge, Facts, html, Load, Section, Table } from '../ui.js';

export default function Problem({ captures: [name] }) {
  useTitle(problemTitle(name));
  const answer = useData([
    `/v1/problems/${name}`,
    '/examples.json',
    `/v1/submissions?problem=${name}&verdict=PASSED&limit=50`,
  ]);
  return html`<${Load} of=${answer}>${([p, examples, passed]) => html`
    <div class="title"><h1>${problemTitle(p.name)}: ${p.title}</h1><p class="actions"><a
      href=${link('/submit', { problem: name })}>Submit</a> <a href=${link('/runs/new', { problem: name })}>Start a
      run</a> <a href=${link('/', { problem: name })}>Board</a></p></div>
    <p class="lead">${p.description}</p>
    <${Tensors} problem=${p} /><${Rules} problem=${p} baseline=${baselineOf(passed.items)} />
    ${examples[name]?.length > 0 && html`<${Section} title="Examples"><ul class="line">
      ${examples[name].map((e) => html`<li><a href=${link('/submit', { problem: name, example: e })}>${e}</a>
      </li>`)}</ul><//>`}
    <${Workloads} problem=${p} />`}<//>`;
}

// What speedups are over, as last measured: the vendor's own rather than one composed of its parts.
function baselineOf(items) {
  const all = items.map((s) => s.baseline).filter(Boolean);
  return all.find((b) => !b.name.endsWith('(composed)')) || all[0];
}

function Tensors({ problem: p }) {
  const columns = [
    { head: 'Tensor', cls: 'mono', value: (t) => t.name },
    { head: 'Role', value: (t) => t.role },
    { head: 'Type', value: (t) => t.dtype },
    { head: 'Shape', cls: 'mono', value: (t) => `[${t.shape.join(', ')}]` },
    { head: 'What', cls: 'wide', value: (t) => t.description },
  ];
  return html`<${Section} title="Tensors"><${Table} name="Tensors" columns=${columns} rows=${p.tensors} /><//>`;
}

// What a problem is measured against (evaluator/cuda/baseline.c).
const vendors = [
  [/^gemm/, 'cuBLAS'],
  [/^mha/, 'cuDNN'],
];

const ruleNames = { paper: 'To pass (the paper’s rule)', strict: 'Without the flag “loose”' };
function Rules({ problem: p, baseline }) {
  return html`<${Section} title="How it is judged"><${Facts} rows=${[
    ...Object.entries(p.rules || {}).map(([name, rule]) => [
      ruleNames[name] || name,
      ruleText(rule),
    ]),
    ['Inputs', (p.distributions || []).map(inputsText).join('; ')],
    ['Work', html`<code>${p.flops}</code> FLOP`],
    ['Least traffic', html`<code>${p.bytes}</code> bytes`],
    [
      'Baseline',
      baseline
        ? `${baseline.name} ${baseline.version || ''}`
        : `${vendors.find(([of]) => of.test(p.name))?.[1] || 'the vendor’s library'}; not measured here yet`,
    ],
  ]} /><//>`;
}

const MANY = 30; // beyond that the others are folded

function Workloads({ problem: p }) {
  const columns = [
    {
      head: 'Workload',
      value: (w) => w.name,
      cell: (w) => html`<a href=${link('/', { problem: p.name, workload: w.name })}>${w.name}</a>`,
    },
    {
      head: 'Role',
      csv: 'paper',
      value: (w) => (w.paper ? 'paper' : ''),
      cell: (w) => [
        w.paper && html`<${Badge}>paper<//>`,
        w.name === p.default_workload && html` <${Badge} kind="good">default<//>`,
        w.name === p.cpu_workload && html` <${Badge}>cpu<//>`,
      ],
    },
    ...p.axes.map((a) => ({ head: a, num: true, value: (w) => w.axes[a], cell: (w) => number(w.axes[a]) })),
    {
      head: 'GFLOP',
      num: true,
      value: (w) => evaluate(p.flops, w.axes) / 1e9,
      cell: (w) => number(evaluate(p.flops, w.axes) / 1e9),
    },
    {
      head: 'Traffic',
      csv: 'bytes',
      num: true,
      value: (w) => evaluate(p.bytes, w.axes),
      cell: (w) => bytes(evaluate(p.bytes, w.axes)),
    },
  ];
  const rows = [...p.workloads].sort(
    (a, b) =>
      (b.name === p.default_workload) - (a.name === p.default_workload) ||
      (b.name === p.cpu_workload) - (a.name === p.cpu_workload),
  );
  const named = rows.filter((w) => w.paper || w.name === p.default_workload || w.name === p.cpu_workload);
  if (rows.length <= MANY || !named.length)
    return html`<${Section} title="Workloads"><${Table} name="Workloads" columns=${columns} rows=${rows} /><//>`;
  return html`<${Section} title="Workloads"><${Table} name="Workloads of the paper" columns=${columns} rows=${named} />
    <details><summary>All ${rows.length} workloads</summary><${Table} name="Workloads" columns=${columns}
      rows=${rows} /></details><//>`;
}
