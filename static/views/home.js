// SPDX-License-Identifier: Apache-2.0
// The first screen: the question, the one chart, the board.
import { useData } from '../api.js';
import { cellName } from '../cells.js';
import { DotChart } from '../dots.js';
import { counts, DASH, deviceTitle, msOfUs, number, percent, problemTitle, share, shortId, times } from '../format.js';
import { mergeCells, modelsByBest, problemOrder, rankRows, rowOfCell, rowOfEntry } from '../results.js';
import { link, useQuery } from '../router.js';
import { Badge, html, Load, Section, Select, Table, Target, targetWord, When } from '../ui.js';

const TURNS = 8;
const FIRST = 100,
  MOST = 1000;

// Fills what the address leaves open.
function choose(query, { problems, archs, cells, file }) {
  const names = [...new Set([...problems.map((p) => p.name), ...problemOrder(file, cells)])];
  const problem = names.includes(query.problem) ? query.problem : names[0];
  const known = problems.find((p) => p.name === problem);
  const published = [...new Set(cells.filter((c) => c.problem === problem).map((c) => c.workload))];
  const workloads = [...new Set([...(known?.workload_names || []), ...published])];
  const onCpu = query.device === 'cpu' || query.device === 'ptxvm';
  const preferred =
    (onCpu && known?.cpu_workload) ||
    known?.default_workload ||
    file.problems.find((p) => p.name === problem)?.workload ||
    workloads[0];
  const workload = workloads.includes(query.workload) ? query.workload : preferred;
  const arch = archs.some((a) => a.name === query.arch) ? query.arch : archs[0].name;
  return {
    problem,
    workload,
    arch,
    device: onCpu ? 'cpu' : query.device || '',
    names,
    workloads,
    listed: Boolean(known),
    known,
  };
}

// Which architecture a device model belongs to: by the paper's file, else by the models that each names.
const archOf = (model, file, archs) =>
  file.devices.find((d) => d.name === model)?.arch ||
  archs.find((a) => a.devices.includes(deviceTitle(model).toLowerCase()))?.name;

export default function Home() {
  const [query, set] = useQuery();
  const base = useData([
    '/v1/problems',
    '/v1/archs',
    '/published/tables.json',
    `/v1/metrics/turn_correctness?turns=${TURNS}`,
  ], { every: 60000 });
  return html`<h1 class="question">Can a model write Hopper and Blackwell PTX as fast as the vendor’s library?</h1>
    <p class="lead">Speedup over cuBLAS and cuDNN on the same GPU: <b>1.0</b> is as fast.
      A dot is the best of a model’s correct kernels.</p>
    <${Load} of=${base}>${([problems, archs, file, metrics]) => {
      const cells = mergeCells(file, metrics);
      return html`<${Choices} ...${{ query, set, cells, file, problems: problems.items, archs: archs.items }} />`;
    }}<//>`;
}

