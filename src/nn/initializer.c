/* SPDX-License-Identifier: Apache-2.0 */
/* Initialisers: Keras' distributions, artel's numbers.
 *
 * Element i of a variable is a function of (seed, ordinal of the variable, i), so weights do not depend on who fills
 * them. Normals are Box and Muller's; a truncated normal draws again, from the next "batch" of the counter, while the
 * number lies two deviations out (keras/src/initializers/random_initializers.py). Orthogonal matrices come from
 * Gram-Schmidt, done twice ("twice is enough", Parlett 1980), in float64: the Q of the QR decomposition whose R has a
 * positive diagonal, which is what Keras makes by fixing signs.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "base/scalar_math.h"
#include "nn/draw.h"
#include "nn/parts.h"
#include "nn/record.h"

#define TRUNCATED_DEVIATION 0.87962566103423978 /* of a standard normal cut at +-2 */
#define MOST_DRAWS 1024

typedef struct settings {
    double value, mean, stddev, minval, maxval, scale, gain;
    int mode, distribution;
    artel__ints input_axes, output_axes;
    const char *seed; /* JSON: an integer, the record of a SeedGenerator, or NULL */
    int64_t own_seed;
    bool has_seed, forget_bias, has_axes;
    const float *numbers; /* `many` of them */
    int64_t many;
} settings;

enum {
    MODE_FAN_IN,
    MODE_FAN_OUT,
    MODE_FAN_AVG
};
enum {
    DISTRIBUTION_TRUNCATED,
    DISTRIBUTION_NORMAL,
    DISTRIBUTION_UNTRUNCATED,
    DISTRIBUTION_UNIFORM
};

/* What is being filled. */
typedef struct filling {
    artel_context *ctx;
    const settings *s;
    artel__rng_key key;
    uint32_t node;
    const artel_shape *shape;
    int64_t first, count; /* elements; all of them but where whole is not set */
    float *out;
} filling;

struct artel__initializer_def {
    const char *class_name;
    const char *names[4]; /* what Keras' get() also knows */
    const artel__option *options;
    artel_status (*fill)(const filling *f);
    int mode, distribution; /* of the fixed kinds of variance scaling */
    double scale;
    bool whole; /* an element depends on others, or on where it is */
};

static const char *const modes[] = {"fan_in", "fan_out", "fan_avg", NULL};
static const char *const distributions[] = {"truncated_normal", "normal", "untruncated_normal", "uniform", NULL};

#define FLOAT(key, fallback, help)                                                     \
    {                                                                                  \
#key, help, ARTEL__OPTION_FLOAT, offsetof(settings, key), fallback, 0, 0, NULL \
    }
#define SEED                                                                                   \
    {                                                                                          \
        "seed", "an integer", ARTEL__OPTION_JSON, offsetof(settings, seed), "null", 0, 0, NULL \
    }
#define AXES                                                                                                         \
    {                                                                                                                \
        "input_axes", "axes that count as inputs", ARTEL__OPTION_INTS, offsetof(settings, input_axes), "null", 0, 0, \
        NULL},                                                                                                       \
    {                                                                                                                \
        "output_axes", "axes that count as outputs", ARTEL__OPTION_INTS, offsetof(settings, output_axes), "null", 0, \
            0, NULL                                                                                                  \
    }
#define END          \
    {                \
        .name = NULL \
    }

static const artel__option no_options[] = {END};
static const artel__option constant_options[] = {FLOAT(value, "0.0", "a number"), END};
static const artel__option identity_options[] = {FLOAT(gain, "1.0", "factor"), END};
static const artel__option normal_options[] = {FLOAT(mean, "0.0", "mean"), FLOAT(stddev, "0.05", "standard deviation"),
                                               SEED, END};
static const artel__option uniform_options[] = {FLOAT(minval, "-0.05", "lower bound"),
                                                FLOAT(maxval, "0.05", "upper bound"), SEED, END};
