// SPDX-License-Identifier: Apache-2.0
// Journeys about problems and their boards: baselines, epochs, what an operator hides, plans. Called by journeys.mjs.
import assert from 'node:assert/strict';
import { open, rowsOf, shot, sql, test, text, until, withPage } from './lib.mjs';

// A finished one on the device that seed.sql made up.
async function measured(label, { problem = 'gemm', workload, source = 'x', request = {}, ...columns }) {
  const quote = (v) => `'${String(v).replaceAll("'", "''")}'`;
  const id = (await sql(`SELECT id FROM submission_create(gen_random_uuid(), 0, ${quote(JSON.stringify(request))}, convert_to(${quote(source)}, 'UTF8'),
    ${quote(problem)}, ${quote(workload)}, 'sm_90a', 'cuda', 'h200', 'rank', ${quote(label)}, NULL, 'public', 1, 300, 1000000, NULL, NULL)`)).split('\n')[0];
  const given = { verdict: 'PASSED', flags: 0, epoch: 1, device_model: 'NVIDIA H200', cand_us: 100, base_us: 90, base_version: '9', inst: true, ...columns };
  await sql(`WITH j AS MATERIALIZED (SELECT * FROM job_claim_evaluation('web', '{sm_90a/h200}', interval '1 hour')),
      r AS MATERIALIZED (SELECT j.id, j.attempt, result_blob(j.id, j.attempt, 'report', '{"schema": 1}') AS sha FROM j)
    SELECT result_deliver(r.id, r.attempt, (${quote(JSON.stringify(given))}::jsonb || jsonb_build_object('report_sha', sha::text))::json, false, false) FROM r`);
  return id;
}

export async function boardJourneys() {
  await test('five problems: each has its page, with shapes, tolerances of every output and examples, and its row in the chart', () => withPage(async (page) => {
    await open(page, '/problems');
    assert.equal(await rowsOf(page, 'main'), 5);
    await page.getByRole('link', { name: 'MHA-Bwd', exact: true }).click();
    await page.waitForSelector('#tensors tbody tr');
    const all = await text(page, 'main');
    for (const shown of [/dQ\s+output\s+bf16\s+\[B, H, S, D\]/, /dQ at most 0\.0025, dK at most 0\.0025, dV at most 0\.0025/, /10\*B\*H\*S\*S\*D/, /s4096_d128/, /naive\.cu/, /cuDNN; not measured here yet/])
      assert.match(all, shown);
    await shot(page, 'problem-mha_bwd');
    await page.getByRole('link', { name: 'Board', exact: true }).last().click();
    await page.waitForSelector('#board');
    assert.equal(await page.getByRole('combobox', { name: 'Problem' }).inputValue(), 'mha_bwd');
    assert.equal(await page.locator('.dots .names button').count(), 5);
  }));

  await test('a board has one baseline and one epoch; others are a choice away', () => withPage(async (page) => {
    const attention = { problem: 'mha_fwd', workload: 's4096_d128' };
    await measured('over the library', { ...attention, speedup: 0.6, base_name: 'cuDNN' });
    await measured('over its parts', { ...attention, speedup: 4.5, base_name: 'cuBLAS (composed)' });
    await measured('before', { ...attention, speedup: 0.5, base_name: 'cuDNN', epoch: 0 });
    await measured('old', { ...attention, speedup: 0.4, base_name: 'cuDNN', epoch: 0 });
    await measured('newer', { ...attention, speedup: 0.3, base_name: 'cuDNN', epoch: 2 });
    await open(page, '/?problem=mha_fwd&device=NVIDIA+H200');
    const board = () => text(page, '#board tbody');
    await until('the newest', async () => /newer/.test(await board()));
    assert.equal(await rowsOf(page, '#board'), 1);
    await page.getByLabel('Epoch').selectOption('1');
    await until('one baseline', async () => /over the library/.test(await board()) && !/over its parts/.test(await board()));
    assert.match(await text(page, '#board'), /speedup over cuDNN 9 \(90 µs beside them\)/);
    assert.deepEqual(await page.locator('.dots .names button').allInnerTexts(), ['GEMM', 'MHA-Fwd'], 'what was measured here, by problem');
    await page.getByLabel('Speedup over').selectOption('cuBLAS (composed)');
    await until('the other', async () => /over its parts/.test(await board()) && !/over the library/.test(await board()));
    assert.ok(page.url().includes('baseline=cuBLAS'));
    await shot(page, 'home-baseline', false);
    await page.goBack();
    await until('and back', async () => /over the library/.test(await board()));
  }));

  await test('what an operator takes off stands below with the reason', () => withPage(async (page) => {
    const reason = '<b>reads</b> the answer from a file';
    const id = await measured('too good', { workload: 'm8828_n2048_k4096', speedup: 3, base_name: 'cuBLAS' });
    await measured('honest', { workload: 'm8828_n2048_k4096', speedup: 0.9, base_name: 'cuBLAS' });
    await open(page, '/?workload=m8828_n2048_k4096&device=NVIDIA+H200');
    await until('both', async () => (await rowsOf(page, '#board')) === 2);
    assert.match(await page.locator('#board tbody tr').first().innerText(), /too good/);
    await sql(`SELECT submission_hide('${id}', -1, '${reason}')`);
    await page.reload();
    await until('one left', async () => (await rowsOf(page, '#board')) === 1);
    await page.getByText('Taken off by the operator: 1').click();
    assert.ok((await text(page, '.hidden-entries')).includes(`too good: ${reason}`));
    await shot(page, 'home-hidden', false);
    await page.locator('.hidden-entries a').click();
    await page.waitForSelector('.notice >> text=Taken off the boards by the operator');
    assert.ok((await text(page, '.notice')).includes(reason));
  }));

  await test('a plan that came beside the source is shown', () => withPage(async (page) => {
    const launch = { launches: [{ kernel: 'beside', grid: ['ceil_div(M, 128)', 2], block: [384], args: [{ tensor: 'A' }, { i32: 'K' }] }] };
    const id = await measured('plan beside', { workload: 'm93_n128_k2048', request: { launch }, source: '__global__ void beside() {}' });
    await open(page, `/submissions/${id}`);
    await page.waitForSelector('#launch-plan tbody tr');
    assert.match(await text(page, '#launch-plan tbody'), /beside\s+ceil_div\(M, 128\) × 2\s+384\s+–\s+–\s+A, i32 K/);
  }));
}
