/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers that a program adds: definitions in the form of nn's table, whose step on a variable is a callback over
 * graph building.
 *
 * They are optimizers of matrices (nn/optimizer_table.h) that leave nothing to a rule: the gradient and the variable
 * are plain, the callback's nodes belong to the APPLY phase. So they must be of shared values alone, and not fail. */
#include <string.h>

#include "artel/extend.h"
#include "function/function_impl.h"
#include "nn/custom.h"
#include "nn/optimizer_matrix.h"
#include "op/ops.h"
#include "op/shape_ops.h"
#include "op/step_number.h"

enum {
    MOST_SETTINGS = 16,
    NAME_ROOM = 128,
    VALUE_ROOM = 256
};

/* What lies in the context: nn sees the first member. */
typedef struct optimizer_class {
    artel__optimizer_def def;
    artel__matrix_ops matrix;
    artel__slot_row slot[ARTEL__APPLY_SLOTS];
    artel__option option[MOST_SETTINGS + 1];
    artel_optimizer_update_fn *update;
    void *user;
    char registered[NAME_ROOM], name[NAME_ROOM], slot_name[ARTEL__APPLY_SLOTS][NAME_ROOM];
    char key[MOST_SETTINGS][NAME_ROOM], fallback[MOST_SETTINGS][VALUE_ROOM];
} optimizer_class;

/* Of an instance. */
typedef struct settings {
    const char *value[MOST_SETTINGS]; /* as text, by option */
    const char *config;
} settings;

static const optimizer_class *class_of(const artel__optimizer *optimizer)
{
    return (const optimizer_class *)(const void *)optimizer->def;
}

/* -- instances -- */

/* Whether a value may stand where this default does. */
static bool alike(const json_t *value, const json_t *fallback)
{
    if (json_is_null(value) || json_is_null(fallback)) return true;
    if (json_is_number(value) && json_is_number(fallback)) return true;
    return json_is_boolean(value) ? json_is_boolean(fallback) : json_typeof(value) == json_typeof(fallback);
}

/* Every setting, those that were not given by their defaults; a new reference in *out. */
static artel_status complete(artel_context *ctx, const optimizer_class *c, json_t *given, json_t **out)
{
    json_t *config = *out = artel__json_copy(given);
    for (const artel__option *o = c->option; config && o->name; o++) {
        json_t *value = json_object_get(config, o->name), *fallback;
        ARTEL_TRY(artel__json_load(ctx, o->name, o->fallback, strlen(o->fallback), &fallback));
        bool fits = !value || alike(value, fallback);
        if (!value && json_object_set(config, o->name, fallback) < 0) config = NULL;
        json_decref(fallback);
        if (!fits)
            return artel__fail(ctx, ARTEL_ERROR_INVALID, c->def.class_name, "give a value of the default's kind",
                               "the setting %s is of another kind than %s", o->name, o->fallback);
    }
    return config ? ARTEL_OK : artel__fail_memory(ctx, "optimizer", 64);
}

static artel_status read_settings(artel__optimizer *optimizer, json_t *given, void *own)
{
    artel_context *ctx = optimizer->arena->ctx;
    json_t *config = NULL;
    char *text = NULL;
    artel_status status = complete(ctx, class_of(optimizer), given, &config);
    if (status == ARTEL_OK) status = artel__json_dump_string(ctx, config, ARTEL__JSON_COMPACT, &text);
    json_decref(config);
    ARTEL_TRY(status);
    ((settings *)own)->config = artel__arena_strdup(optimizer->arena, text);
    artel__free(ctx, text);
    return artel__arena_status(optimizer->arena);
}

/* -- a step -- */

typedef struct updating {
    const optimizer_class *class;
    artel_graph *g;
    const artel__variable *variable;
    const artel__optimize *o;
} updating;

