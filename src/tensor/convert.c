/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between storage types.
 *
 * Any type to any type goes through a small buffer of one of three wide forms: integers as int64 or uint64, floats as
 * double; each wide form holds every value of its types exactly, so a value is rounded once. The few pairs that data
 * pipelines use all day have a direct loop. Half and bfloat16 are made by integer arithmetic: no answer depends on
 * the processor or on its denormal modes.
 */
#include <string.h>

#include "tensor/shape.h"

#define PIECE 512

typedef enum form {
    FORM_SIGNED,
    FORM_UNSIGNED,
    FORM_FLOAT
} form;

typedef union wide {
    int64_t i[PIECE];
    uint64_t u[PIECE];
    double f[PIECE];
} wide;

/* What a storage format of a float looks like: bits of fraction and of exponent. */
typedef struct layout {
    int fraction, exponent;
} layout;

static const layout half_layout = {10, 5}, bfloat16_layout = {7, 8};

/* Rounds the bits of a float64 to a 16-bit format, nearest even; NaNs stay NaNs, large values become infinity. */
static uint16_t narrow_bits(uint64_t bits, layout to)
{
    uint64_t sign = bits >> 63 << 15, fraction = bits & 0xFFFFFFFFFFFFFu,
             infinity = ((1u << to.exponent) - 1) << to.fraction;
    int exponent = (int)(bits >> 52 & 0x7FF) - 1023, bias = (1 << (to.exponent - 1)) - 1;
    if (exponent == 1024)
        return (uint16_t)(sign | infinity |
                          (fraction ? (1u << (to.fraction - 1)) | fraction >> (52 - to.fraction) : 0));
    if (exponent == -1023) return (uint16_t)sign; /* zero, or too small by far */
    if (exponent > bias) return (uint16_t)(sign | infinity);
    int drop = 52 - to.fraction;
    uint64_t whole = fraction | (uint64_t)1 << 52, field = 0;
    if (exponent < 1 - bias) {
        drop += 1 - bias - exponent; /* denormal: the field is 0 and the leading one is written out */
        if (drop > 54) return (uint16_t)sign;
    } else {
        field = (uint64_t)(exponent + bias - 1) << to.fraction; /* the leading one carries into it */
    }
    uint64_t kept = whole >> drop, rest = whole & (((uint64_t)1 << drop) - 1), tie = (uint64_t)1 << (drop - 1);
    kept += rest > tie || (rest == tie && (kept & 1));
    return (uint16_t)(sign | (field + kept)); /* a carry runs on into the exponent, up to infinity */
}

/* The bits of a float32 as a float64, exact, denormals too. */
static uint64_t widen_bits(uint32_t bits)
{
    uint64_t sign = (uint64_t)(bits >> 31) << 63, fraction = bits & 0x7FFFFFu, exponent = (bits >> 23) & 0xFF;
    if (exponent == 0xFF) return sign | (uint64_t)0x7FF << 52 | fraction << 29;
    if (exponent) return sign | (exponent + 896) << 52 | fraction << 29;
    if (!fraction) return sign;
    int shift = __builtin_clzll(fraction) - 40;
    return sign | (uint64_t)(897 - shift) << 52 | ((fraction << shift) & 0x7FFFFFu) << 29;
}

uint16_t artel__float_to_half(float value)
{
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof(bits));
    return narrow_bits(widen_bits(bits), half_layout);
}

float artel__half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half >> 15) << 31, exponent = (half >> 10) & 31, fraction = half & 0x3FFu, bits = 0;
    if (exponent == 31) {
        bits = sign | 0x7F800000u | fraction << 13;
    } else if (exponent) {
        bits = sign | (exponent + 112) << 23 | fraction << 13;
    } else if (fraction) {
        int shift = __builtin_clz(fraction) - 21; /* brings the leading one to bit 10 */
        bits = sign | (uint32_t)(113 - shift) << 23 | ((fraction << shift) & 0x3FFu) << 13;
    } else {
        bits = sign;
    }
    float value = 0;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

uint16_t artel__float_to_bfloat16(float value)
{
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof(bits));
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}

