// SPDX-License-Identifier: Apache-2.0
// What people do with the page, each journey one test. Started by web.t.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { TMP, api, axe, cli, closeBrowser, done, downloaded, faults, figures, open, openBrowser, overflow, passed, rowsOf,
  settled, shot, sleep, sql, startServer, stopServer, test, text, until, withPage } from './lib.mjs';
import { boardJourneys } from './boards.mjs';
import { runJourneys, runPages } from './runs.mjs';
import { doorJourneys, turnJourneys } from './turns.mjs';

const labelled = async (label) => (await api(`/v1/submissions?limit=10&label=${encodeURIComponent(label)}`)).items[0];
const seeded = { whole: 'whole report', hostile: '<img src=x onerror="window.hacked=1">', formula: '=HYPERLINK("http://evil.example","click")' };

await openBrowser();

await test('a first visit: the question, the published results, painted within a second, small', () => withPage(async (page) => {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Network.enable');
  let bytes = 0;
  cdp.on('Network.loadingFinished', (e) => { bytes += e.encodedDataLength; });
  await open(page, '/?device=NVIDIA+H100+80GB+HBM3');
  await page.waitForSelector('#board tbody tr');
  await page.waitForLoadState('networkidle');
  assert.match(await text(page, 'h1'), /as fast as the vendor’s library\?/);
  assert.ok(await page.locator('.dots .dot').count() >= 20, 'dots of published models');
  assert.match(await text(page, '#board tbody'), /Claude Opus 4\.8/);
  assert.match(await text(page, '#board tbody'), /published/);
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
  figures['web.first_paint_ms'] = [Math.round(paint), 'ms'];
  figures['board.first_view_kib'] = [(bytes / 1024).toFixed(1), 'KiB'];
  assert.ok(bytes <= 150 * 1024, `${bytes} bytes`);
  assert.ok(paint < 1000, `first contentful paint after ${paint} ms`);
  await shot(page, 'home-fresh');
}));

await test('import: turns come in, Fast_p and the tables show them', async () => {
  mkdirSync(`${TMP}/turns`, { recursive: true });
  const turns = ['model,gpu,definition,run,trajectory,turn,reasoning_tokens,outcome,speedup,target_instruction'];
  // 12 trajectories of 8 turns, four of each of three prompt variants; correct in variant v: v + 1 of the first 4 turns.
  for (let t = 0; t < 12; t++)
    for (let n = 0; n < 8; n++) {
      const correct = n < 4 && n <= Math.floor(t / 4);
      turns.push(`New Model,H100,gemm_n7168_k5120,run,${t},${n},100,${correct ? `Correct,${0.5 + 0.05 * n},${t % 2}` : 'Runtime error,,'}`);
    }
  writeFileSync(`${TMP}/turns/published_turns.csv`, `${turns.join('\n')}\n`);
  await cli('import', 'published', `${TMP}/turns`);
  await withPage(async (page) => {
    await open(page, '/fast-p?problem=gemm');
    await page.waitForSelector('canvas');
    assert.equal(await page.locator('figure canvas').count(), 2);
    const rows = page.locator('main tbody tr');
    // 24 of 96 turns are correct, half of them with target instructions
    assert.match(await rows.nth(0).innerText(), /New Model\s+correct\s+25\.0 %/);
    assert.match(await rows.nth(1).innerText(), /12\.5 %/);
    await shot(page, 'fast_p');
    const plot = await page.locator('figure .u-over').first().boundingBox();
    await page.mouse.move(plot.x + plot.width * 0.52 / 1.05, plot.y + 20);
    await until('what the curves say there stands below', async () =>
      /p = 0\.52: New Model 12\.5 %$/.test(await text(page, '.readout')));
    await page.getByText('T = 1', { exact: true }).click();
    await until('T is in the address', () => new URL(page.url()).searchParams.get('turns') === '1');
    await until('all 12 of 12 first turns are correct', async () => /100\.0 %/.test(await rows.nth(0).innerText()));
    await page.getByRole('checkbox', { name: 'New Model' }).uncheck();
    await page.waitForSelector('text=Choose a model above');
    await page.goBack();
    await open(page, '/');
    await until('the board has the new model', async () => /New Model/.test(await text(page, '#board tbody')));
  });
});

