/* SPDX-License-Identifier: Apache-2.0 */
/* Functions in files (artel/saved.h), for those who write them (save.c) and read them (load.c, replay.c): the archive,
 * JSON that is put together or taken apart, elements, and tapes in that form (tape_json.c).
 *
 * Nothing of a file is trusted: numbers are read with their ranges, elements with the bytes that are there, and what
 * they mean is left to the public functions that are called with them. */
#ifndef ARTEL_FUNCTION_SAVED_IMPL_H
#define ARTEL_FUNCTION_SAVED_IMPL_H

#include "artel/saved.h"
#include "base/json.h"
#include "function/tape.h"

enum {
    ARTEL__SAVED_VERSION = 1
};

/* What tapes refer to by number. */
typedef enum artel__saved_thing {
    ARTEL__SAVED_VARIABLES,
    ARTEL__SAVED_MODELS,
    ARTEL__SAVED_OPTIMIZERS,
    ARTEL__SAVED_WORDS, /* variables of strings */
    ARTEL__SAVED_THINGS
} artel__saved_thing;

typedef struct artel__saved {
    artel_context *ctx;
    const char *path;
    artel__arena arena;
    artel__text values; /* saving: elements so far */
    bool failed;        /* saving: some JSON could not be made: no memory, or text that is no UTF-8 */
    const int *number[ARTEL__SAVED_THINGS]; /* saving: by number in the strategy: in the file, or -1 */
    const uint8_t *bytes;                   /* loading: elements, aligned */
    size_t size, text_size;                 /* of these, and of the JSON */
    int count[ARTEL__SAVED_THINGS];         /* loading: how many of each there are */
} artel__saved;

/* -- saved.c: the archive -- */

artel_status artel__saved_write(artel__saved *saved, const json_t *record);
/* Also the elements; the caller owns *out. */
artel_status artel__saved_read(artel__saved *saved, json_t **out);
void artel__saved_init(artel__saved *saved, artel_context *ctx, const char *path);
void artel__saved_fini(artel__saved *saved);

/* -- putting together -- */

/* Takes `value`; NULL is a failure. */
void artel__saved_set(artel__saved *saved, json_t *object, const char *key, json_t *value);
void artel__saved_add(artel__saved *saved, json_t *list, json_t *value);
json_t *artel__saved_dims(artel__saved *saved, const artel_shape *shape);
/* Adds elements, and where they are, to `object`: "dtype", "shape", "at". */
void artel__saved_put(artel__saved *saved, json_t *object, artel_dtype dtype, const artel_shape *shape,
                      const void *elements);

/* -- taking apart: failures are CORRUPT and say what is wrong with which key -- */

artel_status artel__saved_damaged(const artel__saved *saved, const char *key, const char *what);
artel_status artel__saved_integer(const artel__saved *saved, const json_t *object, const char *key, int64_t least,
                                  int64_t most, int64_t *out);
artel_status artel__saved_real(const artel__saved *saved, const json_t *object, const char *key, double *out);
/* Borrowed from the JSON. */
artel_status artel__saved_string(const artel__saved *saved, const json_t *object, const char *key, const char **out);
artel_status artel__saved_flag(const artel__saved *saved, const json_t *object, const char *key, bool *out);
artel_status artel__saved_list(const artel__saved *saved, const json_t *object, const char *key, const json_t **out);
artel_status artel__saved_shape(const artel__saved *saved, const json_t *object, artel_shape *out);
/* "dtype", "shape" and the elements, borrowed from the file's; of strings a list in the arena. */
artel_status artel__saved_get(artel__saved *saved, const json_t *object, artel_dtype *dtype, artel_shape *shape,
                              const void **out);

/* -- tape_json.c -- */

/* Values are numbered anew: arguments first, then as they come. */
json_t *artel__tape_write(artel__saved *saved, const artel__tape *tape, int arguments);
/* Into the arena; texts are the JSON's. `places` of what is read: how many numbers of values there may be. */
artel_status artel__tape_read(artel__saved *saved, const json_t *list, artel__tape *out);

/* -- replay.c: an artel_trace_fn of a tape that was read -- */

typedef struct artel__replay {
    artel__saved *saved;
    artel_variable *const *variable; /* by number; NULL: a model's own */
    artel_variable *const *words;
    artel_model *const *model;
    artel_optimizer *const *optimizer;
    const artel__tape_entry *at; /* the next call */
    artel_value *value;          /* by number in the file; room for `places` */
    int places, arguments, outputs, depth;
} artel__replay;
artel_status artel__replay_trace(void *user, artel_graph *graph, const artel_value *inputs, artel_value *outputs);

#endif
