/* SPDX-License-Identifier: Apache-2.0 */
/* Members of an object, one by one, as the text that option tables take. */
#include "data/json_options.h"

#include <string.h>

static artel_status set_member(artel__arena *arena, const artel__option *table, void *target, const char *where,
                               const char *name, json_t *value)
{
    char *text;
    const artel__option *option = artel__options_find(table, name);
    if (json_is_null(value)) return ARTEL_OK;
    if (json_is_string(value) && (option == NULL || option->type != ARTEL__OPTION_JSON))
        return artel__options_set(arena, table, target, where, name, json_string_value(value));
    ARTEL_TRY(artel__json_dump_string(arena->ctx, value, ARTEL__JSON_PYTHON, &text));
    artel_status status = artel__options_set(arena, table, target, where, name, text);
    artel__free(arena->ctx, text);
    return status;
}

artel_status artel__json_options(artel__arena *arena, const artel__option *table, void *target, const char *where,
                                 json_t *object, const char *passed)
{
    const char *name;
    json_t *value;
    ARTEL_TRY(artel__options_default(arena, table, target));
    for (const artel__option *option = table; option->name != NULL; option++) {
        if (option->fallback != NULL || json_object_get(object, option->name) != NULL) continue;
        return artel__fail(arena->ctx, ARTEL_ERROR_INVALID, where, option->help, "the setting \"%s\" is missing",
                           option->name);
    }
    json_object_foreach(object, name, value)
    {
        if (passed == NULL || strcmp(name, passed) != 0)
            ARTEL_TRY(set_member(arena, table, target, where, name, value));
    }
    return ARTEL_OK;
}
