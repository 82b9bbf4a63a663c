/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse categorical crossentropy, of probabilities, which TensorFlow takes the logarithm of for logits, and of logits.
 * The sections: kernel/losses.list. */

#ifdef ROW_LOSS
ROW_LOSS(SPARSE_CATEGORICAL_CROSSENTROPY, sparse_categorical_crossentropy, .sparse = true)
ROW_LOSS(SPARSE_CATEGORICAL_CROSSENTROPY_LOGITS, sparse_categorical_crossentropy_logits, .sparse = true,
         .softmax = true)
#endif

#ifdef LOSS_REFERENCE
/* The class of a position, reported where there is none of that number; below 0: its loss is 0. */
static int64_t reported_class(const position *p)
{
    int64_t class = loss_class(p->in, p->at);
    if (class == -2) loss_report(p->in, p->at);
    return class;
}

static float clipped_sum(const position *p)
{
    lanes l = {0};
    for (int64_t i = 0; i < p->n; i++) add(&l, i, loss_probability(p->x[i]));
    return total(&l);
}

static float value_of_sparse_categorical_crossentropy(const position *p)
{
    int64_t class = reported_class(p);
    return class < 0 ? 0.0f : artel__logf(clipped_sum(p)) - artel__logf(loss_probability(p->x[class]));
}

static void slopes_of_sparse_categorical_crossentropy(const position *p, float upstream, float *out)
{
    int64_t class = loss_class(p->in, p->at);
    float scale = class < 0 ? 0.0f : 1.0f / clipped_sum(p);
    for (int64_t i = 0; i < p->n; i++) {
        float c = loss_probability(p->x[i]), share = c * scale, slope = i == class ? share - 1.0f : share;
        slope = c == p->x[i] ? slope / c : 0.0f;
        out[i] = class < 0 ? 0.0f : upstream * slope;
    }
}

static float value_of_sparse_categorical_crossentropy_logits(const position *p)
{
    int64_t class = reported_class(p);
    if (class < 0) return 0.0f;
    float m = largest(p);
    return artel__logf(exponentials(p, m)) - (p->x[class] - m);
}

static void slopes_of_sparse_categorical_crossentropy_logits(const position *p, float upstream, float *out)
{
    int64_t class = loss_class(p->in, p->at);
    float m = class >= 0 ? largest(p) : 0.0f, scale = class < 0 ? 0.0f : 1.0f / exponentials(p, m);
    for (int64_t i = 0; i < p->n; i++) {
        float share = artel__expf(p->x[i] - m) * scale, slope = i == class ? share - 1.0f : share;
        out[i] = class < 0 ? 0.0f : upstream * slope;
    }
}
#endif

#ifdef LOSS_VECTOR
/* Up to 64 positions of up to 16 classes. */
static void sparse_short_values(const artel__loss_forward *p, int64_t from, int64_t rows)
{
    artel__short_rows e;
    float max[ARTEL__SHORT_ROWS], sum[ARTEL__SHORT_ROWS];
    int64_t n = p->in.length;
    artel__short_load(&e, p->in.prediction + from * n, n, rows);
    artel__short_exponentials(&e, max, sum);
    for (int r = 0; r < ARTEL__SHORT_ROWS; r++) sum[r] = artel__logf(sum[r]);
    for (int64_t r = 0; r < rows; r++) {
        int64_t class = loss_class(&p->in, from + r);
        if (class == -2) loss_report(&p->in, from + r);
        p->value[from + r] = class < 0 ? 0.0f : sum[r] - (p->in.prediction[(from + r) * n + class] - max[r]);
    }
}

static void sparse_short_slopes(const artel__loss_gradient *p, int64_t from, int64_t rows)
{
    artel__short_rows e;
    float max[ARTEL__SHORT_ROWS], sum[ARTEL__SHORT_ROWS], upstream[ARTEL__SHORT_ROWS];
    int64_t n = p->in.length;
    artel__short_load(&e, p->in.prediction + from * n, n, rows);
    artel__short_exponentials(&e, max, sum);
    for (int64_t r = 0; r < ARTEL__SHORT_ROWS; r++) upstream[r] = r < rows ? p->upstream[from + r] : 0.0f;
    for (int64_t r = 0; r < rows; r++) sum[r] = 1.0f / sum[r];
    for (int64_t k = 0; k < n; k++)
        for (int r = 0; r < ARTEL__SHORT_ROWS; r++) e.v[k][r] = e.v[k][r] * sum[r];
    for (int64_t r = 0; r < rows; r++) {
        int64_t class = loss_class(&p->in, from + r);
        if (class >= 0) e.v[class][r] = e.v[class][r] - 1.0f;
        for (int64_t k = 0; class < 0 && k < n; k++) e.v[k][r] = upstream[r] = 0.0f;
    }
    for (int64_t k = 0; k < n; k++)
        for (int r = 0; r < ARTEL__SHORT_ROWS; r++) e.v[k][r] = upstream[r] * e.v[k][r];
    artel__short_store(&e, p->gradient + from * n);
}

