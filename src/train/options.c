/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of the options of fit, evaluate and predict. The program's tables (cli/fit.c, cli/evaluate.c) have the same:
 * there they are checked when a word is read, here for every caller of the library. Names are those of the program,
 * which messages of both use. */
#include "train/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "artel/fit.h"

enum {
    MOST_REPLICAS = 256,
    MOST_THREADS = 4096,
    MOST_SHARDS = 4096
};
#define MOST_ROWS 1e9
#define MOST_STEPS 1e15

#define FIT(field) offsetof(artel_fit_options, field)
static const artel__range fit_ranges[] = {
    {".batch_size", ARTEL__RANGE_INT64, FIT(batch_size), 1, MOST_ROWS, NULL},
    {".epochs", ARTEL__RANGE_INT64, FIT(epochs), 0, 1e9, NULL},
    {".initial_epoch", ARTEL__RANGE_INT64, FIT(initial_epoch), 0, 1e9, NULL},
    {".steps_per_epoch", ARTEL__RANGE_INT64, FIT(steps_per_epoch), 0, MOST_STEPS, NULL},
    {".shards", ARTEL__RANGE_INT64, FIT(shards), 0, MOST_SHARDS, NULL},
    {".replicas", ARTEL__RANGE_INT, FIT(replicas), 0, MOST_REPLICAS, NULL},
    {".threads", ARTEL__RANGE_INT, FIT(threads), 0, MOST_THREADS, NULL},
    {".validation_steps", ARTEL__RANGE_INT64, FIT(validation_steps), 0, MOST_STEPS, NULL},
    {".validation_batch_size", ARTEL__RANGE_INT64, FIT(validation_batch_size), 0, MOST_ROWS, NULL},
    {".validation_frequency", ARTEL__RANGE_INT64, FIT(validation_frequency), 0, 1e9, NULL},
    {".learning_rate", ARTEL__RANGE_DOUBLE, FIT(learning_rate), 0, 1e9,
     "give a rate, for example 0.001; 0: what the optimizer has"},
    {".keep", ARTEL__RANGE_INT, FIT(keep), 0, 1e6, NULL},
    {".batch_norm_groups", ARTEL__RANGE_INT, FIT(batch_norm_groups), 0, MOST_SHARDS, NULL},
    {".recompute", ARTEL__RANGE_DOUBLE, FIT(recompute), 0, 100,
     "give the most time that may be added, in percent; 25 is usual"},
    {".ps_copies", ARTEL__RANGE_INT64, FIT(ps_copies), 0, 3, NULL},
    {.name = NULL}};
const artel__options_kind artel__fit_kind = {"fit options", "begin with ARTEL_FIT_OPTIONS_INIT",
                                             sizeof(artel_fit_options), fit_ranges};

#define EVALUATE(field) offsetof(artel_evaluate_options, field)
static const artel__range evaluate_ranges[] = {
    {".batch_size", ARTEL__RANGE_INT64, EVALUATE(batch_size), 1, MOST_ROWS, NULL},
    {".steps", ARTEL__RANGE_INT64, EVALUATE(steps), 0, MOST_STEPS, NULL},
    {".shards", ARTEL__RANGE_INT64, EVALUATE(shards), 0, MOST_SHARDS, NULL},
    {".replicas", ARTEL__RANGE_INT, EVALUATE(replicas), 0, MOST_REPLICAS, NULL},
    {".threads", ARTEL__RANGE_INT, EVALUATE(threads), 0, MOST_THREADS, NULL},
    {.name = NULL}};
const artel__options_kind artel__evaluate_kind = {"evaluate options", "begin with ARTEL_EVALUATE_OPTIONS_INIT",
                                                  sizeof(artel_evaluate_options), evaluate_ranges};

artel_status artel__save_interval(artel_context *ctx, const char *text, int64_t *steps, int64_t *epochs)
{
    if (!text) text = "1epoch";
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    bool good = end != text && number > 0 && errno == 0;
    bool by_steps = strcmp(end, "steps") == 0 || strcmp(end, "step") == 0;
    if (!good || !(by_steps || strcmp(end, "epochs") == 0 || strcmp(end, "epoch") == 0))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, ".save_every", "for example 500steps or 1epoch",
                           "\"%s\" is not an interval", text);
    *steps = by_steps ? number : 0;
    *epochs = by_steps ? 0 : number;
    return ARTEL_OK;
}
