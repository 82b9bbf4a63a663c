/* SPDX-License-Identifier: Apache-2.0 */
/* Variables to a device and back, in the plain form. */
#include "device/home.h"

static artel_status fetch_all(artel__device_home *home, const artel__variables *variables, void *image)
{
    for (int i = 0; i < home->count; i++) {
        const artel__variable *v = &variables->item[i];
        size_t bytes = (size_t)artel_shape_count(&v->shape) * artel_dtype_size(v->dtype);
        void *plain;
        if (!home->variable[i]) continue;
        ARTEL_TRY(artel__alloc(home->ctx, bytes + 1, "variables", &plain));
        artel_status status = artel__buffer_get(home->platform, home->variable[i], plain, bytes);
        if (status == ARTEL_OK) artel__image_store(variables, image, i, plain);
        artel__free(home->ctx, plain);
        ARTEL_TRY(status);
    }
    return ARTEL_OK;
}

static artel_status bring(void *self, const artel__state *state, void *image)
{
    ARTEL_TRY(((const artel__device_home *)self)->failed);
    return fetch_all(self, artel__state_variables(state), image);
}

static void drop(void *self)
{
    artel__device_home *home = self;
    for (int i = 0; i < home->count; i++) artel__buffer_release(home->platform, home->variable[i]);
    artel__free(home->ctx, home->variable);
    artel__free(home->ctx, home);
}

static const artel__state_home at_device = {.bring = bring, .drop = drop};

artel_status artel__device_home_settle(artel_context *ctx, artel__platform *platform, int device, artel__state *state,
                                       artel__device_home **out)
{
    artel__device_home *home = artel__state_at(state, &at_device);
    int count = artel__state_variables(state)->count;
    void *block, *list;
    *out = home;
    if (home && home->platform == platform && home->device == device) return ARTEL_OK;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof *home, "device", &block));
    artel_status status = artel__calloc(ctx, (size_t)count + 1, sizeof(artel__buffer *), "device", &list);
    if (status < 0) {
        artel__free(ctx, block);
        return status;
    }
    *out = home = block;
    *home = (artel__device_home){.ctx = ctx, .platform = platform, .device = device, .variable = list, .count = count};
    status = artel__state_settle_at(state, &at_device, home);
    if (status < 0) drop(home);
    return status;
}

static artel_status take(artel__device_home *home, const artel__state *state, int i)
{
    const artel__variable *v = &artel__state_variables(state)->item[i];
    artel__buffer *buffer;
    void *plain;
    ARTEL_TRY(artel__alloc(home->ctx, (size_t)artel_shape_count(&v->shape) * artel_dtype_size(v->dtype) + 1, "variables", &plain));
    artel__state_fetch(state, i, plain);
    artel_status status = artel__buffer_put(home->platform, home->device, v->dtype, &v->shape, plain, &buffer);
    artel__free(home->ctx, plain);
    ARTEL_TRY(status);
    artel__buffer_release(home->platform, home->variable[i]);
    home->variable[i] = buffer;
    return ARTEL_OK;
}

artel_status artel__device_home_update(artel__device_home *home, artel__state *state)
{
    ARTEL_TRY(home->failed);
    home->stale = artel__state_return(state) || home->stale;
    for (int i = 0; i < home->count && home->stale; i++) ARTEL_TRY(take(home, state, i));
    home->stale = false;
    return ARTEL_OK;
}
