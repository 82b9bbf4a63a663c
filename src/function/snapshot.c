/* SPDX-License-Identifier: Apache-2.0 */
/* Names for what a strategy holds. Lists of a strategy have what was made last in front, so numbers count from their
 * ends. */
#include "function/snapshot.h"

#include <stdio.h>

#include "function/function_impl.h"

typedef struct walk {
    artel_strategy *strategy;
    artel__snapshot_fn *visit;
    void *user;
    bool *named; /* by variable */
    const artel__adopted *model;
    int number, models;
} walk;

static artel_status name_it(walk *w, int variable, const char *name)
{
    w->named[variable] = true;
    return w->visit(w->user, name, variable);
}

static artel_status visit_weight(void *user, const artel__model_variable *variable)
{
    char name[1200];
    walk *w = user;
    int index = w->model->base + variable->variable->index;
    if (w->models == 1) return name_it(w, index, variable->path);
    snprintf(name, sizeof name, "model.%d/%s", w->number, variable->path);
    return name_it(w, index, name);
}

static artel_status visit_models(walk *w)
{
    for (int k = 0; k < w->models; k++) {
        const artel__adopted *a = w->strategy->adopted;
        for (int i = w->models - 1; i > k; i--) a = a->next;
        w->model = a;
        w->number = k;
        ARTEL_TRY(artel__model_visit(a->model->nn, visit_weight, w));
    }
    return ARTEL_OK;
}

static artel_status visit_optimizers(walk *w)
{
    char name[64];
    int count = 0, k = 0;
    for (const artel_optimizer *o = w->strategy->optimizer; o; o = o->next) count++;
    for (const artel_optimizer *o = w->strategy->optimizer; o; o = o->next) {
        k++;
        for (int i = 0; i < o->slots.file_count; i++) {
            if (count > 1)
                snprintf(name, sizeof name, "optimizer.%d.%d", count - k, i);
            else
                snprintf(name, sizeof name, "optimizer.%d", i);
            ARTEL_TRY(name_it(w, o->slots.file_order[i], name));
        }
    }
    return ARTEL_OK;
}

/* What the program has declared alone has no model behind it. */
static artel_status visit_rest(walk *w)
{
    char name[1200];
    const artel__variables *all = &w->strategy->variables;
    for (const artel_variable *v = w->strategy->variable; v; v = v->next) {
        if (w->named[v->index]) continue;
        snprintf(name, sizeof name, "variable/%.1100s", all->item[v->index].name);
        ARTEL_TRY(name_it(w, v->index, name));
    }
    for (int i = 0, n = 0; i < all->count; i++) {
        if (w->named[i]) continue;
        snprintf(name, sizeof name, "rows.%d", n++);
        ARTEL_TRY(name_it(w, i, name));
    }
    return ARTEL_OK;
}

artel_status artel__snapshot_visit(artel_strategy *s, artel__snapshot_fn *visit, void *user)
{
    void *named;
    walk w = {.strategy = s, .visit = visit, .user = user};
    ARTEL_TRY(artel__strategy_open(s));
    ARTEL_TRY(artel__strategy_bring(s));
    ARTEL_TRY(artel__calloc(s->ctx, (size_t)s->variables.count + 1, sizeof *w.named, "names", &named));
    w.named = named;
    for (const artel__adopted *a = s->adopted; a; a = a->next) w.models++;
    artel_status status = visit_models(&w);
    if (status == ARTEL_OK) status = visit_optimizers(&w);
    if (status == ARTEL_OK) status = visit_rest(&w);
    artel__free(s->ctx, named);
    return status;
}

artel_status artel__snapshot_begin_store(artel_strategy *s)
{
    ARTEL_TRY(artel__strategy_open(s));
    return artel__strategy_bring_all(s);
}

artel_context *artel__snapshot_context(const artel_strategy *s)
{
    return s->ctx;
}

