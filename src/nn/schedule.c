/* SPDX-License-Identifier: Apache-2.0 */
/* Learning-rate schedules: those of keras.optimizers.schedules, tables by replicas or batch size, linear scaling.
 *
 * Keras computes a rate in float32, so its operations are done here in float32 one by one; powers, logarithms and
 * cosines are artel's own in float64, rounded once, so that a schedule has the same bits everywhere. Steps fall on the
 * same side of every boundary as in Keras. The tables and the scaling rule are resolved when they are read.
 */
#include <string.h>

#include "base/scalar_math.h"
#include "nn/optimizer.h"
#include "nn/record.h"

#define DEEPEST 8 /* schedules inside schedules */

typedef struct settings {
    double initial_learning_rate, decay_rate, end_learning_rate, power, alpha, t_mul, m_mul;
    const char *warmup_target; /* JSON: a number, or NULL */
    int64_t decay_steps, warmup_steps, first_decay_steps;
    bool staircase, cycle;
    artel__floats boundaries, values;
    double base_rate, base_batch, factor;
    const char *after, *table, *name; /* as text; read from the record itself */
    artel__schedule *then;            /* behind the warm-up of linear scaling, or NULL */
    bool warms_up;
    float target;
} settings;

/* What a schedule is read with. */
typedef struct reading {
    artel__arena *arena;
    const char *where;
    json_t *config;
    int64_t replicas, batch_size;
    int depth;
    artel__schedule *out;
} reading;

struct artel__schedule_def {
    const char *class_name, *call; /* record; command line */
    const char *module;
    const artel__option *options;
    const char *shorthand[5][2];                              /* short word, setting; NULL-terminated */
    artel_status (*configure)(const reading *r, settings *s); /* optional */
    float (*rate)(const settings *s, int64_t iteration);      /* NULL: `configure` has made it a constant */
};

static artel_status read_schedule(const reading *outer, json_t *json);

#define FIELD(key) offsetof(settings, key)
#define FLOAT(key, fallback, help)                                        \
    {                                                                     \
#key, help, ARTEL__OPTION_FLOAT, FIELD(key), fallback, 0, 0, NULL \
    }
#define STEPS(key, help)                                                 \
    {                                                                    \
#key, help, ARTEL__OPTION_INT, FIELD(key), NULL, 1, 0x1p53, NULL \
    }
#define NAME(fallback)                                                            \
    {                                                                             \
        "name", "a name", ARTEL__OPTION_STRING, FIELD(name), fallback, 0, 0, NULL \
    }
#define END          \
    {                \
        .name = NULL \
    }

static const artel__option exponential_options[] = {
    FLOAT(initial_learning_rate, NULL, "the first rate"),
    STEPS(decay_steps, "steps of one decay"),
    FLOAT(decay_rate, NULL, "factor of one decay"),
    {"staircase", "only at whole decays", ARTEL__OPTION_BOOL, FIELD(staircase), "false", 0, 0, NULL},
    NAME("ExponentialDecay"),
    END};
static const artel__option inverse_options[] = {
    FLOAT(initial_learning_rate, NULL, "the first rate"),
    STEPS(decay_steps, "steps of one decay"),
    FLOAT(decay_rate, NULL, "speed"),
    {"staircase", "only at whole decays", ARTEL__OPTION_BOOL, FIELD(staircase), "false", 0, 0, NULL},
    NAME("InverseTimeDecay"),
    END};
static const artel__option piecewise_options[] = {
    {"boundaries", "steps in rising order", ARTEL__OPTION_FLOATS, FIELD(boundaries), NULL, 0, 0, NULL},
    {"values", "rates, one more than boundaries", ARTEL__OPTION_FLOATS, FIELD(values), NULL, 0, 0, NULL},
    NAME("PiecewiseConstant"),
    END};
