// SPDX-License-Identifier: Apache-2.0
// What the runner says of kernels that go wrong, and that plans mean on the GPU what they say.
// Every case is a fresh runner, as in service: a fault of one must leave the next and this process
// unharmed.
#include "tests/gpu/runner_kit.h"

enum { HANG_MS = 1500 };

#define ARGS "[{\"tensor\": \"A\"}, {\"tensor\": \"B\"}, {\"tensor\": \"C\"}]"
#define PLAN(launches, more) "/*ptxbench-launch {\"launches\": [" launches "]" more "} */\n"
#define ONE(grid, more)                                                                            \
    "{\"kernel\": \"k\", \"grid\": [" grid "], \"block\": [32], \"args\": " ARGS more "}"
#define SIGNATURE "unsigned short *A, unsigned short *B, unsigned short *C"
#define KERNEL(body) "__global__ void k(" SIGNATURE ") { " body " }\n"
#define SMALL_A "512 * 256"
#define SMALL_C "512 * 512"
#define BUFFER(init, more)                                                                         \
    ", \"buffers\": {\"x\": {\"dtype\": \"u32\", \"shape\": [64]" init more "}}"
#define WITH_BUFFER                                                                                \
    "{\"kernel\": \"k\", \"grid\": [1], \"block\": [64], \"args\": [{\"buffer\": \"x\"}]}"
#define FILL                                                                                       \
    ", \"init\": {\"launch\": {\"kernel\": \"f\", \"grid\": [1], \"block\": [64], "                \
    "\"args\": [{\"buffer\": \"x\"}, {\"u32\": 7}]}}"

static const struct {
    const char *name, *place, *source;
    const char *kind; /* "": must go well */
    int launch;       /* -1: none is named */
} cases[] = {
    {"a plan that only writes its output", "end", PLAN(ONE("1", ""), "") KERNEL("C[0] = A[0];"), "",
     -1},
    {"reads one element past an input", "end",
     PLAN(ONE("1", ""), "") KERNEL("C[0] = A[" SMALL_A "];"), "illegal_access", 0},
    {"reads one element before an input", "start", PLAN(ONE("1", ""), "") KERNEL("C[0] = A[-1];"),
     "illegal_access", 0},
    {"writes one element past the output", "end",
     PLAN(ONE("1", ""), "") KERNEL("C[" SMALL_C "] = 1;"), "illegal_access", 0},
    {"writes one element before the output", "start", PLAN(ONE("1", ""), "") KERNEL("C[-1] = 1;"),
     "illegal_access", 0},
    {"writes an input", "end", PLAN(ONE("1", ""), "") KERNEL("A[0] = 1;"), "illegal_access", 0},
    {"reads an address that is no tensor", "end",
     PLAN(ONE("1", ""), "") KERNEL("C[0] = *(unsigned short *)4096;"), "illegal_access", 0},
    {"reads a misaligned word", "end",
     PLAN(ONE("1", ""), "") KERNEL("C[0] = *(unsigned *)((char *)A + 2);"), "misaligned_address",
     0},
    {"traps", "end", PLAN(ONE("1", ""), "") KERNEL("if (A[0] != 12345) asm volatile(\"trap;\");"),
     "launch_failed", 0},
    {"faults in the second launch of three", "end",
     PLAN(ONE("1", "") ", "
                       "{\"kernel\": \"bad\", \"grid\": [1], \"block\": [32], \"args\": " ARGS
                       "}, " ONE("1", ""),
          "") KERNEL("C[0] = 1;") "__global__ void bad(" SIGNATURE ") { A[1] = C[0]; }\n",
     "illegal_access", 1},
    {"asks for a cooperative grid that cannot be resident", "end",
     PLAN(ONE("100000", ", \"cooperative\": true"), "") KERNEL("C[0] = 1;"), "launch", 0},
    {"launches a cluster of 16 blocks", "end",
     PLAN(ONE("16", ", \"cluster\": [16], \"shared_bytes\": 65536"), "") KERNEL("C[0] = 1;"), "",
     -1},
    {"launches a dependent kernel early", "end",
     PLAN(ONE("1", "") ", " ONE("1", ", \"programmatic_dependent\": true"), "")
         KERNEL("asm volatile(\"griddepcontrol.wait;\"); C[0] = 1;"),
     "", -1},
    {"sees zero in a zeroed buffer", "end",
     PLAN(WITH_BUFFER,
          BUFFER(", \"init\": \"zero\"",
                 "")) "__global__ void k(unsigned *x) { if (x[threadIdx.x]++) asm(\"trap;\"); }",
     "", -1},
    {"sees poison in a buffer", "end",
     PLAN(WITH_BUFFER, BUFFER("", "")) "__global__ void k(unsigned *x) { if (~x[threadIdx.x]) "
                                       "asm(\"trap;\"); x[threadIdx.x] = 0; }",
     "", -1},
    {"sees literal data, then zeroes", "end",
     PLAN(WITH_BUFFER, BUFFER(", \"init\": {\"data\": \"AQAAAA==\"}",
                              "")) "__global__ void k(unsigned *x) { if (x[threadIdx.x] != "
                                   "(threadIdx.x == 0)) asm(\"trap;\");"
                                   " x[threadIdx.x] = 5; }",
     "", -1},
    {"sees what a launch has put into a buffer", "end",
     PLAN(WITH_BUFFER,
          BUFFER(FILL,
                 "")) "__global__ void f(unsigned *x, unsigned v) { x[threadIdx.x] = v; }\n"
                      "__global__ void k(unsigned *x) { if (x[threadIdx.x] != 7) asm(\"trap;\"); }",
     "", -1},
    {"writes a buffer that a launch has filled", "end",
     PLAN(WITH_BUFFER,
          BUFFER(FILL, "")) "__global__ void f(unsigned *x, unsigned v) { x[threadIdx.x] = v; }\n"
                            "__global__ void k(unsigned *x) { x[threadIdx.x] = 1; }",
     "illegal_access", 0},
    {"writes past a buffer", "end",
     PLAN(WITH_BUFFER,
          BUFFER("", "")) "__global__ void k(unsigned *x) { x[64 + threadIdx.x] = 1; }",
     "illegal_access", 0},
};

