/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers: from Keras' record, or a name, to the options of a rule (keras/src/optimizers, 3.15).
 *
 * The table has what the files of kernel/optimizers.list and nn/matrix_optimizers.list say: classes with their own
 * settings and slots; the settings of the base class come in front of them, as in what Keras writes. The record is
 * completed with every default, the rate being the double of a float32, so that it can be written back into a model
 * file.
 */
#include <string.h>
#include <strings.h>

#include "nn/custom.h"
#include "nn/loss_scale.h"
#include "nn/optimizer_table.h"
#include "nn/record.h"

#define MOST_OPTIONS 32

/* Those of the base class; the class' own lie behind. */
typedef struct settings {
    const char *name, *learning_rate; /* the rate is read from the record itself */
    double weight_decay, clipnorm, clipvalue, global_clipnorm, ema_momentum, loss_scale_factor;
    bool use_ema;
    int64_t ema_overwrite_frequency, gradient_accumulation_steps;
} settings;

#define PASSED_OVER(key)                                      \
    {                                                         \
        key, "", ARTEL__OPTION_IGNORED, 0, "null", 0, 0, NULL \
    }

#define SETTINGS settings
/* In the order of Keras' get_config. */
static const artel__option *const base_options =
    OPTIONS(TEXT(name, STRING, "null", "a name"), TEXT(learning_rate, JSON, "null", "a number, or a schedule"),
            FLOAT(weight_decay, "null", 0, MUCH, "a number that is not negative, or null"),
            FLOAT(clipnorm, "null", 0, MUCH, "greatest norm of the gradient of a variable, or null"),
            FLOAT(global_clipnorm, "null", 0, MUCH, "greatest norm of all gradients together, or null"),
            FLOAT(clipvalue, "null", 0, MUCH, "greatest element of a gradient, or null"),
            BOOL(use_ema, "keep moving averages of the variables"), FLOAT(ema_momentum, "0.99", 0, 1, "from 0 to 1"),
            COUNT(ema_overwrite_frequency, "null", 1, 0x1p53, "steps, or null"),
            FLOAT(loss_scale_factor, "null", 0, MUCH, "a number, or null"),
            COUNT(gradient_accumulation_steps, "null", 1, 0x1p53, "steps, or null"), PASSED_OVER("decay"),
            PASSED_OVER("jit_compile"), PASSED_OVER("is_legacy_optimizer"));
#undef SETTINGS

/* What several rules have. */
#define MOMENTUM FLOAT(momentum, "0.0", 0, 1, "from 0 to 1")
#define EPSILON(fallback) FLOAT(epsilon, fallback, 0, MUCH, "a small number")
#define RHO(fallback) FLOAT(rho, fallback, 0, 1, "from 0 to 1")
#define BETAS(second) FLOAT(beta_1, "0.9", 0, 1, "from 0 to 1"), FLOAT(beta_2, second, 0, 1, "from 0 to 1")
#define START FLOAT(initial_accumulator_value, "0.1", 0, MUCH, "a number that is not negative")
#define STRENGTH(field, key) FLOAT_AS(field, key, "0.0", 0, MUCH, "a number that is not negative")

#define MATRIX_OPTIMIZER(name) extern const artel__optimizer_def artel__optimizer_##name;
#include "nn/matrix_optimizers.list"
#undef MATRIX_OPTIMIZER

