// SPDX-License-Identifier: Apache-2.0
// Published and local results in one form: cells (one model, condition, problem, workload, device) and board rows.
import { modelTitle, shortId } from './format.js';

const keyOf = (c) => [c.origin, c.model, c.condition || '', c.device_model, c.problem, c.workload].join('|');

// The cells of the paper's file, each replaced by what the turns in the database say of it, and all others.
export function mergeCells(file, metrics) {
  const cells = new Map(file.items.map((c) => [keyOf(c), c]));
  for (const c of metrics.items) {
    const known = new Map((cells.get(keyOf(c))?.at || []).map((e) => [e.turns, e]));
    for (const e of c.at) known.set(e.turns, e);
    cells.set(keyOf(c), { ...c, at: [...known.values()].sort((a, b) => a.turns - b.turns) });
  }
  return [...cells.values()];
}

export const at = (cell, turns) => cell.at.find((e) => e.turns === turns);

// Were target instructions executed in the fastest correct turn? null: not known.
export function bestExecuted(entry) {
  if (entry.best === null) return null;
  if (entry.best_target === entry.best) return true;
  return entry.unknown ? null : false;
}

// A row of the board from a cell, and from an entry of the leaderboard.
export function rowOfCell(cell, turns) {
  const e = at(cell, turns);
  return {
    id: null,
    cell,
    origin: cell.origin,
    who: modelTitle(cell),
    model: cell.model,
    method: null,
    owner: null,
    device_model: cell.device_model,
    speedup: e.best,
    ci95: null,
    us: null,
    baseline: null,
    executed: bestExecuted(e),
    tensorShare: null,
    counts: null,
    correct: e.correct_percent,
    correctCi: e.correct_ci95 || null,
    correctOf: `${e.correct} of ${e.of}`,
    attempts: e.recorded ?? e.of,
    instructions: null,
    flags: [],
  };
}

// An entry of a run without a name is called by eight digits of its id (sql/functions/steps.sql): the model says more.
export function rowOfEntry(item) {
  const unnamed = item.method && /^[0-9a-f]{8}$/.test(item.label || '');
  return {
    id: item.id,
    origin: 'local',
    who: unnamed ? item.method : item.label || shortId(item.id),
    model: null,
    method: unnamed ? `run ${item.label}` : item.method,
    owner: item.owner,
    device_model: item.device_model,
    speedup: item.speedup?.value ?? null,
    ci95: item.speedup?.ci95 || null,
    us: item.candidate_us,
    baseline: item.baseline,
    executed: item.target?.executed ?? null,
    tensorShare: item.target?.tensor_share ?? null,
    counts: item.target?.counts ?? null,
    correct: null,
    attempts: item.attempts,
    instructions: item.thread_instructions,
    flags: item.flags || [],
    language: item.language,
  };
}

// Fastest first, ranks by bands: a row shares the rank of the first of its band where the 95 % interval of the
// difference of their logarithms covers 0 (the rule of sql/functions/board.sql, over devices).
export function rankRows(rows) {
  const half = (r) => (r.ci95 ? Math.log(r.ci95[1] / r.ci95[0]) / 2 : 0);
  const timed = rows.filter((r) => r.speedup !== null).sort((a, b) => b.speedup - a.speedup);
  const untimed = rows
    .filter((r) => r.speedup === null)
    .sort((a, b) => (a.instructions ?? Infinity) - (b.instructions ?? Infinity));
  let first = null;
  timed.forEach((r, i) => {
    const tied = first && Math.log(first.speedup / r.speedup) <= Math.hypot(half(first), half(r));
    if (!tied) first = Object.assign(r, { rank: i + 1 });
    r.rank = first.rank;
  });
  return [...timed, ...untimed.map((r) => Object.assign(r, { rank: null }))];
}

// Models in a steady order, best first, over everything there is: what colours go by.
export function modelsByBest(cells) {
  const best = new Map();
  for (const c of cells) {
    const top = Math.max(0, ...c.at.map((e) => e.best || 0));
    best.set(c.model, Math.max(best.get(c.model) || 0, top));
  }
  return [...best].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).map(([m]) => m);
}

// Problems in the paper's order, then others.
export function problemOrder(file, cells) {
  const known = file.problems.map((p) => p.name);
  return [...known, ...[...new Set(cells.map((c) => c.problem))].filter((p) => !known.includes(p)).sort()];
}
