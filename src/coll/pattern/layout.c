/* SPDX-License-Identifier: Apache-2.0 */
/* The owners of nodes and the merge program.
 *
 * The program is found with a stack: push the nodes from left to right; while the two on top are siblings, merge them.
 * Since the nodes tile the tree, exactly the root remains. Nodes are pushed by reference; merged values live at the
 * stack place of their left half, so a place is overwritten only by its own continuation. Of a number of shards that is
 * no power of two several are left, the largest on the left; they are merged from the right.
 */
#include "coll/pattern/layout.h"

static void list_nodes(artel__coll_layout *layout)
{
    artel__fold_node own[ARTEL__MAX_NODES];
    layout->nodes = 0;
    for (int32_t r = 0; r < layout->ranks; r++) {
        int32_t first = layout->start[r];
        int count = artel__fold_nodes(first, layout->start[r + 1] - first, own);
        layout->first[r] = layout->nodes;
        for (int i = 0; i < count; i++) layout->node[layout->nodes++] = (artel__coll_node){own[i], r};
    }
    layout->first[layout->ranks] = layout->nodes;
}

typedef struct entry {
    artel__fold_node shards;
    int32_t operand;
} entry;

static bool siblings(const entry *left, const entry *right)
{
    return left->shards.count == right->shards.count && left->shards.first % (2 * left->shards.count) == 0;
}

static void list_steps(artel__coll_layout *layout)
{
    entry stack[ARTEL__MAX_NODES + 1];
    int32_t height = 0;
    layout->steps = 0;
    layout->places = 1;
    for (int32_t n = 0; n < layout->nodes; n++) {
        stack[height++] = (entry){layout->node[n].shards, -1 - n};
        while (height > 1 && siblings(&stack[height - 2], &stack[height - 1])) {
            entry *left = &stack[height - 2], *right = &stack[height - 1];
            layout->step[layout->steps++] = (artel__coll_merge_step){height - 2, left->operand, right->operand};
            if (height - 1 > layout->places) layout->places = height - 1;
            *left = (entry){{left->shards.first, 2 * left->shards.count}, height - 2};
            height--;
        }
    }
    for (; height > 1; height--) {
        entry *left = &stack[height - 2], *right = &stack[height - 1];
        layout->step[layout->steps++] = (artel__coll_merge_step){height - 2, left->operand, right->operand};
        if (height - 1 > layout->places) layout->places = height - 1;
        left->operand = height - 2;
    }
}

static artel_status refuse(artel_context *ctx, int32_t shards, int32_t ranks)
{
    return artel__fail(ctx, ARTEL_ERROR_INVALID, ".shards",
                       "give a power of two that is at least the number of replicas",
                       "%d virtual shards for %d replicas", shards, ranks);
}

artel_status artel__coll_layout_init(artel_context *ctx, int32_t shards, int32_t ranks, artel__coll_layout *out)
{
    if (shards < 1 || (shards & (shards - 1))) return refuse(ctx, shards, ranks);
    return artel__coll_layout_init_runs(ctx, shards, ranks, NULL, out);
}

artel_status artel__coll_layout_init_runs(artel_context *ctx, int32_t shards, int32_t ranks, const int32_t *start,
                                          artel__coll_layout *out)
{
    if (shards < 1 || shards > ARTEL__MAX_SHARDS || ranks < 1 || ranks > shards) return refuse(ctx, shards, ranks);
    int64_t most = (int64_t)ranks * ARTEL__MAX_NODES < shards ? (int64_t)ranks * ARTEL__MAX_NODES : shards;
    size_t node_bytes = (size_t)most * sizeof(artel__coll_node),
           first_bytes = 2 * ((size_t)ranks + 1) * sizeof(int32_t);
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, node_bytes + first_bytes + (size_t)most * sizeof(artel__coll_merge_step),
                            "collectives", &block));
    *out = (artel__coll_layout){.shards = shards, .width = 1, .ranks = ranks, .node = block};
    while (out->width < shards) out->width *= 2;
    out->first = (int32_t *)((char *)block + node_bytes);
    out->start = out->first + ranks + 1;
    out->step = (artel__coll_merge_step *)((char *)block + node_bytes + first_bytes);
    for (int32_t r = 0; r <= ranks; r++)
        out->start[r] = start ? start[r] : artel__replica_first_shard(shards, ranks, r);
    list_nodes(out);
    list_steps(out);
    return ARTEL_OK;
}

void artel__coll_layout_fini(artel_context *ctx, artel__coll_layout *layout)
{
    artel__free(ctx, layout->node);
    *layout = (artel__coll_layout){.node = NULL};
}

static void dump_operand(const artel__coll_layout *layout, int32_t operand, artel__text *out)
{
    if (operand >= 0)
        artel__text_printf(out, "p%d", operand);
    else
        artel__text_printf(out, "[%d+%d)", layout->node[-1 - operand].shards.first,
                           layout->node[-1 - operand].shards.count);
}

void artel__coll_layout_dump(const artel__coll_layout *layout, artel__text *out)
{
    artel__text_printf(out, "all-reduce: %d shards, %d ranks, %d nodes\n", layout->shards, layout->ranks,
                       layout->nodes);
    for (int32_t r = 0; r < layout->ranks; r++) {
        artel__text_printf(out, "  rank %d:", r);
        for (int32_t n = layout->first[r]; n < layout->first[r + 1]; n++) {
            artel__text_append(out, " ");
            dump_operand(layout, -1 - n, out);
        }
        artel__text_append(out, "\n");
    }
    for (int32_t i = 0; i < layout->steps; i++) {
        artel__text_printf(out, "  p%d = ", layout->step[i].to);
        dump_operand(layout, layout->step[i].left, out);
        artel__text_append(out, " + ");
        dump_operand(layout, layout->step[i].right, out);
        artel__text_append(out, "\n");
    }
}
