// SPDX-License-Identifier: Apache-2.0
// One trajectory: what the model was sent first, then turn by turn what it wrote, what came of it, what it was told.
import { useEffect, useMemo, useRef, useState } from '../vendor/preact.js';
import { kernelAt, languageOf, splitAnswer, splitThought } from '../answer.js';
import { call, download, useData } from '../api.js';
import { Line, lines } from '../code.js';
import { DASH, duration, number, problemTitle, shortId, times } from '../format.js';
import { link, navigate, useQuery, useTitle } from '../router.js';
import * as R from '../runs.js';
import { Badge, CopyLink, html, Load, Loading, Notice, Target, Verdict } from '../ui.js';
import { Difference, differenceOf } from './diff.js';
import { Folded, MessageList } from './messages.js';

const OPEN_AT_MOST = 8; // turns that are all open at first

export default function Trajectory({ captures: [id, number] }) {
  const t = Number(number);
  const answer = useData([`/v1/runs/${id}`, `/v1/runs/${id}/trajectories/${t}`]);
  const [run, of] = answer.data || [];
  const live = R.useLive(run, answer.reload, (e) => e.trajectory === undefined || e.trajectory === t);
  useTitle(run && `t${t} · ${R.nameOf(run)}`);
  if (!of && answer.error) return html`<h1>Trajectory</h1><${Notice} error=${answer.error} />`;
  return html`<${Load} of=${answer}>${() => html`
    <p class="crumbs"><a href="/runs">Runs</a> › <a href=${`/runs/${id}`}>${R.nameOf(run)}</a> › t${t}</p>
    <div class="title"><h1>Trajectory t${t}</h1><${Actions} run=${run} of=${of} /></div>
    <p aria-live="polite"><${State} of=${of} /></p>
    <p class="lead"><strong>${run.model}</strong> with the prompt <strong>${of.variant_name}</strong>,
      ${' '}${problemTitle(run.problem)} ${run.workload}${run.arch && ` on ${run.arch}`}; up to ${run.turns} turns${
        run.target_speedup ? ` or ${run.target_speedup}×` : ''
      }.</p>
    ${of.detail && html`<${Notice} kind=${R.reasonKind(of.reason) === 'bad' ? '' : 'wait'}><p>${of.detail}</p><//>`}
    ${!live.connected && run.state === 'running' && html`<${R.LostLine} />`}
    <${Turns} run=${run} of=${of} now=${live.now[t]} reload=${answer.reload} />`}<//>`;
}

const State = ({ of }) => html`<${Badge} kind=${of.state === 'running' ? 'wait' : R.reasonKind(of.reason)}>
  ${of.state === 'running' ? 'running' : R.reasonWord(of.reason)}<//>`;

function Actions({ run, of }) {
  const t = of.trajectory;
  const [error, fail] = useState(null);
  const get = () => download(`/v1/runs/${of.run}/trajectories/${t}/export`, `run-${of.run}-t${t}.json`).catch(fail);
  return html`<div class="actions">
    ${t > 0 && html`<a class="button" href=${R.trajectoryPath(of.run, t - 1)}>‹ t${t - 1}</a>`}
    ${t + 1 < run.trajectories && html`<a class="button" href=${R.trajectoryPath(of.run, t + 1)}>t${t + 1} ›</a>`}
    <button type="button" onClick=${get}>Export (JSON)</button><${CopyLink} /></div>
    ${error && html`<${Notice} error=${error} />`}`;
}

// ---- the turns ----

// What is in the address (?turn=3, counted from 1) is the turn that one is at. Keys read it there: a second one may
// come before the first is drawn.
function useTurn(ns) {
  const [query] = useQuery();
  const turn = () => Number(new URLSearchParams(location.search).get('turn') || NaN) - 1;
  useEffect(() => {
    const keys = (e) => {
      if (e.altKey || e.ctrlKey || e.metaKey || e.target.closest('input, textarea, select')) return;
      const i = ns.indexOf(turn());
      const to = e.key === 'j' ? ns[i + 1] : e.key === 'k' ? ns[i < 0 ? 0 : i - 1] : undefined;
      if (to !== undefined) navigate(link(location.pathname, { turn: to + 1 }), { replace: true });
    };
    addEventListener('keydown', keys);
    return () => removeEventListener('keydown', keys);
  }, [ns.join()]);
  return query.turn ? Number(query.turn) - 1 : null;
}

