/* SPDX-License-Identifier: Apache-2.0 */
/* What rows of the semantics of strategies (help_conformance.h) that compute with rows of three numbers have in common.
 */
#ifndef TESTS_API_HELP_CONFORMANCE_ROWS_H
#define TESTS_API_HELP_CONFORMANCE_ROWS_H

#include "api/help_conformance.h"

enum {
    BATCH = 16,
    WIDTH = 3
};

/* What a test has at hand. */
typedef struct rows_stage {
    artel_context *ctx;
    artel_strategy *strategy;
    conformance_stage on;
    artel_variable *variable;
    int traces;
} rows_stage;

extern float rows_of[BATCH * WIDTH]; /* of a batch: filled by rows_run() */

rows_stage rows_begin(const conformance_form *form);
void rows_end(rows_stage *stage);
void rows_add_variable(rows_stage *stage, const char *name, const float *initial);
/* A function of x, rows of three numbers. */
artel_status rows_make(rows_stage *stage, artel_trace_fn *trace, int outputs, bool training, artel_function **out);
void rows_run(rows_stage *stage, artel_function *f, int rows, float *const *outputs, int count);
/* That it cannot be traced, with that word in the message. */
void rows_refused(rows_stage *stage, artel_trace_fn *trace, const char *word);

/* Of a stage: the square of each number; counts how often it is traced. */
artel_status rows_trace_squares(void *user, artel_graph *g, const artel_value *in, artel_value *out);
/* Gives the variable as it was, and adds the sum of all numbers to it. */
artel_status rows_trace_total(void *user, artel_graph *g, const artel_value *in, artel_value *out);
/* A run of that; the variable behind it. */
float rows_step_total(rows_stage *stage, artel_function *f);

#endif