/* Whether an operation stops a step when an index is out of range: too late where variables change. */
static bool looks_up(const artel__op_def *op)
{
    static const artel__op_def *const all[] = {&artel__op_take_def, &artel__op_embedding_def,
                                               &artel__op_wide_lookup_def, &artel__op_align_def};
    size_t i = 0;
    while (i < ARTEL__COUNT(all) && all[i] != op) i++;
    return i < ARTEL__COUNT(all);
}

/* What the callback has added may neither need another replica nor fail. */
static void check_nodes(const updating *u, int first)
{
    const artel__graph *graph = u->g->graph;
    for (int i = first; i < graph->nodes && graph->status == ARTEL_OK; i++) {
        const artel__node *node = &graph->node[i];
        bool apart =
            node->phase != ARTEL__PHASE_APPLY || node->op->collective != ARTEL__COLLECTIVE_NONE || looks_up(node->op);
        for (int k = 0; k < node->outputs && !apart; k++)
            apart = graph->value[node->output[k]].domain != ARTEL__DOMAIN_GLOBAL;
        if (apart)
            artel__graph_refuse(u->g, ARTEL_ERROR_UNSUPPORTED, u->class->def.class_name,
                                "make the update of arithmetic on the variable, its gradient and slots",
                                "the operation %s is not for an update", node->op->name);
    }
}

/* A value that the callback has written, of the variable's shape and type; ARTEL__NO_VALUE after a failure. */
static artel__value_id taken(const updating *u, const char *what, artel_value written)
{
    artel__graph *graph = u->g->graph;
    artel__value_id value = written < 0 ? ARTEL__NO_VALUE : artel__graph_take(u->g, written);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    bool fits = value >= 0 && artel__shape_equal(&graph->value[value].shape, &u->variable->shape);
    if (fits) return artel__op_cast(graph, value, graph->real);
    artel__graph_refuse(u->g, ARTEL_ERROR_INVALID, u->class->def.class_name, "write it, of the variable's shape",
                        "%s of %s %s", what, u->variable->name,
                        value < 0 ? "was not written" : "has another shape than it");
    return ARTEL__NO_VALUE;
}

static artel_value give_plain(const updating *u, artel__value_id value)
{
    artel__graph *graph = u->g->graph;
    artel__value_id plain = artel__op_plain(graph, value, u->variable->rows);
    return artel__graph_give(u->g, artel__op_reshape(graph, plain, &u->variable->shape));
}

static void take_step(const artel__optimizer *optimizer, artel__graph *graph, const artel__variable *variable,
                      const artel__optimize *o, artel__value_id gradient, artel__value_id squares)
{
    artel_graph g;
    const updating u = {class_of(optimizer), &g, variable, o};
    artel_value slot[ARTEL__APPLY_SLOTS], next[ARTEL__APPLY_SLOTS];
    artel_dtype real = graph->real;
    int64_t rows = variable->rows;
    (void)squares;
    artel__graph_wrap(&g, graph);
    artel__value_id w =
        artel__matrix_decayed(graph, artel__op_plain(graph, o->variable, rows), optimizer->weight_decay);
    artel_optimizer_update update = {.variable = give_plain(&u, w),
                                     .gradient = artel__graph_give(&g, gradient),
                                     .rate = artel__graph_give(&g, artel__op_step_number(graph, ARTEL__STEP_RATE, 0)),
                                     .count = artel__graph_give(&g, artel__op_step_number(graph, ARTEL__STEP_COUNT, 0)),
                                     .slots = slot,
                                     .next = ARTEL_NO_VALUE,
                                     .next_slots = next};
    for (int k = 0; k < ARTEL__APPLY_SLOTS; k++) {
        slot[k] = o->slot[k] >= 0 ? give_plain(&u, o->slot[k]) : ARTEL_NO_VALUE;
        next[k] = ARTEL_NO_VALUE;
    }
    int first = graph->nodes;
    if (graph->status < 0) return;
    artel_status status = u.class->update(u.class->user, ((const settings *)optimizer->matrix)->config, &g, &update);
    graph->real = real;
    if (status < 0 && graph->status == ARTEL_OK)
        artel__graph_refuse(&g, status, u.class->def.class_name, "see what its callback has found",
                            "the optimizer's own code failed");
    check_nodes(&u, first);
    artel__value_id after = taken(&u, "the update", update.next), kept[ARTEL__APPLY_SLOTS];
    for (int k = 0; k < ARTEL__APPLY_SLOTS; k++)
        kept[k] = next[k] >= 0 && slot[k] >= 0 ? taken(&u, "a slot", next[k]) : ARTEL__NO_VALUE;
    for (int k = 0; k < ARTEL__APPLY_SLOTS; k++) {
        if (kept[k] >= 0) artel__matrix_write_back(graph, o->slot[k], kept[k], rows);
    }
    artel__matrix_write_back(graph, o->variable, after, rows);
}

