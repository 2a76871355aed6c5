// SPDX-License-Identifier: Apache-2.0
// The address is the state: views read it, links and pickers write it, back and forward just work.
import { useEffect, useState } from './vendor/preact.js';

const listeners = new Set();
const tell = () => listeners.forEach((f) => f());
addEventListener('popstate', tell);

export function navigate(to, { replace = false } = {}) {
  if (to === location.pathname + location.search) return;
  history[replace ? 'replaceState' : 'pushState'](null, '', to);
  if (!replace) scrollTo(0, 0);
  tell();
}

// Plain clicks on links into the page stay in the page; everything else is the browser's.
addEventListener('click', (e) => {
  const a = e.target.closest?.('a[href]');
  if (!a || e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
  if (a.origin !== location.origin || a.target || a.hasAttribute('download') || !isView(a.pathname)) return;
  if (a.pathname + a.search === location.pathname + location.search && a.hash) return;
  e.preventDefault();
  navigate(a.pathname + a.search + a.hash);
});

let views = [];
const isView = (path) => views.some(([pattern]) => pattern.test(path));

// [[pattern, title, load]]: load() imports the module of a view, whose default export is the component.
export function setViews(list) {
  views = list;
}

export function findView(path) {
  for (const [pattern, title, load] of views) {
    const match = pattern.exec(path);
    if (match) return { title, load, captures: match.slice(1) };
  }
  return null;
}

export function useLocation() {
  const [, again] = useState(0);
  useEffect(() => {
    const f = () => again((n) => n + 1);
    listeners.add(f);
    return () => listeners.delete(f);
  }, []);
  return { path: location.pathname, search: location.search };
}

// The title of the window, once there is a text.
export function useTitle(text) {
  useEffect(() => {
    if (text) document.title = `${text} · PTXBench`;
  }, [text]);
}

// Appends what is set: link('/', {a: 1, b: ''}) is "/?a=1".
export function link(path, query) {
  const set = Object.entries(query).filter(([, v]) => v !== undefined && v !== null && v !== '');
  return set.length ? `${path}?${new URLSearchParams(set)}` : path;
}

// The query as an object, and a function that changes some of it.
export function useQuery() {
  const { path, search } = useLocation();
  const query = Object.fromEntries(new URLSearchParams(search));
  return [query, (change, options) => navigate(link(path, { ...query, ...change }), options)];
}