await turnJourneys();

await test('live: an example is opened, validated, submitted, followed to its verdict', () => withPage(async (page) => {
  await open(page, '/submit?device=cpu');
  await page.getByLabel('Begin with an example').selectOption('naive.ptx');
  await until('the example is there', async () => /ptxbench-launch/.test(await page.getByLabel('Source', { exact: true }).inputValue()));
  await page.getByRole('button', { name: 'Check the plan only' }).click();
  await page.waitForSelector('text=Valid, for the lane sm_90a/cpu');
  await page.getByLabel('Label, shown on the board').fill('by the browser');
  await page.getByRole('button', { name: 'Submit' }).click();
  await page.waitForURL(/\/submissions\/[0-9a-f-]{36}$/);
  await page.waitForSelector('ol.stages');
  await shot(page, 'submission-live');
  await page.waitForSelector('.verdict.big >> text=PASSED', { timeout: 90000 });
  await page.waitForSelector('#accuracy tbody tr');
  assert.match(await text(page, 'ol.stages'), /check\s+passed/);
  assert.match(await text(page, '.source'), /\.visible \.entry/);
  await shot(page, 'submission-cpu');
}));

await test('validation on demand says every fault and leads to it', () => withPage(async (page) => {
  await open(page, '/submit');
  await page.getByLabel('Source', { exact: true }).fill('/*ptxbench-launch\n{"launches": [{"kernel": "k", "grid": ["Q"], "block": [5000], "args": [{"tensor": "Z"}]}]}\n*/\n__global__ void k() {}');
  await page.getByRole('button', { name: 'Check the plan only' }).click();
  await page.waitForSelector('.notice[role=alert] li');
  const faultsShown = await page.locator('.notice li').allInnerTexts();
  assert.ok(faultsShown.length >= 3, faultsShown.join('\n'));
  await page.locator('.notice li button', { hasText: 'grid' }).first().click();
  assert.equal(await page.evaluate(() => { const t = document.activeElement; return t.value.slice(t.selectionStart, t.selectionEnd); }), '"grid"');
  await shot(page, 'submit-faults');
}));

await test('a deep link shows what it says; pickers write the address; back works', () => withPage(async (page) => {
  await open(page, '/?problem=mha_bwd&arch=sm_100a');
  assert.equal(await page.getByRole('combobox', { name: 'Problem' }).inputValue(), 'mha_bwd');
  assert.match(await text(page, '#board h2'), /MHA-Bwd s4096_d128 on sm_100a/);
  await until('its rows', async () => /Claude Opus/.test(await text(page, '#board tbody')));
  await page.getByRole('combobox', { name: 'Architecture' }).selectOption('sm_90a');
  await until('the address follows', () => page.url().includes('arch=sm_90a'));
  await page.getByRole('link', { name: 'System' }).click();
  await page.waitForSelector('h1:text("System")');
  await page.goBack();
  await page.waitForSelector('#board');
  await page.goBack();
  await until('back to the first choice', async () => /sm_100a/.test(await text(page, '#board h2')));
  await page.goForward();
  await until('and forward', async () => /sm_90a/.test(await text(page, '#board h2')));
}));

await test('dark follows the system, and a choice is kept', () => withPage(async (page) => {
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await open(page, '/');
  assert.equal(await ground(), 'rgb(20, 23, 28)');
  await page.waitForSelector('#board tbody tr');
  await shot(page, 'home-dark', false);
  await page.getByLabel('Theme').selectOption('light');
  assert.equal(await ground(), 'rgb(255, 255, 255)');
  await page.reload();
  await settled(page);
  assert.equal(await ground(), 'rgb(255, 255, 255)');
}, { colorScheme: 'dark' }));

