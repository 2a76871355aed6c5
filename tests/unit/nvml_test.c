// SPDX-License-Identifier: Apache-2.0
/* What is made of readings of a device, and that a host without NVML has only gaps in its record.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifdef HAVE_CUDA
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evaluator/cuda/nvml.h"

static void assert_json(json_t *value, const char *expected)
{
    json_t *wanted = json_loads(expected, JSON_DECODE_ANY, NULL);
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    if (!json_equal(value, wanted))
        print_message("%s\n", text);
    assert_true(json_equal(value, wanted));
    free(text);
    json_decref(wanted);
    json_decref(value);
}

static struct nvml_sample sample(double mhz, uint32_t throttle, int64_t ecc)
{
    return (struct nvml_sample){mhz, 3201, 1980, 40, 650.5, true, throttle, ecc};
}

static void one_sample(void **state)
{
    (void)state;
    struct nvml_sample s = sample(1980, NVML_THROTTLE_SW_POWER_CAP | NVML_THROTTLE_HW_THERMAL, 3);
    assert_json(nvml_sample_json(&s),
                "{\"temperature_c\": 40.0, \"sm_mhz\": 1980.0, \"memory_mhz\": 3201.0, "
                "\"power_w\": 650.5, \"throttle\": [\"sw_power_cap\", \"hw_thermal\"], "
                "\"ecc_errors\": 3}");
}

static void a_closed_device_knows_nothing(void **state)
{
    (void)state;
    struct nvml none = {0};
    struct nvml_sample s;
    struct nvml_set set = {0};
    nvml_read(&none, &s);
    assert_json(nvml_sample_json(&s),
                "{\"temperature_c\": null, \"sm_mhz\": null, \"memory_mhz\": null, "
                "\"power_w\": null, \"throttle\": null, \"ecc_errors\": null}");
    nvml_set_add(&set, &s);
    assert_json(nvml_set_json(&set),
                "{\"samples\": 1, \"max_sm_mhz\": null, \"sm_mhz\": null, \"memory_mhz\": null, "
                "\"temperature_c\": null, \"power_w\": null, \"throttle\": null, "
                "\"ecc_errors\": null}");
    assert_false(nvml_slowed_down(&set));
    nvml_close(&none);
}

static void a_set_is_summed_up(void **state)
{
    (void)state;
    struct nvml_set set = {0};
    const struct nvml_sample samples[] = {sample(1980, NVML_THROTTLE_SW_POWER_CAP, 3),
                                          sample(1200, NVML_THROTTLE_SW_POWER_CAP, 3),
                                          sample(1500, 0, 4),
                                          {NAN, NAN, NAN, NAN, NAN, false, 0, -1},
                                          sample(1700, NVML_THROTTLE_IDLE, 5)};
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        nvml_set_add(&set, &samples[i]);
    assert_false(nvml_slowed_down(&set));
    assert_json(nvml_set_json(&set),
                "{\"samples\": 5, \"max_sm_mhz\": 1980.0, "
                "\"sm_mhz\": {\"min\": 1200.0, \"median\": 1600.0, \"max\": 1980.0}, "
                "\"memory_mhz\": {\"min\": 3201.0, \"median\": 3201.0, \"max\": 3201.0}, "
                "\"temperature_c\": {\"min\": 40.0, \"median\": 40.0, \"max\": 40.0}, "
                "\"power_w\": {\"min\": 650.5, \"median\": 650.5, \"max\": 650.5}, "
                "\"throttle\": {\"idle\": 0.25, \"sw_power_cap\": 0.5}, \"ecc_errors\": 2}");
}

static void only_some_reasons_spoil(void **state)
{
    (void)state;
    static const struct {
        uint32_t bits;
        bool spoils;
    } rows[] = {
        {0, false},
        {NVML_THROTTLE_IDLE | NVML_THROTTLE_SETTING | NVML_THROTTLE_SW_POWER_CAP, false},
        {NVML_THROTTLE_SYNC_BOOST | NVML_THROTTLE_DISPLAY_SETTING, false},
        {NVML_THROTTLE_HW_SLOWDOWN, true},
        {NVML_THROTTLE_SW_THERMAL, true},
        {NVML_THROTTLE_HW_THERMAL, true},
        {NVML_THROTTLE_HW_POWER_BRAKE | NVML_THROTTLE_SW_POWER_CAP, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct nvml_set set = {0};
        struct nvml_sample s = sample(1980, rows[i].bits, 0);
        nvml_set_add(&set, &s);
        assert_int_equal(nvml_slowed_down(&set), rows[i].spoils);
    }
}

static void a_set_keeps_the_latest(void **state)
{
    (void)state;
    static struct nvml_set set;
    struct nvml_sample bad = sample(300, NVML_THROTTLE_HW_SLOWDOWN, 0), good = sample(1980, 0, 0);
    nvml_set_add(&set, &bad);
    for (size_t i = 0; i < NVML_SAMPLES; i++)
        nvml_set_add(&set, &good);
    assert_false(nvml_slowed_down(&set));
    json_t *json = nvml_set_json(&set);
    assert_int_equal(json_integer_value(json_object_get(json, "samples")), NVML_SAMPLES + 1);
    assert_true(json_real_value(json_object_get(json_object_get(json, "sm_mhz"), "min")) == 1980);
    json_decref(json);
}

static void an_unknown_device_is_named(void **state)
{
    (void)state;
    struct nvml n;
    struct fault f = {0};
    assert_int_equal(nvml_open(&n, "00000000-0000-0000-0000-000000000000", &f), ERR_UNAVAILABLE);
    assert_non_null(strstr(f.detail, "cannot watch the device"));
    assert_null(n.device);
    assert_null(n.library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_sample),
        cmocka_unit_test(a_closed_device_knows_nothing),
        cmocka_unit_test(a_set_is_summed_up),
        cmocka_unit_test(only_some_reasons_spoil),
        cmocka_unit_test(a_set_keeps_the_latest),
        cmocka_unit_test(an_unknown_device_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
#include <stdio.h>

int main(void)
{
    printf("1..0 # SKIP built without the headers of CUDA\n");
    return 0;
}
#endif
