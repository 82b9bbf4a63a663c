/* SPDX-License-Identifier: Apache-2.0 */
/* Models, losses, gradients and what is written at the end of a run.
 *
 * Weights of products lie in panels (ARCHITECTURE.md); so do their gradients. A place remembers the matrix, and panels
 * become plain only where an operation wants to see elements; an optimizer takes them as they are.
 */
#include <string.h>

#include "function/function_impl.h"
#include "function/graph_whole.h"
#include "function/spec.h"
#include "function/tape.h"
#include "op/elementwise.h"
#include "op/fuse.h"
#include "op/loss.h"
#include "op/optimize.h"

/* -- models and losses -- */

/* Joins operations inside; everything that the caller holds stays what it is. */
static artel_status fuse(artel_graph *g, artel__tensor *out, int outputs)
{
    artel__value_id **held = artel__arena_alloc(g->graph->arena, (size_t)(g->places + 2 * outputs) + 2, sizeof *held);
    if (!held) return g->graph->status = ARTEL_ERROR_NO_MEMORY;
    int count = 0;
    for (int i = 0; i < g->places; i++) {
        if (g->place[i].value >= 0) held[count++] = &g->place[i].value;
    }
    for (int i = 0; i < outputs; i++) {
        held[count++] = &out[i].value;
        if (out[i].mask >= 0) held[count++] = &out[i].mask;
    }
    if (g->graph->extra >= 0) held[count++] = &g->graph->extra;
    return artel__op_fuse(g->graph, held, count);
}

artel_status artel__graph_call_model(artel_graph *g, const artel__adopted *adopted, const artel_value *inputs,
                                     artel_value *outputs)
{
    artel__model *nn = adopted->model->nn;
    artel__graph *graph = g->graph;
    artel__tensor *in = artel__arena_alloc(graph->arena, (size_t)nn->inputs + 1, sizeof *in);
    artel__tensor *out = artel__arena_alloc(graph->arena, (size_t)nn->outputs + 1, sizeof *out);
    if (!in || !out) return graph->status = ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < nn->inputs; i++) {
        bool text = nn->input[i].dtype == ARTEL_DTYPE_STRING;
        in[i] = (artel__tensor){text ? artel__texts_input(g, inputs[i], nn->input[i].name)
                                     : artel__graph_take(g, inputs[i]),
                                ARTEL__NO_VALUE};
        ARTEL_TRY(graph->status);
        artel_dtype given = graph->value[in[i].value].dtype;
        bool wide = nn->input[i].dtype == ARTEL_DTYPE_FLOAT64;
        bool real = artel__is_floating(nn->input[i].dtype);
        if (given == ARTEL_DTYPE_INT64 && !wide)
            in[i].value = artel__op_cast(graph, in[i].value, real ? ARTEL_DTYPE_FLOAT32 : ARTEL_DTYPE_INT32);
        if (given == ARTEL_DTYPE_FLOAT64 && !wide)
            in[i].value = artel__op_cast(graph, in[i].value, ARTEL_DTYPE_FLOAT32);
        if (wide) in[i].value = artel__op_cast(graph, in[i].value, ARTEL_DTYPE_FLOAT64);
    }
    for (int i = 0; i < nn->inputs; i++) {
        const artel__value *given = &graph->value[in[i].value];
        const artel__model_input *wanted = &nn->input[i];
        bool fits = given->domain == ARTEL__DOMAIN_ROW && given->shape.rank == wanted->shape.rank;
        for (int d = 0; fits && d < wanted->shape.rank; d++)
            fits = wanted->shape.dim[d] < 0 || wanted->shape.dim[d] == given->shape.dim[d];
        char a[128], b[128];
        if (!fits)
            return artel__graph_refuse(
                       g, ARTEL_ERROR_INVALID, wanted->name, "give rows of the shape of the input",
                       "an input of %s%s for %s", given->domain == ARTEL__DOMAIN_ROW ? "" : "a shared value of ",
                       artel__shape_text(&given->shape, given->domain == ARTEL__DOMAIN_ROW, a, sizeof a),
                       artel__shape_text(&wanted->shape, true, b, sizeof b)),
                   graph->status;
    }
    artel__ahead ahead;
    bool texts = artel__texts_takes(nn);
    if (texts) ARTEL_TRY(artel__texts_begin(g, nn, inputs, in, &ahead));
    graph->variable_base = adopted->base;
    graph->extra = ARTEL__NO_VALUE;
    artel_status status = artel__model_call(nn, graph, in, out);
    graph->variable_base = 0;
    graph->ahead = NULL;
    if (texts && status == ARTEL_OK) status = artel__ahead_check(graph);
    if (status < 0 && graph->status == ARTEL_OK) graph->status = status;
    ARTEL_TRY(graph->status);
    ARTEL_TRY(fuse(g, out, nn->outputs));
    for (int i = 0; i < nn->outputs; i++) outputs[i] = artel__graph_give(g, out[i].value);
    artel__extras_note(g, adopted, outputs, out);
    graph->extra = ARTEL__NO_VALUE;
    return graph->status;
}

