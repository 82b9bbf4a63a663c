/* SPDX-License-Identifier: Apache-2.0 */
/* Writing functions with what they use, and finding what a strategy has. */
#include <string.h>

#include "artel/version.h"
#include "function/saved_impl.h"

/* -- what functions use -- */

/* By number in the strategy: whether it is used, then its number in the file or -1. */
typedef struct uses {
    int *variable, *model, *optimizer, *words;
    int models, optimizers, word_count;
} uses;

static artel_status make_uses(artel__saved *saved, const artel_strategy *s, uses *u)
{
    *u = (uses){.models = s->adopted ? s->adopted->number + 1 : 0,
                .optimizers = s->optimizer ? s->optimizer->number + 1 : 0,
                .word_count = s->words ? artel__words_number(s->words) + 1 : 0};
    u->variable = artel__arena_alloc(&saved->arena, (size_t)s->variables.count + 1, sizeof *u->variable);
    u->model = artel__arena_alloc(&saved->arena, (size_t)u->models + 1, sizeof *u->model);
    u->optimizer = artel__arena_alloc(&saved->arena, (size_t)u->optimizers + 1, sizeof *u->optimizer);
    u->words = artel__arena_alloc(&saved->arena, (size_t)u->word_count + 1, sizeof *u->words);
    return artel__arena_status(&saved->arena);
}

static void mark(uses *u, const artel_strategy *s, const artel_function *f)
{
    for (const artel__tape_entry *e = f->tape->first; e; e = e->next) {
        if (e->kind == ARTEL__TAPE_VARIABLE || e->kind == ARTEL__TAPE_ASSIGN) u->variable[e->which] = 1;
        if (e->kind == ARTEL__TAPE_WORDS || e->kind == ARTEL__TAPE_ASSIGN_WORDS) u->words[e->which] = 1;
        if (e->kind == ARTEL__TAPE_CALL || e->kind == ARTEL__TAPE_MODEL_LOSSES) u->model[e->which] = 1;
        if (e->kind == ARTEL__TAPE_APPLY || e->kind == ARTEL__TAPE_SCALE_LOSS) u->optimizer[e->which] = 1;
    }
    for (const artel_optimizer *o = s->optimizer; o; o = o->next) {
        for (int i = 0; u->optimizer[o->number] && i < o->count; i++) u->variable[o->variable[i]->index] = 1;
    }
}

static void number(int *used, int count)
{
    int next = 0;
    for (int i = 0; i < count; i++) used[i] = used[i] ? next++ : -1;
}

/* A model is saved whole. */
static void number_all(uses *u, const artel_strategy *s)
{
    for (const artel__adopted *a = s->adopted; a; a = a->next) {
        int count = a->model->nn->variables->count;
        for (int i = 0; i < count; i++) u->model[a->number] |= u->variable[a->base + i];
        for (int i = 0; i < count; i++) u->variable[a->base + i] = u->model[a->number];
    }
    number(u->variable, s->variables.count);
    number(u->model, u->models);
    number(u->optimizer, u->optimizers);
    number(u->words, u->word_count);
}

/* -- records of things -- */

static json_t *values_record(artel__saved *saved, const artel_strategy *s, int variable)
{
    const artel__variable *v = &s->variables.item[variable];
    json_t *object = json_object();
    void *plain;
    if (artel__alloc(s->ctx, artel__variable_bytes(v) + 1, "saving", &plain) < 0) {
        saved->failed = true;
        return object;
    }
    artel__state_fetch(s->state[0], variable, plain);
    artel__saved_set(saved, object, "name", json_string(v->name));
    artel__saved_put(saved, object, v->dtype, &v->shape, plain);
    artel__free(s->ctx, plain);
    return object;
}

static json_t *words_record(artel__saved *saved, const artel_strategy *s, int number)
{
    const artel_variable *v = s->words;
    while (artel__words_number(v) != number) v = v->next;
    json_t *object = json_object();
    artel__saved_set(saved, object, "name", json_string(artel__words_name(v->words)));
    artel__saved_put(saved, object, ARTEL_DTYPE_STRING, artel__words_shape(v->words), artel__words_elements(v));
    return object;
}

