/* SPDX-License-Identifier: Apache-2.0 */
/* Small models, and a folder of its own for each test. */
#ifndef HELP_MODELS_H
#define HELP_MODELS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "artel/build.h"
#include "base/file.h"
#include "keras/model.h"

typedef struct fixture {
    artel_context *ctx;
    char folder[64];
} fixture;

int start_models(void **state);
int stop_models(void **state);

/* "folder/name" in a buffer of the fixture's caller. */
const char *in_folder(const fixture *f, const char *name, char *buffer, size_t size);
/* Asserts success and prints the failure otherwise. */
void assert_ok(const fixture *f, artel_status status);
/* Asserts a failure with this status whose message holds `words`; then forgets it. */
void assert_fails(const fixture *f, artel_status status, artel_status expected, const char *words);

/* Dense(4, relu, named "first"), BatchNormalization, Dense(2) on 3 inputs; compiled with Adam; weights of seed 5. */
artel_model *make_mlp(const fixture *f);
/* Three saved variables: iteration 7 (int64), learning rate 0.125, one of shape (2, 3). */
void give_optimizer(artel_model *model);
void write_text(const fixture *f, const char *path, const char *text);

#endif
