// SPDX-License-Identifier: Apache-2.0
// The first page: a list, one live report, a board, a box to submit. No framework, no build step. Text that came
// from somebody else only ever goes through textContent (see `el`). Each view is a function of the hash that
// fills <main> and returns what must stop when it is left.

const main = document.getElementById('main');

// ---- small tools ----

function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...shown(children));
  return node;
}

// Children may be lists, and "nothing" in any spelling: `condition && el(…)` reads well.
const shown = (children) => children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false && c !== 0);
const fill = (node, ...children) => node.replaceChildren(...shown(children));

const token = {
  get: () => sessionStorage.getItem('token') || '',
  set: (text) => (text ? sessionStorage.setItem('token', text) : sessionStorage.removeItem('token')),
};

async function call(path, options = {}) {
  const headers = { Accept: 'application/json', ...options.headers };
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  const answer = await fetch(path, { ...options, headers });
  const isText = options.text && answer.ok;
  const body = isText ? await answer.text() : await answer.json().catch(() => null);
  if (!answer.ok) throw Object.assign(new Error(body?.detail || `HTTP ${answer.status}`), { status: answer.status, body });
  return body;
}

const number = (v) =>
  typeof v !== 'number' ? '–' : v !== 0 && Math.abs(v) < 1e-3 ? v.toExponential(2)
    : v.toLocaleString('en', Number.isInteger(v) ? {} : { maximumSignificantDigits: 4 });
const ms = (v) => (typeof v !== 'number' ? '' : v >= 1000 ? `${(v / 1000).toFixed(2)} s` : `${v.toFixed(v < 10 ? 1 : 0)} ms`);

function ago(text) {
  const s = Math.max(0, (Date.now() - Date.parse(text)) / 1000);
  const [n, unit] = s < 60 ? [s, 's'] : s < 3600 ? [s / 60, 'min'] : s < 86400 ? [s / 3600, 'h'] : [s / 86400, 'd'];
  return el('time', { datetime: text, title: text }, `${Math.floor(n)} ${unit} ago`);
}

function badge(row) {
  const word = row.verdict || row.state;
  const kind = word === 'PASSED' ? 'good' : row.verdict ? (word === 'CANCELLED' ? '' : 'bad') : 'wait';
  return [el('span', { class: `badge ${kind}` }, word), ...(row.flags || []).map((f) => el('span', { class: 'badge' }, f))];
}

function speedup(row) {
  return row.speedup ? `${number(row.speedup.value)}×` : '–';
}

// Columns: [heading, cell(row), class].
function table(columns, rows, empty) {
  if (!rows.length) return el('p', { class: 'quiet' }, empty);
  return el('div', { class: 'scroll' }, el('table', {},
    el('thead', {}, el('tr', {}, columns.map(([head, , cls]) => el('th', { scope: 'col', class: cls }, head)))),
    el('tbody', {}, rows.map((row) => el('tr', {}, columns.map(([, cell, cls]) => el('td', { class: cls }, cell(row))))))));
}

function notice(e, cls = '') {
  const faults = e.body?.errors || [];
  return el('div', { class: `notice ${cls}`, role: 'alert' }, el('p', {}, e.message),
    faults.length > 1 && el('ul', {}, faults.map((f) => el('li', {}, el('code', {}, f.path), ` ${f.detail}`))));
}

// Runs `work` now and every `period` ms while the page can be seen; returns how to stop.
function repeat(work, period) {
  let timer = 0, stopped = false;
  const round = async () => {
    clearTimeout(timer);
    if (!document.hidden) await work();
    if (!stopped) timer = setTimeout(round, period);
  };
  const seen = () => { if (!document.hidden) round(); };
  document.addEventListener('visibilitychange', seen);
  round();
  return () => { stopped = true; clearTimeout(timer); document.removeEventListener('visibilitychange', seen); };
}

// ---- list ----

const listColumns = [
  ['Submission', (s) => el('a', { href: `#/submissions/${s.id}`, class: 'mono' }, s.id.slice(0, 8), '…', s.id.slice(-4))],
  ['When', (s) => ago(s.created_at)],
  ['Label', (s) => s.label || '–', 'wide'],
  ['Problem', (s) => `${s.problem} ${s.workload}`],
  ['On', (s) => `${s.arch} ${s.device}`],
  ['Language', (s) => s.language],
  ['Verdict', badge],
  ['Speedup', speedup, 'number'],
];

