/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers: from Keras' record, or a name, to the options of a rule (keras/src/optimizers, 3.15).
 *
 * A row of the table is a class with its own settings and slots; the settings of the base class come in front of them,
 * as in what Keras writes. The record is completed with every default, the rate being the double of a float32, so that
 * it can be written back into a model file.
 */
#include <string.h>
#include <strings.h>

#include "nn/loss_scale.h"
#include "nn/optimizer_matrix.h"
#include "nn/record.h"

#define MOST_OPTIONS 32

typedef struct settings {
    const char *name, *learning_rate; /* the rate is read from the record itself */
    double weight_decay, clipnorm, clipvalue, global_clipnorm, ema_momentum, loss_scale_factor;
    bool use_ema;
    int64_t ema_overwrite_frequency, gradient_accumulation_steps;
    double momentum, rho, beta_1, beta_2, epsilon, initial_accumulator_value;
    bool nesterov, centered, amsgrad;
    int64_t warmup_steps, ns_steps;
    double beta_2_decay, epsilon_1, epsilon_2, clip_threshold, muon_a, muon_b, muon_c, rms_rate;
    double adam_beta_1, adam_beta_2, adam_weight_decay, adam_lr_ratio;
    bool relative_step, exclude_embeddings;
    const char *exclude_layers; /* read from the record itself */
    double learning_rate_power, l1_regularization_strength, l2_regularization_strength,
        l2_shrinkage_regularization_strength, beta;
} settings;

#define MUCH 1e300
#define FLOAT(key, fallback, low, high, help)                                               \
    {                                                                                       \
#key, help, ARTEL__OPTION_FLOAT, offsetof(settings, key), fallback, low, high, NULL \
    }
#define BOOL(key, help)                                                              \
    {                                                                                \
#key, help, ARTEL__OPTION_BOOL, offsetof(settings, key), "false", 0, 0, NULL \
    }
#define INT(key, low, help)                                                               \
    {                                                                                     \
#key, help, ARTEL__OPTION_INT, offsetof(settings, key), "null", low, 0x1p53, NULL \
    }
#define PASSED_OVER(key)                                      \
    {                                                         \
        key, "", ARTEL__OPTION_IGNORED, 0, "null", 0, 0, NULL \
    }
#define END          \
    {                \
        .name = NULL \
    }

/* In the order of Keras' get_config. */
static const artel__option base_options[] = {
    {"name", "a name", ARTEL__OPTION_STRING, offsetof(settings, name), "null", 0, 0, NULL},
    {"learning_rate", "a number, or a schedule", ARTEL__OPTION_JSON, offsetof(settings, learning_rate), "null", 0, 0,
     NULL},
    FLOAT(weight_decay, "null", 0, MUCH, "a number that is not negative, or null"),
    FLOAT(clipnorm, "null", 0, MUCH, "greatest norm of the gradient of a variable, or null"),
    FLOAT(global_clipnorm, "null", 0, MUCH, "greatest norm of all gradients together, or null"),
    FLOAT(clipvalue, "null", 0, MUCH, "greatest element of a gradient, or null"),
    BOOL(use_ema, "keep moving averages of the variables"),
    FLOAT(ema_momentum, "0.99", 0, 1, "from 0 to 1"),
    INT(ema_overwrite_frequency, 1, "steps, or null"),
    FLOAT(loss_scale_factor, "null", 0, MUCH, "a number, or null"),
    INT(gradient_accumulation_steps, 1, "steps, or null"),
    PASSED_OVER("decay"),
    PASSED_OVER("jit_compile"),
    PASSED_OVER("is_legacy_optimizer"),
    END};

#define MOMENTUM FLOAT(momentum, "0.0", 0, 1, "from 0 to 1")
#define EPSILON FLOAT(epsilon, "1e-07", 0, MUCH, "a small number")
#define RHO(fallback) FLOAT(rho, fallback, 0, 1, "from 0 to 1")
#define BETAS(second) FLOAT(beta_1, "0.9", 0, 1, "from 0 to 1"), FLOAT(beta_2, second, 0, 1, "from 0 to 1")
#define START FLOAT(initial_accumulator_value, "0.1", 0, MUCH, "a number that is not negative")
#define STRENGTH(key) FLOAT(key, "0.0", 0, MUCH, "a number that is not negative")

static const artel__option sgd_options[] = {MOMENTUM, BOOL(nesterov, "look ahead"), END};
static const artel__option rmsprop_options[] = {RHO("0.9"), MOMENTUM, EPSILON,
                                                BOOL(centered, "subtract the mean gradient"), END};
