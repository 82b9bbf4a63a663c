/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a strategy: variables are final, and every replica gets its state, pool and thread. Under whatever runs or
 * reads something; who makes and ends strategies (strategy.c) is above it all. */
#include "function/function_impl.h"

artel_status artel__strategy_may_declare(artel_strategy *s, const char *what)
{
    if (!s->open) return ARTEL_OK;
    return artel__fail(s->ctx, ARTEL_ERROR_INVALID, what,
                       "declare variables, models and optimizers before the first run",
                       "the strategy has run; its variables are final");
}

static void start_variables(artel_strategy *s)
{
    artel__state *state = s->state[0];
    for (artel_variable *v = s->variable; v; v = v->next) {
        if (v->initial) artel__state_store(state, v->index, v->initial);
    }
    for (artel_optimizer *o = s->optimizer; o; o = o->next) {
        const uint8_t *at = o->restored;
        for (int i = 0; i < o->slots.file_count; i++) {
            int slot = o->slots.file_order[i];
            int source = artel__optimizer_slot_source(&o->rule, &o->slots, slot);
            double start = artel__optimizer_slot_start(&o->rule, &o->slots, slot);
            if (at)
                artel__state_store(state, slot, at);
            else if (source >= 0)
                artel__state_assign(state, slot, source);
            else if (start != 0)
                artel__state_fill(state, slot, start);
            if (at) at += artel__variable_bytes(&s->variables.item[slot]);
        }
        artel__free(s->ctx, o->restored);
        o->restored = NULL;
    }
}

static artel_status start_models(artel_strategy *s)
{
    for (artel__adopted *a = s->adopted; a; a = a->next) {
        const artel__variables *from = a->model->nn->variables;
        for (int i = 0; i < from->count; i++) {
            void *plain;
            ARTEL_TRY(artel__alloc(s->ctx, artel__variable_bytes(&from->item[i]) + 1, "weights", &plain));
            artel__state_fetch(a->model->weights, i, plain);
            artel__state_store(s->state[0], a->base + i, plain);
            artel__free(s->ctx, plain);
        }
    }
    return ARTEL_OK;
}

static artel_status open_replicas(artel_strategy *s)
{
    int replicas = s->plan.replicas;
    s->state = artel__arena_alloc(&s->arena, (size_t)replicas, sizeof *s->state);
    s->pool = artel__arena_alloc(&s->arena, (size_t)replicas, sizeof *s->pool);
    ARTEL_TRY(artel__arena_status(&s->arena));
    for (int r = 0; r < replicas; r++) {
        if (s->common && r > 0)
            s->state[r] = s->state[0];
        else
            ARTEL_TRY(artel__state_create(s->ctx, &s->variables, &s->state[r]));
        ARTEL_TRY(artel__pool_create(s->ctx, s->plan.threads_of[r], &s->pool[r]));
    }
    ARTEL_TRY(start_models(s));
    start_variables(s);
    for (int r = 1; r < replicas && !s->common; r++)
        artel__state_copy(s->state[r], s->state[0], artel__all_of(&s->variables));
    return artel__crew_create(s->ctx, replicas, s->plan.threads <= artel__usable_cores(), &s->crew);
}

artel_status artel__strategy_open(artel_strategy *s)
{
    if (s->crew) return ARTEL_OK;
    if (s->open)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "strategy", "make a new one",
                           "the strategy could not be opened");
    s->open = true;
    if (s->servers) ARTEL_TRY(artel__elsewhere_place(s));
    return open_replicas(s);
}

artel_status artel__strategy_bring(const artel_strategy *s)
{
    return s->devices && s->crew ? artel__state_bring(s->state[0]) : ARTEL_OK;
}

artel_status artel__strategy_bring_all(const artel_strategy *s)
{
    for (int r = 0; s->devices && s->crew && r < (s->common ? 1 : s->plan.replicas); r++)
        ARTEL_TRY(artel__state_bring(s->state[r]));
    return ARTEL_OK;
}
