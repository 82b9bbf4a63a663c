/* SPDX-License-Identifier: Apache-2.0 */
/* One merge after the other. */
#include "coll/program.h"

#include <string.h>

static const char *read_place(const artel__coll_program *p, int32_t operand, int64_t offset)
{
    return operand < 0 ? p->operand(p->user, -1 - operand) + offset : p->stack + (size_t)operand * p->place_bytes;
}

void artel__coll_program_run(const artel__coll_program *p, int64_t first, int64_t count)
{
    int64_t offset = first * p->element;
    char *root = p->out + offset;
    if (p->layout->steps == 0) memmove(root, read_place(p, -1, offset), (size_t)(count * p->element));
    for (int32_t i = 0; i < p->layout->steps; i++) {
        const artel__coll_merge_step *step = &p->layout->step[i];
        char *to = i + 1 == p->layout->steps ? root : p->stack + (size_t)step->to * p->place_bytes;
        p->merge(to, read_place(p, step->left, offset), read_place(p, step->right, offset), count);
    }
}
