/* SPDX-License-Identifier: Apache-2.0 */
/* Four steps of a tile's reduction for AVX2, in assembly: 1 to 6 rows by 16 columns.
 *
 * A step of six rows takes twenty instructions: two loads of B, six broadcasts of A, twelve multiply-adds, which two
 * units do in six cycles. A loop of one step brings a quarter more, and gcc 12 fills longer ones with moves between the
 * 16 registers and takes pointers from the stack: a core then decodes for as long as it multiplies, and longer where
 * another thread shares it. Mean of bench/products.c, AMD Zen 3 shared with other work: 61 -> 75 % of peak. The order
 * of the multiply-adds of an element is that of micro_tile.h.
 */
#ifndef ARTEL_KERNEL_SIMD_MICRO_STEPS_AVX2_H
#define ARTEL_KERNEL_SIMD_MICRO_STEPS_AVX2_H

#include <immintrin.h>
#include <stdint.h>

#define STEPS_ROW(i, a)                            \
    "vbroadcastss " a ", %%ymm14\n\t"              \
    "vfmadd231ps %%ymm12, %%ymm14, %[p" #i "]\n\t" \
    "vfmadd231ps %%ymm13, %%ymm14, %[q" #i "]\n\t"

#define STEPS_B(b) "vmovups (" b "), %%ymm12\n\tvmovups 32(" b "), %%ymm13\n\t"

/* Rows of A from two pointers, half of them (rounded up) from the first; u: bytes of the steps before. */
#define STEPS_ROWS_1(u) STEPS_ROW(0, u "(%[a0])")
#define STEPS_ROWS_2(u) STEPS_ROWS_1(u) STEPS_ROW(1, u "(%[a1])")
#define STEPS_ROWS_3(u) STEPS_ROWS_1(u) STEPS_ROW(1, u "(%[a0], %[s])") STEPS_ROW(2, u "(%[a1])")
#define STEPS_ROWS_4(u) STEPS_ROWS_3(u) STEPS_ROW(3, u "(%[a1], %[s])")
#define STEPS_ROWS_5(u)             \
    STEPS_ROWS_1(u)                 \
    STEPS_ROW(1, u "(%[a0], %[s])") \
    STEPS_ROW(2, u "(%[a0], %[s], 2)") STEPS_ROW(3, u "(%[a1])") STEPS_ROW(4, u "(%[a1], %[s])")
#define STEPS_ROWS_6(u) STEPS_ROWS_5(u) STEPS_ROW(5, u "(%[a1], %[s], 2)")

/* Rows of A that are neighbours in memory. */
#define STEPS_SIDE_1(a) STEPS_ROW(0, "(" a ")")
#define STEPS_SIDE_2(a) STEPS_SIDE_1(a) STEPS_ROW(1, "4(" a ")")
#define STEPS_SIDE_3(a) STEPS_SIDE_2(a) STEPS_ROW(2, "8(" a ")")
#define STEPS_SIDE_4(a) STEPS_SIDE_3(a) STEPS_ROW(3, "12(" a ")")
#define STEPS_SIDE_5(a) STEPS_SIDE_4(a) STEPS_ROW(4, "16(" a ")")
#define STEPS_SIDE_6(a) STEPS_SIDE_5(a) STEPS_ROW(5, "20(" a ")")

#define STEPS_ACC_1 [p0] "+x"(p[0]), [q0] "+x"(q[0])
#define STEPS_ACC_2 STEPS_ACC_1, [p1] "+x"(p[1]), [q1] "+x"(q[1])
#define STEPS_ACC_3 STEPS_ACC_2, [p2] "+x"(p[2]), [q2] "+x"(q[2])
#define STEPS_ACC_4 STEPS_ACC_3, [p3] "+x"(p[3]), [q3] "+x"(q[3])
#define STEPS_ACC_5 STEPS_ACC_4, [p4] "+x"(p[4]), [q4] "+x"(q[4])
#define STEPS_ACC_6 STEPS_ACC_5, [p5] "+x"(p[5]), [q5] "+x"(q[5])

#define STEPS_OF_ROWS(rows, acc)                                                                           \
    __asm__(STEPS_B("%[b]") rows("0") STEPS_B("%[b], %[sb]") rows("4") STEPS_B("%[b], %[sb], 2") rows("8") \
                STEPS_B("%[b], %[sb3]") rows("12")                                                         \
            : acc                                                                                          \
            : [a0] "r"(a0), [a1] "r"(a1), [s] "r"(s), [b] "r"(b), [sb] "r"(sb), [sb3] "r"(sb * 3)          \
            : "xmm12", "xmm13", "xmm14", "memory")

#define STEPS_OF_SIDE(rows, acc)                                                                             \
    __asm__(STEPS_B("%[b]") rows("%[a]") STEPS_B("%[b], %[sb]") rows("%[a], %[s]") STEPS_B("%[b], %[sb], 2") \
                rows("%[a], %[s], 2") STEPS_B("%[b], %[sb3]") rows("%[a], %[s3]")                            \
            : acc                                                                                            \
            : [a] "r"(a), [s] "r"(s), [s3] "r"(s * 3), [b] "r"(b), [sb] "r"(sb), [sb3] "r"(sb * 3)           \
            : "xmm12", "xmm13", "xmm14", "memory")

/* Rows of A contiguous in the reduction, in two runs; s, sb: bytes between rows of A, of B. */
static inline __attribute__((always_inline)) void steps_of_rows(int mr, __m256 *p, __m256 *q, const char *a0,
                                                                const char *a1, int64_t s, const float *b, int64_t sb)
{
    switch (mr) {
    case 1: STEPS_OF_ROWS(STEPS_ROWS_1, STEPS_ACC_1); break;
    case 2: STEPS_OF_ROWS(STEPS_ROWS_2, STEPS_ACC_2); break;
    case 3: STEPS_OF_ROWS(STEPS_ROWS_3, STEPS_ACC_3); break;
    case 4: STEPS_OF_ROWS(STEPS_ROWS_4, STEPS_ACC_4); break;
    case 5: STEPS_OF_ROWS(STEPS_ROWS_5, STEPS_ACC_5); break;
    default: STEPS_OF_ROWS(STEPS_ROWS_6, STEPS_ACC_6); break;
    }
}

/* Rows of A side by side; s, sb: bytes between steps of A, between rows of B. */
static inline __attribute__((always_inline)) void steps_of_side(int mr, __m256 *p, __m256 *q, const float *a, int64_t s,
                                                                const float *b, int64_t sb)
{
    switch (mr) {
    case 1: STEPS_OF_SIDE(STEPS_SIDE_1, STEPS_ACC_1); break;
    case 2: STEPS_OF_SIDE(STEPS_SIDE_2, STEPS_ACC_2); break;
    case 3: STEPS_OF_SIDE(STEPS_SIDE_3, STEPS_ACC_3); break;
    case 4: STEPS_OF_SIDE(STEPS_SIDE_4, STEPS_ACC_4); break;
    case 5: STEPS_OF_SIDE(STEPS_SIDE_5, STEPS_ACC_5); break;
    default: STEPS_OF_SIDE(STEPS_SIDE_6, STEPS_ACC_6); break;
    }
}

#endif
