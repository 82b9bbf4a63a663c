/* SPDX-License-Identifier: Apache-2.0 */
/* Strategies as a caller holds them: who computes, and the variables that all of them share.
 *
 * Everything is declared first: variables, the weights of models, the slots of optimizers go into one table. The first
 * run opens the strategy (open.c); from then on the table is final, for a state is one block (exec/state.h).
 */
#include <string.h>

#include "base/json_written.h"
#include "base/utf8.h"
#include "function/function_impl.h"
#include "function/snapshot.h"
#include "function/spec.h"
#include "nn/spec.h"

enum {
    MOST_NAME = 1000 /* bytes of a variable's: checkpoints write names of up to 1100 */
};

#define OPTION(field) offsetof(artel_strategy_options, field)
static const artel__range ranges[] = {{".batch_size", ARTEL__RANGE_INT64, OPTION(batch_size), 1, 1e9, NULL},
                                      {".shards", ARTEL__RANGE_INT64, OPTION(shards), 0, ARTEL__MAX_SHARDS, NULL},
                                      {".replicas", ARTEL__RANGE_INT, OPTION(replicas), 0, ARTEL__MAX_REPLICAS, NULL},
                                      {".threads", ARTEL__RANGE_INT, OPTION(threads), 0, 4096, NULL},
                                      {".ps_copies", ARTEL__RANGE_INT64, OPTION(ps_copies), 0, 3, NULL},
                                      {.name = NULL}};
static const artel__options_kind kind = {"strategy options", "begin with ARTEL_STRATEGY_OPTIONS_INIT",
                                         sizeof(artel_strategy_options), ranges};
static const artel__range no_ranges[] = {{.name = NULL}};
static const artel__options_kind variable_kind = {"variable options", "begin with ARTEL_VARIABLE_OPTIONS_INIT",
                                                  sizeof(artel_variable_options), no_ranges};

artel_status artel__read_spec(artel_context *ctx, const char *what, const char *text, json_t **out)
{
    if (!text || !*text)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, what, "give a name or a JSON record", "nothing is named");
    return text[0] == '{' ? artel__json_load_written(ctx, what, text, strlen(text), out)
                          : artel__spec_read(ctx, what, text, out);
}

/* -- making -- */

artel_status artel__strategy_take_options(artel_context *ctx, const artel_strategy_options *options,
                                          artel_strategy_options *out)
{
    *out = (artel_strategy_options)ARTEL_STRATEGY_OPTIONS_INIT;
    return artel__take_options(ctx, &kind, options, out);
}

artel_status artel_strategy_create(artel_context *ctx, const artel_strategy_options *options, artel_strategy **out)
{
    artel_strategy_options chosen;
    void *block;
    ARTEL_TRY(artel__enter(ctx, __func__, "context out", ctx, out));
    ARTEL_TRY(artel__strategy_take_options(ctx, options, &chosen));
    ARTEL_TRY(artel__mesh_need_context(ctx, chosen.cluster));
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel_strategy), "strategy", &block));
    artel_strategy *s = block;
    s->ctx = ctx;
    s->options = chosen;
    artel__arena_init(&s->arena, ctx);
    artel__variables_init(&s->variables, &s->arena);
    artel_status status = artel__strategy_resolve(s);
    if (status < 0) {
        artel_strategy_destroy(s);
        return status;
    }
    *out = s;
    return ARTEL_OK;
}

void artel_strategy_destroy(artel_strategy *s)
{
    if (!s) return;
    artel_context *ctx = s->ctx;
    artel__scope_forget(s);
    while (s->values) artel_values_destroy(s->values);
    artel_coordinator_close(s->coordinator);
    artel__loop_end(s);
    artel__crew_destroy(s->crew);
    while (s->function) {
        artel_function *function = s->function;
        s->function = function->next;
        artel__function_destroy(function);
    }
    for (artel_optimizer *o = s->optimizer; o; o = o->next) {
        json_decref(o->rule.record);
        artel__free(ctx, o->restored);
    }
    for (int r = 0; s->pool && r < s->plan.replicas; r++) artel__pool_destroy(s->pool[r]);
    for (int r = 0; s->state && r < (s->common ? 1 : s->plan.replicas); r++) artel__state_destroy(s->state[r]);
    artel__devices_close(s->devices);
    artel__group_destroy(s->group);
    for (artel__adopted *a = s->adopted; a; a = a->next) {
        if (a->owned) artel_model_destroy(a->model);
    }
    for (artel__adopted *a = s->text_layer; a; a = a->next) artel_model_destroy(a->model);
    artel_strategy_destroy(s->moves);
    artel__words_end(s);
    artel__arena_fini(&s->arena);
    artel__free(ctx, s);
}