artel_status artel_graph_call(artel_graph *g, artel_model *model, const artel_value *inputs, int input_count,
                              artel_value *outputs, int output_count)
{
    ARTEL_TRY(artel__need(g ? g->ctx : NULL, __func__, "graph", g));
    ARTEL_TRY(g->graph->status);
    artel__adopted *adopted = model && g->strategy ? artel__strategy_find(g->strategy, model) : NULL;
    if (!adopted)
        return artel__graph_refuse(g, ARTEL_ERROR_INVALID, "model", "call artel_strategy_add_model first",
                                   "the strategy does not hold the weights of this model"),
               g->graph->status;
    if (!inputs || !outputs || input_count != model->nn->inputs || output_count != model->nn->outputs)
        return artel__graph_refuse(g, ARTEL_ERROR_INVALID, model->nn->name, "give all of both",
                                   "the model has %d inputs and %d outputs, the call %d and %d", model->nn->inputs,
                                   model->nn->outputs, input_count, output_count),
               g->graph->status;
    artel__tape_entry *entry = artel__tape_begin(
        g, &(artel__tape_entry){.kind = ARTEL__TAPE_CALL, .which = adopted->number}, inputs, input_count);
    ARTEL_TRY(artel__graph_call_model(g, adopted, inputs, outputs));
    artel__tape_end(g, entry, outputs, output_count);
    return g->graph->status;
}

artel_value artel_graph_loss(artel_graph *g, const char *loss, artel_value target, artel_value prediction)
{
    artel__loss_config config;
    json_t *json = NULL;
    if (!g || g->graph->status < 0) return ARTEL_NO_VALUE;
    artel__value_id t = artel__graph_take(g, target), p = artel__graph_take(g, prediction);
    if (g->graph->status < 0) return ARTEL_NO_VALUE;
    artel_status status = artel__read_spec(g->ctx, "loss", loss, &json);
    if (status == ARTEL_OK)
        status =
            artel__loss_read_for(g->graph->arena, json, &g->graph->value[p].shape, &g->graph->value[t].shape, &config);
    json_decref(json);
    if (status == ARTEL_OK) {
        artel__tape_entry *entry = artel__tape_begin(g, &(artel__tape_entry){.kind = ARTEL__TAPE_LOSS, .name = loss},
                                                     (const artel_value[]){target, prediction}, 2);
        if (g->graph->value[t].dtype == ARTEL_DTYPE_INT64) { /* int32 holds classes, but not what is measured */
            bool real = config.target == ARTEL__TARGET_SAME || config.target == ARTEL__TARGET_ONE_HOT;
            t = artel__op_cast(g->graph, t, real ? artel__real_of(g->graph, p) : ARTEL_DTYPE_INT32);
        }
        artel__value_id value = artel__loss_add(g->graph, &config, t, p);
        return artel__tape_gave(g, entry, artel__graph_give(g, value));
    }
    g->graph->status = status;
    return ARTEL_NO_VALUE;
}

