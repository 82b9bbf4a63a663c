/* SPDX-License-Identifier: Apache-2.0 */
/* Whole training steps, made of artel's kernels as its plan would make them: a perceptron and a small convolutional network. */
#ifndef OWN_BITS_STEP_CUH
#define OWN_BITS_STEP_CUH

#include "run.cuh"

/* -- random numbers of the test -- */

HD uint64_t hashed(uint64_t seed, uint64_t i)
{
    uint64_t z = (seed * 0x9E3779B97F4A7C15u) ^ ((i + 1) * 0xD1B54A32D192ED03u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* In [-1, 1). */
HD float uniform(uint64_t seed, uint64_t i)
{
    return (float)(int32_t)(hashed(seed, i) >> 40) * 0x1p-23f - 1.0f;
}

static void fill(float *at, int64_t count, float scale, uint64_t seed)
{
    for (int64_t i = 0; i < count; i++) at[i] = scale * uniform(seed, (uint64_t)i);
}

/* -- variables with their gradients and slots -- */

struct variable {
    int64_t count;
    float *value, *gradient, *slot[2];
};

static variable variable_of(int64_t count)
{
    return {count, array<float>(count), array<float>(count), {array<float>(count), array<float>(count)}};
}

/* A matrix in panels, uniform. */
static variable matrix_of(int64_t k, int64_t n, float scale, uint64_t seed)
{
    variable v = variable_of(artel__panels_floats(k, n));
    for (int64_t i = 0; i < k * n; i++) v.value[artel__panels_offset(k, n, i / n, i % n)] = scale * uniform(seed, (uint64_t)i);
    return v;
}

static variable vector_of(int64_t n, float value)
{
    variable v = variable_of(n);
    for (int64_t i = 0; i < n; i++) v.value[i] = value;
    return v;
}

static void apply(const runner &run, const variable &v, const artel__apply_options &options, float rate, int64_t step)
{
    artel__apply p = {};
    uint32_t state = artel__fp_enter();
    artel__apply_prepare(&p, &options, rate, step, 1.0f);
    artel__fp_leave(state);
    p.count = v.count;
    p.variable = v.value;
    p.gradient = v.gradient;
    p.slot[0] = v.slot[0];
    p.slot[1] = options.rule == ARTEL__RULE_ADAM ? v.slot[1] : NULL;
    run(p);
}

/* -- the end of both networks: logits to loss and back -- */

enum {
    CLASSES = 10,
    SHARDS = 8
};

struct head {
    int64_t batch;
    artel__fold_plan *plan;
    int32_t *target;
    float *logits, *value, *seed, *slope;
    double *loss;
};

static head head_of(int64_t batch)
{
    head h = {batch,
              plan_of(SHARDS, 0, SHARDS, batch),
              array<int32_t>(batch),
              array<float>(batch * CLASSES),
              array<float>(batch),
              array<float>(batch),
              array<float>(batch * CLASSES),
              array<double>(1)};
    for (int64_t i = 0; i < batch; i++) h.target[i] = (int32_t)(hashed(77, (uint64_t)i) % CLASSES);
    return h;
}

static void head_step(const runner &run, const head &h)
{
    artel__loss_input in = {.op = ARTEL__LOSS_SPARSE_CATEGORICAL_CROSSENTROPY_LOGITS,
                            .positions = h.batch,
                            .length = CLASSES,
                            .per_row = 1,
                            .target_dtype = ARTEL_DTYPE_INT32,
                            .target = h.target,
                            .prediction = h.logits};
    run(artel__loss_forward{in, h.value});
    run(artel__fold_columns{h.plan, ARTEL_DTYPE_FLOAT32, ARTEL_DTYPE_FLOAT64, 1, 1, h.value, h.loss, 1});
    run(artel__loss_seed_kernel{.rows = h.batch, .inner = 1, .count = (double)h.batch, .scale = 1.0, .out = h.seed});
    run(artel__loss_gradient{in, h.seed, h.slope});
}

/* out = activation(x w + b). */
static void dense(const runner &run, const head &h, int64_t k, int64_t n, const float *x, const variable &w, const variable &b,
                  artel__fused activation, float *out)
{
    run(artel__product_forward{
        .m = h.batch, .n = n, .k = k, .a = x, .lda = k, .w = w.value, .bias = b.value, .activation = activation, .out = out, .ldo = n});
}

/* dx of it, and the gradients of w and b; dx NULL: not wanted. */
static void dense_back(const runner &run, const head &h, int64_t k, int64_t n, const float *x, const float *dy, const variable &w,
                       const variable &b, float *dx)
{
    run(artel__product_weight_gradient{.fold = h.plan,
                                       .inner = 1,
                                       .k = k,
                                       .n = n,
                                       .x = x,
                                       .ldx = k,
                                       .dy = dy,
                                       .ldy = n,
                                       .dw = w.gradient,
                                       .dw_stride = w.count,
                                       .dbias = b.gradient,
                                       .dbias_stride = b.count});
    if (dx) run(artel__product_forward{.m = h.batch, .n = k, .k = n, .a = dy, .lda = n, .w = w.value, .out = dx, .ldo = k, .turned = true});
}

/* -- 784-128-10 with dropout, Adam -- */

enum {
    PIXELS = 784,
    HIDDEN = 128
};

struct perceptron {
    head h;
    float *x, *hidden, *dropped, *back;
    variable w1, b1, w2, b2;
};

static perceptron perceptron_of(int64_t batch)
{
    perceptron p = {head_of(batch),
                    array<float>(batch * PIXELS),
                    array<float>(batch * HIDDEN),
                    array<float>(batch * HIDDEN),
                    array<float>(batch * HIDDEN),
                    matrix_of(PIXELS, HIDDEN, 0.08f, 1),
                    vector_of(HIDDEN, 0.0f),
                    matrix_of(HIDDEN, CLASSES, 0.2f, 2),
                    vector_of(CLASSES, 0.0f)};
    fill(p.x, batch * PIXELS, 1.0f, 3);
    return p;
}

static std::vector<variable> variables_of(const perceptron &p)
{
    return {p.w1, p.b1, p.w2, p.b2};
}

static void step(const runner &run, const perceptron &p, int64_t t)
{
    const head &h = p.h;
    const artel__apply_options adam = {.rule = ARTEL__RULE_ADAM, .beta_1 = 0.9, .beta_2 = 0.999, .epsilon = 1e-7};
    artel__noise drop = {.op = ARTEL__NOISE_DROPOUT,
                         .key = artel__rng_make_key(42, ARTEL__STREAM_DROPOUT),
                         .batch = (uint64_t)t,
                         .node = 3,
                         .rows = h.batch,
                         .rank = 1,
                         .dim = {HIDDEN},
                         .noise = {HIDDEN},
                         .rate = 0.2f,
                         .scale = 1.25f,
                         .x = p.hidden,
                         .y = p.dropped};
    dense(run, h, PIXELS, HIDDEN, p.x, p.w1, p.b1, ARTEL__FUSED_RELU, p.hidden);
    run(drop);
    dense(run, h, HIDDEN, CLASSES, p.dropped, p.w2, p.b2, ARTEL__FUSED_NONE, h.logits);
    head_step(run, h);
    dense_back(run, h, HIDDEN, CLASSES, p.dropped, h.slope, p.w2, p.b2, p.back);
    drop.x = drop.y = p.back;
    run(drop);
    run(artel__unary_gradient{
        .op = ARTEL__UNARY_RELU, .count = h.batch * HIDDEN, .x = p.hidden, .dy = p.back, .dx = p.back, .b = INFINITY});
    dense_back(run, h, PIXELS, HIDDEN, p.x, p.back, p.w1, p.b1, NULL);
    for (const variable &v : variables_of(p)) apply(run, v, adam, 0.001f, t);
}

/* -- conv 3x3x16 relu, pool, conv 3x3x32, batch norm relu, dense; SGD with momentum -- */

enum {
    SIZE = 28,
    HALF = 14,
    FIRST = 16,
    SECOND = 32,
    FLAT = HALF * HALF * SECOND
};

struct network {
    head h;
    float *x, *one, *pooled, *two, *normal, *d_normal, *d_pooled, *d_one, *turned;
    double *part, *root, *sums;
    float *mean, *variance, *inverse, *moving_mean, *moving_variance;
    variable w1, b1, w2, b2, scale /* beta, gamma */, w3, b3;
};

static network network_of(int64_t batch)
{
    network n = {head_of(batch)};
    n.x = array<float>(batch * SIZE * SIZE);
    n.one = array<float>(batch * SIZE * SIZE * FIRST);
    n.d_one = array<float>(batch * SIZE * SIZE * FIRST);
    n.pooled = array<float>(batch * HALF * HALF * FIRST);
    n.d_pooled = array<float>(batch * HALF * HALF * FIRST);
    n.two = array<float>(batch * FLAT);
    n.normal = array<float>(batch * FLAT);
    n.d_normal = array<float>(batch * FLAT);
    n.turned = array<float>(artel__pack_transposed_floats(9, FIRST, SECOND, 1));
    n.part = array<double>(batch * 2 * SECOND);
    n.root = array<double>(3 * SECOND);
    n.sums = array<double>(2 * SECOND);
    for (float **at : {&n.mean, &n.variance, &n.inverse, &n.moving_mean, &n.moving_variance}) *at = array<float>(SECOND);
    n.w1 = matrix_of(9, FIRST, 0.3f, 11);
    n.b1 = vector_of(FIRST, 0.0f);
    n.w2 = matrix_of(9 * FIRST, SECOND, 0.1f, 12);
    n.b2 = vector_of(SECOND, 0.0f);
    n.scale = vector_of(2 * SECOND, 0.0f);
    for (int c = 0; c < SECOND; c++) n.scale.value[SECOND + c] = 1.0f;
    n.w3 = matrix_of(FLAT, CLASSES, 0.03f, 13);
    n.b3 = vector_of(CLASSES, 0.0f);
    fill(n.x, batch * SIZE * SIZE, 1.0f, 14);
    return n;
}

static std::vector<variable> variables_of(const network &n)
{
    return {n.w1, n.b1, n.w2, n.b2, n.scale, n.w3, n.b3};
}

/* 3x3, padding same. */
static artel__conv2d_shape same_shape(int64_t images, int64_t size, int64_t ic, int64_t oc)
{
    return {.images = images,
            .ih = size,
            .iw = size,
            .ic = ic,
            .oh = size,
            .ow = size,
            .oc = oc,
            .kh = 3,
            .kw = 3,
            .sh = 1,
            .sw = 1,
            .dh = 1,
            .dw = 1,
            .top = 1,
            .left = 1,
            .groups = 1};
}

static void conv_back(const runner &run, const head &h, const artel__conv2d_shape &s, const float *x, const float *dy, const variable &w,
                      const variable &b)
{
    run(artel__conv2d_weight_gradient{.shape = s,
                                      .fold = h.plan,
                                      .x = x,
                                      .dy = dy,
                                      .dw = w.gradient,
                                      .dw_stride = w.count,
                                      .dbias = b.gradient,
                                      .dbias_stride = b.count});
}

static void step(const runner &run, const network &n, int64_t t)
{
    const head &h = n.h;
    const artel__apply_options sgd = {.rule = ARTEL__RULE_SGD, .momentum = 0.9};
    const artel__conv2d_shape one = same_shape(h.batch, SIZE, 1, FIRST), two = same_shape(h.batch, HALF, FIRST, SECOND);
    artel__pool_shape pool = {
        .channels = FIRST, .in = {1, SIZE, SIZE}, .out = {1, HALF, HALF}, .window = {1, 2, 2}, .stride = {1, 2, 2}, .pad = {0, 0, 0}};
    int64_t positions = h.batch * HALF * HALF;
    const float *beta = n.scale.value, *gamma = n.scale.value + SECOND;

    run(artel__conv2d_forward{.shape = one, .x = n.x, .w = n.w1.value, .bias = n.b1.value, .activation = ARTEL__FUSED_RELU, .out = n.one});
    run(artel__pool_forward{ARTEL__POOL_MAX, h.batch, pool, n.one, n.pooled});
    run(artel__conv2d_forward{.shape = two, .x = n.pooled, .w = n.w2.value, .bias = n.b2.value, .out = n.two});
    run(artel__batch_moments_rows{h.batch, HALF * HALF, SECOND, n.two, n.part});
    run(artel__batch_moments_fold{h.plan, HALF * HALF, SECOND, n.part, n.root});
    run(artel__batch_norm_finalize{SECOND, 1e-3, n.root, n.mean, n.variance, n.inverse});
    run(artel__batch_norm_moving{SECOND, 0.99, n.mean, n.variance, n.moving_mean, n.moving_variance});
    run(artel__batch_norm_forward{positions, SECOND, n.two, n.mean, n.inverse, gamma, beta, NULL, ARTEL__NORM_RELU, n.normal});
    dense(run, h, FLAT, CLASSES, n.normal, n.w3, n.b3, ARTEL__FUSED_NONE, h.logits);
    head_step(run, h);
    dense_back(run, h, FLAT, CLASSES, n.normal, h.slope, n.w3, n.b3, n.d_normal);
    run(artel__batch_norm_gradient_rows{h.batch, HALF * HALF, SECOND, n.two, n.normal, n.d_normal, n.mean, n.inverse, ARTEL__NORM_RELU,
                                        n.part});
    run(artel__fold_columns{h.plan, ARTEL_DTYPE_FLOAT64, ARTEL_DTYPE_FLOAT64, 1, 2 * SECOND, n.part, n.sums, 2 * SECOND});
    run(artel__cast{ARTEL_DTYPE_FLOAT64, ARTEL_DTYPE_FLOAT32, 2 * SECOND, n.sums, n.scale.gradient});
    run(artel__batch_norm_gradient{positions, SECOND, (double)positions, n.two, n.normal, n.d_normal, n.mean, n.inverse, gamma, n.sums,
                                   ARTEL__NORM_RELU, n.d_normal, NULL});
    conv_back(run, h, two, n.pooled, n.d_normal, n.w2, n.b2);
    run(artel__product_pack{ARTEL__PACK_TRANSPOSE, 9, FIRST, SECOND, 1, n.w2.value, n.turned});
    run(artel__conv2d_data_gradient{.shape = two, .dy = n.d_normal, .wt = n.turned, .dx = n.d_pooled});
    run(artel__pool_gradient{ARTEL__POOL_MAX, h.batch, pool, n.one, n.pooled, n.d_pooled, n.d_one, true});
    conv_back(run, h, one, n.x, n.d_one, n.w1, n.b1);
    for (const variable &v : variables_of(n)) apply(run, v, sgd, 0.01f, t);
}

/* What a step has changed, back on the host. */
template <class Model> static void download_model(const Model &m)
{
    for (const variable &v : variables_of(m))
        for (float *at : {v.value, v.gradient, v.slot[0], v.slot[1]}) download(at, v.count);
    download(m.h.loss, 1);
}

/* FNV-1a over all variables and slots. */
template <class Model> static uint64_t digest(const Model &m)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (const variable &v : variables_of(m)) {
        for (const float *at : {v.value, v.slot[0], v.slot[1]})
            for (int64_t i = 0; i < v.count; i++) hash = (hash ^ artel__bits(at[i])) * 0x100000001b3u;
    }
    return hash;
}

#endif
