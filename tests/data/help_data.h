/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the data room: a folder of files made by hand, wants, and short ways to bind and fetch. */
#ifndef TESTS_DATA_HELP_DATA_H
#define TESTS_DATA_HELP_DATA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/file.h"
#include "data/data.h"

/* One context and one folder for a test; log lines are kept. */
typedef struct bench {
    artel_context *ctx;
    char folder[256];
    char log[4096];
    char path[8][512]; /* results of bench_path, used in turn */
    int next_path;
} bench;

/* For cmocka_unit_test_setup_teardown: *state is a bench. */
int bench_setup(void **state);
int bench_teardown(void **state);

/* A path in the folder; valid until eight more are asked for. */
const char *bench_path(bench *b, const char *name);
/* Writes a file into the folder, with the folders above it. */
const char *bench_write(bench *b, const char *name, const void *bytes, size_t size);
const char *bench_text(bench *b, const char *name, const char *text);

/* A specification by printf. */
artel_data *bench_open(bench *b, const char *format, ...);
/* Opening must fail with this status and a record that contains `part`. */
void bench_open_fails(bench *b, artel_status status, const char *part, const char *format, ...);
/* The context's record holds this, and is forgotten. */
void bench_failed(bench *b, artel_status status, const char *part);

/* Wants of one input and one target; change what a test needs. */
typedef struct simple_wants {
    artel__data_wants wants;
    artel__data_want_input input;
    artel__data_want_target target;
} simple_wants;

void wants_init(simple_wants *w, int rank,
                ...); /* float32 input of these extents (int64_t), target: class numbers below 10 */

artel__feed *bench_bind(bench *b, artel_data *data, const artel__data_wants *wants);
void bench_bind_fails(bench *b, artel_data *data, const artel__data_wants *wants, artel_status status,
                      const char *part);
/* Rows first .. first + count - 1 of every array. */
void bench_fetch(bench *b, const artel__feed *feed, uint64_t first, int64_t count, void *const *buffers);

/* A npy file in memory; returns its size. `header` is the dictionary. */
size_t make_npy(uint8_t *out, const char *header, const void *values, size_t size);
/* A zip archive of members stored as they are, or deflated. */
typedef struct zip_part {
    const char *name;
    const void *bytes;
    size_t size;
} zip_part;
size_t make_zip(uint8_t *out, const zip_part *parts, int count, bool deflated);
/* gzip -c */
size_t make_gzip(uint8_t *out, size_t capacity, const void *bytes, size_t size);
/* An 8-bit PNG of 1 (grey), 3 or 4 channels. */
size_t make_png(uint8_t *out, size_t capacity, const uint8_t *pixels, int height, int width, int channels);

#endif
