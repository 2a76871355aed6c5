// SPDX-License-Identifier: Apache-2.0
// Journeys through agent runs: the list, a run and its turns, live, what its owner does to it, the form. Called by
// journeys.mjs; seed_runs.sql has made the runs.
import assert from 'node:assert/strict';
import { api, downloaded, open, rowsOf, settled, shot, sql, startServer, stopServer, test, text, until, withPage } from './lib.mjs';

const runOf = (provider) => sql(`SELECT id FROM runs WHERE provider = '${provider}' ORDER BY created_at DESC LIMIT 1`);
const play = (provider) => sql(`SELECT web.play('${provider}')`);
const small = (provider, more = {}) =>
  sql(`SELECT web.run('${provider}', '${provider} run', '{complete}', '${JSON.stringify({ trajectories: 1, turns: 2, ...more })}')`);
const cell = (page, trajectory, n) => page.locator(`[data-cell="${trajectory} ${n}"]`);
const said = async (page, selector, pattern) => assert.match((await text(page, selector)).replace(/\s+/g, ' '), pattern);

// The pages that axe and a phone look at.
export async function runPages() {
  const [seeded, broke] = [await runOf('seeded'), await runOf('broke')];
  return { runs: '/runs', 'run-new': '/runs/new', run: `/runs/${seeded}`, 'run-broke': `/runs/${broke}`,
    trajectory: `/runs/${seeded}/trajectories/1`, 'trajectory-open': `/runs/${seeded}/trajectories/3` };
}