/* What variables are unless they say so is not said. */
static json_t *variable_record(artel__saved *saved, const artel_strategy *s, int variable)
{
    json_t *object = values_record(saved, s, variable);
    const artel_variable *v = s->variable;
    while (v && v->index != variable) v = v->next;
    const char *aggregation = v ? artel__joining_aggregation(&v->joining) : NULL,
               *synchronization = v ? artel__joining_synchronization(&v->joining) : NULL;
    if (aggregation) artel__saved_set(saved, object, "aggregation", json_string(aggregation));
    if (synchronization) artel__saved_set(saved, object, "synchronization", json_string(synchronization));
    return object;
}

static json_t *model_record(artel__saved *saved, const artel_strategy *s, const artel__adopted *a)
{
    json_t *object = json_object(), *weights = json_array();
    for (int i = 0; i < a->model->nn->variables->count; i++)
        artel__saved_add(saved, weights, values_record(saved, s, a->base + i));
    artel__saved_set(saved, object, "model", json_incref(a->model->nn->record));
    artel__saved_set(saved, object, "weights", weights);
    return object;
}

static const artel__adopted *model_of(const artel_strategy *s, int number)
{
    const artel__adopted *a = s->adopted;
    while (a && a->number != number) a = a->next;
    return a;
}

/* Variables and models in the order of the strategy's table, so that their numbers are those of another table made in
 * this order. */
static json_t *items_record(artel__saved *saved, const artel_strategy *s, const uses *u)
{
    json_t *list = json_array();
    int at = 0;
    for (int m = 0; m <= u->models; m++) {
        const artel__adopted *a = model_of(s, m);
        int end = a ? a->base : s->variables.count;
        for (; at < end; at++) {
            if (u->variable[at] >= 0) artel__saved_add(saved, list, variable_record(saved, s, at));
        }
        if (a && u->model[m] >= 0) artel__saved_add(saved, list, model_record(saved, s, a));
        if (a) at = a->base + a->model->nn->variables->count;
    }
    for (int w = 0; w < u->word_count; w++) {
        if (u->words[w] >= 0) artel__saved_add(saved, list, words_record(saved, s, w));
    }
    return list;
}

static json_t *optimizer_record(artel__saved *saved, const artel_strategy *s, const artel_optimizer *o)
{
    json_t *object = json_object(), *variables = json_array(), *slots = json_array();
    for (int i = 0; i < o->count; i++)
        artel__saved_add(saved, variables, json_integer(saved->number[ARTEL__SAVED_VARIABLES][o->variable[i]->index]));
    for (int i = 0; i < o->slots.file_count; i++)
        artel__saved_add(saved, slots, values_record(saved, s, o->slots.file_order[i]));
    artel__saved_set(saved, object, "record", json_incref(o->rule.record));
    artel__saved_set(saved, object, "variables", variables);
    artel__saved_set(saved, object, "iterations", json_integer(o->iterations));
    artel__saved_set(saved, object, "rate", artel__json_real(o->rate));
    artel__saved_set(saved, object, "slots", slots);
    return object;
}

static json_t *optimizers_record(artel__saved *saved, const artel_strategy *s, const uses *u)
{
    json_t *list = json_array();
    for (int n = 0; n < u->optimizers; n++) {
        const artel_optimizer *o = s->optimizer;
        while (o->number != n) o = o->next;
        if (u->optimizer[n] >= 0) artel__saved_add(saved, list, optimizer_record(saved, s, o));
    }
    return list;
}

static json_t *argument_record(artel__saved *saved, const artel__function_argument *a)
{
    json_t *object = json_object();
    artel__saved_set(saved, object, "name", json_string(a->name));
    artel__saved_set(saved, object, "dtype", json_string(artel_dtype_name(a->dtype)));
    artel__saved_set(saved, object, "shape", artel__saved_dims(saved, &a->shape));
    artel__saved_set(saved, object, "shared", json_boolean(a->shared));
    return object;
}