static const artel__option adam_options[] = {BETAS("0.999"), EPSILON, BOOL(amsgrad, "keep the greatest velocity"), END};
static const artel__option adagrad_options[] = {START, EPSILON, END};
static const artel__option adadelta_options[] = {RHO("0.95"), EPSILON, END};
static const artel__option betas_options[] = {BETAS("0.999"), EPSILON, END};
static const artel__option lion_options[] = {BETAS("0.99"), END};
static const artel__option free_options[] = {BETAS("0.999"),
                                             FLOAT(epsilon, "1e-08", 0, MUCH, "a small number"),
                                             {"warmup_steps", "steps in which the rate grows", ARTEL__OPTION_INT,
                                              offsetof(settings, warmup_steps), "0", 0, 0x1p53, NULL},
                                             END};
static const artel__option ftrl_options[] = {
    FLOAT(learning_rate_power, "-0.5", -MUCH, 0, "a number that is not positive"),
    START,
    STRENGTH(l1_regularization_strength),
    STRENGTH(l2_regularization_strength),
    STRENGTH(l2_shrinkage_regularization_strength),
    FLOAT(beta, "0.0", 0, 0, "a number"),
    END};

#define SIGNED(key, fallback) FLOAT(key, fallback, -MUCH, MUCH, "a number")
#define TRUE(key, help)                                                             \
    {                                                                               \
#key, help, ARTEL__OPTION_BOOL, offsetof(settings, key), "true", 0, 0, NULL \
    }
static const artel__option adafactor_options[] = {
    SIGNED(beta_2_decay, "-0.8"),
    FLOAT(epsilon_1, "1e-30", 0, MUCH, "a small number"),
    FLOAT(epsilon_2, "0.001", 0, MUCH, "a small number"),
    FLOAT(clip_threshold, "1.0", 1e-30, MUCH, "a number above 0"),
    TRUE(relative_step, "the rate is at most 1 / sqrt(t), as it always is"),
    END};
static const artel__option muon_options[] = {
    FLOAT(adam_beta_1, "0.9", 0, 1, "from 0 to 1"),
    FLOAT(adam_beta_2, "0.999", 0, 1, "from 0 to 1"),
    FLOAT(epsilon, "1e-07", 0, MUCH, "a small number"),
    {"exclude_layers", "parts of the paths of variables that Adam changes", ARTEL__OPTION_JSON,
     offsetof(settings, exclude_layers), "[]", 0, 0, NULL},
    SIGNED(muon_a, "3.4445"),
    SIGNED(muon_b, "-4.775"),
    SIGNED(muon_c, "2.0315"),
    FLOAT(adam_lr_ratio, "1", 0, MUCH, "a number"),
    FLOAT(momentum, "0.95", 0, 1, "from 0 to 1"),
    {"ns_steps", "steps towards an orthogonal matrix", ARTEL__OPTION_INT, offsetof(settings, ns_steps), "5", 0, 100,
     NULL},
    TRUE(nesterov, "look ahead"),
    TRUE(exclude_embeddings, "Adam changes what has embedding in its path"),
    FLOAT(adam_weight_decay, "0.004", 0, MUCH, "a number that is not negative, or null"),
    FLOAT(rms_rate, "0.2", 0, MUCH, "a number, or null"),
    END};

#define SLOT(of_name, exists, of_group, is_accumulator)                                   \
    {                                                                                     \
        .name = of_name, .when = exists, .group = of_group, .accumulator = is_accumulator \
    }
#define TWO(first, second)                                                                    \
    {                                                                                         \
        SLOT(first, ARTEL__SLOT_ALWAYS, 0, false), SLOT(second, ARTEL__SLOT_ALWAYS, 0, false) \
    }
#define ADAM_SLOTS                                                                                      \
    {                                                                                                   \
        SLOT("momentum", ARTEL__SLOT_ALWAYS, 0, false), SLOT("velocity", ARTEL__SLOT_ALWAYS, 0, false), \
            SLOT("velocity_hat", ARTEL__SLOT_AMSGRAD, 1, false)                                         \
    }