function viewList(query) {
  const holder = el('div'), more = el('p');
  fill(main, el('h1', {}, 'Submissions'), holder, more);
  const path = `/v1/submissions?limit=50${query.cursor ? `&cursor=${encodeURIComponent(query.cursor)}` : ''}`;
  return repeat(async () => {
    try {
      const page = await call(path);
      fill(holder, table(listColumns, page.items, 'Nothing here yet. Submit a kernel to begin.'));
      fill(more, page.next && el('a', { href: `#/submissions?cursor=${page.next}` }, 'Older'));
    } catch (e) { fill(holder, notice(e)); }
  }, 5000);
}

// ---- one submission, live ----

// Events by stream, or by asking again where a token is needed (a stream cannot carry one). One stream per page,
// closed while the page is hidden. Calls changed(kind, data); ends at `done`.
function follow(id, changed) {
  let source = null, last = 0, ended = false;
  const take = (event) => {
    last = event.lastEventId || last;
    const data = JSON.parse(event.data);
    changed(event.type, data);
    if (data.state === 'done') stop();
  };
  const open = () => {
    if (source || ended || document.hidden) return;
    source = new EventSource(`/v1/submissions/${id}/events${last ? `?last_event_id=${last}` : ''}`);
    for (const kind of ['state', 'stage', 'progress', 'reset']) source.addEventListener(kind, take);
  };
  const close = () => { source?.close(); source = null; };
  const seen = () => (document.hidden ? close() : open());
  const stop = () => { ended = true; close(); document.removeEventListener('visibilitychange', seen); };
  const poll = async () => {
    while (!ended) {
      const now = await call(`/v1/submissions/${id}?wait=20`).catch(() => new Promise((r) => setTimeout(r, 2000)));
      if (now && !ended) changed('reset', now);
      if (now?.state === 'done') ended = true;
    }
  };
  if (token.get()) poll();
  else { document.addEventListener('visibilitychange', seen); open(); }
  return stop;
}

function facts(rows) {
  return el('dl', { class: 'facts' }, rows.filter((r) => r && r[1] !== null && r[1] !== undefined && r[1] !== '')
    .map(([name, value, cls]) => el('div', {}, el('dt', {}, name), el('dd', { class: cls }, value))));
}

function summary(s) {
  const target = s.target?.executed;
  return facts([
    s.state === 'done' && ['Speedup', s.speedup ? `${number(s.speedup.value)}×` : 'not timed', s.speedup ? 'big' : ''],
    s.speedup?.ci95 && ['95 % interval', `${number(s.speedup.ci95[0])} to ${number(s.speedup.ci95[1])}`],
    s.candidate_us && ['Time', `${number(s.candidate_us)} µs`],
    s.baseline && ['Baseline', `${s.baseline.name} ${s.baseline.version || ''}: ${number(s.baseline.us)} µs`],
    s.state === 'done' && ['Target instructions', target === true ? 'executed' : target === false ? 'not executed' : 'unknown'],
    typeof s.target?.tensor_share === 'number' && ['Work on tensor units', `${number(100 * s.target.tensor_share)} %`],
    s.thread_instructions && ['Thread instructions', number(s.thread_instructions)],
    s.rank && ['Rank', el('a', { href: boardLink(s) }, `${s.rank}`)],
    s.position && ['Place in the queue', `${s.position}`],
    s.eta_s && ['Expected in', `${s.eta_s} s`],
    ['Problem', `${s.problem} ${s.workload}`],
    ['Architecture', `${s.arch} on ${s.device_model || s.device}`],
    ['Language, mode', `${s.language}, ${s.mode}`],
    s.label && ['Label', s.label], s.method && ['Method', s.method],
    ['Submitted', ago(s.created_at)], s.wall_ms && ['Evaluation took', ms(s.wall_ms)],
    s.evaluations > 1 && ['Evaluations', `${s.evaluations}`],
  ]);
}

function stageList(stages) {
  return el('ol', { class: 'stages' }, [...stages.values()].map((s) =>
    el('li', { class: s.state, title: s.detail }, el('b', {}, s.name), el('span', {}, [s.state, s.wall_ms >= 0.05 && ms(s.wall_ms)].filter(Boolean).join(' · ')))));
}