static const artel__option polynomial_options[] = {
    FLOAT(initial_learning_rate, NULL, "the first rate"),
    STEPS(decay_steps, "steps until the end"),
    FLOAT(end_learning_rate, "0.0001", "the last rate"),
    FLOAT(power, "1.0", "exponent"),
    {"cycle", "begin again behind the end", ARTEL__OPTION_BOOL, FIELD(cycle), "false", 0, 0, NULL},
    NAME("PolynomialDecay"),
    END};
static const artel__option cosine_options[] = {
    FLOAT(initial_learning_rate, NULL, "the first rate"),
    STEPS(decay_steps, "steps of the decay"),
    FLOAT(alpha, "0.0", "what is left at the end"),
    NAME("CosineDecay"),
    {"warmup_target", "rate at the end of the warm-up, or null", ARTEL__OPTION_JSON, FIELD(warmup_target), "null", 0, 0,
     NULL},
    {"warmup_steps", "steps of the warm-up", ARTEL__OPTION_INT, FIELD(warmup_steps), "0", 0, 0x1p53, NULL},
    END};
static const artel__option restarts_options[] = {FLOAT(initial_learning_rate, NULL, "the first rate"),
                                                 STEPS(first_decay_steps, "steps of the first period"),
                                                 FLOAT(t_mul, "2.0", "factor of the periods"),
                                                 FLOAT(m_mul, "1.0", "factor of the first rates"),
                                                 FLOAT(alpha, "0.0", "what is left at the end"),
                                                 NAME("SGDRDecay"),
                                                 END};
static const artel__option table_options[] = {
    {"table", "{number: rate, ...}", ARTEL__OPTION_JSON, FIELD(table), NULL, 0, 0, NULL}, END};
static const artel__option scaling_options[] = {
    FLOAT(base_rate, NULL, "the rate for base_batch"),
    {"base_batch", "a batch size", ARTEL__OPTION_FLOAT, FIELD(base_batch), "256", 1, 0x1p53, NULL},
    {"warmup_steps", "steps of the warm-up", ARTEL__OPTION_INT, FIELD(warmup_steps), "0", 0, 0x1p53, NULL},
    {"after", "a schedule for base_batch, from the end of the warm-up on", ARTEL__OPTION_JSON, FIELD(after), "null", 0,
     0, NULL},
    END};

/* -- Keras' formulas -- */

/* Of numbers that are not negative, as all steps are; numbers without a fraction and NaN are themselves. */
static float floor_of(float x)
{
    return x < 0x1p23f ? (float)(int64_t)x : x;
}

static float ceil_of(float x)
{
    float floor = floor_of(x);
    return floor < x ? floor + 1.0f : x;
}

static float power_of(float base, float exponent)
{
    return (float)artel__pow64(base, exponent);
}

/* 0.5 * scale * (1 + cos(pi * x)). */
static float half_cosine(float scale, float x)
{
    float angle = 3.14159265358979324f * x;
    return 0.5f * scale * (1.0f + (float)artel__cos64(angle));
}

static float decays(const settings *s, int64_t iteration)
{
    float p = (float)iteration / (float)s->decay_steps;
    return s->staircase ? floor_of(p) : p;
}

static float rate_exponential(const settings *s, int64_t iteration)
{
    return (float)s->initial_learning_rate * power_of((float)s->decay_rate, decays(s, iteration));
}

static float rate_inverse(const settings *s, int64_t iteration)
{
    return (float)s->initial_learning_rate / (1.0f + (float)s->decay_rate * decays(s, iteration));
}

static float rate_piecewise(const settings *s, int64_t iteration)
{
    int i = 0;
    while (i < s->boundaries.count && iteration > (int64_t)s->boundaries.item[i]) i++;
    return (float)s->values.item[i];
}

static float rate_polynomial(const settings *s, int64_t iteration)
{
    float step = (float)iteration, end = (float)s->end_learning_rate, steps = (float)s->decay_steps;
    if (s->cycle)
        steps = steps * (iteration == 0 ? 1.0f : ceil_of(step / (float)s->decay_steps));
    else if (step > steps)
        step = steps;
    return ((float)s->initial_learning_rate - end) * power_of(1.0f - step / steps, (float)s->power) + end;
}