const artel__variables *artel__snapshot_table(const artel_strategy *s)
{
    return &s->variables;
}

void artel__snapshot_image(const artel_strategy *s, void *image)
{
    artel__state_image(s->state[0], artel__all_of(&s->variables), image);
}

void artel__snapshot_store(artel_strategy *s, int variable, const void *plain)
{
    for (int r = 0; r < (s->common ? 1 : s->plan.replicas); r++) artel__state_store(s->state[r], variable, plain);
}

artel_status artel__snapshot_pull(artel_strategy *s)
{
    for (int i = 0; s->servers && i < s->variables.count; i++) ARTEL_TRY(artel__elsewhere_read(s, i));
    return ARTEL_OK;
}

artel_status artel__snapshot_push(artel_strategy *s)
{
    for (int i = 0; s->servers && i < s->variables.count; i++) ARTEL_TRY(artel__elsewhere_write(s, i));
    return ARTEL_OK;
}

artel_status artel__snapshot_counters(const artel_strategy *s, json_t **out)
{
    json_t *steps = json_array();
    bool good = steps != NULL;
    for (const artel_optimizer *o = s->optimizer; o && good; o = o->next)
        good = json_array_insert_new(steps, 0, json_integer((json_int_t)o->iterations)) == 0;
    *out = json_pack("{s:I, s:I, s:o}", "runs", (json_int_t)s->runs, "units", (json_int_t)artel_strategy_units(s),
                     "optimizers", steps);
    if (good && *out) return ARTEL_OK;
    json_decref(*out);
    *out = NULL;
    return artel__fail_memory(s->ctx, "counters", 0);
}

static bool is_count(const json_t *number)
{
    return json_is_integer(number) && json_integer_value(number) >= 0 &&
           json_integer_value(number) <= ARTEL__MOST_COUNTED;
}

static artel_status check_counters(const artel_strategy *s, const char *where, const json_t *counters)
{
    static const char *const advice = "go on with the program that wrote it, or begin in an empty directory";
    const json_t *steps = json_object_get(counters, "optimizers");
    size_t found = json_array_size(steps), count = 0;
    for (const artel_optimizer *o = s->optimizer; o; o = o->next) count++;
    if (count != found)
        return artel__fail(s->ctx, ARTEL_ERROR_CORRUPT, where, advice,
                           "the counters of %zu optimizers are not those of the %zu here", found, count);
    bool good = is_count(json_object_get(counters, "runs")) && is_count(json_object_get(counters, "units"));
    for (size_t i = 0; i < count; i++) good = good && is_count(json_array_get(steps, i));
    if (good) return ARTEL_OK;
    return artel__fail(s->ctx, ARTEL_ERROR_CORRUPT, where, advice, "one of the counters is no integer from 0 to 2^53");
}

artel_status artel__snapshot_take_counters(artel_strategy *s, const char *where, const json_t *counters)
{
    const json_t *steps = json_object_get(counters, "optimizers");
    size_t left = json_array_size(steps);
    ARTEL_TRY(check_counters(s, where, counters));
    ARTEL_TRY(artel_strategy_set_units(s, json_integer_value(json_object_get(counters, "units"))));
    s->runs = json_integer_value(json_object_get(counters, "runs"));
    for (artel_optimizer *o = s->optimizer; o; o = o->next)
        o->iterations = json_integer_value(json_array_get(steps, --left));
    return ARTEL_OK;
}

artel_model *artel__snapshot_model(const artel_strategy *s, int index)
{
    int count = 0;
    for (const artel__adopted *a = s->adopted; a; a = a->next) count++;
    if (index < 0 || index >= count) return NULL;
    const artel__adopted *a = s->adopted;
    for (int i = count - 1; i > index; i--) a = a->next;
    return a->model;
}

bool artel__function_writes(const artel_function *f)
{
    return f->writes || f->updates > 0; /* or has servers write */
}