static const artel__option orthogonal_options[] = {FLOAT(gain, "1.0", "factor"), SEED, END};
static const artel__option fixed_options[] = {SEED, AXES, END};
static const artel__option variance_options[] = {
    {"scale", "a positive number", ARTEL__OPTION_FLOAT, offsetof(settings, scale), "1.0", 1e-300, 1e300, NULL},
    {"mode", "which fan divides", ARTEL__OPTION_ENUM, offsetof(settings, mode), "fan_in", 0, 0, modes},
    {"distribution", "kind of numbers", ARTEL__OPTION_ENUM, offsetof(settings, distribution), "truncated_normal", 0, 0,
     distributions},
    SEED,
    AXES,
    END};

/* -- constants -- */

static artel_status fill_number(const filling *f, double number)
{
    for (int64_t i = 0; i < f->count; i++) f->out[i] = (float)number;
    return ARTEL_OK;
}

static artel_status fill_zeros(const filling *f)
{
    return fill_number(f, 0.0);
}

static artel_status fill_ones(const filling *f)
{
    return fill_number(f, 1.0);
}

static artel_status fill_constant(const filling *f)
{
    return fill_number(f, f->s->value);
}

static artel_status fill_numbers(const filling *f)
{
    if (f->count != f->s->many)
        return artel__fail(f->ctx, ARTEL_ERROR_INVALID, "initialiser", "choose another",
                           "it has %lld numbers for %lld elements", (long long)f->s->many, (long long)f->count);
    memcpy(f->out, f->s->numbers, (size_t)f->count * sizeof *f->out);
    return ARTEL_OK;
}

static const artel__initializer_def numbers_def = {
    .class_name = "Numbers", .options = no_options, .fill = fill_numbers, .whole = true};

artel_status artel__initializer_numbers(artel__arena *arena, const float *numbers, int64_t count,
                                        artel__initializer *out)
{
    settings *s = artel__arena_alloc(arena, 1, sizeof *s);
    if (!s) return ARTEL_ERROR_NO_MEMORY;
    *s = (settings){.numbers = numbers, .many = count};
    *out = (artel__initializer){.def = &numbers_def, .config = s};
    return ARTEL_OK;
}

static artel_status wrong_rank(const filling *f, const char *what, const char *wanted)
{
    char shape[128];
    return artel__fail(f->ctx, ARTEL_ERROR_INVALID, what, "choose another initialiser for this weight",
                       "it needs %s, the shape is %s", wanted, artel__shape_text(f->shape, false, shape, sizeof shape));
}

static artel_status fill_identity(const filling *f)
{
    if (f->shape->rank != 2) return wrong_rank(f, "Identity", "a matrix");
    fill_number(f, 0.0);
    int64_t columns = f->shape->dim[1];
    for (int64_t i = 0; i < f->shape->dim[0] && i < columns; i++) f->out[i * columns + i] = (float)f->s->gain;
    return ARTEL_OK;
}

/* -- random numbers; four to a block of the generator -- */

static int64_t first_block(const filling *f)
{
    return f->first / 4;
}

static int64_t end_block(const filling *f)
{
    return (f->first + f->count + 3) / 4;
}

/* Those of a block that are filled here. */
static void put_block(const filling *f, int64_t block, const float four[4])
{
    for (int64_t k = 0; k < 4; k++) {
        int64_t i = 4 * block + k - f->first;
        if (i >= 0 && i < f->count) f->out[i] = four[k];
    }
}

static void fill_uniform_between(const filling *f, double low, double high)
{
    float from = (float)low, span = (float)high - (float)low;
    for (int64_t block = first_block(f); block < end_block(f); block++) {
        uint32_t word[4];
        float four[4];
        artel__rng_block(f->key, 0, f->node, 0, (uint64_t)block, word);
        for (int k = 0; k < 4; k++) four[k] = artel__rng_uniform(word[k]) * span + from;
        put_block(f, block, four);
    }
}

static void four_normals(const filling *f, uint64_t draw, int64_t block, float out[4])
{
    uint32_t word[4];
    artel__rng_block(f->key, draw, f->node, 0, (uint64_t)block, word);
    artel__rng_normal_pair(word[0], word[1], out);
    artel__rng_normal_pair(word[2], word[3], out + 2);
}

static void fill_normal_with(const filling *f, double mean, double deviation)
{
    for (int64_t block = first_block(f); block < end_block(f); block++) {
        float z[4], four[4];
        four_normals(f, 0, block, z);
        for (int k = 0; k < 4; k++) four[k] = z[k] * (float)deviation + (float)mean;
        put_block(f, block, four);
    }
}

