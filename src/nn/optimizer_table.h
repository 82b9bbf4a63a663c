/* SPDX-License-Identifier: Apache-2.0 */
/* What a class of optimizers is: its settings, its rule, its slots. Rows in optimizer.c; used by optimizer_step.c too.
 */
#ifndef ARTEL_NN_OPTIMIZER_TABLE_H
#define ARTEL_NN_OPTIMIZER_TABLE_H

#include "nn/optimizer.h"

/* Whether a slot exists. */
typedef enum artel__slot_when {
    ARTEL__SLOT_NEVER,
    ARTEL__SLOT_ALWAYS,
    ARTEL__SLOT_COPY,     /* always; it starts as the variable */
    ARTEL__SLOT_MOMENTUM, /* momentum is not 0 */
    ARTEL__SLOT_CENTERED,
    ARTEL__SLOT_AMSGRAD,
    ARTEL__SLOT_SCRATCH /* of one step; in no file */
} artel__slot_when;

/* Which variables have a slot, and its shape. */
typedef enum artel__slot_form {
    ARTEL__SLOT_LIKE,    /* that of the variable */
    ARTEL__SLOT_LINES,   /* without the last axis; of variables of two axes or more */
    ARTEL__SLOT_COLUMNS, /* without the axis before it; likewise */
    ARTEL__SLOT_OF_ADAM  /* that of the variable; of those that Muon leaves to Adam */
} artel__slot_form;

/* How the step is made: by the rule's formula for each element, or in optimizer_matrix.c. */
typedef enum artel__optimizer_form {
    ARTEL__FORM_ELEMENTS,
    ARTEL__FORM_ADAFACTOR,
    ARTEL__FORM_MUON
} artel__optimizer_form;

/* Slot k of the rule (kernel/optimize.h). Slots of one group are written variable by variable, groups one after
 * another. */
typedef struct artel__slot_row {
    const char *name; /* the end of Keras' path: "momentum" */
    artel__slot_when when;
    int group;
    bool accumulator; /* starts at initial_accumulator_value */
    artel__slot_form form;
} artel__slot_row;

struct artel__optimizer_def {
    const char *class_name, *name; /* the name of an instance that has none of its own */
    artel__rule rule;
    double learning_rate, weight_decay; /* defaults; 0: no decay */
    const artel__option *options;       /* beside those that all optimizers have */
    artel__slot_row slot[ARTEL__APPLY_SLOTS];
    bool product; /* Nadam's u_product */
    artel__optimizer_form form;
};

#endif