static int tests, failed;

static void report(bool ok, const char *name)
{
    failed += !ok;
    printf("%sok %d - %s\n", ok ? "" : "not ", ++tests, name);
    fflush(stdout);
}

/* Is the answer the one that is expected? */
static bool expected(const json_t *answer, const char *kind, int launch)
{
    const json_t *fault = json_object_get(answer, "fault");
    if (!*kind)
        return json_is_true(json_object_get(answer, "ok"));
    const char *got = json_string_value(json_object_get(fault, "kind"));
    const json_t *at = json_object_get(fault, "launch");
    return got && !strcmp(got, kind) &&
           (launch < 0 ? json_is_null(at)
                       : json_is_integer(at) && json_integer_value(at) == launch);
}

static void show(const json_t *answer)
{
    char *text = json_dumps(answer, JSON_COMPACT);
    printf("# %s\n", text);
    free(text);
}

static json_t *launch(struct kit_runner *r)
{
    return kit_ask(r,
                   json_pack("{s:s, s:i, s:s, s:b, s:b}", "op", "launch", "slot", 0, "side",
                             "candidate", "capture", 0, "fresh", 0),
                   NULL, 0);
}

static void run_case(const struct kit *k, const struct kit_slot *slot, size_t i)
{
    struct kit_code code;
    struct kit_runner r;
    kit_compile(k, cases[i].source, &code);
    bool ok = kit_start(&r) && kit_ok(kit_open_code(&r, k, &code)) &&
              kit_ok(kit_map(&r, slot, 0, cases[i].place));
    json_t *answer = launch(&r);
    ok = ok && expected(answer, cases[i].kind, cases[i].launch);
    if (!ok)
        show(answer);
    /* What a plan leaves behind must not be there at its next run; what lost its context stays so.
     */
    json_t *again = launch(&r);
    bool sticky = json_is_true(json_object_get(answer, "sticky"));
    ok = ok &&
         (sticky ? expected(again, "infra", -1) : expected(again, cases[i].kind, cases[i].launch));
    if (!ok)
        show(again);
    json_decref(again);
    json_decref(answer);
    kit_stop(&r);
    report(ok, cases[i].name);
    json_decref(code.plan);
    json_decref(code.symbols);
    compile_result_release(&code.compiled);
}

/* A kernel without end: the keeper kills, and the device is free again. */
static void run_hang(const struct kit *k, const struct kit_slot *slot)
{
    struct kit_code code;
    struct kit_runner r;
    struct wire_message m;
    kit_compile(k, PLAN(ONE("1", ""), "") KERNEL("while (*(volatile short *)B != 0x7e01) {}"),
                &code);
    bool ok =
        kit_start(&r) && kit_ok(kit_open_code(&r, k, &code)) && kit_ok(kit_map(&r, slot, 0, "end"));
    json_t *request = json_pack("{s:s, s:i}", "op", "launch", "slot", 0);
    wire_send_json(r.fd, FRAME_REQUEST, request, NULL, 0, KIT_ANSWER_MS, NULL);
    json_decref(request);
    ok = ok && wire_receive(r.fd, &m, LIMIT_FRAME, HANG_MS, NULL) == ERR_DEADLINE;
    int64_t start = now_ms();
    kill(r.pid, SIGKILL);
    int status = kit_stop(&r);
    printf("# killed and reaped in %lld ms\n", (long long)(now_ms() - start));
    ok = ok && WIFSIGNALED(status);
    report(ok, "a kernel without end is killed with its runner");
}

int main(void)
{
    struct kit k;
    struct kit_slot slots[2];
    kit_open(&k, "small");
    kit_slot_new(&k, &slots[0], MEMORY_END, NULL);
    kit_slot_new(&k, &slots[1], MEMORY_START, NULL);
    run_hang(&k, &slots[0]);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        run_case(&k, &slots[!strcmp(cases[i].place, "start")], i);
    report(cu.MemsetD8Async(slots[0].maps[2].address, 0, k.bytes[2], NULL) == CUDA_SUCCESS &&
               cu.StreamSynchronize(NULL) == CUDA_SUCCESS,
           "the keeper's own context is unharmed");
    printf("1..%d\n", tests);
    return failed != 0;
}
