/* SPDX-License-Identifier: Apache-2.0 */
/* Which classes a model takes for which: counts by (true class, predicted class), and what follows from them. */
#ifndef ARTEL_CLI_CONFUSION_H
#define ARTEL_CLI_CONFUSION_H

#include "base/text.h"
#include "cli/cli.h"

typedef struct artel__confusion {
    int64_t classes;
    int64_t *count;    /* [true][predicted] */
    const char **name; /* by class */
    int64_t left_out;  /* targets that a loss ignores (ignore_class) */
} artel__confusion;

/* Of one class; a fraction whose denominator is zero is 0. */
typedef struct artel__class_report {
    int64_t rows, found, right; /* of this class; taken for it; both */
    double precision, recall, f1;
} artel__class_report;
artel__class_report artel__class_report_of(const artel__confusion *c, int64_t k);

/* Before the pass: whether the model has one output, and `names` as many names as that has classes. */
artel_status artel__confusion_check(artel__invocation *call, const artel_model *model, const artel__cli_labels *names);

/* Compares predictions, as artel_model_predict() made them of `data`, with its targets. The model has one output and
 * compile settings, from which the form of the targets follows. `names` may be empty: classes are numbered. Errors:
 * ARTEL_ERROR_INVALID where targets are no classes. */
artel_status artel__confusion_count(artel__invocation *call, const artel_model *model, artel_data *data,
                                    const artel_predictions *predictions, const artel__cli_labels *names,
                                    artel__confusion *out);

/* A table (.csv) or a drawing (.svg), by the ending; and the report by class on standard output (confusion_show.c). */
artel_status artel__confusion_write(artel__invocation *call, const artel__confusion *c, const char *path);
void artel__confusion_show(const artel__confusion *c);

#endif
