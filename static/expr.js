// SPDX-License-Identifier: Apache-2.0
// Expressions of problems and plans ("2*M*N*K", "ceil_div(N, 32)") over a workload's axes: as core/expr.h, in floats.

const calls = {
  ceil_div: (a, b) => Math.ceil(a / b),
  min: Math.min,
  max: Math.max,
  align: (a, b) => Math.ceil(a / b) * b,
};
const ops = {
  '+': [1, (a, b) => a + b],
  '-': [1, (a, b) => a - b],
  '*': [2, (a, b) => a * b],
  '/': [2, (a, b) => a / b],
  '%': [2, (a, b) => a % b],
};

// null where the text is no expression or a name is not known.
export function evaluate(text, names) {
  if (typeof text === 'number') return text;
  const tokens =
    String(text)
      .match(/\s*(\d+(?:\.\d+)?|[A-Za-z_]\w*|[-+*/%(),])/g)
      ?.map((t) => t.trim()) || [];
  let i = 0;
  const primary = () => {
    const t = tokens[i++];
    if (t === '(') {
      const v = sum(1);
      return tokens[i++] === ')' ? v : NaN;
    }
    if (t === '-') return -primary();
    if (/^\d/.test(t)) return Number(t);
    if (tokens[i] !== '(') return names[t] ?? NaN;
    const args = [];
    do {
      i++;
      args.push(sum(1));
    } while (tokens[i] === ',');
    return tokens[i++] === ')' && calls[t] ? calls[t](...args) : NaN;
  };
  const sum = (level) => {
    let v = primary();
    while (ops[tokens[i]]?.[0] >= level) {
      const [rank, f] = ops[tokens[i++]];
      v = f(v, sum(rank + 1));
    }
    return v;
  };
  const value = tokens.length ? sum(1) : NaN;
  return i === tokens.length && Number.isFinite(value) ? value : null;
}
