// SPDX-License-Identifier: Apache-2.0
// Numbers, expressions, differences, ranks, events, CSV: tests of static/*.js under node. Started by modules.t.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { kernelAt, languageOf, splitAnswer, splitThought } from '../../static/answer.js';
import { eventReader } from '../../static/api.js';
import { chooseCells } from '../../static/cells.js';
import { evaluate } from '../../static/expr.js';
import { deviceTitle, DASH, inputsText, number, problemTitle, ruleText, share, times } from '../../static/format.js';
import { diffLines } from '../../static/lines.js';
import { bestExecuted, mergeCells, rankRows, rowOfEntry } from '../../static/results.js';
import { bodyOf, faultsAt, firstValues, suits } from '../../static/run_form.js';
import { bestByTurn, dollars, labelCounts, LABELS, limitsOf, tokens, turnsByN, turnText } from '../../static/turns.js';
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

test('labels of turns are those of core/labels.def, and each has its colour', () => {
  const known = [...readFileSync(new URL('../../core/labels.def', import.meta.url), 'utf8').matchAll(/^LABEL\((\w+), +"(.*)"\)$/gm)];
  assert.deepEqual(LABELS.map(([name, title]) => [name, title]), known.map(([, name, title]) => [name, title]));
  const style = readFileSync(new URL('../../static/style.css', import.meta.url), 'utf8');
  const colours = LABELS.map(([name]) => new RegExp(`\\.l-${name} \\{ --l: ([^;]+);`).exec(style)?.[1]);
  assert.deepEqual(colours.slice(0, 9), ['#2ca02c', '#d62728', '#ff7f0e', '#8c564b', '#e377c2', '#9467bd', '#7f7f7f', '#1f77b4', '#bcbd22']);
  assert.ok(colours.every(Boolean) && new Set(colours).size === LABELS.length);
});

test('an answer is text and blocks; the kernel is the last closed block that holds one', () => {
  const answer = 'First:\n```cuda\n__global__ void a() {}\n```\nand\n~~~~ json\n{"x": "```"}\n~~~~\nthen\n```\n__global__ void b() {}\n```\nEnd\n```c++\n__global__ void cut';
  const parts = splitAnswer(answer);
  assert.deepEqual(parts.map((p) => [p.kind, p.info, p.closed]),
    [['text', undefined, undefined], ['code', 'cuda', true], ['text', undefined, undefined], ['code', 'json', true], ['text', undefined, undefined], ['code', '', true],
      ['text', undefined, undefined], ['code', 'c++', false]]);
  assert.equal(parts[3].text, '{"x": "```"}');
  assert.equal(kernelAt(parts), 5);
  assert.equal(kernelAt(splitAnswer('```\nint main;\n```')), -1);
  assert.equal(kernelAt(splitAnswer('```ptx\n.version 9.0\n.visible .entry k() { ret; }\n```')), 0);
  assert.equal(kernelAt(splitAnswer('```\nan .entry alone\n```')), -1);
});

test('a fence opened again ends the block before as one that is not closed; a longer one may hold shorter ones', () => {
  assert.deepEqual(splitAnswer('```cuda\n__global__ a\n```cuda\n__global__ b\n```').map((p) => [p.text, p.closed]), [['__global__ a', false], ['__global__ b', true]]);
  assert.deepEqual(splitAnswer('````md\n```\nx\n```\n````\r\nend').map((p) => [p.kind, p.text]), [['code', '```\nx\n```'], ['text', 'end']]);
  assert.deepEqual(splitAnswer(''), []);
});

test('what was thought aloud is apart from the answer; languages are told by their words', () => {
  assert.deepEqual(splitThought('<think>a</think>b</think>c'), ['a</think>b', 'c']);
  assert.deepEqual(splitThought('only an answer'), ['', 'only an answer']);
  assert.deepEqual(['.version 9.0\n.target sm_90a', '__global__ void k() { asm(".version"); }'].map(languageOf), ['ptx', 'cuda']);
});

test('the best up to each turn, by prompt: nothing before the first correct one, nothing where nobody has been', () => {
  const turn = (n, speedup, more) => ({ n, try: 0, label: speedup ? 'correct' : 'compile', correct: !!speedup, speedup, ...more });
  const grid = [
    { variant: 1, turns: [turn(0, null), turn(1, 0.5), turn(2, 0.4)] },
    { variant: 0, turns: [turn(0, 0.9)] },
    { variant: 1, turns: [turn(0, null), turn(1, 0.7), turn(1, 0.6, { try: 1 })] },
  ];
  assert.deepEqual(bestByTurn(grid, 4), [{ variant: 0, values: [0.9, null, null, null] }, { variant: 1, values: [null, 0.6, 0.6, null] }]);
  assert.deepEqual(turnsByN(grid[2].turns).map((t) => t.try), [0, 1]);
  assert.deepEqual(labelCounts(grid.flatMap((t) => t.turns)), [['correct', 5], ['compile', 2]]);
  assert.equal(turnText(turn(1, 0.6, { try: 1, inst: null })), 'Correct, 0.600×, target instructions unknown, try 2');
});

test('money and tokens', () => {
  assert.deepEqual([0, 0.12345, 0.00001, 1, 1234.5, null].map(dollars), ['$0.00', '$0.1235', '$1.0e-5', '$1.00', '$1234.50', DASH]);
  assert.deepEqual([0, 9999, 12345, 123456, 1234567, 12345678, undefined].map(tokens), ['0', '9,999', '12.3k', '123k', '1.23M', '12.3M', DASH]);
});

