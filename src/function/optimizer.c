/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers of a strategy: Keras' rules for variables that the caller names. */
#include <math.h>
#include <string.h>

#include "function/function_impl.h"
#include "function/spec.h"
#include "function/tape.h"

static artel_status check_variables(artel_strategy *s, artel_variable *const *variables, int count)
{
    if (count < 1)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "optimizer", "name at least one variable", "%d variables",
                           count);
    for (int i = 0; i < count; i++) {
        if (!variables[i] || variables[i]->strategy != s)
            return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "optimizer", "use variables of this strategy",
                               "variable %d is %s", i, variables[i] ? "another strategy's" : "NULL");
        ARTEL_TRY(artel__words_refuse(variables[i], "optimizers"));
        artel_dtype dtype = s->variables.item[variables[i]->index].dtype;
        if (!artel__is_floating(dtype))
            return artel__fail(s->ctx, ARTEL_ERROR_INVALID, artel_variable_name(variables[i]), "assign to it",
                               "a variable of %s has no gradient", artel_dtype_name(dtype));
        if (variables[i]->joining.synchronization == ARTEL__SYNCHRONIZATION_ON_READ)
            return artel__fail(s->ctx, ARTEL_ERROR_INVALID, artel_variable_name(variables[i]),
                               "leave out its synchronization", "a variable on_read is no weight to be trained");
        for (int k = 0; k < i; k++) {
            if (variables[k] == variables[i])
                return artel__fail(s->ctx, ARTEL_ERROR_INVALID, artel_variable_name(variables[i]),
                                   "name each variable once", "the variable is named twice");
        }
    }
    return ARTEL_OK;
}

/* Rates of an optimizer that steps a variable of float64 are not rounded to float32. */
static bool any_wide(const artel_strategy *s, artel_variable *const *variables, int count)
{
    for (int i = 0; i < count; i++) {
        if (s->variables.item[variables[i]->index].dtype == ARTEL_DTYPE_FLOAT64) return true;
    }
    return false;
}

static bool scales(const artel__optimizer *rule)
{
    return rule->scales_loss || rule->loss_scale_factor != 1;
}

static artel_status read_rule(artel_strategy *s, const char *text, bool wide, artel__optimizer *out)
{
    json_t *json;
    ARTEL_TRY(artel__read_spec(s->ctx, "optimizer", text, &json));
    artel_status status = artel__optimizer_read(&s->arena, json, s->plan.replicas, s->options.batch_size, out);
    json_decref(json);
    ARTEL_TRY(status);
    if (!s->servers || !scales(out)) {
        status = wide ? artel__optimizer_widen(out) : ARTEL_OK;
        if (status < 0) json_decref(out->record);
        return status;
    }
    json_decref(out->record);
    return artel__fail(s->ctx, ARTEL_ERROR_UNSUPPORTED, "optimizer",
                       "scale the loss in the function, and divide its gradients",
                       "loss scaling by the optimizer over parameter servers");
}

static artel_status declare(artel_optimizer *o, artel_variable *const *variables)
{
    artel_strategy *s = o->strategy;
    int *index = artel__arena_alloc(&s->arena, (size_t)o->count, sizeof *index);
    o->variable = artel__arena_alloc(&s->arena, (size_t)o->count, sizeof *o->variable);
    ARTEL_TRY(artel__arena_status(&s->arena));
    for (int i = 0; i < o->count; i++) {
        o->variable[i] = variables[i];
        index[i] = variables[i]->index;
    }
    if (!s->servers) return artel__optimizer_declare(&o->rule, &s->variables, index, o->count, &o->slots);
    o->slots = (artel__optimizer_slots){.count = o->count, .trainable = index, .product = -1, .scale = -1, .steps = -1};
    return artel__elsewhere_check(s, &o->rule); /* servers have the slots */
}

