// SPDX-License-Identifier: Apache-2.0
// One submission: what came of it at a glance, live while it runs, then every number of its report.
import { useCallback, useEffect, useRef, useState } from '../vendor/preact.js';
import { call, follow } from '../api.js';
import { counts, deviceTitle, duration, number, problemTitle, share, shortId, times } from '../format.js';
import { link, navigate, useTitle } from '../router.js';
import { CopyLink, Facts, html, Loading, Notice, Select, targetWord, Verdict, When } from '../ui.js';
import { Code, Report } from './report.js';

const STAGES = ['compile', 'inspect', 'check', 'sanitize', 'time', 'verify'];

// The submission, its report, source and log, as they come; stages and progress from the stream.
function useSubmission(id) {
  const [state, set] = useState({ stages: {}, connected: true });
  const left = useRef(false);
  const merge = (part) => !left.current && set((was) => ({ ...was, ...part }));
  const load = useCallback(async () => {
    const submission = await call(`/v1/submissions/${id}`);
    const done = submission.state === 'done';
    merge({ submission, error: null, ...(done ? {} : { report: null }) });
    if (done) {
      const [report, log] = await Promise.all([
        call(`/v1/submissions/${id}/report`).catch(() => null),
        call(`/v1/submissions/${id}/log`, { text: true }).catch(() => ''),
      ]);
      merge({ report, log, progress: null });
    }
    return submission;
  }, [id]);
  // A stream begins with what is past, of earlier evaluations too: only the submission says that it is done.
  const watch = useCallback(() => {
    const stop = follow(
      `/v1/submissions/${id}/events`,
      (kind, data) => {
        if (kind === 'stage') set((was) => ({ ...was, progress: null, stages: { ...was.stages, [data.stage]: data } }));
        else if (kind === 'progress') merge({ progress: data });
        else {
          if (kind === 'state' && data.state !== 'done') merge({ stages: {} });
          load().then(
            (s) => s.state === 'done' && stop(),
            () => {},
          );
        }
      },
      (connected) => merge({ connected }),
    );
    return stop;
  }, [id]);
  useEffect(() => {
    left.current = false;
    let stop = () => {};
    load().then(
      (s) => {
        if (s.state !== 'done' && !left.current) stop = watch();
      },
      (error) => merge({ error }),
    );
    call(`/v1/submissions/${id}/source`, { text: true }).then(
      (source) => merge({ source }),
      () => {},
    );
    return () => {
      left.current = true;
      stop();
    };
  }, [id, state.round]);
  // A rerun begins another round: the effect above loads and follows anew.
  const again = () => set((was) => ({ stages: {}, connected: true, source: was.source, round: (was.round || 0) + 1 }));
  return { ...state, again };
}

