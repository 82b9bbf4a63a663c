/* SPDX-License-Identifier: Apache-2.0 */
/* Variables that begin as a checkpoint of another run has them: tf.estimator.WarmStartSettings. Counters and what
 * optimizers keep begin anew. */
#include <string.h>

#include "base/text.h"
#include "estimator/estimator_impl.h"
#include "function/snapshot.h"
#include "text/pattern.h"
#include "train/checkpoint_file.h"

enum {
    MOST_RENAMED = 4096
};

static const artel__range ranges[] = {
    {"renamed_count", ARTEL__RANGE_INT, offsetof(artel_warm_start, renamed_count), 0, MOST_RENAMED, NULL},
    {.name = NULL}};
static const artel__options_kind kind = {"warm start", "begin with ARTEL_WARM_START_INIT", sizeof(artel_warm_start),
                                         ranges};

artel_status artel__warm_start_take(artel_context *ctx, const artel_warm_start *given, artel_warm_start *out)
{
    *out = (artel_warm_start)ARTEL_WARM_START_INIT;
    if (!given) return ARTEL_OK;
    ARTEL_TRY(artel__take_options(ctx, &kind, given, out));
    if (!out->checkpoint || !out->checkpoint[0])
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "warm start", "name a checkpoint, or a directory of them",
                           "there is no .checkpoint");
    for (int i = 0; i < out->renamed_count; i++) {
        if (!out->renamed || !out->renamed[i].name || !out->renamed[i].before)
            return artel__fail(ctx, ARTEL_ERROR_INVALID, "warm start", "give both names of each",
                               "a name of .renamed is NULL");
    }
    return ARTEL_OK;
}

typedef struct warmer {
    artel_context *ctx;
    artel_strategy *strategy;
    const artel_warm_start *from;
    artel__pattern *pattern;
    artel__checkpoint_tensors tensors;
    const char *folder;
    bool *used; /* by renamed */
    bool stores;
    int taken;
} warmer;

/* As re.match: from the beginning, not to the end. */
static bool is_wanted(const warmer *w, const artel__variable *v)
{
    artel__match match;
    if (!w->from->all && v->kind != ARTEL__VARIABLE_TRAINABLE) return false;
    return artel__pattern_find(w->pattern, v->name, strlen(v->name), 0, &match) && match.begin[0] == 0;
}

static const char *renamed(const warmer *w, const char *name)
{
    for (int i = 0; i < w->from->renamed_count; i++) {
        if (strcmp(w->from->renamed[i].name, name) != 0) continue;
        w->used[i] = true;
        return w->from->renamed[i].before;
    }
    return NULL;
}

/* The tensor's name in the file: `there`, or that of a variable of the program's own of this name. The caller frees it.
 */
static artel_status find_tensor(const warmer *w, const artel__variable *v, const char *there, char **out)
{
    static const char *const prefixes[] = {"", "variable."};
    for (int i = 0; i < 2; i++) {
        char *name;
        ARTEL_TRY(artel__checkpoint_name(w->ctx, prefixes[i], there, &name));
        const json_t *tensor = json_object_get(w->tensors.header, name);
        if (artel__checkpoint_holds(tensor, v)) return *out = name, ARTEL_OK;
        artel__free(w->ctx, name);
        if (tensor)
            return artel__fail(w->ctx, ARTEL_ERROR_INVALID, v->name, "leave it out of .variables",
                               "the checkpoint %s has it with another shape or element type", w->folder);
    }
    return artel__fail(w->ctx, ARTEL_ERROR_NOT_FOUND, v->name,
                       "leave it out of .variables, or say its name there in .renamed",
                       "the checkpoint %s has no \"%.200s\"", w->folder, there);
}

static artel_status warm_one(void *user, const char *name, int variable)
{
    warmer *w = user;
    char *tensor = NULL;
    const void *plain;
    const artel__variable *v = &artel__snapshot_table(w->strategy)->item[variable];
    if (artel__starts_with(name, "optimizer.") || artel__starts_with(name, "rows.") || !is_wanted(w, v))
        return ARTEL_OK;
    const char *before = renamed(w, v->name);
    w->taken++;
    ARTEL_TRY(find_tensor(w, v, before ? before : name, &tensor));
    artel_status status = artel__checkpoint_variable(&w->tensors, tensor, v, &plain);
    artel__free(w->ctx, tensor);
    if (status == ARTEL_OK && w->stores) artel__snapshot_store(w->strategy, variable, plain);
    return status;
}

/* A rule that says nothing of any variable is a slip. */
static artel_status check_use(const warmer *w)
{
    if (w->taken == 0)
        return artel__fail(w->ctx, ARTEL_ERROR_INVALID, "warm start", "name what begins as the checkpoint has it",
                           "no variable is of \"%.200s\"", w->from->variables ? w->from->variables : ".*");
    for (int i = 0; i < w->from->renamed_count; i++) {
        if (!w->used[i])
            return artel__fail(w->ctx, ARTEL_ERROR_INVALID, w->from->renamed[i].name, "see artel_variable_name()",
                               "a name of .renamed is none of the variables that begin as the checkpoint has them");
    }
    return ARTEL_OK;
}

/* All fits, or nothing is taken. */
static artel_status warm_all(warmer *w)
{
    void *used;
    ARTEL_TRY(artel__calloc(w->ctx, (size_t)w->from->renamed_count + 1, sizeof *w->used, "warm start", &used));
    w->used = used;
    artel_status status = artel__checkpoint_open(w->ctx, w->folder, &w->tensors);
    if (status == ARTEL_OK) {
        status = artel__snapshot_visit(w->strategy, warm_one, w);
        if (status == ARTEL_OK) status = check_use(w);
        if (status == ARTEL_OK) status = artel__snapshot_begin_store(w->strategy);
        w->stores = true;
        if (status == ARTEL_OK) status = artel__snapshot_visit(w->strategy, warm_one, w);
        artel__checkpoint_close(&w->tensors);
    }
    artel__free(w->ctx, used);
    return status;
}

artel_status artel__side_warm_start(artel__estimator_side *side)
{
    char *folder = NULL;
    json_t *manifest = NULL;
    artel_checkpoint_info found;
    warmer w = {.ctx = side->estimator->ctx, .strategy = side->strategy, .from = &side->estimator->warm};
    if (!w.from->checkpoint) return ARTEL_OK;
    const char *text = w.from->variables ? w.from->variables : ".*";
    ARTEL_TRY(artel__pattern_create(w.ctx, "warm start", text, strlen(text), &w.pattern));
    artel_status status = artel__checkpoint_newer(w.ctx, w.from->checkpoint, -1, &found, &folder, &manifest);
    json_decref(manifest);
    w.folder = folder;
    if (status == ARTEL_OK && !folder)
        status = artel__fail(w.ctx, ARTEL_ERROR_NOT_FOUND, w.from->checkpoint,
                             "name a checkpoint, or a directory of them", "there is no whole checkpoint");
    if (status == ARTEL_OK) status = warm_all(&w);
    if (status == ARTEL_OK) artel__log(w.ctx, ARTEL_LOG_NOTE, "%d variables begin as %s has them", w.taken / 2, folder);
    artel__free(w.ctx, folder);
    artel__pattern_destroy(w.ctx, w.pattern);
    return status;
}
