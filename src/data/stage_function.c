/* SPDX-License-Identifier: Apache-2.0 */
/* map: a function of the program's own on one column (artel/pipeline.h). A file cannot name one. */
#include <string.h>

#include "data/stage.h"

typedef struct map_options {
    const char *column;
    int64_t function;
    const char *name;
} map_options;

static const artel__option table[] = {
    ARTEL__STAGE_COLUMN("the column"),
    {"function", "the number of a function that the program has given", ARTEL__OPTION_INT,
     offsetof(map_options, function), "-1", -1, 1e9, NULL},
    {"name", "what it is", ARTEL__OPTION_STRING, offsetof(map_options, name), "null", 0, 0, NULL},
    {.name = NULL},
};

static artel_status map_open(artel__stage *stage)
{
    const map_options *o = stage->options;
    if (o->function < 0 || o->function >= stage->recipe->function_count)
        return artel__stage_wrong(stage, "add it with artel_pipeline_map", "no function %lld was given",
                                  (long long)o->function);
    const artel_pipeline_function *f = &stage->recipe->functions[o->function];
    stage->state = (void *)(uintptr_t)f;
    return artel__stage_set_column(stage, stage->target, f->dtype, &f->shape);
}

static artel_status map_map(const artel__stage *stage, int64_t index, const void *in, void *out)
{
    const artel_pipeline_function *f = stage->state;
    char message[512] = "";
    artel_status status = f->function(f->user, index, in, out, message);
    if (status >= 0) return ARTEL_OK;
    message[sizeof message - 1] = '\0';
    return artel__fail(stage->ctx, status, stage->where, "", "the function '%s' failed at element %lld (%s)%s%s",
                       f->name, (long long)index, artel_status_name(status), message[0] ? ": " : "", message);
}

const artel__stage_ops artel__stage_map = {
    .name = "map", .options = table, .options_size = sizeof(map_options), .open = map_open, .map = map_map};
