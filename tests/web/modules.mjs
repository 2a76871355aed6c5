// SPDX-License-Identifier: Apache-2.0
// Numbers, expressions, differences, ranks, events, CSV: tests of static/*.js under node. Started by modules.t.
import assert from 'node:assert/strict';
import { eventReader } from '../../static/api.js';
import { evaluate } from '../../static/expr.js';
import { deviceTitle, DASH, inputsText, number, problemTitle, ruleText, share, times } from '../../static/format.js';
import { diffLines } from '../../static/lines.js';
import { bestExecuted, mergeCells, rankRows } from '../../static/results.js';
import { csvOf } from '../../static/ui.js';

let count = 0, failed = 0;
function test(name, work) {
  count++;
  try {
    work();
    console.log(`ok ${count} - ${name}`);
  } catch (e) {
    failed++;
    console.log(`not ok ${count} - ${name}\n${String(e.stack).replace(/^/gm, '# ')}`);
  }
}

test('rules of a problem are told in words, one bound or one for each output', () => {
  assert.equal(ruleText({ atol: 0.01, rtol: 0.02 }), 'an element is wrong if its error is over 0.01 and over 0.02 of its value');
  assert.match(ruleText({ atol: 0.01, rtol: 0.01, share: 1e-6 }), /; of an output’s elements 1 in 1,000,000 may be$/);
  assert.equal(ruleText({ excess: 0.0004 }), `excess over rounding: at most ${number(0.0004)}`);
  assert.equal(ruleText({ excess: { O: 0.5, LSE: 0.25 }, parts: 16 }),
    'excess over rounding: O at most 0.5, LSE at most 0.25; in a tile or row 16 times that');
  assert.equal(inputsText({ name: 'integers', exact: true }), 'integers, to the last bit');
  assert.equal(inputsText({ name: 'spiky', slack: 10 }), 'spiky, with bounds 10 times as wide');
});

test('per cent has exact quarters to even, as the paper prints them', () => {
  assert.deepEqual([3 / 48, 39 / 48, 54 / 96, 57 / 96, 1, 0].map(share), ['6.2 %', '81.2 %', '56.2 %', '59.4 %', '100.0 %', '0.0 %']);
});

test('what is not known is a dash', () => {
  assert.deepEqual([number(null), times(undefined), share(NaN)], [DASH, DASH, DASH]);
});

test('names for people', () => {
  assert.deepEqual([deviceTitle('NVIDIA H100 80GB HBM3'), deviceTitle('ptxvm'), problemTitle('mha_fwd_causal')], ['H100', 'CPU (ptxvm)', 'MHA-Fwd-Causal']);
});

test('expressions', () => {
  const axes = { M: 33, N: 7168, K: 5120 };
  assert.deepEqual(['2*M*N*K', 'ceil_div(M, 32)', '8 - 2 - 1', '2*(M + 1)/4', 'align(M, 32)', '-M + M', 'min(M, 7) % 4', 12].map((e) => evaluate(e, axes)),
    [2 * 33 * 7168 * 5120, 2, 5, 17, 64, 0, 3, 12]);
  assert.deepEqual(['', 'Q', '2*(', '2 2', 'f(1)', 'M N', '1/0', '2*'].map((e) => evaluate(e, axes)), Array(8).fill(null));
});

test('a difference leads from one list of lines to the other, with as few edits as there can be', () => {
  const apply = (d, a, b) => [d.filter((x) => x.kind !== 'add').map((x) => a[x.a - 1]), d.filter((x) => x.kind !== 'remove').map((x) => b[x.b - 1])];
  let seed = 1;
  const random = (n) => { seed = (seed * 48271) % 2147483647; return seed % n; };
  const least = (a, b) => { // by the longest common subsequence
    const t = Array.from({ length: a.length + 1 }, () => Array(b.length + 1).fill(0));
    for (let i = 1; i <= a.length; i++)
      for (let j = 1; j <= b.length; j++) t[i][j] = a[i - 1] === b[j - 1] ? t[i - 1][j - 1] + 1 : Math.max(t[i - 1][j], t[i][j - 1]);
    return a.length + b.length - 2 * t[a.length][b.length];
  };
  for (let round = 0; round < 300; round++) {
    const [a, b] = [0, 1].map(() => Array.from({ length: random(12) }, () => 'abc'[random(3)]));
    const d = diffLines(a, b);
    assert.deepEqual(apply(d, a, b), [a, b]);
    assert.ok(d.every((x) => x.kind !== 'same' || a[x.a - 1] === b[x.b - 1]));
    assert.equal(d.filter((x) => x.kind !== 'same').length, least(a, b));
  }
});

test('ranks: faster first, bands share one, untimed come last without', () => {
  const row = (who, speedup, ci95, instructions = null) => ({ who, speedup, ci95, instructions });
  const ranked = rankRows([row('slow', 0.5, [0.49, 0.51]), row('none', null, null, 9), row('tied', 0.995, [0.98, 1.01]), row('first', 1, [0.99, 1.01]),
    row('published', 0.7, null), row('fewer', null, null, 3), row('chained', 0.975, [0.96, 0.99])]);
  assert.deepEqual(ranked.map((r) => [r.who, r.rank]), [['first', 1], ['tied', 1], ['chained', 3], ['published', 4], ['slow', 5], ['fewer', null], ['none', null]]);
});

test('cells: what the turns say replaces the paper’s file, limit by limit', () => {
  const cell = (origin, model, at) => ({ origin, model, condition: null, device_model: 'd', problem: 'p', workload: 'w', at });
  const merged = mergeCells({ items: [cell('published', 'm', [{ turns: 1, best: 1 }, { turns: 8, best: 2 }])] },
    { items: [cell('published', 'm', [{ turns: 8, best: 3 }]), cell('local', 'm', [{ turns: 8, best: 4 }])] });
  assert.deepEqual(merged.map((c) => [c.origin, c.at.map((e) => e.best)]), [['published', [1, 3]], ['local', [4]]]);
});

test('target instructions of the best: executed, not, unknown', () => {
  assert.deepEqual([{ best: 2, best_target: 2 }, { best: 2, best_target: 1 }, { best: 2, best_target: 1, unknown: 3 }, { best: null, best_target: null }].map(bestExecuted),
    [true, false, null, null]);
});

test('events, in whatever pieces they come', () => {
  const text = 'retry: 1000\n\n: hello\n\nid: 4\nevent: stage\ndata: {"stage": "check"}\n\nid: 5\nevent: state\ndata: {"state": "done"}\n\nid: 6\nda';
  for (let size = 1; size < 20; size++) {
    const got = [];
    const feed = eventReader((e) => got.push([e.id, e.event, e.data]));
    for (let i = 0; i < text.length; i += size) feed(text.slice(i, i + size));
    assert.deepEqual(got, [['4', 'stage', { stage: 'check' }], ['5', 'state', { state: 'done' }]]);
  }
});

test('CSV: quotes, commas, lines, and formulas that must not run', () => {
  const columns = [{ head: 'A', value: (r) => r.a }, { head: 'B', csv: 'b', value: (r) => r.b }];
  assert.equal(csvOf(columns, [{ a: 'x,y', b: 1.5 }, { a: 'say "no"', b: null }, { a: '=1+1', b: -2 }, { a: 'two\nlines', b: true }]),
    'A,b\r\n"x,y",1.5\r\n"say ""no""",\r\n"\'=1+1",-2\r\n"two\nlines",true\r\n');
});

console.log(`1..${count}`);
process.exitCode = failed ? 1 : 0;
