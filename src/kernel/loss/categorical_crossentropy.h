/* SPDX-License-Identifier: Apache-2.0 */
/* Categorical crossentropy, of probabilities, which are divided by their sum, and of logits. a: label smoothing. The
 * sections: kernel/losses.list. */

#ifdef ROW_LOSS
ROW_LOSS(CATEGORICAL_CROSSENTROPY, categorical_crossentropy, .smoothing = ARTEL__SMOOTHING_CLASSES)
ROW_LOSS(CATEGORICAL_CROSSENTROPY_LOGITS, categorical_crossentropy_logits, .smoothing = ARTEL__SMOOTHING_CLASSES,
         .softmax = true)
#endif

#ifdef LOSS_REFERENCE
static float share_of_categorical_crossentropy(const position *p, float t, float c)
{
    (void)p;
    return -t * artel__logf(c);
}

static float value_of_categorical_crossentropy(const position *p)
{
    return value_of_shares(p, share_of_categorical_crossentropy);
}

static float bend_of_categorical_crossentropy(const position *p, float t, float c)
{
    (void)p;
    return -t / c;
}

static void slopes_of_categorical_crossentropy(const position *p, float upstream, float *out)
{
    slopes_of_shares(p, bend_of_categorical_crossentropy, upstream, out);
}

static float value_of_categorical_crossentropy_logits(const position *p)
{
    float m = largest(p), log_sum = artel__logf(exponentials(p, m));
    lanes l = {0};
    for (int64_t i = 0; i < p->n; i++) add(&l, i, smoothed(p, i) * (log_sum - (p->x[i] - m)));
    return total(&l);
}

static void slopes_of_categorical_crossentropy_logits(const position *p, float upstream, float *out)
{
    float m = largest(p), scale = 1.0f / exponentials(p, m);
    for (int64_t i = 0; i < p->n; i++) out[i] = upstream * (artel__expf(p->x[i] - m) * scale - smoothed(p, i));
}
#endif

#ifdef LOSS_VECTOR
static void categorical_crossentropy_logits_values(const artel__loss_forward *p, int64_t from, int64_t to)
{
    loss_constants k = loss_constants_of(&p->in);
    int64_t n = p->in.length;
    for (int64_t at = from; at < to; at++) {
        const float *t = (const float *)p->in.target + at * n, *x = p->in.prediction + at * n;
        float m, log_sum = artel__logf(artel__row_exponentials(x, n, &m)), lane[ARTEL__LANES] = {0};
        int64_t i = 0;
        for (; i + ARTEL__LANES <= n; i += ARTEL__LANES)
            for (int j = 0; j < ARTEL__LANES; j++)
                lane[j] = lane[j] + (t[i + j] * k.keep + k.add) * (log_sum - (x[i + j] - m));
        float last_t[ARTEL__LANES], last_x[ARTEL__LANES];
        artel__tail(t + i, n - i, 0.0f, last_t), artel__tail(x + i, n - i, 0.0f, last_x);
        for (int j = 0; j < ARTEL__LANES; j++) {
            float term = (last_t[j] * k.keep + k.add) * (log_sum - (last_x[j] - m));
            lane[j] = lane[j] + (i + j < n ? term : 0.0f);
        }
        p->value[at] = artel__lanes_sum(lane);
    }
}

static void categorical_crossentropy_logits_slopes(const artel__loss_gradient *p, int64_t from, int64_t to)
{
    loss_constants k = loss_constants_of(&p->in);
    int64_t n = p->in.length;
    for (int64_t at = from; at < to; at++) {
        const float *t = (const float *)p->in.target + at * n, *x = p->in.prediction + at * n;
        float m, scale = 1.0f / artel__row_exponentials(x, n, &m), upstream = p->upstream[at],
                 *out = p->gradient + at * n;
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < n; i++) out[i] = upstream * (artel__expf(x[i] - m) * scale - (t[i] * k.keep + k.add));
    }
}
#endif

#ifdef VECTOR_LOSS
VECTOR_LOSS(CATEGORICAL_CROSSENTROPY_LOGITS, categorical_crossentropy_logits)
#endif

#ifdef LOSS_PROGRAM
LOSS_PROGRAM(CATEGORICAL_CROSSENTROPY, SMOOTHED SHARE "s neg c log *",
             SMOOTHED SHARE "o c == s neg c / 0 ? " THROUGH_SHARE)
LOSS_PROGRAM(CATEGORICAL_CROSSENTROPY_LOGITS, SMOOTHED EXPONENTIALS "s e sum log z - *",
             SMOOTHED EXPONENTIALS "d e 1 e sum / * s - *")
#endif

#ifdef LOSS_OPERATIONS
static artel__value_id float64_categorical_crossentropy(const operands *o)
{
    artel__graph *graph = o->graph;
    artel__value_id t = smoothed(o, 1 / o->classes), share = share_of(o);
    return sum(o, negative(graph, product(graph, t, logarithm(graph, share))), false);
}

static artel__value_id float64_categorical_crossentropy_logits(const operands *o)
{
    artel__graph *graph = o->graph;
    artel__value_id t = smoothed(o, 1 / o->classes);
    artel__value_id cost = negative(graph, artel__op_softmax(graph, ARTEL__LOG_SOFTMAX, o->p, o->last));
    return sum(o, product(graph, t, cost), false);
}
#endif

#ifdef LOSS_CLASS
LOSS_CLASS(CATEGORICAL_CROSSENTROPY, .class_name = "CategoricalCrossentropy", .function = "categorical_crossentropy",
           .form = ARTEL__LOSS_TAKES_LOGITS, .target = ARTEL__TARGET_ONE_HOT,
           .options = OPTIONS(REDUCTION, LOGITS, SMOOTHING, AXIS), .constant = {SETTING(label_smoothing)})
#endif
