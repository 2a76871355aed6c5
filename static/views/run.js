// SPDX-License-Identifier: Apache-2.0
// One run: what was asked for, what it has spent, every turn of every trajectory, live while it runs.
import { useMemo, useState } from '../vendor/preact.js';
import { call, download, useData } from '../api.js';
import { TurnLines } from '../chart.js';
import { DASH, deviceTitle, duration, number, problemTitle, share, times } from '../format.js';
import { link, useTitle } from '../router.js';
import * as R from '../runs.js';
import { CopyLink, Facts, html, Load, Notice, Section, Table, When } from '../ui.js';
import { Grid } from './run_grid.js';

export default function Run({ captures: [id] }) {
  const answer = useData(`/v1/runs/${id}`);
  const r = answer.data;
  const live = R.useLive(r, answer.reload);
  useTitle(r && R.nameOf(r));
  // Events come often; what they do not change is not drawn again.
  const above = useMemo(() => r && html`<${Summary} run=${r} /><${Labels} run=${r} />`, [r]);
  const below = useMemo(
    () => r && html`<${Lines} run=${r} /><${Asked} run=${r} /><${Exports} run=${r} />`,
    [r],
  );
  if (!r && answer.error) return html`<h1>Run</h1><${Notice} error=${answer.error} />`;
  return html`<${Load} of=${answer}>${() => html`
    <div class="title"><h1>${R.nameOf(r)}</h1><${Actions} run=${r} reload=${answer.reload} /></div>
    <p aria-live="polite"><${R.RunState} run=${r} big /> <span class="mono quiet">${id}</span></p>
    <${Told} run=${r} />
    ${!live.connected && r.state === 'running' && html`<${R.LostLine} />`}
    ${r.state === 'running' && r.lane?.healthy === false && html`<${Notice} kind="wait"><p>No agent serves the provider
      “${r.provider}” at the moment; its calls wait for one.</p><//>`}
    ${above}<${Grid} run=${r} now=${live.now} />${below}`}<//>`;
}

const many = (n, one, more) => `${n} ${n === 1 ? one : more}`;

// What this is, for who has never seen one.
function Told({ run: r }) {
  const prompts = r.variants.length,
    per = r.per_variant ?? Math.ceil(r.trajectories / prompts);
  const shape = [
    `${many(prompts, 'prompt', 'prompts')},${prompts === 1 ? '' : ' each'} tried in`,
    `${many(per, 'trajectory', 'trajectories')} of up to ${many(r.turns, 'turn', 'turns')}.`,
    'In each turn the model answers with a kernel, which is compiled, checked and timed;',
    'what came of it is its next message.',
    r.target_speedup && `A trajectory ends early at ${number(r.target_speedup)}× the vendor’s library.`,
  ];
  return html`<p class="lead"><strong>${r.model}</strong> writes <a href=${`/problems/${r.problem}`}>
    ${problemTitle(r.problem)}</a> kernels${r.arch && ` for ${r.arch}`}: ${shape.filter(Boolean).join(' ')}</p>`;
}

// ---- at a glance ----

function Summary({ run: r }) {
  const turns = r.grid.flatMap((t) => t.turns);
  const correct = turns.filter((t) => t.correct).length;
  const ended = r.grid.filter((t) => t.state === 'done').length;
  const used = (r.spent.tokens_in || 0) + (r.spent.tokens_out || 0);
  return html`<${Facts} rows=${[
    [
      'Best speedup',
      r.best
        ? html`<a href=${R.trajectoryPath(r.id, r.best.trajectory, r.best.n)}>${times(r.best.speedup)}</a>
          <small>t${r.best.trajectory}, turn ${r.best.n + 1}</small>`
        : 'none yet',
      r.best ? 'big' : '',
    ],
    [
      'Correct turns',
      html`${number(correct)} of ${number(turns.length)}<small>${turns.length ? share(correct / turns.length) : DASH}
        </small>`,
    ],
    [
      'Trajectories',
      html`${ended} of ${r.trajectories} ended<small>${number(r.done)} of at most ${number(r.trajectories * r.turns)}
        ${' '}turns</small>`,
    ],
    ['Cost', html`<${R.Spent} value=${r.spent.usd} most=${r.budget?.usd} format=${R.dollars} name="dollars" />`],
    ['Tokens', html`<${R.Spent} value=${used} most=${r.budget?.tokens} format=${R.tokens} name="tokens" />`],
    [
      'Calls of the model',
      html`${number(r.spent.calls)}<small>${R.tokens(r.spent.tokens_in)} tokens in, ${R.tokens(r.spent.tokens_out)} out
        </small>`,
    ],
    [
      r.finished_at ? 'Took' : 'Begun',
      r.finished_at
        ? html`${duration(Date.parse(r.finished_at) - Date.parse(r.created_at))}<small>ended <${When}
            at=${r.finished_at} /></small>`
        : html`<${When} at=${r.created_at} />`,
    ],
    ['By', r.owner],
  ]} />`;
}

