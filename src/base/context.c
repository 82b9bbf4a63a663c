/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a context: options, instruction set, error record, log, cancellation.
 *
 * The error record belongs to the context and not to a thread, so that a failure noticed by any worker reaches the
 * caller; the first cause wins because later ones are mostly its consequences. A call that names no context, or fails to
 * create one, has its record kept for the thread: with the switch of failures.h all that outlives contexts.
 */
#include "base/context.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/clock.h"
#include "base/context_impl.h"
#include "base/extension.h"
#include "base/failures.h"
#include "base/spill.h"
#include "base/text.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

static _Thread_local artel_error no_context; /* of this thread's last call without a context */
static _Thread_local bool forgets;           /* this thread's failures (failures.h) */

static const char *const isa_names[ARTEL__ISA_COUNT] = {"baseline", "avx2", "avx512", "avx512_bf16", "amx"};

const char *artel__isa_name(artel__isa isa)
{
    return (unsigned)isa < ARTEL__ISA_COUNT ? isa_names[isa] : "unknown";
}

const char *artel__arithmetic_name(artel__arithmetic arithmetic)
{
    return arithmetic == ARTEL__ARITHMETIC_TILES ? "tiles" : "chain";
}

#if defined(__x86_64__)
/* By hand, for clang 14 does not know the name. */
static bool cpu_has_f16c(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}
#endif

#if defined(__x86_64__)
enum {
    CPU_AMX_BF16 = 1 << 22, /* leaf 7, EDX */
    CPU_AMX_TILE = 1 << 24,
    ARCH_REQUEST = 0x1023, /* ARCH_REQ_XCOMP_PERM of arch_prctl(2) */
    XFEATURE_XTILEDATA = 18
};

/* Whether the processor has AMX for bfloat16 and the kernel lets this process use it: the permission is asked for once a process, and
 * every thread made afterwards or before has it. */
static bool cpu_has_amx(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & CPU_AMX_BF16) || !(d & CPU_AMX_TILE)) return false;
#if defined(SYS_arch_prctl)
    return syscall(SYS_arch_prctl, ARCH_REQUEST, XFEATURE_XTILEDATA) == 0;
#else
    return false;
#endif
}
#endif

artel__isa artel__isa_of_machine(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && cpu_has_f16c();
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
    if (avx512 && __builtin_cpu_supports("avx512bf16")) return cpu_has_amx() ? ARTEL__ISA_AMX : ARTEL__ISA_AVX512_BF16;
    return avx512 ? ARTEL__ISA_AVX512 : avx2 ? ARTEL__ISA_AVX2 : ARTEL__ISA_BASELINE;
#else
    return ARTEL__ISA_BASELINE;
#endif
}

static artel_status choose_isa(const char *name, artel__isa *out)
{
    artel__isa best = artel__isa_of_machine();
    if (!name || !*name || strcmp(name, "auto") == 0) {
        *out = best;
        return ARTEL_OK;
    }
    for (int i = 0; i < ARTEL__ISA_COUNT; i++) {
        if (strcmp(name, isa_names[i]) != 0) continue;
        if (i > (int)best)
            return artel__fail(NULL, ARTEL_ERROR_UNSUPPORTED, "isa", "give \"auto\", or one that it has",
                               "this machine has no %s (the best it has is %s)", name, isa_names[best]);
        *out = (artel__isa)i;
        return ARTEL_OK;
    }
    return artel__fail(NULL, ARTEL_ERROR_INVALID, "isa", "give \"auto\", \"baseline\", \"avx2\", \"avx512\", \"avx512_bf16\" or \"amx\"",
                       "there is no instruction set \"%.60s\"", name);
}

static const artel__range context_ranges[] = {
    {".log_level", ARTEL__RANGE_INT, offsetof(artel_context_options, log_level), ARTEL_LOG_ERROR, ARTEL_LOG_DEBUG, NULL}, {.name = NULL}};
static const artel__options_kind context_kind = {"context options", "begin with ARTEL_CONTEXT_OPTIONS_INIT", sizeof(artel_context_options),
                                                 context_ranges};

