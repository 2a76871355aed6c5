// SPDX-License-Identifier: Apache-2.0
// The state of the service: lanes with what waits in them, workers and their devices.
import { useRef } from '../vendor/preact.js';
import { useData } from '../api.js';
import { DASH, deviceTitle, duration, number, problemTitle, shortId } from '../format.js';
import { link } from '../router.js';
import { Badge, html, Load, Section, Table, When } from '../ui.js';

const EVERY = 5000;
const SHOWN = 10;
const Health = ({ of }) => html`<${Badge} kind=${of ? 'good' : 'bad'}>${of ? 'healthy' : 'not healthy'}<//>`;

// How long the last one in a lane would wait; null: nobody serves it, or it has no history.
const wait = (l) =>
  l.workers && l.seconds_per_job !== null ? (1000 * (l.queued + l.running) * l.seconds_per_job) / l.workers : null;

const lanes = [
  { head: 'Lane', value: (l) => l.name },
  {
    head: 'State',
    value: (l) => (l.healthy ? 'served' : 'paused'),
    cell: (l) => html`<${Badge} kind=${l.healthy ? 'good' : 'wait'}>${l.healthy ? 'served' : 'paused'}<//>`,
  },
  { head: 'Waiting', num: true, value: (l) => l.queued },
  { head: 'Running', num: true, value: (l) => l.running },
  { head: 'Workers', num: true, value: (l) => l.workers },
  {
    head: 'Oldest waits',
    csv: 'oldest_age_s',
    num: true,
    value: (l) => l.oldest_age_s,
    cell: (l) => (l.oldest_age_s === null ? DASH : duration(1000 * l.oldest_age_s)),
  },
  {
    head: 'A job takes',
    csv: 'seconds_per_job',
    num: true,
    value: (l) => l.seconds_per_job,
    cell: (l) => (l.seconds_per_job === null ? DASH : duration(1000 * l.seconds_per_job)),
  },
  {
    head: 'A new one would wait',
    csv: 'wait_ms',
    num: true,
    value: wait,
    cell: (l) => (wait(l) === null ? DASH : wait(l) === 0 ? 'not at all' : `about ${duration(wait(l))}`),
  },
];

// What a device tells of itself: two figures to a column, apart in the CSV. A column that no device fills is not shown.
const figure = (w, name, unit) =>
  typeof w.health?.[name] === 'number' ? `${number(w.health[name])}${unit && ` ${unit}`}` : null;
const measured = (head, [name, unit], [below, unitBelow, what = '']) => [
  {
    head,
    csv: name,
    num: true,
    health: true,
    value: (w) => w.health?.[name],
    cell: (w) =>
      w.health
        ? html`${figure(w, name, unit) ?? DASH}<small>${what} ${figure(w, below, unitBelow) ?? DASH}</small>`
        : DASH,
  },
  { csv: below, cell: null, value: (w) => w.health?.[below] },
];
const workersOf = (items) => workers.filter((c) => !c.health || items.some((w) => w.health));

const workers = [
  {
    head: 'Worker',
    value: (w) => w.name,
    cls: 'who',
    cell: (w) => html`${w.name}<small>${w.host}, since <${When} at=${w.started_at} /></small>`,
  },
  {
    head: 'State',
    value: (w) => (w.healthy ? 'healthy' : 'not healthy'),
    cell: (w) =>
      html`<${Health} of=${w.healthy} />${(w.device_detail || w.device_state !== 'ok') && html`<small>
        ${w.device_state}${w.device_detail ? `: ${w.device_detail}` : ''}</small>`}`,
  },
  {
    head: 'Device',
    value: (w) => w.device_model || w.device,
    cell: (w) =>
      html`<span title=${w.device_model}>${deviceTitle(w.device_model || w.device)}</span>
        ${w.driver && html`<small>driver ${w.driver}</small>`}`,
  },
  { head: 'Lanes', value: (w) => w.lanes.join(' '), cls: 'wide' },
  ...measured('Temperature', ['temperature_c', '°C'], ['power_w', 'W']),
  ...measured('SM clock', ['sm_mhz', 'MHz'], ['memory_mhz', 'MHz', 'memory']),
  {
    head: 'Throttled',
    health: true,
    value: (w) => [w.health?.throttle || []].flat().join(' '),
    cell: (w) =>
      w.health
        ? html`${[w.health.throttle || []].flat().join(', ') || 'no'}
          <small>${figure(w, 'ecc_errors', '') ?? DASH} ECC errors</small>`
        : DASH,
  },
  { csv: 'ecc_errors', cell: null, value: (w) => w.health?.ecc_errors },
  {
    head: 'Works on',
    value: (w) => w.job?.submission,
    cell: (w) =>
      w.job
        ? html`<a href=${`/submissions/${w.job.submission}`}>a submission</a>
          <small>for ${duration(1000 * w.job.running_s)}</small>`
        : 'nothing',
  },
  {
    head: 'Seen',
    csv: 'seen_age_s',
    num: true,
    value: (w) => w.seen_age_s,
    cell: (w) => `${w.seen_age_s < 60 ? `${Math.round(w.seen_age_s)} s` : duration(1000 * w.seen_age_s)} ago`,
  },
];

