-- SPDX-License-Identifier: Apache-2.0
-- Results of a GPU that is not there, for the browser tests: 1,000 entries on one board, one with a whole report, and
-- names and logs of somebody who means ill. psql variable: report.

SELECT worker_start('web', 'host', 'gpu', 'GPU-1', 'NVIDIA H200', '580.1', '{sm_90a/h200,sm_100a/b200}', interval '1 hour');

CREATE FUNCTION pg_temp.submit(p_source text, p_label text, p_method text, p_arch text, p_device text, p_workload text)
RETURNS uuid LANGUAGE sql AS $$
    SELECT id FROM submission_create(gen_random_uuid(), 0,
        json_build_object('launch', substring(p_source FROM '/\*ptxbench-launch\s(.*)\*/')::json), convert_to(p_source, 'UTF8'), 'gemm', p_workload, p_arch,
        'cuda', p_device, 'rank', p_label, p_method, 'public', 1, 300, 1000000, NULL, NULL)
$$;

CREATE FUNCTION pg_temp.deliver(p_columns jsonb, p_report text, p_log text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    j record;
BEGIN
    SELECT * INTO j FROM job_claim_evaluation('web', '{sm_90a/h200}', interval '1 hour');
    PERFORM result_deliver(j.id, j.attempt, ('{"verdict": "PASSED", "flags": 0, "epoch": 1, "device_model": "NVIDIA H200",
            "base_us": 866.4, "base_name": "cuBLAS", "base_version": "13.1", "wall_ms": 5000}'::jsonb || p_columns
        || jsonb_build_object('report_sha', result_blob(j.id, j.attempt, 'report', convert_to(p_report, 'UTF8'))::text,
                              'log_sha', result_blob(j.id, j.attempt, 'log', convert_to(p_log, 'UTF8'))::text))::json, false, false);
END $$;

SELECT worker_health('web', 'ok', NULL, '{"temperature_c": 58, "sm_mhz": 1755, "memory_mhz": 3201, "power_w": 655, "throttle": ["sw_power_cap"], "ecc_errors": 0}');

-- The one with a whole report: faster than the library, two launches, a warning of the compiler at line 4.
SELECT pg_temp.submit(E'/*ptxbench-launch\n{"launches": [{"kernel": "split", "grid": [132], "block": [384], "args": [{"tensor": "A"}]}]}\n*/\n'
    '__global__ void split(const float *a)\n{\n    if (threadIdx.x < 32)\n        asm volatile("wgmma.fence.sync.aligned;");\n}\n',
    'whole report', 'by hand', 'sm_90a', 'h200', 'm8192_n7168_k5120');
SELECT pg_temp.deliver('{"speedup": 1.043, "ci_lo": 1.036, "ci_hi": 1.049, "cand_us": 830.7, "inst": true, "tensor_share": 0.998, "flags": 2}',
    :'report', 'ptxas info : 168 registers');

-- Text that is markup, a formula, or long.
SELECT pg_temp.submit('</pre><script>window.hacked = 1</script>// ' || repeat('x', 3000), '<img src=x onerror="window.hacked=1">', '"><script>window.hacked=1</script>',
    'sm_90a', 'h200', 'm8192_n7168_k5120');
SELECT pg_temp.deliver('{"speedup": 0.9, "ci_lo": 0.89, "ci_hi": 0.91, "cand_us": 960, "inst": false}',
    json_build_object('schema', 1, 'verdict', 'PASSED', 'problem', 'gemm', 'arch', 'sm_90a', 'workload', 'm8192_n7168_k5120', 'epoch', 1, 'stages', '[]'::json,
        'detail', '<svg onload="window.hacked=1">', 'kernels', json_build_array(json_build_object('name', '<b onclick="window.hacked=1">k</b>', 'registers', 1)))::text,
    E'<script>window.hacked = 1</script>\n\x1b[31mred\n' || repeat('y', 5000));
SELECT pg_temp.submit('x', '=HYPERLINK("http://evil.example","click")', repeat('m', 190), 'sm_90a', 'h200', 'm8192_n7168_k5120');
SELECT pg_temp.deliver('{"speedup": 0.85, "ci_lo": 0.84, "ci_hi": 0.86, "cand_us": 1000}', '{}', '');

-- 997 more, so that the board is full.
DO $$
BEGIN
    FOR i IN 1 .. 997 LOOP
        PERFORM pg_temp.submit('source ' || i, 'entry ' || i, 'made up', 'sm_90a', 'h200', 'm8192_n7168_k5120');
    END LOOP;
    FOR i IN 1 .. 997 LOOP
        PERFORM pg_temp.deliver(jsonb_build_object('speedup', 0.8 - i * 0.0007, 'ci_lo', 0.798 - i * 0.0007, 'ci_hi', 0.802 - i * 0.0007,
                                                   'cand_us', 1083 + i, 'inst', i % 3 = 0), '{}', '');
    END LOOP;
END $$;
ANALYZE;
