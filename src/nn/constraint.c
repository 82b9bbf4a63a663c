/* SPDX-License-Identifier: Apache-2.0 */
/* Constraints on weights, applied after the optimizer's step (keras/src/constraints). Norms run along axes of the plain
 * shape. Where these are neighbours, and not the columns of panels, the projection is a kernel; else it is put together
 * from operations. */
#include <math.h>
#include <string.h>

#include "nn/parts.h"
#include "nn/record.h"
#include "op/elementwise.h"
#include "op/optimize.h"
#include "op/reduce.h"

typedef struct settings {
    double max_value, min_value, rate;
    artel__ints axis;
} settings;

struct artel__constraint_def {
    const char *class_name;
    const char *names[2];
    const artel__option *options;
    artel__constraint op;
};

#define FLOAT(key, fallback, help)                                                         \
    {                                                                                      \
#key, help, ARTEL__OPTION_FLOAT, offsetof(settings, key), fallback, 0, 1e300, NULL \
    }
#define AXIS                                                                                        \
    {                                                                                               \
        "axis", "axes of the weight", ARTEL__OPTION_INTS, offsetof(settings, axis), "0", 0, 0, NULL \
    }
#define END          \
    {                \
        .name = NULL \
    }

static const artel__option max_options[] = {FLOAT(max_value, "2", "greatest norm"), AXIS, END};
static const artel__option unit_options[] = {AXIS, END};
static const artel__option no_options[] = {END};
static const artel__option min_max_options[] = {FLOAT(min_value, "0.0", "least norm"),
                                                FLOAT(max_value, "1.0", "greatest norm"),
                                                FLOAT(rate, "1.0", "how far to go, 0 to 1"), AXIS, END};

static const artel__constraint_def table[] = {
    {"MaxNorm", {"max_norm"}, max_options, ARTEL__CONSTRAINT_MAX_NORM},
    {"NonNeg", {"non_neg"}, no_options, ARTEL__CONSTRAINT_NON_NEG},
    {"UnitNorm", {"unit_norm"}, unit_options, ARTEL__CONSTRAINT_UNIT_NORM},
    {"MinMaxNorm", {"min_max_norm"}, min_max_options, ARTEL__CONSTRAINT_MIN_MAX_NORM},
};

static const char *const names[] = {"MaxNorm", "NonNeg",    "UnitNorm",     "MinMaxNorm", "max_norm",
                                    "non_neg", "unit_norm", "min_max_norm", NULL};

artel_status artel__constraint_read(artel__arena *arena, const char *where, json_t *json, artel__constraint_config *out)
{
    *out = (artel__constraint_config){0};
    if (!json || json_is_null(json)) return ARTEL_OK;
    artel__record record;
    ARTEL_TRY(artel__record_parse(arena->ctx, where, "constraint", json, &record));
    for (size_t i = 0; i < ARTEL__COUNT(table); i++) {
        if (strcmp(table[i].class_name, record.name) != 0 && !artel__name_in(record.name, table[i].names)) continue;
        settings *s = artel__arena_alloc(arena, 1, sizeof *s);
        if (!s) return ARTEL_ERROR_NO_MEMORY;
        *out = (artel__constraint_config){&table[i], s};
        return artel__record_options(arena, where, table[i].options, record.config, s);
    }
    return artel__record_unknown(arena->ctx, where, "constraint", record.name, names, "docs/initializers.md");
}

/* The axes as one range [from, to) of a shape of `rank` axes; false when they are no neighbours. */
static bool axis_range(const artel__ints *axes, int rank, int *from, int *to)
{
    uint32_t seen = 0;
    *from = rank;
    *to = 0;
    for (int i = 0; i < axes->count; i++) {
        int64_t axis = axes->item[i] < 0 ? axes->item[i] + rank : axes->item[i];
        if (axis < 0 || axis >= rank) return false;
        seen |= 1u << axis;
        if (axis < *from) *from = (int)axis;
        if (axis >= *to) *to = (int)axis + 1;
    }
    if (axes->count == 0) return false;
    return seen == (((1u << *to) - 1) & ~((1u << *from) - 1));
}

