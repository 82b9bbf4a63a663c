/* SPDX-License-Identifier: Apache-2.0 */
/* Reading functions: a strategy is made from a file as a program would make it, call by public call. */
#include <string.h>

#include "function/saved_impl.h"
#include "function/spec.h"
#include "op/op.h"

typedef struct loader {
    artel__saved saved;
    artel_strategy *strategy;
    artel_variable **variable; /* by number; NULL: a model's own */
    artel_variable **words;
    artel_model **model;
    artel_optimizer **optimizer;
} loader;

/* -- the strategy -- */

static artel_status check_format(const artel__saved *s, const json_t *record)
{
    const char *format;
    int64_t version;
    ARTEL_TRY(artel__saved_string(s, record, "format", &format));
    if (strcmp(format, "artel functions") != 0) return artel__saved_damaged(s, "format", "no functions of artel");
    ARTEL_TRY(artel__saved_integer(s, record, "version", 1, INT32_MAX, &version));
    if (version <= ARTEL__SAVED_VERSION) return ARTEL_OK;
    return artel__fail(s->ctx, ARTEL_ERROR_UNSUPPORTED, s->path, "load it with a newer artel",
                       "its format is of version %d, the newest here %d", (int)version, ARTEL__SAVED_VERSION);
}

static artel_status read_arithmetic(const artel__saved *s, const json_t *from, const char **out)
{
    const char *name;
    ARTEL_TRY(artel__saved_string(s, from, "arithmetic", &name));
    for (int a = ARTEL__ARITHMETIC_CHAIN; a <= ARTEL__ARITHMETIC_TILES; a++) {
        *out = artel__arithmetic_name((artel__arithmetic)a);
        if (strcmp(*out, name) == 0) return ARTEL_OK;
    }
    return artel__saved_damaged(s, "arithmetic", "no arithmetic");
}

static artel_status make_strategy(loader *l, const json_t *record, artel_strategy_options *options)
{
    artel__saved *s = &l->saved;
    const json_t *from = json_object_get(record, "strategy");
    int64_t seed, runs, units;
    ARTEL_TRY(artel__saved_integer(s, from, "batch_size", 1, 1000000000, &options->batch_size));
    ARTEL_TRY(artel__saved_integer(s, from, "shards", 1, ARTEL__MAX_SHARDS, &options->shards));
    while (options->shards & (options->shards - 1)) /* of the fast class: here who computes may be another */
        options->shards += options->shards & -options->shards;
    ARTEL_TRY(artel__saved_integer(s, from, "seed", INT64_MIN, INT64_MAX, &seed));
    ARTEL_TRY(artel__saved_integer(s, from, "runs", 0, ARTEL__MOST_COUNTED, &runs));
    ARTEL_TRY(artel__saved_integer(s, from, "units", 0, ARTEL__MOST_COUNTED, &units));
    ARTEL_TRY(read_arithmetic(s, from, &options->arithmetic));
    options->seed = (uint64_t)seed;
    ARTEL_TRY(artel_strategy_create(s->ctx, options, &l->strategy));
    if (l->strategy->servers)
        return artel__fail(s->ctx, ARTEL_ERROR_UNSUPPORTED, l->strategy->plan.name, "load it under another strategy",
                           "functions of files do not run over parameter servers");
    ARTEL_TRY(artel_strategy_set_runs(l->strategy, runs));
    return artel_strategy_set_units(l->strategy, units);
}

/* -- variables and models -- */

static artel_status load_variable(loader *l, const json_t *from)
{
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_variable *made;
    ARTEL_TRY(artel__saved_string(&l->saved, from, "name", &o.name));
    ARTEL_TRY(artel__saved_get(&l->saved, from, &o.dtype, &o.shape, &o.initial));
    if (json_object_get(from, "aggregation"))
        ARTEL_TRY(artel__saved_string(&l->saved, from, "aggregation", &o.aggregation));
    if (json_object_get(from, "synchronization"))
        ARTEL_TRY(artel__saved_string(&l->saved, from, "synchronization", &o.synchronization));
    return artel_variable_create(l->strategy, &o, &made);
}

/* The elements of a variable that was declared already. */
static artel_status get_values(loader *l, const json_t *from, const artel__variable *declared, const void **out)
{
    artel_dtype dtype;
    artel_shape shape;
    ARTEL_TRY(artel__saved_get(&l->saved, from, &dtype, &shape, out));
    if (dtype == declared->dtype && artel__shape_equal(&shape, &declared->shape)) return ARTEL_OK;
    return artel__saved_damaged(&l->saved, declared->name, "values of another shape or element type");
}

