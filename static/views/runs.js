// SPDX-License-Identifier: Apache-2.0
// Agent runs, newest first.
import { useData } from '../api.js';
import { deviceTitle, number, problemTitle, times } from '../format.js';
import { link, useQuery } from '../router.js';
import { dollars, nameOf, reasonWord, RunState, tokens, trajectoryPath } from '../runs.js';
import { html, Load, Select, Table, When } from '../ui.js';

const PAGE = 50;

const used = (r) => (r.spent?.tokens_in || 0) + (r.spent?.tokens_out || 0);

const columns = [
  {
    head: 'Run',
    csv: 'id',
    value: (r) => r.id,
    cls: 'who',
    cell: (r) => html`<a href=${`/runs/${r.id}`}>${nameOf(r)}</a><small>${r.model}</small>`,
  },
  { csv: 'name', cell: null, value: (r) => r.name },
  { csv: 'model', cell: null, value: (r) => r.model },
  {
    head: 'State',
    value: (r) => (r.state === 'done' && r.reason ? reasonWord(r.reason) : r.state),
    cell: (r) => html`<${RunState} run=${r} />`,
  },
  {
    head: 'Best',
    num: true,
    value: (r) => r.best?.speedup,
    cell: (r) =>
      r.best && html`<a href=${trajectoryPath(r.id, r.best.trajectory, r.best.n)}>${times(r.best.speedup)}</a>`,
  },
  {
    head: 'Turns',
    csv: 'turns',
    num: true,
    value: (r) => r.done,
    cell: (r) =>
      html`${number(r.done)} of ${number(r.trajectories * r.turns)}<small>${r.trajectories} × ${r.turns}</small>`,
  },
  {
    head: 'Spent',
    csv: 'usd',
    num: true,
    value: (r) => r.spent?.usd,
    cell: (r) => html`${dollars(r.spent?.usd)}<small>${tokens(used(r))} tokens</small>`,
  },
  { csv: 'tokens', cell: null, value: used },
  {
    head: 'Problem',
    cls: 'wide-only',
    value: (r) => `${r.problem} ${r.workload || ''}`,
    cell: (r) => html`${problemTitle(r.problem)}<small>${r.workload}</small>`,
  },
  {
    head: 'On',
    cls: 'wide-only',
    value: (r) => `${r.arch || ''} ${r.device || ''}`,
    cell: (r) => r.arch && html`${r.arch}<small>${deviceTitle(r.device || '')}</small>`,
  },
  { head: 'By', cls: 'wide-only', value: (r) => r.owner },
  { head: 'When', value: (r) => r.created_at, cell: (r) => html`<${When} at=${r.created_at} />` },
];

export default function Runs() {
  const [query, set] = useQuery();
  const { cursor, state, problem, model, owner } = query;
  const page = useData(link('/v1/runs', { limit: PAGE, cursor, state, problem, model, owner }), {
    every: cursor ? 0 : 5000,
  });
  const problems = useData('/v1/problems');
  const pick = (name) => (value) => set({ [name]: value, cursor: '' });
  const typed = (name) => (e) => pick(name)(e.target.value.trim());
  return html`<div class="title"><h1>Runs</h1><p class="actions"><a class="button main" href="/runs/new">Start a run</a>
      </p></div>
    <p class="lead">A run lets a model write kernels for one problem: it answers, the kernel is judged, it is told what
      came of it, and tries again.</p>
    <form class="row" aria-label="Which ones" onSubmit=${(e) => e.preventDefault()}>
      <${Select} label="Problem" value=${problem || ''} options=${[
        ['', 'all'],
        ...(problems.data?.items || []).map((p) => [p.name, problemTitle(p.name)]),
      ]} onChange=${pick('problem')} />
      <${Select} label="State" value=${state || ''} options=${[['', 'all'], 'running', 'done']}
        onChange=${pick('state')} />
      <label>Model<input value=${model || ''} maxlength="200" onChange=${typed('model')} /></label>
      <label>By<input value=${owner || ''} maxlength="200" onChange=${typed('owner')} /></label></form>
    <${Load} of=${page}>${({ items, next }) => html`<${Table} name="Runs" columns=${columns} rows=${items}
        empty=${html`No run here. <a href="/runs/new">Start one</a> to see what a model can do.`} />
      <p class="row">${cursor && html`<a href=${link('/runs', { ...query, cursor: '' })}>Newest</a>`}
        ${next && html`<a href=${link('/runs', { ...query, cursor: next })}>Older</a>`}</p>`}<//>`;
}
