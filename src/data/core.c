/* SPDX-License-Identifier: Apache-2.0 */
/* The core of feeds: the memory of what they have packed or made, and its end with the last feed. */
#include "data/feed.h"

typedef struct artel__core_block {
    struct artel__core_block *next;
    void *bytes;
    size_t size;
} core_block;

artel_status artel__core_alloc(artel__feed_core *core, size_t bytes, void **out)
{
    core_block *block = artel__arena_alloc(&core->arena, 1, sizeof *block);
    if (block == NULL) return ARTEL_ERROR_NO_MEMORY;
    block->size = bytes > 0 ? bytes : 1;
    ARTEL_TRY(artel__alloc_aligned(core->ctx, block->size, core->data->specification, &block->bytes));
    block->next = core->blocks;
    core->blocks = block;
    *out = block->bytes;
    return ARTEL_OK;
}

void artel__core_release(artel__feed_core *core)
{
    if (core == NULL || --core->references > 0) return;
    artel_context *ctx = core->ctx;
    for (core_block *block = core->blocks; block != NULL; block = block->next)
        artel__free_aligned(ctx, block->bytes, block->size);
    artel__arena_fini(&core->arena);
    artel_data_destroy(core->data);
    artel__free(ctx, core);
}
