/* SPDX-License-Identifier: Apache-2.0 */
/* Do artel's formulas, compiled for an NVIDIA GPU, give the bits of artel's reference kernels on the CPU? See README.md. */
#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "step.cuh"

static std::chrono::steady_clock::time_point started;

static double seconds(void)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
}

/* -- comparing -- */

/* Differences of one kind of kernel, by cause. */
struct difference {
    int64_t count, nan, denormal, edge, other;
    std::string first_denormal, first_edge, first_other;
};

static bool is_nan(float x)
{
    return (artel__bits(x) & 0x7fffffffu) > 0x7f800000u;
}

static bool is_denormal(float x)
{
    return (artel__bits(x) & 0x7f800000u) == 0 && (artel__bits(x) & 0x7fffffu) != 0;
}

static bool is_zero(float x)
{
    return (artel__bits(x) & 0x7fffffffu) == 0;
}

static std::string hex(const char *name, float x)
{
    char text[40];
    snprintf(text, sizeof text, " %s %08x", name, artel__bits(x));
    return text;
}

/* inputs: those of element i at [i]. */
static void compare(difference &d, const std::string &name, const float *got, const float *want, int64_t count,
                    const std::vector<const float *> &inputs)
{
    d.count += count;
    if (memcmp(got, want, (size_t)count * sizeof(float)) == 0) return;
    for (int64_t i = 0; i < count; i++) {
        if (artel__bits(got[i]) == artel__bits(want[i])) continue;
        bool denormal = false;
        std::string text = name + " [" + std::to_string(i) + "]";
        for (const float *in : inputs) denormal = denormal || is_denormal(in[i]);
        std::string *first = &d.first_other;
        if (is_nan(got[i]) && is_nan(want[i])) {
            d.nan++;
            continue;
        } else if (denormal) {
            d.denormal++;
            first = &d.first_denormal;
        } else if ((at_edge(got[i]) && is_zero(want[i])) || (at_edge(want[i]) && is_zero(got[i]))) {
            d.edge++;
            first = &d.first_edge;
        } else {
            d.other++;
        }
        if (!first->empty()) continue;
        for (const float *in : inputs) text += hex("in", in[i]);
        *first = text + hex("cpu", want[i]) + hex("gpu", got[i]);
    }
}

/* Several kinds under one heading. */
struct group {
    std::string title, with_nan, with_denormal, with_edge, with_other;
    int kinds = 0;
    difference all = {};
    explicit group(const char *name) : title(name)
    {
    }
    void add(const std::string &name, const difference &d)
    {
        kinds++;
        all.count += d.count;
        all.nan += d.nan;
        all.denormal += d.denormal;
        all.edge += d.edge;
        all.other += d.other;
        if (d.nan) with_nan += " " + name;
        if (d.denormal) with_denormal += " " + name;
        if (d.edge) with_edge += " " + name;
        if (d.other) with_other += " " + name;
        if (all.first_denormal.empty()) all.first_denormal = d.first_denormal;
        if (all.first_edge.empty()) all.first_edge = d.first_edge;
        if (all.first_other.empty()) all.first_other = d.first_other;
    }
    static void cause(const char *what, int64_t count, const std::string &names, const std::string &first)
    {
        if (count == 0) return;
        printf("    %s %lld:%.120s; first %s\n", what, (long long)count, names.c_str(), first.c_str());
    }
    void print() const
    {
        int64_t finite = all.denormal + all.edge + all.other;
        printf("%-26s %3d kinds %11lld elements: %s", title.c_str(), kinds, (long long)all.count, finite ? "DIFFER" : "equal");
        printf(all.nan ? ", NaN payloads %lld\n" : "\n", (long long)all.nan);
        cause("other", all.other, with_other, all.first_other);
        cause("edge of normal range", all.edge, with_edge, all.first_edge);
        cause("denormal input", all.denormal, with_denormal, all.first_denormal);
        fflush(stdout);
    }
};

/* -- inputs -- */

enum spread {
    NORMAL,
    WIDE,
    TINY,
    DENORMAL,
    MIXED,
    SPREADS
};
static const char *const spread_names[] = {"normal", "wide", "tiny", "denormal", "mixed"};

/* Any bits with an exponent of -bound .. bound. */
static float scaled(uint64_t h, int bound)
{
    return artel__from_bits((uint32_t)(h & 0x807fffffu) | (uint32_t)(127 - bound + (int)((h >> 40) % (2 * bound + 1))) << 23);
}

static float special(uint64_t h)
{
    static const uint32_t bits[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001,
                                    0x7f7fffff, 0x3f800000, 0xbf800000, 0x00800000, 0x80800000, 0x00800001,
                                    0x807fffff, 0x007fffff, 0x40c00000, 0x4b000000, 0xcb000001, 0x42b17218};
    return artel__from_bits(bits[h % (sizeof bits / sizeof *bits)]);
}

static float random_value(spread spread, uint64_t seed, uint64_t i)
{
    uint64_t h = hashed(seed, i), pick = hashed(seed + 1000, i) % 100;
    switch (spread) {
    case NORMAL: return uniform(seed, i);
    case WIDE: return scaled(h, 30);
    case TINY: return pick < 5 ? 0.0f : artel__from_bits((uint32_t)(h & 0x807fffffu) | (uint32_t)(127 - 66 + (int)((h >> 40) % 7)) << 23);
    case DENORMAL: return pick < 20 ? artel__from_bits((uint32_t)(h & 0x807fffffu)) : scaled(h, 10);
    default: break;
    }
    if (pick < 40) return 10.0f * uniform(seed, i);
    if (pick < 75) return scaled(h, 126);
    if (pick < 80) return artel__from_bits(((uint32_t)(h >> 32) & 0x80000000u) | (0x00800000u + (uint32_t)(h % 64) - 32));
    if (pick < 85) return artel__from_bits((artel__bits(scaled(h >> 8, 24)) & 0xff800000u) + (uint32_t)(h % 8) - 4);
    if (pick < 90) return (float)((int)(h % 257) - 128) * 0.5f;
    if (pick < 95) return artel__from_bits((uint32_t)(h & 0x807fffffu));
    return special(h >> 20);
}