/* -- gradients -- */

static artel__value_id seed_of(artel__graph *graph, artel__value_id target)
{
    bool wide = graph->value[target].dtype == ARTEL_DTYPE_FLOAT64;
    if (wide || graph->value[target].domain != ARTEL__DOMAIN_ROW) return artel__op_fill_like(graph, target, 1);
    artel__loss_seed seed = {
        .like = target, .weights = ARTEL__NO_VALUE, .denominator = ARTEL__NO_VALUE, .scale = 1, .sum = true};
    return artel__op_loss_seed(graph, &seed);
}

artel_status artel_graph_gradients(artel_graph *g, artel_value target, const artel_value *wanted, int count,
                                   artel_value *out)
{
    ARTEL_TRY(artel__need(g ? g->ctx : NULL, __func__, "graph", g));
    artel__graph *graph = g->graph;
    ARTEL_TRY(graph->status);
    if (!wanted || !out || count < 1)
        return artel__graph_refuse(g, ARTEL_ERROR_INVALID, "gradients",
                                   "name at least one value and room for its gradient", "an argument is missing"),
               graph->status;
    artel__value_id of = artel__graph_take(g, target);
    artel__value_id *id = artel__arena_alloc(graph->arena, 2 * (size_t)count, sizeof *id), *made = id + count;
    if (!id) graph->status = ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < count && graph->status == ARTEL_OK; i++) {
        const artel__place *place = artel__graph_place(g, wanted[i]);
        if (place) id[i] = place->value;
    }
    ARTEL_TRY(graph->status);
    if (graph->value[of].dtype > ARTEL_DTYPE_FLOAT64)
        return artel__graph_refuse(g, ARTEL_ERROR_INVALID, "gradients", "differentiate a float32 or float64 value",
                                   "the target is %s", artel_dtype_name(graph->value[of].dtype)),
               graph->status;
    artel_value *asked = artel__arena_alloc(graph->arena, (size_t)count + 1, sizeof *asked);
    if (!asked) return graph->status = ARTEL_ERROR_NO_MEMORY;
    asked[0] = target;
    memcpy(asked + 1, wanted, (size_t)count * sizeof *asked);
    artel__tape_entry *entry =
        artel__tape_begin(g, &(artel__tape_entry){.kind = ARTEL__TAPE_GRADIENTS}, asked, count + 1);
    artel__value_id seed = seed_of(graph, of);
    ARTEL_TRY(graph->status);
    artel__differentiate request = {.add = &artel__op_binary_def,
                                    .narrow = &artel__op_narrow_def,
                                    .targets = &of,
                                    .seeds = &seed,
                                    .target_count = 1,
                                    .wanted = id,
                                    .wanted_count = count};
    ARTEL_TRY(artel__graph_differentiate(graph, &request, made));
    for (int i = 0; i < count; i++) {
        const artel__place like = g->place[asked[i + 1]];
        out[i] = artel__graph_give_weights(g, made[i], like.rows, &like.shape);
    }
    graph->phase = ARTEL__PHASE_BACKWARD; /* what follows works on gradients */
    artel__tape_end(g, entry, out, count);
    return graph->status;
}

/* -- what is written -- */

/* The value in the layout of a variable. */
static artel__value_id fit_to(artel_graph *g, const artel_variable *variable, artel_value value, const char *what)
{
    artel__graph *graph = g->graph;
    const artel__variable *to = &g->strategy->variables.item[variable->index];
    const artel__place *place = artel__graph_place(g, value);
    if (!place) return ARTEL__NO_VALUE;
    const artel__value *from = &graph->value[place->value];
    char a[128], b[128];
    if (from->domain != ARTEL__DOMAIN_GLOBAL || from->dtype != artel__variable_held(to) ||
        !artel__shape_equal(&place->shape, &to->shape)) {
        artel__graph_refuse(
            g, ARTEL_ERROR_INVALID, to->name,
            from->domain == ARTEL__DOMAIN_ROW ? "reduce the rows, or declare the variable's aggregation"
                                              : "give a shared value of the variable's shape and element type",
            "%s of %s%s for a variable of %s", what, from->domain == ARTEL__DOMAIN_ROW ? "rows " : "",
            artel__shape_text(&place->shape, false, a, sizeof a), artel__shape_text(&to->shape, false, b, sizeof b));
        return ARTEL__NO_VALUE;
    }
    bool panels = from->layout == ARTEL__LAYOUT_PANELS;
    if (panels == (to->layout == ARTEL__LAYOUT_PANELS) && (!panels || place->rows == to->rows)) return place->value;
    artel__value_id plain = artel__graph_take(g, value);
    return to->layout == ARTEL__LAYOUT_PANELS ? artel__op_panels_of(graph, plain, to->rows) : plain;
}