function Turns({ run, of, now, reload }) {
  const ns = [...new Set(of.steps.map((s) => s.n))].sort((a, b) => a - b);
  const at = useTurn(ns);
  const [closed, close] = useState(() => new Set(ns.length > OPEN_AT_MOST ? ns : []));
  useEffect(() => {
    if (at === null) return;
    if (closed.has(at)) close((was) => new Set([...was].filter((n) => n !== at)));
    const heading = document.querySelector(`#turn-${at + 1} summary`);
    heading?.focus({ preventScroll: true });
    heading?.scrollIntoView({ block: 'start' });
  }, [at]);
  const toggle = (n, open) => close((was) => (open ? new Set([...was].filter((x) => x !== n)) : new Set([...was, n])));
  const last = R.turnsByN(of.steps);
  const before = (n) => last.slice(0, n).findLast((s) => s?.source)?.source;
  return html`<${Strip} of=${of} turns=${last} at=${at} now=${now} />
    <${Prompt} of=${of} />
    ${ns.map(
      (n) => html`<${Turn} key=${n} n=${n} run=${run} of=${of} steps=${of.steps.filter((s) => s.n === n)}
      before=${before(n)} now=${now?.n === n ? now : null} open=${!closed.has(n)} at=${at === n}
      toggle=${(open) => toggle(n, open)} reload=${reload} />`,
    )}
    ${!ns.length && html`<p class="empty">No turn yet: the first waits for an agent.</p>`}
    ${of.state === 'done' && html`<p class="quiet">The trajectory ended here: ${R.reasonWord(of.reason)}.</p>`}`;
}

// All turns in one line, to see where one is and to go elsewhere.
function Strip({ of, turns, at, now }) {
  if (!turns.length) return null;
  return html`<nav class="strip" aria-label="Turns"><ol>${turns.map((s) => {
    const text = s.label ? R.turnText(s) : R.placeText(s.state);
    const to = R.trajectoryPath(of.run, of.trajectory, s.n);
    return html`<li class=${s.label ? R.labelClass(s.label) : 'open'}><a href=${to}
      aria-current=${at === s.n ? 'step' : undefined} aria-label=${`turn ${s.n + 1}: ${text}`} title=${text}
      onClick=${(e) => {
        if (e.metaKey || e.ctrlKey || e.shiftKey || e.button) return;
        e.preventDefault();
        navigate(to, { replace: true });
        document.querySelector(`#turn-${s.n + 1}`)?.scrollIntoView({ block: 'start' });
      }}><b>${s.n + 1}</b> ${
        s.label ? html`<${R.TurnMark} turn=${{ ...s, try: 0 }} />` : now?.n === s.n ? now.text : R.placeWord(s.state)
      }</a></li>`;
  })}</ol><small>j and k go to the next and the previous turn</small></nav>`;
}

const histories = {
  'latest-pair': 'From the second turn on, a call carries this, the last answer and its feedback.',
  'single-user': 'Each call carries this, all answers and all feedback so far as one message.',
};
function Prompt({ of }) {
  return html`<section class="prompt"><div class="head"><h2>Prompt</h2></div><p class="quiet">
    ${histories[of.history] || 'Each call carries this, then every answer and its feedback.'}</p>
    ${of.system && html`<${Folded} title="System message" text=${of.system} />`}
    ${of.task && html`<${Folded} title="Task" text=${of.task} />`}</section>`;
}

// ---- one turn ----