static json_t *function_record(artel__saved *saved, const artel_function *f)
{
    json_t *object = json_object(), *arguments = json_array();
    for (int i = 0; i < f->arguments; i++) artel__saved_add(saved, arguments, argument_record(saved, &f->argument[i]));
    artel__saved_set(saved, object, "name", json_string(f->name));
    artel__saved_set(saved, object, "training", json_boolean(f->training));
    artel__saved_set(saved, object, "arguments", arguments);
    artel__saved_set(saved, object, "outputs", json_integer(f->outputs));
    artel__saved_set(saved, object, "calls", artel__tape_write(saved, f->tape, f->arguments));
    return object;
}

static json_t *strategy_record(artel__saved *saved, const artel_strategy *s)
{
    json_t *object = json_object();
    artel__saved_set(saved, object, "batch_size", json_integer(s->options.batch_size));
    artel__saved_set(saved, object, "shards", json_integer(s->options.shards));
    artel__saved_set(saved, object, "seed",
                     json_integer((json_int_t)s->options.seed)); /* as signed: JSON has no more */
    artel__saved_set(saved, object, "arithmetic", json_string(artel__arithmetic_name(s->arithmetic)));
    artel__saved_set(saved, object, "runs", json_integer(s->runs));
    artel__saved_set(saved, object, "units", json_integer(artel_strategy_units(s)));
    return object;
}

/* -- saving -- */

static json_t *whole_record(artel__saved *saved, const artel_strategy *s, artel_function *const *functions, int count,
                            const uses *u)
{
    json_t *record = json_object(), *list = json_array();
    artel__saved_set(saved, record, "format", json_string("artel functions"));
    artel__saved_set(saved, record, "version", json_integer(ARTEL__SAVED_VERSION));
    artel__saved_set(saved, record, "artel", json_string(ARTEL_VERSION_STRING));
    artel__saved_set(saved, record, "strategy", strategy_record(saved, s));
    artel__saved_set(saved, record, "items", items_record(saved, s, u));
    artel__saved_set(saved, record, "optimizers", optimizers_record(saved, s, u));
    for (int i = 0; i < count; i++) artel__saved_add(saved, list, function_record(saved, functions[i]));
    artel__saved_set(saved, record, "functions", list);
    return record;
}

static artel_status check_functions(const artel_strategy *s, artel_function *const *functions, int count)
{
    int most = s->function ? s->function->number + 1 : 0;
    if (count < 1 || count > most)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "saving", "give functions that were made from it",
                           "%d functions of a strategy that has %d", count, most);
    for (int i = 0; i < count; i++) {
        const artel_function *f = s->function;
        while (f && f != functions[i]) f = f->next;
        if (!f)
            return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "saving", "give functions of this strategy",
                               "function %d is none of this strategy", i);
        for (int k = 0; k < i; k++) {
            if (strcmp(functions[k]->name, functions[i]->name) == 0)
                return artel__fail(s->ctx, ARTEL_ERROR_INVALID, functions[i]->name,
                                   "give each function a name of its own",
                                   "two functions have this name, by which they are found again");
        }
    }
    return ARTEL_OK;
}

static artel_status save(artel__saved *saved, artel_strategy *s, artel_function *const *functions, int count)
{
    uses u;
    ARTEL_TRY(check_functions(s, functions, count));
    ARTEL_TRY(artel__strategy_open(s));
    ARTEL_TRY(artel__state_bring(s->state[0]));
    ARTEL_TRY(make_uses(saved, s, &u));
    for (int i = 0; i < count; i++) mark(&u, s, functions[i]);
    number_all(&u, s);
    saved->number[ARTEL__SAVED_VARIABLES] = u.variable;
    saved->number[ARTEL__SAVED_MODELS] = u.model;
    saved->number[ARTEL__SAVED_OPTIMIZERS] = u.optimizer;
    saved->number[ARTEL__SAVED_WORDS] = u.words;
    json_t *record = whole_record(saved, s, functions, count, &u);
    artel_status status = ARTEL_OK;
    if (artel_context_error(s->ctx)->status == ARTEL_ERROR_NO_MEMORY)
        status = ARTEL_ERROR_NO_MEMORY;
    else if (!record || saved->failed)
        status = artel__fail(s->ctx, ARTEL_ERROR_INVALID, saved->path, "use UTF-8 in names and settings; free memory",
                             "its record cannot be made: a text is no UTF-8, or there is no memory");
    if (status == ARTEL_OK) status = artel__saved_write(saved, record);
    json_decref(record);
    return status;
}