artel_status artel_context_create(const artel_context_options *options, artel_context **out)
{
    artel_context_options chosen = ARTEL_CONTEXT_OPTIONS_INIT;
    artel__isa isa = ARTEL__ISA_BASELINE;
    ARTEL_TRY(artel__enter(NULL, __func__, "out", out));
    ARTEL_TRY(artel__take_options(NULL, &context_kind, options, &chosen));
    ARTEL_TRY(choose_isa(chosen.isa, &isa));
    artel_context *ctx = calloc(1, sizeof(*ctx));
    if (!ctx) return artel__fail_memory(NULL, "context", sizeof *ctx);
    ctx->isa = isa;
    ctx->log = chosen.log;
    ctx->log_user = chosen.log_user;
    ctx->log_level = chosen.log_level;
    pthread_mutex_init(&ctx->log_mutex, NULL);
    pthread_mutex_init(&ctx->error_mutex, NULL);
    pthread_mutex_init(&ctx->lendable_mutex, NULL);
    *out = ctx;
    return ARTEL_OK;
}

void artel_context_destroy(artel_context *context)
{
    if (!context) return;
    artel__extensions_fini(context);
    pthread_mutex_destroy(&context->lendable_mutex);
    pthread_mutex_destroy(&context->error_mutex);
    pthread_mutex_destroy(&context->log_mutex);
    artel__spill_close(context);
    free(context->line);
    free(context);
}

void artel_context_cancel(artel_context *context)
{
    if (context) atomic_store(&context->cancelled, 1);
}

void artel_context_preempt(artel_context *context)
{
    if (context) atomic_store(&context->preempted, 1);
}

bool artel__cancelled(const artel_context *ctx)
{
    return ctx && atomic_load_explicit(&ctx->cancelled, memory_order_relaxed) != 0;
}

bool artel__preempted(const artel_context *ctx)
{
    return ctx && atomic_load_explicit(&ctx->preempted, memory_order_relaxed) != 0;
}

const artel_error *artel_context_error(const artel_context *context)
{
    return context ? &context->error : &no_context;
}

void artel__operation_begin(artel_context *ctx)
{
    artel_error *error = ctx ? &ctx->error : &no_context;
    if (ctx) pthread_mutex_lock(&ctx->error_mutex);
    error->status = ARTEL_OK;
    error->where[0] = error->what[0] = error->advice[0] = '\0';
    if (ctx) pthread_mutex_unlock(&ctx->error_mutex);
}

void artel_context_clear(artel_context *context)
{
    artel__operation_begin(context);
    if (!context) return;
    atomic_store(&context->cancelled, 0);
    atomic_store(&context->preempted, 0);
}

artel__isa artel__context_isa(const artel_context *ctx)
{
    return ctx->isa;
}

/* Copies what fits, cleaned: it quotes files, and what came by network. */
static void copy_text(char *target, size_t size, const char *source)
{
    artel__clean(source ? source : "", source ? strlen(source) : 0, target, size);
}

bool artel__failures_forget(bool forget)
{
    bool before = forgets;
    forgets = forget;
    return before;
}

artel_status artel__fail(artel_context *ctx, artel_status status, const char *where, const char *advice, const char *format, ...)
{
    va_list args;
    if (forgets) return status;
    artel_error *error = ctx ? &ctx->error : &no_context;
    if (ctx) pthread_mutex_lock(&ctx->error_mutex);
    if (error->status == ARTEL_OK) {
        char what[sizeof error->what];
        copy_text(error->where, sizeof(error->where), where);
        copy_text(error->advice, sizeof(error->advice), advice);
        va_start(args, format);
        vsnprintf(what, sizeof what, format, args);
        va_end(args);
        copy_text(error->what, sizeof error->what, what);
        error->status = status;
    }
    if (ctx) pthread_mutex_unlock(&ctx->error_mutex);
    return status;
}

static const char *errno_advice(int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT: return "free some space or choose another place";
    case EACCES:
    case EPERM: return "check the permissions";
    case EROFS: return "choose a place that can be written to";
    case EFBIG: return "raise the limit on the size of files (ulimit -f) or choose another place";
    case EISDIR: return "name a file, not a directory";
    case ENOTDIR: return "check the path: a part of it is a file, not a directory";
    case EAGAIN: return "raise the limit on processes and threads (ulimit -u, pids.max of the control group)";
    case EMFILE:
    case ENFILE: return "raise the limit on open files (ulimit -n)";
    case ENAMETOOLONG: return "choose a shorter name";
    case EADDRINUSE: return "end the process that listens there, or choose another port";
    case EADDRNOTAVAIL: return "give an address of this machine";
    case ELOOP: return "check the symbolic links of the path";
    case EPIPE: return "who was to read it has closed it before its end";
    case EBADF: return "it is not open: start the program with it open, or send it to a file";
    default: return "check the path and the disk";
    }
}

