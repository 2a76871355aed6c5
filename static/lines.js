// SPDX-License-Identifier: Apache-2.0
// The least edits between two lists of lines (E. Myers, An O(ND) difference algorithm, Algorithmica 1, 1986).

const MOST_EDITS = 4000; // beyond that everything is replaced: nobody reads such a difference

// [{kind: 'same' | 'add' | 'remove', a, b}]: line numbers from 1 in the list that has the line.
export function diffLines(before, after) {
  const n = before.length,
    m = after.length;
  const trace = [];
  let v = new Map([[1, 0]]);
  search: for (let d = 0; d <= Math.min(n + m, MOST_EDITS); d++) {
    trace.push(new Map(v));
    for (let k = -d; k <= d; k += 2) {
      let x = k === -d || (k !== d && v.get(k - 1) < v.get(k + 1)) ? v.get(k + 1) : v.get(k - 1) + 1;
      while (x < n && x - k < m && before[x] === after[x - k]) x++;
      v.set(k, x);
      if (x >= n && x - k >= m) break search;
    }
    if (d === MOST_EDITS) {
      return [
        ...before.map((_, i) => ({ kind: 'remove', a: i + 1 })),
        ...after.map((_, i) => ({ kind: 'add', b: i + 1 })),
      ];
    }
  }
  const out = [];
  let x = n,
    y = m;
  for (let d = trace.length - 1; d >= 0; d--) {
    const was = trace[d],
      k = x - y;
    const from = k === -d || (k !== d && was.get(k - 1) < was.get(k + 1)) ? k + 1 : k - 1;
    const px = d ? was.get(from) : 0,
      py = d ? px - from : 0;
    while (x > px && y > py) out.push({ kind: 'same', a: x--, b: y-- });
    if (d) out.push(from === k + 1 ? { kind: 'add', b: y-- } : { kind: 'remove', a: x-- });
  }
  return out.reverse();
}