function Turn({ n, run, of, steps, before, now, open, at, toggle, reload }) {
  const s = steps.at(-1);
  return html`<details id=${`turn-${n + 1}`} class=${`turn ${at ? 'at' : ''}`} open=${open}
    onToggle=${(e) => e.currentTarget === e.target && toggle(e.target.open)}>
    <summary><h2>Turn ${n + 1}</h2> ${
      s.label
        ? html`<${R.Label} name=${s.label} />`
        : html`<${Badge} kind="wait">${now?.text || R.placeText(s.state)}<//>`
    }
      ${s.speedup && html` <b class="figure">${times(s.speedup)}</b>`}
      ${s.correct && html` <span class="quiet"><${Target} executed=${s.inst} /> target instructions</span>`}
      ${steps.length > 1 && html` <${Badge} kind="flag">${steps.length} tries<//>`}</summary>
    ${
      open &&
      steps.map(
        (x) => html`<${Step} key=${x.try} run=${run} of=${of} step=${x} steps=${steps} before=${before}
      reload=${reload} />`,
      )
    }</details>`;
}

function Step({ run, of, step: s, steps, before, reload }) {
  const again = steps.length > 1;
  const counted = s.counted !== false && s.label !== 'infra';
  const first = steps.find((x) => x.call?.id === s.call?.id);
  const repeated = again && s.call && first !== s;
  return html`<div class=${`step ${counted ? '' : 'uncounted'}`}>
    ${again && html`<h3>Try ${s.try + 1}</h3>`}
    ${
      s.label &&
      !counted &&
      html`<${Notice} kind="wait"><p>This try does not count: ${R.labelTitle(s.label)}. It is not
      the model’s doing; the same answer was tried again.</p><//>`
    }
    <${Figures} of=${of} step=${s} />
    ${
      repeated
        ? html`<p class="quiet">The answer is that of try ${first.try + 1}.</p>`
        : html`<${Answer} step=${s} /><${Change} step=${s} before=${before} />`
    }
    <${Outcome} step=${s} />${counted && html`<${Feedback} run=${run} step=${s} />`}
    ${s.state !== 'done' && s.state !== 'left' && html`<${Supervise} of=${of} step=${s} reload=${reload} />`}</div>`;
}

const took = (c) => (c?.finished_at ? Date.parse(c.finished_at) - Date.parse(c.started_at) : null);

// What the call cost, and the calls that came to nothing.
function Figures({ of, step: s }) {
  const c = s.call;
  const others = (s.calls || []).filter((x) => x.id !== c?.id && x.status !== 'started');
  return html`${
    c &&
    html`<ul class="line quiet">
      <li>${number(c.tokens_in)} tokens in${c.cached ? ` (${number(c.cached)} cached)` : ''}</li>
      <li>${number(c.tokens_out)} out${c.reasoning_tokens ? ` (${number(c.reasoning_tokens)} reasoning)` : ''}</li>
      <li>${R.dollars(c.usd)}</li><li>${duration(took(c))}</li>
      <li class=${c.finish === 'length' ? 'bad' : ''}>${finishes[c.finish] || `finish reason ${c.finish || DASH}`}</li>
      </ul>
    <${Messages} of=${of} step=${s} />`
  }
    ${
      others.length > 0 &&
      html`<ul class="quiet calls">${others.map(
        (x) => html`<li>A call before came to nothing
      (${x.status}): ${x.error || 'no reason told'}${x.usd ? `; ${R.dollars(x.usd)}` : ''}</li>`,
      )}</ul>`
    }`;
}

const finishes = {
  stop: 'the model was done',
  length: 'cut: the limit of tokens was reached',
  refused: 'the model, or a filter, refused',
};

// The very messages of a call; they are long, so only when they are opened.
function Messages({ of, step: s }) {
  const [got, set] = useState(null),
    [open, setOpen] = useState(false);
  const load = (e) => {
    setOpen(e.target.open);
    if (e.target.open && !got)
      call(link(`/v1/runs/${of.run}/trajectories/${of.trajectory}/messages`, { n: s.n })).then(set, set);
  };
  const sha = s.call.request_sha256;
  return html`<details onToggle=${load}><summary>The messages of this call <span class="quiet mono">
    ${sha ? `sha256 ${sha.slice(0, 12)}…` : ''}</span></summary>
    ${open && !got && html`<${Loading} />`}${got instanceof Error && html`<${Notice} error=${got} />`}
    ${got?.messages && html`<${MessageList} ...${got} />`}</details>`;
}

// ---- what the model wrote ----

const placeOf = (s) => `turn ${s.n + 1}${s.try ? `, try ${s.try + 1}` : ''}`;

function Answer({ step: s }) {
  const c = s.call;
  const [thought, answer] = useMemo(() => splitThought(c?.answer || ''), [c?.answer]);
  const parts = useMemo(() => splitAnswer(answer), [answer]);
  if (!c) return null;
  const kernel = s.extraction === 'kernel' || s.source ? kernelAt(parts) : -1;
  const reasoning = [c.reasoning, thought].filter(Boolean).join('\n\n');
  return html`<h3>Answer</h3>
    ${
      reasoning &&
      html`<${Folded} title="Reasoning" text=${reasoning}
      note=${c.reasoning_tokens ? `${number(c.reasoning_tokens)} tokens` : undefined} />`
    }
    <div class="answer">${parts.map((p, i) =>
      p.kind === 'text'
        ? html`<p class="prose">${p.text.trim()}</p>`
        : html`<${Code} part=${p} kernel=${i === kernel} of=${placeOf(s)} />`,
    )}
      ${!parts.length && html`<p class="quiet">The answer is empty.</p>`}</div>`;
}

const lineCount = (n) => `${number(n)} ${n === 1 ? 'line' : 'lines'}`;

function Code({ part, kernel, of }) {
  const coloured = useMemo(() => (kernel ? lines(part.text, languageOf(part.text)) : null), [part.text, kernel]);
  const count = part.text.split('\n').length;
  if (!kernel) {
    const what = [part.info || 'a block', !part.closed && 'not closed'].filter(Boolean).join(', ');
    return html`<details open=${count <= 12}><summary>${what} <span class="quiet">${lineCount(count)}</span>
      </summary><pre tabindex="0">${part.text}</pre></details>`;
  }
  return html`<figure class="kernel"><figcaption>Kernel <span class="quiet">${lineCount(count)}</span></figcaption>
    <div class="source" tabindex="0" role="region" aria-label=${`Kernel of ${of}`}><ol>${coloured.map(
      (l, i) => html`<li><span
      class="n">${i + 1}</span><${Line} parts=${l} /></li>`,
    )}</ol></div></figure>`;
}

function Change({ step: s, before }) {
  const [open, set] = useState(false);
  const parts = useMemo(() => (s.source && before ? differenceOf(before, s.source) : []), [s.source, before]);
  if (!s.source || !before) return null;
  const count = (kind) => parts.filter((p) => p.kind === kind && !p.gap).length;
  if (!parts.length) return html`<p class="quiet">The kernel is the one before, unchanged.</p>`;
  return html`<details onToggle=${(e) => set(e.target.open)}><summary>What changed against the kernel before
    ${' '}<span class="quiet">+${number(count('add'))} −${number(count('remove'))} lines</span></summary>
    ${
      open &&
      html`<${Difference} parts=${parts} texts=${[before, s.source]}
      languages=${[languageOf(before), languageOf(s.source)]} name=${`What changed in ${placeOf(s)}`} />`
    }</details>`;
}

// ---- what came of it ----

const extractions = {
  no_block: 'There is no fenced block in the answer.',
  no_kernel: 'No block of the answer holds a kernel.',
  cut: 'The answer was cut inside the kernel: its block is not closed.',
  too_large: 'The kernel is larger than a submission may be.',
};

function Outcome({ step: s }) {
  return html`${extractions[s.extraction] && html`<p class="bad">${extractions[s.extraction]}</p>`}
    ${
      s.submission &&
      html`<p>Evaluation: <${Verdict} of=${{ verdict: s.verdict, state: 'running' }} />
      ${' '}<a href=${`/submissions/${s.submission}`}>submission <span class="mono">${shortId(s.submission)}</span></a>
      </p>`
    }
    ${
      s.errors?.length > 0 &&
      html`<ul class="errors">${s.errors.map(
        (e) => html`<li><code>${e.path}</code>
      ${' '}${e.detail}</li>`,
      )}</ul>`
    }`;
}

function Feedback({ run, step: s }) {
  const last = s.n + 1 >= run.turns;
  return html`${
    s.feedback_text &&
    html`<h3>${last ? 'What the model would be told next' : 'What the model was told'}</h3>
      <pre class="wrap told" tabindex="0">${s.feedback_text}</pre>`
  }
    ${
      s.supervision &&
      html`<div class="notice wait"><p><b>Added by hand:</b></p><pre class="wrap">${s.supervision}</pre>
      </div>`
    }`;
}

// A text that goes to the model behind the feedback of this turn.
function Supervise({ of, step: s, reload }) {
  const [error, fail] = useState(null);
  const form = useRef(null);
  const send = async (e) => {
    e.preventDefault();
    try {
      fail(null);
      const body = { n: s.n, text: form.current.elements.text.value };
      await call(`/v1/runs/${of.run}/trajectories/${of.trajectory}/supervision`, { method: 'POST', body });
      form.current.reset();
      reload();
    } catch (x) {
      fail(x);
    }
  };
  return html`<details><summary>Add to what the model will be told</summary><form ref=${form} onSubmit=${send}>
    <label>Text, shown to the model behind the feedback of this turn<textarea name="text" class="short" required
      maxlength="16000"></textarea></label><p class="row"><button>Add</button></p></form>
    ${error && html`<${Notice} error=${error} />`}</details>`;
}
