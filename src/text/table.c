/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabularies: open addressing, at most half full. See the header. */
#include "text/table.h"

#include <string.h>

#include "base/hash.h"

static uint64_t hash_integer(int64_t integer)
{
    uint64_t x = (uint64_t)integer * 0x9e3779b97f4a7c15u;
    return x ^ x >> 32;
}

static bool same_word(const artel__string *word, const char *bytes, size_t length)
{
    return word->length == length && (length == 0 || memcmp(word->bytes, bytes, length) == 0);
}

/* Where a key is, or the free slot where it would be. */
static uint64_t find_word(const artel__table *t, const char *bytes, size_t length)
{
    uint64_t at = artel__hash64(bytes, length) & (t->slots - 1);
    while (t->slot[at] && !same_word(&t->word[t->slot[at] - 1], bytes, length)) at = (at + 1) & (t->slots - 1);
    return at;
}

static uint64_t find_integer(const artel__table *t, int64_t integer)
{
    uint64_t at = hash_integer(integer) & (t->slots - 1);
    while (t->slot[at] && t->integer[t->slot[at] - 1] != integer) at = (at + 1) & (t->slots - 1);
    return at;
}

static artel_status fill(artel__arena *arena, artel__table *t, int64_t *repeated)
{
    *repeated = -1;
    t->slots = 16;
    while (t->slots < (uint64_t)t->count * 2) t->slots *= 2;
    t->slot = artel__arena_alloc(arena, t->slots, sizeof *t->slot);
    if (!t->slot) return ARTEL_ERROR_NO_MEMORY;
    for (int64_t i = 0; i < t->count; i++) {
        uint64_t at = t->strings ? find_word(t, t->word[i].bytes, t->word[i].length) : find_integer(t, t->integer[i]);
        if (t->slot[at])
            *repeated = i;
        else
            t->slot[at] = (int32_t)i + 1;
    }
    return ARTEL_OK;
}

artel_status artel__table_words(artel__arena *arena, artel__string *words, int64_t count, artel__table *out,
                                int64_t *repeated)
{
    *out = (artel__table){.strings = true, .word = words, .count = count};
    return fill(arena, out, repeated);
}

artel_status artel__table_integers(artel__arena *arena, int64_t *integers, int64_t count, artel__table *out,
                                   int64_t *repeated)
{
    *out = (artel__table){.integer = integers, .count = count};
    return fill(arena, out, repeated);
}

int64_t artel__table_find_word(const artel__table *table, const char *bytes, size_t length)
{
    return table->count ? (int64_t)table->slot[find_word(table, bytes, length)] - 1 : -1;
}

int64_t artel__table_find_integer(const artel__table *table, int64_t integer)
{
    return table->count ? (int64_t)table->slot[find_integer(table, integer)] - 1 : -1;
}