/* Each element keeps its place in the block through all draws, so that it depends on no neighbour. */
static void fill_truncated_with(const filling *f, double mean, double deviation)
{
    for (int64_t block = first_block(f); block < end_block(f); block++) {
        float kept[4] = {0};
        int missing = 15;
        for (uint64_t draw = 0; missing && draw < MOST_DRAWS; draw++) {
            float z[4];
            four_normals(f, draw, block, z);
            for (int k = 0; k < 4; k++) {
                if (!(missing & 1 << k) || !(fabsf(z[k]) < 2.0f)) continue;
                kept[k] = z[k];
                missing &= ~(1 << k);
            }
        }
        for (int k = 0; k < 4; k++) kept[k] = kept[k] * (float)deviation + (float)mean;
        put_block(f, block, kept);
    }
}

static artel_status fill_random_normal(const filling *f)
{
    fill_normal_with(f, f->s->mean, f->s->stddev);
    return ARTEL_OK;
}

static artel_status fill_truncated_normal(const filling *f)
{
    fill_truncated_with(f, f->s->mean, f->s->stddev);
    return ARTEL_OK;
}

static artel_status fill_random_uniform(const filling *f)
{
    fill_uniform_between(f, f->s->minval, f->s->maxval);
    return ARTEL_OK;
}

/* -- variance scaling -- */

static double axes_product(const filling *f, const artel__ints *axes)
{
    double product = 1;
    for (int i = 0; i < axes->count; i++) {
        int64_t axis = axes->item[i] < 0 ? axes->item[i] + f->shape->rank : axes->item[i];
        if (axis < 0 || axis >= f->shape->rank) return -1;
        product *= (double)f->shape->dim[axis];
    }
    return product;
}

/* compute_fans of keras/src/initializers/random_initializers.py. */
static artel_status compute_fans(const filling *f, double *fan_in, double *fan_out)
{
    const artel_shape *shape = f->shape;
    *fan_in = *fan_out = 1;
    if (f->s->has_axes) {
        *fan_in = axes_product(f, &f->s->input_axes);
        *fan_out = axes_product(f, &f->s->output_axes);
        return *fan_in < 0 || *fan_out < 0 ? wrong_rank(f, "VarianceScaling", "the axes it names") : ARTEL_OK;
    }
    if (shape->rank == 1) *fan_in = *fan_out = (double)shape->dim[0];
    if (shape->rank < 2) return ARTEL_OK;
    double field = (double)artel__shape_product(shape, 0, shape->rank - 2);
    *fan_in = (double)shape->dim[shape->rank - 2] * field;
    *fan_out = (double)shape->dim[shape->rank - 1] * field;
    return ARTEL_OK;
}

static artel_status fill_variance(const filling *f)
{
    double in, out;
    ARTEL_TRY(compute_fans(f, &in, &out));
    double fan = f->s->mode == MODE_FAN_IN ? in : f->s->mode == MODE_FAN_OUT ? out : (in + out) / 2.0;
    double variance = f->s->scale / (fan > 1.0 ? fan : 1.0);
    if (f->s->distribution == DISTRIBUTION_UNIFORM) {
        double limit = artel__sqrt64(3.0 * variance);
        fill_uniform_between(f, -limit, limit);
    } else if (f->s->distribution == DISTRIBUTION_UNTRUNCATED) {
        fill_normal_with(f, 0.0, artel__sqrt64(variance));
    } else {
        fill_truncated_with(f, 0.0, artel__sqrt64(variance) / TRUNCATED_DEVIATION);
    }
    return ARTEL_OK;
}

/* -- orthogonal -- */

