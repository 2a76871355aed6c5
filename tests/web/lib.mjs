// SPDX-License-Identifier: Apache-2.0
// For journeys.mjs: TAP, a browser, axe, SQL, and a server that can be stopped and started.
import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';

export const { URL: base, BIN, ROOT, OUT, TMP, DATABASE, PORT, CHROMIUM } = process.env;
const run = promisify(execFile);
const TIMEOUT = Number(process.env.WEB_TIMEOUT) || 20000;

// ---- TAP ----

let count = 0, failed = 0;
export const figures = {};

export function say(text) {
  process.stdout.write(`${String(text).split('\n').map((l) => `# ${l}`).join('\n')}\n`);
}

export async function test(name, work) {
  const only = process.env.WEB_ONLY;
  if (only && !name.includes(only)) return;
  count++;
  try {
    await work();
    process.stdout.write(`ok ${count} - ${name}\n`);
  } catch (e) {
    failed++;
    process.stdout.write(`not ok ${count} - ${name}\n`);
    say(e.stack || e);
  }
}

export const passed = () => count - failed;

export function done() {
  for (const [name, [value, unit]] of Object.entries(figures)) say(`${name} ${value} ${unit}`);
  process.stdout.write(`1..${count}\n`);
  return failed ? 1 : 0;
}

export const sleep = (ms) => new Promise((r) => setTimeout(r, ms));

// Repeats until work() is true; what it last gave is in the error.
export async function until(what, work, ms = TIMEOUT) {
  let last;
  for (const end = Date.now() + ms; Date.now() < end; await sleep(100)) {
    last = await work();
    if (last === true) return;
  }
  throw new Error(`${what}: not within ${ms} ms, last ${JSON.stringify(last)}`);
}

// ---- the service ----

export async function sql(statement) {
  const { stdout } = await run('psql', ['-qXAt', '-v', 'ON_ERROR_STOP=1', DATABASE, '-c', statement]);
  return stdout.trim();
}

export const cli = (...args) => run(`${BIN}/ptxbench`, args, { env: { ...process.env, PTXBENCH_DATABASE: DATABASE } });

export async function api(path, options) {
  const answer = await fetch(base + path, options);
  return answer.json();
}

let server = Number(process.env.SERVER_PID), child = null;

export function stopServer() {
  process.kill(server, 'SIGKILL');
  server = 0;
}

export async function startServer() {
  child = spawn(`${BIN}/ptxbench-server`, ['--database', DATABASE, '--port', PORT, '--queued-limit', '5000'], { stdio: 'ignore' });
  server = child.pid;
  await until('the server is ready', () => fetch(`${base}/readyz`).then((a) => a.ok, () => false));
}

// ---- the browser ----

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
let browser = null;
// What no page may do: run what is foreign, break its own rules, throw.
export const faults = [];

export async function openBrowser() {
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--headless', '--disable-gpu'] });
}

export async function closeBrowser() {
  await browser?.close();
  child?.kill();
}

// A page of its own context; options are those of a context. Whatever it complains of is kept in faults.
export async function newPage(options = {}) {
  const context = await browser.newContext({ baseURL: base, viewport: { width: 1200, height: 900 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT);
  page.on('pageerror', (e) => faults.push(`${page.url()}: ${e.message}`));
  page.on('console', (m) => {
    if (/Content Security Policy|Refused to/.test(m.text())) faults.push(`${page.url()}: ${m.text()}`);
  });
  page.on('dialog', (d) => {
    faults.push(`${page.url()}: dialog ${d.message()}`);
    d.dismiss();
  });
  return page;
}

export async function withPage(work, options) {
  const page = await newPage(options);
  try {
    return await work(page);
  } finally {
    await page.context().close();
  }
}

// Opens an address and waits until its view has what it loads.
export async function open(page, path) {
  await page.goto(path);
  await settled(page);
}

export async function settled(page) {
  await page.waitForSelector('main h1');
  // waitForFunction would want eval, which the page forbids
  await until('the view is loaded', () => page.evaluate(() => !document.querySelector('main .loading')));
}

export const shot = (page, name, fullPage = true) => page.screenshot({ path: `${OUT}/${name}.png`, fullPage });
export const text = (page, selector) => page.locator(selector).first().innerText();
export const rowsOf = (page, section) => page.locator(`${section} tbody tr`).count();

// The violations that axe finds, as lines.
export async function axe(page) {
  await page.evaluate(axeSource);
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.flatMap((v) => v.nodes.slice(0, 3).map((n) => `${v.id}: ${n.target.join(' ')}: ${n.failureSummary?.split('\n').slice(1).join(' ').trim()}`));
  });
}

export const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

export async function downloaded(page, click) {
  const [file] = await Promise.all([page.waitForEvent('download'), click()]);
  return readFileSync(await file.path(), 'utf8');
}