export async function runJourneys() {
  await test('runs: a list of what may be seen, by problem and state, that leads to each', () => withPage(async (page) => {
    await open(page, '/');
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.waitForSelector('main tbody tr');
    const list = await text(page, 'main tbody');
    assert.match(list, /seeded <b>run<\/b>\s+made-up-1\s+running\s+1\.250×\s+12 of 16/);
    assert.match(list, /GEMM by small-model\s+small-model\s+out of budget\s+–\s+2 of 8/);
    assert.doesNotMatch(list, /hidden run/);
    await page.getByLabel('State').selectOption('running');
    await until('only those', async () => !/small-model/.test(await text(page, 'main tbody')));
    assert.ok(page.url().includes('state=running'));
    await shot(page, 'runs');
    await page.getByRole('link', { name: 'seeded <b>run</b>' }).click();
    await page.waitForSelector('table.turns');
    assert.match(await page.title(), /^seeded <b>run<\/b> · PTXBench/);
  }));

  await test('a run: what it is, what it has spent, every turn by its label, the best so far', () => withPage(async (page) => {
    const id = await runOf('seeded');
    await open(page, `/runs/${id}`);
    await page.waitForSelector('figure canvas');
    await said(page, '.lead', /made-up-1 writes GEMM kernels for sm_90a: 2 prompts, each tried in 2 trajectories of up to 4 turns/);
    await said(page, 'dl.facts', /Best speedup 1\.250× t2, turn 2 Correct turns 5 of 12 41\.7 % Trajectories 3 of 4 ended 12 of at most 16 turns/);
    await said(page, 'dl.facts', /Cost \$1\.50 of \$10\.00, 15\.0 % Tokens 392k of 1\.00M, 39\.2 % Calls of the model 12/);
    await said(page, '.labels', /Correct 5 Numerical error 1 Compilation error 1 Kernel Execution Timeout 1 Extraction error 1 Runtime error 1 Plan error 1 Cut answer 1/);
    assert.deepEqual(await page.locator('table.turns tbody tr').nth(2).locator('td').allInnerTexts(), ['Runtime', '0.625×\ntry 2', 'Plan', 'Timeout', 'all turns used']);
    await said(page, 'table.turns', /gemm-warps about 23\.4k tokens · 2 of 4 turns correct · best 1\.250×/);
    assert.equal(await page.locator('table.turns td.open').innerText(), 'asking');
    // not by colour alone, and in the colour of the paper's figures
    assert.match(await cell(page, 0, 0).getAttribute('aria-label'), /t0, turn 1: Compilation error/);
    assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector('td.l-compile')).getPropertyValue('--l').trim()), '#ff7f0e');
    await page.getByText('The figures').click();
    assert.deepEqual(await page.locator('details.figures tbody td').allInnerTexts(), ['complete', '–', '0.625×', '0.625×', '0.750×', 'gemm-warps', '0.875×', '1.250×', '–', '–']);
    await said(page, '#what-was-asked-for', /sm_90a on h200 Model made-up-1 of the provider seeded .* effort high Budget \$10\.00, 1\.00M tokens/);
    await shot(page, 'run');
  }));

  await test('by keyboard: arrows between turns, Enter opens one, j and k go on from there', () => withPage(async (page) => {
    const id = await runOf('seeded');
    await open(page, `/runs/${id}`);
    await cell(page, 0, 0).focus();
    const at = () => page.evaluate(() => document.activeElement.dataset.cell);
    for (const [key, want] of [['ArrowRight', '0 1'], ['ArrowDown', '1 1'], ['ArrowDown', '2 1'], ['End', '2 1'], ['ArrowDown', '3 1'], ['Home', '3 0'], ['ArrowUp', '2 0'], ['ArrowUp', '1 0']]) {
      await page.keyboard.press(key);
      await until(`${key} leads to ${want}`, async () => (await at()) === want);
    }
    assert.equal(await page.locator('table.turns [tabindex="0"]').count(), 1, 'one stop for Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/runs/${id}/trajectories/1?turn=1`);
    await page.waitForSelector('#turn-1');
    await page.keyboard.press('j');
    await until('the next turn', () => page.url().endsWith('?turn=2'));
    await page.keyboard.press('j');
    await until('and the next', async () => page.url().endsWith('?turn=3') && /^Turn 3/.test(await page.evaluate(() => document.activeElement.textContent.trim())));
    await page.keyboard.press('k');
    await until('and back', () => page.url().endsWith('?turn=2'));
    await page.goBack();
    await page.waitForSelector('table.turns');
  }));

  await test('a trajectory: what the model wrote, what came of it, what it was told; a try that did not count says so', () => withPage(async (page) => {
    const id = await runOf('seeded');
    await open(page, `/runs/${id}/trajectories/1?turn=2`);
    await page.waitForSelector('#turn-2.at');
    await until('turn 2 is in sight', () => page.evaluate(() => { const { top } = document.querySelector('#turn-2').getBoundingClientRect(); return top > -1 && top < innerHeight; }));
    await said(page, '#turn-2 summary', /Turn 2 Correct 0\.625× .* target instructions 2 tries/);
    await said(page, '#turn-2', /Try 1 This try does not count: Infrastructure error\..*Evaluation: INFRA_ERROR submission .*Try 2 .*The answer is that of try 1\. Evaluation: PASSED submission/);
    await said(page, '#turn-2', /27,000 tokens in \(22,000 cached\) 5,000 out \(4,000 reasoning\) \$0\.1250 1 min 35 s the model was done/);
    assert.equal(await page.locator('#turn-2 pre.told').count(), 1, 'only what the model was told');
    assert.match(await text(page, '#turn-2 .kernel .source'), /constexpr int stages = 3;/);
    assert.ok(await page.locator('#turn-2 .kernel .h-keyword').count() > 0, 'with colours');
    await page.locator('#turn-2').getByText('What changed against the kernel before').click();
    await until('one line for another', async () => (await page.locator('#turn-2 .source .add').count()) === 1 && (await page.locator('#turn-2 .source .remove').count()) === 1);
    await page.locator('#turn-2').getByText('The messages of this call').first().click();
    await page.waitForSelector('#turn-2 details details');
    assert.match(await text(page, '#turn-2 details code'), /^[0-9a-f]{64}$/);
    await said(page, '#turn-3', /\$\.launches\[0\]\.grid\[0\] there is no axis Q/);
    await said(page, '.prompt', /Each call carries this, then every answer and its feedback/);
    await shot(page, 'trajectory');
    await page.locator('#turn-1').getByRole('link', { name: /submission/ }).click();
    await page.waitForSelector('.verdict.big >> text=RUNTIME_ERROR');
    await said(page, 'main', /A model wrote it: turn 1 of t1 in the run seeded <b>run<\/b>\./);
    await page.getByRole('link', { name: 'turn 1 of t1' }).click();
    await page.waitForURL(`**/runs/${id}/trajectories/1?turn=1`);
    await open(page, `/runs/${id}/trajectories/0`);
    await said(page, '#turn-2', /Added by hand: Use four stages\./);
  }));

  await test('hostile answers and feedback are text', () => withPage(async (page) => {
    await open(page, `/runs/${await runOf('seeded')}/trajectories/3`);
    await said(page, '#turn-1', /<img src=x onerror="window\.hacked=1"> I will <\/pre><script>window\.hacked = 1<\/script> first\. There is no fenced block in the answer\./);
    await said(page, '#turn-1 pre.told', /There is no <b>fenced<\/b> block/);
    await said(page, '#turn-2', /cut: the limit of tokens was reached .*cuda, not closed .*The answer was cut inside the kernel/);
    await said(page, '#turn-3 summary', /the model is asked/);
    assert.equal(await page.locator('main img, main script').count(), 0);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
  }));

  await liveJourneys();
  await formJourneys();
}

