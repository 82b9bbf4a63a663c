/* SPDX-License-Identifier: Apache-2.0 */
/* Which strategy is current: a list of frames that a context keeps, the innermost first. What is traced has its frame
 * on the stack of whoever traces; the outermost one may be set without a scope. */
#include "artel/scope.h"

#include "base/attachment.h"
#include "function/function_impl.h"

typedef struct scopes {
    artel__scope_frame *inner;
    artel_strategy *fallback; /* NULL: nobody has asked for the default one */
} scopes;

static void end_scopes(artel_context *ctx, void *block)
{
    scopes *all = block;
    artel_strategy_destroy(all->fallback);
    artel__free(ctx, all);
    artel__context_attach(ctx, NULL, NULL);
}

static artel_status scopes_of(artel_context *ctx, scopes **out)
{
    void *block = artel__context_attached(ctx);
    if (!block) {
        ARTEL_TRY(artel__calloc(ctx, 1, sizeof(scopes), "scope", &block));
        artel__context_attach(ctx, block, end_scopes);
    }
    *out = block;
    return ARTEL_OK;
}

static scopes *all_of(const artel_context *ctx)
{
    return artel__context_attached(ctx);
}

static const artel__scope_frame *innermost(const artel_context *ctx)
{
    const scopes *all = ctx ? all_of(ctx) : NULL;
    return all ? all->inner : NULL;
}

static bool is_default(const artel_strategy *s)
{
    const scopes *all = all_of(s->ctx);
    return all && all->fallback == s;
}

/* -- frames -- */

static artel_status push(artel_strategy *s, artel__scope_kind kind)
{
    scopes *all;
    void *block;
    ARTEL_TRY(scopes_of(s->ctx, &all));
    ARTEL_TRY(artel__alloc(s->ctx, sizeof(artel__scope_frame), "scope", &block));
    artel__scope_frame *frame = block;
    *frame = (artel__scope_frame){s, kind, all->inner};
    all->inner = frame;
    return ARTEL_OK;
}

static void pop(artel_context *ctx)
{
    scopes *all = all_of(ctx);
    artel__scope_frame *frame = all->inner;
    all->inner = frame->outer;
    artel__free(ctx, frame);
}

artel_status artel__scope_trace(artel_strategy *s, artel__scope_frame *frame)
{
    scopes *all;
    ARTEL_TRY(scopes_of(s->ctx, &all));
    *frame = (artel__scope_frame){s, ARTEL__SCOPE_TRACED, all->inner};
    all->inner = frame;
    return ARTEL_OK;
}

void artel__scope_untrace(artel__scope_frame *frame)
{
    all_of(frame->strategy->ctx)->inner = frame->outer;
}

void artel__scope_forget(const artel_strategy *s)
{
    scopes *all = all_of(s->ctx);
    if (all && all->fallback == s) all->fallback = NULL;
    for (artel__scope_frame **at = all ? &all->inner : NULL; at && *at;) {
        artel__scope_frame *frame = *at;
        if (frame->strategy != s || frame->kind == ARTEL__SCOPE_TRACED) {
            at = &frame->outer;
            continue;
        }
        *at = frame->outer;
        artel__free(s->ctx, frame);
    }
}

/* -- for programs -- */

static artel_status check_not_traced(const artel_strategy *s, const char *what)
{
    const artel__scope_frame *top = innermost(s->ctx);
    if (!top || top->kind != ARTEL__SCOPE_TRACED) return ARTEL_OK;
    return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "scope", "do it outside of the function",
                       "%s of the strategy %s while a function is traced", what, s->plan.name);
}

artel_status artel_strategy_enter(artel_strategy *s)
{
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "strategy", s));
    ARTEL_TRY(check_not_traced(s, "the scope"));
    const artel__scope_frame *top = innermost(s->ctx);
    if (!top || top->strategy == s || is_default(top->strategy)) return push(s, ARTEL__SCOPE_ENTERED);
    return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "scope", "leave the other one first",
                       "a scope of the strategy %s within one of another, %s", s->plan.name, top->strategy->plan.name);
}

artel_status artel_strategy_leave(artel_strategy *s)
{
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "strategy", s));
    ARTEL_TRY(check_not_traced(s, "the end of a scope"));
    const artel__scope_frame *top = innermost(s->ctx);
    if (!top || top->kind != ARTEL__SCOPE_ENTERED)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "scope", "enter it first",
                           "the strategy %s has not been entered", s->plan.name);
    if (top->strategy != s)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "scope", "leave the innermost scope first",
                           "the scope to be left is that of the strategy %s, and the innermost one that of another, %s",
                           s->plan.name, top->strategy->plan.name);
    pop(s->ctx);
    return ARTEL_OK;
}

artel_status artel_strategy_set(artel_context *ctx, artel_strategy *s)
{
    ARTEL_TRY(artel__enter(ctx, __func__, "context", ctx));
    if (s) ARTEL_TRY(artel__need_context(ctx, s->ctx, "the strategy"));
    const artel__scope_frame *top = innermost(ctx);
    bool traced = top && top->kind == ARTEL__SCOPE_TRACED;
    if (top && top->kind != ARTEL__SCOPE_SET)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "scope", "set a strategy outside of scopes",
                           "the strategy %s is set %s %s", s ? s->plan.name : "none",
                           traced ? "while a function is traced for" : "within a scope of", top->strategy->plan.name);
    if (!s && top) pop(ctx);
    if (!s || !top) return s ? push(s, ARTEL__SCOPE_SET) : ARTEL_OK;
    all_of(ctx)->inner->strategy = s;
    return ARTEL_OK;
}

artel_status artel_strategy_get(artel_context *ctx, artel_strategy **out)
{
    scopes *all;
    ARTEL_TRY(artel__enter(ctx, __func__, "context out", ctx, out));
    ARTEL_TRY(scopes_of(ctx, &all));
    if (!all->inner && !all->fallback) ARTEL_TRY(artel_strategy_create(ctx, NULL, &all->fallback));
    *out = all->inner ? all->inner->strategy : all->fallback;
    return ARTEL_OK;
}

bool artel_strategy_has(const artel_context *ctx)
{
    const artel__scope_frame *top = innermost(ctx);
    return top && !is_default(top->strategy);
}

bool artel_strategy_across_replicas(const artel_context *ctx)
{
    return artel_strategy_has(ctx) && innermost(ctx)->kind != ARTEL__SCOPE_TRACED;
}
