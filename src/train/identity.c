/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of a run, field by field, so that a refusal can name what differs.
 *
 * Layers may be renamed without changing a result, so names of layers are replaced by their numbers before hashing.
 */
#include "train/identity.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "train/divide.h"

artel_status artel__identity_hash(artel_context *ctx, const json_t *identity, char out[65])
{
    char *text;
    artel__sha256 hash;
    ARTEL_TRY(artel__json_dump_string(ctx, identity, ARTEL__JSON_SORTED | ARTEL__JSON_COMPACT, &text));
    artel__sha256_init(&hash);
    artel__sha256_update(&hash, text, strlen(text));
    artel__sha256_hex(&hash, out);
    artel__free(ctx, text);
    return ARTEL_OK;
}

/* The number of the layer of that name in the model or a nested one, or -1. */
static int layer_number(const artel__model *nn, const char *name)
{
    for (int i = 0; i < nn->layers; i++) {
        if (strcmp(nn->layer[i]->name, name) == 0) return i;
    }
    for (int i = 0; i < nn->layers; i++) {
        int inside = nn->layer[i]->model ? layer_number(nn->layer[i]->model, name) : -1;
        if (inside >= 0) return inside;
    }
    return -1;
}

static json_t *drop(json_t *value)
{
    json_decref(value);
    return NULL;
}

/* NULL: memory is out. */
static json_t *without_names(const artel__model *nn, json_t *value)
{
    if (json_is_string(value)) {
        int number = layer_number(nn, json_string_value(value));
        return number >= 0 ? json_sprintf("#%d", number) : artel__json_copy_deep(value);
    }
    if (json_is_array(value)) {
        json_t *copy = json_array(), *item;
        size_t i;
        json_array_foreach(value, i, item)
        {
            if (json_array_append_new(copy, without_names(nn, item)) < 0) return drop(copy);
        }
        return copy;
    }
    if (!json_is_object(value)) return artel__json_copy_deep(value);
    json_t *copy = json_object(), *item;
    const char *key;
    json_object_foreach(value, key, item)
    {
        bool skipped = strcmp(key, "date_saved") == 0 || strcmp(key, "shared_object_id") == 0 ||
                       strcmp(key, "compile_config") == 0;
        if (!skipped && json_object_set_new(copy, key, without_names(nn, item)) < 0) return drop(copy);
    }
    json_t *name = json_object_get(copy, "name");
    bool own = json_is_string(name) && strcmp(json_string_value(name), nn->name) == 0;
    return own && json_object_set_new(copy, "name", json_string("model")) < 0 ? drop(copy) : copy;
}

/* Takes the value, which may be NULL because memory is out: a run whose identity lacks a field would be another run. */
static artel_status set(artel_context *ctx, json_t *identity, const char *field, json_t *value)
{
    return json_object_set_new(identity, field, value) < 0 ? artel__fail_memory(ctx, "identity", 64) : ARTEL_OK;
}

static artel_status add_hash(artel__fit *fit, json_t *identity, const char *field, json_t *value)
{
    char hash[65];
    if (!value) return artel__fail_memory(fit->ctx, "identity", 64);
    artel_status status = artel__identity_hash(fit->ctx, value, hash);
    json_decref(value);
    return status < 0 ? status : set(fit->ctx, identity, field, json_string(hash));
}

static artel_status add_data(artel_context *ctx, json_t *identity, const char *field, const artel__feed *feed)
{
    uint8_t bytes[32];
    char hex[65] = "none";
    if (feed) ARTEL_TRY(artel__feed_fingerprint(feed, bytes));
    for (int i = 0; feed && i < 32; i++) snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    return set(ctx, identity, field, json_string(hex));
}

