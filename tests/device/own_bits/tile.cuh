/* SPDX-License-Identifier: Apache-2.0 */
/* Products in tiles, each output still one chain of fused multiply-adds in the order of the reduction index.
 *
 * A block of threads makes ROWS x COLUMNS outputs, a thread SIDE x SIDE of them in registers (in pieces of four, far apart, so that shared
 * memory is read without conflicts). A Source says what the factors are: a product, or a convolution. The phases between two barriers
 * are functions of their own, so that the host can run them too, thread by thread.
 */
#ifndef OWN_BITS_TILE_CUH
#define OWN_BITS_TILE_CUH

#include "edge.cuh"
#include "element.cuh"

/* -- what is multiplied -- */

/* A column of weights in panels. */
struct panel_column {
    const float *at;
    int32_t next;
    HD float operator()(int32_t k) const
    {
        return at[(int64_t)k * next];
    }
};

HD panel_column column_of(const float *w, int64_t depth, int64_t columns, int64_t n)
{
    return {w + artel__panels_offset(depth, columns, 0, n < columns ? n : columns - 1),
            (int32_t)artel__panel_width(columns, (n < columns ? n : columns - 1) / ARTEL__PANEL)};
}

/* Not turned. */
struct product_source {
    artel__product_forward p;
    struct row {
        const float *at;
    };
    HD int32_t rows() const
    {
        return (int32_t)p.m;
    }
    HD int32_t columns() const
    {
        return (int32_t)p.n;
    }
    HD int32_t depth() const
    {
        return (int32_t)p.k;
    }
    HD row row_of(int32_t i) const
    {
        return {p.a + (int64_t)(i < p.m ? i : p.m - 1) * p.lda};
    }
    HD panel_column column(int32_t j) const
    {
        return column_of(p.w, p.k, p.n, j);
    }
    HD float left(const row &r, int32_t k) const
    {
        return r.at[k];
    }
    HD void put(int32_t i, int32_t j, float acc) const
    {
        if (p.bias) acc += p.bias[j];
        p.out[i * p.ldo + j] = finish(p.activation, p.narrow, acc);
    }
};

/* One group. */
struct conv_source {
    artel__conv2d_forward p;
    struct row {
        const float *image;
        int32_t y, x; /* of tap (0, 0) */
    };
    HD int32_t rows() const
    {
        return (int32_t)(p.shape.images * p.shape.oh * p.shape.ow);
    }
    HD int32_t columns() const
    {
        return (int32_t)p.shape.oc;
    }
    HD int32_t depth() const
    {
        return (int32_t)(p.shape.kh * p.shape.kw * p.shape.ic);
    }
    HD row row_of(int32_t i) const
    {
        const artel__conv2d_shape &s = p.shape;
        int32_t o = i < rows() ? i : rows() - 1, ow = (int32_t)s.ow, oh = (int32_t)s.oh;
        return {p.x + o / ow / oh * s.ih * s.iw * s.ic, o / ow % oh * (int32_t)s.sh - (int32_t)s.top,
                o % ow * (int32_t)s.sw - (int32_t)s.left};
    }
    HD panel_column column(int32_t j) const
    {
        return column_of(p.w, depth(), p.shape.oc, j);
    }
    HD float left(const row &r, int32_t k) const
    {
        const artel__conv2d_shape &s = p.shape;
        int32_t ic = (int32_t)s.ic, kw = (int32_t)s.kw, tap = k / ic;
        int32_t y = r.y + tap / kw * (int32_t)s.dh, x = r.x + tap % kw * (int32_t)s.dw;
        bool inside = y >= 0 && y < s.ih && x >= 0 && x < s.iw;
        return inside ? r.image[(y * s.iw + x) * ic + k % ic] : 0.0f;
    }
    HD void put(int32_t i, int32_t j, float acc) const
    {
        p.out[(int64_t)i * p.shape.oc + j] = conv_finish(p.shape, p.bias, j, p.activation, p.narrow, acc);
    }
};

/* -- the tile -- */