static float cosine_decay(const settings *s, float step, float from)
{
    float decayed = (float)(1.0 - s->alpha) * half_cosine(1.0f, step / (float)s->decay_steps) + (float)s->alpha;
    return from * decayed;
}

static float rate_cosine(const settings *s, int64_t iteration)
{
    float step = (float)iteration, initial = (float)s->initial_learning_rate, warmup = (float)s->warmup_steps,
          steps = (float)s->decay_steps;
    if (!s->warms_up) return cosine_decay(s, step < steps ? step : steps, initial);
    if (step > steps + warmup) step = steps + warmup;
    if (step < warmup) return (s->target - initial) * (step / warmup) + initial;
    return cosine_decay(s, step - warmup, s->target);
}

static float rate_restarts(const settings *s, int64_t iteration)
{
    float done = (float)iteration / (float)s->first_decay_steps, t_mul = (float)s->t_mul, restart;
    if (t_mul == 1.0f) {
        restart = floor_of(done);
        done = done - restart;
    } else {
        restart = floor_of((float)artel__log64(1.0f - done * (1.0f - t_mul)) / (float)artel__log64(t_mul));
        float stretch = power_of(t_mul, restart), before = (1.0f - stretch) / (1.0f - t_mul);
        done = (done - before) / stretch;
    }
    float alpha = (float)s->alpha,
          decayed = (1.0f - alpha) * half_cosine(power_of((float)s->m_mul, restart), done) + alpha;
    return (float)s->initial_learning_rate * decayed;
}

/* P. Goyal et al., "Accurate, large minibatch SGD", 2017: the rate in proportion to the batch, reached in a line. */
static float rate_scaling(const settings *s, int64_t iteration)
{
    float base = (float)s->base_rate, factor = (float)s->factor;
    if (iteration < s->warmup_steps) return (base * factor - base) * ((float)iteration / (float)s->warmup_steps) + base;
    return s->then ? factor * (float)artel__schedule_rate(s->then, iteration - s->warmup_steps) : base * factor;
}

/* -- checks -- */

static artel_status wrong(const reading *r, const char *advice, const char *what)
{
    return artel__fail(r->arena->ctx, ARTEL_ERROR_INVALID, r->where, advice, "%s", what);
}

static artel_status configure_piecewise(const reading *r, settings *s)
{
    if (s->boundaries.count < 1 || s->values.count != s->boundaries.count + 1)
        return wrong(r, "give one value more than boundaries", "boundaries and values do not belong together");
    for (int i = 1; i < s->boundaries.count; i++) {
        if (s->boundaries.item[i] < s->boundaries.item[i - 1]) return wrong(r, "sort them", "boundaries do not rise");
    }
    for (int i = 0; i < s->boundaries.count; i++) {
        if (!(s->boundaries.item[i] > -0x1p53 && s->boundaries.item[i] < 0x1p53))
            return wrong(r, "give steps", "a boundary is out of range");
    }
    return ARTEL_OK;
}

static artel_status configure_cosine(const reading *r, settings *s)
{
    double target;
    if (!s->warmup_target) return ARTEL_OK;
    if (!artel__json_number(json_object_get(r->config, "warmup_target"), &target))
        return wrong(r, "give a rate, or null", "warmup_target is no number");
    s->warms_up = true;
    s->target = (float)target;
    return ARTEL_OK;
}

/* The entry of the largest key that is not above `number` becomes the schedule; 0, a number not known yet: each must be
 * one. */
