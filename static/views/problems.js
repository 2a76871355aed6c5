// SPDX-License-Identifier: Apache-2.0
// What can be solved here.
import { useData } from '../api.js';
import { number, problemTitle } from '../format.js';
import { html, Load, Table } from '../ui.js';

const columns = [
  {
    head: 'Problem',
    csv: 'name',
    value: (p) => p.name,
    cell: (p) => html`<a href=${`/problems/${p.name}`}>${problemTitle(p.name)}</a>`,
  },
  { head: 'What', cls: 'wide', value: (p) => p.title },
  { head: 'Workloads', num: true, value: (p) => p.workloads, cell: (p) => number(p.workloads) },
  { head: 'The paper’s', csv: 'default_workload', cls: 'wide-only', value: (p) => p.default_workload },
  { head: 'On cpu', csv: 'cpu_workload', cls: 'wide-only', value: (p) => p.cpu_workload },
];

export default function Problems() {
  const answer = useData('/v1/problems');
  return html`<h1>Problems</h1><${Load} of=${answer}>${({ items }) => html`<${Table} name="Problems" columns=${columns}
    rows=${items} />`}<//>`;
}