static float *values(int64_t count, spread spread, uint64_t seed)
{
    float *at = array<float>(count);
    parallel(count, 65536, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) at[i] = random_value(spread, seed, (uint64_t)i);
    });
    return at;
}

/* -- one kind on both sides -- */

/* Room for results, twice. */
static float *want, *got;
static int64_t room;

static runner other_side(void)
{
    return {have_gpu ? DEVICE : HOST};
}

/* Runs p by the reference and by the other side; place(p, base) says where `count` floats of results go; begin: what lies there before,
 * or NULL. */
template <class P, class Place>
static difference both(const std::string &name, P p, int64_t count, Place place, const std::vector<const float *> &inputs = {},
                       const float *begin = NULL, runner other = other_side())
{
    difference d = {};
    if (count > room) {
        printf("%s: no room\n", name.c_str());
        return d;
    }
    for (float *base : {want, got}) {
        if (begin)
            memcpy(base, begin, (size_t)count * sizeof *base);
        else
            memset(base, 0xee, (size_t)count * sizeof *base);
    }
    place(p, want);
    runner{REFERENCE}(p);
    place(p, got);
    upload();
    other(p);
    if (have_gpu) check(cudaGetLastError(), name.c_str());
    download(got, count);
    compare(d, name, got, want, count, inputs);
    return d;
}

/* -- 0: the operations themselves -- */

static const char *const operation_names[] = {"add", "mul", "div", "sqrt", "fma",         "double-to-float", "float-to-double",
                                              "neg", "abs", "max", "less", "float-to-int"};

/* Operands whose result lies near the smallest normal number; of a quotient only the largest below it is of interest. */
static void edge_operands(operation op, int64_t count, float *a, float *b, float *c)
{
    for (int64_t i = 0; i < count; i++) {
        double target = SMALLEST * (1.0 + ldexp((double)uniform(31, (uint64_t)i), -22));
        a[i] = scaled(hashed(32, (uint64_t)i), 60);
        c[i] = 0.0f;
        if (op == FUSED && i % 2) {
            c[i] = i % 4 == 1 ? (float)SMALLEST : scaled(hashed(33, (uint64_t)i), 3) * 0x1p-120f;
            if (hashed(34, (uint64_t)i) % 2) target = -target;
            target -= (double)c[i];
        }
        b[i] = op == DIVIDE ? (float)((double)a[i] / target) : (float)(target / (double)a[i]);
        if (op == FUSED || i % 8 != 3) continue;
        int e = (int)(hashed(35, (uint64_t)i) % 60) + 1;
        a[i] = ldexpf(2.0f - 0x1p-23f, -e);
        b[i] = op == DIVIDE ? ldexpf(1.0f, 127 - e) : ldexpf(1.0f, e - 127);
    }
}

static void operations(int64_t count)
{
    const scope within;
    float *mixed[] = {values(count, MIXED, 1), values(count, MIXED, 2), values(count, MIXED, 3)};
    float *edge[] = {array<float>(count), array<float>(count), array<float>(count)};
    auto place = [](plain &p, float *base) { p.y = base; };
    {
        group g("operations, mixed"), x("same, x86 rule on device");
        for (int op = 0; op < OPERATIONS; op++) {
            plain p = {(operation)op, false, count, mixed[0], mixed[1], mixed[2], NULL};
            g.add(operation_names[op], both(operation_names[op], p, count, place, {mixed[0], mixed[1], mixed[2]}));
            p.x86 = true;
            x.add(operation_names[op], both(operation_names[op], p, count, place, {mixed[0], mixed[1], mixed[2]}));
        }
        g.print();
        x.print();
    }
    group g("operations, edge"), x("same, x86 rule on device");
    for (operation op : {MULTIPLY, DIVIDE, FUSED, NARROW}) {
        edge_operands(op, count, edge[0], edge[1], edge[2]);
        plain p = {op, true, count, edge[0], edge[1], edge[2], NULL};
        std::vector<const float *> inputs = {edge[0], edge[1], edge[2]};
        x.add(operation_names[op], both(operation_names[op], p, count, place, inputs));
        p.x86 = false;
        g.add(operation_names[op], both(operation_names[op], p, count, place, inputs));
        int64_t cpu[RULES] = {0}, gpu[RULES] = {0}, decided = 0;
        for (int64_t i = 0; i < count; i++) {
            float y = 0.0f;
            for (int r = 0; r < RULES && predicted(p, (rule)r, i, &y); r++) {
                decided += r == 0;
                cpu[r] += artel__bits(y) != artel__bits(want[i]);
                gpu[r] += artel__bits(y) != artel__bits(got[i]);
            }
        }
        printf("  rule of %-15s after/before/subnormal rounding, misses of %lld: cpu %lld/%lld/%lld gpu %lld/%lld/%lld\n",
               operation_names[op], (long long)decided, (long long)cpu[AFTER], (long long)cpu[BEFORE], (long long)cpu[SUBNORMAL],
               (long long)gpu[AFTER], (long long)gpu[BEFORE], (long long)gpu[SUBNORMAL]);
    }
    g.print();
    x.print();
}

/* -- 1: element-wise -- */

/* a, b, c of a function, as Keras' defaults. */
static void unary_constants(artel__unary op, float *a, float *b, float *c)
{
    *a = op == ARTEL__UNARY_RELU ? 0.0f : op == ARTEL__UNARY_LEAKY_RELU ? 0.2f : op == ARTEL__UNARY_POWER ? 2.5f : 1.0f;
    *b = op == ARTEL__UNARY_RELU ? INFINITY : op == ARTEL__UNARY_SCALE_SHIFT ? 0.5f : 2.0f;
    *c = 0.0f;
    if (op == ARTEL__UNARY_CLIP) *a = -1.0f;
    if (op == ARTEL__UNARY_SQUAREPLUS) *a = 4.0f;
    if (op == ARTEL__UNARY_SOFT_SHRINK || op == ARTEL__UNARY_HARD_SHRINK || op == ARTEL__UNARY_THRESHOLD) *a = 0.5f;
}