const char *artel_strategy_name(const artel_strategy *s)
{
    return s ? s->plan.name : "";
}

int artel_strategy_replicas(const artel_strategy *s)
{
    if (!s || s->servers || artel__mesh_is_single(s->options.cluster)) return s ? s->plan.replicas : 0;
    return s->ranks > s->plan.replicas ? s->ranks : s->plan.replicas * artel_cluster_size(s->options.cluster);
}

int64_t artel_strategy_runs(const artel_strategy *s)
{
    return s ? s->runs : 0;
}

artel_status artel_strategy_set_runs(artel_strategy *s, int64_t runs)
{
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "strategy", s));
    ARTEL_TRY(artel__need_count(s->ctx, "strategy", runs, "runs"));
    s->runs = runs;
    return ARTEL_OK;
}

/* -- variables -- */

static artel_status add_variable(artel_strategy *s, int index, artel_variable **out)
{
    artel_variable *variable = artel__arena_alloc(&s->arena, 1, sizeof *variable);
    if (index < 0) return (artel_status)index;
    if (!variable) return ARTEL_ERROR_NO_MEMORY;
    *variable = (artel_variable){.strategy = s, .index = index, .next = s->variable};
    s->variable = variable;
    *out = variable;
    return ARTEL_OK;
}

/* Checkpoints write dots for slashes. */
static bool same_name(const char *a, const char *b)
{
    for (; *a && (*a == *b || (strchr("./", *a) && *b && strchr("./", *b))); a++) b++;
    return *a == *b;
}

const char *artel__strategy_named(const artel_strategy *s, const char *name)
{
    const char *found = NULL;
    for (int i = 0; i < s->variables.count; i++) {
        if (same_name(s->variables.item[i].name, name)) found = s->variables.item[i].name;
    }
    for (const artel_variable *v = s->words; v; v = v->next) {
        if (same_name(artel__words_name(v->words), name)) found = artel__words_name(v->words);
    }
    return found;
}

static artel_status check_name(artel_strategy *s, const char *name)
{
    size_t length = name ? strlen(name) : 0;
    if (length == 0)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "variable options", "give it a name",
                           "the variable has no name");
    if (length > MOST_NAME || artel__utf8_valid(name, length) != length)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "variable options", "write at most 1000 bytes of UTF-8",
                           "the variable's name has %zu bytes, or they are no UTF-8", length);
    const char *other = artel__strategy_named(s, name);
    if (!other) return ARTEL_OK;
    return artel__fail(s->ctx, ARTEL_ERROR_INVALID, name, "give each variable a name of its own",
                       "this variable exists%s", strcmp(other, name) ? ", but for dots and slashes" : "");
}

static artel_status check_variable(artel_strategy *s, const artel_variable_options *o, artel__joining *joining)
{
    ARTEL_TRY(check_name(s, o->name));
    ARTEL_TRY(artel__joining_read(s->ctx, o, joining));
    bool whole = o->dtype >= ARTEL_DTYPE_INT8 && o->dtype <= ARTEL_DTYPE_BOOL && o->dtype != ARTEL_DTYPE_UINT64;
    if (o->dtype != ARTEL_DTYPE_FLOAT32 && o->dtype != ARTEL_DTYPE_FLOAT64 && o->dtype != ARTEL_DTYPE_STRING && !whole)
        return artel__fail(s->ctx, ARTEL_ERROR_UNSUPPORTED, o->name,
                           "use float32, float64, bool, or whole numbers but uint64", "a variable of %s",
                           artel_dtype_name(o->dtype));
    if (whole && o->initializer)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, o->name, "give values, or nothing for zeros",
                           "an initializer draws floats, and the variable is %s", artel_dtype_name(o->dtype));
    if (joining->aggregation == ARTEL__AGGREGATION_MEAN
            ? whole
            : joining->aggregation == ARTEL__AGGREGATION_SUM && o->dtype == ARTEL_DTYPE_BOOL)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, o->name, "use float64", "the %s of rows is no %s",
                           joining->aggregation == ARTEL__AGGREGATION_SUM ? "sum" : "mean", artel_dtype_name(o->dtype));
    if (o->dtype != ARTEL_DTYPE_FLOAT32 && o->dtype != ARTEL_DTYPE_STRING && s->servers)
        return artel__fail(s->ctx, ARTEL_ERROR_UNSUPPORTED, o->name, "use float32, or another strategy",
                           "parameter servers do not keep variables of %s", artel_dtype_name(o->dtype));
    if (o->shape.rank < 0 || o->shape.rank > ARTEL_MAX_RANK || artel_shape_count(&o->shape) < 1)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, o->name, "give 0 to 8 axes of at least 1",
                           "this shape has no elements");
    if (o->dtype != ARTEL_DTYPE_STRING && artel_shape_count(&o->shape) > ARTEL__MOST_ELEMENTS)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, o->name, "check the sizes", "a variable of %lld elements",
                           (long long)artel_shape_count(&o->shape));
    return ARTEL_OK;
}

