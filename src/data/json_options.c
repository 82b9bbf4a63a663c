/* SPDX-License-Identifier: Apache-2.0 */
/* Members of an object, one by one, as the text that option tables take. */
#include "data/json_options.h"

#include <stdio.h>
#include <string.h>

/* A text is one that holds something: of anything else a name of a file or column would be made. */
static artel_status check_text(artel__arena *arena, const char *where, const artel__option *option, const json_t *value)
{
    char *text, advice[512];
    if (json_is_string(value) && json_string_length(value) > 0) return ARTEL_OK;
    snprintf(advice, sizeof advice, "it means: %s", option->help);
    ARTEL_TRY(artel__json_dump_string(arena->ctx, value, ARTEL__JSON_PYTHON, &text));
    artel_status status = artel__fail(arena->ctx, ARTEL_ERROR_INVALID, where, advice,
                                      "%s does not fit (found %.80s, expected a text)", option->name, text);
    artel__free(arena->ctx, text);
    return status;
}

static artel_status set_member(artel__arena *arena, const artel__option *table, void *target, const char *where,
                               const char *name, json_t *value)
{
    char *text;
    const artel__option *option = artel__options_find(table, name);
    if (json_is_null(value)) return ARTEL_OK;
    if (option != NULL && option->type == ARTEL__OPTION_STRING) ARTEL_TRY(check_text(arena, where, option, value));
    if (json_is_string(value) && (option == NULL || option->type != ARTEL__OPTION_JSON))
        return artel__options_set(arena, table, target, where, name, json_string_value(value));
    ARTEL_TRY(artel__json_dump_string(arena->ctx, value, ARTEL__JSON_PYTHON, &text));
    artel_status status = artel__options_set(arena, table, target, where, name, text);
    artel__free(arena->ctx, text);
    return status;
}

/* Before what is missing is told: a misspelt setting is missing, too. */
static artel_status check_names(artel__arena *arena, const artel__option *table, const char *where, json_t *object,
                                const char *passed)
{
    const char *name, *names[33] = {NULL};
    char advice[256];
    json_t *value;
    int count = 0;
    for (const artel__option *option = table; option->name != NULL && count < 32; option++)
        names[count++] = option->name;
    json_object_foreach(object, name, value)
    {
        if ((passed != NULL && strcmp(name, passed) == 0) || artel__options_find(table, name) != NULL) continue;
        const char *near = artel__nearest_name(name, names);
        int used = snprintf(advice, sizeof advice, "%s",
                            near != NULL ? "did you mean "
                            : count > 0  ? "there are "
                                         : "");
        for (int i = 0; i < count && used < (int)sizeof advice; i++) {
            if (near != NULL && near != names[i]) continue;
            used += snprintf(advice + used, sizeof advice - (size_t)used, "%s%s", i > 0 && near == NULL ? ", " : "",
                             names[i]);
        }
        if (near != NULL || count == 0)
            snprintf(advice + strlen(advice), sizeof advice - strlen(advice), "%s",
                     near != NULL ? "?" : "leave it out");
        return artel__fail(arena->ctx, ARTEL_ERROR_INVALID, where, advice, "there is no option %.100s", name);
    }
    return ARTEL_OK;
}

artel_status artel__json_options(artel__arena *arena, const artel__option *table, void *target, const char *where,
                                 json_t *object, const char *passed)
{
    const char *name;
    json_t *value;
    ARTEL_TRY(check_names(arena, table, where, object, passed));
    ARTEL_TRY(artel__options_default(arena, table, target));
    for (const artel__option *option = table; option->name != NULL; option++) {
        const json_t *given = json_object_get(object, option->name);
        if (option->fallback != NULL || (given != NULL && !json_is_null(given))) continue;
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
