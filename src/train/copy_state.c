/* SPDX-License-Identifier: Apache-2.0 */
/* State from memory to memory: what a task gives to one that is behind.
 *
 * The same as a checkpoint holds: the position (a manifest, as text), the variables' block, the weights that callbacks
 * keep, and what a pass has predicted so far. Lengths that arrive must be those that this task expects for its own
 * model, so a peer cannot make it take more memory. Whoever receives puts everything beside its own state first, and
 * takes it over when all of it is there: a copy that breaks off changes nothing.
 */
#include <string.h>

#include "base/hash.h"
#include "train/callbacks.h"
#include "train/fit_impl.h"

#define MOST_TEXT ((uint64_t)64 << 20)

/* What goes first, as little-endian numbers; machines of another byte order do not share an arithmetic class. */
typedef struct head {
    uint64_t text, variables, extra, hash; /* bytes of the three parts; hash of the variables */
} head;

typedef struct incoming {
    head head;
    char *text;
    json_t *position;
    uint8_t *variables, *extra;
    uint8_t **kept; /* by callback; NULL: it keeps none */
} incoming;

/* Of the weights that a callback keeps. */
static size_t kept_bytes(const artel__fit *fit)
{
    return artel__image_bytes(fit->model->nn->variables, artel__all_of(fit->model->nn->variables));
}

/* Images of one variable after another, so that no copy of all of them is made. */
static artel_status send_variables(artel__fit *fit, artel__mesh_stream *stream, const artel__state *state)
{
    const artel__variables *all = artel__state_variables(state);
    size_t most = 0;
    void *image;
    for (int i = 0; i < all->count; i++) {
        size_t bytes = artel__image_bytes(all, (artel__variable_range){i, 1});
        if (bytes > most) most = bytes;
    }
    ARTEL_TRY(artel__alloc(fit->ctx, most + 1, "state", &image));
    artel_status status = ARTEL_OK;
    for (int i = 0; i < all->count && status == ARTEL_OK; i++) {
        artel__variable_range one = {i, 1};
        artel__state_image(state, one, image);
        status = artel__mesh_send(stream, image, artel__image_bytes(all, one));
    }
    artel__free(fit->ctx, image);
    return status;
}

artel_status artel__fit_send_state(artel__fit *fit, artel__mesh_stream *stream)
{
    const artel__state *state = artel__session_state(fit->session);
    json_t *position = NULL;
    char *text = NULL;
    artel_status status = artel__state_bring(state);
    if (status == ARTEL_OK) status = artel__fit_position(fit, &position);
    if (status == ARTEL_OK) status = artel__json_dump_string(fit->ctx, position, ARTEL__JSON_COMPACT, &text);
    json_decref(position);
    const artel__variables *all = artel__state_variables(state);
    head h = {text ? strlen(text) : 0, artel__image_bytes(all, artel__all_of(all)), fit->result.extra_bytes,
              artel__session_hash(fit->session)};
    if (status == ARTEL_OK) status = artel__mesh_send(stream, &h, sizeof h);
    if (status == ARTEL_OK) status = artel__mesh_send(stream, text, (size_t)h.text);
    if (status == ARTEL_OK) status = send_variables(fit, stream, state);
    if (status == ARTEL_OK && h.extra) status = artel__mesh_send(stream, fit->result.extra, (size_t)h.extra);
    for (int i = 0; i < fit->callbacks.count && status == ARTEL_OK; i++) {
        if (fit->callbacks.list[i].weights)
            status = artel__mesh_send(stream, fit->callbacks.list[i].weights, kept_bytes(fit));
    }
    artel__free(fit->ctx, text);
    return status;
}

static artel_status take_block(artel__fit *fit, artel__mesh_stream *stream, uint64_t count, void *out)
{
    void *block;
    ARTEL_TRY(artel__alloc(fit->ctx, (size_t)count + 1, "state", &block));
    memcpy(out, &block, sizeof block);
    return artel__mesh_receive(stream, block, (size_t)count);
}

static artel_status misfit(artel__fit *fit)
{
    return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, "state", "run the same artel everywhere",
                       "the state of another task does not fit this model");
}

static uint64_t own_bytes(const artel__fit *fit)
{
    const artel__variables *all = artel__state_variables(artel__session_state(fit->session));
    return artel__image_bytes(all, artel__all_of(all));
}

static artel_status take_all(artel__fit *fit, artel__mesh_stream *stream, incoming *in)
{
    ARTEL_TRY(artel__mesh_receive(stream, &in->head, sizeof in->head));
    bool fits = in->head.text > 0 && in->head.text <= MOST_TEXT && in->head.extra == fit->result.extra_bytes &&
                in->head.variables == own_bytes(fit);
    if (!fits) return misfit(fit);
    ARTEL_TRY(take_block(fit, stream, in->head.text, &in->text));
    ARTEL_TRY(artel__json_load(fit->ctx, "state", in->text, (size_t)in->head.text, &in->position));
    ARTEL_TRY(take_block(fit, stream, in->head.variables, &in->variables));
    if (in->head.extra) ARTEL_TRY(take_block(fit, stream, in->head.extra, &in->extra));
    json_t *callbacks = json_object_get(in->position, "callbacks");
    void *kept;
    ARTEL_TRY(artel__calloc(fit->ctx, (size_t)fit->callbacks.count + 1, sizeof *in->kept, "state", &kept));
    in->kept = kept;
    for (int i = 0; i < fit->callbacks.count; i++) {
        if (json_is_true(json_object_get(json_array_get(callbacks, (size_t)i), "weights")))
            ARTEL_TRY(take_block(fit, stream, kept_bytes(fit), &in->kept[i]));
    }
    return artel__hash64(in->variables, (size_t)in->head.variables) == in->head.hash ? ARTEL_OK : misfit(fit);
}

/* Everything is here. */
static artel_status take_over(artel__fit *fit, const incoming *in)
{
    artel__state *state = artel__session_state(fit->session);
    ARTEL_TRY(artel__fit_take_position(fit, "state", in->position));
    artel__state_restore(state, artel__all_of(artel__state_variables(state)), in->variables);
    if (in->head.extra) memcpy(fit->result.extra, in->extra, (size_t)in->head.extra);
    for (int i = 0; i < fit->callbacks.count; i++) {
        if (in->kept[i] && fit->callbacks.list[i].weights)
            memcpy(fit->callbacks.list[i].weights, in->kept[i], kept_bytes(fit));
    }
    artel__session_broadcast(fit->session);
    return ARTEL_OK;
}

artel_status artel__fit_take_state(artel__fit *fit, artel__mesh_stream *stream)
{
    incoming in = {.text = NULL};
    artel_status status = take_all(fit, stream, &in);
    if (status == ARTEL_OK) status = take_over(fit, &in);
    json_decref(in.position);
    artel__free(fit->ctx, in.text);
    artel__free(fit->ctx, in.variables);
    artel__free(fit->ctx, in.extra);
    for (int i = 0; in.kept && i < fit->callbacks.count; i++) artel__free(fit->ctx, in.kept[i]);
    artel__free(fit->ctx, in.kept);
    return status;
}