/* Eight lanes and a tree: one order, and compilers may use vectors for it. */
static double dot(const double *a, const double *b, int64_t n)
{
    double lane[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        for (int k = 0; k < 8; k++) lane[k] += a[i + k] * b[i + k];
    }
    for (; i < n; i++) lane[i % 8] += a[i] * b[i];
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

static void orthonormalise(double *q, int64_t count, int64_t length)
{
    for (int64_t j = 0; j < count; j++) {
        double *v = q + j * length;
        for (int pass = 0; pass < 2; pass++) {
            for (int64_t k = 0; k < j; k++) {
                const double *u = q + k * length;
                double r = dot(u, v, length);
                for (int64_t i = 0; i < length; i++) v[i] -= r * u[i];
            }
        }
        double norm = artel__sqrt64(dot(v, v, length));
        for (int64_t i = 0; norm > 0 && i < length; i++) v[i] /= norm;
    }
}

/* Vector j of the smaller extent is a column of Keras' flat [larger][smaller] matrix of normals. */
static artel_status fill_orthogonal(const filling *f)
{
    if (f->shape->rank < 2) return wrong_rank(f, "Orthogonal", "at least two axes");
    int64_t columns = f->shape->dim[f->shape->rank - 1], rows = columns ? f->count / columns : 0;
    int64_t length = rows > columns ? rows : columns, few = rows > columns ? columns : rows;
    if (f->count == 0) return ARTEL_OK;
    void *block;
    ARTEL_TRY(artel__alloc(f->ctx, (size_t)f->count * sizeof(double), "orthogonal initialiser", &block));
    double *q = block;
    fill_normal_with(f, 0.0, 1.0);
    for (int64_t i = 0; i < length; i++) {
        for (int64_t j = 0; j < few; j++) q[j * length + i] = f->out[i * few + j];
    }
    orthonormalise(q, few, length);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++)
            f->out[i * columns + j] =
                (float)f->s->gain * (float)(rows < columns ? q[i * length + j] : q[j * length + i]);
    }
    artel__free(f->ctx, block);
    return ARTEL_OK;
}

/* -- the table -- */

#define FIXED(class_name, name, scale, mode, distribution)                                                       \
    {                                                                                                            \
        class_name, {name}, fixed_options, fill_variance, MODE_##mode, DISTRIBUTION_##distribution, scale, false \
    }

static const artel__initializer_def table[] = {
    {"Zeros", {"zeros", "zero"}, no_options, fill_zeros, 0, 0, 0, false},
    {"Ones", {"ones", "one"}, no_options, fill_ones, 0, 0, 0, false},
    {"Constant", {"constant"}, constant_options, fill_constant, 0, 0, 0, false},
    {"Identity", {"identity", "IdentityInitializer"}, identity_options, fill_identity, 0, 0, 0, true},
    {"RandomNormal", {"random_normal", "normal"}, normal_options, fill_random_normal, 0, 0, 0, false},
    {"RandomUniform", {"random_uniform", "uniform"}, uniform_options, fill_random_uniform, 0, 0, 0, false},
    {"TruncatedNormal", {"truncated_normal"}, normal_options, fill_truncated_normal, 0, 0, 0, false},
    {"VarianceScaling", {"variance_scaling"}, variance_options, fill_variance, 0, 0, 0, false},
    FIXED("GlorotUniform", "glorot_uniform", 1.0, FAN_AVG, UNIFORM),
    FIXED("GlorotNormal", "glorot_normal", 1.0, FAN_AVG, TRUNCATED),
    FIXED("LecunUniform", "lecun_uniform", 1.0, FAN_IN, UNIFORM),
    FIXED("LecunNormal", "lecun_normal", 1.0, FAN_IN, TRUNCATED),
    FIXED("HeUniform", "he_uniform", 2.0, FAN_IN, UNIFORM),
    FIXED("HeNormal", "he_normal", 2.0, FAN_IN, TRUNCATED),
    {"Orthogonal", {"orthogonal", "OrthogonalInitializer"}, orthogonal_options, fill_orthogonal, 0, 0, 0, true},
};

static const artel__initializer_def *find(const char *name)
{
    for (size_t i = 0; i < ARTEL__COUNT(table); i++) {
        if (strcmp(table[i].class_name, name) == 0 || artel__name_in(name, table[i].names)) return &table[i];
    }
    return NULL;
}

static artel_status unknown(artel__arena *arena, const char *where, const char *name)
{
    const char *names[ARTEL__COUNT(table) * 2 + 1];
    size_t count = 0;
    for (size_t i = 0; i < ARTEL__COUNT(table); i++) {
        names[count++] = table[i].class_name;
        names[count++] = table[i].names[0];
    }
    names[count] = NULL;
    return artel__record_unknown(arena->ctx, where, "initialiser", name, names, "docs/initializers.md");
}

