/* SPDX-License-Identifier: Apache-2.0 */
/* Options as data: one table beside each struct feeds the C API, JSON, the environment, --help and the docs.
 *
 * A table ends with an entry whose name is NULL. Setting a value checks type and range; an unknown name is an error
 * that offers the nearest one.
 */
#ifndef ARTEL_BASE_OPTION_H
#define ARTEL_BASE_OPTION_H

#include "base/arena.h"

typedef enum artel__option_type {
    ARTEL__OPTION_BOOL,   /* bool */
    ARTEL__OPTION_INT,    /* int64_t */
    ARTEL__OPTION_FLOAT,  /* double */
    ARTEL__OPTION_STRING, /* const char *, owned by the arena given to the setter */
    ARTEL__OPTION_ENUM,   /* int, index into `choices` */
    ARTEL__OPTION_INTS,   /* artel__ints: a list of integers, one integer stands for a list of one */
    ARTEL__OPTION_FLOATS, /* artel__floats */
    ARTEL__OPTION_JSON,   /* const char *: any JSON text, kept as it is; the owner of the struct reads it */
    ARTEL__OPTION_IGNORED /* accepted and not stored */
} artel__option_type;

typedef struct artel__ints {
    int count;
    int64_t item[8];
} artel__ints;

typedef struct artel__floats {
    int count;
    double *item; /* in the arena */
} artel__floats;

typedef struct artel__option {
    const char *name;
    const char *help;
    artel__option_type type;
    size_t offset;              /* of the field in the struct */
    const char *fallback;       /* default as text ("0.001", "true", "null" = nothing set); NULL: required */
    double min, max;            /* for numbers; both 0: unlimited */
    const char *const *choices; /* for enums, NULL-terminated */
} artel__option;

/* Fills every field of `target` with its default. Required ones are cleared. */
artel_status artel__options_default(artel__arena *arena, const artel__option *table, void *target);

/* Sets one option from text. `where` names the thing being configured in messages. Lists: "1,2,3" or "[1, 2, 3]".
 * Strings and enums: a bare word or a quoted JSON string. "null" (also "None") means nothing set where the default is
 * "null", and for JSON: 0, false, NULL, an empty list, -1 for enums. Integers may be written "3.0". On failure the
 * field keeps its value; the record names option, value and what was expected. */
artel_status artel__options_set(artel__arena *arena, const artel__option *table, void *target, const char *where,
                                const char *name, const char *value);

/* The entry of that name, or NULL. */
const artel__option *artel__options_find(const artel__option *table, const char *name);

#endif