static artel_status fill_model(loader *l, const json_t *from, artel_model *model)
{
    const artel__variables *variables = model->nn->variables;
    const json_t *weights;
    const void *elements;
    ARTEL_TRY(artel__saved_list(&l->saved, from, "weights", &weights));
    if (json_array_size(weights) != (size_t)variables->count)
        return artel__saved_damaged(&l->saved, "weights", "another number than the model has");
    for (int i = 0; i < variables->count; i++) {
        ARTEL_TRY(get_values(l, json_array_get(weights, (size_t)i), &variables->item[i], &elements));
        artel__state_store(model->weights, i, elements);
    }
    model->initialised = true;
    return ARTEL_OK;
}

static artel_status load_model(loader *l, const json_t *from)
{
    artel_model *model = NULL;
    json_t *record = json_object_get(from, "model");
    artel_status status = artel__keras_from_record(l->saved.ctx, l->saved.path, record, &model);
    if (status == ARTEL_OK) status = fill_model(l, from, model);
    if (status == ARTEL_OK) status = artel_strategy_add_model(l->strategy, model);
    if (status < 0) {
        artel_model_destroy(model);
        return status;
    }
    l->strategy->adopted->owned = true;
    return ARTEL_OK;
}

static artel_status load_items(loader *l, const json_t *record)
{
    const json_t *list;
    artel_strategy *s = l->strategy;
    ARTEL_TRY(artel__saved_list(&l->saved, record, "items", &list));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        ARTEL_TRY(json_object_get(item, "model") ? load_model(l, item) : load_variable(l, item));
    }
    int models = s->adopted ? s->adopted->number + 1 : 0, words = s->words ? artel__words_number(s->words) + 1 : 0;
    l->saved.count[ARTEL__SAVED_VARIABLES] = s->variables.count;
    l->saved.count[ARTEL__SAVED_MODELS] = models;
    l->saved.count[ARTEL__SAVED_WORDS] = words;
    l->variable = artel__arena_alloc(&l->saved.arena, (size_t)s->variables.count + 1, sizeof(artel_variable *));
    l->model = artel__arena_alloc(&l->saved.arena, (size_t)models + 1, sizeof(artel_model *));
    l->words = artel__arena_alloc(&l->saved.arena, (size_t)words + 1, sizeof(artel_variable *));
    ARTEL_TRY(artel__arena_status(&l->saved.arena));
    for (artel_variable *v = s->words; v; v = v->next) l->words[--words] = v;
    for (artel_variable *v = s->variable; v; v = v->next) l->variable[v->index] = v;
    for (artel__adopted *a = s->adopted; a; a = a->next) l->model[a->number] = a->model;
    return ARTEL_OK;
}

/* -- optimizers -- */

static artel_status make_optimizer(loader *l, const json_t *from, const json_t *list, artel_optimizer **out)
{
    size_t count = json_array_size(list);
    artel_variable **variables = artel__arena_alloc(&l->saved.arena, count + 1, sizeof(artel_variable *));
    const json_t *record = json_object_get(from, "record");
    int64_t number;
    char *text;
    if (!variables) return ARTEL_ERROR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (!artel__json_integer(json_array_get(list, i), &number) || number < 0 ||
            number >= l->saved.count[ARTEL__SAVED_VARIABLES])
            return artel__saved_damaged(&l->saved, "variables", "no number of a variable");
        variables[i] = l->variable[number];
    }
    if (!json_is_object(record)) return artel__saved_damaged(&l->saved, "record", "no object");
    ARTEL_TRY(artel__json_dump_string(l->saved.ctx, record, ARTEL__JSON_PYTHON, &text));
    artel_status status = artel_optimizer_create(l->strategy, text, variables, (int)count, out);
    artel__free(l->saved.ctx, text);
    return status;
}

static artel_status load_slots(loader *l, const json_t *from, artel_optimizer *o)
{
    const artel__variable *item = l->strategy->variables.item;
    const json_t *list;
    const void *elements;
    size_t bytes = 0;
    ARTEL_TRY(artel__saved_list(&l->saved, from, "slots", &list));
    if (json_array_size(list) != (size_t)o->slots.file_count)
        return artel__saved_damaged(&l->saved, "slots", "another number than the optimizer has");
    for (int i = 0; i < o->slots.file_count; i++) bytes += artel__variable_bytes(&item[o->slots.file_order[i]]);
    ARTEL_TRY(artel__alloc(l->saved.ctx, bytes + 1, "optimizer", &o->restored));
    uint8_t *at = o->restored;
    for (int i = 0; i < o->slots.file_count; i++) {
        const artel__variable *slot = &item[o->slots.file_order[i]];
        ARTEL_TRY(get_values(l, json_array_get(list, (size_t)i), slot, &elements));
        memcpy(at, elements, artel__variable_bytes(slot));
        at += artel__variable_bytes(slot);
    }
    return ARTEL_OK;
}