/* Numbers of an initialiser, as the variable has them. */
static artel_status draw_initial(artel_strategy *s, const artel_variable_options *o, void *out)
{
    json_t *json;
    artel__initializer made;
    float *drawn = out;
    int64_t count = artel_shape_count(&o->shape);
    uint32_t ordinal = (uint32_t)s->variables.count;
    ARTEL_TRY(artel__read_spec(s->ctx, o->name, o->initializer, &json));
    artel_status status = artel__initializer_read(&s->arena, o->name, json, &made);
    json_decref(json);
    ARTEL_TRY(status);
    if (o->dtype == ARTEL_DTYPE_FLOAT64) drawn = artel__arena_alloc(&s->arena, (size_t)count, sizeof *drawn);
    if (!drawn) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__initializer_fill(s->ctx, &made, s->options.seed, ordinal, &o->shape, drawn));
    for (int64_t i = 0; i < count && o->dtype == ARTEL_DTYPE_FLOAT64; i++) ((double *)out)[i] = drawn[i];
    return ARTEL_OK;
}

artel_status artel_variable_create(artel_strategy *s, const artel_variable_options *options, artel_variable **out)
{
    artel_variable_options chosen = ARTEL_VARIABLE_OPTIONS_INIT;
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "strategy options out", s, options, out));
    ARTEL_TRY(artel__take_options(s->ctx, &variable_kind, options, &chosen));
    ARTEL_TRY(artel__strategy_may_declare(s, "variable"));
    artel__joining joining = {ARTEL__AGGREGATION_NONE, ARTEL__SYNCHRONIZATION_ON_WRITE};
    ARTEL_TRY(check_variable(s, &chosen, &joining));
    if (chosen.dtype == ARTEL_DTYPE_STRING) return artel__words_create(s, &chosen, out);
    void *initial = NULL;
    if (chosen.initial && chosen.initializer)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, chosen.name, "give one of them",
                           "the variable has values and an initializer");
    if (chosen.initial || chosen.initializer) {
        size_t count = (size_t)artel_shape_count(&chosen.shape), size = artel_dtype_size(chosen.dtype);
        initial = artel__arena_alloc(&s->arena, count, size);
        if (!initial) return ARTEL_ERROR_NO_MEMORY;
        if (chosen.initial) memcpy(initial, chosen.initial, count * size);
        if (chosen.initializer) ARTEL_TRY(draw_initial(s, &chosen, initial));
    }
    int index =
        artel__variables_add(&s->variables, chosen.name, ARTEL__VARIABLE_TRAINABLE, chosen.dtype, &chosen.shape, 0);
    artel_variable *variable;
    ARTEL_TRY(add_variable(s, index, &variable));
    variable->initial = initial;
    variable->joining = joining;
    *out = variable;
    return ARTEL_OK;
}

const char *artel_variable_name(const artel_variable *v)
{
    if (!v) return "";
    return v->words ? artel__words_name(v->words) : v->strategy->variables.item[v->index].name;
}

artel_status artel_variable_shape(const artel_variable *v, artel_shape *shape)
{
    ARTEL_TRY(artel__enter(v ? v->strategy->ctx : NULL, __func__, "variable shape", v, shape));
    *shape = v->words ? *artel__words_shape(v->words) : v->strategy->variables.item[v->index].shape;
    return ARTEL_OK;
}

artel_status artel_variable_dtype(const artel_variable *v, artel_dtype *dtype)
{
    ARTEL_TRY(artel__enter(v ? v->strategy->ctx : NULL, __func__, "variable dtype", v, dtype));
    *dtype = v->words ? ARTEL_DTYPE_STRING : v->strategy->variables.item[v->index].dtype;
    return ARTEL_OK;
}

