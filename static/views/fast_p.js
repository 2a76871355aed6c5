// SPDX-License-Identifier: Apache-2.0
// Fast_p: the share of turns that are correct and faster than p, as exact step curves.
import { useMemo } from '../vendor/preact.js';
import { useData } from '../api.js';
import { cellName, CellPicker, chooseCells, NO_TURNS } from '../cells.js';
import { StepChart } from '../chart.js';
import { colourOf } from '../dots.js';
import { share, times } from '../format.js';
import { link, useQuery } from '../router.js';
import { Choice, Empty, html, Load, Section, Table } from '../ui.js';

const LIMITS = [
  ['1', 'T = 1'],
  ['4', 'T = 4'],
  ['8', 'T = 8'],
];
const POINTS = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1];
const CELLS = 64,
  SHOWN = 4;

// The curve of a cell: per variant the share of its nominal turns that are correct with speedup > p, which only
// changes at a speedup; over the variants its mean, least and greatest.
function curveOf(cell, list, counted) {
  const p = [0, ...new Set(cell.variants.flatMap((v) => v[list]))].sort((a, b) => a - b);
  const shares = cell.variants.map((v) => {
    let i = 0;
    // sorted speedups; above 20,000 turns they are quantiles, each of which stands for as many turns
    const each = v[list].length ? v[counted] / v[list].length : 0;
    return p.map((x) => {
      while (i < v[list].length && v[list][i] <= x) i++;
      return ((v[list].length - i) * each) / v.of;
    });
  });
  const over = (f) => p.map((_, i) => f(shares.map((s) => s[i])));
  return {
    p,
    mean: over((s) => s.reduce((a, b) => a + b, 0) / s.length),
    low: over((s) => Math.min(...s)),
    high: over((s) => Math.max(...s)),
  };
}

export default function FastP() {
  const [query, set] = useQuery();
  const cells = useData('/v1/metrics/turn_correctness?turns=8');
  return html`<h1>Fast<sub>p</sub></h1>
    <p class="lead">The share of all turns that are correct and more than <i>p</i> times as fast as the vendor’s
      library.
      At <i>p</i> = 0 it is the share of
      correct turns. Line: mean over prompt variants; band: least to greatest of them.</p>
    <${Load} of=${cells}>${({ items }) =>
      items.length
        ? html`<${Curves} ...${{ items, query, set }} />`
        : html`<${Empty}>${NO_TURNS}<//>`}<//>`;
}

function Curves({ items, query, set }) {
  const chosen = chooseCells(items, query);
  const { problem, device, workload } = chosen;
  const turns = LIMITS.some(([t]) => t === query.turns) ? query.turns : '8';
  const answer = useData(
    link('/v1/metrics/fast_p', { problem, device, workload, turns, curves: 1, p: POINTS.join(','), limit: CELLS }),
  );
  return html`<form class="row" aria-label="What to show" onSubmit=${(e) => e.preventDefault()}>
      <${CellPicker} chosen=${chosen} set=${set} clear=${{ models: '' }} />
      <${Choice} label="Turns" value=${turns} options=${LIMITS} onChange=${(v) => set({ turns: v })} /></form>
    <${Load} of=${answer}>${(data) => html`<div><${Drawn} data=${data} query=${query} set=${set}
      turns=${turns} /><${Printed} cells=${chosen.cells} turns=${turns} /></div>`}<//>`;
}

// Where the paper prints another count of target turns than its published turns give, the curves are of the turns.
function Printed({ cells, turns }) {
  const printed = cells.filter((c) => c.at.some((e) => e.target_source));
  if (turns !== '8' || !printed.length) return null;
  return html`<p class="quiet">The curves are of the published turns. For ${printed.map(cellName).join(', ')} the paper
    prints fewer turns with target instructions at T = 8 (${printed.map((c) => `${c.at[0].target} of ${c.at[0].of}`)
      .join(', ')}), since of some it is not known whether they executed.</p>`;
}

function Drawn({ data, query, set, turns }) {
  const top = (c) => Math.max(0, ...c.variants.flatMap((v) => v.speedups.slice(-1)));
  const cells = [...data.items].sort((a, b) => top(b) - top(a));
  const names = cells.map(cellName);
  const chosen = query.models ? query.models.split('|').filter((n) => names.includes(n)) : names.slice(0, SHOWN);
  const toggle = (name) =>
    set(
      { models: (chosen.includes(name) ? chosen.filter((n) => n !== name) : [...chosen, name]).join('|') || 'none' },
      { replace: true },
    );
  const shown = cells.filter((c) => chosen.includes(cellName(c)));
  const colour = (name) => colourOf(chosen, name);
  const curves = useMemo(
    () => ({
      all: shown.map((c) => ({ name: cellName(c), colour: colour(cellName(c)), ...curveOf(c, 'speedups', 'correct') })),
      target: shown.map((c) => ({
        name: cellName(c),
        colour: colour(cellName(c)),
        ...curveOf(c, 'speedups_target', 'target'),
      })),
    }),
    [data, query.models],
  );
  const label = `Step curves of ${chosen.join(', ')}; the table below has the figures`;
  const rows = shown.flatMap((c) =>
    [
      ['all', 'correct'],
      ['target', 'and executed'],
    ].map(([side, what]) => ({ name: cellName(c), what, points: c.points.map((p) => p[side]) })),
  );
  const band = (i) => (r) =>
    html`${share(r.points[i].mean)}<small>${share(r.points[i].low)} to ${share(r.points[i].high)}</small>`;
  const columns = [
    { head: 'Model', value: (r) => r.name },
    { head: 'Turns', value: (r) => r.what },
    ...POINTS.flatMap((p, i) => [
      { head: `p = ${p}`, csv: `p=${p} mean`, num: true, value: (r) => r.points[i].mean, cell: band(i) },
      { csv: `p=${p} low`, cell: null, value: (r) => r.points[i].low },
      { csv: `p=${p} high`, cell: null, value: (r) => r.points[i].high },
    ]),
  ];
  return html`<fieldset class="models"><legend class="hidden">Models</legend><ul class="models">${names.map(
    (n) => html`<li><label>
      <input type="checkbox" checked=${chosen.includes(n)} onChange=${() => toggle(n)} /><i
        class=${`swatch ${chosen.includes(n) ? colour(n) : ''}`} aria-hidden="true"></i>${n} <span
        class="quiet">best ${times(top(cells[names.indexOf(n)]) || null)}</span></label></li>`,
  )}</ul></fieldset>
    ${data.items.some((c) => !c.exact) && html`<p
      class="quiet">Over 20,000 turns a curve is drawn from 2,048 quantiles.</p>`}
    ${
      shown.length
        ? html`<div class="charts">
      <${StepChart} title=${html`Fast<sub>p</sub>: all correct turns`} label=${label} curves=${curves.all}
        keys=${[curves]} />
      <${StepChart} title=${html`Fast<sub>p</sub><sup>Inst</sup>: and target instructions executed`} label=${label}
        curves=${curves.target} keys=${[curves]} /></div>
      <${Section} title="Figures"><${Table} name=${`Fast_p at T = ${turns}`} columns=${columns} rows=${rows} /><//>`
        : html`<${Empty}>Choose a model above.<//>`
    }`;
}
