/* SPDX-License-Identifier: Apache-2.0 */
/* What every task of a session declares in these tests: a classifier of two layers with dropout and adam, and a table.
 * Public headers only. */
#ifndef TESTS_API_HELP_SESSION_H
#define TESTS_API_HELP_SESSION_H

#include "artel/session.h"

enum {
    SESSION_BATCH = 24,
    SESSION_WIDE = 16,
    SESSION_CLASSES = 3,
    SESSION_DIGITS = 4, /* of a row of float64 */
    SESSION_STEPS = 6
};

typedef struct session_program {
    artel_context *ctx;
    artel_strategy *strategy;
    artel_variable *hidden, *bias, *out, *table, *count;
    artel_optimizer *optimizer;
    artel_function *step, *look, *add[2]; /* add: takes its argument off `count`, at client 0 or 1 */
    artel_optimizer *plain, *precise;
    artel_variable *slope, *shift; /* of float64 */
    artel_function *digits;        /* a step in float64 */
    artel_session *session;        /* NULL: functions are run as they are */
    const char *const *place;      /* of: first layer, second layer, loss, table; "": anywhere */
} session_program;

typedef struct session_outcome {
    float loss[SESSION_STEPS], logits[SESSION_BATCH * SESSION_CLASSES];
    float hidden[SESSION_WIDE * SESSION_WIDE], out[SESSION_WIDE * SESSION_CLASSES];
    double error[SESSION_STEPS], guess[SESSION_BATCH * 2], slope[SESSION_DIGITS * 2], shift[2]; /* in float64 */
} session_outcome;

artel_status session_declare(session_program *p);
/* Arguments and outputs of both functions: two each. */
artel_status session_run(session_program *p, artel_function *f, const artel_array *in, const artel_array *out,
                         bool read_only);
/* One step, of a batch that its number says; `logits` may be NULL. */
artel_status session_step(session_program *p, int number, float *loss, float *logits);
/* Variables, wherever they are. */
artel_status session_read(session_program *p, session_outcome *o);
artel_status session_train(session_program *p, session_outcome *o);
/* Elements of variables: hidden 1, bias 2, out 3, table 4. */
float session_number(unsigned seed, unsigned i);
artel_shape session_shape(int rank, int64_t a, int64_t b);

#endif
