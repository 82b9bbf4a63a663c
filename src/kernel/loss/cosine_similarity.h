/* SPDX-License-Identifier: Apache-2.0 */
/* Cosine similarity: minus the product of both, made of length 1. The sections: kernel/losses.list. */

#ifdef ROW_LOSS
ROW_LOSS(COSINE_SIMILARITY, cosine_similarity, .smoothing = ARTEL__SMOOTHING_NONE)
#endif

#ifdef LOSS_REFERENCE
/* min(1 / sqrt(sum of squares), 1 / epsilon) of the prediction and of the target. */
static void cosine_norms(const position *p, float *of_x, float *of_t)
{
    lanes x = {0}, t = {0};
    for (int64_t i = 0; i < p->n; i++) {
        add(&x, i, p->x[i] * p->x[i]);
        add(&t, i, target(p, i) * target(p, i));
    }
    *of_x = artel__minf(1.0f / artel__sqrtf(total(&x)), 1.0f / LOSS_EPSILON);
    *of_t = artel__minf(1.0f / artel__sqrtf(total(&t)), 1.0f / LOSS_EPSILON);
}

static float value_of_cosine_similarity(const position *p)
{
    float rx, rt;
    lanes l = {0};
    cosine_norms(p, &rx, &rt);
    for (int64_t i = 0; i < p->n; i++) add(&l, i, (target(p, i) * rt) * (p->x[i] * rx));
    return -total(&l);
}

static void slopes_of_cosine_similarity(const position *p, float upstream, float *out)
{
    float rx, rt;
    lanes l = {0};
    cosine_norms(p, &rx, &rt);
    for (int64_t i = 0; i < p->n; i++) add(&l, i, (p->x[i] * rx) * (target(p, i) * rt));
    float common = rx < 1.0f / LOSS_EPSILON ? total(&l) : 0.0f;
    for (int64_t i = 0; i < p->n; i++) out[i] = upstream * (rx * ((p->x[i] * rx) * common - target(p, i) * rt));
}
#endif

#ifdef LOSS_PROGRAM
#define NORMS "1 p p * sum sqrt / 1 1e-7 / min =x 1 t t * sum sqrt / 1 1e-7 / min =r "
LOSS_PROGRAM(COSINE_SIMILARITY, NORMS "t r * p x * * neg",
             NORMS "x 1 1e-7 / < p x * t r * * sum 0 ? =m d x p x * m * t r * - * *")
#endif

#ifdef LOSS_OPERATIONS
static artel__value_id of_length_one(const operands *o, artel__value_id x)
{
    artel__graph *graph = o->graph;
    artel__value_id inverse = unary(graph, ARTEL__UNARY_RSQRT, sum(o, square(graph, x), true));
    return product(graph, x, binary(graph, ARTEL__BINARY_MIN, inverse, number(graph, 1 / EPSILON)));
}

static artel__value_id float64_cosine_similarity(const operands *o)
{
    artel__value_id t = of_length_one(o, o->t);
    return negative(o->graph, sum(o, product(o->graph, t, of_length_one(o, o->p)), false));
}
#endif

#ifdef LOSS_CLASS
LOSS_CLASS(COSINE_SIMILARITY, .class_name = "CosineSimilarity", .function = "cosine_similarity",
           .options = OPTIONS(REDUCTION, AXIS))
#endif
