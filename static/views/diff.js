// SPDX-License-Identifier: Apache-2.0
// Two submissions side by side: every number of their reports, and their sources by line.
import { useEffect, useState } from '../vendor/preact.js';
import { call, useData } from '../api.js';
import { Line, lines } from '../code.js';
import { diffLines } from '../lines.js';
import { DASH, number, shortId, times } from '../format.js';
import { Choice, Empty, html, Load, Notice, Section, Table, targetWord, Verdict, When } from '../ui.js';

const nameOf = (s) => s.label || shortId(s.id);

// Every number of a report by its path; what is only noise between two runs is left out.
const LEFT_OUT = /^(schema|check\.trials\.\d+\.seed|seeds|timing\.block_us)/;
export function numbersOf(value, path = '', out = new Map()) {
  if (LEFT_OUT.test(path)) return out;
  if (typeof value === 'number' || typeof value === 'boolean') out.set(path, value);
  else if (value && typeof value === 'object')
    for (const [k, v] of Object.entries(value))
      numbersOf(v, path ? `${path}.${v?.name && Array.isArray(value) ? v.name : k}` : k, out);
  return out;
}

export default function Diff({ captures: [a, b] }) {
  const pair = useData([`/v1/submissions/${a}`, `/v1/submissions/${b}`]);
  return html`<h1>Difference</h1><${Load} of=${pair}>${([left, right]) => html`
    <${Table} name="The two" columns=${[
      { head: 'Side', value: (r) => r.side },
      {
        head: 'Submission',
        cls: 'who',
        value: (r) => nameOf(r.s),
        cell: (r) => html`<a href=${`/submissions/${r.s.id}`}>${nameOf(r.s)}</a>`,
      },
      { head: 'Verdict', value: (r) => r.s.verdict, cell: (r) => html`<${Verdict} of=${r.s} />` },
      {
        head: 'Speedup',
        num: true,
        value: (r) => r.s.speedup?.value,
        cell: (r) => html`${times(r.s.speedup?.value)}${r.s.speedup?.ci95 && html`<small>
          ${r.s.speedup.ci95.map(times).join(' to ')}</small>`}`,
      },
      {
        head: 'Time, µs',
        csv: 'us',
        num: true,
        value: (r) => r.s.candidate_us,
        cell: (r) => number(r.s.candidate_us),
      },
      { head: 'Target instructions', cls: 'wide-only', value: (r) => targetWord(r.s.target?.executed) },
      { head: 'When', value: (r) => r.s.created_at, cell: (r) => html`<${When} at=${r.s.created_at} />` },
    ]} rows=${[
      { side: 'A', s: left },
      { side: 'B', s: right },
    ]} />
    <p><a href=${`/submissions/${b}/diff/${a}`}>Swap A and B</a></p>
    <${Numbers} left=${left} right=${right} /><${Sources} left=${left} right=${right} />`}<//>`;
}

function Numbers({ left, right }) {
  const [which, show] = useState('changed');
  const reports = useData([left, right].map((s) => `/v1/submissions/${s.id}/report`));
  return html`<${Section} title="Numbers"><${Load} of=${reports}>${([a, b]) => {
    const before = numbersOf(a),
      after = numbersOf(b);
    const rows = [...new Set([...before.keys(), ...after.keys()])]
      .map((path) => ({ path, a: before.get(path), b: after.get(path) }))
      .filter((r) => which === 'all' || r.a !== r.b);
    const change = (r) => (typeof r.a === 'number' && typeof r.b === 'number' && r.a ? r.b / r.a - 1 : null);
    const show1 = (v) => (typeof v === 'boolean' ? String(v) : v === undefined ? DASH : number(v));
    const columns = [
      { head: 'Number', cls: 'wide mono', value: (r) => r.path },
      { head: 'A', num: true, value: (r) => r.a, cell: (r) => show1(r.a) },
      { head: 'B', num: true, value: (r) => r.b, cell: (r) => show1(r.b) },
      {
        head: 'Change',
        num: true,
        value: change,
        cell: (r) => {
          const c = change(r);
          return c === null ? DASH : `${c < 0 ? '−' : '+'}${Math.abs(100 * c).toFixed(1)} %`;
        },
      },
    ];
    return html`<${Choice} label="Rows" value=${which} onChange=${show} options=${[
      ['changed', 'what changed'],
      ['all', 'every number'],
    ]} />
      <${Table} name="Numbers" columns=${columns} rows=${rows} empty="Every number is the same." />`;
  }}<//><//>`;
}

const CONTEXT = 3;

// Runs of equal lines are cut to their ends.
function withGaps(parts) {
  const near = parts.map((p, i) =>
    parts.slice(Math.max(0, i - CONTEXT), i + CONTEXT + 1).some((q) => q.kind !== 'same'),
  );
  return parts.filter((p, i) => near[i] || (near[i - 1] && (p.gap = true)));
}

function Sources({ left, right }) {
  const [texts, set] = useState(null),
    [error, fail] = useState(null);
  useEffect(() => {
    Promise.all([left, right].map((s) => call(`/v1/submissions/${s.id}/source`, { text: true }))).then(set, fail);
  }, [left.id, right.id]);
  if (error) return html`<${Notice} error=${error} />`;
  if (!texts) return null;
  const parts = differenceOf(texts[0], texts[1]);
  return html`<${Section} title="Source">${
    parts.length
      ? html`<${Difference} parts=${parts} texts=${texts} languages=${[left.language, right.language]} />`
      : html`<${Empty}>The sources are the same.<//>`
  }<//>`;
}

// The lines that differ between two texts, with a few around them.
export const differenceOf = (before, after) => withGaps(diffLines(before.split('\n'), after.split('\n')));

const sign = { same: ' ', add: '+', remove: '−' };
export function Difference({ parts, texts, languages, name = 'Source, difference' }) {
  const coloured = texts.map((t, i) => lines(t, languages[i]));
  return html`<div class="source" tabindex="0" role="region" aria-label=${name}><ol>${parts.map((p) =>
    p.gap
      ? html`<li class="gap">⋯</li>`
      : html`<li class=${p.kind}><span class="n">${p.a ?? ''}</span><span class="n">${p.b ?? ''}</span><span
        class="sign">${sign[p.kind]}</span><${Line}
        parts=${p.kind === 'add' ? coloured[1][p.b - 1] : coloured[0][p.a - 1]} /></li>`,
  )}</ol></div>`;
}
