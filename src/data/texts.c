/* SPDX-License-Identifier: Apache-2.0 */
/* A table of open addressing. A streamed table (csv_stream.h) may hold more texts than memory, so that it sets a limit.
 */
#include "data/texts.h"

#include <string.h>

#include "base/hash.h"

void artel__texts_init(artel__texts *kept, artel_context *ctx, size_t most)
{
    *kept = (artel__texts){.most = most};
    pthread_mutex_init(&kept->mutex, NULL);
    artel__arena_init(&kept->arena, ctx);
}

void artel__texts_fini(artel__texts *kept)
{
    artel__free(kept->arena.ctx, kept->slots);
    artel__arena_fini(&kept->arena);
    pthread_mutex_destroy(&kept->mutex);
}

void artel__texts_clear(artel__texts *kept, size_t most)
{
    artel_context *ctx = kept->arena.ctx;
    if (kept->bytes <= most) return;
    artel__free(ctx, kept->slots);
    artel__arena_fini(&kept->arena);
    artel__arena_init(&kept->arena, ctx);
    kept->slots = NULL;
    kept->count = kept->room = kept->bytes = 0;
}

/* Where the text is, or where it would be. */
static artel__string *find_slot(const artel__texts *kept, const char *text, size_t length)
{
    size_t at = (size_t)artel__hash64(text, length) & (kept->room - 1);
    while (kept->slots[at].bytes != NULL &&
           (kept->slots[at].length != length || memcmp(kept->slots[at].bytes, text, length) != 0))
        at = (at + 1) & (kept->room - 1);
    return &kept->slots[at];
}

/* At least one slot in two is empty. */
static artel_status make_room(artel__texts *kept)
{
    artel__texts larger = {.room = kept->room > 0 ? kept->room * 2 : 256};
    void *block;
    if (2 * (kept->count + 1) <= kept->room) return ARTEL_OK;
    ARTEL_TRY(artel__calloc(kept->arena.ctx, larger.room, sizeof *larger.slots, "texts", &block));
    larger.slots = block;
    for (size_t i = 0; i < kept->room; i++) {
        const artel__string *text = &kept->slots[i];
        if (text->bytes != NULL) *find_slot(&larger, text->bytes, text->length) = *text;
    }
    artel__free(kept->arena.ctx, kept->slots);
    kept->slots = larger.slots;
    kept->room = larger.room;
    return ARTEL_OK;
}

static artel_status keep(artel__texts *kept, const char *where, const char *text, size_t length, artel__string *out)
{
    ARTEL_TRY(make_room(kept));
    artel__string *slot = find_slot(kept, text, length);
    if (slot->bytes == NULL) {
        if (kept->most > 0 && kept->bytes + length > kept->most)
            return artel__fail(
                kept->arena.ctx, ARTEL_ERROR_UNSUPPORTED, where,
                "leave stream out, or uncompress the table and write its texts without quotes",
                "the texts with doubled quotes or of compressed files, each different one once, take more than %zu MiB",
                kept->most >> 20);
        char *copy = artel__arena_alloc(&kept->arena, 1, length > 0 ? length : 1);
        if (copy == NULL) return ARTEL_ERROR_NO_MEMORY;
        memcpy(copy, text, length);
        *slot = (artel__string){copy, length};
        kept->bytes += length;
        kept->count++;
    }
    *out = *slot;
    return ARTEL_OK;
}

artel_status artel__texts_keep(artel__texts *kept, const char *where, const char *text, size_t length,
                               artel__string *out)
{
    pthread_mutex_lock(&kept->mutex);
    artel_status status = keep(kept, where, text, length, out);
    pthread_mutex_unlock(&kept->mutex);
    return status;
}

/* ---- who keeps them ---- */

static _Thread_local artel__texts *running_keeper;

artel__texts *artel__texts_set_keeper(artel__texts *keeper)
{
    artel__texts *before = running_keeper;
    running_keeper = keeper;
    return before;
}

artel__texts *artel__texts_keeper(void)
{
    return running_keeper;
}

artel_status artel__texts_take(artel__texts *own, const char *where, const char *text, size_t length,
                               artel__string *out)
{
    return artel__texts_keep(running_keeper ? running_keeper : own, where, text, length, out);
}
