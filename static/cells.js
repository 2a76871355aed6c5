// SPDX-License-Identifier: Apache-2.0
// One problem on one device in one size, chosen among the cells that have turns; what the views of turns share.
import { deviceTitle, modelTitle, problemTitle } from './format.js';
import { html, Select } from './ui.js';

// Fills what the address leaves open: the paper's GEMM on an H100, and the workload that most cells are of.
export function chooseCells(items, query) {
  const problems = [...new Set(items.map((c) => c.problem))];
  const problem = problems.includes(query.problem) ? query.problem : problems.includes('gemm') ? 'gemm' : problems[0];
  const devices = [...new Set(items.filter((c) => c.problem === problem).map((c) => c.device_model))];
  const device = devices.includes(query.device) ? query.device : devices.find((d) => /H100/.test(d)) || devices[0];
  const here = items.filter((c) => c.problem === problem && c.device_model === device);
  const workloads = [...new Set(here.map((c) => c.workload))];
  const many = (w) => here.filter((c) => c.workload === w).length;
  const usual = [...workloads].sort((a, b) => many(b) - many(a))[0];
  const workload = workloads.includes(query.workload) ? query.workload : usual;
  const cells = here.filter((c) => c.workload === workload);
  return { problems, problem, devices, device, workloads, workload, cells };
}

export const cellName = (c) => (c.origin === 'local' ? `${modelTitle(c)} (local)` : modelTitle(c));

// set: changes the query; `clear`: what another choice makes meaningless.
export const CellPicker = ({ chosen: c, set, clear }) => html`
  <${Select} label="Problem" value=${c.problem} options=${c.problems.map((p) => [p, problemTitle(p)])}
    onChange=${(v) => set({ ...clear, problem: v, workload: '' })} />
  <${Select} label="Device" value=${c.device} options=${c.devices.map((d) => [d, deviceTitle(d)])}
    onChange=${(v) => set({ ...clear, device: v })} />
  <${Select} label="Workload" value=${c.workload} options=${c.workloads}
    onChange=${(v) => set({ ...clear, workload: v })} />`;

export const NO_TURNS = html`No turns yet. <code>ptxbench import published FOLDER</code> takes the paper’s in; agent
  runs add local ones.`;
