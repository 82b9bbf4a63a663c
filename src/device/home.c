/* SPDX-License-Identifier: Apache-2.0 */
/* Variables to a device and back, in the plain form; those of fewer bits as programs take them (float32, int32, int64).
 */
#include "device/home.h"

/* Two forms of a variable, in one block. */
typedef struct both {
    const artel__variable *variable;
    int64_t count;
    size_t bytes; /* of `held` */
    void *plain, *held;
} both;

static artel_status both_init(both *b, artel_context *ctx, const artel__variable *variable)
{
    *b = (both){.variable = variable, .count = artel_shape_count(&variable->shape)};
    b->bytes = (size_t)b->count * artel_dtype_size(artel__variable_held(variable));
    ARTEL_TRY(artel__alloc(ctx, 2 * b->bytes + 1, "variables", &b->held));
    b->plain = artel__variable_held(variable) != variable->dtype ? (uint8_t *)b->held + b->bytes : b->held;
    return ARTEL_OK;
}

static void to_held(const both *b)
{
    if (b->plain != b->held)
        artel__convert(b->variable->dtype, b->plain, artel__variable_held(b->variable), b->held, b->count);
}

static void to_plain(const both *b)
{
    if (b->plain != b->held)
        artel__convert(artel__variable_held(b->variable), b->held, b->variable->dtype, b->plain, b->count);
}

static artel_status fetch_all(artel__device_home *home, const artel__variables *variables, void *image)
{
    for (int i = 0; i < home->count; i++) {
        both b;
        if (!home->variable[i] || artel__device_home_places(home, i)) continue;
        ARTEL_TRY(both_init(&b, home->ctx, &variables->item[i]));
        artel_status status = artel__buffer_get(home->platform, home->variable[i], b.held, b.bytes);
        to_plain(&b);
        if (status == ARTEL_OK) artel__image_store(variables, image, i, b.plain);
        artel__free(home->ctx, b.held);
        ARTEL_TRY(status);
    }
    return ARTEL_OK;
}

static artel_status bring(void *self, const artel__state *state, void *image)
{
    ARTEL_TRY(((const artel__device_home *)self)->failed);
    return fetch_all(self, artel__state_variables(state), image);
}

void artel__device_home_destroy(artel__device_home *home)
{
    if (!home) return;
    for (int i = 0; i < home->count; i++) artel__buffer_release(home->platform, home->variable[i]);
    artel__device_home_drop_tables(home);
    artel__free(home->ctx, home->variable);
    artel__free(home->ctx, home);
}

static void drop(void *self)
{
    artel__device_home_destroy(self);
}

static const artel__state_home at_device = {.bring = bring, .drop = drop};

artel_status artel__device_home_create(artel_context *ctx, artel__platform *platform, int device, int count,
                                       artel__device_home **out)
{
    void *block, *list;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__device_home), "device", &block));
    artel_status status = artel__calloc(ctx, (size_t)count + 1, sizeof(artel__buffer *), "device", &list);
    if (status < 0) {
        artel__free(ctx, block);
        return status;
    }
    *out = block;
    **out = (artel__device_home){.ctx = ctx, .platform = platform, .device = device, .variable = list, .count = count};
    return ARTEL_OK;
}

artel_status artel__device_home_settle(artel_context *ctx, artel__platform *platform, int device, artel__state *state,
                                       artel__device_home **out)
{
    artel__device_home *home = artel__state_at(state, &at_device);
    *out = home;
    if (home && home->platform == platform && home->device == device) return ARTEL_OK;
    ARTEL_TRY(artel__device_home_create(ctx, platform, device, artel__state_variables(state)->count, &home));
    artel_status status = artel__state_settle_at(state, &at_device, home);
    if (status < 0) drop(home);
    if (status == ARTEL_OK) *out = home;
    return status;
}

artel_status artel__device_home_take(artel__device_home *home, const artel__state *state, int i)
{
    const artel__variable *v = &artel__state_variables(state)->item[i];
    artel__buffer *buffer;
    both b;
    ARTEL_TRY(both_init(&b, home->ctx, v));
    artel__state_fetch(state, i, b.plain);
    to_held(&b);
    artel_status status =
        artel__buffer_put(home->platform, home->device, artel__variable_held(v), &v->shape, b.held, &buffer);
    artel__free(home->ctx, b.held);
    ARTEL_TRY(status);
    artel__buffer_release(home->platform, home->variable[i]);
    artel__device_home_drop_table(home, i);
    home->variable[i] = buffer;
    return ARTEL_OK;
}

artel_status artel__device_home_update(artel__device_home *home, artel__state *state, const artel__held_rows *held)
{
    ARTEL_TRY(home->failed);
    home->stale = artel__state_return(state) || home->stale;
    home->changes += home->stale;
    for (int i = 0; i < home->count && home->stale; i++) {
        if (!held || !held[i].row) ARTEL_TRY(artel__device_home_take(home, state, i));
    }
    home->stale = false;
    return ARTEL_OK;
}
