/* SPDX-License-Identifier: Apache-2.0 */
/* A small graph that is built, run and read back: what most tests of this room do. */
#ifndef TESTS_NN_HELP_NN_H
#define TESTS_NN_HELP_NN_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "base/json.h"
#include "exec/cpu/plan.h"
#include "exec/state_impl.h"

/* One replica with eight shards and a batch of `rows` rows. */
typedef struct nn_bench {
    artel_context *ctx;
    artel__arena arena;
    artel__variables variables;
    artel__graph graph;
    artel__plan *plan;
    artel__state *state;
    artel__pool *pool;
    artel__run *run;
    int64_t start[9];
    artel__fold_plan fold;
    artel__step step;
} nn_bench;

void nn_init(nn_bench *bench, int64_t rows);
/* Seals the graph and makes state and run; fails the test when building has failed. */
void nn_seal(nn_bench *bench);
/* One step: compute and apply. */
void nn_run(nn_bench *bench, const void *const *inputs);
void nn_fini(nn_bench *bench);

/* Parses JSON written with single quotes; lives until nn_fini... of the caller: json_decref it. */
json_t *nn_json(const char *text);
/* The fractional part of i * golden ratio + offset, stretched to [low, high): the same in Python. */
float nn_number(int64_t i, double offset, double low, double high);
/* Forgets the recorded failure, after checking status and a part of the whole message. */
void nn_expect_failure(artel_context *ctx, artel_status found, artel_status expected, const char *part);
/* Relative to the larger of the two, or absolute below 1. */
void nn_assert_near(double found, double expected, double tolerance, const char *what);

#endif