static const artel__optimizer_def *const table[] = {
#define SETTINGS artel__apply_options
#define RULE_CLASS(NAME, ...)      \
    &(const artel__optimizer_def){ \
        .rule = ARTEL__RULE_##NAME, .slot = artel__rules[ARTEL__RULE_##NAME].slot, __VA_ARGS__},
#include "kernel/optimizers.list"
#undef RULE_CLASS
#undef SETTINGS
#define MATRIX_OPTIMIZER(name) &artel__optimizer_##name,
#include "nn/matrix_optimizers.list"
#undef MATRIX_OPTIMIZER
};

bool artel__optimizer_is_keras(const char *class_name)
{
    for (size_t i = 0; i < ARTEL__COUNT(table); i++) {
        if (strcasecmp(table[i]->class_name, class_name) == 0) return true;
    }
    return strcasecmp(class_name, ARTEL__LOSS_SCALE_CLASS) == 0;
}

bool artel__optimizer_has_setting(const char *key)
{
    return artel__options_find(base_options, key) != NULL;
}

/* Keras looks classes up without regard to case. */
static artel_status find(artel_context *ctx, const artel__record *record, const artel__optimizer_def **out)
{
    const char *name = record->name, *names[ARTEL__COUNT(table) + 1] = {0};
    for (size_t i = 0; i < ARTEL__COUNT(table) && !record->registered; i++) {
        names[i] = table[i]->class_name;
        if (strcasecmp(table[i]->class_name, name) != 0) continue;
        *out = table[i];
        return ARTEL_OK;
    }
    *out = artel__extension_find(ctx, ARTEL__EXTENSION_OPTIMIZER, record->registered ? record->registered : name);
    if (*out) return ARTEL_OK;
    return artel__record_unknown(ctx, "optimizer", "optimizer", name, names, "docs/optimizers.md");
}

/* Base options and those of the class, which lie behind a `settings`, as one table. */
static void join_options(const artel__optimizer_def *def, artel__option out[MOST_OPTIONS])
{
    int count = 0;
    for (const artel__option *o = base_options; o->name; o++) out[count++] = *o;
    for (const artel__option *o = def->options; o->name && count < MOST_OPTIONS - 1; o++) {
        out[count] = *o;
        out[count++].offset += sizeof(settings);
    }
    out[count] = (artel__option){.name = NULL};
}

static bool is_set(json_t *config, const char *key)
{
    json_t *value = json_object_get(config, key);
    return value && !json_is_null(value);
}

/* What the class itself sets where the record says nothing; `given` is ours. */
static artel_status add_defaults(artel_context *ctx, const artel__optimizer_def *def, json_t *given)
{
    int failed = 0;
    if (!is_set(given, "name")) failed |= json_object_set_new(given, "name", json_string(def->name));
    if (!is_set(given, "learning_rate"))
        failed |= json_object_set_new(given, "learning_rate", artel__json_real(def->learning_rate));
    if (def->weight_decay > 0 && !is_set(given, "weight_decay"))
        failed |= json_object_set_new(given, "weight_decay", artel__json_real(def->weight_decay));
    return failed ? artel__fail_memory(ctx, "optimizer", 64) : ARTEL_OK;
}

static artel_status check(artel_context *ctx, const char *where, json_t *given, const settings *s)
{
    if (is_set(given, "clipnorm") + is_set(given, "clipvalue") + is_set(given, "global_clipnorm") > 1)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, where, "keep one of them",
                           "more than one of clipnorm, clipvalue and global_clipnorm is set");
    if (is_set(given, "loss_scale_factor") && !((float)s->loss_scale_factor > 0))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, where, "give a number above 0, or leave it away",
                           "the loss cannot be scaled by 0");
    return ARTEL_OK;
}

static void take_settings(const settings *s, artel__optimizer *out)
{
    out->weight_decay = s->weight_decay;
    out->clipnorm = s->clipnorm;
    out->clipvalue = s->clipvalue;
    out->global_clipnorm = s->global_clipnorm;
    out->use_ema = s->use_ema;
    out->ema_momentum = s->ema_momentum;
    out->ema_overwrite_frequency = s->ema_overwrite_frequency;
    out->accumulation_steps = s->gradient_accumulation_steps > 1 ? s->gradient_accumulation_steps : 1;
    out->loss_scale_factor = s->loss_scale_factor > 0 ? s->loss_scale_factor : 1;
}

/* The class' own settings: of its rule, or of a step on matrices. */
static artel_status take_own(json_t *given, void *own, artel__optimizer *out)
{
    const artel__matrix_ops *matrix = out->def->matrix;
    if (!matrix) out->options = *(const artel__apply_options *)own;
    out->options.rule = out->def->rule;
    out->options.weight_decay = out->weight_decay;
    if (!matrix) return ARTEL_OK;
    out->matrix = own;
    return matrix->read ? matrix->read(out, given, own) : ARTEL_OK;
}

/* Reads the rate, with tables resolved if the run is known, and puts it into the record; the schedule then borrows from
 * there. */
static artel_status read_rate(artel__optimizer *out, json_t *config, int replicas, int64_t batch_size)
{
    artel_context *ctx = out->arena->ctx;
    json_t *given = json_object_get(config, "learning_rate"), *rate;
    ARTEL_TRY(artel__schedule_read(out->arena, given, replicas, batch_size, &out->schedule));
    if (!artel__json_number(given, &out->exact_rate)) out->exact_rate = out->schedule.constant;
    bool tabled = out->schedule.tabled;
    if (tabled && replicas == 0)
        ARTEL_TRY(artel__schedule_complete(ctx, given, &rate));
    else if (!out->schedule.def)
        rate = artel__json_real(out->schedule.constant);
    else
        ARTEL_TRY(artel__schedule_complete(ctx, out->schedule.record, &rate));
    if (!rate || json_object_set_new(config, "learning_rate", rate) < 0)
        return artel__fail_memory(ctx, "optimizer", 64);
    artel_status status = artel__schedule_read(out->arena, rate, replicas, batch_size, &out->schedule);
    out->schedule.tabled = tabled;
    return status;
}