/* -- adding -- */

static artel_status wrong(artel_context *ctx, const artel_optimizer_definition *own, const char *advice,
                          const char *what)
{
    return artel__fail(ctx, ARTEL_ERROR_INVALID, own->class_name, advice, "%s", what);
}

static bool is_name(const char *text)
{
    return text && text[0] && strlen(text) < NAME_ROOM;
}

static const char *without_package(const char *name)
{
    const char *package = strrchr(name, '>');
    return package ? package + 1 : name;
}

static artel_status check_slots(artel_context *ctx, const artel_optimizer_definition *own)
{
    if (own->slot_count < 0 || own->slot_count > ARTEL__APPLY_SLOTS || (own->slot_count && !own->slots))
        return wrong(ctx, own, "give 0 to 3 slots", "this is no number of slots, or they are missing");
    for (int i = 0; i < own->slot_count; i++) {
        const artel_optimizer_slot *slot = &own->slots[i];
        if (!is_name(slot->name))
            return wrong(ctx, own, "name every slot, in less than 128 bytes", "a slot has no name");
        if (slot->group < 0 || slot->group >= ARTEL__APPLY_SLOTS)
            return wrong(ctx, own, "use groups 0 to 2", "a slot's group is none");
        if (!(slot->start > -1e38 && slot->start < 1e38))
            return wrong(ctx, own, "let slots start at numbers of float32", "a slot starts at none");
    }
    return ARTEL_OK;
}

static artel_status check(artel_context *ctx, const artel_optimizer_definition *own)
{
    if (!is_name(own->class_name))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "optimizer definition", "give it a name of less than 128 bytes",
                           "it has no name, or too long a one");
    if (artel__optimizer_is_keras(own->class_name))
        return wrong(ctx, own, "name its package, too: \"mine>Name\"", "Keras has an optimizer of this name");
    if (!own->update) return wrong(ctx, own, "give an update", "the definition has none");
    if (!(own->learning_rate >= 0 && own->learning_rate < 1e30))
        return wrong(ctx, own, "give a rate, or 0 for 0.001", "the learning rate is not possible");
    return check_slots(ctx, own);
}

/* A setting of its own, with its default. */
static artel_status add_option(artel_context *ctx, optimizer_class *c, int i, const char *key, json_t *value)
{
    char *text = NULL;
    if (i == MOST_SETTINGS)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, c->def.class_name, "put some together in a list",
                           "it has more than %d settings", MOST_SETTINGS);
    ARTEL_TRY(artel__json_dump_string(ctx, value, ARTEL__JSON_PYTHON, &text));
    bool fits = is_name(key) && strlen(text) < VALUE_ROOM && !artel__optimizer_has_setting(key);
    if (fits) {
        strcpy(c->key[i], key);
        strcpy(c->fallback[i], text);
    }
    artel__free(ctx, text);
    c->option[i] = (artel__option){.name = c->key[i],
                                   .help = "a setting of the program's own class",
                                   .type = ARTEL__OPTION_JSON,
                                   .offset = offsetof(settings, value) + (size_t)i * sizeof(char *),
                                   .fallback = c->fallback[i]};
    if (fits) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, c->def.class_name,
                       "give it a name of its own and a default, in 127 and 255 bytes",
                       "the setting %.100s is one of Keras' base class, or too long", key);
}