async function liveJourneys() {
  await test('live: a call begins and writes, the turn gets its label, the run its end', () => withPage(async (page) => {
    const id = await small('live');
    await open(page, `/runs/${id}`);
    await page.waitForSelector('.verdict.big >> text=running');
    await sql(`SELECT web.begin('live', 4321)`);
    await page.waitForSelector('td.open >> text=writes 4,321');
    await shot(page, 'run-live', false);
    await play('live');
    await until('both turns', async () => /Runtime\s+0\.500× ✓\s+all turns used/.test(await text(page, 'table.turns tbody tr:last-child')));
    await page.waitForSelector('.verdict.big >> text=done');
    await page.locator('[data-cell="0 0"]').click();
    await page.waitForSelector('#turn-1');
    await said(page, '#turn-1', /A call before came to nothing \(failed\): the agent was lost/);
  }));

  await test('extend, cancel, resume: the owner decides', () => withPage(async (page) => {
    const id = await small('live');
    await play('live');
    await open(page, `/runs/${id}`);
    await page.getByRole('button', { name: 'Extend …' }).click();
    await page.getByLabel('Turns of each').fill('3');
    await page.getByRole('button', { name: 'Extend', exact: true }).click();
    await page.waitForSelector('.verdict.big >> text=running');
    await page.waitForSelector('[data-cell="0 2"]');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.waitForSelector('.verdict.big >> text=cancelled');
    await page.getByRole('button', { name: 'Resume …' }).click();
    await page.getByLabel('New budget, dollars').fill('2.5');
    await page.getByRole('button', { name: 'Resume', exact: true }).click();
    await page.waitForSelector('.verdict.big >> text=running');
    await play('live');
    await page.waitForSelector('.verdict.big >> text=done');
    await until('the third turn', async () => /0\.750×/.test(await text(page, '[data-cell="0 2"]')));
    await said(page, 'dl.facts', /Cost \$0\.3750 of \$2\.50/);
    await page.getByRole('button', { name: 'Extend …' }).click();
    await page.getByLabel('Turns of each').fill('2');
    await page.getByLabel('Turns of each').evaluate((e) => { e.form.noValidate = true; });
    await page.getByRole('button', { name: 'Extend', exact: true }).click();
    await page.waitForSelector('.notice >> text=cannot extend');
  }));

  await test('without a stream of events the page looks by itself, and says so; it goes on through a restart', () => withPage(async (page) => {
    await page.route('**/events', (r) => r.abort());
    const id = await small('looked', { turns: 1 });
    await open(page, `/runs/${id}`);
    await page.waitForSelector('text=The live connection is lost');
    stopServer();
    await startServer();
    await play('looked');
    await until('the turn', async () => /0\.500×/.test(await text(page, 'table.turns tbody tr:last-child')), 30000);
    await page.waitForSelector('.verdict.big >> text=done');
    assert.equal(await page.getByText('The live connection is lost').count(), 0, 'there is nothing more to hear');
  }));

  await test('a word to the model reaches the turn that is under way', () => withPage(async (page) => {
    await open(page, `/runs/${await runOf('seeded')}/trajectories/3`);
    await page.getByText('Add to what the model will be told').click();
    await page.getByLabel(/Text, shown to the model/).fill('Close your <b>blocks</b>.');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await until('it stands there', async () => /Added by hand:\s+Close your <b>blocks<\/b>\./.test(await text(page, '#turn-3')));
  }));

  await test('exports: a run as lines, a trajectory as one document', () => withPage(async (page) => {
    const id = await runOf('seeded');
    await open(page, `/runs/${id}`);
    const lines = (await downloaded(page, () => page.getByRole('button', { name: /JSONL/ }).click())).trim().split('\n').map((l) => JSON.parse(l));
    assert.equal(lines.length, 4);
    assert.ok(lines.every((l) => l.trajectory_format === 'mini-swe-agent-1.1'));
    await open(page, `/runs/${id}/trajectories/2`);
    const one = JSON.parse(await downloaded(page, () => page.getByRole('button', { name: 'Export (JSON)' }).click()));
    assert.deepEqual(one.messages.slice(0, 3).map((m) => m.role), ['system', 'user', 'assistant']);
  }));

  await test('what one may not see is not there', () => withPage(async (page) => {
    const id = await runOf('hidden');
    await open(page, `/runs/${id}`);
    await page.waitForSelector('.notice[role=alert]');
    assert.doesNotMatch(await text(page, 'main'), /hidden run/);
    await open(page, `/runs/${await runOf('seeded')}/trajectories/99`);
    await page.waitForSelector('.notice[role=alert]');
  }));
}