/* The axes as a bit set, all of them when none is named; 0 when one does not exist. */
static uint32_t axis_bits(const artel__ints *axes, int rank)
{
    uint32_t bits = axes->count ? 0 : (1u << rank) - 1u;
    for (int i = 0; i < axes->count; i++) {
        int64_t axis = axes->item[i] < 0 ? axes->item[i] + rank : axes->item[i];
        if (axis < 0 || axis >= rank) return 0;
        bits |= 1u << axis;
    }
    return bits;
}

/* Bounds and rate as they were given; float32 rounds them. */
static void project(artel__graph *graph, const artel__constraint_config *constraint, artel__value_id variable,
                    uint32_t axes)
{
    const settings *s = constraint->config;
    artel__constraint op = constraint->def->op;
    int64_t rows = graph->variables->item[graph->value[variable].variable].rows;
    bool panels = graph->value[variable].layout == ARTEL__LAYOUT_PANELS, between = op == ARTEL__CONSTRAINT_MIN_MAX_NORM,
         wide = graph->value[variable].dtype == ARTEL_DTYPE_FLOAT64;
    double bounds[3] = {between ? s->min_value : 0, s->max_value, 0};
    double rate = wide ? s->rate : (double)(float)s->rate, kept_rate = wide ? 1 - rate : (double)(1 - (float)s->rate);
    artel__phase phase = graph->phase;
    graph->phase = ARTEL__PHASE_APPLY;
    artel__value_id w = artel__op_plain(graph, variable, rows);
    artel__value_id norm =
        artel__op_reduce(graph, ARTEL__REDUCE_SUM, artel__op_unary(graph, ARTEL__UNARY_SQUARE, NULL, w), axes, true);
    norm = artel__op_unary(graph, ARTEL__UNARY_SQRT, NULL, norm);
    artel__value_id wanted = artel__op_unary_exact(graph, ARTEL__UNARY_CLIP, bounds, norm),
                    divisor = artel__op_affine(graph, norm, 1, 1e-7);
    if (between) {
        artel__value_id kept = artel__op_affine(graph, norm, kept_rate, 0);
        wanted = artel__op_add(graph, artel__op_affine(graph, wanted, rate, 0), kept);
    }
    if (op == ARTEL__CONSTRAINT_UNIT_NORM)
        w = artel__op_binary(graph, ARTEL__BINARY_DIV, w, divisor);
    else
        w = artel__op_binary(graph, ARTEL__BINARY_MUL, w, artel__op_binary(graph, ARTEL__BINARY_DIV, wanted, divisor));
    artel__op_assign(graph, variable, panels ? artel__op_panels_of(graph, w, rows) : w);
    graph->phase = phase;
}

void artel__constraint_apply(artel__graph *graph, const artel__constraint_config *constraint, artel__value_id variable)
{
    const settings *s = constraint->config;
    if (!constraint->def || graph->status < 0 || variable < 0) return;
    artel__constrain_config config = {.op = constraint->def->op};
    if (config.op == ARTEL__CONSTRAINT_MIN_MAX_NORM) {
        config.a = (float)s->min_value;
        config.b = (float)s->max_value;
        config.c = (float)s->rate;
    } else {
        config.a = (float)s->max_value;
    }
    int rank = graph->value[variable].shape.rank;
    bool norms = config.op != ARTEL__CONSTRAINT_NON_NEG,
         range = norms && axis_range(&s->axis, rank, &config.from, &config.to);
    if (norms && !axis_bits(&s->axis, rank)) {
        graph->status =
            artel__fail(artel__graph_context(graph), ARTEL_ERROR_INVALID, graph->scope, "choose axes of the weight",
                        "%s: its axes do not exist in a weight of %d axes", constraint->def->class_name, rank);
        return;
    }
    bool columns = graph->value[variable].layout == ARTEL__LAYOUT_PANELS && config.to == rank;
    bool wide = graph->value[variable].dtype == ARTEL_DTYPE_FLOAT64;
    if (norms && (!range || columns || wide)) {
        project(graph, constraint, variable, axis_bits(&s->axis, rank));
        return;
    }
    if (wide) {
        artel__phase phase = graph->phase;
        graph->phase = ARTEL__PHASE_APPLY;
        artel__op_assign(graph, variable,
                         artel__op_unary_exact(graph, ARTEL__UNARY_RELU, (double[]){0, (double)INFINITY, 0}, variable));
        graph->phase = phase;
        return;
    }
    artel__op_constrain(graph, &config, variable);
}
