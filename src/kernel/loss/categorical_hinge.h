/* SPDX-License-Identifier: Apache-2.0 */
/* Categorical hinge: the margin between the class and the greatest of the others. The sections: kernel/losses.list. */

#ifdef ROW_LOSS
ROW_LOSS(CATEGORICAL_HINGE, categorical_hinge, .repeats = true)
#endif

#ifdef LOSS_REFERENCE
/* neg - pos + 1, and neg. */
static float hinge_margin(const position *p, float *neg)
{
    lanes l = {0};
    *neg = -INFINITY;
    for (int64_t i = 0; i < p->n; i++) {
        add(&l, i, target(p, i) * p->x[i]);
        *neg = artel__maxf((1.0f - target(p, i)) * p->x[i], *neg);
    }
    return *neg - total(&l) + 1.0f;
}

static float value_of_categorical_hinge(const position *p)
{
    float neg;
    return artel__maxf(0.0f, hinge_margin(p, &neg)); /* a NaN stays one */
}

static void slopes_of_categorical_hinge(const position *p, float upstream, float *out)
{
    float neg, margin = hinge_margin(p, &neg);
    int64_t ties = 0;
    for (int64_t i = 0; i < p->n; i++) ties += (1.0f - target(p, i)) * p->x[i] == neg;
    for (int64_t i = 0; i < p->n; i++) {
        float t = target(p, i), up = (1.0f - t) * p->x[i] == neg ? (1.0f - t) / (float)ties : 0.0f;
        out[i] = margin >= 0.0f ? upstream * (up - t) : 0.0f;
    }
}
#endif

#ifdef LOSS_PROGRAM
#define OTHERS "1 t - p * =q "
LOSS_PROGRAM(CATEGORICAL_HINGE, OTHERS "q most t p * sum - 1 + 0 max",
             OTHERS "q q most == 1 0 ? =k k 1 t - * k sum / t - =u q most t p * sum - 1 + 0 >= d u * 0 ?")
#endif

#ifdef LOSS_OPERATIONS
static artel__value_id float64_categorical_hinge(const operands *o)
{
    artel__graph *graph = o->graph;
    artel__value_id right = sum(o, product(graph, o->t, o->p), false),
                    wrong = product(graph, rest_of(graph, o->t), o->p);
    wrong = artel__op_reduce(graph, ARTEL__REDUCE_MAX, wrong, 1u << o->last, false);
    return at_least(graph, artel__op_affine(graph, difference(graph, wrong, right), 1, 1), 0);
}
#endif

#ifdef LOSS_CLASS
LOSS_CLASS(CATEGORICAL_HINGE, .class_name = "CategoricalHinge", .function = "categorical_hinge",
           .target = ARTEL__TARGET_ONE_HOT, .options = OPTIONS(REDUCTION))
#endif
