// SPDX-License-Identifier: Apache-2.0
// What every view is made of. Text that came from somebody else only ever goes in as a child.
import { html, useEffect, useRef, useState } from './vendor/preact.js';
import { save, token } from './api.js';
import { ago, counts, DASH } from './format.js';

export { html };

// ---- states ----

export const Loading = ({ what = 'Loading' }) => html`<p class="quiet loading" role="status">${what} …</p>`;
export const Empty = ({ children }) => html`<p class="empty">${children}</p>`;

export function Notice({ error, kind = '', children }) {
  return html`<div class=${`notice ${kind}`} role=${kind ? 'status' : 'alert'}>
    ${error && html`<p>${error.message}</p>`}${children}
    ${error?.faults?.length > 1 && html`<ul>${error.faults.map((f) => html`<li><code>
      ${f.path}</code> ${f.detail}</li>`)}</ul>`}
    ${(error?.status === 401 || error?.status === 403) && html`<${TokenField} />`}
  </div>`;
}

// What stands for data that is not there, or that is old: shows children(data) as soon as there is any.
export function Load({ of, children, what }) {
  const { data, error, at, reload } = of;
  if (data === undefined && error) {
    return html`<${Notice} error=${error}><p><button type="button" onClick=${reload}>Try again</button></p><//>`;
  }
  if (data === undefined) return html`<${Loading} what=${what} />`;
  return html`${
    error &&
    html`<${Notice} kind="wait">
    <p>${error.message}; this is from ${new Date(at).toLocaleTimeString()}.</p><//>`
  }${children(data)}`;
}

export function TokenField() {
  const [kept, keep] = useState(token.get());
  return html`<label class="token">Access token
    <input type="password" autocomplete="off" value=${kept} placeholder="from ptxbench token create"
      onInput=${(e) => {
        keep(e.target.value);
        token.set(e.target.value.trim());
      }} /></label>`;
}

// ---- words ----

export function When({ at }) {
  const [, again] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => again((n) => n + 1), 10000);
    return () => clearInterval(timer);
  }, []);
  return html`<time datetime=${at} title=${at}>${ago(at)}</time>`;
}

export const Badge = ({ kind = '', title, children }) =>
  html`<span class=${`badge ${kind}`} title=${title}>${children}</span>`;

export function Verdict({ of: { verdict, state, flags = [] }, big }) {
  const kind = verdict === 'PASSED' ? 'good' : !verdict ? 'wait' : verdict === 'CANCELLED' ? '' : 'bad';
  return html`<span class=${big ? 'verdict big' : 'verdict'}><${Badge} kind=${kind}>${verdict || state || DASH}<//>
    ${flags.map((f) => html` <${Badge} kind="flag">${f}<//>`)}</span>`;
}

export const targetWord = (executed) =>
  executed === true ? 'executed' : executed === false ? 'not executed' : 'unknown';
export function Target({ executed, counts: of }) {
  const [sign, cls] = executed === true ? ['✓', 'good'] : executed === false ? ['✗', 'quiet'] : ['?', 'quiet'];
  return html`<span class=${`target ${cls}`} title=${`target instructions ${targetWord(executed)}${
    of ? `; by warps: ${counts(of)}` : ''}`}>
    <span aria-hidden="true">${sign}</span><span class="hidden">${targetWord(executed)}</span></span>`;
}

// [[name, value, class?]] as a list of facts; what is null or '' is left out. Class `wide`: room for a long text.
export function Facts({ rows }) {
  const shown = rows.filter((r) => r && r[1] !== null && r[1] !== undefined && r[1] !== '' && r[1] !== false);
  return html`<dl class="facts">${shown.map(([name, value, cls]) => html`<div
    class=${cls === 'wide' ? cls : undefined}><dt>${name}</dt><dd class=${cls}>
    ${value}</dd></div>`)}</dl>`;
}

const slug = (text) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');

export function Section({ title, id = slug(title), children }) {
  return html`<section id=${id}><div class="head"><h2>${title}</h2></div>${children}</section>`;
}

// ---- tables ----

// A text that a spreadsheet would run as a formula gets an apostrophe before it.
function csvField(v) {
  if (v === null || v === undefined) return '';
  const text = typeof v === 'string' && /^[=+\-@\t\r]/.test(v) ? `'${v}` : String(v);
  return /[",\r\n']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
export function csvOf(columns, rows) {
  const kept = columns.filter((c) => c.value);
  return (
    [kept.map((c) => c.csv || c.head), ...rows.map((r) => kept.map((c) => c.value(r)))]
      .map((line) => line.map(csvField).join(','))
      .join('\r\n') + '\r\n'
  );
}

export function CsvButton({ name, columns, rows }) {
  const file = `${slug(name)}.csv`;
  return html`<button type="button" class="small" aria-label=${`${name} as CSV`}
    onClick=${() => save(new Blob([csvOf(columns, rows)], { type: 'text/csv' }), file)}>CSV</button>`;
}

// columns: {head, value(row): what CSV has, cell(row): what is shown (else value), num, cls, csv: heading in CSV}.
// A column whose `cell` is null is only in the CSV, one without `value` only on the page. name: what the table is, for
// CSV and screen readers.
export function Table({ name, columns, rows, empty = 'Nothing yet.', rowClass, id }) {
  if (!rows.length) return html`<${Empty}>${empty}<//>`;
  const shown = columns.filter((c) => c.cell !== null);
  const cls = (c) => [c.num && 'number', c.cls].filter(Boolean).join(' ') || undefined;
  const show = (c, r) => {
    const v = c.cell ? c.cell(r) : c.value(r);
    return v === null || v === undefined || v === '' ? DASH : v;
  };
  return html`<div class="table" id=${id}>
    <div class="tools"><${CsvButton} name=${name} columns=${columns} rows=${rows} /></div>
    <div class="scroll" role="region" aria-label=${name} tabindex="0"><table>
      <thead><tr>${shown.map((c) => html`<th scope="col" class=${cls(c)}>${c.head}</th>`)}</tr></thead>
      <tbody>${rows.map((r) => html`<tr class=${rowClass?.(r)}>${shown.map((c) => html`<td class=${cls(c)}>
        ${show(c, r)}</td>`)}</tr>`)}</tbody>
    </table></div></div>`;
}

// ---- choosing ----

// options: [value, text] or value.
export function Select({ label, value, options, onChange }) {
  const pairs = options.map((o) => (Array.isArray(o) ? o : [o, o]));
  return html`<label>${label}<select value=${value} onChange=${(e) => onChange(e.target.value)}>
    ${pairs.map(([v, text]) => html`<option value=${v} selected=${v === value}>${text}</option>`)}</select></label>`;
}

export function Choice({ label, value, options, onChange }) {
  return html`<fieldset class="choice"><legend>${label}</legend>${options.map(
    ([v, text]) => html`<label>
    <input type="radio" name=${label} value=${v} checked=${v === value} onChange=${() => onChange(v)} /><span>
      ${text}</span></label>`,
  )}</fieldset>`;
}

// Copies the address; says so for a moment.
export function CopyLink() {
  const [done, set] = useState(false);
  const timer = useRef(0);
  const copy = async () => {
    await navigator.clipboard?.writeText(location.href).catch(() => {});
    set(true);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => set(false), 1500);
  };
  return html`<button type="button" onClick=${copy}><span role="status">${done ? 'Copied' : 'Copy link'}</span>
    </button>`;
}