static void element_wise(int64_t count)
{
    const scope within;
    float *x = values(count, MIXED, 4), *y = values(count, MIXED, 5), *dy = values(count, MIXED, 6);
    {
        group f("unary"), b("unary gradients");
        for (int op = 0; op < ARTEL__UNARY_COUNT; op++) {
            const char *name = artel__unary_table[op].name;
            artel__unary_forward p = {.op = (artel__unary)op, .count = count, .x = x};
            artel__unary_gradient q = {.op = (artel__unary)op, .count = count, .x = x, .y = x, .dy = dy};
            unary_constants(p.op, &p.a, &p.b, &p.c);
            unary_constants(q.op, &q.a, &q.b, &q.c);
            f.add(name, both(name, p, count, [](auto &p, float *base) { p.y = base; }, {x}));
            b.add(name, both(name, q, count, [](auto &p, float *base) { p.dx = base; }, {x, dy}));
        }
        f.print();
        b.print();
    }
    {
        static const char *const names[] = {
#define BINARY(name, function) #function,
#include "kernel/binary.list"
#undef BINARY
        };
        group f("binary"), b("binary gradients");
        artel__loop loop = {.rank = 1, .dim = {count}, .stride = {{1}, {1}}};
        for (int op = 0; op < ARTEL__BINARY_COUNT; op++) {
            artel__binary_forward p = {.op = (artel__binary)op, .loop = loop, .a = x, .b = y};
            f.add(names[op], both(names[op], p, count, [](auto &p, float *base) { p.out = base; }, {x, y}));
            for (int wrt = 0; wrt < 2 && op != ARTEL__BINARY_ADD && op != ARTEL__BINARY_SUB; wrt++) {
                std::string name = std::string(names[op]) + (wrt ? "_b" : "_a");
                artel__binary_gradient q = {.op = (artel__binary)op, .wrt = wrt, .loop = loop, .a = x, .b = y, .dout = dy};
                b.add(name, both(name, q, count, [](auto &p, float *base) { p.gradient = base; }, {x, y, dy}));
            }
        }
        f.print();
        b.print();
    }
    {
        static const char *const names[] = {"dropout", "alpha", "gaussian", "gaussian_mul", "uniform"};
        group g("noise (Philox)");
        for (int op = 0; op <= ARTEL__NOISE_UNIFORM; op++) {
            artel__noise p = {.op = (artel__noise_op)op,
                              .key = artel__rng_make_key(0x123456789abcdefu, ARTEL__STREAM_DROPOUT),
                              .batch = 0x300000005u,
                              .node = 17,
                              .first_row = 1000,
                              .rows = count / 1024,
                              .rank = 1,
                              .dim = {1023},
                              .noise = {1023},
                              .rate = 0.3f,
                              .scale = 1.0f / 0.7f,
                              .shift = 0.25f,
                              .other = -0.5f,
                              .x = x};
            g.add(names[op], both(names[op], p, p.rows * 1023, [](auto &p, float *base) { p.y = base; }, {x}));
        }
        g.print();
    }
}

/* -- 2: products, convolutions and the rest -- */

static void round_all(float *at, int64_t count)
{
    for (int64_t i = 0; i < count; i++) at[i] = narrow_to_bfloat16(at[i]);
}

template <template <class> class Tile, class Source> static void run_tile(const Source &s, int64_t count)
{
    memset(got, 0xee, (size_t)count * sizeof *got);
    upload();
    if (have_gpu)
        tile_launch<Tile<Source>>(moved(s), NULL);
    else
        tile_host<Tile<Source>>(moved(s));
    if (have_gpu) check(cudaGetLastError(), "tile");
    download(got, count);
}

/* A tile against what lies in `want`. */
template <template <class> class Tile> static difference tile_product(const std::string &name, artel__product_forward p)
{
    difference d = {};
    p.out = got;
    run_tile<Tile, product_source>({p}, p.m * p.n);
    compare(d, name, got, want, p.m * p.n, {});
    return d;
}

static void products(void)
{
    const int64_t m = 150, n = 150, k = 333, panels = artel__panels_floats(k, n), turned = artel__panels_floats(n, k);
    auto place = [=](auto &p, float *base) { p.out = base; };
    group g("product"), gradient("product weight gradient"), small("product in 64 x 64"), large("product in 128 x 128"),
        x86("128 x 128, x86 rule");
    for (int s = NORMAL; s <= DENORMAL; s++) {
        const scope within;
        std::string name = spread_names[s];
        float *a = values(m * k, (spread)s, 50), *w = values(panels + turned, (spread)s, 51), *bias = values(n, (spread)s, 52);
        artel__product_forward p = {
            .m = m, .n = n, .k = k, .a = a, .lda = k, .w = w, .bias = bias, .activation = ARTEL__FUSED_RELU, .ldo = n};
        g.add(name, both(name, p, m * n, place));
        small.add(name, tile_product<small_tile>(name, p));
        large.add(name, tile_product<large_tile>(name, p));
        x86.add(name, tile_product<x86_tile>(name, p));
        p.turned = true;
        g.add(name + "-turned", both(name + "-turned", p, m * n, place));
        /* Rows as a batch of 75 with two positions each, 8 shards of uneven size; all of them, and six of them in four nodes. */
        for (int some = 0; some < 2; some++) {
            artel__fold_plan *plan = plan_of(8, some ? 1 : 0, some ? 6 : 8, 75);
            int64_t stride = panels + artel__panels_floats(1, n), nodes = plan->nodes;
            artel__product_weight_gradient q = {
                .fold = plan, .inner = 2, .k = k, .n = n, .x = a, .ldx = k, .dy = w, .ldy = n, .dw_stride = stride, .dbias_stride = n};
            auto gradients = [=](auto &p, float *base) {
                p.dw = base;
                p.dbias = base + nodes * stride;
            };
            gradient.add(name, both(name, q, nodes * (stride + n), gradients));
        }
        round_all(a, m * k);
        round_all(w, panels);
        p.turned = false;
        p.narrow = p.held = ARTEL_DTYPE_BFLOAT16;
        g.add(name + "-bfloat16", both(name + "-bfloat16", p, m * n, place));
        p.arithmetic = ARTEL__ARITHMETIC_TILES;
        g.add(name + "-bfloat16-tiles", both(name + "-bfloat16-tiles", p, m * n, place));
        p.arithmetic = ARTEL__ARITHMETIC_CHAIN;
        p.narrow = ARTEL_DTYPE_FLOAT16;
        g.add(name + "-float16", both(name + "-float16", p, m * n, place));
    }
    for (const group *each : {&g, &gradient, &small, &large, &x86}) each->print();
}