// The turns by what they came to, as one bar; what is missing to the whole has not been played.
function Labels({ run: r }) {
  const counts = R.labelCounts(r.grid.flatMap((t) => t.turns));
  if (!counts.length) return null;
  const all = r.trajectories * r.turns;
  return html`<div class="labels"><div class="stack" aria-hidden="true">${counts.map(
    ([name, n]) => html`<i class=${R.labelClass(name)} style=${{ width: `${(100 * n) / all}%` }}></i>`,
  )}</div><ul class="line">${counts.map(
    ([name, n]) => html`<li><i class=${`swatch ${R.labelClass(name)}`} aria-hidden="true"></i> ${R.labelTitle(name)}
      <b> ${number(n)}</b></li>`,
  )}${counts[0][0] === 'correct' && html`<li class="quiet">✓ target instructions executed</li>`}</ul></div>`;
}

// ---- best so far ----

function Lines({ run: r }) {
  const best = useMemo(() => R.bestByTurn(r.grid, r.turns), [r]);
  const lines = best.map((b, i) => ({
    name: r.variants.find((v) => v.variant === b.variant)?.name || String(b.variant),
    colour: i < 6 ? `c${i + 1}` : 'c0',
    values: b.values,
  }));
  if (!lines.some((l) => l.values.some((v) => v !== null))) return null;
  const columns = [
    { head: 'Prompt', value: (l) => l.name },
    ...Array.from({ length: r.turns }, (_, n) => ({
      head: `Turn ${n + 1}`,
      num: true,
      value: (l) => l.values[n],
      cell: (l) => times(l.values[n]),
    })),
  ];
  return html`<${Section} title="Best speedup so far">
    <div class="legend">${lines.map(
      (l) => html`<span><i class=${`swatch ${l.colour}`} aria-hidden="true"></i>${l.name}
      </span>`,
    )}<span class="quiet">solid at 1: the vendor’s library${
      r.target_speedup ? ` · dashed at ${number(r.target_speedup)}: the target` : ''
    }</span></div>
    <${TurnLines} title="Fastest correct kernel up to each turn, by prompt" lines=${lines} goal=${r.target_speedup}
      label="Best speedup by turn and prompt; the table below has the figures" keys=${[r]} />
    <details class="figures"><summary>The figures</summary><${Table} name="Best speedup by turn" columns=${columns}
      rows=${lines} /></details><//>`;
}

// ---- what was asked for ----

const histories = {
  full: 'everything so far',
  'latest-pair': 'the last answer and its feedback',
  'single-user': 'everything so far, as one message',
};
const feedbacks = { full: 'all that helps', paper: 'what the paper’s agent was told' };

function Asked({ run: r }) {
  return html`<${Section} title="What was asked for"><${Facts} rows=${[
    r.source && ['From', r.source],
    ['Problem', html`<a href=${`/problems/${r.problem}`}>${problemTitle(r.problem)}</a> ${r.workload}`],
    r.arch && ['Architecture', `${r.arch} on ${deviceTitle(r.device || '')}`],
    ['Model', html`${r.model}${r.provider && html`<small>of the provider ${r.provider}</small>`}`],
    r.condition && ['Condition', r.condition],
    ['Prompts', r.variants.map((v) => v.name).join(', ')],
    ['Trajectories', html`${r.trajectories}${r.per_variant && html`<small>${r.per_variant} of each prompt</small>`}`],
    ['Turns', number(r.turns)],
    ['Target', r.target_speedup ? `${number(r.target_speedup)}×` : 'none'],
    r.history && ['A call carries', histories[r.history] || r.history],
    r.feedback && ['Feedback', feedbacks[r.feedback] || r.feedback],
    ...Object.entries(r.params || {}).map(([name, v]) => [
      name.replaceAll('_', ' '),
      typeof v === 'number' ? number(v) : String(v),
    ]),
    [
      'Budget',
      [r.budget?.usd && R.dollars(r.budget.usd), r.budget?.tokens && `${R.tokens(r.budget.tokens)} tokens`]
        .filter(Boolean)
        .join(', ') || 'none',
    ],
    ['Visible to', r.visibility === 'private' ? 'its owner' : 'everybody'],
    ['Begun', html`<${When} at=${r.created_at} />`],
  ]} /><p><a href=${link('/runs/new', { from: r.id })}>Start one like it …</a></p><//>`;
}

