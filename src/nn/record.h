/* SPDX-License-Identifier: Apache-2.0 */
/* What Keras writes where an object belongs: a name ("relu") or a record {"class_name", "config"}.
 *
 * Activations, initialisers, losses, metrics, optimizers and schedules are all read this way: the identifier chooses a
 * row of a table, the row's options say which keys the config may have. Messages name what is being read and offer the
 * nearest name.
 */
#ifndef ARTEL_NN_RECORD_H
#define ARTEL_NN_RECORD_H

#include "base/json.h"
#include "base/option.h"

/* Strings are borrowed from the JSON. */
typedef struct artel__record {
    const char *name;       /* of the class, or of the function; what the string says */
    json_t *config;         /* an object, or NULL */
    const char *registered; /* "package>Name" of what a program has added (base/extension.h): it goes before what Keras
                               has under the name; NULL: it is none */
    bool by_name;           /* it was a plain string */
    bool function;          /* a record of a function: {"class_name": "function", "config": NAME} */
} artel__record;

/* `kind` says what is wanted ("loss"), for messages. Errors: CORRUPT when it is neither; UNSUPPORTED for classes that a
 * user has registered. */
artel_status artel__record_parse(artel_context *ctx, const char *where, const char *kind, json_t *json,
                                 artel__record *out);

/* Fills `target` with the defaults of the table and the settings of `config` (NULL: none). "name" and "dtype" are
 * passed over unless the table has them, so are unknown keys that hold nothing. null leaves the default. */
artel_status artel__record_options(artel__arena *arena, const char *where, const artel__option *table, json_t *config,
                                   void *target);

/* Appends to `config` every option of the table in its order: the value given, in the option's type, else the default.
 * Ignored options are left out. */
artel_status artel__record_complete(artel_context *ctx, const artel__option *table, json_t *given, json_t *config);

/* A new record as Keras writes it; takes `config`. NULL when memory is out. */
json_t *artel__record_make(const char *module, const char *class_name, json_t *config);

/* Fails with UNSUPPORTED: nothing of that name. `names` are offered, `page` is the documentation to read. */
artel_status artel__record_unknown(artel_context *ctx, const char *where, const char *kind, const char *name,
                                   const char *const *names, const char *page);

/* Whether it is what Keras writes for a tensor or an array of numpy: {"class_name": "__numpy__", "config": ...}. */
bool artel__is_array_record(json_t *json);

/* Whether `name` is in a NULL-terminated list. */
bool artel__name_in(const char *name, const char *const *list);

#endif
