/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of a strategy, as objects of keras.metrics: their accumulators are a variable of float64, so they live as all
 * variables do (replicas, units that are taken back, checkpoints, saved functions), and the value is made of them by
 * this machine. */
#include <stdio.h>
#include <string.h>

#include "function/function_impl.h"
#include "function/spec.h"
#include "function/tape.h"
#include "nn/loss.h"
#include "nn/record.h"
#include "op/elementwise.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

enum {
    NAME_ROOM = 1024
};

/* What a metric is read as. */
typedef struct rule {
    artel__metric metric;
    bool value; /* Mean, Sum: of a value by itself */
    bool sum;
} rule;

struct artel_metric {
    artel_strategy *strategy;
    const char *text; /* as it was given */
    artel_shape prediction;
    rule rule;
    artel_variable *sums;
};

static artel_status read_rule(artel__arena *arena, json_t *json, const artel_shape *prediction, bool classes, rule *out)
{
    artel__record record;
    const artel__loss_config by_class = {.target = ARTEL__TARGET_INDEX};
    ARTEL_TRY(artel__record_parse(arena->ctx, "metrics", "metric", json, &record));
    bool mean = artel__name_in(record.name, (const char *const[]){"Mean", "mean", NULL}),
         sum = artel__name_in(record.name, (const char *const[]){"Sum", "sum", NULL});
    if (!mean && !sum) return artel__metric_read(arena, json, prediction, classes ? &by_class : NULL, &out->metric);
    static const artel__option none[] = {{.name = NULL}};
    ARTEL_TRY(artel__record_options(arena, record.name, none, record.config, &record));
    const char *name = record.by_name ? NULL : json_string_value(json_object_get(record.config, "name"));
    *out = (rule){.metric = {.name = artel__arena_strdup(arena, name   ? name
                                                                : mean ? "mean"
                                                                       : "sum"),
                             .sums = 2},
                  .value = true,
                  .sum = sum};
    return artel__arena_status(arena);
}

static artel_status read_text(artel__arena *arena, const char *text, const artel_shape *prediction, bool classes,
                              rule *out)
{
    json_t *json;
    *out = (rule){.sum = false};
    ARTEL_TRY(artel__read_spec(arena->ctx, "metric", text, &json));
    artel_status status = read_rule(arena, json, prediction, classes, out);
    json_decref(json);
    return status;
}

/* -- objects -- */

/* "metrics/NAME", or the next of "metrics/NAME_1" and on that is free. */
static artel_status declare(artel_metric *m)
{
    char name[NAME_ROOM];
    artel_strategy *s = m->strategy;
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    o.dtype = ARTEL_DTYPE_FLOAT64;
    o.shape = (artel_shape){1, {m->rule.metric.sums}};
    o.name = name;
    snprintf(name, sizeof name, "metrics/%s", m->rule.metric.name);
    for (int again = 1; artel__strategy_named(s, name); again++)
        snprintf(name, sizeof name, "metrics/%s_%d", m->rule.metric.name, again);
    return artel_variable_create(s, &o, &m->sums);
}

static artel_status check_prediction(artel_context *ctx, const artel_shape *prediction)
{
    if (prediction->rank >= 0 && prediction->rank <= ARTEL_MAX_RANK && artel_shape_count(prediction) >= 1)
        return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, "metric", "give 0 to 8 axes of at least 1",
                       "the prediction's shape has no elements");
}

artel_status artel_metric_create(artel_strategy *s, const char *metric, const artel_shape *prediction,
                                 artel_metric **out)
{
    static const artel_shape scalar = {.rank = 0};
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "strategy metric out", s, metric, out));
    if (!prediction) prediction = &scalar;
    ARTEL_TRY(check_prediction(s->ctx, prediction));
    if (s->servers)
        return artel__fail(s->ctx, ARTEL_ERROR_UNSUPPORTED, "metric",
                           "give what it is made of as outputs, or evaluate on the chief",
                           "metrics over parameter servers, which have no variables of float64");
    artel_metric *m = artel__arena_alloc(&s->arena, 1, sizeof *m);
    if (!m) return ARTEL_ERROR_NO_MEMORY;
    *m = (artel_metric){.strategy = s, .text = artel__arena_strdup(&s->arena, metric), .prediction = *prediction};
    ARTEL_TRY(artel__arena_status(&s->arena));
    ARTEL_TRY(read_text(&s->arena, metric, prediction, false, &m->rule));
    ARTEL_TRY(declare(m));
    *out = m;
    return ARTEL_OK;
}

const char *artel_metric_name(const artel_metric *m)
{
    return m ? m->rule.metric.name : "";
}