/* Both sides of a choice are computed, and all rounds of a loop: what they write would be written always. */
bool artel__graph_may_write(artel_graph *g, const char *variable)
{
    if (g->bodies == 0) return true;
    artel__graph_refuse(g, ARTEL_ERROR_UNSUPPORTED, variable, "give the value back, and write it behind that",
                        "a function of a choice, a loop or a scan writes a variable");
    return false;
}

static bool may_write(artel_graph *g, const artel_variable *variable)
{
    artel_strategy *s = g->strategy;
    if (!s) {
        artel__graph_refuse(g, ARTEL_ERROR_UNSUPPORTED, "variable", "write variables in functions of a strategy",
                            "a part of a model writes no variables");
        return false;
    }
    if (!variable || variable->strategy != s) {
        artel__graph_refuse(g, ARTEL_ERROR_INVALID, "variable", "use a variable of the strategy that traces",
                            "the variable is %s", variable ? "another strategy's" : "NULL");
        return false;
    }
    if (variable->words) {
        g->graph->status = artel__words_refuse(variable, "sums");
        return false;
    }
    if (!artel__graph_may_write(g, s->variables.item[variable->index].name)) return false;
    if (g->assigned[variable->index]) {
        artel__graph_refuse(g, ARTEL_ERROR_INVALID, s->variables.item[variable->index].name, "write each variable once",
                            "the function writes this variable twice");
        return false;
    }
    return g->assigned[variable->index] = true;
}

/* Whole rows in int64, and the low bits of that. */
static artel_value sum_low(artel_graph *g, artel_value value)
{
    static const int64_t half = 32;
    artel_value by = artel_graph_constant(g, ARTEL_DTYPE_INT64, &(artel_shape){0}, &half);
    value = artel_graph_op(g, "cast", &value, 1, "{\"dtype\": \"int64\"}");
    value = artel_graph_binary(g, "left_shift", artel_graph_reduce(g, ARTEL_REDUCTION_SUM, value), by);
    value = artel_graph_binary(g, "right_shift", value, by);
    return artel_graph_op(g, "cast", &value, 1, "{\"dtype\": \"int32\"}");
}

/* Those of int32 are added up in float64, and saturate; of fewer bits they wrap around, as int64 do. */
static artel_value sum_rows(artel_graph *g, const artel_variable *variable, artel_value value)
{
    const artel__variable *to = &g->strategy->variables.item[variable->index];
    bool whole = to->dtype == ARTEL_DTYPE_INT32;
    if (!artel__is_floating(to->dtype) && artel__variable_held(to) == ARTEL_DTYPE_INT32 && !whole)
        return sum_low(g, value);
    if (whole) value = artel_graph_op(g, "cast", &value, 1, "{\"dtype\": \"float64\"}");
    value = artel_graph_reduce(g, ARTEL_REDUCTION_SUM, value);
    return whole ? artel_graph_op(g, "cast", &value, 1, "{\"dtype\": \"int32\"}") : value;
}

