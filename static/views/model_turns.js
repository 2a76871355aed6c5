// SPDX-License-Identifier: Apache-2.0
// The turns of one model on one problem: how many are correct, what the others failed at, what follows what.
import { useData } from '../api.js';
import { cellName, CellPicker, chooseCells, NO_TURNS } from '../cells.js';
import { number, percent, share, times } from '../format.js';
import { link, useQuery } from '../router.js';
import { LABELS, labelClass, labelShort, labelTitle, limitsOf } from '../turns.js';
import { Empty, html, Load, Section, Select, Table } from '../ui.js';

export default function ModelTurns() {
  const [query, set] = useQuery();
  const all = useData('/v1/metrics/turn_correctness?turns=8');
  return html`<h1>Turns of models</h1>
    <p class="lead">A turn is one answer of a model and what it came to. T counts the first turns of every trajectory,
      whether it got that far or not.</p>
    <${Load} of=${all}>${({ items }) =>
      items.length ? html`<${Chosen} ...${{ items, query, set }} />` : html`<${Empty}>${NO_TURNS}<//>`}<//>`;
}

function Chosen({ items, query, set }) {
  const chosen = chooseCells(items, query);
  const best = (c) => c.at.at(-1).correct;
  const cells = [...chosen.cells].sort((a, b) => best(b) - best(a) || cellName(a).localeCompare(cellName(b)));
  const cell = cells.find((c) => cellName(c) === query.model) || cells[0];
  const filter = { origin: cell.origin, model: cell.model, device: cell.device_model, problem: cell.problem,
    workload: cell.workload };
  const labels = useData(link('/v1/metrics/transitions', filter));
  const mine = (d) => d.items.find((c) => c.cell === cell.cell);
  const last = labels.data && mine(labels.data) && 1 + Math.max(0, ...mine(labels.data).labels.map((l) => l.n));
  const correct = useData(last ? link('/v1/metrics/turn_correctness', { ...filter, turns: limitsOf(last) }) : null);
  return html`<form class="row" aria-label="What to show" onSubmit=${(e) => e.preventDefault()}>
      <${CellPicker} chosen=${chosen} set=${set} clear=${{ model: '', step: '' }} />
      <${Select} label="Model" value=${cellName(cell)} options=${cells.map(cellName)}
        onChange=${(v) => set({ model: v, step: '' })} /></form>
    <${Load} of=${labels}>${(d) => {
      const found = mine(d);
      if (!found?.labels.length) return html`<${Empty}>No turn of this model has ended yet.<//>`;
      return html`<${Section} title="Correct turns"><${Load} of=${correct}>${(c) => html`<${Correct}
          at=${mine(c)?.at || []} name=${cellName(cell)} />`}<//><//>
        <${Labels} of=${found} name=${cellName(cell)} />
        <${Transitions} of=${found} name=${cellName(cell)} step=${query.step} set=${set} />`;
    }}<//>`;
}

// ---- how many ----

const range = ([low, high]) => `${share(low)} to ${share(high)}`;

function Correct({ at, name }) {
  const side = (side, head) => [
    {
      head,
      csv: side,
      num: true,
      value: (e) => e[side],
      cell: (e) => html`${percent(e[`${side}_percent`])}<small>${number(e[side])} of ${number(e.of)}</small>`,
    },
    { csv: `${side}_percent`, cell: null, value: (e) => e[`${side}_percent`] },
    {
      head: '95 % interval',
      csv: `${side}_low`,
      num: true,
      value: (e) => e[`${side}_ci95`][0],
      cell: (e) => range(e[`${side}_ci95`]),
    },
    { csv: `${side}_high`, cell: null, value: (e) => e[`${side}_ci95`][1] },
    {
      head: 'Prompt variants',
      csv: `${side}_least`,
      num: true,
      cls: 'wide-only',
      value: (e) => e[`${side}_band`].low,
      cell: (e) => range([e[`${side}_band`].low, e[`${side}_band`].high]),
    },
    { csv: `${side}_greatest`, cell: null, value: (e) => e[`${side}_band`].high },
  ];
  const columns = [
    { head: 'T', num: true, value: (e) => e.turns },
    { csv: 'of', cell: null, value: (e) => e.of },
    ...side('correct', 'Correct'),
    ...side('target', 'Target executed'),
    { csv: 'unknown', cell: null, value: (e) => e.unknown },
    { csv: 'target_source', cell: null, value: (e) => e.target_source },
    { head: 'Best', csv: 'best', num: true, value: (e) => e.best, cell: (e) => times(e.best) },
    { head: 'With target', csv: 'best_target', num: true, value: (e) => e.best_target,
      cell: (e) => times(e.best_target) },
  ];
  const unknown = at.at(-1)?.unknown;
  const printed = at.filter((e) => e.target_source);
  return html`<${Table} name=${`Correct turns of ${name}`} columns=${columns} rows=${at} />
    <p class="quiet">Intervals are Wilson’s, over all turns; prompt variants: the least to the greatest of them.
      ${unknown > 0 && ` Of ${number(unknown)} correct turns it is not known whether target instructions executed; they
        count as not.`}
      ${printed.length > 0 && ` Target counts at T = ${printed.map((e) => e.turns).join(', ')} are as printed in
        ${printed[0].target_source}.`}</p>`;
}

