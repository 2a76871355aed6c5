// SPDX-License-Identifier: Apache-2.0
// The paper's tables in its layout, with local rows beside. A dash stands where nothing qualifies.
import { useData } from '../api.js';
import { DASH, deviceTitle, modelTitle, problemTitle } from '../format.js';
import { at, mergeCells } from '../results.js';
import { Badge, CsvButton, html, Load, Notice, Section } from '../ui.js';

const LIMITS = [1, 4, 8];

// What a cell prints at one limit: with target instructions, and of all correct turns.
const measures = [
  {
    name: 'Turn correctness, %',
    target: (e) => (e.target ? e.target_percent : null),
    all: (e) => (e.correct ? e.correct_percent : null),
  },
  { name: 'Best speedup', target: (e) => e.best_target?.toFixed(3) ?? null, all: (e) => e.best?.toFixed(3) ?? null },
];

export default function Tables() {
  const answer = useData(['/published/tables.json', `/v1/metrics/turn_correctness?turns=${LIMITS.join(',')}`]);
  return html`<h1>The paper’s tables</h1>
    <p class="lead">Each cell has T = 1 / 4 / 8 turns: with target instructions executed,
      and in parentheses of all correct turns.
      A dash: nothing qualifies.</p>
    <${Load} of=${answer}>${([file, metrics]) => {
      const cells = mergeCells(file, metrics);
      return html`${file.tables.map((t) => t.devices.map((d) => html`<${PaperTable} table=${t}
        device=${file.devices.find((x) => x.name === d)} cells=${cells} file=${file} />`))}
        <${Local} cells=${cells.filter((c) => c.origin === 'local')} file=${file} />
        ${file.unknown.map((u) => html`<${Notice} kind="wait"><p>Table ${u.number} of the paper is not here: ${u.why}.
          </p><//>`)}
        <p class="quiet">Source: ${file.source} (${file.date}). ${file.note}</p>`;
    }}<//>`;
}

const numbers = (t) => `Table${t.numbers.length > 1 ? 's' : ''} ${t.numbers.join(' and ')}`;

function PaperTable({ table, device, cells, file }) {
  const problems = table.problems || file.problems.map((p) => p.name);
  const workload = (p) => file.problems.find((x) => x.name === p)?.workload;
  const find = (origin, row, p) =>
    cells.find(
      (c) =>
        c.origin === origin &&
        c.model === row.model &&
        (c.condition || null) === row.condition &&
        c.device_model === device.name &&
        c.problem === p &&
        c.workload === workload(p),
    );
  const rows = table.rows.map((r) => ({ ...r, of: (p) => find('published', r, p) }));
  const beside = rows
    .map((r) => ({ ...r, local: true, of: (p) => find('local', r, p) }))
    .filter((r) => problems.some((p) => r.of(p)));
  return html`<${Layout} title=${`${numbers(table)}: ${table.title}, ${device.title}`} problems=${problems}
    rows=${[...rows, ...beside]} />`;
}

// Local models that no table of the paper names have one of their own, per device.
function Local({ cells, file }) {
  return [...new Set(cells.map((c) => c.device_model))].map((device) => {
    const here = cells.filter((c) => c.device_model === device);
    const rows = [...new Map(here.map((c) => [modelTitle(c), c])).values()].map((c) => ({
      model: c.model,
      condition: c.condition || null,
      local: true,
      of: (p) => here.find((x) => modelTitle(x) === modelTitle(c) && x.problem === p),
    }));
    const known = file.problems.map((p) => p.name);
    const problems = [
      ...known.filter((p) => here.some((c) => c.problem === p)),
      ...new Set(here.map((c) => c.problem).filter((p) => !known.includes(p))),
    ];
    return html`<${Layout} title=${`Measured here: ${deviceTitle(device)}`} problems=${problems} rows=${rows} />`;
  });
}

function Layout({ title, problems, rows }) {
  const print = (cell, f) =>
    LIMITS.map((t) => {
      const e = cell && at(cell, t);
      return (e && f(e)) ?? DASH;
    }).join(' / ');
  const columns = (m) => [
    { head: 'Model', value: (r) => modelTitle(r) },
    { head: 'From', value: (r) => (r.local ? 'local' : 'published') },
    ...problems.flatMap((p) =>
      ['target', 'all'].flatMap((side) =>
        LIMITS.map((t) => ({
          head: `${p} ${side} T=${t}`,
          value: (r) => {
            const e = r.of(p) && at(r.of(p), t);
            return e ? m[side](e) : null;
          },
        })),
      ),
    ),
  ];
  const cellOf = (c, m) => (c ? html`${print(c, m.target)}<small>(${print(c, m.all)})</small>`
    : html`<span class="quiet">no data</span>`);
  return html`<${Section} title=${title}>${measures.map(
    (m) => html`<div class="table">
    <div class="head"><h3>${m.name}</h3><${CsvButton} name=${`${title} ${m.name}`} columns=${columns(m)}
      rows=${rows} /></div>
    <div class="scroll" role="region" tabindex="0" aria-label=${`${title}: ${m.name}`}><table class="paper"
      style=${{ '--columns': problems.length }}>
      <thead><tr><th scope="col">Model</th>${problems.map((p) => html`<th scope="col">${problemTitle(p)}</th>`)}</tr>
        </thead>
      <tbody>${rows.map((r) => html`<tr class=${r.local ? 'local' : ''}>
        <th scope="row">${modelTitle(r)} ${r.local && html`<${Badge} kind="local">local<//>`}</th>
        ${problems.map((p) => html`<td>${cellOf(r.of(p), m)}</td>`)}</tr>`)}</tbody>
    </table></div></div>`,
  )}<//>`;
}