function Choices(all) {
  const { query, set, cells, file, archs, problems } = all;
  const choice = choose(query, all);
  const { problem, workload, arch, device } = choice;
  const { epoch, baseline } = query;
  const limit = query.all ? MOST : FIRST;
  const path = choice.listed && link('/v1/leaderboard', { problem, workload, arch, device, epoch, baseline, limit });
  const board = useData(path || null, { every: 15000 });
  const local = useData(
    device === 'cpu' ? null : problems.map((p) => link('/v1/leaderboard', { problem: p.name, arch, device, limit: 3 })),
    { every: 60000 },
  );
  const here = cells.filter((c) => archOf(c.device_model, file, archs) === arch);
  const entries = (choice.listed ? board.data?.items || [] : []).map(rowOfEntry);
  const models = [
    ...new Set(
      [...here.map((c) => c.device_model), ...entries.map((r) => r.device_model), device]
        .filter(Boolean)
        .map((m) => (m === 'ptxvm' ? 'cpu' : m))
        .concat('cpu'),
    ),
  ];
  const rows = rankRows([
    ...here
      .filter((c) => c.problem === problem && c.workload === workload && (!device || c.device_model === device))
      .map((c) => rowOfCell(c, TURNS)),
    ...entries,
  ]);
  const pick = (name) => (value) =>
    set(
      name === 'problem'
        ? { problem: value, workload: '', epoch: '', baseline: '' }
        : name === 'arch'
          ? { arch: value, device: '', epoch: '', baseline: '' }
          : name === 'device'
            ? { device: value, workload: '', epoch: '', baseline: '' }
            : { [name]: value },
    );
  const shown = html`<${Which} board=${board.data} pick=${pick} />
    <${Board} rows=${rows} choice=${choice} flops=${board.data?.flops} /><${Hidden} items=${board.data?.hidden} />
    <${Over} board=${board.data} />${rows.length > 0 && rows.every((r) => r.speedup === null) && html`<p class="quiet">
      Nothing here was timed: fewest thread instructions first, which says little about speed.</p>`}`;
  const showAll = () => set({ all: 1 }, { replace: true });
  return html`<form class="row" aria-label="What to show" onSubmit=${(e) => e.preventDefault()}>
      <${Select} label="Problem" value=${problem} options=${choice.names.map((n) => [n, problemTitle(n)])}
        onChange=${pick('problem')} />
      <${Select} label="Workload" value=${workload} options=${choice.workloads} onChange=${pick('workload')} />
      <${Select} label="Architecture" value=${arch} options=${archs.map((a) => [a.name, `${a.name} ${a.title}`])}
        onChange=${pick('arch')} />
      <${Select} label="Device" value=${device} onChange=${pick('device')}
        options=${[['', 'any'], ...models.map((m) => [m, deviceTitle(m)])]} />
    </form>
    ${
      device !== 'cpu' &&
      html`<${Section} title="Best speedup per model, by problem" id="chart"><${DotChart} problem=${problem}
      onProblem=${pick('problem')} models=${modelsByBest(cells)} problems=${problemOrder(file, cells)} turns=${TURNS}
      cells=${here.filter((c) => !device || c.device_model === device)} workloads=${file.problems}
      local=${(local.data || []).flatMap((b) => b.items.map((i) => ({ ...rowOfEntry(i), problem: b.problem })))} />
        <//>`
    }
    <${Section} title=${`Board: ${problemTitle(problem)} ${workload} on ${arch}`} id="board">
      ${choice.listed ? html`<${Load} of=${board}>${() => shown}<//>` : shown}<//>
    ${entries.length === FIRST && !query.all && html`<p>
      <button type="button" onClick=${showAll}>Show all entries</button></p>`}
    <p class="quiet">Published: ${file.source} (${file.date}). ${file.note}</p>`;
}

// Which of several epochs and baselines is shown.
function Which({ board, pick }) {
  if (!(board?.epochs.length > 1 || board?.baselines.length > 1)) return null;
  return html`<div class="row">
    ${board.epochs.length > 1 && html`<${Select} label="Epoch" value=${String(board.epoch)}
      options=${[...board.epochs].reverse().map(String)} onChange=${pick('epoch')} />`}
    ${board.baselines.length > 1 && html`<${Select} label="Speedup over" value=${board.baseline}
      options=${board.baselines} onChange=${pick('baseline')} />`}</div>`;
}

// What the speedups measured here are over, and the time that it took.
function Over({ board }) {
  const took = new Map();
  for (const { baseline: b } of board?.items || [])
    if (b) took.set(nameOf(b), [...(took.get(nameOf(b)) || []), b.us]);
  if (!took.size) return null;
  const each = [...took].map(([name, us]) => {
    const [least, most] = [Math.min(...us), Math.max(...us)].map(number);
    return `${name} (${least === most ? least : `${least} to ${most}`} µs beside them)`;
  });
  return html`<p class="quiet">Local: speedup over ${each.join(' and ')}; an entry’s best of all its attempts.</p>`;
}

const nameOf = (baseline) => [baseline.name, baseline.version].filter(Boolean).join(' ');

// What an operator took off the board, and why.
function Hidden({ items }) {
  if (!items?.length) return null;
  return html`<details class="hidden-entries"><summary>Taken off by the operator: ${items.length}</summary>
    <ul>${items.map((h) => html`<li><a href=${`/submissions/${h.id}`}>${h.label || shortId(h.id)}</a>: ${h.reason}
      <small><${When} at=${h.hidden_at} /></small></li>`)}</ul></details>`;
}

function Board({ rows, choice, flops }) {
  const most = Math.max(1.1, ...rows.map((r) => (r.ci95 ? r.ci95[1] : r.speedup || 0)));
  const timed = rows.some((r) => r.speedup !== null);
  const some = (name) => rows.some((r) => r[name] !== null);
  const columns = [
    timed && { head: '#', csv: 'rank', num: true, cls: 'rank', value: (r) => r.rank },
    { head: 'Who', value: (r) => r.who, cls: 'who', cell: (r) => html`<${Who} row=${r} />` },
    timed && {
      head: 'Speedup',
      csv: 'speedup',
      cls: 'bar',
      value: (r) => r.speedup,
      cell: (r) => html`<${Bar} row=${r} most=${most} />`,
    },
    { csv: 'ci95_low', cell: null, value: (r) => r.ci95?.[0] },
    { csv: 'ci95_high', cell: null, value: (r) => r.ci95?.[1] },
    some('us') && { head: 'ms', num: true, cls: 'wide-only', value: (r) => r.us && r.us / 1000,
      cell: (r) => msOfUs(r.us) },
    some('us') &&
      flops > 0 && {
        head: 'TFLOP/s',
        num: true,
        cls: 'wide-only',
        value: (r) => r.us && flops / r.us / 1e6,
        cell: (r) => (r.us ? number(flops / r.us / 1e6) : DASH),
      },
    !timed && {
      head: 'Thread instructions',
      num: true,
      value: (r) => r.instructions,
      cell: (r) => number(r.instructions),
    },
    {
      head: html`<span class="wide-only">Executed</span><span class="narrow-only">Exec.</span>`,
      csv: 'target_executed',
      value: (r) => targetWord(r.executed),
      cell: (r) =>
        r.id || r.speedup !== null
          ? html`<${Target} executed=${r.executed} counts=${r.counts} />${r.tensorShare !== null &&
            html`<small class="wide-only">${share(r.tensorShare)} tensor</small>`}`
          : DASH,
    },
    { csv: 'tensor_share', cell: null, value: (r) => r.tensorShare },
    { csv: 'target_counts', cell: null, value: (r) => counts(r.counts) },
    some('correct') && {
      head: `Correct, T = ${TURNS}`,
      csv: 'correct_percent',
      num: true,
      cls: 'wide-only',
      value: (r) => r.correct,
      cell: (r) => (r.correct === null ? DASH : html`<span title=${correctText(r)}>${percent(r.correct)}</span>`),
    },
    some('correct') && { csv: 'correct_low', cell: null, value: (r) => r.correctCi?.[0] },
    some('correct') && { csv: 'correct_high', cell: null, value: (r) => r.correctCi?.[1] },
    { head: 'Device', cls: 'wide-only', value: (r) => r.device_model, cell: (r) => deviceTitle(r.device_model) },
    { head: 'From', cls: 'wide-only', value: (r) => r.origin, cell: (r) => html`<${Origin} of=${r.origin} />` },
    { csv: 'attempts', cell: null, value: (r) => r.attempts },
    { csv: 'baseline', cell: null, value: (r) => r.baseline && nameOf(r.baseline) },
    { csv: 'baseline_us', cell: null, value: (r) => r.baseline?.us },
  ].filter(Boolean);
  return html`<${Table} name=${`Board ${choice.problem} ${choice.workload} ${choice.arch}`} columns=${columns}
    rows=${rows} rowClass=${(r) => r.origin}
    empty=${html`No entry for this choice yet. <a
      href=${link('/submit', { problem: choice.problem, arch: choice.arch })}>Submit the first one.</a>`} />`;
}

const correctText = (r) => `${r.correctOf} turns${r.correctCi
  ? `, 95 % interval ${r.correctCi.map(share).join(' to ')}` : ''}`;

const Origin = ({ of }) => html`<${Badge} kind=${of === 'local' ? 'local' : ''}>${of}<//>`;