const checkColumns = [
  ['Inputs', (t) => t.distribution], ['Tensor', (t) => t.name],
  ['Bad', (t) => `${number(t.bad)} of ${number(t.elements)}`, 'number'],
  ['Largest error', (t) => number(t.max_abs), 'number'], ['Relative', (t) => number(t.max_rel), 'number'],
  ['Excess', (t) => number(t.excess), 'number'], ['Not finite', (t) => number(t.nonfinite), 'number'],
  ['Strict', (t) => (t.strict === true ? 'yes' : t.strict === false ? 'no' : '–')],
  ['First bad', (t) => (t.first_bad ? `[${(t.first_bad.index || []).join(', ')}] got ${t.first_bad.got}, want ${t.first_bad.want}` : '–')],
];
const kernelColumns = [
  ['Kernel', (k) => el('span', { class: 'mono' }, k.name || k.symbol), 'wide'],
  ...[['Registers', 'registers'], ['Shared', 'shared_bytes'], ['Local', 'local_bytes'], ['Spill stores', 'spill_store_bytes'],
    ['Spill loads', 'spill_load_bytes'], ['Parameters', 'param_bytes']].map(([head, key]) => [head, (k) => number(k[key]), 'number']),
];

function section(title, ...content) {
  return [el('h2', {}, title), ...content];
}

// The parts of a report, each only where there is something to say.
function reportParts(report) {
  const trials = (report.check?.trials || []).flatMap((t) => (t.tensors || []).map((x) => ({ ...x, distribution: t.distribution })));
  const faults = report.faults || [], warnings = report.compile?.warnings || [], kernels = report.kernels || [];
  const families = Object.entries(report.target?.families || {});
  return [
    faults.length && section('Faults', el('ul', {}, faults.map((f) => el('li', {}, Object.entries(f).map(([k, v]) =>
      `${k} ${typeof v === 'object' ? JSON.stringify(v) : v}`).join(', '))))),
    trials.length && section('Check', table(checkColumns, trials, '')),
    kernels.length && section('Kernels', table(kernelColumns, kernels, '')),
    families.length && section('Target instructions', table([['Family', ([n]) => n],
      ['In the module', ([, f]) => number(f.static), 'number'], ['Executed by warps', ([, f]) => number(f.warps), 'number'],
      ['By threads', ([, f]) => number(f.threads), 'number']], families, '')),
    warnings.length && section('Compiler warnings', table([['Line', (w) => number(w.line), 'number'], ['Code', (w) => w.code || '–'],
      ['Text', (w) => w.text, 'wide']], warnings, '')),
    report.sandbox && el('p', { class: 'quiet' }, 'Sandbox: ', report.sandbox.join(', ') || 'none',
      report.compile?.compiler ? ` · ${report.compile.compiler}` : ''),
  ];
}

function viewSubmission(query, id) {
  const head = el('div'), stagesAt = el('div', { 'aria-live': 'polite' }), reportAt = el('div'), artefactsAt = el('div'), sourceAt = el('div');
  fill(main, head, stagesAt, reportAt, artefactsAt, sourceAt);
  const stages = new Map();
  let current = null, left = false;

  const act = (what) => async () => {
    try { await call(`/v1/submissions/${id}/${what}`, { method: 'POST' }); route(); } catch (e) { head.append(notice(e)); }
  };
  const showHead = () => fill(head, 
    el('h1', {}, current.label || `${current.problem} ${current.workload}`),
    el('p', {}, ...badge(current), ' ', el('span', { class: 'mono quiet' }, id)),
    current.detail && el('div', { class: 'notice' }, current.detail),
    current.lane?.healthy === false && el('div', { class: 'notice wait' }, `No worker serves the lane ${current.lane.name} at the moment; the submission waits for one.`),
    summary(current),
    el('p', {}, current.state === 'done' ? el('button', { onclick: act('rerun') }, 'Run again') : el('button', { onclick: act('cancel') }, 'Cancel')));
  const showStages = () => fill(stagesAt, stages.size > 0 && section('Stages', stageList(stages)));

  const showReport = async () => {
    const report = await call(`/v1/submissions/${id}/report`).catch(() => null);
    if (!report || left) return;
    stages.clear();
    for (const s of report.stages || []) stages.set(s.name, s);
    showStages();
    fill(reportAt, reportParts(report));
    const log = await call(`/v1/submissions/${id}/log`, { text: true }).catch(() => '');
    if (log && !left) reportAt.append(el('details', { open: current.verdict === 'COMPILE_ERROR' }, el('summary', {}, 'Compiler log'), el('pre', {}, log)));
    const headers = token.get() ? { Authorization: `Bearer ${token.get()}` } : {};
    const found = await Promise.all(['report', 'source', 'ptx', 'cubin', 'log'].map(async (name) => {
      const path = `/v1/submissions/${id}/${name}`;
      return (await fetch(path, { method: 'HEAD', headers })).ok && el('li', {}, el('a', { href: path }, name));
    }));
    if (!left) fill(artefactsAt, section('Files', el('ul', { class: 'line' }, found)));
  };
  const refresh = async () => {
    const got = await call(`/v1/submissions/${id}`);
    if (left) return;
    current = got;
    showHead();
    if (current.state === 'done') await showReport();
  };
  const changed = (kind, data) => {
    if (kind === 'stage') { stages.set(data.stage, { ...data, name: data.stage }); showStages(); return; }
    if (kind === 'state' && data.state !== 'done') { stages.clear(); showStages(); }
    if (kind !== 'progress') refresh().catch(() => {});
  };

  let stop = () => {};
  refresh().then(async () => {
    if (left) return;
    if (current.state !== 'done') stop = follow(id, changed);
    const source = await call(`/v1/submissions/${id}/source`, { text: true });
    if (!left) fill(sourceAt, section('Source', el('pre', { tabindex: 0 }, source)));
  }).catch((e) => fill(main, notice(e)));
  return () => { left = true; stop(); };
}

