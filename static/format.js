// SPDX-License-Identifier: Apache-2.0
// Numbers, times and names as people read them. What is not known is a dash.

export const DASH = '–';
const known = (v) => typeof v === 'number' && Number.isFinite(v);

// Four significant digits; whole numbers whole.
export function number(v) {
  if (!known(v)) return DASH;
  if (v !== 0 && (Math.abs(v) < 1e-3 || Math.abs(v) >= 1e15)) return v.toExponential(2);
  return v.toLocaleString('en', Number.isInteger(v) ? {} : { maximumSignificantDigits: 4 });
}

export const times = (v) => (known(v) ? `${v.toFixed(3)}×` : DASH);
// Per cent with one decimal, exact quarters to even as the server prints them: 0.5625 is 56.2 %.
export function share(v) {
  if (!known(v)) return DASH;
  const tenths = 1000 * v,
    down = Math.floor(tenths);
  const whole = tenths - down === 0.5 ? down + (down % 2) : Math.round(tenths);
  return `${(whole / 10).toFixed(1)} %`;
}
// {family: warps' instructions} in words.
export const counts = (of) =>
  Object.entries(of || {})
    .map(([name, n]) => `${name} ${number(n)}`)
    .join(', ');
export const percent = (text) => (text === '' || text === undefined || text === null ? DASH : `${text} %`);

// Milliseconds from microseconds, with the digits that a board needs.
export const msOfUs = (us) => (known(us) ? (us / 1000).toPrecision(4) : DASH);

export function duration(ms) {
  if (!known(ms)) return DASH;
  if (ms >= 3600e3) return `${Math.floor(ms / 3600e3)} h ${Math.round((ms % 3600e3) / 60e3)} min`;
  if (ms >= 60e3) return `${Math.floor(ms / 60e3)} min ${Math.round((ms % 60e3) / 1000)} s`;
  return ms >= 1000 ? `${(ms / 1000).toFixed(2)} s` : `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
}

export function bytes(n) {
  if (!known(n)) return DASH;
  const unit = n < 1024 ? 0 : n < 1024 ** 2 ? 1 : n < 1024 ** 3 ? 2 : 3;
  return `${number(n / 1024 ** unit)} ${['B', 'KiB', 'MiB', 'GiB'][unit]}`;
}

export function ago(text, now = Date.now()) {
  const s = Math.max(0, (now - Date.parse(text)) / 1000);
  const [n, unit] = s < 60 ? [s, 's'] : s < 3600 ? [s / 60, 'min'] : s < 86400 ? [s / 3600, 'h'] : [s / 86400, 'd'];
  return `${Math.floor(n)} ${unit} ago`;
}

export const shortId = (id) => `${id.slice(0, 8)}…${id.slice(-4)}`;

// "NVIDIA H100 80GB HBM3" is H100 to people.
export const deviceTitle = (model) =>
  model === 'ptxvm' || model === 'cpu' ? 'CPU (ptxvm)' : /\b([A-Z]{1,2}\d{3,4})\b/.exec(model)?.[1] || model;
const problemTitles = {
  gemm: 'GEMM',
  mha: 'MHA',
  gqa: 'GQA',
  fwd: 'Fwd',
  bwd: 'Bwd',
  causal: 'Causal',
  paged: 'Paged',
  ragged: 'Ragged',
  decode: 'Decode',
  prefill: 'Prefill',
};
export const problemTitle = (name) =>
  name
    .split('_')
    .map((w) => problemTitles[w] || w)
    .join('-');
export const modelTitle = (c) => (c.condition ? `${c.model} ${c.condition}` : c.model);

// A rule of a problem in words: the paper's (which elements are wrong, and how many may be), or the strict one (a
// bound on the excess over rounding, one for all outputs or one for each, and how far a part of one may pass it).
export function ruleText(rule) {
  if (rule.atol !== undefined) {
    const many = rule.share ? `; of an output’s elements 1 in ${number(Math.round(1 / rule.share))} may be` : '';
    const wrong = `over ${number(rule.atol)} and over ${number(rule.rtol)} of its value`;
    return `an element is wrong if its error is ${wrong}${many}`;
  }
  const each = typeof rule.excess === 'object' ? Object.entries(rule.excess) : [['', rule.excess]];
  const bounds = each.map(([output, most]) => `${output ? `${output} ` : ''}at most ${number(most)}`).join(', ');
  return `excess over rounding: ${bounds}${rule.parts ? `; in a tile or row ${number(rule.parts)} times that` : ''}`;
}

// One way to draw the inputs, in words.
export const inputsText = (d) =>
  `${d.name}${d.exact ? ', to the last bit' : ''}${d.slack ? `, with bounds ${number(d.slack)} times as wide` : ''}`;