static artel_status add_options(artel_context *ctx, optimizer_class *c, const char *text)
{
    json_t *defaults = NULL, *value;
    const char *key;
    int count = 0;
    if (!text) return ARTEL_OK;
    artel_status status = artel__json_load(ctx, c->def.class_name, text, strlen(text), &defaults);
    if (status == ARTEL_OK && !json_is_object(defaults))
        status = artel__fail(ctx, ARTEL_ERROR_INVALID, c->def.class_name, "write {\"beta\": 0.9}",
                             "the settings are no JSON object");
    json_object_foreach(defaults, key, value)
    {
        if (status == ARTEL_OK) status = add_option(ctx, c, count++, key, value);
    }
    json_decref(defaults);
    return status;
}

static void fill(optimizer_class *c, const artel_optimizer_definition *own)
{
    c->update = own->update;
    c->user = own->user;
    c->matrix = (artel__matrix_ops){.size = sizeof(settings), .read = read_settings, .step = take_step};
    strcpy(c->registered, own->class_name);
    c->def = (artel__optimizer_def){.class_name = without_package(c->registered),
                                    .name = c->name,
                                    .rule = ARTEL__RULE_ADAM, /* makes no step */
                                    .learning_rate = own->learning_rate > 0 ? own->learning_rate : 0.001,
                                    .options = c->option,
                                    .slot = c->slot,
                                    .matrix = &c->matrix,
                                    .registered = c->registered};
    artel__snake_case(c->def.class_name, c->name, sizeof c->name);
    for (int i = 0; i < own->slot_count; i++) {
        strcpy(c->slot_name[i], own->slots[i].name);
        c->slot[i] = (artel__slot_row){.name = c->slot_name[i],
                                       .when = ARTEL__SLOT_ALWAYS,
                                       .group = own->slots[i].group,
                                       .start = (float)own->slots[i].start};
    }
}

static const artel__range no_ranges[] = {{.name = NULL}};

artel_status artel_context_add_optimizer(artel_context *ctx, const artel_optimizer_definition *definition)
{
    static const artel__options_kind kind = {"optimizer definition", "set struct_size",
                                             sizeof(artel_optimizer_definition), no_ranges};
    artel_optimizer_definition own = {.struct_size = sizeof own};
    void *block;
    ARTEL_TRY(artel__enter(ctx, __func__, "context definition", ctx, definition));
    ARTEL_TRY(artel__take_options(ctx, &kind, definition, &own));
    ARTEL_TRY(check(ctx, &own));
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(optimizer_class), "optimizer class", &block));
    optimizer_class *c = block;
    fill(c, &own);
    artel_status status = add_options(ctx, c, own.settings);
    if (status == ARTEL_OK) return artel__extension_add(ctx, ARTEL__EXTENSION_OPTIMIZER, c->registered, c);
    artel__free(ctx, block);
    return status;
}

/* -- for callbacks -- */

double artel_graph_setting(artel_graph *g, const char *config, const char *key, double fallback)
{
    json_t *all = NULL;
    double number = fallback;
    if (!g || g->graph->status < 0 || !key) return fallback;
    artel_status status = artel__json_load(g->ctx, "config", config ? config : "{}", config ? strlen(config) : 2, &all);
    if (status < 0) {
        g->graph->status = status;
        return fallback;
    }
    json_t *value = json_object_get(all, key);
    if (json_is_boolean(value)) number = json_is_true(value);
    artel__json_number(value, &number);
    if (!json_is_object(all))
        artel__graph_refuse(g, ARTEL_ERROR_INVALID, "config", "hand on the config that the callback was given",
                            "it is no JSON object");
    json_decref(all);
    return number;
}