await test('the whole report of a GPU: interval, histogram, roofline, instructions, findings at their lines', () => withPage(async (page) => {
  const { id } = await labelled(seeded.whole);
  await open(page, `/submissions/${id}`);
  await until('two charts', async () => (await page.locator('figure canvas').count()) === 2);
  assert.match(await text(page, 'dd.big'), /1\.043×/);
  const all = await text(page, 'main');
  for (const shown of [/1\.036× to 1\.049×/, /cuBLAS 13\.1: 866\.4 µs/, /723\.9 TFLOP\/s/, /73,400,320/, /99\.8 %/, /1,755 \/ 1,785 \/ 1,980 MHz/, /sw_power_cap 34\.0 %/,
    /reduce<float, 4>/, /noisy/, /from 0\.900× to 1\.100×/, /candidate 723\.\d TFLOP\/s of 1,\d+ TFLOP\/s; 2,189 FLOP per byte/])
    assert.match(all, shown);
  assert.match(await page.locator('#L4 + .note').innerText(), /C7510: wgmma is serialized/);
  assert.match(await page.locator('#L7 + .note').innerText(), /16 bytes past its end/);
  await page.getByRole('link', { name: '7', exact: true }).click();
  assert.ok(page.url().endsWith('#L7'));
  const report = JSON.parse(await downloaded(page, () => page.getByRole('button', { name: 'report' }).click()));
  assert.equal(report.candidate_us, 830.7);
  await shot(page, 'submission-gpu');
}));

await test('a report that holds nothing is shown as far as it goes', () => withPage(async (page) => {
  const { id } = await labelled(seeded.formula);
  await open(page, `/submissions/${id}`);
  await page.waitForSelector('#environment');
  assert.match(await text(page, 'dd.big'), /0\.850×/);
  assert.match(await page.title(), /HYPERLINK.* · PTXBench/);
}));

await test('hostile names, sources and logs are text', () => withPage(async (page) => {
  const { id } = await labelled(seeded.hostile);
  await open(page, '/');
  await until('the name stands there', async () => (await text(page, '#board tbody')).includes(seeded.hostile));
  await open(page, `/submissions/${id}`);
  await page.waitForSelector('.source li');
  await page.getByText('Log', { exact: true }).click();
  assert.match(await text(page, 'pre'), /<script>window\.hacked = 1<\/script>/);
  assert.ok((await text(page, '.source')).includes('</pre><script>window.hacked = 1</script>'));
  assert.equal(await text(page, 'h1'), seeded.hostile);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator('main img, main script, main svg[onload]').count(), 0);
  assert.ok(await overflow(page) <= 0, 'long lines stay in their boxes');
  await open(page, '/submissions');
  assert.equal(await page.evaluate(() => window.hacked), undefined);
}));

await test('a board of 1,000 entries', () => withPage(async (page) => {
  const began = Date.now();
  await open(page, '/?device=NVIDIA+H200');
  await until('100 rows at first', async () => (await rowsOf(page, '#board')) === 100);
  await page.getByRole('button', { name: 'Show all entries' }).click();
  await until('1,000 rows', async () => (await rowsOf(page, '#board')) === 1000);
  const ms = Date.now() - began;
  figures['web.board_1000_ms'] = [ms, 'ms'];
  assert.ok(ms < 15000, `${ms} ms`);
  assert.match(await page.locator('#board tbody tr').first().innerText(), /^1\s+whole report[^]*99\.8 % tensor/);
  assert.match(await text(page, '#board'), /speedup over cuBLAS 13\.1 \(866\.4 µs beside them\)/);
  // entries whose intervals meet share a rank
  assert.equal(await page.locator('#board tbody tr').nth(5).locator('td').first().innerText(), await page.locator('#board tbody tr').nth(4).locator('td').first().innerText());
}));

await test('CSV: what the board shows, formulas made harmless', () => withPage(async (page) => {
  await open(page, '/?device=NVIDIA+H200&all=1');
  await until('the rows', async () => (await rowsOf(page, '#board')) === 1000);
  const lines = (await downloaded(page, () => page.locator('#board').getByRole('button', { name: /CSV/ }).click())).split('\r\n');
  assert.match(lines[0], /^rank,Who,speedup,ci95_low,ci95_high,ms,/);
  assert.equal(lines.length, 1002);
  assert.match(lines[1], /^1,whole report,1\.043,1\.036,1\.049,0\.8307,723\.84\d*,executed,0\.998,/);
  assert.match(lines[0], /,attempts,baseline,baseline_us$/);
  assert.match(lines[1], /,1,cuBLAS 13\.1,866\.4$/);
  const formula = lines.find((l) => l.includes('HYPERLINK'));
  assert.match(formula, /^\d+,"'=HYPERLINK\(""http:\/\/evil\.example"",""click""\)"/);
}));

