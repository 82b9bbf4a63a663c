/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizer steps as programs of devices.
 *
 * Formulas (op/lower_formula.h): variable w, slots x y z, gradient g and what stands for its square q, learning rate R,
 * A .. H the scalars 0 .. 7, U Nadam's product. The file of a rule has its formula (RULE_PROGRAM of
 * kernel/optimizers.list). Scalars that two steps have in common are constants.
 */
#include "op/lower_optimize.h"

#include <stddef.h>
#include <string.h>

#include "kernel/wide.h"
#include "op/lower_formula.h"

static const char *rule_text(const artel__apply_options *o, bool occurrences)
{
    switch (o->rule) {
#define RULE_PROGRAM(NAME, text) \
    case ARTEL__RULE_##NAME:     \
        return text;
#include "kernel/optimizers.list"
#undef RULE_PROGRAM
    case ARTEL__RULE_COUNT: break;
    }
    return "";
}

/* A one-element value as a scalar of the variable's type. */
static artel__hlo_value scalar_of(const artel__formula *f, artel__hlo_value value)
{
    artel__hlo_type type = {.dtype = artel__hlo_type_of(f->hlo, value)->dtype};
    return artel__hlo_convert(f->hlo, artel__hlo_reshape(f->hlo, value, &type),
                              artel__hlo_type_of(f->hlo, f->like)->dtype);
}

/* The scalars of two steps that have nothing else in common, and where those of a step and its rate are in the params
 * of the node. */
typedef struct scalars {
    artel_dtype dtype;
    double one[8], other[8];
    size_t scalar, size, rate;
} scalars;

static scalars scalars_of(const artel__apply_options *options, artel_dtype dtype)
{
    artel__apply narrow[2];
    artel__wide_apply wide[2];
    bool is_wide = dtype == ARTEL_DTYPE_FLOAT64;
    scalars s = {.dtype = dtype,
                 .scalar = is_wide ? offsetof(artel__wide_apply, scalar) : offsetof(artel__apply, scalar),
                 .size = artel_dtype_size(dtype),
                 .rate = is_wide ? offsetof(artel__wide_apply, rate) : offsetof(artel__apply, rate)};
    artel__apply_prepare(&narrow[0], options, 1.0f, 0, 1.0f);
    artel__apply_prepare(&narrow[1], options, 0.5f, 9, 1.0f);
    artel__wide_apply_prepare(&wide[0], options, 1, 0, 1);
    artel__wide_apply_prepare(&wide[1], options, 0.5, 9, 1);
    for (int i = 0; i < 8; i++) {
        s.one[i] = is_wide ? wide[0].scalar[i] : (double)narrow[0].scalar[i];
        s.other[i] = is_wide ? wide[1].scalar[i] : (double)narrow[1].scalar[i];
    }
    return s;
}

/* Those that the formula reads. Nadam's product is known to the device alone. */
static void set_scalars(artel__lower *lower, const artel__lower_step *step, artel__formula *f, const char *text)
{
    scalars s = scalars_of(step->options, artel__hlo_type_of(f->hlo, f->like)->dtype);
    for (int i = 0; i < 8; i++) {
        char letter = (char)('A' + i);
        if (!strchr(text, letter)) continue;
        if (memcmp(&s.one[i], &s.other[i], sizeof s.one[i]) == 0)
            artel__formula_number(f, letter, s.one[i]);
        else
            artel__formula_spread(f, letter, artel__lower_scalar_of(lower, s.scalar + (size_t)i * s.size, s.dtype));
    }
    artel__formula_spread(f, 'R', artel__lower_scalar_of(lower, s.rate, s.dtype));
    if (step->product >= 0) artel__formula_spread(f, 'U', scalar_of(f, step->product));
}

/* A limit as the variable's type holds it. */
static double limit_of(const artel__lower_step *step, const artel__formula *f)
{
    bool wide = artel__hlo_type_of(f->hlo, f->like)->dtype == ARTEL_DTYPE_FLOAT64;
    return wide ? step->limit : (double)(float)step->limit;
}

/* What the gradient is multiplied by, M, and divided by, N. */
static const char *set_clip(const artel__lower_step *step, artel__formula *f)
{
    artel__formula s;
    artel__formula_number(f, 'M', limit_of(step, f));
    if (step->clip == ARTEL__CLIP_VALUE) return "g M neg max M min";
    if (step->clip == ARTEL__CLIP_NONE && step->scale < 0) return NULL;
    if (step->clip == ARTEL__CLIP_NONE) {
        artel__formula_spread(f, 'N', scalar_of(f, step->scale));
        return "g N /";
    }
    artel__formula_init(&s, f->hlo, scalar_of(f, step->norm));
    artel__formula_set(&s, 'n', s.like);
    artel__formula_number(&s, 'M', limit_of(step, f));
    if (step->clip == ARTEL__CLIP_NORM) {
        artel__formula_spread(f, 'N', artel__formula_write(&s, "n sqrt M max"));
        return "g M * N /";
    }
    artel__formula_spread(f, 'M', artel__formula_write(&s, "n sqrt =n M 1 n / 1 M / min * n n - +"));
    return "g M *";
}

static artel__hlo_value clipped(const artel__lower_step *step, artel__formula *f, const char *text, artel__hlo_value g)
{
    if (step->clip == ARTEL__CLIP_NARROW) return artel__hlo_round(f->hlo, g, ARTEL_DTYPE_BFLOAT16);
    if (!text) return g;
    artel__formula_set(f, 'g', g);
    return artel__formula_write(f, text);
}

/* g and q. A sum of squares is scaled twice, one of sizes once. */
static void set_gradient(artel__lower *lower, const artel__lower_step *step, artel__formula *f)
{
    const char *text = step->clip == ARTEL__CLIP_NARROW ? NULL : set_clip(step, f);
    bool sizes = artel__rules[step->options->rule].reads == ARTEL__OCCURRENCE_SIZE;
    artel__hlo_value g = clipped(step, f, text, step->gradient), q = step->squares;
    if (q < 0)
        q = artel__hlo_binary(lower->hlo, "multiply", g, g);
    else if (step->clip != ARTEL__CLIP_VALUE)
        q = clipped(step, f, text, sizes ? q : clipped(step, f, text, q));
    artel__formula_set(f, 'g', g);
    artel__formula_set(f, 'q', q);
}

void artel__lower_step_write(artel__lower *lower, artel__lower_step *step)
{
    const artel__apply_options *o = step->options;
    const char *text = rule_text(o, step->squares >= 0);
    artel__formula f;
    artel__formula_init(&f, lower->hlo, step->variable);
    set_gradient(lower, step, &f);
    set_scalars(lower, step, &f, text);
    artel__formula_set(&f, 'w', step->variable);
    for (int i = 0; i < ARTEL__APPLY_SLOTS; i++) artel__formula_set(&f, (char)('x' + i), step->slot[i]);
    if (o->weight_decay != 0.0) {
        artel__formula_number(&f, 'W', (double)(float)o->weight_decay);
        artel__formula_write(&f, "w w W * R * - =w");
    }
    artel__formula_write(&f, text);
    step->variable = artel__formula_get(&f, 'w');
    for (int i = 0; i < ARTEL__APPLY_SLOTS; i++) step->slot[i] = artel__formula_get(&f, (char)('x' + i));
}
