/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the C API: two small models, rows in memory, short ways to train and compare. Public headers only: what
 * a test needs from the inside of the library is something the API lacks. */
#ifndef TESTS_API_HELP_API_H
#define TESTS_API_HELP_API_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "artel/build.h"
#include "artel/fit.h"

enum {
    API_ROWS = 75,
    API_CLASSES = 3,
    API_IMAGE = 64
};

/* A context whose log lines are dropped; fails the test when there is none. */
artel_context *api_context(void);

/* Compiled, without weights yet: a multilayer perceptron on 64 numbers with dropout, adam; a convolutional network on
 * 8 x 8 x 1 with batch normalisation, sgd with momentum. */
artel_model *api_mlp(artel_context *ctx);
artel_model *api_cnn(artel_context *ctx);
/* The first, or with `images` the second, under the policy float64. */
artel_model *api_wide(artel_context *ctx, bool images);

/* 75 rows: x of 64 or 8 x 8 x 1 numbers, class numbers 0..2. The values are shared and never written. */
artel_data *api_rows(artel_context *ctx, bool images);
/* One of them: 64 numbers and a class. */
void api_row(uint64_t r, float *x, int32_t *y);
/* The same rows, from a function. */
artel_data *api_rows_by_callback(artel_context *ctx, bool images);

/* One training, from a new model of the kind to its digest. */
typedef struct api_run {
    bool images;           /* the convolutional network */
    int replicas, threads; /* 0, 0: the defaults */
    int64_t epochs;        /* 0: 2 */
    bool by_callback;
    artel_event_fn *on_event; /* or NULL; with user */
    void *user;
} api_run;
void api_train(artel_context *ctx, const api_run *run, char digest[65]);

/* The operation succeeded; otherwise the test fails with the record. */
#define api_ok(ctx, status) api_ok_at(ctx, status, __FILE__, __LINE__)
void api_ok_at(const artel_context *ctx, artel_status status, const char *file, int line);

/* The status is the wanted one, and the record says the word, in what or where; otherwise the test fails with it. */
void api_refused(const artel_context *ctx, artel_status got, artel_status wanted, const char *word);

/* A folder of the test's own, removed with what is in it by api_folder_remove. */
void api_folder_make(char folder[64]);
void api_folder_remove(const char *folder);

#endif
