/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' model.summary(): the table of layers and the totals below it.
 *
 * The text is what Keras 3 hands to print_fn: column widths, wrapping, cutting with an ellipsis and box characters
 * are those of keras/src/utils/summary_utils.py with the table renderer it uses (rich), without colour. Every
 * character counts as one column. Pure function of its arguments.
 */
#ifndef ARTEL_OBSERVE_TABLE_H
#define ARTEL_OBSERVE_TABLE_H

#include "base/text.h"

/* A layer. Strings are borrowed. */
typedef struct artel__summary_row {
    const char *name, *class_name;
    const char *output_shape; /* "(None, 10)", "[(None, 4), (None, 4)]", "?" when unknown */
    const char *connected_to; /* "dense[0][0], add[0][0]"; NULL or "" prints "-"; only with `connections` */
    int64_t params;
    bool unbuilt;   /* prints "0 (unbuilt)" */
    char trainable; /* 'Y', 'N', '-'; only with `show_trainable` */
    int depth;      /* 0, or how deep inside nested models (expand_nested) */
} artel__summary_row;

/* How many numbers, and the bytes they take. */
typedef struct artel__summary_total {
    int64_t count;
    double bytes;
} artel__summary_total;

typedef struct artel__summary {
    const char *model_name;
    const artel__summary_row *rows;
    size_t row_count;
    bool connections; /* the model is no plain chain: Keras then shows "Connected to" */
    bool show_trainable;
    int columns; /* width of the terminal; 0: 80. At least 40 are used */
    artel__summary_total trainable, non_trainable;
    bool has_optimizer; /* the optimizer's variables exist; Keras then counts them in the total */
    artel__summary_total optimizer;
} artel__summary;

/* Appends the summary, with a final newline. Errors: ARTEL_ERROR_NO_MEMORY. */
artel_status artel__summary_render(artel_context *ctx, const artel__summary *summary, artel__text *out);

/* "397.54 KB". Returns `buffer`; at least 32 bytes. */
char *artel__readable_bytes(char *buffer, size_t size, double bytes);
/* "101,770". Returns `buffer`; at least 32 bytes. */
char *artel__grouped_digits(char *buffer, size_t size, int64_t value);

#endif