static artel_status value_of(const artel_metric *m, const double *sums, double *values, int most)
{
    const artel__metric *metric = &m->rule.metric;
    int count = metric->values ? metric->values : 1;
    for (int i = 0; i < count && i < most; i++) {
        values[i] = !m->rule.value                ? artel__metric_result(metric, sums, i)
                    : m->rule.sum || sums[1] == 0 ? sums[0]
                                                  : sums[0] / sums[1];
    }
    return (artel_status)count;
}

int artel_metric_result(artel_metric *m, double *values, int most)
{
    double *sums;
    void *block;
    ARTEL_TRY(artel__enter(m ? m->strategy->ctx : NULL, __func__, "metric", m));
    if (most < 0 || (most > 0 && !values))
        return artel__fail(m->strategy->ctx, ARTEL_ERROR_INVALID, m->rule.metric.name, "give room for its values",
                           "room for %d values", most);
    ARTEL_TRY(artel__calloc(m->strategy->ctx, (size_t)m->rule.metric.sums, sizeof *sums, "metric", &block));
    sums = block;
    artel_status status = artel_variable_read_as(m->sums, ARTEL_DTYPE_FLOAT64, sums, m->rule.metric.sums);
    if (status == ARTEL_OK) status = value_of(m, sums, values, most);
    artel__free(m->strategy->ctx, block);
    return status;
}

artel_status artel_metric_reset(artel_metric *m)
{
    void *zeros;
    ARTEL_TRY(artel__enter(m ? m->strategy->ctx : NULL, __func__, "metric", m));
    ARTEL_TRY(artel__calloc(m->strategy->ctx, (size_t)m->rule.metric.sums, sizeof(double), "metric", &zeros));
    artel_status status = artel_variable_assign_as(m->sums, ARTEL_DTYPE_FLOAT64, zeros, m->rule.metric.sums);
    artel__free(m->strategy->ctx, zeros);
    return status;
}

/* -- in a graph -- */

static artel__value_id wrong(artel_graph *g, const rule *r, const char *what, artel__value_id value)
{
    char text[128];
    const artel__value *v = &g->graph->value[value];
    artel__graph_refuse(g, ARTEL_ERROR_INVALID, r->metric.name, "give rows as keras.metrics has them", "%s of %s%s",
                        what, v->domain == ARTEL__DOMAIN_ROW ? "" : "a shared value of ",
                        artel__shape_text(&v->shape, v->domain == ARTEL__DOMAIN_ROW, text, sizeof text));
    return ARTEL__NO_VALUE;
}

static bool same_shape(const artel_shape *a, const artel_shape *b)
{
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++) same = a->dim[i] == b->dim[i];
    return same;
}

/* The prediction without its last axis. */
static artel_shape positions(const artel__graph *graph, artel__value_id prediction)
{
    artel_shape shape = graph->value[prediction].shape;
    if (shape.rank > 0) shape.rank--;
    return shape;
}

/* As the metric wants it: class numbers, or numbers like the prediction. One axis of 1 is as good as none. */
static artel__value_id fit_target(artel_graph *g, const rule *r, artel__value_id target, artel__value_id prediction)
{
    artel__graph *graph = g->graph;
    bool numbers = r->metric.target == ARTEL__TARGET_NUMBER || r->metric.target == ARTEL__TARGET_LIST,
         classes = r->metric.target == ARTEL__TARGET_INDEX || numbers;
    artel_shape wanted = classes ? positions(graph, prediction) : graph->value[prediction].shape;
    if (graph->value[target].domain != ARTEL__DOMAIN_ROW) return wrong(g, r, "a target", target);
    if (classes && graph->value[target].dtype != ARTEL_DTYPE_INT32)
        target = artel__op_cast(graph, target, ARTEL_DTYPE_INT32);
    if (!classes) target = artel__op_cast(graph, target, artel__real_of(graph, prediction));
    if (graph->status < 0 || numbers) return target;
    artel_shape given = graph->value[target].shape, line = given;
    if (given.rank == wanted.rank + 1 && given.dim[given.rank - 1] == 1) line.rank--;
    if (given.rank + 1 == wanted.rank && wanted.dim[given.rank] == 1) line.dim[line.rank++] = 1;
    if (!same_shape(&line, &wanted)) return wrong(g, r, "a target", target);
    return same_shape(&line, &given) ? target : artel__op_reshape(graph, target, &wanted);
}

static artel__value_id fit_weight(artel_graph *g, const rule *r, artel__value_id weight, artel__value_id prediction)
{
    artel__graph *graph = g->graph;
    if (weight < 0) return weight;
    artel_shape at = positions(graph, prediction), scalar = {.rank = 0}, given = graph->value[weight].shape;
    bool row = graph->value[weight].domain == ARTEL__DOMAIN_ROW;
    if (row && given.rank == 1 && given.dim[0] == 1 && at.rank == 0) weight = artel__op_reshape(graph, weight, &scalar);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    given = graph->value[weight].shape;
    if (!row || (given.rank > 0 && !same_shape(&given, r->value ? &graph->value[prediction].shape : &at)))
        return wrong(g, r, "a weight", weight);
    return artel__op_cast(graph, weight, artel__real_of(graph, prediction));
}

