// SPDX-License-Identifier: Apache-2.0
// What the views of agent runs share: names, words for states, small marks, the live line.
import { useEffect, useRef, useState } from './vendor/preact.js';
import { follow } from './api.js';
import { problemTitle, share, times } from './format.js';
import { link } from './router.js';
import { known, labelClass, labelShort, labelTitle, tokens } from './turns.js';
import { Badge, html } from './ui.js';

export * from './turns.js';

export const Label = ({ name }) => html`<span class=${`label ${labelClass(name)}`}>${labelTitle(name)}</span>`;

// ---- names ----

export const nameOf = (r) => r.name || `${problemTitle(r.problem)} by ${r.model}`;
export const trajectoryPath = (run, trajectory, n) =>
  link(`/runs/${run}/trajectories/${trajectory}`, { turn: n === undefined ? '' : n + 1 });

// ---- words ----

// Why a trajectory or a run ended; the second is what it means for who looks after the run.
const reasons = {
  turns: ['all turns used', ''],
  target: ['target met', 'good'],
  context: ['context full', ''],
  cancelled: ['cancelled', ''],
  budget: ['out of budget', 'wait'],
  provider: ['provider failed', 'bad'],
  infra: ['evaluation failed', 'bad'],
};
// Trajectories that ended so can be gone on with.
export const RESUMABLE = ['cancelled', 'budget', 'provider', 'infra'];
export const reasonWord = (reason) => reasons[reason]?.[0] || reason || 'done';
export const reasonKind = (reason) => reasons[reason]?.[1] || '';

// Where a step is: what the table says while nothing is heard of it, and what was heard last.
const places = {
  call: ['asking', 'the model is asked'],
  evaluate: ['testing', 'the kernel is evaluated'],
  conclude: ['judging', 'its verdict is there'],
  left: ['left', 'given up'],
};
export const placeWord = (state) => places[state]?.[0] || state;
export const placeText = (state) => places[state]?.[1] || state;

export function RunState({ run: r, big }) {
  const kind = r.state === 'running' ? 'wait' : r.reason ? reasonKind(r.reason) : 'good';
  const text = r.state === 'running' ? 'running' : r.reason ? reasonWord(r.reason) : 'done';
  return html`<span class=${big ? 'verdict big' : 'verdict'}><${Badge} kind=${kind}>${text}<//></span>`;
}

// ---- numbers ----

// A figure with, if there is one, what it may be, and a bar of both.
export function Spent({ value, most, format, name }) {
  if (!known(most) || most <= 0) return html`${format(value)}<small>no limit</small>`;
  return html`${format(value)}<small>of ${format(most)}, ${share(value / most)}</small>
    <progress class="spent" max=${most} value=${Math.min(value, most)} aria-label=${`${name} spent`}></progress>`;
}

// ---- turns ----

// What a small cell says of a turn.
const Executed = () => html` <span aria-hidden="true">✓</span>`;
export const TurnMark = ({ turn: t }) =>
  html`${known(t.speedup) ? times(t.speedup) : labelShort(t.label)}${t.correct && t.inst === true && Executed()}
    ${t.try > 0 && html`<small>try ${t.try + 1}</small>`}`;

// ---- live ----

const LEAST_MS = 1000, // between two loads of a document, at least, and ten times what the last one took
  LOST_MS = 4000, // between looks at a run whose events do not come
  SELDOM_MS = 60000; // and at one whose events come, in case one was lost

// Follows a run while it is running. `reload` is called some time after events that change documents;
// now[trajectory] is what was heard of it since: {n, text}.
export function useLive(run, reload, concerns = () => true) {
  const [state, set] = useState({ connected: true, now: {} });
  const timer = useRef(0),
    took = useRef(0);
  const id = run?.id,
    running = run?.state === 'running';
  const latest = useRef(reload);
  latest.current = reload;
  useEffect(() => {
    if (!running) return undefined;
    const soon = () => {
      timer.current ||= setTimeout(
        async () => {
          const began = Date.now();
          await latest.current();
          took.current = Date.now() - began;
          timer.current = 0;
        },
        Math.max(LEAST_MS, 10 * took.current),
      );
    };
    const changed = (kind, data) => {
      const text = heard(kind, data);
      if (data.trajectory !== undefined)
        set((was) => ({ ...was, now: { ...was.now, [data.trajectory]: text && { n: data.n, text } } }));
      if (kind !== 'tokens' && kind !== 'stage' && concerns(data)) soon();
    };
    const line = (connected) => set((was) => ({ ...was, connected }));
    const stop = follow(`/v1/runs/${id}/events`, changed, line, run.rev);
    return () => {
      stop();
      clearTimeout(timer.current);
      timer.current = 0;
    };
  }, [id, running]);
  useEffect(() => {
    if (!running) return undefined;
    const look = setInterval(() => document.hidden || latest.current(), state.connected ? SELDOM_MS : LOST_MS);
    return () => clearInterval(look);
  }, [id, running, state.connected]);
  return state;
}

function heard(kind, data) {
  if (kind === 'turn') return 'asking';
  if (kind === 'tokens') return data.text ? `writes ${tokens(data.text)}` : `thinks ${tokens(data.reasoning)}`;
  if (kind !== 'stage') return null;
  return data.stage ? `${data.stage}${data.state === 'started' ? ' …' : ''}` : data.verdict ? 'judging' : 'testing';
}

export const LostLine = () => html`<div class="notice wait" role="status"><p>The live connection is lost; this page asks
  every few seconds until it is back.</p></div>`;
