/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that put blocks together: of the shards of a replica, along artel's tree, and of the replicas of a process
 * by the plug-in's own collectives. */
#include "device/executable.h"
#include "graph/hlo.h"

/* kernel/moments.h: blocks of (count, mean, M2). */
static artel__hlo_value merge_moments(artel__hlo *h, artel__hlo_value a, artel__hlo_value b)
{
    artel__hlo_value one[2][3];
    for (int i = 0; i < 3; i++) {
        one[0][i] = artel__hlo_slice_axis(h, a, 0, i, i + 1);
        one[1][i] = artel__hlo_slice_axis(h, b, 0, i, i + 1);
    }
    artel__hlo_value na = one[0][0], nb = one[1][0], zero = artel__hlo_number(h, 0, na),
                     n = artel__hlo_binary(h, "add", na, nb);
    artel__hlo_value delta = artel__hlo_binary(h, "subtract", one[1][1], one[0][1]);
    artel__hlo_value any = artel__hlo_compare(h, "GT", n, zero);
    artel__hlo_value share =
        artel__hlo_binary(h, "divide", nb, artel__hlo_select(h, any, n, artel__hlo_number(h, 1, n)));
    artel__hlo_value mean = artel__hlo_binary(h, "add", one[0][1], artel__hlo_binary(h, "multiply", delta, share));
    artel__hlo_value square = artel__hlo_binary(h, "multiply", delta, delta),
                     weight = artel__hlo_binary(h, "multiply", na, share);
    artel__hlo_value m2 = artel__hlo_binary(h, "add", artel__hlo_binary(h, "add", one[0][2], one[1][2]),
                                            artel__hlo_binary(h, "multiply", square, weight));
    artel__hlo_value empty_a = artel__hlo_compare(h, "EQ", na, zero), empty_b = artel__hlo_compare(h, "EQ", nb, zero);
    mean = artel__hlo_select(h, empty_b, one[0][1], artel__hlo_select(h, empty_a, one[1][1], mean));
    m2 = artel__hlo_select(h, empty_b, one[0][2], artel__hlo_select(h, empty_a, one[1][2], m2));
    return artel__hlo_concatenate(h, (artel__hlo_value[]){n, mean, m2}, 3, 0);
}

static artel__hlo_value merge(artel__hlo *h, artel__collective kind, artel__hlo_value a, artel__hlo_value b)
{
    if (kind == ARTEL__COLLECTIVE_MOMENTS) return merge_moments(h, a, b);
    return artel__hlo_binary(h, kind == ARTEL__COLLECTIVE_MAX ? "maximum" : "add", a, b);
}

artel__hlo_value artel__step_merge(artel__hlo *h, artel__collective kind, const artel__hlo_value *leaf, int count)
{
    int half = 1;
    if (count == 1) return leaf[0];
    while (2 * half < count) half *= 2;
    artel__hlo_value left = artel__step_merge(h, kind, leaf, half);
    return merge(h, kind, left, artel__step_merge(h, kind, leaf + half, count - half));
}

artel_status artel__step_combine_write(artel__device_executable *x, const artel__step_program *p, artel__text *text)
{
    const artel__cut_stage *stage = &x->cut.stage[p->stage];
    int count = (int)p->rows, results = 0, arguments = 0;
    artel__hlo_value *leaf = artel__arena_alloc(&x->arena, (size_t)(stage->collectives * count) + 1, sizeof *leaf);
    artel__hlo_value *result = artel__arena_alloc(&x->arena, (size_t)stage->collectives + 1, sizeof *result);
    artel__hlo h;
    ARTEL_TRY(artel__arena_status(&x->arena));
    artel__hlo_init(&h, x->ctx);
    for (int i = 0; i < stage->collectives; i++) {
        const artel__node *node = &x->graph->node[stage->collective[i]];
        artel__hlo_type type = artel__lower_type(x->graph, node->input[0], 0, 0);
        for (int k = 0; k < count && node->op->collective != ARTEL__COLLECTIVE_GATHER; k++)
            leaf[arguments++] = artel__hlo_argument(&h, &type, -1);
    }
    arguments = 0;
    for (int i = 0; i < stage->collectives; i++) {
        artel__collective kind = x->graph->node[stage->collective[i]].op->collective;
        if (kind == ARTEL__COLLECTIVE_GATHER) continue;
        result[results++] = artel__step_merge(&h, kind, leaf + arguments, count);
        arguments += count;
    }
    artel_status status = results ? artel__hlo_finish(&h, result, results, text) : ARTEL_OK;
    artel__hlo_fini(&h);
    return status;
}

/* Sums of floats are the plug-in's; all else is gathered, and merged on every device along the tree. */
artel__hlo_value artel__step_join_blocks(artel__hlo *h, artel__collective kind, artel__hlo_value own)
{
    const artel__hlo_type type = *artel__hlo_type_of(h, own);
    bool real = type.dtype == ARTEL_DTYPE_FLOAT32 || type.dtype == ARTEL_DTYPE_FLOAT64;
    artel__hlo_value block[ARTEL__MAX_JOINT];
    if (kind == ARTEL__COLLECTIVE_SUM && real) return artel__hlo_all_sum(h, own);
    artel__hlo_value all = artel__hlo_all_gather(h, own);
    for (int r = 0; r < h->replicas; r++)
        block[r] = artel__hlo_reshape(h, artel__hlo_slice_axis(h, all, 0, r, r + 1), &type);
    return artel__step_merge(h, kind, block, h->replicas);
}

artel_status artel__step_joint_write(artel__device_executable *x, const artel__step_program *p, artel__text *text)
{
    const artel__cut_stage *stage = &x->cut.stage[p->stage];
    artel__hlo_value *block = artel__arena_alloc(&x->arena, (size_t)stage->collectives + 1, sizeof *block);
    int count = 0;
    artel__hlo h;
    if (!block) return ARTEL_ERROR_NO_MEMORY;
    artel__hlo_init(&h, x->ctx);
    h.replicas = x->joint->members;
    for (int i = 0; i < stage->collectives; i++) {
        const artel__node *node = &x->graph->node[stage->collective[i]];
        artel__hlo_type type = artel__lower_type(x->graph, node->input[0], 0, 0);
        if (node->op->collective != ARTEL__COLLECTIVE_GATHER) block[count++] = artel__hlo_argument(&h, &type, -1);
    }
    count = 0;
    for (int i = 0; i < stage->collectives; i++) {
        artel__collective kind = x->graph->node[stage->collective[i]].op->collective;
        if (kind == ARTEL__COLLECTIVE_GATHER) continue;
        block[count] = artel__step_join_blocks(&h, kind, block[count]);
        count++;
    }
    artel_status status = count ? artel__hlo_finish(&h, block, count, text) : ARTEL_OK;
    artel__hlo_fini(&h);
    return status;
}
