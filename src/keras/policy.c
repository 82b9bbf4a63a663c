/* SPDX-License-Identifier: Apache-2.0 */
/* Another dtype policy for a model that is being read: its record is changed before layers are made of it.
 *
 * The record is to say what it would if the model had been built behind keras.config.set_dtype_policy(): layers that
 * have the model's own policy get the new one, and so do those of which nothing is said; those that were given another
 * keep it. A file does not say which policy
 * was the process's: it is that of the first Sequential, which records it, else the one that most layers have. Inputs
 * and Hashing have floatx and keep it; Discretization and HashedCrossing write the dtype of variables instead of a
 * policy. Calls between layers compute in what they are given.
 */
#include "keras/policy.h"

#include <string.h>

#include "base/text.h"
#include "keras/translate.h"
#include "nn/custom.h"
#include "nn/layer.h"

/* Each policy, and the dtype of its variables. */
static const char *const policies[][2] = {{"float32", "float32"},       {"mixed_bfloat16", "float32"},
                                          {"mixed_float16", "float32"}, {"bfloat16", "bfloat16"},
                                          {"float16", "float16"},       {"float64", "float64"}};
enum {
    POLICIES = ARTEL__COUNT(policies)
};

typedef struct change {
    artel_context *ctx;
    int from, to;         /* rows of `policies` */
    int layers[POLICIES]; /* how many have it */
    int first;            /* of the first Sequential; -1: there is none */
    bool counting;
} change;

static int policy_row(const char *name, int part)
{
    for (int i = 0; name && i < POLICIES; i++) {
        if (strcmp(policies[i][part], name) == 0) return i;
    }
    return -1;
}

/* The name of a policy in a config: a string, or a record of DTypePolicy. */
static const char *written_name(json_t *dtype)
{
    const char *class_name = json_string_value(json_object_get(dtype, "class_name"));
    if (json_is_string(dtype)) return json_string_value(dtype);
    bool plain = class_name && (strcmp(class_name, "DTypePolicy") == 0 || strcmp(class_name, "FloatDTypePolicy") == 0);
    return plain ? json_string_value(json_object_get(json_object_get(dtype, "config"), "name")) : NULL;
}

static artel_status write_name(artel_context *ctx, json_t *config, json_t *dtype, const char *name)
{
    json_t *value = json_is_string(dtype) ? json_string(name)
                                          : json_pack("{s:s, s:s, s:{s:s}, s:n}", "module", "keras", "class_name",
                                                      "DTypePolicy", "config", "name", name, "registered_name");
    return json_object_set_new(config, "dtype", value) == 0 ? ARTEL_OK : artel__fail_memory(ctx, "dtype", 0);
}

static bool is_layer(artel_context *ctx, json_t *record, const char *class_name)
{
    const char *module = json_string_value(json_object_get(record, "module"));
    const char *registered = json_string_value(json_object_get(record, "registered_name"));
    if (module && strncmp(module, "keras.src.ops", 13) == 0) return false;
    if (strcmp(class_name, "InputLayer") == 0 || strcmp(class_name, "Hashing") == 0) return false;
    if (strcmp(class_name, "Functional") == 0 || strcmp(class_name, "Model") == 0) return false;
    return artel__layer_find(class_name) ||
           artel__extension_find(ctx, ARTEL__EXTENSION_LAYER, registered ? registered : class_name);
}

static artel_status visit_layer(change *c, const char *class_name, json_t *config)
{
    json_t *dtype = json_object_get(config, "dtype");
    const char *name = written_name(dtype);
    bool of_variables = strcmp(class_name, "Discretization") == 0 || strcmp(class_name, "HashedCrossing") == 0;
    if (of_variables) {
        bool changes = !c->counting && name && strcmp(name, policies[c->from][1]) == 0;
        return changes ? write_name(c->ctx, config, dtype, policies[c->to][1]) : ARTEL_OK;
    }
    bool silent = !dtype || json_is_null(dtype); /* which is float32 where nothing else is wanted */
    int row = silent ? 0 : policy_row(name, 0);
    if (row < 0) return ARTEL_OK;
    if (!c->counting)
        return silent || row == c->from ? write_name(c->ctx, config, dtype, policies[c->to][0]) : ARTEL_OK;
    c->layers[row]++;
    if (c->first < 0 && strcmp(class_name, "Sequential") == 0) c->first = row;
    return ARTEL_OK;
}

/* Whether what stands there may be a layer, or have one inside: Identity is an initializer, too. */
static bool may_hold_layers(const char *key)
{
    return strcmp(key, "inbound_nodes") != 0 && strcmp(key, "dtype") != 0 && !artel__ends_with(key, "_initializer") &&
           !artel__ends_with(key, "_regularizer") && !artel__ends_with(key, "_constraint");
}

/* Every layer in a record, in the order in which they are written. */
static artel_status visit(change *c, json_t *value, int depth)
{
    size_t i;
    const char *key;
    json_t *item;
    if (depth > ARTEL__KERAS_MAX_NESTING) return ARTEL_OK;
    if (json_is_array(value)) {
        json_array_foreach(value, i, item) ARTEL_TRY(visit(c, item, depth + 1));
        return ARTEL_OK;
    }
    if (!json_is_object(value)) return ARTEL_OK;
    const char *class_name = json_string_value(json_object_get(value, "class_name"));
    json_t *config = json_object_get(value, "config");
    if (class_name && json_is_object(config) && is_layer(c->ctx, value, class_name))
        ARTEL_TRY(visit_layer(c, class_name, config));
    json_object_foreach(value, key, item)
    {
        if (may_hold_layers(key)) ARTEL_TRY(visit(c, item, depth + 1));
    }
    return ARTEL_OK;
}

static artel_status find_policy(artel_context *ctx, const char *name, int *out)
{
    const char *names[POLICIES + 1] = {NULL};
    for (int i = 0; i < POLICIES; i++) names[i] = policies[i][0];
    *out = policy_row(name, 0);
    if (*out >= 0) return ARTEL_OK;
    const char *near = artel__nearest_name(name, names);
    return artel__fail(
        ctx, ARTEL_ERROR_INVALID, name, "give float32, mixed_bfloat16, mixed_float16, bfloat16, float16 or float64",
        "there is no such dtype policy%s%s%s", near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

artel_status artel__keras_set_policy(artel_context *ctx, json_t *record, const char *policy)
{
    change c = {.ctx = ctx, .first = -1, .counting = true};
    ARTEL_TRY(find_policy(ctx, policy, &c.to));
    ARTEL_TRY(visit(&c, record, 0));
    for (int i = 0; i < POLICIES; i++) {
        if (c.layers[i] > c.layers[c.from]) c.from = i;
    }
    if (c.first >= 0) c.from = c.first;
    c.counting = false;
    return visit(&c, record, 0);
}
