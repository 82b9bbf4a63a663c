/* SPDX-License-Identifier: Apache-2.0 */
/* From what the data holds to what the model feeds, a row at a time.
 *
 * Casts follow NumPy's astype (artel__convert). Scaling is done in float32 as value * by / over + shift, where a factor
 * of one and a divisor of one are left out: `scale=1/255` is a division by 255, bit for bit what x / 255.0 gives for a
 * float32 array in NumPy, which the multiplication by a rounded 1/255 would not be. Class numbers are read as integers
 * and held against the number of classes; one with a fraction is refused, which Keras' cast would cut off in silence.
 */
#include <string.h>

#include "data/source.h"

#define CHUNK 256 /* elements on the stack */

static bool is_aligned(const void *address, size_t size)
{
    return size <= 1 || (uintptr_t)address % size == 0;
}

/* artel__convert for a source at any address. */
static void cast(artel_dtype from, const uint8_t *source, artel_dtype to, void *target, int64_t count)
{
    size_t size = artel_dtype_size(from), target_size = artel_dtype_size(to);
    if (is_aligned(source, size)) {
        artel__convert(from, source, to, target, count);
        return;
    }
    uint64_t aligned[CHUNK];
    for (int64_t at = 0; at < count; at += CHUNK) {
        int64_t n = count - at < CHUNK ? count - at : CHUNK;
        memcpy(aligned, source + (size_t)at * size, (size_t)n * size);
        artel__convert(from, aligned, to, (uint8_t *)target + (size_t)at * target_size, n);
    }
}

static void scale_floats(const artel__conversion *conversion, float *values, int64_t count)
{
    if (conversion->scale_by != 1.0f) {
        for (int64_t i = 0; i < count; i++) values[i] *= conversion->scale_by;
    }
    if (conversion->scale_over != 1.0f) {
        for (int64_t i = 0; i < count; i++) values[i] /= conversion->scale_over;
    }
    if (conversion->has_shift) {
        for (int64_t i = 0; i < count; i++) values[i] += conversion->shift;
    }
}

static void scale_row(const artel__conversion *conversion, const uint8_t *source, uint8_t *target)
{
    size_t size = artel_dtype_size(conversion->from), target_size = artel_dtype_size(conversion->to);
    float chunk[CHUNK];
    if (conversion->to == ARTEL_DTYPE_FLOAT32) {
        cast(conversion->from, source, ARTEL_DTYPE_FLOAT32, target, conversion->count);
        scale_floats(conversion, (float *)(void *)target, conversion->count);
        return;
    }
    for (int64_t at = 0; at < conversion->count; at += CHUNK) {
        int64_t n = conversion->count - at < CHUNK ? conversion->count - at : CHUNK;
        cast(conversion->from, source + (size_t)at * size, ARTEL_DTYPE_FLOAT32, chunk, n);
        scale_floats(conversion, chunk, n);
        artel__convert(ARTEL_DTYPE_FLOAT32, chunk, conversion->to, target + (size_t)at * target_size, n);
    }
}

/* Reads class numbers. False when one is no number of a class; *out_bad is what it is. */
static bool read_classes(const artel__conversion *conversion, const uint8_t *source, int64_t count, int64_t *out,
                         double *out_bad)
{
    double values[CHUNK];
    if (artel__is_floating(conversion->from)) {
        cast(conversion->from, source, ARTEL_DTYPE_FLOAT64, values, count);
        for (int64_t i = 0; i < count; i++) {
            *out_bad = values[i];
            if (!(values[i] > -9e15 && values[i] < 9e15) || (double)(int64_t)values[i] != values[i]) return false;
            out[i] = (int64_t)values[i];
        }
    } else {
        cast(conversion->from, source, ARTEL_DTYPE_INT64, out, count);
    }
    if (conversion->classes <= 0) return true;
    for (int64_t i = 0; i < count; i++) {
        if (out[i] >= 0 && out[i] < conversion->classes) continue;
        if (conversion->has_ignored && out[i] == conversion->ignored) continue;
        *out_bad = (double)out[i];
        return false;
    }
    return true;
}

static void expand_class(const artel__conversion *conversion, int64_t class, uint8_t *target)
{
    const float one = 1.0f;
    size_t size = artel_dtype_size(conversion->to);
    memset(target, 0, (size_t)conversion->classes * size);
    if (class < 0 || class >= conversion->classes) return; /* the ignored one */
    artel__convert(ARTEL_DTYPE_FLOAT32, &one, conversion->to, target + (size_t) class * size, 1);
}

static bool convert_classes(const artel__conversion *conversion, const uint8_t *source, uint8_t *target,
                            double *out_bad)
{
    size_t size = artel_dtype_size(conversion->from), target_size = artel_dtype_size(conversion->to);
    int64_t classes[CHUNK];
    bool one_hot = conversion->kind == ARTEL__CONVERT_ONE_HOT;
    if (one_hot) target_size *= (size_t)conversion->classes;
    for (int64_t at = 0; at < conversion->count; at += CHUNK) {
        int64_t n = conversion->count - at < CHUNK ? conversion->count - at : CHUNK;
        uint8_t *to = target + (size_t)at * target_size;
        if (!read_classes(conversion, source + (size_t)at * size, n, classes, out_bad)) return false;
        if (!one_hot) artel__convert(ARTEL_DTYPE_INT64, classes, conversion->to, to, n);
        for (int64_t i = 0; one_hot && i < n; i++) expand_class(conversion, classes[i], to + (size_t)i * target_size);
    }
    return true;
}

bool artel__conversion_run(const artel__conversion *conversion, const void *source, void *target, double *out_bad)
{
    switch (conversion->kind) {
    case ARTEL__CONVERT_COPY: {
        size_t bytes = (size_t)conversion->count * artel__cell_size(conversion->from);
        if (bytes > 0) memcpy(target, source, bytes);
        return true;
    }
    case ARTEL__CONVERT_CAST: cast(conversion->from, source, conversion->to, target, conversion->count); return true;
    case ARTEL__CONVERT_SCALE: scale_row(conversion, source, target); return true;
    case ARTEL__CONVERT_INDICES:
    case ARTEL__CONVERT_ONE_HOT: break;
    }
    return convert_classes(conversion, source, target, out_bad);
}
