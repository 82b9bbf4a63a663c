/* SPDX-License-Identifier: Apache-2.0 */
/* The optimizer in a model: its nodes in the graph of a step. They follow BaseOptimizer.apply: clip, decay,
 * update (one node a variable does all three), averages. Norms that clipping needs are made before any variable
 * changes. Where gradients are accumulated, all but the averages waits for the last step of a period and reads the
 * sums. Slots are declared in optimizer_slots.c.
 */
#include <string.h>

#include "nn/layer_support.h"
#include "nn/optimizer_matrix.h"
#include "op/elementwise.h"
#include "op/embed.h"
#include "op/norm.h"
#include "op/step_number.h"

/* Why a table's gradient is made in full, in the words of the plan. */
static const char added_up[] = "gradients of several steps are added up",
                  whole_matrix[] = "the step reads lines and columns of it";

static artel__value_id squared_norm(artel__graph *graph, artel__value_id gradient)
{
    artel__value_id squares = artel__op_embedding_occurrences(graph, gradient, ARTEL__OCCURRENCE_SQUARE);
    return squares >= 0 ? artel__op_absolute_norm(graph, squares) : artel__op_squared_norm(graph, gradient);
}

static bool accumulates(const artel__optimizer *optimizer)
{
    return optimizer->accumulation_steps > 1;
}

/* The norms of clipping, before anything changes: of each gradient, or one of all in Keras' order. */
static artel_status add_norms(const artel__optimizer *optimizer, artel__graph *graph,
                              const artel__optimizer_slots *slots, const artel__value_id *gradient,
                              artel__value_id *norm)
{
    artel__value_id *part = artel__arena_alloc(graph->arena, (size_t)slots->count + 1, sizeof *part),
                    all = ARTEL__NO_VALUE;
    int parts = 0;
    if (!part) return ARTEL_ERROR_NO_MEMORY;
    bool each = optimizer->clipnorm > 0, together = !each && optimizer->global_clipnorm > 0;
    for (int i = 0; i < slots->count; i++) {
        norm[i] = ARTEL__NO_VALUE;
        if (gradient[i] < 0 || (!each && !together)) continue;
        norm[i] = squared_norm(graph, gradient[i]);
        part[parts++] = norm[i];
    }
    if (together && parts) all = artel__op_sum_scalars(graph, part, parts);
    for (int i = 0; i < slots->count && together; i++) norm[i] = all;
    return graph->status;
}

artel_status artel__optimizer_norms(const artel__optimizer *optimizer, artel__graph *graph,
                                    const artel__optimizer_slots *slots, const artel__value_id *gradient,
                                    artel__value_id *norm)
{
    if (!accumulates(optimizer)) return add_norms(optimizer, graph, slots, gradient, norm);
    for (int i = 0; i < slots->count; i++) norm[i] = ARTEL__NO_VALUE;
    return graph->status;
}

static void set_clip(const artel__optimizer *optimizer, artel__optimize *o)
{
    if (optimizer->clipnorm > 0) {
        o->clip = ARTEL__CLIP_NORM;
        o->limit = optimizer->clipnorm;
    } else if (optimizer->global_clipnorm > 0) {
        o->clip = ARTEL__CLIP_SCALE;
        o->limit = optimizer->global_clipnorm;
    } else if (optimizer->clipvalue > 0) {
        o->clip = ARTEL__CLIP_VALUE;
        o->limit = optimizer->clipvalue;
    }
}

/* The same in float64, in operations. */
static void go_by_norms_wide(artel__graph *graph, artel__value_id variable, artel__value_id direction,
                             const artel__value_id squares[2])
{
    artel_shape scalar = {.rank = 0};
    artel__value_id norm[2];
    graph->real = ARTEL_DTYPE_FLOAT64;
    for (int i = 0; i < 2; i++)
        norm[i] = artel__op_unary(graph, ARTEL__UNARY_SQRT, NULL, artel__op_reshape(graph, squares[i], &scalar));
    artel__value_id there = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, norm[0], 0),
                    moves = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, norm[1], 0),
                    both = artel__op_logical_and(graph, there, moves),
                    ratio = artel__op_binary(graph, ARTEL__BINARY_DIV, norm[0], norm[1]),
                    one = artel__op_scalar(graph, 1);
    ratio = artel__op_where(graph, both, ratio, one);
    ratio = artel__op_binary(graph, ARTEL__BINARY_MUL, ratio, artel__op_step_number(graph, ARTEL__STEP_RATE, 0));
    artel__value_id step = artel__op_binary(graph, ARTEL__BINARY_MUL, ratio, direction);
    artel__op_assign(graph, variable, artel__op_binary(graph, ARTEL__BINARY_SUB, variable, step));
}

