-- SPDX-License-Identifier: Apache-2.0
-- What a device last told of itself, by way of the worker that serves it. What it does not tell is null.
ALTER TABLE devices
    ADD COLUMN detail        text,          -- why its state is what it is
    ADD COLUMN temperature_c float8,
    ADD COLUMN sm_mhz        float8,
    ADD COLUMN memory_mhz    float8,
    ADD COLUMN power_w       float8,
    ADD COLUMN throttle      text[],        -- reasons for which it is slowed down now
    ADD COLUMN ecc_errors    bigint,
    ADD COLUMN health_at     timestamptz;
