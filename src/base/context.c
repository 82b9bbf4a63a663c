/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a context, what it is asked to stop, and its log. */
#include "base/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/clock.h"
#include "base/context_impl.h"
#include "base/extension.h"
#include "base/spill.h"
#include "base/text.h"

static const artel__range context_ranges[] = {{".log_level", ARTEL__RANGE_INT,
                                               offsetof(artel_context_options, log_level), ARTEL_LOG_ERROR,
                                               ARTEL_LOG_DEBUG, NULL},
                                              {.name = NULL}};
static const artel__options_kind context_kind = {"context options", "begin with ARTEL_CONTEXT_OPTIONS_INIT",
                                                 sizeof(artel_context_options), context_ranges};

artel_status artel_context_create(const artel_context_options *options, artel_context **out)
{
    artel_context_options chosen = ARTEL_CONTEXT_OPTIONS_INIT;
    artel__isa isa = ARTEL__ISA_BASELINE;
    ARTEL_TRY(artel__enter(NULL, __func__, "out", out));
    ARTEL_TRY(artel__take_options(NULL, &context_kind, options, &chosen));
    ARTEL_TRY(artel__isa_choose(chosen.isa, &isa));
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
    if (context->attached.end) context->attached.end(context, context->attached.block);
    artel__extensions_fini(context);
    pthread_mutex_destroy(&context->lendable_mutex);
    pthread_mutex_destroy(&context->error_mutex);
    pthread_mutex_destroy(&context->log_mutex);
    artel__spill_close(context);
    free(context->line);
    free(context);
}

void artel__context_attach(artel_context *ctx, void *block, artel__attachment_end *end)
{
    ctx->attached = (struct artel__attachment){block, end};
}

void *artel__context_attached(const artel_context *ctx)
{
    return ctx->attached.block;
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

void artel__log_limit(artel_context *ctx, artel_log_level least)
{
    ctx->log_level = least;
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
    bool shown = ctx->log && level <= ctx->log_level, kept = ctx->line && level < ARTEL_LOG_DEBUG;
    if (!shown && !kept) return; /* a line that nobody wants costs this */
    va_start(args, format);
    vsnprintf(quoted, sizeof quoted, format, args);
    va_end(args);
    artel__clean(quoted, strlen(quoted), text, sizeof text);
    pthread_mutex_lock(&ctx->log_mutex);
    if (kept) keep_line(ctx, level, text);
    if (shown) ctx->log(ctx->log_user, level, text);
    pthread_mutex_unlock(&ctx->log_mutex);
}
