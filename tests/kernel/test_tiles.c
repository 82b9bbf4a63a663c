/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of blocks over the whole range of bfloat16, denormals and both zeros among the operands: every kernel
 * against the definition, the instruction's where the processor has it. Then what is not finite: which results are is
 * the same for all. */
#include "help_check.h"

#include <math.h>
#include <string.h>

#include "kernel/product.h"

enum {
    MOST = 70,
    FLOATS = 3 * MOST * MOST
};

/* A bfloat16 of any sign and mantissa, its exponent below `exponents`. */
static float any(check_random *random, int64_t exponents)
{
    uint64_t drawn = check_next(random);
    uint32_t bits = (uint32_t)(drawn & 0x807f0000u) | (uint32_t)check_below(random, exponents) << 23;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

typedef struct operands {
    float a[FLOATS], w[FLOATS], out[FLOATS], expected[FLOATS];
    artel__product_forward p;
} operands;

/* Rows, columns and terms from 1 to 70: parts of tiles, several blocks. */
static void draw(check_random *random, operands *o, int64_t exponents)
{
    int64_t m = 1 + check_below(random, MOST), n = 1 + check_below(random, MOST), k = 1 + check_below(random, MOST);
    for (int64_t i = 0; i < m * k; i++) o->a[i] = any(random, exponents);
    memset(o->w, 0, sizeof o->w);
    for (int64_t i = 0; i < k; i++) {
        for (int64_t j = 0; j < n; j++) o->w[artel__panels_offset(k, n, i, j)] = any(random, exponents);
    }
    o->p = (artel__product_forward){.m = m,
                                    .n = n,
                                    .k = k,
                                    .a = o->a,
                                    .lda = k,
                                    .w = o->w,
                                    .out = o->out,
                                    .ldo = n,
                                    .held = ARTEL_DTYPE_BFLOAT16,
                                    .arithmetic = ARTEL__ARITHMETIC_TILES};
}

static void test_range(void **state)
{
    check_random random = {11};
    operands *o = check_alloc(sizeof *o);
    (void)state;
    for (int i = 0; i < 300; i++) {
        draw(&random, o, i % 3 == 0 ? 70 : i % 3 == 1 ? 130 : 185); /* most vanish; some do; none overflows */
        check_buffer buffer = {o->out, (size_t)(o->p.m * o->p.n) * sizeof(float)};
        check_kernels(artel__product_forward_kernels, &o->p, &buffer, 1);
    }
    check_free(o);
}

static void test_not_finite(void **state)
{
    check_random random = {12};
    operands *o = check_alloc(sizeof *o);
    (void)state;
    for (int i = 0; i < 60; i++) {
        draw(&random, o, 256);
        check_run_reference(artel__product_forward_kernels, &o->p);
        memcpy(o->expected, o->out, sizeof o->out);
        for (const artel__kernel *const *kernel = artel__product_forward_kernels; *kernel; kernel++) {
            if (!check_can_run(*kernel, &o->p)) continue;
            check_run(*kernel, &o->p);
            for (int64_t e = 0; e < o->p.m * o->p.n; e++)
                assert_true(isnan(o->expected[e]) ? isnan(o->out[e])
                                                  : memcmp(&o->expected[e], &o->out[e], sizeof(float)) == 0);
        }
    }
    check_free(o);
}

static void test_instruction(void **state)
{
    (void)state;
    if (artel__isa_of_machine() == ARTEL__ISA_AMX) return; /* it was among the kernels above */
    print_message("skipped: this machine has no AMX, so the instruction itself was not compared\n");
    skip();
}

static int setup(void **state)
{
    (void)state;
    check_setup();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_range), cmocka_unit_test(test_not_finite),
                                       cmocka_unit_test(test_instruction)};
    return cmocka_run_group_tests(tests, setup, NULL);
}
