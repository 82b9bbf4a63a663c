/* SPDX-License-Identifier: Apache-2.0 */
/* Variables in one block, and the way between the plain form of files and the layout of memory. */
#include <string.h>

#include "base/hash.h"
#include "exec/state_impl.h"
#include "kernel/narrow.h"
#include "kernel/product.h"

enum {
    PANEL = 32 /* columns that lie beside one another */
};

artel_status artel__state_create(artel_context *ctx, const artel__variables *variables, artel__state **out)
{
    void *memory, *block;
    ARTEL_TRY(artel__alloc(ctx, sizeof(artel__state), "variables", &memory));
    artel_status status = artel__alloc_aligned(ctx, variables->bytes ? variables->bytes : 64, "variables", &block);
    if (status < 0) {
        artel__free(ctx, memory);
        return status;
    }
    artel__state *state = memory;
    *state = (artel__state){.ctx = ctx, .variables = variables, .block = block};
    *out = state;
    return ARTEL_OK;
}

void artel__state_destroy(artel__state *state)
{
    if (!state) return;
    artel_context *ctx = state->ctx;
    if (state->home) state->home->drop(state->self);
    artel__free_aligned(ctx, state->block, state->variables->bytes ? state->variables->bytes : 64);
    artel__free(ctx, state);
}

const artel__variables *artel__state_variables(const artel__state *state)
{
    return state->variables;
}

/* -- where the newest values are -- */

artel_status artel__state_bring(const artel__state *state)
{
    if (!state->ahead) return ARTEL_OK;
    ARTEL_TRY(state->home->bring(state->self, state, state->block));
    ((artel__state *)(uintptr_t)state)->ahead = false; /* the values are what they were */
    return ARTEL_OK;
}

artel_status artel__state_settle_at(artel__state *state, const artel__state_home *home, void *self)
{
    ARTEL_TRY(artel__state_bring(state));
    if (state->home) state->home->drop(state->self);
    state->home = home;
    state->self = self;
    state->written = true;
    return ARTEL_OK;
}

void *artel__state_at(const artel__state *state, const artel__state_home *home)
{
    return state->home == home ? state->self : NULL;
}

void artel__state_leave(artel__state *state)
{
    state->ahead = true;
}

bool artel__state_return(artel__state *state)
{
    bool written = state->written;
    state->written = false;
    return written;
}

/* The block, for whoever reads it. */
static const uint8_t *newest(const artel__state *state)
{
    artel__state_bring(state);
    return state->block;
}

/* The block, for whoever changes a part of it. */
static uint8_t *changed(artel__state *state)
{
    artel__state_bring(state);
    state->written = true;
    return state->block;
}

/* -- the plain form -- */

/* `count` elements into memory, or out of it. The plain form may lie at any address. */
static void move_run(const artel__variable *variable, uint8_t *data, int64_t count, const uint8_t *in, uint8_t *out)
{
    artel_dtype held = artel__variable_held(variable);
    size_t size = artel_dtype_size(variable->dtype), wide = artel_dtype_size(held);
    if (held == variable->dtype) {
        memcpy(in ? data : out, in ? in : data, (size_t)count * size);
        return;
    }
    for (int64_t at = 0, n; at < count; at += n) {
        uint32_t some[256];
        n = count - at < 256 ? count - at : 256;
        if (in) {
            memcpy(some, in + (size_t)at * size, (size_t)n * size);
            artel__convert(variable->dtype, some, held, data + (size_t)at * wide, n);
            continue;
        }
        artel__convert(held, data + (size_t)at * wide, variable->dtype, some, n);
        memcpy(out + (size_t)at * size, some, (size_t)n * size);
    }
}

/* Between elements [first, first + count) of the plain form and the variable at `data`. One of `in` and `out` is NULL.
 */
static void move(const artel__variable *variable, uint8_t *data, int64_t first, int64_t count, const uint8_t *in,
                 uint8_t *out)
{
    size_t size = artel_dtype_size(variable->dtype), held = artel_dtype_size(artel__variable_held(variable));
    bool plain = variable->layout == ARTEL__LAYOUT_PLAIN;
    for (int64_t at = first, width; at < first + count; at += width) {
        int64_t row = plain ? 0 : at / variable->columns, column = plain ? at : at % variable->columns;
        int64_t end = plain ? first + count : (column / PANEL + 1) * PANEL;
        if (!plain && end > variable->columns) end = variable->columns;
        width = end - column < first + count - at ? end - column : first + count - at;
        size_t offset =
            (size_t)(plain ? at : artel__panels_offset(variable->rows, variable->columns, row, column)) * held;
        size_t done = (size_t)(at - first) * size;
        move_run(variable, data + offset, width, in ? in + done : NULL, out ? out + done : NULL);
    }
}

