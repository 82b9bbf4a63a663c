/* SPDX-License-Identifier: Apache-2.0 */
/* The edge of the normal range: when is a result that is not exact flushed to zero?
 *
 * With P = 2^-126, the smallest normal number, an exact result of magnitude v < P may become P or zero:
 *   AFTER      rounded to 24 bits as if exponents had no end, then flushed: P from P - 2^-151 on (x86, SSE and AVX)
 *   BEFORE     flushed when v < P
 *   SUBNORMAL  rounded to the step of subnormal numbers, then flushed: P from P - 2^-150 on
 * Only multiplication, fused multiply-add, division and conversion from float64 can tell them apart. What is here gives x86's rule on any
 * device: the operation without flushing, a flush, and float64 where the result is P.
 */
#ifndef OWN_BITS_EDGE_CUH
#define OWN_BITS_EDGE_CUH

#include "artel.cuh"

enum rule {
    AFTER,
    BEFORE,
    SUBNORMAL,
    RULES
};

#define SMALLEST 0x1p-126

/* sum + rest, |rest| below a unit of sum, is what was computed. Whether it becomes +-P rather than zero, given that |sum| <= P. */
HD bool edge_stays(rule rule, double sum, double rest)
{
    double size = sum < 0.0 ? -sum : sum, tail = sum < 0.0 ? -rest : rest;
    double least = rule == AFTER ? SMALLEST - 0x1p-151 : rule == BEFORE ? SMALLEST : SMALLEST - 0x1p-150;
    return size > least || (size == least && tail >= 0.0);
}

HD float edge_value(rule rule, double sum, double rest)
{
    return artel__copysignf(edge_stays(rule, sum, rest) ? (float)SMALLEST : 0.0f, sum < 0.0 ? -1.0f : 1.0f);
}

/* a * b + c as sum + rest; a, b and c are no denormals. */
HD void fma_parts(float a, float b, float c, double *sum, double *rest)
{
    double p = (double)a * (double)b, q = (double)c, s = p + q, back = s - p;
    *sum = s;
    *rest = (p - (s - back)) + (q - back);
}

HD bool at_edge(float x)
{
    return artel__absf(x) == (float)SMALLEST;
}

#ifdef __CUDA_ARCH__
#define FLUSHED(x)                                                       \
    ({                                                                   \
        float flushed;                                                   \
        asm("add.ftz.f32 %0, %1, 0f80000000;" : "=f"(flushed) : "f"(x)); \
        flushed;                                                         \
    })
#endif

/* x, denormals as zero of their sign. */
HD float flush(float x)
{
#ifdef __CUDA_ARCH__
    return FLUSHED(x);
#else
    return (artel__bits(x) & 0x7f800000u) == 0 ? artel__from_bits(artel__bits(x) & 0x80000000u) : x;
#endif
}

/* fmaf as x86 has it; a, b and c are flushed already. */
HD float fma_x86(float a, float b, float c)
{
#ifdef __CUDA_ARCH__
    float r;
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(a), "f"(b), "f"(c));
    r = flush(r);
    if (at_edge(r)) {
        double sum, rest;
        fma_parts(a, b, c, &sum, &rest);
        if (fabs(sum) < SMALLEST) r = edge_value(AFTER, sum, rest);
    }
    return r;
#else
    return fmaf(a, b, c);
#endif
}

HD float mul_x86(float a, float b)
{
#ifdef __CUDA_ARCH__
    float r, x = flush(a), y = flush(b);
    asm("mul.rn.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
    r = flush(r);
    double sum = (double)x * (double)y;
    return at_edge(r) && fabs(sum) < SMALLEST ? edge_value(AFTER, sum, 0.0) : r;
#else
    return a * b;
#endif
}

HD float div_x86(float a, float b)
{
#ifdef __CUDA_ARCH__
    float r, x = flush(a), y = flush(b);
    asm("div.rn.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
    r = flush(r);
    double sum = (double)x / (double)y; /* 53 bits of a quotient of 24 by 24 lie on the right side of every middle */
    return at_edge(r) && fabs(sum) < SMALLEST ? edge_value(AFTER, sum, 0.0) : r;
#else
    return a / b;
#endif
}

HD float narrow_x86(double a)
{
#ifdef __CUDA_ARCH__
    float r;
    asm("cvt.rn.f32.f64 %0, %1;" : "=f"(r) : "d"(a));
    r = flush(r);
    return at_edge(r) && fabs(a) < SMALLEST ? edge_value(AFTER, a, 0.0) : r;
#else
    return (float)a;
#endif
}

/* -- the operations themselves -- */

enum operation {
    ADD,
    MULTIPLY,
    DIVIDE,
    SQUARE_ROOT,
    FUSED,
    NARROW, /* (float)(a * b) by way of float64 */
    WIDEN,  /* the high word of (double)a */
    NEGATE,
    MAGNITUDE,
    LARGER,  /* a > b ? a : b */
    BELOW,   /* a < b */
    INTEGER, /* (float)(int32_t)a, below 2^31 */
    OPERATIONS
};

/* y = a op b, c, by the device's own rule or by x86's. */
struct plain {
    operation op;
    bool x86;
    int64_t count;
    const float *a, *b, *c;
    float *y;
};

HD int64_t elements(const plain &p)
{
    return p.count;
}

HD void compute(const plain &p, int64_t i)
{
    float a = p.a[i], b = p.b[i], c = p.c[i], y = 0.0f;
    switch (p.op) {
    case ADD: y = a + b; break;
    case MULTIPLY: y = p.x86 ? mul_x86(a, b) : a * b; break;
    case DIVIDE: y = p.x86 ? div_x86(a, b) : a / b; break;
    case SQUARE_ROOT: y = artel__sqrtf(artel__absf(a)); break;
    case FUSED: y = p.x86 ? fma_x86(flush(a), flush(b), flush(c)) : fmaf(a, b, c); break;
    case NARROW: y = p.x86 ? narrow_x86((double)a * (double)b) : (float)((double)a * (double)b); break;
    case WIDEN: y = artel__from_bits((uint32_t)(artel__bits64((double)a) >> 32)); break;
    case NEGATE: y = -a; break;
    case MAGNITUDE: y = artel__absf(a); break;
    case LARGER: y = artel__maxf(a, b); break;
    case BELOW: y = a < b ? 1.0f : 0.0f; break;
    case INTEGER: y = artel__absf(a) < 2147483648.0f ? (float)(int32_t)a : 0.0f; break;
    case OPERATIONS: break;
    }
    p.y[i] = y;
}

/* What a rule gives where it matters: false where all rules agree. For MULTIPLY, DIVIDE, FUSED and NARROW. */
static bool predicted(const plain &p, rule rule, int64_t i, float *y)
{
    float a = flush(p.a[i]), b = flush(p.b[i]), c = p.op == FUSED ? flush(p.c[i]) : 0.0f;
    double sum = 0.0, rest = 0.0;
    if (p.op == DIVIDE)
        sum = (double)a / (double)b;
    else
        fma_parts(a, b, c, &sum, &rest);
    double size = fabs(sum);
    if (!(size < SMALLEST + 0x1p-160) || size < SMALLEST / 2 || (size >= SMALLEST && rest * sum >= 0.0)) return false;
    *y = edge_value(rule, sum, rest);
    return true;
}

#endif