await test('the difference of two submissions: every number, and the source by line', () => withPage(async (page) => {
  const whole = await labelled(seeded.whole), hostile = await labelled(seeded.hostile);
  await open(page, `/submissions/${whole.id}`);
  await page.getByRole('button', { name: 'Compare …' }).click();
  await page.getByLabel('or its address').fill(`http://localhost/submissions/${hostile.id}`);
  await page.waitForURL(`**/submissions/${whole.id}/diff/${hostile.id}`);
  await page.waitForSelector('#numbers tbody tr');
  const numbers = await text(page, '#numbers');
  assert.match(numbers, /kernels\.split\.registers\s+168\s+–/);
  const before = await rowsOf(page, '#numbers');
  await page.getByText('every number').click();
  await until('more rows', async () => (await rowsOf(page, '#numbers')) > before);
  await page.waitForSelector('.source .remove');
  assert.equal(await page.locator('.source .add').count() > 0, true);
  await shot(page, 'diff');
}));

// A submission for a device that only this test plays.
async function queued(label) {
  const id = await sql(`SELECT id FROM submission_create(gen_random_uuid(), 0, '{}', convert_to('x', 'UTF8'), 'gemm', 'small', 'sm_100a',
    'cuda', 'b200', 'rank', '${label}', NULL, 'public', 1, 300, 1000000, NULL, NULL)`);
  return id.split('\n')[0];
}
const claim = () => sql(`SELECT id || ',' || attempt FROM job_claim_evaluation('web', '{sm_100a/b200}', interval '1 hour')`);
const event = (job, data) => sql(`SELECT job_event(${job}, '${data.kind}', '${JSON.stringify(data)}')`);
const deliver = (job) => sql(`WITH r AS (SELECT result_blob(${job}, 'report', '{"schema": 1, "verdict": "PASSED", "epoch": 1,
    "stages": [{"name": "compile", "state": "passed", "wall_ms": 1}]}') AS sha)
  SELECT result_deliver(${job}, json_build_object('verdict', 'PASSED', 'flags', 0, 'epoch', 1, 'device_model', 'NVIDIA B200', 'wall_ms', 5,
    'report_sha', sha::text), false, false) FROM r`);

await test('the server restarts while a submission is followed, and the page goes on', () => withPage(async (page) => {
  const id = await queued('through a restart');
  await open(page, `/submissions/${id}`);
  await page.waitForSelector('.verdict.big >> text=queued');
  const job = await claim();
  await event(job, { kind: 'stage', stage: 'compile', state: 'started' });
  await page.waitForSelector('ol.stages .started >> text=compile');
  stopServer();
  await page.waitForSelector('text=The connection is lost');
  await shot(page, 'submission-lost', false);
  await event(job, { kind: 'stage', stage: 'compile', state: 'passed', wall_ms: 7 });
  await startServer();
  await page.waitForSelector('ol.stages .passed >> text=compile', { timeout: 30000 });
  assert.equal(await page.getByText('The connection is lost').count(), 0);
  await deliver(job);
  await page.waitForSelector('.verdict.big >> text=PASSED');
}));

