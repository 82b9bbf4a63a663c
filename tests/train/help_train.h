/* SPDX-License-Identifier: Apache-2.0 */
/* A small classifier in memory with its data and a folder, for tests of fits. */
#ifndef ARTEL_TESTS_TRAIN_HELP_TRAIN_H
#define ARTEL_TESTS_TRAIN_HELP_TRAIN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "artel/fit.h"

typedef struct train_bench {
    artel_context *ctx;
    artel_model *model; /* Dense of 5 inputs and 4 classes, compiled with sgd */
    artel_data *data;
    float *x;   /* [rows][5] */
    int32_t *y; /* [rows], 0 to 3 */
    char folder[64];
    int64_t stop_at; /* preempt after this step */
    int64_t resumed;
} train_bench;

/* The model of a text in Keras' JSON; fails the test when it is none. The caller owns it. */
artel_model *train_model(artel_context *ctx, const char *text);
void train_open(train_bench *b, int64_t rows);
void train_close(train_bench *b);
/* Two epochs of batches of 16 without shuffling, on `replicas`. */
artel_fit_options train_options(train_bench *b, int replicas);
/* Fails the test with the message of the context unless the two are equal. */
void train_expect(const train_bench *b, artel_status status, artel_status wanted);
/* That a fit with an optimizer ends in. */
void train_digest(const char *optimizer, int64_t batch, int replicas, const char *callbacks, char out[65]);

#endif
