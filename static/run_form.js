// SPDX-License-Identifier: Apache-2.0
// What the form of a run holds, and the body that it sends. Pure.

// [[architecture, device], …] of the lanes that somebody serves; for models [['llm', provider], …].
export const served = (lanes, isModel) =>
  lanes.filter((l) => l.healthy && l.name.startsWith('llm/') === isModel).map((l) => l.name.split('/'));

const WORDS = 'problem workload arch device name provider model condition history feedback visibility'.split(' ');
const FIGURES = ['trajectories', 'turns', 'target_speedup'];
const PARAMS = ['max_tokens', 'temperature', 'top_p'];

// All texts; '' is what is not said. `variants` null: those that suit the problem. `like`: a run to do as.
export function firstValues({ problems, archs, lanes, runs, like }, query) {
  const gpus = served(lanes, false);
  const arch = gpus.find(([a]) => a === 'sm_90a')?.[0] || gpus[0]?.[0] || archs[0].name;
  const provider = served(lanes, true)[0]?.[1] || '';
  const start = {
    ...Object.fromEntries([...WORDS, ...FIGURES, ...PARAMS, 'effort', 'usd', 'tokens'].map((name) => [name, ''])),
    problem: problems[0].name,
    arch,
    device: gpus.some(([a, d]) => a === arch && d !== 'cpu') ? 'gpu' : 'cpu',
    provider,
    model: runs.find((r) => r.provider === provider)?.model || '',
    variants: null,
    trajectories: '4',
    turns: '8',
    target_speedup: '1.2',
    history: 'full',
    feedback: 'full',
    visibility: 'public',
  };
  const given = like ? valuesOf(like) : { ...query, ...(query.variants && { variants: query.variants.split(',') }) };
  return { ...start, ...Object.fromEntries(Object.entries(given).filter(([name, v]) => name in start && v)) };
}

const text = (v) => (v === null || v === undefined ? '' : String(v));
export function valuesOf(r) {
  const same = [...WORDS, 'turns', 'target_speedup'].filter((name) => name !== 'name');
  return {
    ...Object.fromEntries(same.map((name) => [name, text(r[name])])),
    ...Object.fromEntries(Object.entries(r.params || {}).map(([name, v]) => [name, text(v)])),
    trajectories: text(r.per_variant),
    usd: text(r.budget?.usd || null),
    tokens: text(r.budget?.tokens || null),
    variants: r.variants.map((v) => v.name),
  };
}

// The body of a POST: what is not said is not sent; a number that is none is sent as it was typed.
export function bodyOf(v) {
  const figure = (s) => (Number.isFinite(Number(s)) ? Number(s) : s);
  const some = (names, of = (s) => s) =>
    Object.fromEntries(names.filter((n) => v[n].trim()).map((n) => [n, of(v[n].trim())]));
  const params = { ...some(['effort']), ...some(PARAMS, figure) };
  const budget = some(['usd', 'tokens'], figure);
  return {
    ...some(WORDS),
    ...some(FIGURES, figure),
    variants: v.variants,
    ...(Object.keys(params).length && { params }),
    ...(Object.keys(budget).length && { budget }),
  };
}

const FAMILIES = { mha_fwd: 'attention forward', mha_bwd: 'attention backward' };
// Is a variant for this problem? As core/run.c chooses; ablations are for none.
export function suits(variant, problem) {
  if (variant.for === problem || variant.for.startsWith('every problem')) return true;
  return Object.entries(FAMILIES).some(([prefix, use]) => problem.startsWith(prefix) && variant.for === use);
}

// The faults of a member of the body, or of one inside it.
export const faultsAt = (outcome, path) =>
  (outcome?.faults || []).filter(
    (f) => f.path === path || (f.path.startsWith(path) && /[.[]/.test(f.path[path.length])),
  );