static artel_status choose_entry(const reading *r, int64_t number, const char *what)
{
    json_t *table = json_object_get(r->config, "table"), *value, *chosen = NULL;
    const char *key;
    int64_t best = 0;
    if (!json_is_object(table) || !json_object_size(table))
        return wrong(r, "write {\"1\": RATE, \"8\": RATE}", "the table is no object with entries");
    json_object_foreach(table, key, value)
    {
        int64_t least;
        if (!artel__parse_int64(key, &least))
            return wrong(r, "write keys as whole numbers in quotes", "a key of the table is no number");
        if (number == 0) ARTEL_TRY(read_schedule(r, value));
        if (number > 0 && (least > number || (chosen && least < best))) continue;
        best = least;
        chosen = value;
    }
    if (chosen) ARTEL_TRY(read_schedule(r, chosen));
    r->out->tabled = true;
    if (chosen) return ARTEL_OK;
    return artel__fail(r->arena->ctx, ARTEL_ERROR_INVALID, r->where, "add an entry for a smaller number",
                       "the table has no entry for %s %lld or less", what, (long long)number);
}

static artel_status configure_replicas(const reading *r, settings *s)
{
    (void)s;
    return choose_entry(r, r->replicas, "replicas");
}

static artel_status configure_batch(const reading *r, settings *s)
{
    (void)s;
    return choose_entry(r, r->batch_size, "batch size");
}

static artel_status configure_scaling(const reading *r, settings *s)
{
    json_t *after = json_object_get(r->config, "after");
    s->factor = (double)r->batch_size / s->base_batch;
    if (!after || json_is_null(after)) return ARTEL_OK;
    s->then = artel__arena_alloc(r->arena, 1, sizeof *s->then);
    if (!s->then) return ARTEL_ERROR_NO_MEMORY;
    reading inner = *r;
    inner.out = s->then;
    ARTEL_TRY(read_schedule(&inner, after));
    r->out->tabled = s->then->tabled;
    return ARTEL_OK;
}

/* -- the table -- */

#define KERAS "keras.optimizers.schedules"

static const artel__schedule_def table[] = {
    {"ExponentialDecay",
     "exponential_decay",
     KERAS,
     exponential_options,
     {{"initial", "initial_learning_rate"}, {"steps", "decay_steps"}, {"rate", "decay_rate"}},
     NULL,
     rate_exponential},
    {"PiecewiseConstantDecay",
     "piecewise_constant_decay",
     KERAS,
     piecewise_options,
     {{NULL}},
     configure_piecewise,
     rate_piecewise},
    {"PolynomialDecay",
     "polynomial_decay",
     KERAS,
     polynomial_options,
     {{"initial", "initial_learning_rate"}, {"steps", "decay_steps"}, {"end", "end_learning_rate"}},
     NULL,
     rate_polynomial},
    {"InverseTimeDecay",
     "inverse_time_decay",
     KERAS,
     inverse_options,
     {{"initial", "initial_learning_rate"}, {"steps", "decay_steps"}, {"rate", "decay_rate"}},
     NULL,
     rate_inverse},
    {"CosineDecay",
     "cosine_decay",
     KERAS,
     cosine_options,
     {{"initial", "initial_learning_rate"},
      {"steps", "decay_steps"},
      {"target", "warmup_target"},
      {"warmup", "warmup_steps"}},
     configure_cosine,
     rate_cosine},
    {"CosineDecayRestarts",
     "cosine_decay_restarts",
     KERAS,
     restarts_options,
     {{"initial", "initial_learning_rate"}, {"steps", "first_decay_steps"}},
     NULL,
     rate_restarts},
    {"ByReplicas", "by_replicas", "artel", table_options, {{NULL}}, configure_replicas, NULL},
    {"ByBatchSize", "by_batch_size", "artel", table_options, {{NULL}}, configure_batch, NULL},
    {"LinearScaling",
     "linear_scaling",
     "artel",
     scaling_options,
     {{"base", "base_rate"}, {"batch", "base_batch"}, {"warmup", "warmup_steps"}},
     configure_scaling,
     rate_scaling},
};

static const artel__schedule_def *find(const char *name)
{
    for (size_t i = 0; i < ARTEL__COUNT(table); i++) {
        if (strcmp(table[i].class_name, name) == 0 || strcmp(table[i].call, name) == 0) return &table[i];
    }
    return NULL;
}

