/* SPDX-License-Identifier: Apache-2.0 */
/* Two small models of 4 classes with their data and a folder, for tests of whole fits. */
#ifndef ARTEL_TESTS_TRAIN_HELP_FIT_H
#define ARTEL_TESTS_TRAIN_HELP_FIT_H

#include "artel/fit.h"

extern const char fit_mlp[];   /* 9 inputs, a dropout */
extern const char fit_cnn[];   /* 6 x 6 pixels of 2 channels, a batch normalisation */
extern const char fit_table[]; /* 2 tokens of 64, most of them low */

typedef struct fit_bench {
    artel_context *ctx;
    artel_model *model;
    artel_data *data;
    float *x;
    int32_t *token;
    int32_t y[256];
    char folder[64];
    int64_t stop_at; /* preempt after this step */
    bool cancel;
    int64_t steps, resumed;
    char fault[512];
    bool faulted;
    bool fails; /* a call in the first event */
    bool recomputes;
} fit_bench;

/* A model's JSON and `rows` rows of `width` numbers, `row` their shape; compiled with adam. */
void fit_open(fit_bench *b, const char *json, int64_t rows, int64_t width, artel_shape row);
void fit_open_mlp(fit_bench *b, int64_t rows);
/* The same in a context with these options. */
void fit_open_logged(fit_bench *b, int64_t rows, const artel_context_options *options);
/* `table`: fit_table, else fit_mlp. Without a folder. */
void fit_open_either(fit_bench *b, bool table, int64_t rows, const artel_context_options *options);
void fit_close(fit_bench *b);
/* Two epochs in 16 shards; events go to the bench. */
artel_fit_options fit_options(fit_bench *b, int64_t batch, int replicas, int threads);
/* Fails the test with the message of the context unless the two are equal. */
void fit_expect(fit_bench *b, artel_status status, artel_status wanted);

#endif