static const artel__optimizer_def table[] = {
    {"SGD",
     "sgd",
     ARTEL__RULE_SGD,
     0.01,
     0,
     sgd_options,
     {SLOT("momentum", ARTEL__SLOT_MOMENTUM, 0, false)},
     false,
     ARTEL__FORM_ELEMENTS},
    {"RMSprop",
     "rm_sprop",
     ARTEL__RULE_RMSPROP,
     0.001,
     0,
     rmsprop_options,
     {SLOT("velocity", ARTEL__SLOT_ALWAYS, 0, false), SLOT("momentum", ARTEL__SLOT_MOMENTUM, 1, false),
      SLOT("average_gradient", ARTEL__SLOT_CENTERED, 2, false)},
     false,
     ARTEL__FORM_ELEMENTS},
    {"Adam", "adam", ARTEL__RULE_ADAM, 0.001, 0, adam_options, ADAM_SLOTS, false, ARTEL__FORM_ELEMENTS},
    {"AdamW", "adam_w", ARTEL__RULE_ADAM, 0.001, 0.004, adam_options, ADAM_SLOTS, false, ARTEL__FORM_ELEMENTS},
    {"Adagrad",
     "adagrad",
     ARTEL__RULE_ADAGRAD,
     0.001,
     0,
     adagrad_options,
     {SLOT("accumulator", ARTEL__SLOT_ALWAYS, 0, true)},
     false,
     ARTEL__FORM_ELEMENTS},
    {"Adadelta", "adadelta", ARTEL__RULE_ADADELTA, 0.001, 0, adadelta_options,
     TWO("accumulated_grad", "accumulated_delta_var"), false, ARTEL__FORM_ELEMENTS},
    {"Adamax", "adamax", ARTEL__RULE_ADAMAX, 0.001, 0, betas_options, TWO("momentum", "norm"), false,
     ARTEL__FORM_ELEMENTS},
    {"Nadam", "nadam", ARTEL__RULE_NADAM, 0.001, 0, betas_options, TWO("momentum", "velocity"), true,
     ARTEL__FORM_ELEMENTS},
    {"Ftrl",
     "ftrl",
     ARTEL__RULE_FTRL,
     0.001,
     0,
     ftrl_options,
     {SLOT("accumulator", ARTEL__SLOT_ALWAYS, 0, true), SLOT("linear", ARTEL__SLOT_ALWAYS, 0, false)},
     false,
     ARTEL__FORM_ELEMENTS},
    {"Lion",
     "lion",
     ARTEL__RULE_LION,
     0.001,
     0,
     lion_options,
     {SLOT("momentum", ARTEL__SLOT_ALWAYS, 0, false)},
     false,
     ARTEL__FORM_ELEMENTS},
    {"Lamb",
     "lamb",
     ARTEL__RULE_LAMB,
     0.001,
     0,
     betas_options,
     {SLOT("momentum", ARTEL__SLOT_ALWAYS, 0, false), SLOT("velocity", ARTEL__SLOT_ALWAYS, 0, false),
      SLOT("direction", ARTEL__SLOT_SCRATCH, 0, false)},
     false,
     ARTEL__FORM_ELEMENTS},
    {"ScheduleFreeAdamW",
     "schedule_free_adam_w",
     ARTEL__RULE_SCHEDULE_FREE,
     0.0025,
     0,
     free_options,
     {SLOT("momentum", ARTEL__SLOT_COPY, 0, false), SLOT("velocity", ARTEL__SLOT_ALWAYS, 0, false)},
     false,
     ARTEL__FORM_ELEMENTS},
    {.class_name = "Adafactor",
     .name = "adafactor",
     .rule = ARTEL__RULE_ADAM,
     .learning_rate = 0.001,
     .options = adafactor_options,
     .slot = {{.name = "lines", .when = ARTEL__SLOT_ALWAYS, .form = ARTEL__SLOT_LINES},
              {.name = "columns", .when = ARTEL__SLOT_ALWAYS, .form = ARTEL__SLOT_COLUMNS},
              {.name = "velocity", .when = ARTEL__SLOT_ALWAYS}},
     .form = ARTEL__FORM_ADAFACTOR},
    {.class_name = "Muon",
     .name = "muon",
     .rule = ARTEL__RULE_ADAM,
     .learning_rate = 0.001,
     .weight_decay = 0.004,
     .options = muon_options,
     .slot = {{.name = "momentum", .when = ARTEL__SLOT_ALWAYS},
              {.name = "velocity", .when = ARTEL__SLOT_ALWAYS, .form = ARTEL__SLOT_OF_ADAM}},
     .form = ARTEL__FORM_MUON},
};

/* Keras looks classes up without regard to case. */
static artel_status find(artel_context *ctx, const char *name, const artel__optimizer_def **out)
{
    const char *names[ARTEL__COUNT(table) + 1] = {0};
    for (size_t i = 0; i < ARTEL__COUNT(table); i++) {
        names[i] = table[i].class_name;
        if (strcasecmp(table[i].class_name, name) != 0) continue;
        *out = &table[i];
        return ARTEL_OK;
    }
    return artel__record_unknown(ctx, "optimizer", "optimizer", name, names, "docs/optimizers.md");
}

