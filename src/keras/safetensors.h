/* SPDX-License-Identifier: Apache-2.0 */
/* Reading safetensors files: the arrays of a file, checked and in the order of their data. */
#ifndef ARTEL_KERAS_SAFETENSORS_H
#define ARTEL_KERAS_SAFETENSORS_H

#include "base/file.h"
#include "keras/variables.h"

typedef struct artel__safetensor {
    artel__keras_array array; /* its name; data in the mapping, of any alignment */
    int64_t begin, end;
} artel__safetensor;

typedef struct artel__safetensors {
    artel__arena arena;
    artel__mapping mapping;
    const uint8_t *data;
    uint64_t size;
    artel__safetensor *tensor;
    size_t count;
} artel__safetensors;

/* Errors: NOT_FOUND, CORRUPT with the reason. */
artel_status artel__safetensors_open(artel_context *ctx, const char *path, artel__safetensors *out);
/* Also valid on a zeroed struct. */
void artel__safetensors_close(artel__safetensors *file);

#endif
