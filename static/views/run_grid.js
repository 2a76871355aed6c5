// SPDX-License-Identifier: Apache-2.0
// Every turn of a run: a row per trajectory, a column per turn, moved through with the arrows.
import { useRef, useState } from '../vendor/preact.js';
import { times } from '../format.js';
import * as R from '../runs.js';
import { html, Section } from '../ui.js';

// Moves between the turns of the table: arrows, Home, End. Turns that have not begun are passed over.
function moveIn(table, from, key) {
  const rows = [...table.querySelectorAll('tbody tr')].map((tr) => [...tr.querySelectorAll('a[data-n]')]);
  const here = rows.filter((r) => r.length);
  const y = here.findIndex((r) => r.includes(from)),
    x = here[y].indexOf(from);
  const sideways = { ArrowLeft: here[y][x - 1], ArrowRight: here[y][x + 1], Home: here[y][0], End: here[y].at(-1) };
  if (key in sideways) return sideways[key];
  const other = here[y + (key === 'ArrowDown' ? 1 : key === 'ArrowUp' ? -1 : NaN)];
  const n = Number(from.dataset.n);
  return other?.findLast((a) => Number(a.dataset.n) <= n) || other?.[0];
}

export function Grid({ run: r, now }) {
  const [focus, setFocus] = useState(null);
  const table = useRef(null);
  const keys = (e) => {
    const from = e.target.closest('a[data-n]');
    if (!from || e.altKey || e.ctrlKey || e.metaKey) return;
    const to = moveIn(table.current, from, e.key);
    if (!to) return;
    e.preventDefault();
    to.focus();
  };
  const groups = r.variants.map((v) => [v, r.grid.filter((t) => t.variant === v.variant)]);
  const first = r.grid.find((t) => t.turns.length || t.at);
  const at = focus || (first ? `${first.trajectory} 0` : '');
  return html`<${Section} title="Turns"><p class="quiet">A row is a trajectory, a column a turn. Arrows move,
    Enter opens what the model wrote and what it was told.</p>
    <div class="scroll"><table class="turns" role="grid" aria-label="Turns" ref=${table} onKeyDown=${keys}
      onfocusin=${(e) => e.target.dataset?.cell && setFocus(e.target.dataset.cell)}>
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
    ${rows.map((t) => html`<${Row} key=${t.trajectory} run=${r} of=${t} now=${now[t.trajectory]} at=${at} />`)}
    </tbody>`;
}

function Row({ run: r, of: t, now, at }) {
  const turns = R.turnsByN(t.turns);
  const here = t.state === 'running' ? t.at : null;
  const cell = (n) => {
    const place = `${t.trajectory} ${n}`;
    const to = R.trajectoryPath(r.id, t.trajectory, n);
    const open = (text, children) => html`<a href=${to} data-n=${n} data-cell=${place} title=${text}
      tabindex=${place === at ? 0 : -1} aria-label=${`t${t.trajectory}, turn ${n + 1}: ${text}`}>${children}</a>`;
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