static artel_status check_access(artel_variable *v, artel_dtype dtype, int64_t count, bool writes)
{
    artel_strategy *s = v->strategy;
    const artel__variable *declared = &s->variables.item[v->index];
    if (count != artel_shape_count(&declared->shape))
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, declared->name, "give room for all of them",
                           "%lld elements of %lld", (long long)count, (long long)artel_shape_count(&declared->shape));
    if (artel_dtype_size(dtype) == 0)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, declared->name, "give a numeric element type",
                           "elements of no number");
    ARTEL_TRY(artel__strategy_open(s));
    return writes ? artel__strategy_bring_all(s) : artel__strategy_bring(s);
}

/* Room for the elements as the variable has them, where they are not of `dtype`; else NULL. */
static artel_status make_room(const artel_variable *v, artel_dtype dtype, void **out)
{
    const artel__variable *declared = &v->strategy->variables.item[v->index];
    *out = NULL;
    if (declared->dtype == dtype) return ARTEL_OK;
    return artel__alloc(v->strategy->ctx, artel__variable_bytes(declared) + 1, "variable", out);
}

artel_status artel_variable_read_as(artel_variable *v, artel_dtype dtype, void *values, int64_t count)
{
    void *plain;
    ARTEL_TRY(artel__enter(v ? v->strategy->ctx : NULL, __func__, "variable values", v, values));
    if (v->words) return artel__words_read(v, dtype, values, count);
    ARTEL_TRY(check_access(v, dtype, count, false));
    artel_strategy *s = v->strategy;
    if (s->servers) ARTEL_TRY(artel__elsewhere_read(s, v->index));
    ARTEL_TRY(make_room(v, dtype, &plain));
    artel__state_fetch(s->state[0], v->index, plain ? plain : values);
    if (plain) artel__convert(s->variables.item[v->index].dtype, plain, dtype, values, count);
    artel__free(s->ctx, plain);
    return ARTEL_OK;
}

artel_status artel_variable_assign_as(artel_variable *v, artel_dtype dtype, const void *values, int64_t count)
{
    void *plain;
    ARTEL_TRY(artel__enter(v ? v->strategy->ctx : NULL, __func__, "variable values", v, values));
    if (v->words) return artel__words_assign(v, dtype, values, count);
    ARTEL_TRY(check_access(v, dtype, count, true));
    artel_strategy *s = v->strategy;
    ARTEL_TRY(make_room(v, dtype, &plain));
    if (plain) artel__convert(dtype, values, s->variables.item[v->index].dtype, plain, count);
    for (int r = 0; r < (s->common ? 1 : s->plan.replicas); r++)
        artel__state_store(s->state[r], v->index, plain ? plain : values);
    artel__free(s->ctx, plain);
    return s->servers ? artel__elsewhere_write(s, v->index) : ARTEL_OK;
}

artel_status artel_variable_read(artel_variable *v, float *values, int64_t count)
{
    return artel_variable_read_as(v, ARTEL_DTYPE_FLOAT32, values, count);
}

artel_status artel_variable_assign(artel_variable *v, const float *values, int64_t count)
{
    return artel_variable_assign_as(v, ARTEL_DTYPE_FLOAT32, values, count);
}

/* -- models -- */

typedef struct adoption {
    artel_strategy *strategy;
    artel__adopted *adopted;
} adoption;

static artel_status take_variable(void *user, const artel__model_variable *variable)
{
    adoption *a = user;
    artel__adopted *to = a->adopted;
    artel_variable *made;
    ARTEL_TRY(add_variable(a->strategy, to->base + variable->variable->index, &made));
    made->constraint = variable->variable->constraint;
    to->item[to->count++] = made;
    if (variable->trainable) to->trainable[to->trainable_count++] = made;
    return ARTEL_OK;
}

/* The model's own table, behind what is there. Names get the model's in front where they exist already. */
static artel_status copy_table(artel_strategy *s, const artel_model *model)
{
    const artel__variables *from = model->nn->variables;
    for (int i = 0; i < from->count; i++) {
        const artel__variable *v = &from->item[i];
        const char *name = v->name;
        for (int k = 0; k < s->variables.count; k++) {
            if (strcmp(s->variables.item[k].name, name) == 0)
                name = artel__arena_printf(&s->arena, "%s/%s", model->nn->name, v->name);
            if (!name) return ARTEL_ERROR_NO_MEMORY;
        }
        int index = artel__variables_add(&s->variables, name, v->kind, v->dtype, &v->shape, v->rows);
        if (index < 0) return (artel_status)index;
    }
    return ARTEL_OK;
}