/* The second half of a layer-wise rule: the norms are those of the variable after its decay and of the direction just
 * made. */
static void go_by_norms(artel__graph *graph, artel__value_id variable, artel__value_id direction)
{
    graph->phase = ARTEL__PHASE_APPLY;
    artel__value_id of_variable = artel__op_squared_norm(graph, variable),
                    of_direction = artel__op_squared_norm(graph, direction);
    if (graph->status < 0) return;
    artel_dtype real = graph->real;
    if (graph->value[variable].dtype == ARTEL_DTYPE_FLOAT64)
        go_by_norms_wide(graph, variable, direction, (artel__value_id[]){of_variable, of_direction});
    else
        artel__op_lamb_step(graph, variable, direction, of_variable, of_direction);
    graph->real = real;
}

/* Why a table's gradient is wanted in full: all of it is read. NULL: rows will do. */
static const char *needs_whole_table(const artel__optimizer *optimizer)
{
    if (optimizer->scales_loss) return "the loss scale is for whole gradients";
    return optimizer->clipnorm > 0 || optimizer->global_clipnorm > 0 ? "clipping by norm adds up the whole gradient"
                                                                     : NULL;
}

artel__occurrence artel__optimizer_reads(const artel__optimizer *optimizer)
{
    bool together = optimizer->clipnorm <= 0 &&
                    optimizer->global_clipnorm > 0; /* Keras makes one tensor of a table's gradient there */
    return together ? ARTEL__OCCURRENCE_ITSELF : artel__rule_of(optimizer)->reads;
}

static artel__value_id read_occurrences(const artel__optimizer *optimizer, artel__graph *graph,
                                        artel__value_id gradient)
{
    artel__occurrence of = artel__optimizer_reads(optimizer);
    return of ? artel__op_embedding_occurrences(graph, gradient, of) : ARTEL__NO_VALUE;
}

artel__value_id artel__optimizer_squares(const artel__optimizer *optimizer, artel__graph *graph,
                                         artel__value_id gradient)
{
    return accumulates(optimizer) ? ARTEL__NO_VALUE : read_occurrences(optimizer, graph, gradient);
}

artel__value_id artel__optimizer_clip_table(const artel__optimizer *optimizer, artel__graph *graph,
                                            artel__value_id gradient)
{
    bool by_value = optimizer->clipnorm <= 0 && optimizer->global_clipnorm <= 0 && optimizer->clipvalue > 0;
    bool wanted = by_value && !accumulates(optimizer);
    return wanted ? artel__op_embedding_clip(graph, gradient, optimizer->clipvalue) : ARTEL__NO_VALUE;
}

static bool clips_by_norm(const artel__optimizer *optimizer)
{
    return optimizer->clipnorm > 0 || optimizer->global_clipnorm > 0;
}

bool artel__optimizer_clips_by_norm(const artel__optimizer *optimizer)
{
    return clips_by_norm(optimizer);
}

static bool clips_together(const artel__optimizer *optimizer)
{
    return optimizer->clipnorm <= 0 && optimizer->global_clipnorm > 0;
}

const char *artel__optimizer_reads_whole(const artel__optimizer *optimizer, const artel__variable *variable)
{
    if (!artel__left_to_rule(optimizer, variable)) return whole_matrix;
    if (accumulates(optimizer) && clips_by_norm(optimizer))
        return "clipping is by the norm of the sum of several steps";
    return artel__rule_of(optimizer)->layerwise;
}

const char *artel__optimizer_reads_all(const artel__optimizer *optimizer)
{
    return clips_together(optimizer) && accumulates(optimizer)
               ? "the norm of all gradients together, each the sum of several steps"
               : NULL;
}