float artel__bfloat16_to_float(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value = 0;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static form form_of(artel_dtype dtype)
{
    switch (dtype) {
    case ARTEL_DTYPE_FLOAT32:
    case ARTEL_DTYPE_FLOAT64:
    case ARTEL_DTYPE_FLOAT16:
    case ARTEL_DTYPE_BFLOAT16: return FORM_FLOAT;
    case ARTEL_DTYPE_UINT64: return FORM_UNSIGNED;
    default: return FORM_SIGNED;
    }
}

static void load_integers(artel_dtype from, const void *source, int64_t *to, int count)
{
    const int8_t *i8 = source;
    const int16_t *i16 = source;
    const int32_t *i32 = source;
    const uint8_t *u8 = source;
    const uint16_t *u16 = source;
    const uint32_t *u32 = source;
    switch (from) {
    case ARTEL_DTYPE_INT8:
        for (int i = 0; i < count; i++) to[i] = (int64_t)i8[i];
        break;
    case ARTEL_DTYPE_INT16:
        for (int i = 0; i < count; i++) to[i] = i16[i];
        break;
    case ARTEL_DTYPE_INT32:
        for (int i = 0; i < count; i++) to[i] = i32[i];
        break;
    case ARTEL_DTYPE_UINT8:
        for (int i = 0; i < count; i++) to[i] = u8[i];
        break;
    case ARTEL_DTYPE_UINT16:
        for (int i = 0; i < count; i++) to[i] = u16[i];
        break;
    case ARTEL_DTYPE_UINT32:
        for (int i = 0; i < count; i++) to[i] = u32[i];
        break;
    case ARTEL_DTYPE_BOOL:
        for (int i = 0; i < count; i++) to[i] = u8[i] != 0;
        break;
    default: memcpy(to, source, (size_t)count * 8); break;
    }
}

static void load_floats(artel_dtype from, const void *source, double *to, int count)
{
    const uint16_t *u16 = source;
    uint64_t bits = 0;
    uint32_t narrow = 0;
    for (int i = 0; i < count; i++) {
        if (from == ARTEL_DTYPE_FLOAT32) {
            memcpy(&narrow, (const char *)source + 4 * (size_t)i, 4);
        } else {
            float value = from == ARTEL_DTYPE_FLOAT16 ? artel__half_to_float(u16[i]) : artel__bfloat16_to_float(u16[i]);
            memcpy(&narrow, &value, 4);
        }
        bits = widen_bits(narrow);
        memcpy(&to[i], &bits, 8);
    }
}

static void load(artel_dtype from, const void *source, wide *to, int count)
{
    if (from == ARTEL_DTYPE_FLOAT64 || from == ARTEL_DTYPE_UINT64)
        memcpy(to, source, (size_t)count * 8);
    else if (form_of(from) == FORM_FLOAT)
        load_floats(from, source, to->f, count);
    else
        load_integers(from, source, to->i, count);
}

/* The range of an integer type, as signed and unsigned bounds. */
static void integer_range(artel_dtype dtype, int64_t *low, uint64_t *high)
{
    bool is_signed = dtype >= ARTEL_DTYPE_INT8 && dtype <= ARTEL_DTYPE_INT64;
    int bits = 8 * (int)artel_dtype_size(dtype);
    *low = is_signed ? -(int64_t)((uint64_t)1 << (bits - 2)) * 2 : 0;
    *high = is_signed ? ((uint64_t)1 << (bits - 1)) - 1 : bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

/* Truncation with saturation; NaN becomes 0. The bounds are compared as doubles, where 2^63 and 2^64 are exact. */
static uint64_t float_to_integer(double value, int64_t low, uint64_t high)
{
    if (value != value) return 0;
    if (value <= (double)low) return (uint64_t)low;
    if (value >= (double)high) return high;
    return value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
}

/* Any wide value as the low bits of an integer type, saturated. */
static uint64_t to_integer(form kind, const wide *from, int i, int64_t low, uint64_t high)
{
    if (kind == FORM_FLOAT) return float_to_integer(from->f[i], low, high);
    if (kind == FORM_UNSIGNED) return from->u[i] > high ? high : from->u[i];
    if (from->i[i] < low) return (uint64_t)low;
    return from->i[i] > 0 && (uint64_t)from->i[i] > high ? high : (uint64_t)from->i[i];
}

static void store_integers(form kind, const wide *from, artel_dtype to, void *target, int count)
{
    int64_t low = 0;
    uint64_t high = 0;
    size_t size = artel_dtype_size(to);
    integer_range(to, &low, &high);
    for (int i = 0; i < count; i++) {
        uint64_t value = to_integer(kind, from, i, low, high);
        memcpy((char *)target + (size_t)i * size, &value, size); /* little-endian: the low bytes */
    }
}

static void store_bools(form kind, const wide *from, uint8_t *target, int count)
{
    for (int i = 0; i < count; i++) /* NaN is true, both zeros are false */
        target[i] = kind == FORM_FLOAT ? (from->u[i] & 0x7FFFFFFFFFFFFFFFu) != 0 : from->u[i] != 0;
}

/* An integer as a double that rounds to every narrower float as the integer itself would: beyond 2^53 the lowest
 * bits are replaced by a sticky one. */
static double sticky_double(form kind, const wide *from, int i)
{
    bool negative = kind == FORM_SIGNED && from->i[i] < 0;
    uint64_t magnitude = negative ? 0 - from->u[i] : from->u[i];
    if (magnitude >> 53) magnitude = (magnitude & ~(uint64_t)0xFFF) | ((magnitude & 0xFFF) ? 0x800 : 0);
    return negative ? -(double)magnitude : (double)magnitude;
}

static uint64_t double_bits(double value)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static void store_halves(form kind, const wide *from, layout to, uint16_t *target, int count)
{
    for (int i = 0; i < count; i++)
        target[i] = narrow_bits(kind == FORM_FLOAT ? from->u[i] : double_bits(sticky_double(kind, from, i)), to);
}

static void store_float32(form kind, const wide *from, float *target, int count)
{
    for (int i = 0; i < count; i++)
        target[i] = kind == FORM_FLOAT      ? (float)from->f[i]
                    : kind == FORM_UNSIGNED ? (float)from->u[i]
                                            : (float)from->i[i];
}

static void store_float64(form kind, const wide *from, double *target, int count)
{
    for (int i = 0; i < count; i++)
        target[i] = kind == FORM_FLOAT ? from->f[i] : kind == FORM_UNSIGNED ? (double)from->u[i] : (double)from->i[i];
}

static void store(form kind, const wide *from, artel_dtype to, void *target, int count)
{
    switch (to) {
    case ARTEL_DTYPE_FLOAT32: store_float32(kind, from, target, count); break;
    case ARTEL_DTYPE_FLOAT64: store_float64(kind, from, target, count); break;
    case ARTEL_DTYPE_FLOAT16: store_halves(kind, from, half_layout, target, count); break;
    case ARTEL_DTYPE_BFLOAT16: store_halves(kind, from, bfloat16_layout, target, count); break;
    case ARTEL_DTYPE_BOOL: store_bools(kind, from, target, count); break;
    default: store_integers(kind, from, to, target, count); break;
    }
}

/* The pairs worth a loop of their own; false for all others. */
static bool convert_directly(artel_dtype from, const void *source, artel_dtype to, void *target, int64_t count)
{
    float *out = target;
    if (from == to) {
        if (count > 0) memcpy(target, source, (size_t)count * artel_dtype_size(to));
        return true;
    }
    if (to != ARTEL_DTYPE_FLOAT32) return false;
    if (from == ARTEL_DTYPE_UINT8) {
        for (int64_t i = 0; i < count; i++) out[i] = ((const uint8_t *)source)[i];
        return true;
    }
    if (from == ARTEL_DTYPE_FLOAT64) {
        for (int64_t i = 0; i < count; i++) out[i] = (float)((const double *)source)[i];
        return true;
    }
    return false;
}

void artel__convert(artel_dtype from, const void *source, artel_dtype to, void *target, int64_t count)
{
    wide buffer;
    size_t from_size = artel_dtype_size(from), to_size = artel_dtype_size(to);
    if (!from_size || !to_size || convert_directly(from, source, to, target, count)) return;
    for (int64_t at = 0; at < count; at += PIECE) {
        int piece = count - at < PIECE ? (int)(count - at) : PIECE;
        load(from, (const char *)source + (size_t)at * from_size, &buffer, piece);
        store(form_of(from), &buffer, to, (char *)target + (size_t)at * to_size, piece);
    }
}
