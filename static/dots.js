// SPDX-License-Identifier: Apache-2.0
// The one chart: a row per problem, a dot per model at its best speedup. Filled: target instructions executed;
// hollow: not. Circle: published; diamond: local. As SVG elements, so that each dot has a name and a focus.
import { useEffect, useMemo, useRef, useState } from './vendor/preact.js';
import { modelTitle, problemTitle, times } from './format.js';
import { at, bestExecuted } from './results.js';
import { Choice, Empty, html, Table, targetWord } from './ui.js';

const COLOURS = 6; // --c1 … --c6 of style.css; further models are grey
const ROW = 46,
  LANE = 9,
  LEFT = 10,
  TOP = 6,
  BOTTOM = 26;

export const colourOf = (models, model) => {
  const i = models.indexOf(model);
  return i >= 0 && i < COLOURS ? `c${i + 1}` : 'c0';
};

// One mark per cell: filled at the best of the turns with target instructions, hollow where a faster one went
// without, or where that is not known.
function marksOf(cell, turns) {
  const e = at(cell, turns);
  const marks = [];
  if (e?.best_target) marks.push({ value: e.best_target, executed: true });
  if (e?.best && e.best !== e.best_target) marks.push({ value: e.best, executed: bestExecuted(e) });
  return marks.map((m) => ({
    ...m,
    who: modelTitle(cell),
    model: cell.model,
    origin: cell.origin,
    correct: e.correct_percent,
  }));
}

function Mark({ mark, x, y, cls }) {
  const text = `${mark.who}: ${times(mark.value)}, target instructions ${targetWord(mark.executed)}, ${mark.origin}`;
  const shape =
    mark.origin === 'local'
      ? html`<path d=${`M${x} ${y - 8}L${x + 8} ${y}L${x} ${y + 8}L${x - 8} ${y}Z`} />`
      : html`<circle cx=${x} cy=${y} r="6" />`;
  const dot = html`<g class=${`dot ${cls} ${mark.executed ? 'filled' : 'hollow'}`} role="img" aria-label=${text}><title>
    ${text}</title>${shape}</g>`;
  return mark.id ? html`<a href=${`/submissions/${mark.id}`} aria-label=${text}>${dot}</a>` : dot;
}

// The width that an element has, as it changes.
function useWidth() {
  const ref = useRef(null),
    [width, set] = useState(0);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => set(Math.round(entry.contentRect.width)));
    watch.observe(ref.current);
    return () => watch.disconnect();
  }, []);
  return [ref, width];
}

// Dots that would hide each other move apart vertically.
function place(marks, scale) {
  const placed = [];
  for (const m of [...marks].sort((a, b) => b.value - a.value)) {
    const x = scale(m.value);
    const lane = [0, -1, 1, -2, 2].find((l) => !placed.some((p) => p.lane === l && Math.abs(p.x - x) < 13)) ?? 0;
    placed.push({ ...m, x, lane });
  }
  return placed;
}

// The best lie on top: they are drawn last.
function Row({ marks, y, width, models }) {
  return html`<g><line class="base" x1=${LEFT} x2=${width - LEFT} y1=${y} y2=${y} />
    ${[...marks].reverse().map((m) => html`<${Mark} mark=${m} x=${m.x} y=${y + m.lane * LANE}
      cls=${m.model ? colourOf(models, m.model) : 'local'} />`)}</g>`;
}

const Key = ({ cls }) => html`<svg class="key" viewBox="0 0 14 14" aria-hidden="true">
  <g class=${`dot ${cls} filled`}><circle cx="7" cy="7" r="6" /></g></svg>`;

export function DotChart({ problem, onProblem, models, problems, cells, local, turns, workloads }) {
  const [which, show] = useState('main');
  const [plot, width] = useWidth();
  const wanted = (c) => which === 'all' || !c.condition;
  const usual = (c) => (workloads.find((p) => p.name === c.problem)?.workload || c.workload) === c.workload;
  const rows = useMemo(
    () =>
      problems
        .map((name) => {
          const marks = cells
            .filter((c) => c.problem === name && usual(c) && wanted(c))
            .flatMap((c) => marksOf(c, turns));
          marks.push(
            ...local
              .filter((r) => r.problem === name && r.speedup !== null)
              .map((r) => ({
                id: r.id,
                value: r.speedup,
                executed: r.executed,
                who: r.who,
                model: null,
                origin: 'local',
              })),
          );
          return { name, marks };
        })
        .filter((r) => r.marks.length),
    [problem, cells, local, which, turns],
  );

  const most = Math.max(1.1, ...rows.flatMap((r) => r.marks.map((m) => m.value * 1.03)));
  const scale = (v) => LEFT + (v / most) * (width - 2 * LEFT);
  const height = TOP + rows.length * ROW + BOTTOM;
  const step = most > 2.5 ? 0.5 : most > 1.3 ? 0.25 : 0.2;
  const ticks = Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) => i * step);
  const named = models.filter((m, i) => i < COLOURS && rows.some((r) => r.marks.some((k) => k.model === m)));
  const others = rows.some((r) => r.marks.some((k) => k.model && colourOf(models, k.model) === 'c0'));
  const list = rows.flatMap((r) => r.marks.map((m) => ({ problem: r.name, ...m }))).sort((a, b) => b.value - a.value);
  const columns = [
    { head: 'Problem', value: (m) => problemTitle(m.problem) },
    { head: 'Model', value: (m) => m.who },
    { head: 'Best speedup', num: true, value: (m) => m.value, cell: (m) => times(m.value) },
    { head: 'Target instructions', value: (m) => targetWord(m.executed) },
    { head: 'From', value: (m) => m.origin },
  ];
  return html`<div class="legend">
      ${named.map((m) => html`<span><${Key} cls=${colourOf(models, m)} />${m}</span>`)}
      ${others && html`<span><${Key} cls="c0" />others</span>`}
      <span class="quiet">
        filled: target instructions executed · hollow: not, or not known · circle: published · diamond: local</span>
      <${Choice} label="Models" value=${which} onChange=${show} options=${[
        ['main', 'models'],
        ['all', 'and ablations'],
      ]} /></div>
    ${!rows.length && html`<${Empty}>No turns of a model on this device yet.<//>`}
    <div class="dots" hidden=${!rows.length}>
      <div class="names">${rows.map((r) => html`<button type="button" aria-pressed=${r.name === problem}
        onClick=${() => onProblem(r.name)}>${problemTitle(r.name)}</button>`)}</div>
      <div class="plot" ref=${plot}><svg width=${width} height=${height} role="group"
        aria-label="Best speedup per model by problem; the table below has the figures">
        ${ticks.map((t) => html`<line class="grid" x1=${scale(t)} x2=${scale(t)} y1=${TOP} y2=${height - BOTTOM} />`)}
        <line class="one" x1=${scale(1)} x2=${scale(1)} y1="0" y2=${height - BOTTOM + 4} />
        ${rows.map((r, i) => html`<${Row} marks=${place(r.marks, scale)} y=${TOP + (i + 0.5) * ROW} width=${width}
          models=${models} />`)}
        ${ticks.map((t) => html`<text class=${Math.abs(t - 1) < 1e-9 ? 'tick strong' : 'tick'} x=${scale(t)}
          y=${height - 8} text-anchor=${t === 0 ? 'start' : 'middle'}>
          ${step === 0.25 ? t.toFixed(2) : t.toFixed(1)}</text>`)}
      </svg></div></div>
    <details class="figures"><summary>The figures</summary><${Table} name="Best speedup per model" columns=${columns}
      rows=${list} /></details>`;
}