export default function Submission({ captures: [id] }) {
  const all = useSubmission(id);
  const { submission: s, report, error } = all;
  useTitle(s?.label || (s && `${problemTitle(s.problem)} ${s.workload}`));
  if (error) return html`<h1>Submission</h1><${Notice} error=${error} />`;
  if (!s) return html`<${Loading} />`;
  return html`<div class="title"><h1>${s.label || `${problemTitle(s.problem)} ${s.workload}`}</h1><${Actions}
    submission=${s} again=${all.again} /></div>
    <p aria-live="polite"><${Verdict} of=${s} big /> <span class="mono quiet">${id}</span></p>
    ${s.detail && html`<${Notice} kind=${s.verdict === 'PASSED' ? 'good' : ''}><p>${s.detail}</p><//>`}
    ${s.hidden && html`<${Notice} kind="wait"><p>Taken off the boards by the operator: ${s.hidden.reason}</p><//>`}
    ${s.lane?.healthy === false && html`<${Notice} kind="wait">
      <p>No worker serves the lane ${s.lane.name} at the moment; the submission waits for one.</p><//>`}
    ${!all.connected && s.state !== 'done' && html`<${Notice} kind="wait">
      <p>The connection is lost; this page goes on as soon as the server is back.</p><//>`}
    <${FromRun} s=${s} /><${Summary} s=${s} report=${report} />
    <${Stages} s=${s} stages=${report ? Object.fromEntries((report.stages || []).map((x) => [x.name, x])) : all.stages}
      progress=${all.progress} />
    ${report && html`<${Report} report=${report} submission=${s} />`}
    <${Code} submission=${s} report=${report} source=${all.source} log=${all.log} />`;
}

// Whose turn it is, if a model wrote it.
function FromRun({ s }) {
  if (!s.turn) return null;
  const { run, trajectory, n } = s.turn;
  const name = s.label?.replace(/ t\d+ n\d+$/, '') || shortId(run);
  return html`<p>A model wrote it: <a href=${link(`/runs/${run}/trajectories/${trajectory}`, {
    turn: n + 1,
  })}>turn ${n + 1} of t${trajectory}</a> in the run <a href=${`/runs/${run}`}>${name}</a>.</p>`;
}

const boardOf = (s) =>
  link('/', { problem: s.problem, workload: s.workload, arch: s.arch, device: s.device === 'cpu' ? 'cpu' : '' });

function Summary({ s, report }) {
  const done = s.state === 'done';
  return html`<${Facts} rows=${[
    done && ['Speedup', s.speedup ? times(s.speedup.value) : 'not timed', s.speedup ? 'big' : ''],
    s.speedup?.ci95 && ['95 % interval', `${times(s.speedup.ci95[0])} to ${times(s.speedup.ci95[1])}`],
    s.candidate_us && ['Time', `${number(s.candidate_us)} µs`],
    s.baseline && ['Baseline', `${s.baseline.name} ${s.baseline.version || ''}: ${number(s.baseline.us)} µs`],
    report?.timing?.tflops && ['Rate', `${number(report.timing.tflops)} TFLOP/s`],
    done && ['Target instructions', targetWord(s.target?.executed)],
    s.target?.counts && ['Executed by warps', counts(s.target.counts) || 'none'],
    typeof s.target?.tensor_share === 'number' && ['Work on tensor units', share(s.target.tensor_share)],
    s.thread_instructions && ['Thread instructions', number(s.thread_instructions)],
    s.verdict === 'PASSED' &&
      s.mode === 'rank' && ['Rank', html`<a href=${boardOf(s)}>${s.rank || 'see the board'}</a>`],
    s.position && ['Place in the queue', number(s.position)],
    s.eta_s && ['Expected in', duration(1000 * s.eta_s)],
    ['Problem', html`<a href=${`/problems/${s.problem}`}>${problemTitle(s.problem)}</a> ${s.workload}`],
    ['Architecture', `${s.arch} on ${deviceTitle(s.device_model || s.device)}`],
    ['Language, mode', `${s.language}, ${s.mode}`],
    ['Method', s.method],
    ['By', s.owner],
    ['Submitted', html`<${When} at=${s.created_at} />`],
    s.wall_ms && ['Evaluation took', duration(s.wall_ms)],
    s.evaluations > 1 && ['Evaluations', number(s.evaluations)],
  ]} />`;
}

function Stages({ s, stages, progress }) {
  const shown = STAGES.filter((name) => stages[name] || s.state !== 'done');
  const word = (stage) =>
    stage ? [stage.state, stage.wall_ms >= 0.05 && duration(stage.wall_ms)].filter(Boolean).join(' · ') : 'waits';
  return html`<section id="stages" aria-live="polite"><div class="head"><h2>Stages</h2></div>
    <ol class="stages">${shown.map(
      (name) => html`<li class=${stages[name]?.state || ''}><b>${name}</b><small>${word(stages[name])}</small>
      ${progress?.stage === name && html`<progress max=${progress.total} value=${progress.done}
        aria-label=${`${name}: ${progress.done} of ${progress.total}`}></progress>`}
      ${stages[name]?.detail && html`<small>${stages[name].detail}</small>`}</li>`,
    )}</ol></section>`;
}

function Actions({ submission: s, again }) {
  const [error, fail] = useState(null);
  const act = (what) => async () => {
    try {
      fail(null);
      await call(`/v1/submissions/${s.id}/${what}`, { method: 'POST' });
      if (what === 'rerun') again();
    } catch (e) {
      fail(e);
    }
  };
  return html`<div class="actions">${
    s.state === 'done'
      ? html`<button type="button" onClick=${act('rerun')}>Run again</button>`
      : html`<button type="button" onClick=${act('cancel')}>Cancel</button>`
  }
    <${CopyLink} /><${Compare} submission=${s} /></div>${error && html`<${Notice} error=${error} />`}`;
}

// Others of the same problem to hold this one against; asked for when it is opened.
function Compare({ submission: s }) {
  const [others, set] = useState(null);
  const open = async () => {
    const { items } = await call(
      link('/v1/submissions', { problem: s.problem, arch: s.arch, state: 'done', limit: 50 }),
    );
    set(items.filter((x) => x.id !== s.id));
  };
  if (!others) return html`<button type="button" onClick=${() => open().catch(() => set([]))}>Compare …</button>`;
  const name = (x) =>
    [x.label || shortId(x.id), x.verdict, x.speedup && times(x.speedup.value)].filter(Boolean).join(' · ');
  const go = (other) => other && navigate(`/submissions/${s.id}/diff/${other}`);
  return html`<${Select} label="Compare with" value="" options=${[['', 'choose'],
    ...others.map((x) => [x.id, name(x)])]} onChange=${go} />
    <label>or its address<input placeholder="address or id"
      onInput=${(e) => go(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(e.target.value)?.[0])} /></label>`;
}
