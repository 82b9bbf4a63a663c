/* SPDX-License-Identifier: Apache-2.0 */
/* What --callbacks may be: a file, which is handed on as it is written so that messages count its columns, or lines of
 * files and words, put together as one list. */
#include "cli/callbacks.h"

#include <string.h>

#include "base/file.h"
#include "base/json_written.h"
#include "base/text.h"
#include "nn/spec.h"

enum {
    MOST_BYTES = 16 << 20 /* of a file */
};

static bool is_file(const char *word)
{
    size_t name = strcspn(word, ":,");
    return memchr(word, '/', name) || artel__ends_with(word, ".json") || artel__file_exists(word);
}

/* A name alone is a callback with its defaults. */
static artel_status spell_out(artel_context *ctx, json_t *list)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        if (!json_is_string(item)) continue;
        json_t *record = json_pack("{s:O, s:{}}", "class_name", item, "config");
        if (!record || json_array_set_new(list, i, record) < 0) return artel__fail_memory(ctx, "callbacks", 64);
    }
    return ARTEL_OK;
}

static artel_status read_one(artel__invocation *call, const char *word, json_t **out)
{
    char *text;
    if (!is_file(word)) {
        ARTEL_TRY(artel__spec_read_list(call->ctx, "callbacks", word, out));
        return spell_out(call->ctx, *out);
    }
    ARTEL_TRY(artel__read_file(call->ctx, word, MOST_BYTES, &text, NULL));
    artel_status status = artel__json_load_written(call->ctx, "--callbacks", text, strlen(text), out);
    artel__free(call->ctx, text);
    if (status == ARTEL_OK && !json_is_array(*out))
        status = artel__fail(call->ctx, ARTEL_ERROR_INVALID, word, "see docs/callbacks.md",
                             "it does not hold a list of callbacks");
    return status;
}

artel_status artel__cli_read_callbacks(artel__invocation *call, const char *lines, char **out)
{
    if (!strchr(lines, '\n') && is_file(lines)) return artel__read_file(call->ctx, lines, MOST_BYTES, out, NULL);
    json_t *all = json_array();
    artel_status status = all ? ARTEL_OK : artel__fail_memory(call->ctx, "callbacks", 64);
    while (status == ARTEL_OK && *lines) {
        size_t length = strcspn(lines, "\n");
        json_t *list = NULL;
        char *word = artel__arena_alloc(&call->arena, length + 1, 1);
        if (word) memcpy(word, lines, length);
        status = word ? read_one(call, word, &list) : artel__arena_status(&call->arena);
        if (status == ARTEL_OK && json_array_extend(all, list) < 0)
            status = artel__fail_memory(call->ctx, "callbacks", 64);
        json_decref(list);
        lines += length + (lines[length] == '\n');
    }
    if (status == ARTEL_OK) status = artel__json_dump_string(call->ctx, all, ARTEL__JSON_PYTHON, out);
    json_decref(all);
    return status;
}

artel_status artel__cli_check_checkpoints(artel__invocation *call, const char *callbacks, const char *output)
{
    size_t i;
    json_t *list, *record;
    artel_status status = ARTEL_OK;
    ARTEL_TRY(artel__json_load_written(call->ctx, "--callbacks", callbacks, strlen(callbacks), &list));
    json_array_foreach(list, i, record)
    {
        const char *name = json_string_value(json_object_get(record, "class_name"));
        const char *path = json_string_value(json_object_get(json_object_get(record, "config"), "filepath"));
        if (status == ARTEL_OK && name && strcmp(name, "ModelCheckpoint") == 0)
            status = artel__cli_check_two(call, "--output", output, "what ModelCheckpoint writes", path);
    }
    json_decref(list);
    return status;
}
