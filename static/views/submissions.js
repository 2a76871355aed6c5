// SPDX-License-Identifier: Apache-2.0
// Submissions, newest first.
import { useData } from '../api.js';
import { deviceTitle, problemTitle, shortId, times } from '../format.js';
import { link, useQuery } from '../router.js';
import { html, Load, Select, Table, Verdict, When } from '../ui.js';

const PAGE = 50;

const columns = [
  {
    head: 'Submission',
    csv: 'id',
    value: (s) => s.id,
    cls: 'who',
    cell: (s) =>
      html`<a href=${`/submissions/${s.id}`}>${s.label || `${problemTitle(s.problem)} ${s.workload}`}</a>
        <small>${s.method && html`${s.method} · `}<span class="mono">${shortId(s.id)}</span></small>`,
  },
  { csv: 'label', cell: null, value: (s) => s.label },
  { csv: 'method', cell: null, value: (s) => s.method },
  { head: 'Verdict', value: (s) => s.verdict || s.state, cell: (s) => html`<${Verdict} of=${s} />` },
  { head: 'Speedup', num: true, value: (s) => s.speedup?.value, cell: (s) => times(s.speedup?.value) },
  {
    head: 'Problem',
    cls: 'wide-only',
    value: (s) => `${s.problem} ${s.workload}`,
    cell: (s) => html`${problemTitle(s.problem)}<small>${s.workload}</small>`,
  },
  {
    head: 'On',
    cls: 'wide-only',
    value: (s) => `${s.arch} ${s.device_model || s.device}`,
    cell: (s) => html`${s.arch}<small>${deviceTitle(s.device_model || s.device)}</small>`,
  },
  { head: 'Language', cls: 'wide-only', value: (s) => s.language },
  { head: 'By', cls: 'wide-only', value: (s) => s.owner },
  { head: 'When', value: (s) => s.created_at, cell: (s) => html`<${When} at=${s.created_at} />` },
];

export default function Submissions() {
  const [query, set] = useQuery();
  const { cursor, state, verdict, problem, label, owner } = query;
  const page = useData(link('/v1/submissions', { limit: PAGE, cursor, state, verdict, problem, label, owner }), {
    every: cursor ? 0 : 5000,
  });
  const problems = useData('/v1/problems');
  const index = useData('/v1');
  const pick = (name) => (value) => set({ [name]: value, cursor: '' });
  return html`<h1>Submissions</h1>
    <form class="row" aria-label="Which ones" onSubmit=${(e) => e.preventDefault()}>
      <${Select} label="Problem" value=${problem || ''} options=${[['', 'all'],
        ...(problems.data?.items || []).map((p) => [p.name, problemTitle(p.name)])]} onChange=${pick('problem')} />
      <${Select} label="State" value=${state || ''} options=${[['', 'all'], 'queued', 'running', 'done']}
        onChange=${pick('state')} />
      <${Select} label="Verdict" value=${verdict || ''} options=${[['', 'all'],
        ...(index.data?.verdicts || []).map((v) => v.name)]}
        onChange=${pick('verdict')} />
      <label>Label<input value=${label || ''} maxlength="200" onChange=${(e) => pick('label')(e.target.value)} />
        </label></form>
    <${Load} of=${page}>${({ items, next }) => html`<${Table} name="Submissions" columns=${columns} rows=${items}
        empty=${html`Nothing here. <a href="/submit">Submit a kernel</a> to begin.`} />
      <p class="row">${cursor && html`<a href=${link('/submissions', { ...query, cursor: '' })}>Newest</a>`}
        ${next && html`<a href=${link('/submissions', { ...query, cursor: next })}>Older</a>`}</p>`}<//>`;
}