const char *artel__optimizer_rows(const artel__optimizer *optimizer, artel__graph *graph, const artel__variable *table,
                                  artel__value_id gradient, artel__embedding_rows *out)
{
    const char *why = needs_whole_table(optimizer), *whole = artel__optimizer_reads_whole(optimizer, table);
    if (optimizer->use_ema) why = "the average of a table changes in all rows";
    if (whole) why = whole;
    if (accumulates(optimizer)) why = added_up;
    artel__occurrence beside = artel__optimizer_reads(optimizer);
    if (optimizer->lazy_rows) /* as TensorFlow's optimizers that step such rows: of the sum of a token's */
        beside = ARTEL__OCCURRENCE_ITSELF;
    return why ? why : artel__op_embedding_rows(graph, gradient, beside, out);
}

bool artel__optimizer_changes_other_rows(const artel__optimizer *optimizer)
{
    return !optimizer->lazy_rows && artel__rule_changes_idle(&optimizer->options, false);
}

/* Rows of a table where they will do, or the whole gradient and, of an embedding's, what the rule reads of occurrences.
 */
static void set_gradient(const artel__optimizer *optimizer, artel__graph *graph, artel__value_id gradient,
                         artel__optimize *o)
{
    const char *why = needs_whole_table(optimizer);
    artel__embedding_rows rows;
    if (!why) why = artel__op_embedding_rows(graph, gradient, artel__optimizer_reads(optimizer), &rows);
    if (!why) {
        o->gradient = rows.rows;
        o->squares = rows.squares;
        o->rows = true;
        o->token = rows.token;
        o->count = rows.count;
        o->others = artel__rule_changes_idle(&optimizer->options, false);
        return;
    }
    artel__op_embedding_explain(graph, gradient, why);
    o->gradient = gradient;
    o->squares = read_occurrences(optimizer, graph, gradient);
}

artel__value_id artel__optimizer_scale(const artel__optimizer *optimizer, artel__graph *graph,
                                       const artel__optimizer_slots *slots)
{
    if (slots->scale >= 0) return artel__graph_variable(graph, slots->scale);
    if (optimizer->loss_scale_factor == 1) return ARTEL__NO_VALUE;
    artel_shape scalar = {.rank = 0};
    float factor = (float)optimizer->loss_scale_factor;
    return artel__op_constant(graph, ARTEL_DTYPE_FLOAT32, &scalar, &factor);
}

bool artel__optimizer_wants_unscaled(const artel__optimizer *optimizer)
{
    return optimizer->clipnorm > 0 || optimizer->clipvalue > 0 || optimizer->global_clipnorm > 0 ||
           optimizer->accumulation_steps > 1 || optimizer->wide;
}

static artel_status add_gate(artel__graph *graph, const artel__optimizer_slots *slots, const artel__value_id *gradient)
{
    artel__value_id *part = artel__arena_alloc(graph->arena, (size_t)slots->count + 1, sizeof *part);
    int parts = 0;
    if (!part) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < slots->count; i++) {
        if (gradient[i] < 0 || graph->status < 0) continue;
        bool wide = graph->value[gradient[i]].dtype == ARTEL_DTYPE_FLOAT64; /* whose squares may overflow */
        part[parts++] = squared_norm(graph, wide ? artel__op_affine(graph, gradient[i], 0, 0) : gradient[i]);
    }
    if (parts) graph->gate = artel__op_sum_scalars(graph, part, parts);
    return graph->status;
}

static artel__value_id unscaled(artel__graph *graph, artel__value_id gradient, artel__value_id scale)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_dtype dtype = graph->value[gradient].dtype;
    if (dtype != ARTEL_DTYPE_FLOAT64) return artel__op_unscale(graph, gradient, scale);
    return artel__op_binary(graph, ARTEL__BINARY_DIV, gradient, artel__op_cast(graph, scale, dtype));
}

artel_status artel__optimizer_unscale(artel__graph *graph, const artel__optimizer_slots *slots, artel__value_id scale,
                                      artel__value_id *gradient, bool divide)
{
    if (slots->scale >= 0) ARTEL_TRY(add_gate(graph, slots, gradient));
    for (int i = 0; i < slots->count && scale >= 0 && divide; i++) {
        if (gradient[i] >= 0) gradient[i] = unscaled(graph, gradient[i], scale);
    }
    return graph->status;
}