// ---- choosing problem, workload, architecture, device ----

const catalog = (() => {
  let loading = null;
  const asked = ['/v1/problems', '/v1/archs', '/v1/queue', '/v1/submissions?state=done&limit=1'];
  return () => (loading ||= Promise.all(asked.map((path) => call(path)))
    .then(([problems, archs, queue, { items: [last] }]) => ({
      problems: problems.items, archs: archs.items,
      lane: last ? [last.arch, last.device] : queue.lanes.find((l) => l.healthy)?.name.split('/'),
    })).catch((e) => { loading = null; throw e; }));
})();

function select(label, values, value, onchange) {
  return el('label', {}, label, el('select', { onchange: (e) => onchange(e.target.value) },
    values.map((v) => el('option', { value: v, selected: v === value }, v))));
}

// Fills what the query leaves open; what was evaluated last, or what somebody serves, is a good guess.
function choose(query, { problems, archs, lane = [archs[0]?.name, 'cpu'] }) {
  const problem = problems.find((p) => p.name === query.problem) || problems[0];
  const device = query.device || lane[1];
  const fallback = device === 'cpu' && problem.cpu_workload ? problem.cpu_workload : problem.default_workload;
  return {
    problem: problem.name, arch: query.arch || lane[0], device,
    workload: problem.workload_names.includes(query.workload) ? query.workload : fallback,
    workloads: problem.workload_names,
  };
}

function pickers(choice, { problems, archs }, changed) {
  const set = (key) => (value) => changed({ ...choice, [key]: value, ...(key === 'workload' ? {} : key === 'arch' ? {} : { workload: '' }) });
  return [
    select('Problem', problems.map((p) => p.name), choice.problem, set('problem')),
    select('Device', ['cpu', 'gpu'], choice.device, set('device')),
    select('Workload', choice.workloads, choice.workload, set('workload')),
    select('Architecture', archs.map((a) => a.name), choice.arch, set('arch')),
  ];
}

// ---- board ----

function boardLink(s) {
  return `#/board?${new URLSearchParams({ problem: s.problem, workload: s.workload, arch: s.arch, device: s.device })}`;
}

const boardColumns = [
  ['Rank', (s) => (s.rank ? `${s.rank}` : '–'), 'number'],
  ['Submission', (s) => el('a', { href: `#/submissions/${s.id}` }, s.label || `${s.id.slice(0, 8)}…`), 'wide'],
  ['Method', (s) => s.method || '–'], ['Owner', (s) => s.owner], ['Speedup', speedup, 'number'],
  ['95 %', (s) => (s.speedup?.ci95 ? `${number(s.speedup.ci95[0])} to ${number(s.speedup.ci95[1])}` : '–'), 'number'],
  ['Time, µs', (s) => number(s.candidate_us), 'number'],
  ['Thread instructions', (s) => number(s.thread_instructions), 'number'],
  ['Target', (s) => (s.target?.executed === true ? 'executed' : s.target?.executed === false ? 'not executed' : 'unknown')],
  ['Flags', (s) => (s.flags || []).map((f) => el('span', { class: 'badge' }, f))],
  ['Language', (s) => s.language], ['When', (s) => ago(s.created_at)],
];