// ---- what they came to ----

const order = (names) => LABELS.map((l) => l[0]).filter((n) => names.has(n));

function Labels({ of: c, name }) {
  const names = order(new Set(c.labels.map((l) => l.label)));
  const rows = [...new Set(c.labels.map((l) => l.n))].sort((a, b) => a - b).map((n) => {
    const counts = Object.fromEntries(c.labels.filter((l) => l.n === n).map((l) => [l.label, l.turns]));
    return { n, counts, sum: Object.values(counts).reduce((a, b) => a + b, 0),
      tokens: c.reasoning.find((r) => r.n === n)?.median_tokens };
  });
  const most = Math.max(...rows.map((r) => r.sum));
  const columns = [
    { head: 'Turn', num: true, value: (r) => r.n + 1 },
    { head: 'All', num: true, cls: 'wide-only', value: (r) => r.sum },
    {
      head: html`<span class="hidden">Shares</span>`,
      csv: null,
      cls: 'bar',
      cell: (r) => html`<span class="stack" aria-hidden="true" style=${{ width: `${(100 * r.sum) / most}%` }}>${names
        .filter((l) => r.counts[l]).map((l) => html`<i class=${labelClass(l)} style=${{ flex: r.counts[l] }}
          title=${`${labelTitle(l)}: ${r.counts[l]}`}></i>`)}</span>`,
    },
    ...names.map((l) => ({
      head: html`<i class=${`swatch ${labelClass(l)}`} aria-hidden="true"></i> ${labelShort(l)}`,
      csv: labelTitle(l),
      num: true,
      value: (r) => r.counts[l] || 0,
    })),
    rows.some((r) => r.tokens) && { head: 'Reasoning tokens, median', csv: 'median_reasoning_tokens', num: true,
      value: (r) => r.tokens, cell: (r) => number(r.tokens === undefined ? null : Math.round(r.tokens)) },
  ].filter(Boolean);
  return html`<${Section} title="What the turns came to"><${Table} name=${`Labels per turn of ${name}`}
    columns=${columns} rows=${rows} /><//>`;
}

// ---- what follows what ----

function Transitions({ of: c, name, step, set }) {
  const steps = [...new Set(c.transitions.map((t) => t.n))].sort((a, b) => a - b);
  if (!steps.length) return null;
  const at = steps.find((n) => String(n) === step);
  const here = c.transitions.filter((t) => at === undefined || t.n === at);
  const names = order(new Set(c.transitions.flatMap((t) => [t.from, t.to])));
  const count = (from, to) => here.filter((t) => t.from === from && t.to === to).reduce((s, t) => s + t.turns, 0);
  const rows = names.map((from) => ({ from, to: names.map((to) => count(from, to)) }));
  const most = Math.max(1, ...rows.flatMap((r) => r.to));
  const columns = [
    { head: 'From', value: (r) => labelTitle(r.from) },
    ...names.map((to, i) => ({
      head: html`to ${labelShort(to)}`,
      csv: labelTitle(to),
      num: true,
      value: (r) => r.to[i],
      cell: (r) => html`<span class="heat" style=${{ '--share': r.to[i] / most }}>${r.to[i] || html`<span
        class="quiet">0</span>`}</span>`,
    })),
  ];
  return html`<${Section} title="From one turn to the next">
    <form class="row" aria-label="Which turns" onSubmit=${(e) => e.preventDefault()}>
      <${Select} label="Between" value=${at === undefined ? '' : String(at)} options=${[['', 'all turns'],
        ...steps.map((n) => [String(n), `turns ${n} and ${n + 1}`])]}
        onChange=${(v) => set({ step: v }, { replace: true })} /></form>
    <${Table} name=${`From one turn to the next, ${name}`} columns=${columns} rows=${rows} /><//>`;
}
