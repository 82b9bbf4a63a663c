/* SPDX-License-Identifier: Apache-2.0 */
/* Binary focal crossentropy, of probabilities. a: label smoothing, b: alpha (negative: no balancing), c: gamma. The
 * sections: kernel/losses.list. */

#ifdef ELEMENT_LOSS
ELEMENT_LOSS(BINARY_FOCAL_CROSSENTROPY, binary_focal_crossentropy, .factor = 1, .smoothing = ARTEL__SMOOTHING_TWO)
#endif

#ifdef LOSS_FORMULA
ARTEL__MATH float focal_weight(float t, const loss_constants *k)
{
    return k->b < 0.0f ? 1.0f : t * k->b + (1.0f - t) * (1.0f - k->b);
}

ARTEL__MATH float term_of_binary_focal_crossentropy(float t, float p, const loss_constants *k)
{
    float s = loss_smoothed(t, k), right = s * p + (1.0f - s) * (1.0f - p);
    return focal_weight(s, k) * (artel__powf(1.0f - right, k->c) * loss_binary(s, loss_probability(p)));
}

ARTEL__MATH float slope_of_binary_focal_crossentropy(float t, float p, const loss_constants *k)
{
    float s = loss_smoothed(t, k), c = loss_probability(p), wrong = 1.0f - (s * p + (1.0f - s) * (1.0f - p));
    float bend = -k->c * artel__powf(wrong, k->c - 1.0f) * (2.0f * s - 1.0f);
    return focal_weight(s, k) * (bend * loss_binary(s, c) + artel__powf(wrong, k->c) * loss_binary_slope(s, p, c));
}
#endif

#ifdef LOSS_PROGRAM
#define FOCAL "B 0 < 1 s B * 1 s - 1 B - * + ? =w 1 s p * 1 s - 1 p - * + - =u "
LOSS_PROGRAM(BINARY_FOCAL_CROSSENTROPY, SMOOTHED CLIPPED FOCAL "w u G pow " BINARY "* *",
             SMOOTHED CLIPPED FOCAL "w G neg u G 1 - pow * 2 s * 1 - * " BINARY "* u G pow " BINARY_SLOPE "* + *")
#endif

#ifdef LOSS_OPERATIONS
static artel__value_id float64_binary_focal_crossentropy(const operands *o)
{
    artel__graph *graph = o->graph;
    artel__value_id t = smoothed(o, 0.5);
    artel__value_id other = rest_of(graph, o->p), against = product(graph, rest_of(graph, t), other);
    artel__value_id right = artel__op_add(graph, product(graph, t, o->p), against),
                    far = power_of(graph, rest_of(graph, right), o->loss->c);
    artel__value_id cost = product(graph, far, two_classes(graph, t, o->p));
    if (!o->loss->balanced) return cost;
    return product(graph, artel__op_affine(graph, t, 2 * o->loss->b - 1, 1 - o->loss->b), cost);
}
#endif

#ifdef LOSS_FIELDS
bool apply_class_balancing;
#endif

#ifdef LOSS_CLASS
LOSS_CLASS(BINARY_FOCAL_CROSSENTROPY, .class_name = "BinaryFocalCrossentropy", .function = "binary_focal_crossentropy",
           .form = ARTEL__LOSS_TAKES_PROBABILITIES,
           .options = OPTIONS(REDUCTION, LOGITS, SMOOTHING, AXIS, NUMBER(alpha, "0.25", "weight of class 1"),
                              NUMBER(gamma, "2.0", "focusing exponent"),
                              BOOL(apply_class_balancing, "false", "weigh classes by alpha")),
           .constant = {SETTING(label_smoothing), SETTING(alpha), SETTING(gamma)},
           .balance = SETTING(apply_class_balancing))
#endif