static artel_status all_functions(artel__saved *saved, const artel_strategy *s, artel_function ***out, int *count)
{
    *count = s->function ? s->function->number + 1 : 0;
    artel_function **list = *out = artel__arena_alloc(&saved->arena, (size_t)*count + 1, sizeof(artel_function *));
    if (!list) return ARTEL_ERROR_NO_MEMORY;
    for (artel_function *f = s->function; f; f = f->next) list[f->number] = f;
    return ARTEL_OK;
}

artel_status artel_functions_save(artel_strategy *s, artel_function *const *functions, int count, const char *path)
{
    artel__saved saved;
    artel_function **all = NULL;
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "strategy path", s, path));
    if (count < 0 || (count > 0 && !functions))
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "saving", "give functions and their number, or NULL and 0",
                           "%d functions%s", count, functions ? "" : ", and none");
    if (s->servers)
        return artel__fail(s->ctx, ARTEL_ERROR_UNSUPPORTED, s->plan.name,
                           "store the model (artel_strategy_store) and save that",
                           "functions whose variables parameter servers own are not saved");
    artel__saved_init(&saved, s->ctx, path);
    artel_status status = count ? ARTEL_OK : all_functions(&saved, s, &all, &count);
    if (status == ARTEL_OK) status = save(&saved, s, functions ? functions : all, count);
    artel__saved_fini(&saved);
    return status;
}

/* -- what a strategy has -- */

static artel_status none(const artel_strategy *s, const char *what, const char *name)
{
    return artel__fail(s->ctx, ARTEL_ERROR_NOT_FOUND, name, "ask for one that it has", "the strategy has no such %s",
                       what);
}

artel_status artel_strategy_function(artel_strategy *s, const char *name, artel_function **out)
{
    artel_function *found = NULL;
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "strategy name out", s, name, out));
    for (artel_function *f = s->function; f; f = f->next) {
        if (strcmp(f->name, name) == 0) found = f;
    }
    if (!found) return none(s, "function", name);
    *out = found;
    return ARTEL_OK;
}

artel_status artel_strategy_variable(artel_strategy *s, const char *name, artel_variable **out)
{
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "strategy name out", s, name, out));
    artel_variable *const lists[] = {s->variable, s->words};
    for (int i = 0; i < 2; i++) {
        for (artel_variable *v = lists[i]; v; v = v->next) {
            if (strcmp(artel_variable_name(v), name) != 0) continue;
            *out = v;
            return ARTEL_OK;
        }
    }
    return none(s, "variable", name);
}

artel_status artel_strategy_model(artel_strategy *s, int index, artel_model **out)
{
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "strategy out", s, out));
    const artel__adopted *a = model_of(s, index);
    if (!a) return none(s, "model", "strategy");
    *out = a->model;
    return ARTEL_OK;
}

artel_status artel_strategy_optimizer(artel_strategy *s, int index, artel_optimizer **out)
{
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "strategy out", s, out));
    artel_optimizer *o = s->optimizer;
    while (o && o->number != index) o = o->next;
    if (!o) return none(s, "optimizer", "strategy");
    *out = o;
    return ARTEL_OK;
}

int artel_function_arguments(const artel_function *f)
{
    return f ? f->arguments : 0;
}

int artel_function_outputs(const artel_function *f)
{
    return f ? f->outputs : 0;
}

artel_status artel_function_argument(const artel_function *f, int index, artel_argument *out)
{
    ARTEL_TRY(artel__enter(f ? f->strategy->ctx : NULL, __func__, "function out", f, out));
    if (index < 0 || index >= f->arguments)
        return artel__fail(f->strategy->ctx, ARTEL_ERROR_INVALID, f->name, "count from 0", "there is no argument %d",
                           index);
    const artel__function_argument *a = &f->argument[index];
    *out = (artel_argument){a->name, a->dtype, a->shared, a->shape};
    return ARTEL_OK;
}
