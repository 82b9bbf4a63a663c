/* SPDX-License-Identifier: Apache-2.0 */
/* Constraints on weights, applied after the optimizer's step (keras/src/constraints). Norms run along neighbouring axes of
 * the plain shape; the projections themselves are kernels. */
#include <string.h>

#include "nn/parts.h"
#include "nn/record.h"
#include "op/optimize.h"

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
#define AXIS                                                                                                     \
    {                                                                                                            \
        "axis", "neighbouring axes of the weight", ARTEL__OPTION_INTS, offsetof(settings, axis), "0", 0, 0, NULL \
    }
#define END          \
    {                \
        .name = NULL \
    }

static const artel__option max_options[] = {FLOAT(max_value, "2", "greatest norm"), AXIS, END};
static const artel__option unit_options[] = {AXIS, END};
static const artel__option no_options[] = {END};
static const artel__option min_max_options[] = {FLOAT(min_value, "0.0", "least norm"), FLOAT(max_value, "1.0", "greatest norm"),
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
    if (config.op != ARTEL__CONSTRAINT_NON_NEG && !axis_range(&s->axis, rank, &config.from, &config.to)) {
        graph->status =
            artel__fail(artel__graph_context(graph), ARTEL_ERROR_UNSUPPORTED, graph->scope, "choose neighbouring axes of the weight",
                        "%s: these axes are not supported for a weight of %d axes", constraint->def->class_name, rank);
        return;
    }
    artel__op_constrain(graph, &config, variable);
}
