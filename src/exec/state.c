/* SPDX-License-Identifier: Apache-2.0 */
/* A replica's variables: one block, and the way between the plain form of files and the layout of memory. */
#include "exec/plan.h"

#include <string.h>

#include "kernel/product.h"

artel_status artel__state_init(artel_context *ctx, const artel__variables *variables, artel__state *out)
{
    void *block;
    ARTEL_TRY(artel__alloc_aligned(ctx, variables->bytes ? variables->bytes : 64, "variables", &block));
    *out = (artel__state){.ctx = ctx, .variables = variables, .block = block};
    return ARTEL_OK;
}

void artel__state_fini(artel__state *state)
{
    if (!state->block) return;
    artel__free_aligned(state->ctx, state->block, state->variables->bytes ? state->variables->bytes : 64);
    state->block = NULL;
}

void artel__state_store(artel__state *state, int index, const void *plain)
{
    const artel__variable *variable = &state->variables->item[index];
    uint8_t *data = artel__state_data(state, index);
    size_t size = artel_dtype_size(variable->dtype);
    if (variable->layout == ARTEL__LAYOUT_PLAIN) {
        memcpy(data, plain, (size_t)variable->count * size);
        return;
    }
    for (int64_t r = 0; r < variable->rows; r++) {
        for (int64_t c = 0; c < variable->columns; c += 32) {
            int64_t width = variable->columns - c < 32 ? variable->columns - c : 32;
            memcpy(data + (size_t)artel__panels_offset(variable->rows, variable->columns, r, c) * size,
                   (const uint8_t *)plain + (size_t)(r * variable->columns + c) * size, (size_t)width * size);
        }
    }
}

void artel__state_fetch(const artel__state *state, int index, void *plain)
{
    const artel__variable *variable = &state->variables->item[index];
    const uint8_t *data = artel__state_data(state, index);
    size_t size = artel_dtype_size(variable->dtype);
    if (variable->layout == ARTEL__LAYOUT_PLAIN) {
        memcpy(plain, data, (size_t)variable->count * size);
        return;
    }
    for (int64_t r = 0; r < variable->rows; r++) {
        for (int64_t c = 0; c < variable->columns; c += 32) {
            int64_t width = variable->columns - c < 32 ? variable->columns - c : 32;
            memcpy((uint8_t *)plain + (size_t)(r * variable->columns + c) * size,
                   data + (size_t)artel__panels_offset(variable->rows, variable->columns, r, c) * size, (size_t)width * size);
        }
    }
}