static void convolutions(void)
{
    /* The second: strides, dilation, groups, holes in the data gradient. */
    artel__conv2d_shape shapes[] = {same_shape(9, 17, 24, 40),
                                    {.images = 9,
                                     .ih = 15,
                                     .iw = 13,
                                     .ic = 8,
                                     .oh = 8,
                                     .ow = 5,
                                     .oc = 12,
                                     .kh = 3,
                                     .kw = 2,
                                     .sh = 2,
                                     .sw = 3,
                                     .dh = 1,
                                     .dw = 2,
                                     .top = 1,
                                     .left = 1,
                                     .groups = 2}};
    group f("conv2d"), d("conv2d data gradient"), w("conv2d weight gradient"), small("conv2d in 64 x 64");
    for (int s = NORMAL; s <= DENORMAL; s++) {
        std::string name = spread_names[s];
        for (const artel__conv2d_shape &shape : shapes) {
            const scope within;
            int64_t depth = shape.kh * shape.kw * (shape.ic / shape.groups), weights = artel__panels_floats(depth, shape.oc);
            int64_t in = shape.images * shape.ih * shape.iw * shape.ic, out = shape.images * shape.oh * shape.ow * shape.oc;
            int64_t turned = artel__pack_transposed_floats(shape.kh * shape.kw, shape.ic / shape.groups, shape.oc, shape.groups);
            float *x = values(in, (spread)s, 60), *dy = values(out, (spread)s, 61), *v = values(weights + turned, (spread)s, 62),
                  *bias = values(shape.oc, (spread)s, 63);
            artel__conv2d_forward p = {.shape = shape, .x = x, .w = v, .bias = bias, .activation = ARTEL__FUSED_RELU};
            f.add(name, both(name, p, out, [](auto &p, float *base) { p.out = base; }));
            if (shape.groups == 1) {
                difference t = {};
                p.out = got;
                run_tile<small_tile, conv_source>({p}, out);
                compare(t, name, got, want, out, {});
                small.add(name, t);
            }
            artel__conv2d_data_gradient q = {.shape = shape, .dy = dy, .wt = v};
            d.add(name, both(name, q, in, [](auto &p, float *base) { p.dx = base; }));
            artel__fold_plan *plan = plan_of(8, 0, 8, shape.images);
            artel__conv2d_weight_gradient r = {
                .shape = shape, .fold = plan, .x = x, .dy = dy, .dw_stride = weights, .dbias_stride = shape.oc};
            auto gradients = [=](auto &p, float *base) {
                p.dw = base;
                p.dbias = base + weights;
            };
            w.add(name, both(name, r, weights + shape.oc, gradients));
            artel__product_pack pack = {
                ARTEL__PACK_TRANSPOSE, shape.kh * shape.kw, shape.ic / shape.groups, shape.oc, shape.groups, v, NULL};
            d.add("pack", both("pack", pack, turned, [](auto &p, float *base) { p.to = base; }));
        }
    }
    for (const group *each : {&f, &d, &w, &small}) each->print();
}

static void pooling(void)
{
    group g("pooling and gradients");
    artel__pool_shape s = {.channels = 20};
    artel__pool_axis(&s, 0, 1, 1, 1, false);
    artel__pool_axis(&s, 1, 23, 3, 2, true);
    artel__pool_axis(&s, 2, 19, 3, 2, true);
    int64_t rows = 64, in = rows * artel__pool_in(&s) * s.channels, out = rows * artel__pool_out(&s) * s.channels;
    for (int k = NORMAL; k <= DENORMAL; k++) {
        const scope within;
        float *x = values(in, (spread)k, 70), *dy = values(out, (spread)k, 71), *y = array<float>(out);
        for (int64_t i = 0; i < in; i += 3) x[i] = x[i / 2]; /* ties */
        for (int op = 0; op < 2; op++) {
            std::string name = std::string(op ? "average-" : "max-") + spread_names[k];
            artel__pool_forward p = {(artel__pool_op)op, rows, s, x, NULL};
            g.add(name, both(name, p, out, [](auto &p, float *base) { p.y = base; }));
            memcpy(y, want, (size_t)out * sizeof *y);
            artel__pool_gradient q = {(artel__pool_op)op, rows, s, x, y, dy, NULL, op == 0};
            g.add(name, both(name, q, in, [](auto &p, float *base) { p.dx = base; }));
        }
    }
    g.print();
}

