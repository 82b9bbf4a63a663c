/* SPDX-License-Identifier: Apache-2.0 */
/* Small models from JSON text, run on this machine, with their gradients checked by finite differences. */
#ifndef TESTS_NN_HELP_LAYER_H
#define TESTS_NN_HELP_LAYER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exec/cpu/plan.h"
#include "exec/state_impl.h"
#include "nn/model.h"

typedef struct layer_bench {
    artel_context *ctx;
    artel__model *model;
    artel__state *state;
    artel__pool *pool;
} layer_bench;

typedef struct layer_result {
    artel_shape shape, mask_shape; /* of one row */
    int64_t count;                 /* elements of all rows */
    float data[4096];
    bool masked;
    uint8_t mask[512];
    int random_ops;
} layer_result;

/* A Sequential of one input and the layers given as JSON records, variables drawn from (-0.5, 0.5) (variances from
 * (0.5, 1.5)). */
void layer_open(layer_bench *bench, const char *batch_shape, const char *dtype, const char *layers);
/* A model of any kind from its whole record. */
void layer_open_model(layer_bench *bench, const char *record);
/* The status of making such a model; the message goes to `message`. */
artel_status layer_refused(const char *batch_shape, const char *layers, char message[1100]);
artel_status layer_refused_model(const char *record, char message[1100]);
void layer_close(layer_bench *bench);

void layer_set(layer_bench *bench, int variable, const float *plain);
void layer_get(layer_bench *bench, int variable, float *plain);

/* One step over `rows` rows; `x` one array for each input of the model. With `apply`, moving statistics change. */
void layer_run(layer_bench *bench, const void *const *x, int64_t rows, bool training, bool apply, layer_result *out);
/* Gradients of a weighted sum of the output by every variable and every float input, against finite differences. */
void layer_check_gradients(layer_bench *bench, const void *const *x, int64_t rows, bool training);

/* Numbers in (-1, 1), a function of the index. */
void layer_numbers(float *out, int64_t count, uint32_t seed);
void layer_assert_floats(const layer_result *result, const float *expected, int count, float tolerance);
void layer_assert_shape(const artel_shape *shape, int rank, ...);

#endif