/* What rows become, as the variable says; by public calls, which a saved function makes again. */
static artel_value aggregate(artel_graph *g, const artel_variable *variable, artel_value value)
{
    static const int32_t first = 0;
    artel__aggregation how = variable->joining.aggregation;
    artel_value pair[2];
    bool rows = false;
    if (how != ARTEL__AGGREGATION_NONE) artel_graph_describe(g, value, NULL, NULL, &rows);
    if (!rows) return value;
    if (how == ARTEL__AGGREGATION_SUM) return sum_rows(g, variable, value);
    if (how == ARTEL__AGGREGATION_MEAN) return artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, value);
    pair[0] = artel_graph_gather(g, value);
    pair[1] = artel_graph_constant(g, ARTEL_DTYPE_INT32, &(artel_shape){0}, &first);
    return artel_graph_op(g, "take", pair, 2, "{\"axis\": 0}");
}

static void write(artel_graph *g, const artel_variable *variable, artel_value value)
{
    const artel__variable *to = &g->strategy->variables.item[variable->index];
    artel__value_id fitted = fit_to(g, variable, value, "a value");
    if (fitted < 0) return;
    fitted = artel__whole_low(g->graph, to, fitted);
    artel__tape_begin(g, &(artel__tape_entry){.kind = ARTEL__TAPE_ASSIGN, .which = variable->index}, &value, 1);
    if (g->strategy->servers) {
        artel__elsewhere_assign(g, variable, fitted);
        return;
    }
    artel__value_id id = artel__graph_variable(g->graph, variable->index);
    g->graph->scope = to->name;
    artel__op_assign(g->graph, id, fitted);
    g->graph->scope = "";
}

void artel_graph_assign(artel_graph *g, artel_variable *variable, artel_value value)
{
    if (!g || g->graph->status < 0) return;
    if (g->texts && variable && variable->words && variable->strategy == g->strategy)
        artel__graph_text.assign(g, variable, value);
    else if (may_write(g, variable))
        write(g, variable, aggregate(g, variable, value));
}

/* -- what is added -- */

/* A total that each replica adds to is none of what all have alike. */
static bool may_add(artel_graph *g, const artel_variable *variable, artel_value value)
{
    const artel__joining *joining = &variable->joining;
    bool rows = false;
    artel_graph_describe(g, value, NULL, NULL, &rows);
    if (joining->synchronization != ARTEL__SYNCHRONIZATION_ON_READ || joining->aggregation != ARTEL__AGGREGATION_SUM ||
        rows || artel__graph_place(g, value) == NULL)
        return g->graph->status == ARTEL_OK;
    artel__graph_refuse(g, ARTEL_ERROR_INVALID, g->strategy->variables.item[variable->index].name,
                        "add rows, each its own part; or assign the new total",
                        "a shared value for a sum that is synchronised on_read");
    return false;
}

/* By public calls, which a saved function makes again; servers add it up themselves. */
static void add(artel_graph *g, artel_variable *variable, artel_value value, bool less)
{
    if (!g || g->graph->status < 0 || !may_write(g, variable) || !may_add(g, variable, value)) return;
    value = aggregate(g, variable, value);
    if (fit_to(g, variable, value, "a value") < 0) return;
    if (less) value = artel_graph_unary(g, "negative", value);
    if (!g->strategy->servers)
        write(g, variable, artel_graph_binary(g, "add", artel_graph_variable(g, variable), value));
    else if (value >= 0)
        artel__elsewhere_add(g, variable, fit_to(g, variable, value, "a value"));
}

void artel_graph_assign_add(artel_graph *g, artel_variable *variable, artel_value value)
{
    add(g, variable, value, false);
}

void artel_graph_assign_sub(artel_graph *g, artel_variable *variable, artel_value value)
{
    add(g, variable, value, true);
}