/* float64 results are compared as pairs of words. */
static void normalisation(void)
{
    const int64_t rows = 90, inner = 60, channels = 48, positions = rows * inner, count = positions * channels;
    group g("batch normalisation");
    for (int s = NORMAL; s <= DENORMAL; s++) {
        const scope within;
        std::string name = spread_names[s];
        artel__fold_plan *plan = plan_of(16, 3, 12, 120); /* 90 rows, uneven */
        float *x = values(count, (spread)s, 80), *dy = values(count, (spread)s, 81), *v = values(8 * channels, NORMAL, 82);
        double *part = array<double>(rows * 2 * channels), *nodes = array<double>(plan->nodes * 3 * channels),
               *sums = array<double>(2 * channels);
        float *mean = array<float>(4 * channels), *inverse = mean + 2 * channels;
        auto doubles = [](auto &p, float *base) { p.part = (double *)base; };
        g.add(name + "-rows",
              both(name + "-rows", artel__batch_moments_rows{rows, inner, channels, x, NULL}, 4 * rows * channels, doubles));
        memcpy(part, want, (size_t)(rows * 2 * channels) * sizeof *part);
        artel__batch_moments_fold fold = {plan, inner, channels, part, NULL};
        g.add(name + "-fold",
              both(name + "-fold", fold, plan->nodes * 3 * channels * 2, [](auto &p, float *base) { p.nodes = (double *)base; }));
        memcpy(nodes, want, (size_t)(plan->nodes * 3 * channels) * sizeof *nodes);
        auto statistics = [=](auto &p, float *base) {
            p.mean = base;
            p.variance = base + channels;
            p.inverse = base + 2 * channels;
        };
        g.add(name + "-finalize",
              both(name + "-finalize", artel__batch_norm_finalize{channels, 1e-3, nodes, NULL, NULL, NULL}, 3 * channels, statistics));
        memcpy(mean, want, (size_t)(3 * channels) * sizeof *mean);
        auto moving = [=](auto &p, float *base) {
            p.moving_mean = base;
            p.moving_variance = base + channels;
        };
        g.add(name + "-moving", both(name + "-moving", artel__batch_norm_moving{channels, 0.99, mean, mean + channels, NULL, NULL},
                                     2 * channels, moving, {}, v));
        for (int activation = 0; activation <= ARTEL__NORM_RELU6; activation++) {
            artel__batch_norm_forward p = {positions, channels, x, mean, inverse, v, v + channels, NULL, (artel__norm_activation)activation,
                                           NULL};
            g.add(name, both(name, p, count, [](auto &p, float *base) { p.y = base; }));
            float *y = array<float>(count);
            memcpy(y, want, (size_t)count * sizeof *y);
            artel__batch_norm_gradient_rows q = {rows, inner, channels, x, y, dy, mean, inverse, (artel__norm_activation)activation, NULL};
            g.add(name + "-gradient-rows", both(name + "-gradient-rows", q, 4 * rows * channels, doubles));
            for (int64_t c = 0; c < 2 * channels; c++) sums[c] = ((double *)want)[c];
            artel__batch_norm_gradient r = {
                positions, channels, (double)positions, x, y, dy, mean, inverse, v, sums, (artel__norm_activation)activation, NULL, NULL};
            g.add(name + "-gradient", both(name + "-gradient", r, count, [](auto &p, float *base) { p.dx = base; }));
        }
    }
    g.print();
}

static void losses(void)
{
    const scope within;
    const int64_t positions = 3000, length = 37, count = positions * length;
    const float *x = values(count, NORMAL, 90), *t = values(count, NORMAL, 91), *up = values(positions, NORMAL, 92),
                *wide = values(count, WIDE, 93);
    float *p01 = array<float>(count), *t01 = array<float>(count), *logits = array<float>(count);
    int32_t *classes = array<int32_t>(positions);
    for (int64_t i = 0; i < count; i++) {
        p01[i] = i % 50 == 0 ? 0.0f : 0.5f + 0.5f * x[i];
        t01[i] = 0.5f + 0.5f * t[i];
        logits[i] = i % 7 ? 12.0f * x[i] : wide[i];
    }
    for (int64_t i = 0; i < positions; i++) classes[i] = (int32_t)(hashed(94, (uint64_t)i) % 38); /* one is out of range */
    {
        group g("softmax and gradients");
        for (int op = 0; op <= ARTEL__LOG_SOFTMAX; op++) {
            for (int64_t inner : {(int64_t)1, (int64_t)10}) {
                std::string name = std::string(op ? "log_softmax-" : "softmax-") + std::to_string(inner);
                artel__softmax_forward p = {(artel__softmax_op)op, positions / inner, length, inner, logits, NULL};
                artel__softmax_gradient q = {(artel__softmax_op)op, positions / inner, length, inner, op ? x : p01, t, NULL, NULL};
                g.add(name, both(name, p, count, [](auto &p, float *base) { p.y = base; }));
                g.add(name, both(name, q, count, [](auto &p, float *base) { p.dx = base; }));
            }
        }
        g.print();
    }
    group g("losses and gradients");
    for (int op = 0; op < ARTEL__LOSS_COUNT; op++) {
        if (!loss_is_element((artel__loss)op) && !artel__loss_is_sparse((artel__loss)op)) continue;
        bool sparse = artel__loss_is_sparse((artel__loss)op);
        for (int far = 0; far < 2; far++) {
            std::string name = "loss " + std::to_string(op) + (far ? "-logits" : "");
            artel__loss_input in = {.op = (artel__loss)op,
                                    .positions = positions,
                                    .length = length,
                                    .per_row = 1,
                                    .target_dtype = sparse ? ARTEL_DTYPE_INT32 : ARTEL_DTYPE_FLOAT32,
                                    .target = sparse ? (const void *)classes : t01,
                                    .prediction = far ? logits : p01,
                                    .a = op == ARTEL__LOSS_HUBER ? 1.0f : 0.1f,
                                    .b = 0.25f,
                                    .c = 2.0f};
            g.add(name, both(name, artel__loss_forward{in, NULL}, positions, [](auto &p, float *base) { p.value = base; }));
            g.add(name, both(name, artel__loss_gradient{in, up, NULL}, count, [](auto &p, float *base) { p.gradient = base; }));
        }
    }
    artel__loss_seed_kernel seed = {.rows = positions, .inner = 1, .count = 12345.0, .scale = 0.7};
    g.add("seed", both("seed", seed, positions, [](auto &p, float *base) { p.out = base; }));
    g.print();
}

/* -- 3: folds and optimizers -- */

static void folds(void)
{
    group g("folds");
    const int64_t columns = 300, inner = 3;
    for (int s = NORMAL; s <= DENORMAL; s++) {
        for (int32_t shards : {1, 8, 256}) {
            const scope within;
            artel__fold_plan *plan = plan_of(shards, 0, shards, 301);
            float *x = values(301 * inner * columns, (spread)s, 100);
            std::string name = spread_names[s] + ("-" + std::to_string(shards));
            artel__fold_columns p = {plan, ARTEL_DTYPE_FLOAT32, ARTEL_DTYPE_FLOAT32, inner, columns, x, NULL, columns};
            auto place = [](auto &p, float *base) { p.y = base; };
            g.add(name, both(name, p, columns, place));
            p.to = ARTEL_DTYPE_FLOAT64;
            g.add(name + "-double", both(name + "-double", p, 2 * columns, place));
        }
    }
    g.print();
}