// Those under way, and of those that wait the newest, with their places: the line in front of who comes now.
const jobs = [
  {
    head: 'Place',
    csv: 'position',
    num: true,
    value: (s) => s.position,
    cell: (s) => s.position ?? html`<${Badge} kind="wait">running<//>`,
  },
  {
    head: 'Submission',
    csv: 'id',
    cls: 'who',
    value: (s) => s.id,
    cell: (s) => html`<a href=${`/submissions/${s.id}`}>${s.label || shortId(s.id)}</a>
      ${s.method && html`<small>${s.method}</small>`}`,
  },
  { csv: 'label', cell: null, value: (s) => s.label },
  {
    head: 'Problem',
    cls: 'wide-only',
    value: (s) => `${s.problem} ${s.workload}`,
    cell: (s) => `${problemTitle(s.problem)} ${s.workload}`,
  },
  { head: 'Lane', value: (s) => s.lane?.name },
  { head: 'Submitted', value: (s) => s.created_at, cell: (s) => html`<${When} at=${s.created_at} />` },
  {
    head: 'Expected in',
    csv: 'eta_s',
    num: true,
    value: (s) => s.eta_s,
    cell: (s) => {
      if (s.position && s.lane?.healthy === false) return 'its lane is paused';
      return s.eta_s ? duration(1000 * s.eta_s) : DASH;
    },
  },
];

function Jobs() {
  const [running, queued] = ['running', 'queued'].map((state) =>
    useData(link('/v1/submissions', { state, limit: SHOWN }), { every: EVERY }),
  );
  const ids = [...(queued.data?.items || []), ...(running.data?.items || [])].map((s) => `/v1/submissions/${s.id}`);
  const each = useData(ids.length ? ids : null, { every: EVERY });
  const last = useRef([]); // what is shown until others are there
  if (each.data) last.current = each.data;
  const rows = ids.length
    ? last.current.filter((s) => s.state !== 'done').sort((a, b) => (a.position || 0) - (b.position || 0))
    : [];
  return html`<${Section} title="Submissions under way"><${Load} of=${queued}>${() => html`<${Table}
      name="Submissions under way" columns=${jobs} rows=${rows} empty="Nothing waits, nothing runs." />
    ${queued.data.next && html`<p class="quiet">Of those that wait, the newest ${SHOWN}.</p>`}`}<//><//>`;
}

export default function System() {
  const queue = useData('/v1/queue', { every: EVERY }),
    all = useData('/v1/workers', { every: EVERY });
  return html`<h1>System</h1>
    <${Section} title="Queue"><${Load} of=${queue}>${(d) => html`<${Table} name="Queue" columns=${lanes}
      rows=${d.lanes} empty="No lane yet: no worker has registered and nothing waits." />`}<//><//>
    <${Jobs} />
    <${Section} title="Workers"><${Load} of=${all}>${(d) => html`<${Table} name="Workers" columns=${workersOf(d.items)}
      rows=${d.items} empty="No worker has registered." />`}<//><//>
    <p class="quiet">Counters for Prometheus are at <a href="/metrics">/metrics</a>, health at <a
      href="/healthz">/healthz</a> and <a href="/readyz">/readyz</a>.</p>`;
}
