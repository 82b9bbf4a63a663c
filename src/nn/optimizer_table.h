/* SPDX-License-Identifier: Apache-2.0 */
/* What a class of optimizers is: its settings, its rule, its slots. Of those whose rule makes the step element by
 * element the file of the rule has it (kernel/optimizers.list); of those that see matrices a file that
 * matrix_optimizers.list names.
 */
#ifndef ARTEL_NN_OPTIMIZER_TABLE_H
#define ARTEL_NN_OPTIMIZER_TABLE_H

#include "nn/optimizer.h"

/* How a step is made that sees a variable as a matrix. */
typedef struct artel__matrix_ops {
    size_t size; /* of the settings, which become artel__optimizer.matrix */
    /* What options alone cannot say of them, and the options of the rule; NULL: nothing. */
    artel_status (*read)(artel__optimizer *optimizer, json_t *given, void *settings);
    /* Whether a variable is left to the rule; NULL: none is. */
    bool (*leaves)(const artel__optimizer *optimizer, const artel__variable *variable);
    /* `g`: the plain gradient, clipped; `squares`: of a table's, see artel__op_embedding_occurrences, or none. Slots of
     * `o` by row of the table, -1: none. */
    void (*step)(const artel__optimizer *optimizer, artel__graph *graph, const artel__variable *variable,
                 const artel__optimize *o, artel__value_id g, artel__value_id squares);
} artel__matrix_ops;

struct artel__optimizer_def {
    const char *class_name, *name; /* the name of an instance that has none of its own */
    artel__rule rule;
    double learning_rate, weight_decay; /* defaults; 0: no decay */
    const artel__option *options; /* beside those that all optimizers have: of artel__apply_options, or of the settings
                                     of `matrix` */
    const artel__slot_row *slot;  /* [ARTEL__APPLY_SLOTS] */
    const artel__matrix_ops *matrix; /* NULL: the rule makes the step */
    const char *registered; /* of a class that a program has added (custom.h): its name in files, perhaps with a
                               package; NULL: it is Keras' */
};

static inline const artel__rule_def *artel__rule_of(const artel__optimizer *optimizer)
{
    return &artel__rules[optimizer->def->rule];
}

/* Whether a variable is left to the rule, which is the case with all of most optimizers. */
static inline bool artel__left_to_rule(const artel__optimizer *optimizer, const artel__variable *variable)
{
    const artel__matrix_ops *matrix = optimizer->def->matrix;
    return !matrix || (matrix->leaves && matrix->leaves(optimizer, variable));
}

/* Rows of options, of the struct that SETTINGS is defined as; OPTIONS is what `options` are set to. */
#define MUCH 1e300
#define OPTIONS(...)        \
    (const artel__option[]) \
    {                       \
        __VA_ARGS__,        \
        {                   \
            .name = NULL    \
        }                   \
    }
#define FLOAT_AS(field, key, fallback, low, high, help)                                      \
    {                                                                                        \
        key, help, ARTEL__OPTION_FLOAT, offsetof(SETTINGS, field), fallback, low, high, NULL \
    }
#define FLOAT(key, fallback, low, high, help) FLOAT_AS(key, #key, fallback, low, high, help)
#define COUNT(key, fallback, low, high, help)                                             \
    {                                                                                     \
#key, help, ARTEL__OPTION_INT, offsetof(SETTINGS, key), fallback, low, high, NULL \
    }
#define TRUE_OR_FALSE(key, fallback, help)                                            \
    {                                                                                 \
#key, help, ARTEL__OPTION_BOOL, offsetof(SETTINGS, key), fallback, 0, 0, NULL \
    }
#define BOOL(key, help) TRUE_OR_FALSE(key, "false", help)
#define TRUE(key, help) TRUE_OR_FALSE(key, "true", help)
#define TEXT(key, kind, fallback, help)                                                 \
    {                                                                                   \
#key, help, ARTEL__OPTION_##kind, offsetof(SETTINGS, key), fallback, 0, 0, NULL \
    }

#endif