function Exports({ run: r }) {
  const [error, fail] = useState(null);
  const get = (path, name) => () => download(path, name).then(() => fail(null), fail);
  return html`<${Section} title="Export"><p class="quiet">Every message, answer and verdict: one line of JSON a
    trajectory, in the layout of mini-swe-agent 1.1.</p><p class="row"><button type="button"
    onClick=${get(`/v1/runs/${r.id}/export`, `run-${r.id}.jsonl`)}>All trajectories (JSONL)</button></p>
    ${error && html`<${Notice} error=${error} />`}<//>`;
}

// ---- cancel, resume, extend ----

function Actions({ run: r, reload }) {
  const [error, fail] = useState(null);
  const [form, show] = useState('');
  const act = async (what, body) => {
    try {
      fail(null);
      await call(`/v1/runs/${r.id}/${what}`, { method: 'POST', body });
      show('');
    } catch (e) {
      fail(e);
    }
    reload();
  };
  const ended = (list) => (r.source ? 0 : r.grid.filter((t) => t.state === 'done' && list.includes(t.reason)).length);
  const resumable = ended(R.RESUMABLE),
    extensible = ended(['turns', 'target']);
  const toggle = (name) => () => show(form === name ? '' : name);
  return html`<div class="actions">
    ${r.state === 'running' && html`<button type="button" onClick=${() => act('cancel')}>Cancel</button>`}
    ${
      resumable > 0 &&
      html`<button type="button" aria-expanded=${form === 'resume'} onClick=${toggle('resume')}>
      Resume …</button>`
    }
    ${
      extensible > 0 &&
      html`<button type="button" aria-expanded=${form === 'extend'} onClick=${toggle('extend')}>
      Extend …</button>`
    }
    <${CopyLink} /></div>
    ${form === 'resume' && html`<${Resume} run=${r} count=${resumable} act=${act} />`}
    ${form === 'extend' && html`<${Extend} run=${r} count=${extensible} act=${act} />`}
    ${error && html`<${Notice} error=${error} />`}`;
}

const trajectories = (n) => many(n, 'trajectory', 'trajectories');
const given = (form, name) => (form.elements[name].value === '' ? undefined : Number(form.elements[name].value));

function Resume({ run: r, count, act }) {
  const submit = (e) => {
    e.preventDefault();
    const budget = { usd: given(e.target, 'usd'), tokens: given(e.target, 'tokens') };
    act('resume', budget.usd === undefined && budget.tokens === undefined ? {} : { budget });
  };
  return html`<form class="panel" onSubmit=${submit}><p>Goes on with ${trajectories(count)} that did not end by
    itself.</p>
    <div class="row"><label>New budget, dollars<input name="usd" type="number" min="0" step="any"
      placeholder=${r.budget?.usd ?? 'none'} /></label>
    <label>New budget, tokens<input name="tokens" type="number" min="0" step="1"
      placeholder=${r.budget?.tokens ?? 'none'} /></label>
    <button class="main">Resume</button></div></form>`;
}

function Extend({ run: r, count, act }) {
  const submit = (e) => {
    e.preventDefault();
    act('extend', { turns: given(e.target, 'turns'), target_speedup: given(e.target, 'target') });
  };
  return html`<form class="panel" onSubmit=${submit}><p>Gives ${trajectories(count)} more turns, or a higher target.</p>
    <div class="row"><label>Turns of each<input name="turns" type="number" min=${r.turns} max="64" step="1"
      value=${Math.min(64, r.turns + 8)} /></label>
    <label>Target speedup<input name="target" type="number" min="0" step="any"
      placeholder=${r.target_speedup ?? 'none'} /></label>
    <button class="main">Extend</button></div></form>`;
}