function viewBoard(query) {
  const form = el('div', { class: 'row' }), holder = el('div');
  fill(main, el('h1', {}, 'Board'), form, holder);
  return repeat(async () => {
    try {
      const all = await catalog();
      const choice = choose(query, all);
      if (!form.children.length)
        fill(form, pickers(choice, all, (c) => { location.hash = boardLink(c); }));
      const { problem, workload, arch, device } = choice;
      const board = await call(`/v1/leaderboard?${new URLSearchParams({ problem, workload, arch, device })}`);
      fill(holder, table(boardColumns, board.items, 'No entry yet for this choice.'));
    } catch (e) { fill(holder, notice(e)); }
  }, 10000);
}

// ---- submit ----

function viewSubmit(query) {
  const form = el('form', {});
  fill(main, el('h1', {}, 'Submit a kernel'), el('p', { class: 'quiet' },
    'Device code in CUDA or PTX. The launch plan stands in a block comment that starts with ', el('code', {}, '/*ptxbench-launch'), '.'), form);
  let left = false;
  catalog().then((all) => {
    if (left) return;
    let choice = choose(query, all);
    const picks = el('div', { class: 'row' }), result = el('div');
    const source = el('textarea', { 'aria-label': 'Source', spellcheck: 'false', required: true, placeholder: 'paste the source here' });
    const label = el('input', { maxlength: 200, autocomplete: 'off' });
    const secret = el('input', { type: 'password', autocomplete: 'off', placeholder: 'only from another machine' });
    secret.value = token.get();
    const pick = () => fill(picks, pickers(choice, all, (c) => { choice = choose(c, all); pick(); }),
      el('label', {}, 'Label', label), el('label', {}, 'Token', secret));
    pick();
    const post = (dry) => async () => {
      token.set(secret.value.trim());
      const { problem, workload, arch, device } = choice;
      const body = { problem, workload, arch, device, source: source.value, ...(label.value ? { label: label.value } : {}) };
      try {
        const got = await call(`/v1/submissions${dry ? '?dry_run=1' : ''}`, { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } });
        if (dry) fill(result, el('p', {}, el('span', { class: 'badge good' }, 'valid'), ` for the lane ${got.lane}`));
        else location.hash = `#/submissions/${got.id}`;
      } catch (e) { fill(result, notice(e)); }
    };
    form.addEventListener('submit', (e) => { e.preventDefault(); post(false)(); });
    fill(form, picks, source, el('p', { class: 'row' }, el('button', { class: 'main' }, 'Submit'),
      el('button', { type: 'button', onclick: post(true) }, 'Check the plan only')), result);
  }).catch((e) => fill(form, notice(e)));
  return () => { left = true; };
}

// ---- routes ----

const views = [
  [/^\/?$/, viewList, 'Submissions'],
  [/^\/submissions$/, viewList, 'Submissions'],
  [/^\/submissions\/([0-9a-f-]{36})$/, viewSubmission, 'Submission'],
  [/^\/board$/, viewBoard, 'Board'],
  [/^\/submit$/, viewSubmit, 'Submit'],
];
let leave = null;

function route() {
  const [path, search = ''] = location.hash.replace(/^#/, '').split('?');
  leave?.();
  leave = null;
  for (const link of document.querySelectorAll('header nav a'))
    if (link.getAttribute('href') === `#${path || '/submissions'}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  for (const [pattern, view, title] of views) {
    const match = path.match(pattern);
    if (!match) continue;
    document.title = `${title} · PTXBench`;
    leave = view(Object.fromEntries(new URLSearchParams(search)), ...match.slice(1));
    return;
  }
  fill(main, el('p', {}, 'There is no such page. ', el('a', { href: '#/' }, 'Submissions')));
}

addEventListener('hashchange', route);
document.querySelector('.skip').addEventListener('click', (e) => { e.preventDefault(); main.focus(); });
route();

call('/version').then((v) => { document.getElementById('version').textContent = v.version; }).catch(() => {});
repeat(async () => {
  const queue = await call('/v1/queue').catch(() => null);
  const lanes = queue?.lanes || [];
  const waiting = lanes.reduce((n, l) => n + l.queued, 0), running = lanes.reduce((n, l) => n + l.running, 0);
  document.getElementById('lanes').textContent = queue ? `${waiting} waiting, ${running} running` : 'not reachable';
}, 10000);
