/* SPDX-License-Identifier: Apache-2.0 */
/* What a data service serves, as the three that speak of it know it: workers open it, the dispatcher keeps its
 * description, clients read rows by it.
 *
 * An element is a row of every column, all as the data holds them; the row's block on the wire is that of data/rows.h.
 * Elements are known by number, so their order is the affair of whoever trains, and the rules below say who computes an
 * element, never which elements there are or what they hold. Nothing that is decided here changes a bit of a training.
 *
 * JSON: {"name", "policy", "print": hex, "rows", "row_bytes", "draws", "sorted", "columns": [{"name", "role", "dtype",
 * "shape", "pixels"}], "parts": [{"name", "rows"}]}.
 */
#ifndef ARTEL_SERVICE_DATASET_H
#define ARTEL_SERVICE_DATASET_H

#include "base/json.h"
#include "data/rows.h"

/* Who computes an element, among the workers that have what it is made from. */
typedef enum artel__service_policy {
    ARTEL__SERVICE_DYNAMIC, /* whoever is free: small runs of elements are given out one by one */
    ARTEL__SERVICE_DATA,    /* element i of n: the i-th worker modulo their number */
    ARTEL__SERVICE_FILE,    /* workers hold only some of the files; those of a file share its elements out by file */
    ARTEL__SERVICE_OFF      /* nothing is dealt: each client has one worker, the others stand by */
} artel__service_policy;
extern const char *const artel__service_policies[]; /* NULL-terminated, by value */

typedef struct artel__service_part {
    char *name;
    int64_t first, rows; /* elements [first, first + rows) */
} artel__service_part;

typedef struct artel__service_dataset {
    char *name;
    artel__service_policy policy;
    uint8_t print[32]; /* of the data (artel__data_fingerprint) */
    int64_t rows;
    size_t row_bytes;
    bool draws, sorted_by_class;
    artel__rows_column *columns;
    int column_count;
    artel__service_part *parts; /* files; none unless they may lie apart */
    int part_count;
} artel__service_dataset;

/* Opens data for serving: refuses what has no rows of known shape. *out and *rows live in the arena; the data is
 * borrowed. */
artel_status artel__service_describe(artel__arena *arena, artel_data *data, const char *name,
                                     artel__service_policy policy, artel__rows *rows, artel__service_dataset *out);
/* "0110": which parts are here; in the arena, "" without parts. */
artel_status artel__service_here(artel__arena *arena, const artel_data *data, const artel__service_dataset *dataset,
                                 char **out);

/* Appends a value, whose reference is taken. When memory is out *list becomes NULL, of which json_pack makes none
 * either. */
void artel__service_list_add(json_t **list, json_t *value);
/* Whether a name can be said in JSON. Errors: INVALID, which says what it is. */
artel_status artel__service_check_name(artel_context *ctx, const char *what, const char *name);
json_t *artel__service_dataset_json(const artel__service_dataset *dataset); /* NULL: no memory */
/* What comes from the network: everything is checked. In the arena. Errors: ARTEL_ERROR_INVALID, ARTEL_ERROR_NO_MEMORY.
 */
artel_status artel__service_dataset_read(artel__arena *arena, const char *where, const json_t *value,
                                         artel__service_dataset *out);

/* The part that an element lies in; 0 without parts. */
int artel__service_part_of(const artel__service_dataset *dataset, int64_t row);

#endif