await test('one stream per page, closed while it is hidden, and nothing missed', () => withPage(async (page) => {
  const streams = [];
  page.on('request', (r) => { if (r.url().endsWith('/events')) streams.push(r); });
  let ended = 0;
  page.on('requestfailed', (r) => { if (r.url().endsWith('/events')) ended++; });
  const id = await queued('hidden');
  await open(page, `/submissions/${id}`);
  await until('one stream', () => streams.length === 1);
  const hide = (hidden) => page.evaluate((h) => {
    Object.defineProperty(document, 'hidden', { value: h, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
  const job = await claim();
  await page.waitForSelector('.verdict.big >> text=running');
  await hide(true);
  await until('closed', () => ended === 1);
  await event(job, { kind: 'stage', stage: 'compile', state: 'passed', wall_ms: 7 });
  await hide(false);
  await page.waitForSelector('ol.stages .passed >> text=compile');
  assert.equal(streams.length, 2);
  assert.ok(Number(await streams[1].headerValue('last-event-id')) >= 1);
  await deliver(job);
  await page.waitForSelector('.verdict.big >> text=PASSED');
}));

await test('cancel and run again', () => withPage(async (page) => {
  const id = await queued('to cancel');
  await open(page, `/submissions/${id}`);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.waitForSelector('.verdict.big >> text=CANCELLED');
  await page.getByRole('button', { name: 'Run again' }).click();
  await page.waitForSelector('.verdict.big >> text=queued');
  const job = await claim();
  await deliver(job);
  await page.waitForSelector('.verdict.big >> text=PASSED');
  assert.match(await text(page, 'dl.facts'), /Evaluations\s+2/);
}));

await boardJourneys();
await runJourneys();

await test('by keyboard alone: skip link, navigation, pickers, the editor', () => withPage(async (page) => {
  const focus = () => page.evaluate(() => document.activeElement.textContent.trim().slice(0, 40) || document.activeElement.tagName);
  await open(page, '/');
  await page.waitForSelector('#board tbody tr');
  await page.keyboard.press('Tab');
  assert.equal(await focus(), 'Skip to content');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.closest('label')?.firstChild.textContent.trim()), 'Problem');
  await page.keyboard.type('MHA-F');
  await until('typing chooses', () => page.url().includes('problem=mha_fwd'));
  for (let i = 0; i < 60 && (await focus()) !== 'MHA-Bwd'; i++) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await until('a name in the chart chooses', () => page.url().includes('problem=mha_bwd'));
  const ring = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(ring, 'solid', 'the focus can be seen');
  await page.goto('/submit');
  await settled(page);
  await page.getByLabel('Source', { exact: true }).focus();
  await page.keyboard.type('not a kernel');
  await page.keyboard.press('Control+Enter');
  await page.waitForSelector('.notice[role=alert]');
}));

await test('without a network the last data stays and says so; it comes back by itself', () => withPage(async (page) => {
  await open(page, '/system');
  await page.waitForSelector('#workers tbody tr');
  await page.context().setOffline(true);
  await page.waitForSelector('text=the server cannot be reached; this is from', { timeout: 15000 });
  assert.ok(await rowsOf(page, '#workers') > 0);
  await shot(page, 'system-offline', false);
  await page.context().setOffline(false);
  await until('back', async () => (await page.getByText('cannot be reached').count()) === 0, 15000);
}));

await test('the system page tells of a device what it tells, and fits', () => withPage(async (page) => {
  await open(page, '/system');
  await page.waitForSelector('#workers tbody tr');
  assert.match(await text(page, '#workers'), /58 °C\s+655 W\s+1,755 MHz\s+memory 3,201 MHz\s+sw_power_cap\s+0 ECC errors/);
  assert.ok(await page.evaluate(() => { const t = document.querySelector('#workers .scroll'); return t.scrollWidth <= t.clientWidth; }), 'nothing is cut off');
  const lines = (await downloaded(page, () => page.locator('#workers').getByRole('button', { name: /CSV/ }).click())).split('\r\n');
  assert.match(lines[0], /,temperature_c,power_w,sm_mhz,memory_mhz,Throttled,ecc_errors,/);
  await shot(page, 'system', false);
}));

await test('the system page has who waits, with place and estimate', () => withPage(async (page) => {
  const first = await queued('first in line'), second = await queued('second in line');
  await open(page, '/system');
  const rows = page.locator('#submissions-under-way tbody tr');
  await until('both', async () => (await rows.allInnerTexts()).filter((r) => /in line/.test(r)).length === 2);
  const row = async (label) => (await rows.filter({ hasText: label }).innerText()).replace(/\s+/g, ' ');
  assert.match(await row('first in line'), /^1 first in line .*sm_100a\/b200 \d+ s ago \d/);
  assert.match(await row('second in line'), /^2 second in line /);
  await deliver(await claim());
  await until('the next', async () => /^1 second in line /.test(await row('second in line')));
  await deliver(await claim());
  for (const id of [first, second]) assert.equal((await api(`/v1/submissions/${id}`)).state, 'done');
}));

await test('what is not there says so: an unknown address, an unknown submission', () => withPage(async (page) => {
  await open(page, '/submissions/01a22971-c52b-75bd-b28d-feb012af546b');
  assert.match(await text(page, '.notice'), /no submission|nothing|not/i);
  await open(page, '/?problem=gqa_paged_decode');
  await page.waitForSelector('#board');
}));

await test('without scripts there is the plain board', () => withPage(async (page) => {
  await page.goto('/');
  await page.getByRole('link', { name: 'The board as a plain page' }).click();
  assert.match(await page.locator('h1').innerText(), /gemm/);
  await page.goto('/board?problem=gemm&arch=sm_90a&workload=m8192_n7168_k5120&limit=10');
  assert.match(await page.locator('tbody').innerText(), /whole report/);
  assert.ok((await page.locator('tbody').innerText()).includes(seeded.hostile));
}, { javaScriptEnabled: false }));

await doorJourneys();

await test('without the modules of npm the page says where the plain board is', () => withPage(async (page) => {
  await page.route('**/vendor/**', (r) => r.abort());
  await page.goto('/');
  await page.waitForSelector('.notice >> text=The plain board');
}));

figures['web.journeys'] = [passed(), 'journeys'];

// ---- every page: fits a phone, axe finds nothing, in light and dark ----

const whole = await labelled(seeded.whole), cpu = await labelled('by the browser'), hostile = await labelled(seeded.hostile);
const pages = { home: '/?device=NVIDIA+H100+80GB+HBM3', 'fast-p': '/fast-p', turns: '/turns', tables: '/tables', submissions: '/submissions', 'submission-gpu': `/submissions/${whole.id}`,
  'submission-cpu': `/submissions/${cpu?.id || hostile.id}`, diff: `/submissions/${whole.id}/diff/${hostile.id}`, submit: '/submit', problems: '/problems', problem: '/problems/gemm',
  system: '/system', 'plain-board': '/board?problem=gemm&arch=sm_90a&limit=20', 'plain-tables': '/published', missing: '/nowhere', ...(await runPages()) };

// A table's CSV stands before it; plain pages have no scripts.
const withoutCsv = (page) => page.evaluate(() => [...document.querySelectorAll('main table')].filter((t) => {
  const around = t.closest('.table, section');
  return ![...(around?.querySelectorAll('button') || [])].some((b) => b.textContent === 'CSV');
}).map((t) => t.innerText.slice(0, 80)));

for (const [name, path] of Object.entries(pages)) {
  if (!name.startsWith('plain-'))
    await test(`every table has its CSV on ${name}`, () => withPage(async (page) => {
      await open(page, path);
      await sleep(300);
      assert.deepEqual(await withoutCsv(page), []);
    }));
  for (const colorScheme of ['light', 'dark']) {
    await test(`axe finds nothing on ${name}, ${colorScheme}`, () => withPage(async (page) => {
      await open(page, path);
      await sleep(300);
      const found = await axe(page);
      if (colorScheme === 'light') await shot(page, `page-${name}`);
      assert.deepEqual(found, []);
    }, { colorScheme }));
  }
  await test(`360 px are enough for ${name}`, () => withPage(async (page) => {
    await open(page, path);
    await sleep(300);
    await shot(page, `phone-${name}`);
    assert.ok(await overflow(page) <= 0, `${await overflow(page)} px too wide`);
  }, { viewport: { width: 360, height: 740 }, hasTouch: true }));
}

await test('no page broke its own security policy, threw, or opened a dialog', () => assert.deepEqual(faults.filter((f) => !/ERR_|Failed to fetch/.test(f)), []));

await closeBrowser();
process.exitCode = done();
