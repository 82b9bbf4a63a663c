/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and completing the records of Keras objects.
 *
 * Keys that nobody knows are errors unless they hold nothing, so that files of newer versions of Keras stay readable as
 * long as they ask for nothing new. Values pass through text into the option tables, where type and range are checked.
 */
#include "nn/record.h"

#include "base/extension.h"

#include <stdio.h>
#include <string.h>

bool artel__name_in(const char *name, const char *const *list)
{
    for (; list && *list; list++) {
        if (strcmp(name, *list) == 0) return true;
    }
    return false;
}

/* A user's class or function: "package>Name". */
static bool is_registered(json_t *json)
{
    const char *name = json_string_value(json_object_get(json, "registered_name"));
    return name && strchr(name, '>');
}

artel_status artel__record_parse(artel_context *ctx, const char *where, const char *kind, json_t *json,
                                 artel__record *out)
{
    *out = (artel__record){0};
    if (json_is_string(json)) {
        const char *name = json_string_value(json);
        bool own = strchr(name, '>') && artel__extension_find(ctx, kind, name);
        *out = (artel__record){.name = name, .by_name = true, .registered = own ? name : NULL};
        return ARTEL_OK;
    }
    const char *class_name = json_string_value(json_object_get(json, "class_name"));
    json_t *config = json_object_get(json, "config");
    if (!class_name)
        return artel__fail(ctx, ARTEL_ERROR_CORRUPT, where,
                           "write a name, or {\"class_name\": NAME, \"config\": {...}}",
                           "the %s is neither a name nor a record", kind);
    const char *registered = json_string_value(json_object_get(json, "registered_name"));
    if (!registered && strchr(class_name, '>')) registered = class_name;
    bool added = artel__extension_find(ctx, kind, registered ? registered : class_name) != NULL;
    if ((is_registered(json) && !added) || strcmp(class_name, "__lambda__") == 0)
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, where, "use one that Keras brings along",
                           "the %s %s is Python code of yours", kind, class_name);
    out->name = class_name;
    if (added && registered && strchr(registered, '>')) out->registered = registered;
    if (json_is_object(config)) out->config = config;
    if (strcmp(class_name, "function") != 0) return ARTEL_OK;
    out->function = true;
    out->name = json_string_value(config);
    if (!out->name)
        return artel__fail(ctx, ARTEL_ERROR_CORRUPT, where, "save the model again with Keras",
                           "a function has no name");
    return ARTEL_OK;
}

artel_status artel__record_unknown(artel_context *ctx, const char *where, const char *kind, const char *name,
                                   const char *const *names, const char *page)
{
    char advice[256];
    const char *near = artel__nearest_name(name, names);
    if (near)
        snprintf(advice, sizeof advice, "did you mean %s? %s lists what there is", near, page);
    else
        snprintf(advice, sizeof advice, "%s lists what there is", page);
    return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, where, advice, "the %s %.100s is not supported", kind, name);
}

static bool holds_nothing(const json_t *value)
{
    return json_is_null(value) || json_is_false(value) || (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0);
}

static artel_status unknown_key(artel_context *ctx, const char *where, const artel__option *table, const char *key)
{
    const char *names[64];
    int count = 0;
    for (; table->name && count < 63; table++) names[count++] = table->name;
    names[count] = NULL;
    char advice[160] = "remove the setting";
    const char *near = artel__nearest_name(key, names);
    if (near) snprintf(advice, sizeof advice, "did you mean %s?", near);
    return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, where, advice, "the setting %.100s is not supported", key);
}

bool artel__is_array_record(json_t *json)
{
    const char *class_name = json_string_value(json_object_get(json, "class_name"));
    return class_name && (strcmp(class_name, "__tensor__") == 0 || strcmp(class_name, "__numpy__") == 0);
}

/* The numbers of an array. */
static json_t *without_tensor(json_t *value)
{
    json_t *numbers = artel__is_array_record(value) ? json_object_get(json_object_get(value, "config"), "value") : NULL;
    return numbers ? numbers : value;
}

static artel_status set_value(artel__arena *arena, const char *where, const artel__option *table,
                              const artel__option *option, json_t *value, void *target)
{
    if (json_is_null(value) && option->type != ARTEL__OPTION_JSON) return ARTEL_OK;
    if (json_is_string(value) && option->type != ARTEL__OPTION_JSON)
        return artel__options_set(arena, table, target, where, option->name, json_string_value(value));
    char *text;
    ARTEL_TRY(artel__json_dump_string(arena->ctx, value, ARTEL__JSON_PYTHON, &text));
    artel_status status = artel__options_set(arena, table, target, where, option->name, text);
    artel__free(arena->ctx, text);
    return status;
}

artel_status artel__record_options(artel__arena *arena, const char *where, const artel__option *table, json_t *config,
                                   void *target)
{
    ARTEL_TRY(artel__options_default(arena, table, target));
    for (const artel__option *o = table; o->name; o++) {
        if (!o->fallback && !json_object_get(config, o->name))
            return artel__fail(arena->ctx, ARTEL_ERROR_INVALID, where, o->help, "the setting %s is missing", o->name);
    }
    const char *key;
    json_t *value;
    json_object_foreach(config, key, value)
    {
        const artel__option *option = artel__options_find(table, key);
        if (option)
            ARTEL_TRY(set_value(arena, where, table, option, without_tensor(value), target));
        else if (strcmp(key, "name") != 0 && strcmp(key, "dtype") != 0 && !holds_nothing(value))
            return unknown_key(arena->ctx, where, table, key);
    }
    return ARTEL_OK;
}

/* The default of an option as JSON; a new reference. */
static json_t *default_value(artel_context *ctx, const artel__option *option)
{
    json_t *value = NULL;
    if (!option->fallback || option->type == ARTEL__OPTION_STRING || option->type == ARTEL__OPTION_ENUM) {
        bool none = !option->fallback || strcmp(option->fallback, "null") == 0;
        return none ? json_null() : json_string(option->fallback);
    }
    if (artel__json_load(ctx, option->name, option->fallback, strlen(option->fallback), &value) < 0) return NULL;
    return value;
}

/* A given value in the type Keras has for it: 1 becomes 1.0 where a float is meant. A new reference. */
static json_t *typed_value(const artel__option *option, json_t *value)
{
    double number;
    int64_t integer;
    if (option->type == ARTEL__OPTION_FLOAT && artel__json_number(value, &number)) return artel__json_real(number);
    if (option->type == ARTEL__OPTION_INT && artel__json_integer(value, &integer)) return json_integer(integer);
    return json_incref(value);
}

artel_status artel__record_complete(artel_context *ctx, const artel__option *table, json_t *given, json_t *config)
{
    for (const artel__option *o = table; o->name; o++) {
        if (o->type == ARTEL__OPTION_IGNORED) continue;
        json_t *value = json_object_get(given, o->name);
        value = value && !json_is_null(value) ? typed_value(o, value) : default_value(ctx, o);
        if (!value || json_object_set_new(config, o->name, value) < 0) return artel__fail_memory(ctx, "record", 64);
    }
    return ARTEL_OK;
}

json_t *artel__record_make(const char *module, const char *class_name, json_t *config)
{
    json_t *record = json_object();
    bool made = record && config && json_object_set_new(record, "module", json_string(module)) == 0 &&
                json_object_set_new(record, "class_name", json_string(class_name)) == 0 &&
                json_object_set(record, "config", config) == 0 &&
                json_object_set_new(record, "registered_name", json_null()) == 0;
    json_decref(config);
    if (made) return record;
    json_decref(record);
    return NULL;
}