/* Base options and those of the class, as one table. */
static void join_options(const artel__optimizer_def *def, artel__option out[MOST_OPTIONS])
{
    int count = 0;
    for (const artel__option *o = base_options; o->name; o++) out[count++] = *o;
    for (const artel__option *o = def->options; o->name && count < MOST_OPTIONS - 1; o++) out[count++] = *o;
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
    out->initial_accumulator = s->initial_accumulator_value;
    out->options = (artel__apply_options){.rule = out->def->rule,
                                          .momentum = s->momentum,
                                          .rho = s->rho,
                                          .beta_1 = s->beta_1,
                                          .beta_2 = s->beta_2,
                                          .epsilon = s->epsilon,
                                          .nesterov = s->nesterov,
                                          .centered = s->centered,
                                          .amsgrad = s->amsgrad,
                                          .learning_rate_power = s->learning_rate_power,
                                          .l1 = s->l1_regularization_strength,
                                          .l2 = s->l2_regularization_strength,
                                          .l2_shrinkage = s->l2_shrinkage_regularization_strength,
                                          .beta = s->beta,
                                          .warmup_steps = s->warmup_steps,
                                          .weight_decay = s->weight_decay};
}

/* What Adafactor and Muon have of their own; their Adam. */
static artel_status take_matrix(json_t *given, const settings *s, artel__optimizer *out)
{
    struct artel__matrix_options *m = artel__arena_alloc(out->arena, 1, sizeof *m);
    json_t *words = json_object_get(given, "exclude_layers"), *word;
    bool null_rate = json_is_null(json_object_get(given, "rms_rate")); /* none: a step keeps its size */
    size_t i;
    if (!m) return ARTEL_ERROR_NO_MEMORY;
    *m = (struct artel__matrix_options){.beta_2_decay = s->beta_2_decay,
                                        .epsilon_1 = s->epsilon_1,
                                        .epsilon_2 = s->epsilon_2,
                                        .clip_threshold = s->clip_threshold,
                                        .muon_a = s->muon_a,
                                        .muon_b = s->muon_b,
                                        .muon_c = s->muon_c,
                                        .momentum = s->momentum,
                                        .rms_rate = null_rate ? 0 : s->rms_rate,
                                        .weight_decay = s->weight_decay,
                                        .ns_steps = s->ns_steps,
                                        .nesterov = s->nesterov,
                                        .exclude_embeddings = s->exclude_embeddings};
    out->matrix = m;
    if (out->def->form != ARTEL__FORM_MUON) return ARTEL_OK;
    json_array_foreach(words, i, word)
    {
        const char *text = json_string_value(word);
        if (!text || strpbrk(text, "\\.[](){}*+?^$|"))
            return artel__fail(out->arena->ctx, ARTEL_ERROR_UNSUPPORTED, out->class_name,
                               "write parts of names as they are", "exclude_layers: patterns are not supported");
        char *copy = artel__arena_strdup(out->arena, text);
        const char **wider = artel__arena_alloc(out->arena, (size_t)m->excluded + 1, sizeof *wider);
        if (!copy || !wider) return ARTEL_ERROR_NO_MEMORY;
        if (m->excluded) memcpy(wider, m->exclude_layers, (size_t)m->excluded * sizeof *wider);
        wider[m->excluded++] = copy;
        m->exclude_layers = wider;
    }
    out->options.beta_1 = s->adam_beta_1;
    out->options.beta_2 = s->adam_beta_2;
    out->options.weight_decay = s->adam_weight_decay;
    out->options.rate_ratio = s->adam_lr_ratio;
    return ARTEL_OK;
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

static artel_status read_given(artel__optimizer *out, json_t *given, int replicas, int64_t batch_size)
{
    artel_context *ctx = out->arena->ctx;
    artel__option options[MOST_OPTIONS];
    settings s = {0};
    join_options(out->def, options);
    ARTEL_TRY(add_defaults(ctx, out->def, given));
    ARTEL_TRY(artel__record_options(out->arena, out->class_name, options, given, &s));
    ARTEL_TRY(check(ctx, out->class_name, given, &s));
    out->name = s.name;
    take_settings(&s, out);
    if (out->def->form != ARTEL__FORM_ELEMENTS) ARTEL_TRY(take_matrix(given, &s, out));
    json_t *config = json_object();
    out->record = artel__record_make("keras.optimizers", out->class_name, config);
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
    ARTEL_TRY(find(arena->ctx, record.name, &out->def));
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
    const char *what = optimizer->scales_loss || optimizer->loss_scale_factor != 1 ? "a scaled loss" : NULL;
    if (what)
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, optimizer->class_name,
                           "choose one that docs/precision.md names for float64",
                           "the model has variables of float64, and %s has none", what);
    optimizer->wide = true;
    if (optimizer->schedule.def) return ARTEL_OK;
    optimizer->schedule.constant = optimizer->exact_rate;
    json_t *config = json_object_get(optimizer->record, "config");
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
