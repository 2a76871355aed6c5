// SPDX-License-Identifier: Apache-2.0
// Talks to /v1: one place for the token, for errors, for asking again, and for the one event stream of a page.
import { useCallback, useEffect, useRef, useState } from './vendor/preact.js';

export const token = {
  get: () => sessionStorage.getItem('token') || '',
  set: (text) => (text ? sessionStorage.setItem('token', text) : sessionStorage.removeItem('token')),
};

const headers = (more) => ({ ...(token.get() ? { Authorization: `Bearer ${token.get()}` } : {}), ...more });

// An answer that is not 2xx, or none at all (status 0). `faults`: every fault of a submission, with its path.
class ApiError extends Error {
  constructor(message, status, body) {
    super(message);
    this.status = status;
    this.code = body?.code;
    this.faults = body?.errors || [];
  }
}

export async function call(path, { method = 'GET', body, text = false, signal } = {}) {
  const options = {
    method,
    signal,
    headers: headers({
      Accept: text ? '*/*' : 'application/json',
      ...(body ? { 'Content-Type': 'application/json' } : {}),
    }),
    body: body && JSON.stringify(body),
  };
  const answer = await fetch(path, options).catch((e) => {
    throw e.name === 'AbortError' ? e : new ApiError('the server cannot be reached', 0);
  });
  if (answer.ok) return text ? answer.text() : answer.json();
  const problem = await answer.json().catch(() => null);
  throw new ApiError(problem?.detail || `the server answered ${answer.status}`, answer.status, problem);
}

export const exists = async (path) => (await fetch(path, { method: 'HEAD', headers: headers() })).ok;

// A file under its own name; through fetch, because a link cannot carry a token.
export async function download(path, name) {
  const answer = await fetch(path, { headers: headers() }).catch(() => {
    throw new ApiError('the server cannot be reached', 0);
  });
  if (!answer.ok) throw new ApiError(`there is no ${name}`, answer.status);
  save(await answer.blob(), name);
}

export function save(blob, name) {
  const a = Object.assign(document.createElement('a'), { href: URL.createObjectURL(blob), download: name });
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10000);
}

// Repeats `work` every `ms` while the page can be seen; returns how to stop.
function repeat(work, ms) {
  let timer = 0,
    stopped = false;
  const round = async () => {
    clearTimeout(timer);
    if (!document.hidden) await work();
    if (!stopped && ms) timer = setTimeout(round, ms);
  };
  const seen = () => !document.hidden && round();
  document.addEventListener('visibilitychange', seen);
  round();
  return () => {
    stopped = true;
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', seen);
  };
}

// Documents that a view shows: {data, error, at}. `paths` null: nothing to ask yet. On an error the last data
// stays, and the view says since when. `every` ms: asks again.
export function useData(paths, { every = 0 } = {}) {
  const list = paths === null ? null : [paths].flat();
  const key = list?.join(' ');
  const [state, set] = useState({});
  const current = useRef(key);
  current.current = key;
  const reload = useCallback(async () => {
    if (!list) return;
    try {
      const got = await Promise.all(list.map((p) => call(p)));
      if (current.current === key) set({ key, data: Array.isArray(paths) ? got : got[0], at: Date.now() });
    } catch (error) {
      if (current.current === key) set((was) => ({ ...(was.key === key ? was : {}), key, error }));
    }
  }, [key]);
  useEffect(() => (list ? repeat(reload, every) : undefined), [key, every]);
  return { ...(state.key === key ? state : {}), reload };
}

// ---- events ----

// Splits what a stream sends into events; feed(text) calls take({id, event, data}) for each whole one.
export function eventReader(take) {
  let rest = '';
  return (text) => {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) {
      const event = { event: 'message', data: '' };
      for (const line of block.split('\n')) {
        const at = line.indexOf(': ');
        if (at > 0) event[line.slice(0, at)] = line.slice(at + 2);
      }
      if (event.data) take({ ...event, data: JSON.parse(event.data) });
    }
  };
}

// Follows the events at an address until the caller stops it: changed(kind, data) for each, connected(bool) for the
// line. It begins behind event `after`, and goes on where it was after a lost connection and after the page was hidden,
// during which it is closed.
export function follow(path, changed, connected = () => {}, after = '') {
  let last = after,
    ended = false,
    failures = 0,
    timer = 0,
    abort = null,
    complete = false;
  const take = ({ id: seq, event, data }) => {
    last = seq || last;
    failures = 0;
    connected(true);
    complete = event === 'state' && data.state === 'done'; // the server ends the stream then
    changed(event, data);
  };
  const open = async () => {
    clearTimeout(timer);
    if (abort || ended || document.hidden) return;
    const mine = (abort = new AbortController());
    try {
      const answer = await fetch(path, {
        signal: mine.signal,
        headers: headers({ Accept: 'text/event-stream', ...(last ? { 'Last-Event-ID': last } : {}) }),
      });
      if (!answer.ok) throw new ApiError('no stream', answer.status);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      const feed = eventReader(take);
      connected(true);
      for (let part = await reader.read(); !part.done; part = await reader.read()) feed(part.value);
    } catch {
      /* closed by us, or lost: both are handled below */
    }
    if (abort === mine) abort = null;
    if (ended || document.hidden) return;
    connected(complete);
    timer = setTimeout(open, Math.min(10000, 500 * 2 ** failures++));
  };
  const close = () => {
    abort?.abort();
    abort = null;
  };
  const seen = () => (document.hidden ? close() : open());
  const stop = () => {
    ended = true;
    clearTimeout(timer);
    close();
    document.removeEventListener('visibilitychange', seen);
  };
  document.addEventListener('visibilitychange', seen);
  open();
  return stop;
}
