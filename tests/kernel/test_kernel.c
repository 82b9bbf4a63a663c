/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing a kernel: order, instruction set, refusals, the reference at last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernel/kernel.h"

static const char *refuses_odd(const void *params)
{
    return *(const int *)params % 2 ? "odd" : NULL;
}

static const char *refuses_all(const void *params)
{
    (void)params;
    return "never";
}

static const artel__kernel wide = {.name = "avx512 x", .isa = ARTEL__ISA_AVX512, .refuses = refuses_odd};
static const artel__kernel narrow = {.name = "avx2 x", .isa = ARTEL__ISA_AVX2};
static const artel__kernel reference = {.name = "ref x", .isa = ARTEL__ISA_BASELINE};
static const artel__kernel stubborn = {.name = "avx2 y", .isa = ARTEL__ISA_AVX2, .refuses = refuses_all};

static void test_choice(void **state)
{
    static const artel__kernel *const list[] = {&wide, &narrow, &reference, NULL}, *const last[] = {&stubborn,
                                                                                                    &reference, NULL};
    int even = 2, odd = 3;
    (void)state;
    assert_ptr_equal(artel__kernel_choose(list, ARTEL__ISA_AVX512, &even), &wide);
    assert_ptr_equal(artel__kernel_choose(list, ARTEL__ISA_AVX512, &odd), &narrow);
    assert_ptr_equal(artel__kernel_choose(list, ARTEL__ISA_AVX2, &even), &narrow);
    assert_ptr_equal(artel__kernel_choose(list, ARTEL__ISA_BASELINE, &even), &reference);
    assert_ptr_equal(artel__kernel_choose(last, ARTEL__ISA_AVX512, &even), &reference);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
