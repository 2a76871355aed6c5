// SPDX-License-Identifier: Apache-2.0
// Every turn of a run: a row per trajectory, a column per turn, moved through with the arrows.
import { useMemo, useState } from '../vendor/preact.js';
import { times } from '../format.js';
import * as R from '../runs.js';
import { CsvButton, html, Section } from '../ui.js';

// Where an arrow, Home or End leads from a turn; turns that have not begun are passed over.
function moveIn(from, key) {
  const turnsOf = (tr) => [...tr.querySelectorAll('a[data-n]')];
  const here = from.closest('tr'),
    row = turnsOf(here),
    x = row.indexOf(from);
  const sideways = { ArrowLeft: row[x - 1], ArrowRight: row[x + 1], Home: row[0], End: row.at(-1) };
  if (key in sideways) return sideways[key];
  if (key !== 'ArrowDown' && key !== 'ArrowUp') return undefined;
  const all = [...here.closest('table').rows],
    step = key === 'ArrowDown' ? 1 : -1,
    n = Number(from.dataset.n);
  for (let y = all.indexOf(here) + step; y > 0 && y < all.length; y += step) {
    const other = turnsOf(all[y]);
    if (other.length) return other.findLast((a) => Number(a.dataset.n) <= n) || other[0];
  }
  return undefined;
}

const columns = [
  { csv: 'trajectory', value: (t) => t.trajectory },
  { csv: 'prompt', value: (t) => t.prompt },
  { csv: 'turn', value: (t) => t.n + 1 },
  { csv: 'try', value: (t) => t.try + 1 },
  { csv: 'label', value: (t) => R.labelTitle(t.label) },
  { csv: 'correct', value: (t) => t.correct },
  { csv: 'target_executed', value: (t) => t.inst },
  { csv: 'speedup', value: (t) => t.speedup },
  { csv: 'submission', value: (t) => t.submission },
];
const turnRows = (r) =>
  r.grid.flatMap((t) =>
    t.turns.map((turn) => ({
      ...turn,
      trajectory: t.trajectory,
      prompt: r.variants.find((v) => v.variant === t.variant)?.name,
    })),
  );

export function Grid({ run: r, now }) {
  const [focus, setFocus] = useState(null);
  const keys = (e) => {
    const from = e.target.closest('a[data-n]');
    if (!from || e.altKey || e.ctrlKey || e.metaKey) return;
    const to = moveIn(from, e.key);
    if (!to) return;
    e.preventDefault();
    to.focus();
  };
  const focused = (a) => {
    const [trajectory, n] = (a.dataset?.cell || '').split(' ').map(Number);
    if (n >= 0) setFocus({ trajectory, n });
  };
  const groups = r.variants.map((v) => [v, r.grid.filter((t) => t.variant === v.variant)]);
  const first = r.grid.find((t) => t.turns.length || t.at);
  const at = focus || { trajectory: first?.trajectory, n: 0 };
  return html`<${Section} title="Turns"><p class="quiet">A row is a trajectory, a column a turn. Arrows move,
    Enter opens what the model wrote and what it was told.</p>
    <div class="tools"><${CsvButton} name=${`Turns of ${R.nameOf(r)}`} columns=${columns} rows=${turnRows(r)} /></div>
    <div class="scroll"><table class="turns" role="grid" aria-label="Turns" onKeyDown=${keys}
      onfocusin=${(e) => focused(e.target)}>
      <thead><tr><th scope="col">Trajectory</th>${Array.from(
        { length: r.turns },
        (_, n) => html`<th scope="col">${n + 1}</th>`,
      )}<th scope="col">State</th></tr></thead>
      ${groups.map(([v, rows]) => html`<${Group} run=${r} variant=${v} rows=${rows} now=${now} at=${at} />`)}
    </table></div><//>`;
}

function Group({ run: r, variant: v, rows, now, at }) {
  const turns = rows.flatMap((t) => t.turns);
  const best = Math.max(0, ...turns.map((t) => t.speedup || 0));
  const correct = turns.filter((t) => t.correct).length;
  return html`<tbody><tr class="group"><th colspan=${r.turns + 2} scope="rowgroup"><span class="stay">${v.name}
    <span class="quiet"> ${v.estimated ? 'about ' : ''}${R.tokens(v.tokens)} tokens
      · ${correct} of ${turns.length} turns correct${best ? ` · best ${times(best)}` : ''}</span></span></th></tr>
    ${rows.map((t) => html`<${Row} key=${t.trajectory} run=${r} of=${t} now=${now[t.trajectory]}
      at=${at.trajectory === t.trajectory ? at.n : null} />`)}
    </tbody>`;
}

// Drawn again only when something of it has changed: there may be hundreds.
const Row = ({ run, of, now, at }) => useMemo(() => row(run, of, now, at), [run, of, now, at]);

// at: the turn where Tab stops, if it is in this row.
function row(r, t, now, at) {
  const turns = R.turnsByN(t.turns);
  const here = t.state === 'running' ? t.at : null;
  const cell = (n) => {
    const to = R.trajectoryPath(r.id, t.trajectory, n);
    const open = (text, children) => html`<a href=${to} data-n=${n} data-cell=${`${t.trajectory} ${n}`} title=${text}
      tabindex=${n === at ? 0 : -1} aria-label=${`t${t.trajectory}, turn ${n + 1}: ${text}`}>${children}</a>`;
    if (here?.n === n) {
      const text = (now?.n === n && now.text) || R.placeWord(here.state);
      return html`<td class="open">${open(text, html`<span class="now">${text}</span>`)}</td>`;
    }
    const turn = turns[n];
    if (!turn) return html`<td></td>`;
    return html`<td class=${R.labelClass(turn.label)}>${open(R.turnText(turn), html`<${R.TurnMark} turn=${turn} />`)}
      </td>`;
  };
  const state = t.state === 'running' ? 'running' : R.reasonWord(t.reason);
  return html`<tr><th scope="row"><a href=${R.trajectoryPath(r.id, t.trajectory)} tabindex="-1">
    t${t.trajectory}</a></th>${Array.from({ length: r.turns }, (_, n) => cell(n))}
    <td class="state"><span class=${t.state === 'running' ? '' : R.reasonKind(t.reason)}>${state}</span>
      ${t.detail && html`<small title=${t.detail}>${t.detail}</small>`}</td></tr>`;
}