test('limits of turns: every one, or as many as may be asked for, and the last', () => {
  assert.deepEqual([1, 4, 8, 9, 64].map(limitsOf), ['1', '1,2,3,4', '1,2,3,4,5,6,7,8', '1,2,4,8,9', '1,2,4,8,16,32,64']);
});

test('cells: the address is followed as far as there is something, else the usual', () => {
  const cell = (problem, device_model, workload) => ({ problem, device_model, workload });
  const items = [cell('mha_fwd', 'NVIDIA B200', 'a'), cell('gemm', 'NVIDIA B200', 'a'), cell('gemm', 'NVIDIA H100 80GB HBM3', 'a'),
    cell('gemm', 'NVIDIA H100 80GB HBM3', 'b'), cell('gemm', 'NVIDIA H100 80GB HBM3', 'b')];
  const chosen = (query) => { const c = chooseCells(items, query); return [c.problem, c.device, c.workload, c.cells.length]; };
  assert.deepEqual(chosen({}), ['gemm', 'NVIDIA H100 80GB HBM3', 'b', 2]);
  assert.deepEqual(chosen({ problem: 'mha_fwd', device: 'NVIDIA H100 80GB HBM3' }), ['mha_fwd', 'NVIDIA B200', 'a', 1]);
  assert.deepEqual(chosen({ device: 'NVIDIA B200', workload: 'b' }), ['gemm', 'NVIDIA B200', 'a', 1]);
});

test('an entry is called by its label, a run without a name by its model', () => {
  const called = (label, method) => { const r = rowOfEntry({ id: '01a22ca3-9ee7-774f-9ba1-f41560eccc4c', label, method }); return [r.who, r.method]; };
  assert.deepEqual(called('naive.cu', 'hand'), ['naive.cu', 'hand']);
  assert.deepEqual(called('a250103d', 'a model'), ['a model', 'run a250103d']);
  assert.deepEqual(called(null, null), ['01a22ca3…cc4c', null]);
});

test('CSV has the columns that have a value, and formulas are text', () => {
  const columns = [{ head: 'Name', csv: 'name', value: (r) => r.name }, { head: 'Bar', cell: () => 'only seen' }, { csv: 'n', cell: null, value: (r) => r.n }];
  assert.equal(csvOf(columns, [{ name: '=1+1', n: -1 }, { name: 'a "b",c', n: null }]), 'name,n\r\n"\'=1+1",-1\r\n"a ""b"",c",\r\n');
});

test('a run is asked for with what was said, and with nothing else', () => {
  const all = { problems: [{ name: 'gemm' }], archs: [{ name: 'sm_100a' }], runs: [{ provider: 'p', model: 'm' }],
    lanes: [{ name: 'sm_90a/cpu', healthy: true }, { name: 'llm/dead', healthy: false }, { name: 'llm/p', healthy: true }] };
  const first = firstValues(all, { problem: 'mha_fwd', nonsense: 'x' });
  assert.deepEqual([first.problem, first.arch, first.device, first.provider, first.model, first.nonsense], ['mha_fwd', 'sm_90a', 'cpu', 'p', 'm', undefined]);
  assert.deepEqual(bodyOf({ ...first, variants: ['complete'], turns: 'many', usd: ' 2.5 ', temperature: '0' }), {
    problem: 'mha_fwd', arch: 'sm_90a', device: 'cpu', provider: 'p', model: 'm', history: 'full', feedback: 'full', visibility: 'public',
    trajectories: 4, turns: 'many', target_speedup: 1.2, variants: ['complete'], params: { temperature: 0 }, budget: { usd: 2.5 } });
  const like = { problem: 'gemm', workload: 'w', arch: 'sm_90a', device: 'gpu', name: 'old', provider: 'q', model: 'n', condition: null, params: { effort: 'low', temperature: 0 },
    history: 'single-user', feedback: 'paper', variants: [{ name: 'a' }], per_variant: 2, turns: 3, target_speedup: 1, budget: { tokens: null, usd: 5 }, visibility: 'private' };
  const again = bodyOf(firstValues({ ...all, like }, {}));
  assert.deepEqual(again, { problem: 'gemm', workload: 'w', arch: 'sm_90a', device: 'gpu', provider: 'q', model: 'n', history: 'single-user', feedback: 'paper', visibility: 'private',
    trajectories: 2, turns: 3, target_speedup: 1, variants: ['a'], params: { effort: 'low', temperature: 0 }, budget: { usd: 5 } });
});

test('prompts that suit a problem; faults of a field', () => {
  assert.deepEqual(['gemm', 'every problem: x', 'attention forward', 'attention backward', 'ablation: numbers'].map((f) => suits({ for: f }, 'mha_fwd_causal')),
    [false, true, true, false, false]);
  const faults = [{ path: '$.turns' }, { path: '$.variants[1]' }, { path: '$.budget.usd' }, { path: '$.budgets' }];
  assert.deepEqual(['$.turns', '$.variants', '$.budget'].map((p) => faultsAt({ faults }, p).length), [1, 1, 1]);
  assert.deepEqual(faultsAt(null, '$.turns'), []);
});

console.log(`1..${count}`);
process.exitCode = failed ? 1 : 0;
