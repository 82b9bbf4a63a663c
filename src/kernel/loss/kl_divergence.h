/* SPDX-License-Identifier: Apache-2.0 */
/* Kullback-Leibler divergence: the sum of t log(t / p). The sections: kernel/losses.list. */

#ifdef ELEMENT_LOSS
ELEMENT_LOSS(KL_DIVERGENCE, kl_divergence, .factor = 1, .sums = true)
#endif

#ifdef LOSS_FORMULA
ARTEL__MATH float term_of_kl_divergence(float t, float p, const loss_constants *k)
{
    float truth = loss_clip(t, LOSS_EPSILON, 1.0f);
    (void)k;
    return truth * artel__logf(truth / loss_clip(p, LOSS_EPSILON, 1.0f));
}

ARTEL__MATH float slope_of_kl_divergence(float t, float p, const loss_constants *k)
{
    (void)k;
    return ((p >= LOSS_EPSILON) & (p <= 1.0f)) ? -(loss_clip(t, LOSS_EPSILON, 1.0f) / p) : 0.0f;
}
#endif

#ifdef LOSS_PROGRAM
LOSS_PROGRAM(KL_DIVERGENCE, "t 1e-7 max 1 min =q q q p 1e-7 max 1 min / log *",
             "p 1e-7 >= p 1 <= and t 1e-7 max 1 min p / neg 0 ?")
#endif

#ifdef LOSS_OPERATIONS
static artel__value_id float64_kl_divergence(const operands *o)
{
    artel__graph *graph = o->graph;
    artel__value_id t = clip(graph, o->t, EPSILON, 1), p = clip(graph, o->p, EPSILON, 1);
    return product(graph, t, logarithm(graph, binary(graph, ARTEL__BINARY_DIV, t, p)));
}
#endif

#ifdef LOSS_CLASS
LOSS_CLASS(KL_DIVERGENCE, .class_name = "KLDivergence", .function = "kl_divergence",
           .aliases = {"kld", "KLD", "kullback_leibler_divergence"}, .options = OPTIONS(REDUCTION))
#endif