void artel__state_store_part(artel__state *state, int variable, int64_t first, int64_t count, const void *plain)
{
    const artel__variable *item = &state->variables->item[variable];
    move(item, changed(state) + item->offset, first, count, plain, NULL);
}

void artel__state_fetch_part(const artel__state *state, int variable, int64_t first, int64_t count, void *plain)
{
    const artel__variable *item = &state->variables->item[variable];
    move(item, (uint8_t *)(uintptr_t)newest(state) + item->offset, first, count, NULL, plain);
}

void artel__state_store(artel__state *state, int variable, const void *plain)
{
    artel__state_store_part(state, variable, 0, artel_shape_count(&state->variables->item[variable].shape), plain);
}

void artel__state_fetch(const artel__state *state, int variable, void *plain)
{
    artel__state_fetch_part(state, variable, 0, artel_shape_count(&state->variables->item[variable].shape), plain);
}

void artel__image_store(const artel__variables *variables, void *image, int index, const void *plain)
{
    const artel__variable *variable = &variables->item[index];
    move(variable, (uint8_t *)image + variable->offset, 0, artel_shape_count(&variable->shape), plain, NULL);
}

void artel__image_fetch(const artel__variables *variables, const void *image, int index, void *plain)
{
    const artel__variable *variable = &variables->item[index];
    move(variable, (uint8_t *)(uintptr_t)image + variable->offset, 0, artel_shape_count(&variable->shape), NULL, plain);
}

void artel__state_arrange(const artel__variable *variable, const void *plain, void *out)
{
    memset(out, 0, (size_t)variable->count * artel_dtype_size(artel__variable_held(variable)));
    move(variable, out, 0, artel_shape_count(&variable->shape), plain, NULL);
}

/* -- whole variables -- */

void *artel__state_lend(artel__state *state, int variable)
{
    return changed(state) + state->variables->item[variable].offset;
}

void artel__state_fill(artel__state *state, int variable, double value)
{
    changed(state);
    const artel__variable *item = &state->variables->item[variable];
    void *data = artel__state_data(state, variable);
    bool wide = item->dtype == ARTEL_DTYPE_FLOAT64;
    float held = wide ? 0.0f : artel__narrow_one(item->dtype, (float)value);
    for (int64_t i = 0; i < item->count && wide; i++) ((double *)data)[i] = value;
    for (int64_t i = 0; i < item->count && !wide; i++) ((float *)data)[i] = held;
}

void artel__state_assign(artel__state *state, int to, int from)
{
    const artel__variable *variable = &state->variables->item[to];
    changed(state);
    memcpy(artel__state_data(state, to), artel__state_data(state, from),
           (size_t)variable->count * artel_dtype_size(artel__variable_held(variable)));
}

/* Where a range starts in the block, which goes on to the start of what follows. */
static size_t offset_of(const artel__variables *variables, int index)
{
    return index < variables->count ? variables->item[index].offset : variables->bytes;
}

size_t artel__image_bytes(const artel__variables *variables, artel__variable_range range)
{
    return offset_of(variables, range.first + range.count) - offset_of(variables, range.first);
}

static const uint8_t *read_from(const artel__state *state, artel__variable_range range)
{
    return newest(state) + offset_of(state->variables, range.first);
}

/* What a device holds is not asked for where nothing of it would be left. */
static uint8_t *write_to(artel__state *state, artel__variable_range range)
{
    if (artel__image_bytes(state->variables, range) == state->variables->bytes) state->ahead = false;
    return changed(state) + offset_of(state->variables, range.first);
}

void artel__state_copy(artel__state *to, const artel__state *from, artel__variable_range range)
{
    const uint8_t *values = read_from(from, range);
    if (to != from) memcpy(write_to(to, range), values, artel__image_bytes(from->variables, range));
}

uint64_t artel__state_hash(const artel__state *state, artel__variable_range range)
{
    return artel__hash64(read_from(state, range), artel__image_bytes(state->variables, range));
}

void artel__state_image(const artel__state *state, artel__variable_range range, void *image)
{
    memcpy(image, read_from(state, range), artel__image_bytes(state->variables, range));
}

void artel__state_restore(artel__state *state, artel__variable_range range, const void *image)
{
    memcpy(write_to(state, range), image, artel__image_bytes(state->variables, range));
}