static artel_status apply(artel_graph *g, artel_optimizer *optimizer, const artel_value *gradients)
{
    artel__graph *graph = g->graph;
    artel__value_id *fitted = artel__arena_alloc(graph->arena, (size_t)optimizer->count + 1, sizeof *fitted);
    if (!fitted) return graph->status = ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < optimizer->count; i++) {
        if (!may_write(g, optimizer->variable[i])) return graph->status;
        fitted[i] = gradients[i] < 0 ? ARTEL__NO_VALUE : fit_to(g, optimizer->variable[i], gradients[i], "a gradient");
        ARTEL_TRY(graph->status);
    }
    graph->phase = ARTEL__PHASE_BACKWARD;
    graph->scope = "optimizer";
    graph->optimizer = g->applies - 1;
    if (g->strategy->servers) {
        artel_status status = artel__elsewhere_apply(g, optimizer, fitted);
        graph->scope = "";
        return status;
    }
    artel__value_id gate = graph->gate, scale = artel__optimizer_scale(&optimizer->rule, graph, &optimizer->slots);
    bool divide = artel__optimizer_wants_unscaled(&optimizer->rule);
    graph->gate = ARTEL__NO_VALUE; /* another optimizer's */
    ARTEL_TRY(artel__optimizer_unscale(graph, &optimizer->slots, scale, fitted, divide));
    ARTEL_TRY(
        artel__optimizer_add(&optimizer->rule, graph, &optimizer->slots, fitted, divide ? ARTEL__NO_VALUE : scale));
    graph->phase = ARTEL__PHASE_APPLY;
    graph->gating = graph->gate >= 0;
    for (int i = 0; i < optimizer->count; i++) {
        if (fitted[i] < 0) continue;
        artel__constraint_apply(graph, &optimizer->variable[i]->constraint,
                                artel__graph_variable(graph, optimizer->variable[i]->index));
    }
    graph->phase = ARTEL__PHASE_BACKWARD;
    graph->scope = "";
    graph->optimizer = 0;
    graph->gating = false;
    if (graph->gate < 0) graph->gate = gate;
    return graph->status;
}

/* Servers and the tasks of a session count the steps of one optimizer a function. */
static bool may_step(artel_graph *g, artel_optimizer *optimizer)
{
    void *block = artel__arena_alloc(g->graph->arena, (size_t)g->applies + 1, sizeof *g->applied);
    for (int i = 0; i < g->applies; i++) {
        if (g->applied[i] != optimizer) continue;
        artel__graph_refuse(g, ARTEL_ERROR_INVALID, "optimizer", "make one step of it with the sum of the gradients",
                            "the function takes two steps of one optimizer");
        return false;
    }
    if (g->applies > 0 && g->strategy->servers) {
        artel__graph_refuse(g, ARTEL_ERROR_UNSUPPORTED, "optimizer", "make a function for each step",
                            "over parameter servers a function takes one step of one optimizer");
        return false;
    }
    if (optimizer->rule.scales_loss && g->scaling) {
        artel__graph_refuse(g, ARTEL_ERROR_UNSUPPORTED, "optimizer", "make a function for each step",
                            "two optimizers of the function scale their losses");
        return false;
    }
    if (!block) {
        g->graph->status = ARTEL_ERROR_NO_MEMORY;
        return false;
    }
    if (optimizer->rule.scales_loss) g->scaling = optimizer;
    if (g->applies > 0) memcpy(block, g->applied, (size_t)g->applies * sizeof *g->applied);
    g->applied = block;
    g->applied[g->applies++] = optimizer;
    return true;
}

void artel_graph_apply(artel_graph *g, artel_optimizer *optimizer, const artel_value *gradients, int count)
{
    if (!g || g->graph->status < 0) return;
    if (!optimizer || !gradients || !g->strategy || optimizer->strategy != g->strategy || count != optimizer->count) {
        artel__graph_refuse(g, ARTEL_ERROR_INVALID, "optimizer",
                            "give an optimizer of the strategy and a gradient for each of its variables",
                            "%d gradients for %d variables", count, optimizer ? optimizer->count : 0);
        return;
    }
    if (!may_step(g, optimizer)) return;
    artel__tape_begin(g, &(artel__tape_entry){.kind = ARTEL__TAPE_APPLY, .which = optimizer->number}, gradients, count);
    artel_status status = apply(g, optimizer, gradients);
    if (status < 0 && g->graph->status == ARTEL_OK) g->graph->status = status;
}