artel__adopted *artel__strategy_find(const artel_strategy *s, const artel_model *model)
{
    artel__adopted *found = s->adopted;
    while (found && found->model != model) found = found->next;
    return found;
}

artel_status artel_strategy_add_model(artel_strategy *s, artel_model *model)
{
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "strategy model", s, model));
    ARTEL_TRY(artel__strategy_may_declare(s, model->nn->name));
    ARTEL_TRY(artel__need_context(s->ctx, model->ctx, "the model"));
    if (artel__strategy_find(s, model))
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, model->nn->name, "add a model once",
                           "the strategy has this model");
    for (int i = 0; s->servers && i < model->nn->variables->count; i++) {
        const artel__variable *v = &model->nn->variables->item[i];
        bool wide = v->dtype == ARTEL_DTYPE_FLOAT64;
        if (wide || artel__variable_narrow(v))
            return artel__fail(s->ctx, ARTEL_ERROR_UNSUPPORTED, v->name,
                               wide ? "use multi-worker, or the policy float32" : "use multi-worker, or a mixed policy",
                               "parameter servers do not keep variables of %s", artel_dtype_name(v->dtype));
    }
    if (!model->initialised) ARTEL_TRY(artel__keras_initialise(model, s->options.seed));
    int count = model->nn->variables->count;
    adoption a = {s, artel__arena_alloc(&s->arena, 1, sizeof *a.adopted)};
    if (!a.adopted) return ARTEL_ERROR_NO_MEMORY;
    *a.adopted =
        (artel__adopted){.model = model,
                         .base = s->variables.count,
                         .item = artel__arena_alloc(&s->arena, (size_t)count + 1, sizeof(artel_variable *)),
                         .trainable = artel__arena_alloc(&s->arena, (size_t)count + 1, sizeof(artel_variable *))};
    ARTEL_TRY(artel__arena_status(&s->arena));
    ARTEL_TRY(copy_table(s, model));
    ARTEL_TRY(artel__model_visit(model->nn, take_variable, &a));
    a.adopted->number = s->adopted ? s->adopted->number + 1 : 0;
    a.adopted->next = s->adopted;
    s->adopted = a.adopted;
    return ARTEL_OK;
}

static artel_status need_model(artel_strategy *s, const artel_model *model, artel__adopted **out)
{
    *out = artel__strategy_find(s, model);
    if (*out) return ARTEL_OK;
    return artel__fail(s->ctx, ARTEL_ERROR_INVALID, model->nn->name, "call artel_strategy_add_model first",
                       "the strategy does not hold the weights of this model");
}

artel_status artel_strategy_variables(artel_strategy *s, const artel_model *model, bool all,
                                      artel_variable *const **variables, int *count)
{
    artel__adopted *adopted;
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "strategy model variables count", s, model, variables, count));
    ARTEL_TRY(need_model(s, model, &adopted));
    *variables = all ? adopted->item : adopted->trainable;
    *count = all ? adopted->count : adopted->trainable_count;
    return ARTEL_OK;
}

artel_status artel_strategy_store(artel_strategy *s, artel_model *model)
{
    artel__adopted *adopted;
    void *plain;
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "strategy model", s, model));
    ARTEL_TRY(need_model(s, model, &adopted));
    ARTEL_TRY(artel__strategy_open(s));
    ARTEL_TRY(artel__strategy_bring(s));
    const artel__variables *to = model->nn->variables;
    int64_t most = 0;
    for (int i = 0; i < to->count; i++) {
        int64_t bytes = artel_shape_count(&to->item[i].shape) * (int64_t)artel_dtype_size(to->item[i].dtype);
        if (bytes > most) most = bytes;
    }
    ARTEL_TRY(artel__calloc(s->ctx, (size_t)most + 1, 1, "weights", &plain));
    for (int i = 0; i < to->count; i++) {
        artel_status status = s->servers ? artel__elsewhere_read(s, adopted->base + i) : ARTEL_OK;
        if (status < 0) {
            artel__free(s->ctx, plain);
            return status;
        }
        artel__state_fetch(s->state[0], adopted->base + i, plain);
        artel__state_store(model->weights, i, plain);
    }
    artel__free(s->ctx, plain);
    return ARTEL_OK;
}