static artel_status fill(artel__fit *fit, json_t *identity)
{
    const artel_fit_options *o = &fit->options;
    ARTEL_TRY(add_hash(fit, identity, "model", without_names(fit->model->nn, fit->model->nn->record)));
    ARTEL_TRY(add_hash(fit, identity, "compile settings", json_incref(fit->model->compile_config)));
    ARTEL_TRY(add_data(fit->ctx, identity, "data", fit->input.train));
    ARTEL_TRY(add_data(fit->ctx, identity, "validation data", fit->validation.feed));
    if (fit->content.data[0]) {
        ARTEL_TRY(set(fit->ctx, identity, "data content", json_string(fit->content.data)));
        ARTEL_TRY(set(fit->ctx, identity, "validation content", json_string(fit->content.validation)));
    }
    ARTEL_TRY(set(fit->ctx, identity, "seed", json_sprintf("%llu", (unsigned long long)o->seed)));
    ARTEL_TRY(set(fit->ctx, identity, "batch size", json_integer(fit->input.batch_size)));
    ARTEL_TRY(set(fit->ctx, identity, "shards", json_integer(artel__session_shards(fit->session))));
    ARTEL_TRY(set(fit->ctx, identity, "batch-norm groups",
                  json_integer(o->batch_norm_groups > 1 ? o->batch_norm_groups : 1)));
    ARTEL_TRY(set(fit->ctx, identity, "shuffle", json_boolean(o->shuffle)));
    ARTEL_TRY(set(fit->ctx, identity, "steps per epoch", json_integer(fit->input.steps_per_epoch)));
    ARTEL_TRY(set(fit->ctx, identity, "initial epoch", json_integer(o->initial_epoch)));
    ARTEL_TRY(set(fit->ctx, identity, "class weight", json_string(o->class_weight ? o->class_weight : "")));
    ARTEL_TRY(set(fit->ctx, identity, "learning rate", json_sprintf("%a", o->learning_rate)));
    char divided[32];
    if (artel__divide_word(fit, divided)) ARTEL_TRY(set(fit->ctx, identity, "auto-shard", json_string(divided)));
    if (fit->settings.optimizer.lazy_rows) ARTEL_TRY(set(fit->ctx, identity, "embedding updates", json_string("lazy")));
    const char *device = fit->role != ARTEL__ROLE_NONE
                             ? artel__fit_workers_class(fit)
                             : artel__session_device_class(fit->session); /* processors alike give the same bits: they
                                                                             are not named */
    if (device) ARTEL_TRY(set(fit->ctx, identity, "device", json_string(device)));
    return ARTEL_OK;
}

artel_status artel__identity_make(artel__fit *fit, json_t **out)
{
    json_t *identity = json_object();
    if (!identity) return artel__fail_memory(fit->ctx, "identity", 64);
    artel_status status = fill(fit, identity);
    if (status < 0) {
        json_decref(identity);
        return status;
    }
    *out = identity;
    return ARTEL_OK;
}

artel_status artel__identity_model(artel__fit *fit, char out[65])
{
    json_t *whole = json_pack("[o, O]", without_names(fit->model->nn, fit->model->nn->record),
                              fit->model->compile_config ? fit->model->compile_config : json_null());
    if (!whole) return artel__fail_memory(fit->ctx, "identity", 64);
    artel_status status = artel__identity_hash(fit->ctx, whole, out);
    json_decref(whole);
    return status;
}

/* Content that only one of the two knows cannot be compared before the first step; a run that does not know it compares
 * as it reads. */
static bool is_optional(const char *key)
{
    return artel__ends_with(key, " content");
}

static bool covers(const json_t *ours, const json_t *theirs)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)ours, key, value)
    {
        const json_t *other = json_object_get(theirs, key);
        if (!json_equal(value, other) && (other || !is_optional(key))) return false;
    }
    return true;
}

bool artel__identity_equal(const json_t *ours, const json_t *theirs)
{
    return json_is_object(theirs) && covers(ours, theirs) && covers(theirs, ours);
}

/* The field, and of the class of devices what it is on either side. */
static void tell_field(artel__text *fields, const char *key, const json_t *ours, const json_t *theirs)
{
    const char *here = json_string_value(ours), *there = json_string_value(theirs);
    artel__text_printf(fields, "%s%s", fields->length ? ", " : "", key);
    if (strcmp(key, "device") == 0)
        artel__text_printf(fields, " (there %.200s, here %.200s)", there ? there : "processors",
                           here ? here : "processors");
}

artel_status artel__identity_refuse(artel_context *ctx, const char *where, json_t *ours, json_t *theirs)
{
    artel__text fields;
    artel__text_init(&fields, ctx);
    const char *key;
    json_t *value;
    json_object_foreach(ours, key, value)
    {
        const json_t *other = json_object_get(theirs, key);
        if (!json_equal(value, other) && (other || !is_optional(key))) tell_field(&fields, key, value, other);
    }
    json_object_foreach(theirs, key, value)
    {
        if (!json_object_get(ours, key) && !is_optional(key)) tell_field(&fields, key, NULL, value);
    }
    artel_status status =
        artel__fail(ctx, ARTEL_ERROR_INVALID, where,
                    "use another directory, repeat the command that wrote it, or give .fresh to begin anew",
                    "the checkpoints here belong to another run; these differ: %s",
                    fields.length ? fields.data : "fields of another version");
    artel__text_fini(&fields);
    return status;
}