static void optimizers(int64_t count)
{
    const scope within;
    static const char *const names[] = {
#define RULE(NAME, name, ...) #name,
#include "kernel/optimizers.list"
#undef RULE
    };
    group g("optimizers"), f("whole-variable passes");
    for (int s : {(int)NORMAL, (int)WIDE, (int)TINY}) {
        const scope inside;
        float *begin = values(4 * count, (spread)s, 110), *gradient = values(count, (spread)s, 111);
        for (int64_t i = count; i < 4 * count; i++) begin[i] = artel__absf(begin[i]); /* slots: accumulators of squares */
        for (int rule = 0; rule < ARTEL__RULE_COUNT; rule++) {
            for (int more = 0; more < 2; more++) {
                std::string name = names[rule] + std::string(more ? "+-" : "-") + spread_names[s];
                artel__apply_options o = {.rule = (artel__rule)rule,
                                          .momentum = more || rule == ARTEL__RULE_SGD ? 0.9 : 0.0,
                                          .rho = 0.9,
                                          .beta_1 = 0.9,
                                          .beta_2 = 0.999,
                                          .epsilon = 1e-7,
                                          .nesterov = more == 1,
                                          .centered = more == 1,
                                          .amsgrad = more == 1,
                                          .learning_rate_power = more ? -0.4 : -0.5,
                                          .l1 = 0.01,
                                          .l2 = 0.01,
                                          .weight_decay = more ? 0.004 : 0.0};
                artel__apply p = {
                    .count = count, .gradient = gradient, .clip = more ? ARTEL__CLIP_VALUE : ARTEL__CLIP_NONE, .clip_a = 0.5f};
                artel__apply_prepare(&p, &o, 0.001f, 6, 0.7f);
                auto place = [=](auto &p, float *base) {
                    p.variable = base;
                    for (int k = 0; k < ARTEL__APPLY_SLOTS; k++) p.slot[k] = base + (k + 1) * count;
                };
                g.add(name, both(name, p, 4 * count, place, {}, begin));
            }
        }
        for (int op = 0; op <= ARTEL__FLAT_CLIP; op++) {
            std::string name = "pass " + std::to_string(op) + "-" + spread_names[s];
            artel__flat p = {(artel__flat_op)op, count, gradient, NULL, 0.9f, 1.7f};
            f.add(name, both(
                            name, p, count, [](auto &p, float *base) { p.y = base; }, {}, begin));
        }
    }
    g.print();
    f.print();
}

/* -- 4: whole steps -- */

template <class Model> static void steps(const char *name, Model (*make)(int64_t), int64_t batch, int count)
{
    const scope within;
    Model cpu = make(batch), gpu = make(batch), tiled = make(batch);
    runner first = {REFERENCE}, second = other_side(), third = {have_gpu ? TILED : HOST};
    upload();
    int same = 0, same_tiled = 0, broken = -1;
    double begin = 0.0;
    for (int t = 0; t < count; t++) {
        step(first, cpu, t);
        step(second, gpu, t);
        step(third, tiled, t);
        if (have_gpu) check(cudaGetLastError(), name);
        download_model(gpu);
        download_model(tiled);
        uint64_t d = digest(cpu);
        bool equal = d == digest(gpu) && memcmp(cpu.h.loss, gpu.h.loss, sizeof *cpu.h.loss) == 0;
        if (t == 0) begin = *cpu.h.loss / (double)batch;
        if (!equal && broken < 0) broken = t;
        same += equal;
        same_tiled += d == digest(tiled);
    }
    printf("%-26s %d of %d steps equal, in tiles %d; loss %.6f -> %.6f, digest cpu %016llx gpu %016llx\n", name, same, count, same_tiled,
           begin, *cpu.h.loss / (double)batch, (unsigned long long)digest(cpu), (unsigned long long)digest(gpu));
    if (broken >= 0) {
        group g("  first weights to differ");
        Model a = make(batch), b = make(batch);
        upload();
        for (int t = 0; t <= broken; t++) step(first, a, t), step(second, b, t);
        download_model(b);
        std::vector<variable> va = variables_of(a), vb = variables_of(b);
        for (size_t i = 0; i < va.size(); i++) {
            difference value = {}, gradient = {};
            compare(value, "value " + std::to_string(i), vb[i].value, va[i].value, va[i].count, {});
            compare(gradient, "gradient " + std::to_string(i), vb[i].gradient, va[i].gradient, va[i].count, {});
            g.add("value-" + std::to_string(i), value);
            g.add("gradient-" + std::to_string(i), gradient);
        }
        g.print();
    }
    fflush(stdout);
}

/* -- every input there is -- */

struct census {
    unsigned long long nan, denormal, edge, other, first;
};

__global__ void census_kernel(artel__unary_forward p, uint32_t base, const float *cpu, census *sum)
{
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < (uint32_t)p.count; i += gridDim.x * blockDim.x) {
        float x = artel__from_bits(base + i), y;
        artel__unary_forward one = p;
        one.x = &x;
        one.y = &y;
        compute(one, 0);
        uint32_t mine = artel__bits(y), theirs = artel__bits(cpu[i]);
        if (mine == theirs) continue;
        bool nan = (mine & 0x7fffffffu) > 0x7f800000u && (theirs & 0x7fffffffu) > 0x7f800000u;
        bool denormal = ((base + i) & 0x7f800000u) == 0 && ((base + i) & 0x7fffffu) != 0;
        bool edge = ((mine & 0x7fffffffu) == 0x00800000u && (theirs & 0x7fffffffu) == 0) ||
                    ((theirs & 0x7fffffffu) == 0x00800000u && (mine & 0x7fffffffu) == 0);
        atomicAdd(nan ? &sum->nan : denormal ? &sum->denormal : edge ? &sum->edge : &sum->other, 1ull);
        if (!nan && !denormal) atomicMin(&sum->first, (unsigned long long)(base + i));
    }
}

