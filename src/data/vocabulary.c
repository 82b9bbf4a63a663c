/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabularies: strings in records and lines become numbers, since models are fed with numbers. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "data/features.h"

#define LARGEST ((size_t)256 << 20)

static int compare(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t common = a_length < b_length ? a_length : b_length;
    int order = common > 0 ? memcmp(a, b, common) : 0;
    return order != 0 ? order : a_length < b_length ? -1 : a_length > b_length;
}

static int by_bytes(const void *a, const void *b)
{
    const struct artel__word *x = a, *y = b;
    return compare(x->text, x->length, y->text, y->length);
}

int64_t artel__vocabulary_find(const artel__vocabulary *vocabulary, const char *text, size_t length)
{
    int64_t low = 0, high = vocabulary->count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        const struct artel__word *word = &vocabulary->words[middle];
        int order = compare(text, length, word->text, word->length);
        if (order == 0) return word->place;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

static artel_status add_word(artel__vocabulary *out, const char *text, size_t length, artel__arena *arena)
{
    char *kept = artel__arena_alloc(arena, length + 1, 1);
    if (kept == NULL) return ARTEL_ERROR_NO_MEMORY;
    if (length > 0) memcpy(kept, text, length);
    out->words[out->count] = (struct artel__word){kept, length, out->count};
    out->count++;
    return ARTEL_OK;
}

static artel_status read_list(artel__arena *arena, const char *where, json_t *list, artel__vocabulary *out)
{
    json_t *word;
    size_t i;
    json_array_foreach(list, i, word)
    {
        if (!json_is_string(word))
            return artel__fail(arena->ctx, ARTEL_ERROR_INVALID, where, "write a list of strings",
                               "entry %zu of the vocabulary is no string", i);
        ARTEL_TRY(add_word(out, json_string_value(word), json_string_length(word), arena));
    }
    return ARTEL_OK;
}

static artel_status read_lines(artel__arena *arena, const char *text, size_t size, artel__vocabulary *out)
{
    for (const char *end = text + size; text < end;) {
        const char *line = memchr(text, '\n', (size_t)(end - text)), *stop = line != NULL ? line : end;
        size_t length = (size_t)(stop - text);
        if (length > 0 && text[length - 1] == '\r') length--;
        ARTEL_TRY(add_word(out, text, length, arena));
        text = line != NULL ? line + 1 : end;
    }
    return ARTEL_OK;
}

static artel_status make_room(artel__arena *arena, size_t words, artel__vocabulary *out)
{
    out->words = artel__arena_alloc(arena, words + 1, sizeof *out->words);
    return out->words != NULL ? ARTEL_OK : ARTEL_ERROR_NO_MEMORY;
}

static artel_status read_file(artel__arena *arena, const char *path, artel__vocabulary *out)
{
    char *text;
    size_t size, lines = 1;
    ARTEL_TRY(artel__read_file(arena->ctx, path, LARGEST, &text, &size));
    for (size_t i = 0; i < size; i++) lines += text[i] == '\n';
    artel_status status = make_room(arena, lines, out);
    if (status == ARTEL_OK) status = read_lines(arena, text, size, out);
    artel__free(arena->ctx, text);
    return status;
}

artel_status artel__vocabulary_read(artel__arena *arena, const char *where, json_t *value, artel__vocabulary *out)
{
    *out = (artel__vocabulary){NULL, 0};
    if (json_is_string(value)) {
        ARTEL_TRY(read_file(arena, json_string_value(value), out));
    } else if (json_is_array(value)) {
        ARTEL_TRY(make_room(arena, json_array_size(value), out));
        ARTEL_TRY(read_list(arena, where, value, out));
    }
    if (out->count == 0)
        return artel__fail(arena->ctx, ARTEL_ERROR_INVALID, where,
                           "give a list of strings, or a file with one in each line", "the vocabulary is empty");
    qsort(out->words, (size_t)out->count, sizeof *out->words, by_bytes);
    for (int64_t i = 1; i < out->count; i++) {
        const struct artel__word *word = &out->words[i];
        if (compare(word->text, word->length, word[-1].text, word[-1].length) != 0) continue;
        return artel__fail(arena->ctx, ARTEL_ERROR_INVALID, where, "name each word once",
                           "'%.60s' is in the vocabulary twice", word->text);
    }
    return ARTEL_OK;
}