/* Of a shared value: itself, and that it is one. */
static artel__value_id sums_of_shared(artel_graph *g, const rule *r, artel__value_id value, artel__value_id weight)
{
    static const double one = 1;
    artel__graph *graph = g->graph;
    const artel_shape line = {1, {1}};
    if (graph->value[value].shape.rank > 0 || weight >= 0) return wrong(g, r, "a value", value);
    artel__value_id part[2];
    part[0] = artel__op_reshape(graph, artel__op_cast(graph, value, ARTEL_DTYPE_FLOAT64), &line);
    part[1] = artel__op_constant(graph, ARTEL_DTYPE_FLOAT64, &line, &one);
    return artel__op_concat(graph, part, 2, 0);
}

/* Sums of a batch, shared. `place` holds target, prediction and weight. */
static artel__value_id sums_of(artel_graph *g, const char *text, const artel_shape *prediction,
                               const artel__value_id *value)
{
    artel__graph *graph = g->graph;
    rule r;
    artel_dtype given = value[0] >= 0 ? graph->value[value[0]].dtype : ARTEL_DTYPE_FLOAT32;
    bool classes = given == ARTEL_DTYPE_INT32 || given == ARTEL_DTYPE_INT64;
    artel_status status = check_prediction(g->ctx, prediction); /* a file may say anything */
    if (status == ARTEL_OK) status = read_text(graph->arena, text, prediction, classes, &r);
    if (status < 0) return graph->status = status, ARTEL__NO_VALUE;
    bool rows = graph->value[value[1]].domain == ARTEL__DOMAIN_ROW;
    if (r.value == (value[0] >= 0))
        return artel__graph_refuse(g, ARTEL_ERROR_INVALID, r.metric.name,
                                   r.value ? "give ARTEL_NO_VALUE as its target" : "give targets and predictions",
                                   r.value ? "it is of values, and has no target" : "a target is missing"),
               ARTEL__NO_VALUE;
    if (r.value && !rows) return sums_of_shared(g, &r, value[1], value[2]);
    if (!rows || (!r.value && !same_shape(&graph->value[value[1]].shape, prediction)))
        return wrong(g, &r, "a prediction", value[1]);
    artel__value_id real = graph->value[value[1]].dtype == ARTEL_DTYPE_FLOAT64
                               ? value[1]
                               : artel__op_cast(graph, value[1], ARTEL_DTYPE_FLOAT32);
    artel__value_id weight = fit_weight(g, &r, value[2], real);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    if (r.value) return artel__op_all_reduce(graph, artel__op_fold_weighted(graph, real, weight));
    artel__value_id target = fit_target(g, &r, value[0], real);
    return artel__op_all_reduce(graph, artel__metric_add(graph, &r.metric, target, real, weight));
}

artel_value artel__graph_metric(artel_graph *g, const char *text, const artel_shape *prediction,
                                const artel_value *inputs)
{
    artel__value_id value[3];
    if (g->graph->status < 0) return ARTEL_NO_VALUE;
    artel__tape_entry *entry = artel__tape_begin(
        g, &(artel__tape_entry){.kind = ARTEL__TAPE_METRIC, .name = text, .shape = *prediction}, inputs, 3);
    for (int i = 0; i < 3; i++)
        value[i] = inputs[i] == ARTEL_NO_VALUE && i != 1 ? ARTEL__NO_VALUE : artel__graph_take(g, inputs[i]);
    if (g->graph->status < 0) return ARTEL_NO_VALUE;
    artel__value_id sums = sums_of(g, text, prediction, value);
    return g->graph->status < 0 ? ARTEL_NO_VALUE : artel__tape_gave(g, entry, artel__graph_give(g, sums));
}

void artel_graph_update_metric(artel_graph *g, artel_metric *m, artel_value target, artel_value prediction,
                               artel_value weight)
{
    const artel_value inputs[3] = {target, prediction, weight};
    if (!g || g->graph->status < 0) return;
    if (!m || m->strategy != g->strategy) {
        artel__graph_refuse(g, ARTEL_ERROR_INVALID, "metric", "use a metric of the strategy that traces",
                            "the metric is %s", m ? "another strategy's" : "NULL");
        return;
    }
    artel_value sums = artel__graph_metric(g, m->text, &m->prediction, inputs);
    artel_graph_assign(g, m->sums, artel_graph_binary(g, "add", artel_graph_variable(g, m->sums), sums));
}