/* Whether the path or address is at fault: it would be refused another time, too, and on any disk. */
static bool is_refused_by_name(int error)
{
    static const int errors[] = {EACCES, EPERM, EROFS, EISDIR, ENOTDIR, ENAMETOOLONG, ELOOP};
    for (size_t i = 0; i < ARTEL__COUNT(errors); i++) {
        if (errors[i] == error) return true;
    }
    return false;
}

artel_status artel__fail_errno(artel_context *ctx, const char *where, const char *what)
{
    int error = errno;
    char buffer[128] = "";
    const char *reason = strerror_r(error, buffer, sizeof(buffer));
    if (error == ENOENT) return artel__fail(ctx, ARTEL_ERROR_NOT_FOUND, where, "check the path", "cannot %s: %s", what, reason);
    if (error == ENOMEM)
        return artel__fail(ctx, ARTEL_ERROR_NO_MEMORY, where, "use a smaller batch or model, or a machine with more memory",
                           "cannot %s: %s", what, reason);
    return artel__fail(ctx, is_refused_by_name(error) ? ARTEL_ERROR_INVALID : ARTEL_ERROR_IO, where, errno_advice(error), "cannot %s: %s",
                       what, reason);
}

artel_status artel__fail_memory(artel_context *ctx, const char *where, size_t bytes)
{
    return artel__fail(ctx, ARTEL_ERROR_NO_MEMORY, where, "use a smaller batch or model, or a machine with more memory",
                       "%zu bytes of memory are not to be had", bytes);
}

struct artel__log_line {
    artel_log_level level;
    int64_t at_ns;
    char text[224];
};

artel_status artel__log_keep(artel_context *ctx, int lines)
{
    struct artel__log_line *line = calloc((size_t)lines, sizeof *line);
    if (!line) return artel__fail_memory(ctx, "log", (size_t)lines * sizeof *line);
    pthread_mutex_lock(&ctx->log_mutex);
    if (!ctx->line) {
        ctx->line = line;
        ctx->lines = lines;
        line = NULL;
    }
    pthread_mutex_unlock(&ctx->log_mutex);
    free(line);
    return ARTEL_OK;
}

void artel__log_kept(artel_context *ctx, artel__log_line_fn *tell, void *user)
{
    int64_t now = artel__now_ns();
    pthread_mutex_lock(&ctx->log_mutex);
    uint64_t count = ctx->told < (uint64_t)ctx->lines ? ctx->told : (uint64_t)ctx->lines;
    for (uint64_t i = ctx->told - count; i < ctx->told; i++) {
        const struct artel__log_line *line = &ctx->line[i % (uint64_t)ctx->lines];
        tell(user, line->level, now - line->at_ns, line->text);
    }
    pthread_mutex_unlock(&ctx->log_mutex);
}

/* With the log's mutex held. */
static void keep_line(artel_context *ctx, artel_log_level level, const char *text)
{
    if (!ctx->line || level >= ARTEL_LOG_DEBUG) return;
    struct artel__log_line *line = &ctx->line[ctx->told++ % (uint64_t)ctx->lines];
    line->level = level;
    line->at_ns = artel__now_ns();
    snprintf(line->text, sizeof line->text, "%.*s", (int)sizeof line->text - 1, text);
}

void artel__log(artel_context *ctx, artel_log_level level, const char *format, ...)
{
    char text[1024], quoted[1024];
    va_list args;
    if (!ctx) return;
    bool shown = ctx->log && level <= ctx->log_level;
    if (!shown && !ctx->line) return;
    va_start(args, format);
    vsnprintf(quoted, sizeof quoted, format, args);
    va_end(args);
    copy_text(text, sizeof text, quoted);
    pthread_mutex_lock(&ctx->log_mutex);
    keep_line(ctx, level, text);
    if (shown) ctx->log(ctx->log_user, level, text);
    pthread_mutex_unlock(&ctx->log_mutex);
}
