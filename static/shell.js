// SPDX-License-Identifier: Apache-2.0
// Around every view: header, navigation, theme, the state of the queue; loads the view that the address names.
import { html, render, useEffect, useErrorBoundary, useRef, useState } from './vendor/preact.js';
import { useData } from './api.js';
import { findView, navigate, setViews, useLocation } from './router.js';
import { Loading, Notice, TokenField } from './ui.js';

const uuid = '([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})';
setViews([
  [/^\/$/, 'Board', () => import('./views/home.js')],
  [/^\/fast-p$/, 'Fast_p', () => import('./views/fast_p.js')],
  [/^\/turns$/, 'Turns of models', () => import('./views/model_turns.js')],
  [/^\/tables$/, 'Tables', () => import('./views/tables.js')],
  [/^\/submissions$/, 'Submissions', () => import('./views/submissions.js')],
  [new RegExp(`^/submissions/${uuid}$`), 'Submission', () => import('./views/submission.js')],
  [new RegExp(`^/submissions/${uuid}/diff/${uuid}$`), 'Diff', () => import('./views/diff.js')],
  [/^\/runs$/, 'Runs', () => import('./views/runs.js')],
  [/^\/runs\/new$/, 'Start a run', () => import('./views/run_new.js')],
  [new RegExp(`^/runs/${uuid}$`), 'Run', () => import('./views/run.js')],
  [new RegExp(`^/runs/${uuid}/trajectories/([0-9]+)$`), 'Trajectory', () => import('./views/trajectory.js')],
  [/^\/submit$/, 'Submit', () => import('./views/submit.js')],
  [/^\/problems$/, 'Problems', () => import('./views/problems.js')],
  [/^\/problems\/([a-z0-9_]+)$/, 'Problem', () => import('./views/problem.js')],
  [/^\/system$/, 'System', () => import('./views/system.js')],
]);

const navigation = [
  ['/', 'Board'],
  ['/fast-p', html`<span>Fast<sub>p</sub></span>`],
  ['/turns', 'Turns'],
  ['/tables', 'Tables'],
  ['/submissions', 'Submissions'],
  ['/runs', 'Runs'],
  ['/problems', 'Problems'],
  ['/submit', 'Submit'],
  ['/system', 'System'],
];

// Automatic, light, dark: kept in this browser.
function Theme() {
  const [theme, set] = useState(document.documentElement.dataset.theme || '');
  const change = (value) => {
    set(value);
    localStorage.setItem('theme', value);
    document.documentElement.dataset.theme = value;
    dispatchEvent(new Event('themechange'));
  };
  return html`<label class="theme"><span class="hidden">Theme</span>
    <select value=${theme} onChange=${(e) => change(e.target.value)}>
      <option value="">Auto</option><option value="light">Light</option><option value="dark">Dark</option></select>
        </label>`;
}

function QueueState() {
  const { data, error } = useData('/v1/queue', { every: 10000 });
  const sum = (name) => data.lanes.reduce((n, l) => n + l[name], 0);
  if (error) return html`<a href="/system" class="lanes bad">server not reachable</a>`;
  return html`<a href="/system" class="lanes">
    ${data ? `${sum('queued')} waiting · ${sum('running')} running` : ''}</a>`;
}

function Header({ path }) {
  const here = (to) => (to === '/' ? path === '/' : path === to || path.startsWith(`${to}/`));
  return html`<header><a class="brand" href="/">PTXBench</a>
    <nav aria-label="Pages">${navigation.map(([to, text]) => html`<a href=${to}
      aria-current=${here(to) ? 'page' : undefined}>${text}</a>`)}</nav>
    <span class="end"><${QueueState} /><${Theme} /></span></header>`;
}

function Footer() {
  const { data } = useData('/version');
  return html`<footer><a href="/v1">API</a><a href="/v1/openapi.json">OpenAPI</a><a href="/board">Plain board</a>
    <span>${data ? `PTXBench ${data.version}` : ''}</span>
    <details><summary>Access token</summary><${TokenField} /></details></footer>`;
}

// The module of a view is fetched when it is first wanted; until then the last view stays.
function View({ path }) {
  const [shown, show] = useState(null);
  const found = findView(path);
  useEffect(() => {
    let current = true;
    found?.load().then(
      (m) => current && show({ path, view: m.default, captures: found.captures }),
      (error) => current && show({ path, error }),
    );
    return () => {
      current = false;
    };
  }, [path]);
  useEffect(() => {
    document.title = path === '/' ? 'PTXBench' : `${found?.title || 'Not found'} · PTXBench`;
  }, [path]);
  const first = useRef(true);
  useEffect(() => {
    if (!first.current && shown?.path === path) document.querySelector('main').focus({ preventScroll: true });
    if (shown?.path === path) first.current = false;
  }, [shown?.path, path]);
  if (!found) return html`<h1>There is no such page</h1><p><a href="/">The board</a> is a good place to begin.</p>`;
  if (shown?.error) return html`<h1>${found.title}</h1><${Notice} error=${shown.error} />`;
  if (!shown) return html`<${First} path=${path} />`;
  return html`<${Guard} key=${shown.path} title=${found.title}><${shown.view} captures=${shown.captures} /><//>`;
}

// What a view cannot show must not take the page with it.
function Guard({ title, children }) {
  const [error] = useErrorBoundary();
  if (!error) return children;
  return html`<h1>${title}</h1><${Notice} error=${{ message: `this cannot be shown: ${error.message}` }} />`;
}

const question = 'Can a model write Hopper and Blackwell PTX as fast as the vendor’s library?';
const First = ({ path }) =>
  path === '/' ? html`<h1 class="question">${question}</h1><${Loading} />` : html`<${Loading} />`;

function Page() {
  const { path } = useLocation();
  useEffect(() => {
    // old addresses kept their state behind the hash
    if (location.hash.startsWith('#/')) navigate(location.hash.slice(1), { replace: true });
  }, []);
  return html`<a class="skip" href="#main" onClick=${(e) => {
    e.preventDefault();
    document.getElementById('main').focus();
  }}>Skip to content</a>
    <${Header} path=${path} /><main id="main" tabindex="-1"><${View} path=${path} /></main><${Footer} />`;
}

export function start(at) {
  at.replaceChildren();
  render(html`<${Page} />`, at);
}