static artel_status find_record(artel_context *ctx, json_t *json, artel__record *record,
                                const artel__schedule_def **def)
{
    const char *names[ARTEL__COUNT(table) + 1] = {0};
    ARTEL_TRY(artel__record_parse(ctx, "learning_rate", "schedule", json, record));
    *def = find(record->name);
    if (*def) return ARTEL_OK;
    for (size_t i = 0; i < ARTEL__COUNT(table); i++) names[i] = table[i].class_name;
    return artel__record_unknown(ctx, "learning_rate", "schedule", record->name, names, "docs/schedules.md");
}

static artel_status read_schedule(const reading *outer, json_t *json)
{
    artel__schedule *out = outer->out;
    *out = (artel__schedule){0};
    if (artel__json_number(json, &out->constant)) {
        out->constant = (double)(float)out->constant;
        if (out->constant >= 0 && out->constant <= 3.4028234663852886e38) return ARTEL_OK;
        return wrong(outer, "give a number that is not negative", "the rate is not possible");
    }
    artel__record record;
    const artel__schedule_def *def;
    ARTEL_TRY(find_record(outer->arena->ctx, json, &record, &def));
    reading r = *outer;
    r.where = def->class_name;
    r.config = record.config;
    if (r.depth++ == DEEPEST) return wrong(&r, "nest fewer", "schedules are nested too deep");
    settings *s = artel__arena_alloc(r.arena, 1, sizeof *s);
    if (!s) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__record_options(r.arena, r.where, def->options, r.config, s));
    if (def->rate) *out = (artel__schedule){.def = def, .config = s, .record = json};
    return def->configure ? def->configure(&r, s) : ARTEL_OK;
}

artel_status artel__schedule_read(artel__arena *arena, json_t *json, int replicas, int64_t batch_size,
                                  artel__schedule *out)
{
    reading r = {.arena = arena, .where = "learning_rate", .replicas = replicas, .batch_size = batch_size, .out = out};
    return read_schedule(&r, json);
}

double artel__schedule_rate(const artel__schedule *schedule, int64_t iteration)
{
    return schedule->def ? (double)schedule->def->rate(schedule->config, iteration) : schedule->constant;
}

artel_status artel__schedule_complete(artel_context *ctx, json_t *json, json_t **out)
{
    double number;
    if (artel__json_number(json, &number)) {
        *out = artel__json_real((double)(float)number);
        return *out ? ARTEL_OK : artel__fail_memory(ctx, "learning_rate", 16);
    }
    artel__record record;
    const artel__schedule_def *def;
    ARTEL_TRY(find_record(ctx, json, &record, &def));
    json_t *config = json_object();
    if (!config) return artel__fail_memory(ctx, "learning_rate", 64);
    artel_status status = artel__record_complete(ctx, def->options, record.config, config);
    if (status < 0) {
        json_decref(config);
        return status;
    }
    *out = artel__record_make(def->module, def->class_name, config);
    return *out ? ARTEL_OK : artel__fail_memory(ctx, "learning_rate", 64);
}

artel_status artel__schedule_spell_out(artel_context *ctx, json_t *record)
{
    const char *name = json_string_value(json_object_get(record, "class_name"));
    const artel__schedule_def *def = name ? find(name) : NULL;
    json_t *config = json_object_get(record, "config"), *value;
    if (!def) return ARTEL_OK;
    bool failed = json_object_set_new(record, "class_name", json_string(def->class_name)) < 0;
    for (int i = 0; i < 5 && def->shorthand[i][0]; i++) {
        value = json_object_get(config, def->shorthand[i][0]);
        if (!value) continue;
        failed = json_object_set(config, def->shorthand[i][1], value) < 0 || failed;
        json_object_del(config, def->shorthand[i][0]);
    }
    return failed ? artel__fail_memory(ctx, "learning_rate", 64) : ARTEL_OK;
}