function Who({ row }) {
  const sub = [
    row.method,
    row.owner && row.owner !== 'anonymous' && row.owner,
    row.attempts > 1 && row.id && `best of ${row.attempts}`,
  ].filter(Boolean);
  const c = row.cell?.cell !== undefined && row.cell; // its turns are in the database
  const to = row.id ? `/submissions/${row.id}` : c && link('/turns', { problem: c.problem, device: c.device_model,
    workload: c.workload, model: cellName(c) });
  return html`${to ? html`<a href=${to}>${row.who}</a>` : row.who}
    ${row.flags.map((f) => html` <${Badge} kind="flag">${f}<//>`)}
    ${sub.length > 0 && html`<small>${sub.join(' · ')}</small>`}
    <small class="narrow-only">${deviceTitle(row.device_model)} · ${row.origin}</small>`;
}

// A bar to the speedup, a whisker over its interval, a line at 1.0.
function Bar({ row, most }) {
  const at = (v) => `${(100 * v) / most}%`;
  const text = row.ci95
    ? `${times(row.speedup)}, 95 % interval ${times(row.ci95[0])} to ${times(row.ci95[1])}`
    : times(row.speedup);
  return html`<span class="meter" title=${text}>
    <span class="track" aria-hidden="true"><i class="one" style=${{ left: at(1) }}></i>
      ${row.speedup !== null && html`<i class=${row.executed === true ? 'fill' : 'fill hollow'}
        style=${{ width: at(row.speedup) }}></i>`}
      ${row.ci95 && html`<i class="ci" style=${{ left: at(row.ci95[0]),
        width: at(row.ci95[1] - row.ci95[0]) }}></i>`}</span>
    <span class="figure">${times(row.speedup)}</span></span>`;
}
