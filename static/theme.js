// SPDX-License-Identifier: Apache-2.0
// Runs before the first paint, so that a chosen theme does not flash: '' follows the system.
document.documentElement.dataset.theme = localStorage.getItem('theme') || '';