async function formJourneys() {
  await test('the form: every fault at its field; the very messages before they cost anything; a start', () => withPage(async (page) => {
    await open(page, '/runs/new?problem=gemm&arch=sm_90a&device=cpu');
    await until('three prompts that suit, with their tokens', async () =>
      (await page.locator('.variants input:checked').count()) === 3 && (await page.locator('.variants .size').count()) === 3);
    const field = (name) => page.locator(`[name=${name}]`);
    await field('provider').fill('no such');
    await field('model').fill('');
    await field('turns').fill('99');
    await field('temperature').fill('7');
    await page.getByRole('button', { name: 'Check, and show the messages' }).click();
    await page.waitForSelector('.notice[role=alert] li');
    for (const [name, fault] of [['provider', /must be a name/], ['model', /is required/], ['turns', /must be 1 to 64, not 99/], ['temperature', /must be 0 to 2/]]) {
      assert.equal(await field(name).getAttribute('aria-invalid'), 'true', name);
      assert.match(await page.locator(`label:has([name=${name}]) .bad`).innerText(), fault);
    }
    await shot(page, 'run-faults');
    await field('provider').fill('nobody');
    await field('model').fill('a/model');
    await field('turns').fill('2');
    await field('trajectories').fill('1');
    await field('temperature').fill('');
    await field('name').fill('by the form');
    await page.locator('.variants label', { hasText: 'gemm-warps' }).click();
    await page.getByRole('button', { name: 'Check, and show the messages' }).click();
    await page.waitForSelector('text=Nothing is stored');
    assert.equal(await page.locator('details.preview').count(), 2);
    await page.locator('details.preview summary').first().click();
    const sha = await page.locator('details.preview code').first().innerText();
    await page.locator('details.preview details summary').first().click();
    assert.match(await text(page, 'details.preview pre'), /\S/);
    await said(page, '.new-run', /2 prompts × 1 × 2 turns: 2 trajectories, at most 4 calls of the model/);
    await shot(page, 'run-new-checked');
    await page.getByRole('button', { name: 'Start the run' }).click();
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}$/);
    await page.waitForSelector('h1:text("by the form")');
    await page.waitForSelector('text=No agent serves the provider “nobody”');
    const id = page.url().split('/').at(-1);
    assert.equal((await api(`/v1/runs/${id}/trajectories/0/messages`)).sha256, sha, 'what was shown is what is sent');
    await page.getByRole('link', { name: 'Start one like it …' }).click();
    await settled(page);
    await until('the same two prompts', async () => (await page.locator('.variants input:checked').count()) === 2);
    assert.deepEqual([await field('model').inputValue(), await field('turns').inputValue()], ['a/model', '2']);
    assert.equal(await rowsOf(page, 'main'), 0);
  }));
}
