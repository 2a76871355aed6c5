// SPDX-License-Identifier: Apache-2.0
// Turns of agent runs without a page around them: labels, the best so far, money and tokens.
import { DASH, times } from './format.js';
import { targetWord } from './ui.js';

// core/labels.def: name, the paper's word, a short one for small places. The colour is .l-<name> of style.css.
export const LABELS = [
  ['correct', 'Correct', 'Correct'],
  ['numerical', 'Numerical error', 'Numerical'],
  ['compile', 'Compilation error', 'Compile'],
  ['sanitize_timeout', 'Sanitize Timeout', 'Sanitize'],
  ['profile_timeout', 'Profiling Service Timeout', 'Profiling'],
  ['timeout', 'Kernel Execution Timeout', 'Timeout'],
  ['extraction', 'Extraction error', 'Extraction'],
  ['runtime', 'Runtime error', 'Runtime'],
  ['other', 'Other error', 'Other'],
  ['plan', 'Plan error', 'Plan'],
  ['cut', 'Cut answer', 'Cut'],
  ['infra', 'Infrastructure error', 'Infra'],
];
const byName = new Map(LABELS.map((l) => [l[0], l]));
export const labelTitle = (name) => byName.get(name)?.[1] || name;
export const labelShort = (name) => byName.get(name)?.[2] || name;
export const labelClass = (name) => (byName.has(name) ? `l-${name}` : 'l-other');

// ---- numbers ----

export const known = (v) => typeof v === 'number' && Number.isFinite(v);
export function dollars(v) {
  if (!known(v)) return DASH;
  return `$${v === 0 || v >= 1 ? v.toFixed(2) : v >= 0.0001 ? v.toFixed(4) : v.toExponential(1)}`;
}
// 1,234 is exact, 12,345 is 12.3k.
export function tokens(v) {
  if (!known(v)) return DASH;
  if (v < 10e3) return v.toLocaleString('en');
  return v < 1e6 ? `${(v / 1e3).toFixed(v < 100e3 ? 1 : 0)}k` : `${(v / 1e6).toFixed(v < 10e6 ? 2 : 1)}M`;
}

// ---- turns ----

const MOST = 8; // limits that one request may ask for

// Every limit up to the last turn, or as many as may be asked for: 1, 2, 4, … and the last.
export function limitsOf(last) {
  if (last <= MOST) return Array.from({ length: last }, (_, i) => i + 1).join(',');
  const doubled = Array.from({ length: MOST - 1 }, (_, i) => 2 ** i).filter((t) => t < last);
  return [...doubled, last].join(',');
}

// By n, of several tries at a turn the last; what is not there is undefined.
export function turnsByN(turns) {
  const out = [];
  for (const t of turns) if (!out[t.n] || t.try >= out[t.n].try) out[t.n] = t;
  return out;
}

// Per variant the best speedup up to each turn, over its trajectories: null before the first. A turn that no
// trajectory has reached yet has none.
export function bestByTurn(grid, turns) {
  const variants = [...new Set(grid.map((t) => t.variant))].sort((a, b) => a - b);
  return variants.map((variant) => {
    const rows = grid.filter((t) => t.variant === variant).map((t) => turnsByN(t.turns));
    let best = null;
    const values = Array.from({ length: turns }, (_, n) => {
      const here = rows.map((r) => r[n]).filter(Boolean);
      for (const t of here) if (t.correct && known(t.speedup)) best = Math.max(best ?? 0, t.speedup);
      return here.length ? best : null;
    });
    return { variant, values };
  });
}

// [[label, count]] of what there is, in the order of the labels.
export function labelCounts(turns) {
  const counts = new Map();
  for (const t of turns) counts.set(t.label, (counts.get(t.label) || 0) + 1);
  const order = (name) => (byName.has(name) ? LABELS.findIndex((l) => l[0] === name) : LABELS.length);
  return [...counts].sort((a, b) => order(a[0]) - order(b[0]));
}

export const turnText = (t) =>
  [
    labelTitle(t.label),
    known(t.speedup) && times(t.speedup),
    t.correct && `target instructions ${targetWord(t.inst)}`,
    t.try > 0 && `try ${t.try + 1}`,
  ]
    .filter(Boolean)
    .join(', ');
