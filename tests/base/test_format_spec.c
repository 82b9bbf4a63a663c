/* SPDX-License-Identifier: Apache-2.0 */
/* Format specifications beside what CPython 3.11 writes, and what it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "artel/context.h"
#include "base/format_spec.h"

static const struct {
    const char *spec;
    double value;
    bool whole;
    const char *text; /* NULL: an error */
} cases[] = {{"", 7, true, "7"},
             {"02d", 7, true, "07"},
             {"03", -7, true, "-07"},
             {">4", 7, true, "   7"},
             {"<4", 7, true, "7   "},
             {"*^6", 7, true, "**7***"},
             {"+d", 7, true, "+7"},
             {" ", 7, true, " 7"},
             {"#x", 255, true, "0xff"},
             {"#010X", 255, true, "0X000000FF"},
             {"o", 8, true, "10"},
             {"#b", 5, true, "0b101"},
             {"_b", 255, true, "1111_1111"},
             {",", 1234567, true, "1,234,567"},
             {".2f", 7, true, "7.00"},
             {"%", 1, true, "100.000000%"},
             {".2", 7, true, NULL},
             {"s", 7, true, NULL},
             {"x", 1.5, false, NULL},
             {"d", 1.5, false, NULL},
             {"", 1.5, false, "1.5"},
             {"", 1e16, false, "1e+16"},
             {".2f", 1.560445, false, "1.56"},
             {"6.2f", 1.560445, false, "  1.56"},
             {"06.2f", -1.560445, false, "-01.56"},
             {"=+8.1f", 1.560445, false, "+    1.6"},
             {".1%", 1.560445, false, "156.0%"},
             {".2e", 0.000123456, false, "1.23e-04"},
             {"g", 1.560445, false, "1.56045"},
             {"G", 1e-10, false, "1E-10"},
             {".3", 12.0, false, "12.0"},
             {".2", 12.0, false, "1.2e+01"},
             {".4", 0.00012, false, "0.00012"},
             {".0", 5.0, false, "5e+00"},
             {",.1f", 1234567.25, false, "1,234,567.2"},
             {"f", INFINITY, false, "inf"},
             {"5F", NAN, false, "  NAN"},
             {".", 1.5, false, NULL},
             {"..", 1.5, false, NULL},
             {"<<5", 1.5, false, "1.5<<"},
             {"5q", 1.5, false, NULL}};

static void test_cases(void **state)
{
    artel_context *ctx = NULL;
    (void)state;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    for (size_t i = 0; i < ARTEL__COUNT(cases); i++) {
        artel__text out;
        artel__text_init(&out, ctx);
        artel__text_append(&out, "=");
        bool known = artel__format_number(&out, cases[i].spec, strlen(cases[i].spec), cases[i].value, cases[i].whole);
        assert_int_equal(known, cases[i].text != NULL);
        assert_string_equal(out.data + 1, known ? cases[i].text : "");
        artel__text_fini(&out);
    }
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