/* An integer, or {"class_name": "SeedGenerator", "config": {"seed": N}}. */
static artel_status read_seed(artel__arena *arena, const char *where, settings *s)
{
    if (!s->seed) return ARTEL_OK;
    json_t *json;
    ARTEL_TRY(artel__json_load(arena->ctx, where, s->seed, strlen(s->seed), &json));
    json_t *number = json_is_object(json) ? json_object_get(json_object_get(json, "config"), "seed") : json;
    s->has_seed = artel__json_integer(number, &s->own_seed);
    bool readable = s->has_seed || (json_is_object(json) && json_is_null(number));
    json_decref(json);
    if (readable) return ARTEL_OK;
    return artel__fail(arena->ctx, ARTEL_ERROR_INVALID, where, "write an integer, or null",
                       "the initialiser's seed is %.100s", s->seed);
}

artel_status artel__initializer_read(artel__arena *arena, const char *where, json_t *json, artel__initializer *out)
{
    *out = (artel__initializer){0};
    if (!json || json_is_null(json)) return ARTEL_OK;
    artel__record record;
    ARTEL_TRY(artel__record_parse(arena->ctx, where, "initialiser", json, &record));
    const artel__initializer_def *def = find(record.name);
    if (!def) return unknown(arena, where, record.name);
    settings *s = artel__arena_alloc(arena, 1, sizeof *s);
    if (!s) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__record_options(arena, where, def->options, record.config, s));
    ARTEL_TRY(read_seed(arena, where, s));
    s->has_axes = s->input_axes.count && s->output_axes.count;
    if (def->scale > 0) {
        s->scale = def->scale;
        s->mode = def->mode;
        s->distribution = def->distribution;
    }
    *out = (artel__initializer){def, s};
    return ARTEL_OK;
}

/* What is to be filled, from the seed that counts. */
static filling begin_filling(artel_context *ctx, const artel__initializer *initializer, uint64_t seed, uint32_t ordinal,
                             const artel_shape *shape, float *out)
{
    const settings *s = initializer->config;
    bool own = initializer->def && s->has_seed;
    return (filling){.ctx = ctx,
                     .s = s,
                     .key = artel__rng_make_key(own ? (uint64_t)s->own_seed : seed, ARTEL__STREAM_INIT),
                     .node = own ? 0 : ordinal,
                     .shape = shape,
                     .count = artel_shape_count(shape),
                     .out = out};
}

artel_status artel__initializer_fill(artel_context *ctx, const artel__initializer *initializer, uint64_t seed,
                                     uint32_t ordinal, const artel_shape *shape, float *out)
{
    filling f = begin_filling(ctx, initializer, seed, ordinal, shape, out);
    if (!initializer->def) return fill_zeros(&f);
    ARTEL_TRY(initializer->def->fill(&f));
    for (int64_t i = f.count / 4; f.s->forget_bias && i < f.count / 2; i++) out[i] = 1.0f;
    return ARTEL_OK;
}

bool artel__initializer_has_parts(const artel__initializer *initializer)
{
    return !initializer->def || (!initializer->def->whole && !((const settings *)initializer->config)->forget_bias);
}

artel_status artel__initializer_fill_part(artel_context *ctx, const artel__initializer *initializer, uint64_t seed,
                                          uint32_t ordinal, const artel_shape *shape, int64_t first, int64_t count,
                                          float *out)
{
    filling f = begin_filling(ctx, initializer, seed, ordinal, shape, out);
    f.first = first;
    f.count = count;
    return initializer->def ? initializer->def->fill(&f) : fill_zeros(&f);
}

void artel__initializer_forget_bias(artel__initializer *initializer)
{
    if (initializer->def) ((settings *)initializer->config)->forget_bias = true;
}

void artel__initializer_take_axes(artel__initializer *initializer, const artel__ints *inputs,
                                  const artel__ints *outputs)
{
    settings *s = initializer->config;
    if (!initializer->def || initializer->def->fill != fill_variance || s->has_axes) return;
    s->input_axes = *inputs;
    s->output_axes = *outputs;
    s->has_axes = true;
}
