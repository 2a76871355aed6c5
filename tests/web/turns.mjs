// SPDX-License-Identifier: Apache-2.0
// Journeys about turns of models and about what every page must do. Called by journeys.mjs after it has imported the
// turns of New Model: 12 trajectories of 8 turns, four of each of three prompt variants, correct in variant v in the
// first v + 1 turns, with target instructions in every other trajectory.
import assert from 'node:assert/strict';
import { downloaded, open, shot, sql, test, text, until, withPage } from './lib.mjs';

const flat = async (page, selector) => (await text(page, selector)).replace(/\s+/g, ' ');

export async function turnJourneys() {
  await test('turns of a model: counts with their intervals, labels by turn, what follows what', () => withPage(async (page) => {
    await open(page, '/?device=NVIDIA+H100+80GB+HBM3');
    await page.locator('#board').getByRole('link', { name: 'New Model' }).click();
    await page.waitForSelector('#correct-turns tbody tr');
    assert.equal(await page.getByRole('combobox', { name: 'Model' }).inputValue(), 'New Model');
    const rows = page.locator('#correct-turns tbody tr');
    assert.equal(await rows.count(), 8);
    const said = async (i) => (await rows.nth(i).innerText()).replace(/\s+/g, ' ');
    // Wilson's interval of 24 of 96, and of 12 of 96; the variants have 4, 8 and 12 of 32
    assert.match(await said(7), /^8 25\.0 % 24 of 96 17\.4 % to 34\.5 % 12\.5 % to 37\.5 % 12\.5 % 12 of 96 7\.3 % to 20\.6 %/);
    assert.match(await said(0), /^1 100\.0 % 12 of 12 75\.8 % to 100\.0 %/);
    const labels = await page.locator('#what-the-turns-came-to tbody tr').allInnerTexts();
    assert.deepEqual(labels.map((l) => l.replace(/\s+/g, ' ').trim()),
      ['1 12 12 0 100', '2 12 8 4 100', '3 12 4 8 100', ...[4, 5, 6, 7, 8].map((n) => `${n} 12 0 12 100`)]);
    const bars = page.locator('#what-the-turns-came-to tbody tr').nth(1).locator('.stack i');
    const widths = await bars.evaluateAll((l) => l.map((i) => [i.className, i.getBoundingClientRect().width]));
    assert.deepEqual(widths.map(([name]) => name), ['l-correct', 'l-runtime']);
    assert.ok(Math.abs(widths[0][1] - 2 * widths[1][1]) < 2, `two thirds are correct: ${widths}`);
    assert.match(await flat(page, '#from-one-turn-to-the-next tbody'), /^Correct 12 12 Runtime error 0 60$/);
    await page.getByLabel('Between').selectOption('turns 1 and 2');
    await until('those only', async () => /^Correct 8 4 Runtime error 0 0$/.test(await flat(page, '#from-one-turn-to-the-next tbody')));
    assert.equal(new URL(page.url()).searchParams.get('step'), '1');
    const csv = (await downloaded(page, () => page.locator('#correct-turns').getByRole('button', { name: /CSV/ }).click())).split('\r\n');
    assert.match(csv[0], /^T,of,correct,correct_percent,correct_low,correct_high,/);
    assert.match(csv[8], /^8,96,24,25\.0,0\.17\d+,0\.34\d+,0\.125,0\.375,12,12\.5,/);
    await shot(page, 'turns');
  }));

  await test('Fast_p of many turns says that it is not exact', () => withPage(async (page) => {
    await sql(`WITH c AS (INSERT INTO cells (origin, model, device_model, problem, workload)
          VALUES ('local', 'busy', 'NVIDIA B200', 'gemm', 'busy') RETURNING id),
        r AS (INSERT INTO runs (id, origin, name) SELECT gen_random_uuid(), 'local', 'busy' RETURNING id),
        t AS (INSERT INTO trajectories (run_id, n, variant, cell_id) SELECT r.id, n, 0, c.id FROM r, c, generate_series(0, 2500) n RETURNING *)
      INSERT INTO turns (run_id, trajectory, n, cell_id, variant, label, prev_label, correct, inst, speedup)
        SELECT t.run_id, t.n, k, t.cell_id, 0, 'correct', CASE WHEN k > 0 THEN 'correct' ELSE '' END, true, true, 0.5 + (t.n % 2)
          FROM t, generate_series(0, 7) k`);
    await open(page, '/fast-p?device=NVIDIA+B200&workload=busy');
    await until('it is there', async () => {
      if (/busy \(local\)/.test(await text(page, 'main'))) return true;
      await page.reload();
      return 'not yet';
    });
    await page.waitForSelector('text=a curve is drawn from 2,048 quantiles');
    assert.match(await flat(page, '#figures tbody tr'), /busy \(local\) correct 100\.0 % .* 50\.0 % 50\.0 % to 50\.0 %/);
    await sql(`DELETE FROM turns USING cells c WHERE c.id = cell_id AND c.model = 'busy'; DELETE FROM trajectories USING cells c WHERE c.id = cell_id AND c.model = 'busy';
      DELETE FROM turn_counts USING cells c WHERE c.id = cell_id AND c.model = 'busy'; DELETE FROM runs WHERE name = 'busy'; DELETE FROM cells WHERE model = 'busy'`);
  }));
}

// What somebody may ask for that is not there, and what is there without scripts.
export async function doorJourneys() {
  await test('an address that is nothing is a page that says so, with 404', () => withPage(async (page) => {
    const answer = await page.goto('/nowhere/at/all');
    assert.equal(answer.status(), 404);
    await page.waitForSelector('h1:text("There is no such page")');
    await page.getByRole('link', { name: 'The board' }).click();
    await page.waitForSelector('h1.question');
  }));

  await test('without scripts there are the tables of the paper', () => withPage(async (page) => {
    await page.goto('/');
    await page.getByRole('link', { name: 'the paper’s results' }).click();
    assert.equal(await page.locator('h1').innerText(), "The paper's tables");
    assert.equal(await page.locator('table').count(), 10, 'five tables of two measures');
    const first = page.locator('tbody tr', { hasText: 'Claude Opus 4.8' });
    assert.match((await first.nth(2).innerText()).replace(/\s+/g, ' '), /25\.0 \/ 64\.6 \/ 80\.2/);
    assert.match((await first.nth(3).innerText()).replace(/\s+/g, ' '), /0\.782 \/ 1\.012 \/ 1\.012/);
    await shot(page, 'published-plain');
  }, { javaScriptEnabled: false }));
}