/* All 2^32 inputs of the functions that matter most, the CPU's side by its fastest kernel. */
static void every_input(double until)
{
    static const artel__unary ops[] = {ARTEL__UNARY_EXPONENTIAL, ARTEL__UNARY_LOG,   ARTEL__UNARY_TANH,      ARTEL__UNARY_SIGMOID,
                                       ARTEL__UNARY_GELU,        ARTEL__UNARY_RSQRT, ARTEL__UNARY_ERF,       ARTEL__UNARY_EXPM1,
                                       ARTEL__UNARY_LOG1P,       ARTEL__UNARY_SILU,  ARTEL__UNARY_SOFTPLUS,  ARTEL__UNARY_SQRT,
                                       ARTEL__UNARY_SQUARE,      ARTEL__UNARY_SIN,   ARTEL__UNARY_RECIPROCAL};
    const int64_t chunk = INT64_C(1) << 26;
    double took = 0.0;
    float *x = (float *)host_memory(chunk * 4), *y = (float *)host_memory(chunk * 4), *there = (float *)other_memory(chunk * 4);
    census *device, result, *const sum = &result;
    int done = 0;
    std::string names;
    check(cudaMalloc(&device, sizeof *device), "memory");
    for (artel__unary op : ops) {
        double before = seconds();
        if (before + took > until) break;
        result = {0, 0, 0, 0, ~0ull};
        check(cudaMemcpy(device, sum, sizeof *sum, cudaMemcpyHostToDevice), "copy");
        artel__unary_forward p = {.op = op, .count = chunk, .x = x, .y = y};
        unary_constants(op, &p.a, &p.b, &p.c);
        const artel__kernel *kernel = artel__kernel_choose(artel__unary_forward_kernels, artel__isa_of_machine(), &p);
        uint64_t base = 0;
        for (; base < UINT64_C(1) << 32 && seconds() < until + 5.0; base += (uint64_t)chunk) {
            parallel(chunk, 65536, [=](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; i++) x[i] = artel__from_bits((uint32_t)base + (uint32_t)i);
            });
            run_kernel(kernel, &p);
            check(cudaMemcpy(there, y, (size_t)chunk * 4, cudaMemcpyHostToDevice), "copy");
            census_kernel<<<4096, 256>>>(p, (uint32_t)base, there, device);
            check(cudaDeviceSynchronize(), "census");
        }
        check(cudaMemcpy(sum, device, sizeof *sum, cudaMemcpyDeviceToHost), "copy");
        took = seconds() - before;
        if (base < UINT64_C(1) << 32) printf("  %s: only %llu inputs tried\n", artel__unary_table[op].name, (unsigned long long)base);
        done += base == UINT64_C(1) << 32;
        names += std::string(" ") + artel__unary_table[op].name;
        if (sum->denormal + sum->edge + sum->other)
            printf("  all 2^32 of %s: NaN %llu denormal input %llu edge %llu other %llu first %08llx\n", artel__unary_table[op].name,
                   sum->nan, sum->denormal, sum->edge, sum->other, sum->first);
    }
    printf("all 2^32 inputs of %d functions (fast CPU kernels):%s\n", done, names.c_str());
    fflush(stdout);
}

/* -- speed -- */

__global__ void fill_kernel(float *at, int64_t count, uint64_t seed)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x)
        at[i] = uniform(seed, (uint64_t)i);
}

static float *device_values(int64_t count, uint64_t seed)
{
    float *at;
    check(cudaMalloc(&at, (size_t)count * sizeof *at), "memory");
    fill_kernel<<<1024, 256>>>(at, count, seed);
    return at;
}

__global__ void differ_kernel(const float *a, const float *b, int64_t count, unsigned long long *sum)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x)
        if (artel__bits(a[i]) != artel__bits(b[i])) atomicAdd(sum, 1ull);
}

static int64_t differing(const float *a, const float *b, int64_t count)
{
    unsigned long long *sum, result = 0;
    check(cudaMalloc(&sum, sizeof *sum), "memory");
    check(cudaMemset(sum, 0, sizeof *sum), "memory");
    differ_kernel<<<1024, 256>>>(a, b, count, sum);
    check(cudaMemcpy(&result, sum, sizeof result, cudaMemcpyDeviceToHost), "copy");
    cudaFree(sum);
    return (int64_t)result;
}

/* Milliseconds of one call: the least of five, after one to warm up. */
template <class F> static float milliseconds(F f)
{
    cudaEvent_t begin, end;
    float best = 1e30f;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    for (int i = 0; i < 6; i++) {
        float ms = 0.0f;
        cudaEventRecord(begin);
        f();
        cudaEventRecord(end);
        check(cudaEventSynchronize(end), "timing");
        cudaEventElapsedTime(&ms, begin, end);
        if (i > 0) best = std::min(best, ms);
    }
    return best;
}

static void speed_row(const char *what, const char *how, double operations, float ms, int64_t differ)
{
    printf("  %-28s %-22s %9.4f ms %7.2f Tflop/s  %lld differ from naive\n", what, how, ms, operations / ms * 1e-9, (long long)differ);
    fflush(stdout);
}

static void product_speed(int64_t m, int64_t n, int64_t k)
{
    char what[64];
    snprintf(what, sizeof what, "product %lld x %lld x %lld", (long long)m, (long long)k, (long long)n);
    float *a = device_values(m * k, 1), *w = device_values(k * n, 2), *naive = device_values(m * n, 3), *tiled = device_values(m * n, 4);
    artel__product_forward p = {.m = m, .n = n, .k = k, .a = a, .lda = k, .w = w, .out = naive, .ldo = n};
    double operations = 2.0 * (double)m * (double)n * (double)k;
    speed_row(what, "naive", operations, milliseconds([=] { run_device(p, NULL); }), 0);
    artel__product_forward q = p;
    q.out = tiled;
    float ms = milliseconds([=] { tile_launch<tiny_tile<product_source>>({q}, NULL); });
    speed_row(what, "32 x 32, 4 x 4", operations, ms, differing(naive, tiled, m * n));
    ms = milliseconds([=] { tile_launch<small_tile<product_source>>({q}, NULL); });
    speed_row(what, "64 x 64, 4 x 4", operations, ms, differing(naive, tiled, m * n));
    ms = milliseconds([=] { tile_launch<large_tile<product_source>>({q}, NULL); });
    speed_row(what, "128 x 128, 8 x 8", operations, ms, differing(naive, tiled, m * n));
    ms = milliseconds([=] { tile_launch<x86_tile<product_source>>({q}, NULL); });
    speed_row(what, "128 x 128, x86 rule", operations, ms, differing(naive, tiled, m * n));
    for (float *at : {a, w, naive, tiled}) cudaFree(at);
}

