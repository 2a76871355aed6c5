// SPDX-License-Identifier: Apache-2.0
// The state of the service: lanes with what waits in them, workers and their devices.
import { useData } from '../api.js';
import { DASH, deviceTitle, duration, number } from '../format.js';
import { Badge, html, Load, Section, Table, When } from '../ui.js';

const EVERY = 5000;
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
    cell: (l) => (wait(l) === null ? DASH : duration(wait(l))),
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
    cell: (w) => html`${figure(w, name, unit) ?? DASH}<small>${what} ${figure(w, below, unitBelow) ?? DASH}</small>`,
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
    cell: (w) => html`${[w.health?.throttle || []].flat().join(', ') || (w.health ? 'no' : DASH)}
      <small>${figure(w, 'ecc_errors', '') ?? DASH} ECC errors</small>`,
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
    cell: (w) => `${duration(1000 * w.seen_age_s)} ago`,
  },
];

export default function System() {
  const queue = useData('/v1/queue', { every: EVERY }),
    all = useData('/v1/workers', { every: EVERY });
  return html`<h1>System</h1>
    <${Section} title="Queue"><${Load} of=${queue}>${(d) => html`<${Table} name="Queue" columns=${lanes}
      rows=${d.lanes} empty="No lane yet: no worker has registered and nothing waits." />`}<//><//>
    <${Section} title="Workers"><${Load} of=${all}>${(d) => html`<${Table} name="Workers" columns=${workersOf(d.items)}
      rows=${d.items} empty="No worker has registered." />`}<//><//>
    <p class="quiet">Counters for Prometheus are at <a href="/metrics">/metrics</a>, health at <a
      href="/healthz">/healthz</a> and <a href="/readyz">/readyz</a>.</p>`;
}
