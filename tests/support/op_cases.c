/* SPDX-License-Identifier: Apache-2.0 */
/* Every operation in small graphs, family by family (op_cases_*.c). See the header. */
#include <stdio.h>

#include "support/op_cases.h"

enum {
    MANY = 64
};

static const op_family *const tables[] = {
    op_cases_elementwise, op_cases_product, op_cases_shape, op_cases_reduce, op_cases_norm, op_cases_recurrent,
    op_cases_train,       op_cases_gather,  op_cases_rows,  op_cases_second, op_cases_wide, op_cases_decompose,
};

void op_each(void (*check)(const op_case *c), bool gradients)
{
    for (size_t i = 0; i < ARTEL__COUNT(tables); i++) {
        for (const op_family *f = tables[i]; f->count; f++) {
            for (int k = 0; k < f->count; k++) {
                op_case c = f->c;
                char name[MANY];
                snprintf(name, sizeof name, "%s %d", c.name, c.parameter + k);
                c.name = name;
                c.parameter += k;
                if (gradients && (c.bits_only || c.kinks || (c.flat && c.flat(c.parameter)))) continue;
                check(&c);
            }
        }
    }
}
