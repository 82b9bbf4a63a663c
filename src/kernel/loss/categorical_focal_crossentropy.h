/* SPDX-License-Identifier: Apache-2.0 */
/* Categorical focal crossentropy, of probabilities. a: label smoothing, b: alpha, c: gamma. The sections:
 * kernel/losses.list. */

#ifdef ROW_LOSS
ROW_LOSS(CATEGORICAL_FOCAL_CROSSENTROPY, categorical_focal_crossentropy, .smoothing = ARTEL__SMOOTHING_CLASSES)
#endif

#ifdef LOSS_REFERENCE
static float share_of_categorical_focal_crossentropy(const position *p, float t, float c)
{
    return artel__powf(1.0f - c, p->k.c) * p->k.b * (-t * artel__logf(c));
}

static float value_of_categorical_focal_crossentropy(const position *p)
{
    return value_of_shares(p, share_of_categorical_focal_crossentropy);
}

static float bend_of_categorical_focal_crossentropy(const position *p, float t, float c)
{
    float bend = p->k.c * artel__powf(1.0f - c, p->k.c - 1.0f) * artel__logf(c),
          straight = artel__powf(1.0f - c, p->k.c) / c;
    return t * p->k.b * (bend - straight);
}

static void slopes_of_categorical_focal_crossentropy(const position *p, float upstream, float *out)
{
    slopes_of_shares(p, bend_of_categorical_focal_crossentropy, upstream, out);
}
#endif

#ifdef LOSS_PROGRAM
LOSS_PROGRAM(CATEGORICAL_FOCAL_CROSSENTROPY, SMOOTHED SHARE "1 c - G pow B * s neg c log * *",
             SMOOTHED SHARE "o c == s B * G 1 c - G 1 - pow * c log * 1 c - G pow c / - * 0 ? " THROUGH_SHARE)
#endif

#ifdef LOSS_OPERATIONS
static artel__value_id float64_categorical_focal_crossentropy(const operands *o)
{
    artel__graph *graph = o->graph;
    artel__value_id t = smoothed(o, 1 / o->classes), share = share_of(o);
    artel__value_id cost = negative(graph, product(graph, t, logarithm(graph, share)));
    artel__value_id far = power_of(graph, rest_of(graph, share), o->loss->c);
    return sum(o, product(graph, times(graph, far, o->loss->b), cost), false);
}
#endif

#ifdef LOSS_CLASS
LOSS_CLASS(CATEGORICAL_FOCAL_CROSSENTROPY, .class_name = "CategoricalFocalCrossentropy",
           .function = "categorical_focal_crossentropy", .form = ARTEL__LOSS_TAKES_PROBABILITIES,
           .target = ARTEL__TARGET_ONE_HOT,
           .options = OPTIONS(REDUCTION, LOGITS, SMOOTHING, AXIS, NUMBER(alpha, "0.25", "weight"),
                              NUMBER(gamma, "2.0", "focusing exponent")),
           .constant = {SETTING(label_smoothing), SETTING(alpha), SETTING(gamma)})
#endif