static void set_slots(artel__graph *graph, const artel__optimizer_slots *slots, int i, artel__optimize *o)
{
    for (int k = 0; k < slots->per_variable; k++) {
        int slot = slots->slot[i * slots->per_variable + k];
        o->slot[k] = slot >= 0 ? artel__graph_variable(graph, slot) : ARTEL__NO_VALUE;
    }
}

static void add_update(const artel__optimizer *optimizer, artel__graph *graph, const artel__optimizer_slots *slots,
                       int i, const artel__optimizer_input *in, artel__value_id scale)
{
    artel__value_id gradient = in->gradient[i];
    artel__optimize o = {.options = optimizer->options,
                         .squared_norm = in->norm[i],
                         .u_product = ARTEL__NO_VALUE,
                         .scale = scale,
                         .variable = artel__graph_variable(graph, slots->trainable[i]),
                         .slots = slots->per_variable};
    const artel__variable *variable = &graph->variables->item[slots->trainable[i]];
    if (artel__variable_narrow(variable)) o.options.held = variable->dtype;
    set_clip(optimizer, &o);
    if (in->clipped && in->clipped[i]) o.clip = ARTEL__CLIP_NONE;
    if (o.clip == ARTEL__CLIP_VALUE) {
        artel__value_id clipped = artel__op_embedding_clip(graph, gradient, optimizer->clipvalue);
        if (clipped >= 0) gradient = clipped, o.clip = ARTEL__CLIP_NONE;
    }
    if (!artel__left_to_rule(optimizer, variable)) {
        set_slots(graph, slots, i, &o);
        artel__op_embedding_explain(graph, gradient, whole_matrix);
        o.squares =
            in->squares ? in->squares[i] : artel__op_embedding_occurrences(graph, gradient, ARTEL__OCCURRENCE_SQUARE);
        artel__matrix_step(optimizer, graph, variable, &o, gradient);
        return;
    }
    if (in->rows && in->rows[i].token >= 0) {
        o.gradient = gradient;
        o.rows = true;
        o.token = in->rows[i].token;
        o.count = in->rows[i].count;
        o.squares = ARTEL__NO_VALUE;
    } else
        set_gradient(optimizer, graph, gradient, &o);
    if (in->squares) o.squares = in->squares[i];
    set_slots(graph, slots, i, &o);
    if (slots->product >= 0) o.u_product = artel__graph_variable(graph, slots->product);
    artel__op_optimize(graph, &o);
    if (artel__rule_of(optimizer)->layerwise) go_by_norms(graph, o.variable, o.slot[2]);
}

/* The gradients of a period in its last step: the sums that they were added to. */
static artel_status accumulate(const artel__optimizer *optimizer, artel__graph *graph,
                               const artel__optimizer_slots *slots, artel__optimizer_input *in)
{
    artel__value_id *norm = artel__arena_alloc(graph->arena, (size_t)slots->count + 1, sizeof *norm);
    artel__value_id *sum = artel__arena_alloc(graph->arena, (size_t)slots->count + 1, sizeof *sum);
    if (!sum || !norm) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < slots->count; i++) {
        artel__value_id added = in->gradient[i];
        sum[i] = ARTEL__NO_VALUE;
        if (added < 0) continue;
        sum[i] = artel__graph_variable(graph, slots->sum[i]);
        artel__op_embedding_explain(graph, added, added_up);
        artel__op_accumulate(graph, sum[i], added, optimizer->accumulation_steps);
    }
    graph->period = optimizer->accumulation_steps;
    graph->phase = ARTEL__PHASE_APPLY;
    bool given = in->norm && clips_together(optimizer);
    *in = (artel__optimizer_input){.gradient = sum, .norm = given ? in->norm : norm};
    return given ? graph->status : add_norms(optimizer, graph, slots, sum, norm);
}