template <int ROWS_, int COLUMNS_, int DEPTH_, int SIDE_, bool X86_, class Source_> struct tile {
    typedef Source_ Source;
    static constexpr int ROWS = ROWS_, COLUMNS = COLUMNS_, DEPTH = DEPTH_, SIDE = SIDE_;
    static constexpr int ACROSS = COLUMNS / SIDE, THREADS = ROWS / SIDE * ACROSS, PIECES = SIDE / 4;
    static constexpr int LEFT = ROWS * DEPTH / THREADS, RIGHT = COLUMNS * DEPTH / THREADS, STEP = THREADS / COLUMNS;
    static_assert(THREADS % DEPTH == 0 && THREADS % COLUMNS == 0 && SIDE % 4 == 0);

    struct shared {
        alignas(16) float left[DEPTH][ROWS + 4];
        alignas(16) float right[DEPTH][COLUMNS];
    };
    struct thread {
        typename Source::row row[LEFT];
        panel_column column;
        float left[LEFT], right[RIGHT]; /* on the way to shared memory */
        float acc[SIDE][SIDE];
    };

    HD static void begin(const Source &s, int32_t row, int32_t column, int t, thread &my)
    {
#pragma unroll
        for (int i = 0; i < LEFT; i++) my.row[i] = s.row_of(row + t / DEPTH + i * (THREADS / DEPTH));
        my.column = s.column(column + t % COLUMNS);
#pragma unroll
        for (int i = 0; i < SIDE; i++)
#pragma unroll
            for (int j = 0; j < SIDE; j++) my.acc[i][j] = 0.0f;
    }

    HD static void fetch(const Source &s, int32_t first, int t, thread &my)
    {
        int32_t depth = s.depth(), k = first + t % DEPTH, down = first + t / COLUMNS;
#pragma unroll
        for (int i = 0; i < LEFT; i++) my.left[i] = k < depth ? s.left(my.row[i], k) : 0.0f;
#pragma unroll
        for (int i = 0; i < RIGHT; i++) my.right[i] = down + i * STEP < depth ? my.column(down + i * STEP) : 0.0f;
    }

    HD static void store(int t, const thread &my, shared &at)
    {
#pragma unroll
        for (int i = 0; i < LEFT; i++) at.left[t % DEPTH][t / DEPTH + i * (THREADS / DEPTH)] = X86_ ? flush(my.left[i]) : my.left[i];
#pragma unroll
        for (int i = 0; i < RIGHT; i++) at.right[t / COLUMNS + i * STEP][t % COLUMNS] = X86_ ? flush(my.right[i]) : my.right[i];
    }

    HD static void step(int k, int t, const shared &at, thread &my)
    {
        float a[SIDE], b[SIDE];
#pragma unroll
        for (int i = 0; i < PIECES; i++) {
            float4 four = *(const float4 *)&at.left[k][i * (ROWS / PIECES) + t / ACROSS * 4];
            a[4 * i] = four.x, a[4 * i + 1] = four.y, a[4 * i + 2] = four.z, a[4 * i + 3] = four.w;
            four = *(const float4 *)&at.right[k][i * (COLUMNS / PIECES) + t % ACROSS * 4];
            b[4 * i] = four.x, b[4 * i + 1] = four.y, b[4 * i + 2] = four.z, b[4 * i + 3] = four.w;
        }
#pragma unroll
        for (int i = 0; i < SIDE; i++)
#pragma unroll
            for (int j = 0; j < SIDE; j++) my.acc[i][j] = X86_ ? fma_x86(a[i], b[j], my.acc[i][j]) : fmaf(a[i], b[j], my.acc[i][j]);
    }

    /* Terms past the end would change the sign of a zero: they are left out. */
    HD static void multiply(int32_t terms, int t, const shared &at, thread &my)
    {
        if (terms >= DEPTH) {
#pragma unroll
            for (int k = 0; k < DEPTH; k++) step(k, t, at, my);
        } else {
            for (int k = 0; k < terms; k++) step(k, t, at, my);
        }
    }

    HD static void end(const Source &s, int32_t row, int32_t column, int t, const thread &my)
    {
#pragma unroll
        for (int i = 0; i < SIDE; i++) {
#pragma unroll
            for (int j = 0; j < SIDE; j++) {
                int32_t r = row + i / 4 * (ROWS / PIECES) + t / ACROSS * 4 + i % 4;
                int32_t c = column + j / 4 * (COLUMNS / PIECES) + t % ACROSS * 4 + j % 4;
                if (r < s.rows() && c < s.columns()) s.put(r, c, my.acc[i][j]);
            }
        }
    }
};

template <class Tile> __global__ void __launch_bounds__(Tile::THREADS, 2) tile_kernel(typename Tile::Source s)
{
    __shared__ typename Tile::shared at[2];
    typename Tile::thread my;
    int32_t row = blockIdx.y * Tile::ROWS, column = blockIdx.x * Tile::COLUMNS, depth = s.depth();
    int t = threadIdx.x, now = 0;
    Tile::begin(s, row, column, t, my);
    Tile::fetch(s, 0, t, my);
    Tile::store(t, my, at[0]);
    __syncthreads();
    for (int32_t k = 0; k < depth; k += Tile::DEPTH, now ^= 1) {
        if (k + Tile::DEPTH < depth) Tile::fetch(s, k + Tile::DEPTH, t, my);
        Tile::multiply(depth - k, t, at[now], my);
        if (k + Tile::DEPTH < depth) Tile::store(t, my, at[now ^ 1]);
        __syncthreads();
    }
    Tile::end(s, row, column, t, my);
}

/* The same on the host. */
template <class Tile> void tile_host(const typename Tile::Source &s)
{
    static typename Tile::shared at;
    static typename Tile::thread my[Tile::THREADS];
    uint32_t state = artel__fp_enter();
    for (int32_t row = 0; row < s.rows(); row += Tile::ROWS) {
        for (int32_t column = 0; column < s.columns(); column += Tile::COLUMNS) {
            for (int t = 0; t < Tile::THREADS; t++) Tile::begin(s, row, column, t, my[t]);
            for (int32_t k = 0; k < s.depth(); k += Tile::DEPTH) {
                for (int t = 0; t < Tile::THREADS; t++) Tile::fetch(s, k, t, my[t]), Tile::store(t, my[t], at);
                for (int t = 0; t < Tile::THREADS; t++) Tile::multiply(s.depth() - k, t, at, my[t]);
            }
            for (int t = 0; t < Tile::THREADS; t++) Tile::end(s, row, column, t, my[t]);
        }
    }
    artel__fp_leave(state);
}

template <class Tile> void tile_launch(const typename Tile::Source &s, cudaStream_t stream)
{
    dim3 grid((s.columns() + Tile::COLUMNS - 1) / Tile::COLUMNS, (s.rows() + Tile::ROWS - 1) / Tile::ROWS);
    tile_kernel<Tile><<<grid, Tile::THREADS, 0, stream>>>(s);
}

template <class Source> using tiny_tile = tile<32, 32, 16, 4, false, Source>;
template <class Source> using small_tile = tile<64, 64, 16, 4, false, Source>;
template <class Source> using large_tile = tile<128, 128, 8, 8, false, Source>;
template <class Source> using x86_tile = tile<128, 128, 8, 8, true, Source>;

#endif
