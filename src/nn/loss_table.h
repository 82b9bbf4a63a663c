/* SPDX-License-Identifier: Apache-2.0 */
/* What a loss is: its names, its settings, what it wants as target, and how it is computed. Of those with kernels the
 * file of the loss has it (kernel/losses.list); of those that are put together from operations a file that
 * composed_losses.list names. Also for the metrics that are means of losses.
 */
#ifndef ARTEL_NN_LOSS_TABLE_H
#define ARTEL_NN_LOSS_TABLE_H

#include "base/option.h"
#include "kernel/loss.h"
#include "nn/loss.h"

/* What a loss with kernels does to its operands before them. */
typedef enum artel__loss_takes {
    ARTEL__LOSS_TAKES_THEM,
    ARTEL__LOSS_TAKES_LOGITS,        /* the next kernel of the list does: chosen by from_logits, or found behind the
                                        prediction */
    ARTEL__LOSS_TAKES_PROBABILITIES, /* logits become these */
    ARTEL__LOSS_TAKES_SIGNS          /* labels 0, 1 of a batch become -1, 1 */
} artel__loss_takes;

struct artel__loss_def {
    const char *class_name, *function;
    const char *instance; /* the name of one of the class; NULL: the function's */
    const char *aliases[4];
    artel__target_form target;
    const artel__option *options; /* REDUCTION first, which lies at the front of the settings */
    /* With kernels: places in the settings, 0: none. */
    artel__loss op;
    artel__loss_takes form;
    size_t constant[3]; /* doubles: a, b and c of the kernel, else 0 */
    size_t balance;     /* a bool without which b is -1 */
    size_t ignored;     /* the JSON of a class that does not count */
    /* Put together from operations: `prediction` is float64 where either was; NULL: it has kernels. */
    artel__value_id (*add)(artel__graph *graph, const artel__loss_config *loss, artel__value_id target,
                           artel__value_id prediction);
    size_t size;                                        /* of the settings */
    bool (*mixes_rows)(const artel__loss_config *loss); /* see artel__loss_mixes_rows; NULL: no */
    bool masks_zeros;                                   /* rows whose loss is 0 do not count */
};

extern const char *const artel__loss_reductions[];

/* Rows of options, of the struct that SETTINGS is defined as. */
#define OPTIONS(...)        \
    (const artel__option[]) \
    {                       \
        __VA_ARGS__,        \
        {                   \
            .name = NULL    \
        }                   \
    }
#define REDUCTION                                                                                               \
    {                                                                                                           \
        "reduction", "how the losses of a batch are joined", ARTEL__OPTION_ENUM, offsetof(SETTINGS, reduction), \
            "sum_over_batch_size", 0, 0, artel__loss_reductions                                                 \
    }
#define OPTION(key, kind, fallback, low, high, help)                                         \
    {                                                                                        \
#key, help, ARTEL__OPTION_##kind, offsetof(SETTINGS, key), fallback, low, high, NULL \
    }
#define NUMBER(key, fallback, help) OPTION(key, FLOAT, fallback, 0, 0, help)
#define BOOL(key, fallback, help) OPTION(key, BOOL, fallback, 0, 0, help)
#define TEXT(key, fallback, help) OPTION(key, JSON, fallback, 0, 0, help)

/* By class, function or alias; NULL when there is none. */
const artel__loss_def *artel__loss_find(const char *name);
/* Reads the settings (`config` NULL: none); `name` becomes the loss' name. */
artel_status artel__loss_configure(artel__arena *arena, const artel__loss_def *def, const char *name, json_t *config,
                                   artel__loss_config *out);

/* A value with at least one axis: [] becomes [1]. */
artel__value_id artel__with_last_axis(artel__graph *graph, artel__value_id x);

#endif