/* What clipping would find in the last step of a period, before anything is written; in others what there is so far. */
artel_status artel__optimizer_preview_norms(const artel__optimizer *optimizer, artel__graph *graph,
                                            const artel__optimizer_slots *slots, const artel__value_id *gradient,
                                            artel__value_id *norm)
{
    for (int i = 0; i < slots->count; i++) {
        artel__value_id x = gradient[i];
        if (x >= 0 && slots->sum)
            x = artel__op_accumulated(graph, artel__graph_variable(graph, slots->sum[i]), x,
                                      optimizer->accumulation_steps);
        norm[i] = x >= 0 ? artel__op_squared_norm(graph, x) : ARTEL__NO_VALUE;
    }
    return graph->status;
}

static void clear_sums(artel__graph *graph, const artel__optimizer_slots *slots, const artel__optimizer_input *in)
{
    for (int i = 0; i < slots->count && slots->sum; i++) artel__op_clear(graph, in->gradient[i]);
    graph->period = 1;
}

static void add_averages(const artel__optimizer *optimizer, artel__graph *graph, const artel__optimizer_slots *slots)
{
    for (int i = 0; i < slots->count && slots->average; i++) {
        artel__op_ema(graph, artel__graph_variable(graph, slots->average[i]),
                      artel__graph_variable(graph, slots->trainable[i]), optimizer->ema_momentum,
                      optimizer->ema_overwrite_frequency, optimizer->accumulation_steps);
    }
}

static artel_status add_own_norms(const artel__optimizer *optimizer, artel__graph *graph,
                                  const artel__optimizer_slots *slots, artel__optimizer_input *in)
{
    artel__value_id *norm = artel__arena_alloc(graph->arena, (size_t)slots->count + 1, sizeof *norm);
    if (!norm) return ARTEL_ERROR_NO_MEMORY;
    in->norm = norm;
    return add_norms(optimizer, graph, slots, in->gradient, norm);
}

static void add_loss_scale(const artel__optimizer *optimizer, artel__graph *graph, const artel__optimizer_slots *slots)
{
    if (graph->gate < 0) return;
    artel__op_loss_scale(graph, artel__graph_variable(graph, slots->scale), artel__graph_variable(graph, slots->steps),
                         graph->gate, optimizer->growth_steps);
}

artel_status artel__optimizer_step(const artel__optimizer *optimizer, artel__graph *graph,
                                   const artel__optimizer_slots *slots, const artel__optimizer_input *in)
{
    artel__phase phase = graph->phase;
    artel__optimizer_input own = *in;
    graph->gating = graph->gate >= 0;
    if (slots->sum)
        ARTEL_TRY(accumulate(optimizer, graph, slots, &own));
    else if (!own.norm)
        ARTEL_TRY(add_own_norms(optimizer, graph, slots, &own));
    if (slots->product >= 0)
        artel__op_nadam_product(graph, artel__graph_variable(graph, slots->product), optimizer->options.beta_1);
    for (int i = 0; i < slots->count; i++) {
        if (own.gradient[i] >= 0) add_update(optimizer, graph, slots, i, &own, ARTEL__NO_VALUE);
    }
    clear_sums(graph, slots, &own);
    add_averages(optimizer, graph, slots);
    graph->gating = false;
    add_loss_scale(optimizer, graph, slots);
    graph->phase = phase;
    return graph->status;
}

artel_status artel__optimizer_add(const artel__optimizer *optimizer, artel__graph *graph,
                                  const artel__optimizer_slots *slots, const artel__value_id *gradient,
                                  artel__value_id scale)
{
    artel__phase phase = graph->phase;
    artel__optimizer_input in = {.gradient = gradient};
    graph->gating = graph->gate >= 0;
    graph->phase = ARTEL__PHASE_BACKWARD;
    if (slots->sum)
        ARTEL_TRY(accumulate(optimizer, graph, slots, &in));
    else
        ARTEL_TRY(add_own_norms(optimizer, graph, slots, &in));
    if (slots->product >= 0)
        artel__op_nadam_product(graph, artel__graph_variable(graph, slots->product), optimizer->options.beta_1);
    for (int i = 0; i < slots->count; i++) {
        if (in.gradient[i] >= 0) add_update(optimizer, graph, slots, i, &in, scale);
        graph->phase = ARTEL__PHASE_BACKWARD;
    }
    clear_sums(graph, slots, &in);
    add_averages(optimizer, graph, slots);
    graph->gating = false;
    add_loss_scale(optimizer, graph, slots);
    graph->phase = phase;
    return graph->status;
}