static void conv_speed(int64_t images, int64_t size, int64_t channels)
{
    char what[64];
    snprintf(what, sizeof what, "conv 3x3 %lldx%lldx%lldx%lld", (long long)images, (long long)size, (long long)size, (long long)channels);
    artel__conv2d_shape s = same_shape(images, size, channels, channels);
    int64_t count = images * size * size * channels;
    float *x = device_values(count, 1), *w = device_values(9 * channels * channels, 2), *naive = device_values(count, 3),
          *tiled = device_values(count, 4);
    artel__conv2d_forward p = {.shape = s, .x = x, .w = w, .out = naive};
    double operations = 18.0 * (double)count * (double)channels;
    speed_row(what, "naive", operations, milliseconds([=] { run_device(p, NULL); }), 0);
    p.out = tiled;
    float ms = milliseconds([=] { tile_launch<small_tile<conv_source>>({p}, NULL); });
    speed_row(what, "64 x 64, 4 x 4", operations, ms, differing(naive, tiled, count));
    ms = milliseconds([=] { tile_launch<large_tile<conv_source>>({p}, NULL); });
    speed_row(what, "128 x 128, 8 x 8", operations, ms, differing(naive, tiled, count));
    for (float *at : {x, w, naive, tiled}) cudaFree(at);
}

/* A step as launches, and as a graph of them; Adam's scalars and the dropout stand still in the graph. */
template <class Model> static void step_speed(const char *name, const Model &m, backend by)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    check(cudaStreamCreate(&stream), "stream");
    runner run = {by, stream};
    for (int t = 0; t < 5; t++) step(run, m, t);
    check(cudaStreamSynchronize(stream), name);
    auto begin = std::chrono::steady_clock::now();
    for (int t = 0; t < 100; t++) step(run, m, t);
    check(cudaStreamSynchronize(stream), name);
    double launches = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() * 10.0;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
    step(run, m, 0);
    check(cudaStreamEndCapture(stream, &graph), "capture");
    check(cudaGraphInstantiate(&ready, graph, 0), "graph");
    check(cudaGraphLaunch(ready, stream), "graph");
    check(cudaStreamSynchronize(stream), name);
    begin = std::chrono::steady_clock::now();
    for (int t = 0; t < 100; t++) check(cudaGraphLaunch(ready, stream), "graph");
    check(cudaStreamSynchronize(stream), name);
    double graphs = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() * 10.0;
    printf("  step of %-20s %-6s as launches %.4f ms, as a graph %.4f ms\n", name, by == TILED ? "tiled" : "naive", launches, graphs);
    fflush(stdout);
}

static void speed(void)
{
    const scope within;
    printf("speed, one ordered chain per output:\n");
    product_speed(4096, 4096, 4096);
    product_speed(512, 1024, 1024);
    product_speed(128, 128, 784);
    conv_speed(64, 56, 64);
    conv_speed(64, 14, 256);
    perceptron p = perceptron_of(128);
    network n = network_of(64);
    upload();
    step_speed("perceptron, batch 128", p, DEVICE);
    step_speed("perceptron, batch 128", p, TILED);
    step_speed("network, batch 64", n, DEVICE);
    step_speed("network, batch 64", n, TILED);
}

/* -- parts, each in a process of its own, so that none can spoil another -- */

static void find_machine(bool aloud)
{
    std::ifstream cpuinfo("/proc/cpuinfo");
    std::string line, cpu = "?";
    while (std::getline(cpuinfo, line))
        if (line.rfind("model name", 0) == 0) cpu = line.substr(line.find(':') + 2);
    int devices = 0;
    have_gpu = cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
    cudaDeviceProp properties = {};
    if (have_gpu) check(cudaGetDeviceProperties(&properties, 0), "device");
    if (aloud)
        printf("cpu %s, isa %s; gpu %s\n", cpu.c_str(), artel__isa_name(artel__isa_of_machine()),
               have_gpu ? properties.name : "none: compute() on the host in its stead");
}

static void plain_part(int64_t count)
{
    operations(count);
    element_wise(count);
}

static void product_part(int64_t)
{
    products();
    convolutions();
}

static void other_part(int64_t count)
{
    pooling();
    normalisation();
    losses();
    folds();
    optimizers(count / 4);
}

static void step_part(int64_t)
{
    steps<perceptron>("perceptron 784-128-10", perceptron_of, 128, 20);
    steps<network>("convolutional network", network_of, 44, 10); /* 8 shards of 5 or 6 rows */
}

static void speed_part(int64_t)
{
    if (have_gpu) speed();
}

static void input_part(int64_t)
{
    if (have_gpu) every_input(seconds() + 20.0);
}

static const struct part {
    const char *name;
    void (*run)(int64_t count);
    unsigned limit; /* seconds */
} parts[] = {{"elements", plain_part, 40}, {"products", product_part, 30}, {"others", other_part, 30},
             {"steps", step_part, 30},     {"speed", speed_part, 30},      {"inputs", input_part, 30}};

static pid_t child;

static void too_long(int)
{
    static const char text[] = "\nown_bits: 100 s are over, given up\n";
    ssize_t written = write(1, text, sizeof text - 1);
    if (child > 0) kill(child, SIGKILL);
    _exit(written > 0 ? 0 : 0);
}

static void run_part(const part &p, int64_t count, bool first)
{
    int status = 0;
    fflush(stdout);
    child = fork();
    if (child == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(p.limit);
        find_machine(first);
        room = std::max<int64_t>(4 * count, INT64_C(1) << 20);
        arena_init(std::max<int64_t>(INT64_C(1) << 28, 256 * count));
        want = array<float>(room);
        got = array<float>(room);
        p.run(count);
        fflush(stdout);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        printf("part %s ended early: %s\n", p.name, WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "error");
    child = 0;
    printf("(%s: %.1f s)\n", p.name, seconds());
}

int main(int argc, char **argv)
{
    int64_t count = INT64_C(1) << (argc > 1 ? atoi(argv[1]) : 21);
    started = std::chrono::steady_clock::now();
    signal(SIGALRM, too_long);
    alarm(100);
    bool first = true;
    for (const part &p : parts) {
        if (argc > 2 && strcmp(argv[2], p.name) != 0) continue;
        run_part(p, count, first);
        first = false;
    }
    return 0;
}