static void sparse_categorical_crossentropy_logits_values(const artel__loss_forward *p, int64_t from, int64_t to)
{
    int64_t n = p->in.length;
    if (n <= ARTEL__LANES) {
        for (; from < to; from += ARTEL__SHORT_ROWS)
            sparse_short_values(p, from, to - from < ARTEL__SHORT_ROWS ? to - from : ARTEL__SHORT_ROWS);
        return;
    }
    for (int64_t at = from; at < to; at++) {
        int64_t class = loss_class(&p->in, at);
        const float *x = p->in.prediction + at * n;
        float m;
        if (class == -2) loss_report(&p->in, at);
        p->value[at] = class < 0 ? 0.0f : artel__logf(artel__row_exponentials(x, n, &m));
        if (class >= 0) p->value[at] = p->value[at] - (x[class] - m);
    }
}

static void sparse_categorical_crossentropy_logits_slopes(const artel__loss_gradient *p, int64_t from, int64_t to)
{
    int64_t n = p->in.length;
    if (n <= ARTEL__LANES) {
        for (; from < to; from += ARTEL__SHORT_ROWS)
            sparse_short_slopes(p, from, to - from < ARTEL__SHORT_ROWS ? to - from : ARTEL__SHORT_ROWS);
        return;
    }
    for (int64_t at = from; at < to; at++) {
        int64_t class = loss_class(&p->in, at);
        const float *x = p->in.prediction + at * n;
        float *out = p->gradient + at * n, upstream = p->upstream[at], m;
        if (class < 0) {
            for (int64_t i = 0; i < n; i++) out[i] = 0.0f;
            continue;
        }
        float scale = 1.0f / artel__row_exponentials(x, n, &m),
              hit = upstream * (artel__expf(x[class] - m) * scale - 1.0f);
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < n; i++) out[i] = upstream * (artel__expf(x[i] - m) * scale);
        out[class] = hit;
    }
}
#endif

#ifdef VECTOR_LOSS
VECTOR_LOSS(SPARSE_CATEGORICAL_CROSSENTROPY_LOGITS, sparse_categorical_crossentropy_logits)
#endif

#ifdef LOSS_PROGRAM
LOSS_PROGRAM(SPARSE_CATEGORICAL_CROSSENTROPY, CLIPPED "h 0 != c sum log c log - 0 ?",
             CLIPPED "c 1 c sum / * h - =q p c == q c / 0 ? =q v 0 != d q * 0 ?")
LOSS_PROGRAM(SPARSE_CATEGORICAL_CROSSENTROPY_LOGITS, EXPONENTIALS "h 0 != e sum log z - 0 ?",
             EXPONENTIALS "v 0 != d e 1 e sum / * h - * 0 ?")
#endif

#ifdef LOSS_OPERATIONS
/* t: int32. What does not count has class 0 on the way, and the loss 0. */
static artel__value_id float64_sparse_categorical_crossentropy_logits(const operands *o)
{
    artel__graph *graph = o->graph;
    artel__value_id valid = ARTEL__NO_VALUE, index = o->t;
    artel_shape shape = graph->value[o->p].shape;
    if (o->loss->has_ignored) {
        artel__value_id given = artel__op_cast(graph, index, ARTEL_DTYPE_FLOAT64);
        valid = artel__op_compare_scalar(graph, ARTEL__COMPARE_NOT_EQUAL, given, (double)o->loss->ignored);
        index = artel__op_cast(graph, where(graph, valid, given, ARTEL__NO_VALUE), ARTEL_DTYPE_INT32);
    }
    artel__value_id cost = negative(graph, artel__op_softmax(graph, ARTEL__LOG_SOFTMAX, o->p, o->last));
    cost = artel__op_take(graph, cost, index, o->last);
    if (valid >= 0) cost = where(graph, valid, cost, ARTEL__NO_VALUE);
    shape.rank--;
    return artel__op_reshape(graph, cost, &shape);
}

static artel__value_id float64_sparse_categorical_crossentropy(const operands *o)
{
    operands logits = *o;
    logits.p = logarithm(o->graph, probability(o->graph, o->p));
    return o->graph->status < 0 ? ARTEL__NO_VALUE : float64_sparse_categorical_crossentropy_logits(&logits);
}
#endif

#ifdef LOSS_FIELDS
const char *ignore_class; /* JSON: an integer, or NULL */
#endif

#ifdef LOSS_CLASS
LOSS_CLASS(SPARSE_CATEGORICAL_CROSSENTROPY, .class_name = "SparseCategoricalCrossentropy",
           .function = "sparse_categorical_crossentropy", .form = ARTEL__LOSS_TAKES_LOGITS,
           .target = ARTEL__TARGET_INDEX,
           .options = OPTIONS(REDUCTION, LOGITS, TEXT(ignore_class, "null", "a class that does not count, or null"),
                              AXIS),
           .ignored = SETTING(ignore_class))
#endif
