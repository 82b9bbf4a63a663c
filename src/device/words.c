/* SPDX-License-Identifier: Apache-2.0 */
/* Scalars as words of 64 bits. */
#include "device/words.h"

#include <string.h>

/* Whether the step is the last of the node's period. */
static int64_t turn_of(const artel__node *node, const artel__step *step)
{
    return (artel__step_of(step, node)->iteration + 1) % node->period == 0;
}

static void fill_params(const artel__graph *graph, int32_t index, const artel__step *step, uint8_t *params)
{
    void *none[ARTEL__MAX_OPERANDS] = {NULL};
    const artel__node *node = &graph->node[index];
    const artel__op_exec *exec = artel__node_exec(node);
    artel__run_args args = {.graph = graph,
                            .node = node,
                            .node_index = index,
                            .attributes = node->attributes,
                            .step = artel__step_of(step, node),
                            .in = none,
                            .out = none,
                            .isa = ARTEL__ISA_BASELINE};
    memset(params, 0, exec->params_size);
    if (exec->fill) exec->fill(&args, params);
}

/* Signed types keep their sign, BOOL is a byte. */
static int64_t word_of(const uint8_t *field, artel_dtype dtype)
{
    uint64_t word = 0;
    int32_t number;
    memcpy(&word, field, artel_dtype_size(dtype));
    if (dtype != ARTEL_DTYPE_INT32) return (int64_t)word;
    memcpy(&number, field, sizeof number);
    return number;
}

void artel__words_fill(const artel__graph *graph, const artel__lower_scalar *scalar, int count, const artel__step *step,
                       int64_t *words)
{
    _Alignas(64) uint8_t params[ARTEL__MAX_PARAMS];
    int32_t filled = -1;
    for (int i = 0; i < count; i++) {
        if (scalar[i].offset == ARTEL__LOWER_TURN) {
            words[i] = turn_of(&graph->node[scalar[i].node], step);
            continue;
        }
        if (scalar[i].node != filled) fill_params(graph, scalar[i].node, step, params);
        filled = scalar[i].node;
        words[i] = word_of(params + scalar[i].offset, scalar[i].dtype);
    }
}