static artel_status load_optimizer(loader *l, const json_t *from, artel_optimizer **out)
{
    const json_t *variables;
    int64_t iterations;
    double rate;
    ARTEL_TRY(artel__saved_list(&l->saved, from, "variables", &variables));
    ARTEL_TRY(artel__saved_integer(&l->saved, from, "iterations", 0, ARTEL__MOST_COUNTED, &iterations));
    ARTEL_TRY(artel__saved_real(&l->saved, from, "rate", &rate));
    ARTEL_TRY(make_optimizer(l, from, variables, out));
    ARTEL_TRY(artel_optimizer_set_iterations(*out, iterations));
    ARTEL_TRY(artel_optimizer_set_rate(*out, rate));
    return load_slots(l, from, *out);
}

static artel_status load_optimizers(loader *l, const json_t *record)
{
    const json_t *list;
    ARTEL_TRY(artel__saved_list(&l->saved, record, "optimizers", &list));
    size_t count = json_array_size(list);
    l->optimizer = artel__arena_alloc(&l->saved.arena, count + 1, sizeof(artel_optimizer *));
    if (!l->optimizer) return ARTEL_ERROR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) ARTEL_TRY(load_optimizer(l, json_array_get(list, i), &l->optimizer[i]));
    l->saved.count[ARTEL__SAVED_OPTIMIZERS] = (int)count;
    return ARTEL_OK;
}

/* -- functions -- */

static artel_status read_argument(const artel__saved *s, const json_t *from, artel_argument *out)
{
    const char *dtype;
    ARTEL_TRY(artel__saved_string(s, from, "name", &out->name));
    ARTEL_TRY(artel__saved_string(s, from, "dtype", &dtype));
    ARTEL_TRY(artel__saved_flag(s, from, "shared", &out->shared));
    if (artel_dtype_parse(dtype, &out->dtype) < 0) return artel__saved_damaged(s, "dtype", "no element type");
    return artel__saved_shape(s, from, &out->shape);
}

static artel_status load_function(loader *l, const json_t *from)
{
    artel__saved *s = &l->saved;
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    const json_t *arguments, *calls;
    artel__tape tape;
    artel_function *made;
    int64_t outputs;
    ARTEL_TRY(artel__saved_string(s, from, "name", &o.name));
    ARTEL_TRY(artel__saved_flag(s, from, "training", &o.training));
    ARTEL_TRY(artel__saved_list(s, from, "arguments", &arguments));
    ARTEL_TRY(artel__saved_integer(s, from, "outputs", 0, INT16_MAX, &outputs));
    ARTEL_TRY(artel__saved_list(s, from, "calls", &calls));
    ARTEL_TRY(artel__tape_read(s, calls, &tape));
    o.argument_count = (int)json_array_size(arguments);
    o.output_count = (int)outputs;
    artel_argument *argument = artel__arena_alloc(&s->arena, (size_t)o.argument_count + 1, sizeof *argument);
    artel_value *value = artel__arena_alloc(&s->arena, (size_t)(o.argument_count + tape.places) + 1, sizeof *value);
    if (!argument || !value) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < o.argument_count; i++)
        ARTEL_TRY(read_argument(s, json_array_get(arguments, (size_t)i), &argument[i]));
    o.arguments = argument;
    artel__replay replay = {.saved = s,
                            .variable = l->variable,
                            .words = l->words,
                            .model = l->model,
                            .optimizer = l->optimizer,
                            .at = tape.first,
                            .value = value,
                            .places = o.argument_count + tape.places,
                            .arguments = o.argument_count,
                            .outputs = o.output_count};
    return artel_function_create(l->strategy, &o, artel__replay_trace, &replay, &made);
}

static artel_status load_functions(loader *l, const json_t *record)
{
    const json_t *list;
    ARTEL_TRY(artel__saved_list(&l->saved, record, "functions", &list));
    for (size_t i = 0; i < json_array_size(list); i++) ARTEL_TRY(load_function(l, json_array_get(list, i)));
    return ARTEL_OK;
}

artel_status artel_functions_load(artel_context *ctx, const char *path, const artel_strategy_options *options,
                                  artel_strategy **out)
{
    artel_strategy_options chosen;
    json_t *record = NULL;
    loader l = {.strategy = NULL};
    ARTEL_TRY(artel__enter(ctx, __func__, "context path out", ctx, path, out));
    ARTEL_TRY(artel__strategy_take_options(ctx, options, &chosen));
    artel__saved_init(&l.saved, ctx, path);
    artel_status status = artel__saved_read(&l.saved, &record);
    if (status == ARTEL_OK) status = check_format(&l.saved, record);
    if (status == ARTEL_OK) status = make_strategy(&l, record, &chosen);
    if (status == ARTEL_OK) status = load_items(&l, record);
    if (status == ARTEL_OK) status = load_optimizers(&l, record);
    if (status == ARTEL_OK) status = load_functions(&l, record);
    json_decref(record);
    artel__saved_fini(&l.saved);
    if (status < 0) {
        artel_strategy_destroy(l.strategy);
        return status;
    }
    *out = l.strategy;
    return ARTEL_OK;
}
