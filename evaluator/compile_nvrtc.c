// SPDX-License-Identifier: Apache-2.0
#include "evaluator/compile_nvrtc.h"

#include <dlfcn.h>
#include <string.h>

#include "core/util.h"

enum { MAX_RAW_LOG = 64 * MIB, ROOM = 2 /* bytes over a ceiling: NVRTC's NUL and ours */ };

/* NVRTC's interface, as far as it is used: results are int, a program is a pointer. */
struct nvrtc {
    int (*version)(int *major, int *minor);
    int (*create)(void **program, const char *source, const char *name, int headers,
                  const char *const *texts, const char *const *names);
    int (*add_name)(void *program, const char *expression);
    int (*compile)(void *program, int count, const char *const *options);
    int (*log_size)(void *program, size_t *size);
    int (*log)(void *program, char *out);
    int (*ptx_size)(void *program, size_t *size);
    int (*ptx)(void *program, char *out);
    int (*cubin_size)(void *program, size_t *size);
    int (*cubin)(void *program, char *out);
    int (*lowered)(void *program, const char *expression, const char **symbol);
    int (*destroy)(void **program);
    const char *(*error)(int result);
};

static const struct {
    const char *name;
    size_t offset;
} entries[] = {
    {"nvrtcVersion", offsetof(struct nvrtc, version)},
    {"nvrtcCreateProgram", offsetof(struct nvrtc, create)},
    {"nvrtcAddNameExpression", offsetof(struct nvrtc, add_name)},
    {"nvrtcCompileProgram", offsetof(struct nvrtc, compile)},
    {"nvrtcGetProgramLogSize", offsetof(struct nvrtc, log_size)},
    {"nvrtcGetProgramLog", offsetof(struct nvrtc, log)},
    {"nvrtcGetPTXSize", offsetof(struct nvrtc, ptx_size)},
    {"nvrtcGetPTX", offsetof(struct nvrtc, ptx)},
    {"nvrtcGetCUBINSize", offsetof(struct nvrtc, cubin_size)},
    {"nvrtcGetCUBIN", offsetof(struct nvrtc, cubin)},
    {"nvrtcGetLoweredName", offsetof(struct nvrtc, lowered)},
    {"nvrtcDestroyProgram", offsetof(struct nvrtc, destroy)},
    {"nvrtcGetErrorString", offsetof(struct nvrtc, error)},
};

struct nvrtc *nvrtc_load(const struct cuda_paths *paths, struct fault *f)
{
    static struct nvrtc loaded;
    if (!paths->nvrtc[0]) {
        fault_set(f, ERR_UNAVAILABLE, "cannot compile cuda: NVRTC is not installed on this host");
        return NULL;
    }
    if (paths->builtins[0] && !dlopen(paths->builtins, RTLD_NOW | RTLD_GLOBAL)) {
        fault_set(f, ERR_UNAVAILABLE, "cannot load NVRTC: %s", dlerror());
        return NULL;
    }
    void *library = dlopen(paths->nvrtc, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fault_set(f, ERR_UNAVAILABLE, "cannot load NVRTC: %s", dlerror());
        return NULL;
    }
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        void *symbol = dlsym(library, entries[i].name);
        if (!symbol) {
            fault_set(f, ERR_UNAVAILABLE, "cannot load NVRTC: it has no %s", entries[i].name);
            return NULL;
        }
        memcpy((char *)&loaded + entries[i].offset, &symbol, sizeof symbol);
    }
    return &loaded;
}

void nvrtc_version(const struct nvrtc *n, char *out, size_t size)
{
    int major = 0, minor = 0;
    n->version(&major, &minor);
    snprintf(out, size, "%d.%d", major, minor);
}

static void fail(struct nvrtc_output *out, enum err error, const char *why)
{
    out->error = error;
    snprintf(out->why, sizeof out->why, "%s", why);
}

static void take_log(const struct nvrtc *n, void *program, struct nvrtc_output *out)
{
    size_t size = 0;
    if (n->log_size(program, &size) == 0 && size && size <= MAX_RAW_LOG)
        out->log = calloc(1, size + 1);
    if (out->log)
        n->log(program, out->log);
}

/* One artefact; its ceiling is checked before it is copied. */
static void take_artefact(void *program, int (*size_of)(void *, size_t *),
                          int (*get)(void *, char *), const char *what, struct buf *to,
                          struct nvrtc_output *out)
{
    size_t size = 0;
    char *room;
    if (out->error != ERR_NONE)
        return;
    if (size_of(program, &size) != 0 || !size) {
        fail(out, ERR_INVALID, "the compiler made no code");
    } else if (size > to->max - ROOM) {
        fail(out, ERR_TOO_LARGE, "");
        snprintf(out->why, sizeof out->why, "the %s is %zu bytes; at most %zu are allowed", what,
                 size, to->max - ROOM);
    } else if (!(room = buf_room(to, size + 1)) || get(program, room) != 0) {
        fail(out, ERR_INVALID, "the compiler ran out of memory");
    } else {
        to->len += size;
        to->data[to->len] = '\0';
    }
}

static void take_names(const struct nvrtc *n, void *program, const struct nvrtc_job *job,
                       struct nvrtc_output *out)
{
    out->lowered = calloc(job->name_count + 1, sizeof *out->lowered);
    for (size_t i = 0; out->lowered && i < job->name_count; i++) {
        const char *symbol = NULL;
        if (n->lowered(program, job->names[i], &symbol) == 0 && symbol)
            out->lowered[i] = strdup(symbol);
        out->lowered_count = i + 1;
    }
}

void nvrtc_compile(const struct nvrtc *n, const struct nvrtc_job *job, struct nvrtc_output *out)
{
    *out = (struct nvrtc_output){.error = ERR_NONE};
    buf_init(&out->ptx, LIMIT_PTX + ROOM);
    buf_init(&out->cubin, LIMIT_CUBIN + ROOM);
    void *program = NULL;
    int rc = n->create(&program, job->source, job->source_name, (int)job->headers->count,
                       job->headers->texts, job->headers->names);
    for (size_t i = 0; rc == 0 && i < job->name_count; i++)
        rc = n->add_name(program, job->names[i]);
    if (rc == 0)
        rc = n->compile(program, (int)job->option_count, job->options);
    if (program)
        take_log(n, program, out);
    if (!out->log)
        out->log = strdup("");
    take_artefact(program, n->ptx_size, n->ptx, "PTX", &out->ptx, out);
    if (out->ptx.len && out->ptx.data[out->ptx.len - 1] == '\0') /* NVRTC counts it */
        out->ptx.len--;
    if (rc != 0)
        fail(out, ERR_INVALID, n->error(rc));
    take_artefact(program, n->cubin_size, n->cubin, "cubin", &out->cubin, out);
    if (out->error == ERR_NONE)
        take_names(n, program, job, out);
    if (program)
        n->destroy(&program);
}

void nvrtc_output_release(struct nvrtc_output *out)
{
    for (size_t i = 0; i < out->lowered_count; i++)
        free(out->lowered[i]);
    free(out->lowered);
    free(out->log);
    buf_release(&out->ptx);
    buf_release(&out->cubin);
}