/* As Keras writes it; takes `config`. NULL when memory is out. */
static json_t *make_record(const artel__optimizer_def *def, json_t *config)
{
    json_t *record = artel__record_make("keras.optimizers", def->class_name, config);
    if (!record || !def->registered) return record;
    if (json_object_set_new(record, "module", json_null()) == 0 &&
        json_object_set_new(record, "registered_name", json_string(def->registered)) == 0)
        return record;
    json_decref(record);
    return NULL;
}

static artel_status read_given(artel__optimizer *out, json_t *given, int replicas, int64_t batch_size)
{
    artel_context *ctx = out->arena->ctx;
    artel__option options[MOST_OPTIONS];
    size_t own = out->def->matrix ? out->def->matrix->size : sizeof(artel__apply_options);
    settings *s = artel__arena_alloc(out->arena, 1, sizeof *s + own);
    if (!s) return ARTEL_ERROR_NO_MEMORY;
    join_options(out->def, options);
    ARTEL_TRY(add_defaults(ctx, out->def, given));
    ARTEL_TRY(artel__record_options(out->arena, out->class_name, options, given, s));
    ARTEL_TRY(check(ctx, out->class_name, given, s));
    out->name = s->name;
    take_settings(s, out);
    ARTEL_TRY(take_own(given, s + 1, out));
    json_t *config = json_object();
    out->record = make_record(out->def, config);
    if (!out->record) return artel__fail_memory(ctx, "optimizer", 64);
    ARTEL_TRY(artel__record_complete(ctx, options, given, config));
    return read_rate(out, config, replicas, batch_size);
}

artel_status artel__optimizer_read(artel__arena *arena, json_t *json, int replicas, int64_t batch_size,
                                   artel__optimizer *out)
{
    artel__record record;
    *out = (artel__optimizer){.arena = arena};
    ARTEL_TRY(artel__record_parse(arena->ctx, "optimizer", "optimizer", json, &record));
    if (strcasecmp(record.name, ARTEL__LOSS_SCALE_CLASS) == 0)
        return artel__loss_scale_read(arena, record.config, replicas, batch_size, out);
    ARTEL_TRY(find(arena->ctx, &record, &out->def));
    out->class_name = out->def->class_name;
    json_t *given = record.config ? artel__json_copy(record.config) : json_object();
    if (!given) return artel__fail_memory(arena->ctx, "optimizer", 64);
    artel_status status = read_given(out, given, replicas, batch_size);
    json_decref(given);
    if (status < 0) {
        json_decref(out->record);
        out->record = NULL;
    }
    return status;
}

artel_status artel__optimizer_widen(artel__optimizer *optimizer)
{
    artel_context *ctx = optimizer->arena->ctx;
    optimizer->wide = true;
    if (optimizer->schedule.def) return ARTEL_OK;
    optimizer->schedule.constant = optimizer->exact_rate;
    json_t *inner = artel__optimizer_inner(optimizer->record);
    json_t *config = json_object_get(inner ? inner : optimizer->record, "config");
    return json_object_set_new(config, "learning_rate", artel__json_real(optimizer->exact_rate)) == 0
               ? ARTEL_OK
               : artel__fail_memory(ctx, "optimizer", 64);
}

artel_status artel__optimizer_set_rate(artel__optimizer *optimizer, double rate)
{
    artel_context *ctx = optimizer->arena->ctx;
    rate = (double)(float)rate;
    if (!(rate >= 0 && rate <= 3.4028234663852886e38))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "learning_rate", "give a number that is not negative",
                           "the rate is not possible");
    json_t *inner = artel__optimizer_inner(optimizer->record);
    json_t *config = json_object_get(inner ? inner : optimizer->record, "config");
    if (json_object_set_new(config, "learning_rate", artel__json_real(rate)) < 0)
        return artel__fail_memory(ctx, "optimizer", 64);
    optimizer->schedule = (artel__schedule){.constant = rate};
    return ARTEL_OK;
}