artel_status artel_optimizer_create(artel_strategy *s, const char *optimizer, artel_variable *const *variables,
                                    int count, artel_optimizer **out)
{
    ARTEL_TRY(
        artel__enter(s ? s->ctx : NULL, __func__, "strategy optimizer variables out", s, optimizer, variables, out));
    ARTEL_TRY(artel__strategy_may_declare(s, "optimizer"));
    ARTEL_TRY(check_variables(s, variables, count));
    artel_optimizer *made = artel__arena_alloc(&s->arena, 1, sizeof *made);
    if (!made) return ARTEL_ERROR_NO_MEMORY;
    made->strategy = s;
    made->count = count;
    ARTEL_TRY(read_rule(s, optimizer, any_wide(s, variables, count), &made->rule));
    artel_status status = declare(made, variables);
    if (status < 0) {
        json_decref(made->rule.record);
        return status;
    }
    made->number = s->optimizer ? s->optimizer->number + 1 : 0;
    made->next = s->optimizer;
    s->optimizer = made;
    *out = made;
    return ARTEL_OK;
}

artel_status artel_optimizer_create_for_model(artel_strategy *s, const char *optimizer, artel_model *model,
                                              artel_optimizer **out)
{
    artel_variable *const *variables;
    int count;
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "strategy optimizer model out", s, optimizer, model, out));
    if (!artel__strategy_find(s, model)) ARTEL_TRY(artel_strategy_add_model(s, model));
    ARTEL_TRY(artel_strategy_variables(s, model, false, &variables, &count));
    return artel_optimizer_create(s, optimizer, variables, count, out);
}

artel_value artel_graph_scale_loss(artel_graph *g, artel_optimizer *o, artel_value loss)
{
    if (!g || g->graph->status < 0) return ARTEL_NO_VALUE;
    if (!o || !g->strategy || o->strategy != g->strategy)
        return artel__graph_refuse(g, ARTEL_ERROR_INVALID, "scale_loss", "use an optimizer of the strategy that traces",
                                   "the optimizer is %s", o ? "another strategy's" : "NULL");
    if (!scales(&o->rule)) return loss;
    artel__tape_entry *entry =
        artel__tape_begin(g, &(artel__tape_entry){.kind = ARTEL__TAPE_SCALE_LOSS, .which = o->number}, &loss, 1);
    struct artel__tape *tape = g->tape;
    g->tape = NULL; /* what it is made of is no call of the program's */
    artel_value scale = artel__graph_give(g, artel__optimizer_scale(&o->rule, g->graph, &o->slots));
    loss = artel_graph_binary(g, "multiply", loss, scale);
    g->tape = tape;
    return artel__tape_gave(g, entry, loss);
}

void artel_graph_minimise(artel_graph *g, artel_optimizer *o, artel_value target)
{
    if (!g || g->graph->status < 0) return;
    if (!o || o->strategy != g->strategy) {
        artel__graph_refuse(g, ARTEL_ERROR_INVALID, "minimise", "use an optimizer of the strategy that traces",
                            "the optimizer is %s", o ? "another strategy's" : "NULL");
        return;
    }
    size_t count = (size_t)o->count;
    artel_value *value = artel__arena_alloc(g->graph->arena, 2 * count, sizeof *value);
    if (!value) {
        g->graph->status = ARTEL_ERROR_NO_MEMORY;
        return;
    }
    for (size_t i = 0; i < count; i++) value[i] = artel_graph_variable(g, o->variable[i]);
    target = artel_graph_scale_loss(g, o, target);
    if (artel_graph_gradients(g, target, value, o->count, value + count) == ARTEL_OK)
        artel_graph_apply(g, o, value + count, o->count);
}

int64_t artel_optimizer_iterations(const artel_optimizer *o)
{
    return o ? o->iterations : 0;
}

artel_status artel_optimizer_set_iterations(artel_optimizer *o, int64_t iterations)
{
    ARTEL_TRY(artel__enter(o ? o->strategy->ctx : NULL, __func__, "optimizer", o));
    ARTEL_TRY(artel__need_count(o->strategy->ctx, "optimizer", iterations, "steps"));
    o->iterations = iterations;
    return ARTEL_OK;
}

artel_status artel_optimizer_set_rate(artel_optimizer *o, double rate)
{
    ARTEL_TRY(artel__enter(o ? o->strategy->ctx : NULL, __func__, "optimizer", o));
    if (!(isfinite(rate) && rate >= 0))
        return artel__fail(o->strategy->ctx, ARTEL_ERROR_INVALID, "optimizer",
                           "give a rate, for example 0.001; 0: what the optimizer has", "a learning rate of %g", rate);
    o->rate = rate;
    return ARTEL_OK;
}
