/* SPDX-License-Identifier: Apache-2.0 */
/* Weight gradients: the problem, a thread's scratch, and how rows of x and dy get into it.
 *
 * x lies in scratch as [tile][row][VEC_LANES], the columns of a tile side by side whatever taps they come from, with a
 * column of ones behind the last one for the bias; dy as [strip of a tile's columns][row][column]. Pixels whose taps
 * all lie inside the image are copied in the longest stretches there are, those near the border tap by tap with zeros
 * for what is outside. Of a line each stretch is copied as a whole: what is read has been fetched, what is written
 * waits for its lines. Nothing is copied where rows of x are near to one another and, of a convolution, lines are long:
 * then the tiles are cut so that each lies in one tap or row of taps. Included behind a micro_vec_*.h.
 */
#ifndef ARTEL_KERNEL_SIMD_PRODUCT_GRADIENT_TAKE_H
#define ARTEL_KERNEL_SIMD_PRODUCT_GRADIENT_TAKE_H

#include "kernel/simd/conv_walk.h"
#include "kernel/simd/micro_fold.h"
#include "kernel/simd/room.h"

enum {
    GRADIENT_ROWS = 192,             /* rows of a chunk of plain x */
    GRADIENT_LINES = 208,            /* rows of a chunk of whole lines, at most; a lone line may be longer */
    GRADIENT_ALL = 512,              /* so many rows at most are taken as one chunk, with fewer tiles */
    GRADIENT_DEEP = 448 / TILE_ROWS, /* tiles of x that are held at once */
    GRADIENT_WIDE = 8,               /* panels of dy while chains are unfinished */
    GRADIENT_STRIPS = ARTEL__PANEL / TILE_COLUMNS,
    GRADIENT_DIRECT = 64,                   /* columns of dy up to which it is read in place */
    GRADIENT_FEW = TILE_ROWS > 6 ? 512 : 0, /* columns of x up to which it is, too: too few tiles would read the copy */
    /* Tiles of more rows read the lines of x less often. */
    GRADIENT_NEAR = TILE_ROWS > 6 ? 512 : 256, /* floats between rows of plain x up to which it is read in place */
    GRADIENT_PIXEL = TILE_ROWS > 6 ? 256 : 32, /* likewise between pixels of lines */
    GRADIENT_LONG = TILE_ROWS > 6 ? 24 : 48,   /* pixels of a line from which on they are read in place */
    GRADIENT_SLIM = TILE_ROWS > 6 ? 64 : 0,    /* floats between pixels up to which shorter lines are, too */
    GRADIENT_SLIM_LONG = 12,
    GRADIENT_SHORT = 8,              /* and columns that are neighbours in memory */
    GRADIENT_FAR = 512,              /* floats between rows from which on they are copied in groups */
    GRADIENT_GROUP = 8,              /* as many as a set of the first-level cache has lines */
    GRADIENT_PART = 112 / TILE_ROWS, /* tiles of a panel that are followed at once: in the first-level cache */
    GRADIENT_HALF = 8                /* columns of x from which on a lone tile is cut in two, for a second thread */
};

typedef struct gradient {
    const artel__fold_plan *fold;
    int64_t inner, k, n, groups;
    const float *x; /* plain x; or, when walk.ny > 0, the walk */
    int64_t ldx;
    conv_walk walk;
    const float *dy;
    int64_t ldy;
    float *dw;
    int64_t dw_stride;
    float *dbias;
    int64_t dbias_stride;
    artel__consumer follow;
    /* derived */
    int64_t rows, chunk; /* all rows; rows of a chunk */
    int64_t
        pitch; /* floats between two tiles of x: an odd number of rows, so that tiles spread over the cache's sets */
    int64_t columns;   /* k, and one for the bias */
    bool in_place;     /* x is read where it lies, except for a tile with the ones */
    int64_t run, runs; /* in place: columns that are neighbours in memory, how often; else all columns, once */
    int64_t cuts;      /* tiles of a run; the last one may have more, since a tile of it takes the ones besides */
    int64_t tiles;     /* tiles of k; a task is a tile by a panel */
    int64_t most;      /* tiles of x that are held at once, at most GRADIENT_DEEP, at least 4 */
    int64_t panels;
    bool direct;    /* dy is not copied */
    bool by_panels; /* tasks are numbered panel by panel, not tile by tile */
    int levels;
} gradient;

/* A stretch of columns of x that is contiguous in memory and lies in one tile: where it starts, relative to a pixel's
 * first tap, less its lane; where it goes, relative to the row's place in the first tile. */
typedef struct gradient_take {
    int64_t from, to;
    vec_mask lanes;
    int32_t y, x; /* the tap (the first one of a joined stretch) */
    bool whole;   /* starts at lane 0: the lanes behind may be overwritten */
} gradient_take;

/* The stretches of some tiles: as long as they go, and cut at every tap for pixels at the border. */
typedef struct gradient_list {
    gradient_take *take;
    int64_t count;
} gradient_list;

/* Where things lie in a thread's scratch. */
typedef struct gradient_room {
    float *x, *dy, *partial, *stack, *part; /* part: of a followed dw, tiles of a panel */
    gradient_list joined, cut;
    int64_t start[GRADIENT_DEEP + 1]; /* first columns of the tiles under way: computing them takes divisions */
    fold_piece *pieces;
    size_t bytes;
} gradient_room;

/* Whole lines of an image. Where a shard has about as many rows as a chunk they are the same, so that chains end with
 * their chunk. */
static int64_t gradient_chunk_rows(const gradient *g)
{
    int64_t pixels = g->walk.ny > 0 && g->walk.pixels > 0 ? g->walk.pixels : 1;
    int64_t shard = g->fold->count > 0 ? g->rows / g->fold->count : 0;
    if (g->rows <= GRADIENT_ALL) return g->rows > 0 ? g->rows : GRADIENT_ROWS;
    if (shard > GRADIENT_ROWS / 2 && shard <= GRADIENT_ROWS && shard % pixels == 0) return shard;
    if (pixels == 1) return GRADIENT_ROWS;
    int64_t lines = pixels < GRADIENT_LINES ? GRADIENT_LINES / pixels : 1;
    if (lines * pixels % VEC_ROWS > 0) lines += lines > 1 ? -1 : 1;
    return lines * pixels;
}

/* Cuts the columns into tiles. In place a tile lies in one stretch, and where pixels may lie outside of the image in
 * one tap. */
static void gradient_cut(gradient *g)
{
    const conv_walk *w = &g->walk;
    g->columns = g->k + (g->dbias ? 1 : 0);
    g->run = g->columns;
    g->in_place = VEC_ROWS == 1 && w->ny == 0 && g->ldx <= GRADIENT_NEAR;
    if (VEC_ROWS == 1 && w->ny * w->nx > 0 &&
        w->pixels >= (w->sx * w->c <= GRADIENT_SLIM ? GRADIENT_SLIM_LONG : GRADIENT_LONG) && w->lines > 0 &&
        g->groups == 1 && w->sx * w->c <= GRADIENT_PIXEL) {
        int64_t run = w->direct && w->dx == 1 ? w->nx * w->depth : w->depth;
        g->in_place = run >= GRADIENT_SHORT;
        if (g->in_place) g->run = run;
    }
    g->cuts = g->tiles = tile_count(g->run);
    g->runs = 1;
    if (g->run == g->columns) return;
    g->runs = g->k / g->run;
    g->tiles = (g->runs - 1) * g->cuts + (g->dbias ? (g->run + TILE_ROWS - 2) / (TILE_ROWS - 1) : g->cuts);
}

/* The first column of tile i. */
static int64_t gradient_start(const gradient *g, int64_t i)
{
    if (i == g->tiles) return g->columns;
    int64_t run = i / g->cuts < g->runs ? i / g->cuts : g->runs - 1, first = run * g->cuts;
    return run * g->run + tile_cut(g->run, run + 1 < g->runs ? g->cuts : g->tiles - first, i - first);
}

static void gradient_finish(gradient *g)
{
    int32_t most = 1;
    g->rows = g->fold->rows * g->inner;
    g->chunk = gradient_chunk_rows(g);
    g->pitch = (g->chunk | 1) * VEC_LANES;
    g->most = GRADIENT_DEEP * GRADIENT_ROWS / (g->chunk > GRADIENT_ROWS ? g->chunk : GRADIENT_ROWS);
    if (g->most < 4) g->most = 4;
    gradient_cut(g);
    g->panels = artel__panel_count(g->n);
    if (g->tiles == 1 && g->panels == 1 && g->columns >= GRADIENT_HALF) g->tiles = 2;
    g->direct = VEC_ROWS == 1 && (g->n <= GRADIENT_DIRECT || g->k <= GRADIENT_FEW) && g->n % 16 == 0;
    g->by_panels = g->k < g->n;
    for (int32_t i = 0; i < g->fold->nodes; i++) most = g->fold->node[i].count > most ? g->fold->node[i].count : most;
    for (g->levels = 1; most > 1; most /= 2) g->levels++;
}

/* One node, whose panels are computed whole. */
static bool gradient_follows(const gradient *g)
{
    return g->groups == 1 && g->fold->nodes == 1;
}

static gradient_room gradient_lay(const gradient *g, char *base)
{
    gradient_room r;
    size_t used = 0;
    int64_t held = g->rows > g->chunk ? GRADIENT_DEEP * GRADIENT_WIDE * GRADIENT_STRIPS : 1;
    r.x = room_take(&used, base, g->most * g->pitch * 4);
    r.dy = room_take(&used, base, g->direct ? 0 : GRADIENT_WIDE * g->chunk * ARTEL__PANEL * 4);
    r.joined.take = room_take(&used, base, GRADIENT_DEEP * TILE_ROWS * (int64_t)sizeof(gradient_take));
    r.cut.take = room_take(&used, base, GRADIENT_DEEP * TILE_ROWS * (int64_t)sizeof(gradient_take));
    r.partial = room_take(&used, base, held * FOLD_TILE * 4);
    r.stack = room_take(&used, base, held * g->levels * FOLD_TILE * 4);
    r.part = room_take(&used, base, gradient_follows(g) ? GRADIENT_PART * TILE_ROWS * ARTEL__PANEL * 4 : 0);
    r.pieces = room_take(&used, base, (g->fold->count + 2) * (int64_t)sizeof(fold_piece));
    r.bytes = used;
    return r;
}

/* Stretches of columns of tiles [t0, t1), in order, none across a multiple of `run`. */
static void gradient_takes(const gradient *g, int64_t t0, int64_t t1, int64_t run, gradient_list *out)
{
    const conv_walk *w = &g->walk;
    out->count = 0;
    for (int64_t i = t0; i < t1; i++) {
        int64_t k0 = gradient_start(g, i), k1 = gradient_start(g, i + 1);
        if (k1 > g->k) k1 = g->k;
        for (int64_t k = k0, next; k < k1; k = next) {
            int64_t lane = k - k0;
            gradient_take take = {k - lane, (i - t0) * g->pitch, vec_range(0, 0), 0, 0, lane == 0};
            next = k - k % run + run < k1 ? k - k % run + run : k1;
            take.lanes = vec_range((int)lane, (int)(next - k0));
            if (w->ny > 0) {
                take.y = (int32_t)(k / w->depth / w->nx);
                take.x = (int32_t)(k / w->depth % w->nx);
                take.from = (take.y * w->dy * w->w + take.x * w->dx) * w->c + k % w->depth - lane;
            }
            out->take[out->count++] = take;
        }
    }
}

VEC_INLINE void gradient_put(const gradient_take *take, float *to, vec x)
{
    if (take->whole)
        vec_store(to + take->to, x);
    else
        vec_store_part(to + take->to, take->lanes, x);
}

/* Rows of pixels, `step` floats apart, into their tiles: one tile after the other, so that each is written in order.
 * Rows that lie a page or more apart take turns in small groups, whose lines stay in the first-level cache meanwhile.
 */
static void gradient_copy(const gradient_take *begin, const gradient_take *end, const float *from, int64_t step,
                          int64_t rows, float *to)
{
    int64_t group = step >= GRADIENT_FAR ? GRADIENT_GROUP : rows;
    for (int64_t first = 0; first < rows; first += group) {
        int64_t last = first + group < rows ? first + group : rows;
        for (const gradient_take *take = begin; take < end; take++) {
            for (int64_t r = first; r < last; r++) {
                gradient_put(take, to + r * VEC_LANES, vec_load_part(from + take->from + r * step, take->lanes));
            }
        }
    }
}

/* The stretches whose tap row lies inside the image when the first one is at row y0; the others are set to zero. */
static void gradient_live(const conv_walk *w, const gradient_list *list, int64_t y0, float *to, int64_t rows,
                          const gradient_take **begin, const gradient_take **end)
{
    const gradient_take *last = list->take + list->count;
    *begin = *end = last;
    for (const gradient_take *take = list->take; take < last; take++) {
        int64_t y = y0 + take->y * w->dy;
        if (y >= 0 && y < w->h) {
            if (*begin == last) *begin = take;
            *end = take + 1;
        } else {
            for (int64_t r = 0; r < rows; r++) gradient_put(take, to + r * VEC_LANES, vec_zero());
        }
    }
}

/* Pixels of one line near the border, tap by tap. */
static void gradient_border(const conv_walk *w, const gradient_take *begin, const gradient_take *end, const float *from,
                            int64_t x0, int64_t x1, float *to)
{
    for (int64_t x = x0; x < x1; x++) {
        for (const gradient_take *take = begin; take < end; take++) {
            int64_t column = x * w->sx + w->x0 + take->x * w->dx;
            bool inside = column >= 0 && column < w->w;
            gradient_put(take, to + x * VEC_LANES,
                         inside ? vec_load_part(from + x * w->sx * w->c + take->from, take->lanes) : vec_zero());
        }
    }
}

static void gradient_line(const gradient *g, const gradient_room *room, int64_t line, int64_t group, float *to)
{
    const conv_walk *w = &g->walk;
    int64_t y0 = line % w->lines * w->sy + w->y0, across = (w->nx - 1) * w->dx;
    const float *from = w->in + (((line / w->lines * w->h + y0) * w->w + w->x0) * w->c + group * w->depth);
    int64_t x0 = w->x0 < 0 ? (-w->x0 + w->sx - 1) / w->sx : 0, x1 = w->w - w->x0 - across;
    const gradient_take *begin, *end;
    x1 = x1 > 0 ? (x1 - 1) / w->sx + 1 : 0;
    if (x1 > w->pixels) x1 = w->pixels;
    if (x0 > x1) x0 = x1 = 0;
    gradient_live(w, &room->joined, y0, to + x0 * VEC_LANES, x1 - x0, &begin, &end);
    gradient_copy(begin, end, from + x0 * w->sx * w->c, w->sx * w->c, x1 - x0, to + x0 * VEC_LANES);
    if (x0 == 0 && x1 == w->pixels) return;
    gradient_live(w, &room->cut, y0, to, x0, &begin, &end);
    gradient_border(w, begin, end, from, 0, x0, to);
    gradient_live(w, &room->cut, y0, to + x1 * VEC_LANES, w->pixels - x1, &begin, &end);
    gradient_border(w, begin, end, from, x1, w->pixels, to);
}

/* The first of tiles [t0, t1) that is copied; the room begins with it. */
static int64_t gradient_first_copied(const gradient *g, int64_t t0, int64_t t1)
{
    if (!g->in_place) return t0;
    return t1 == g->tiles && g->columns > g->k ? t1 - 1 : t1;
}

/* The rows of a tile as rows of pairs, from its beginning on. */
static void gradient_join(float *x, int64_t rows)
{
    for (int64_t r = 0; r < rows; r += VEC_ROWS) {
        const float *from = x + r * VEC_LANES;
        vec_store(x + r / VEC_ROWS * VEC_LANES, vec_join(vec_load(from), vec_load(from + (VEC_ROWS - 1) * VEC_LANES)));
    }
}

/* Tiles [t0, t1) of x for group `group` and rows [begin, end), the ones behind the last column. */
static void gradient_take_x(const gradient *g, const gradient_room *room, int64_t begin, int64_t end, int64_t group,
                            int64_t t0, int64_t t1)
{
    const conv_walk *w = &g->walk;
    if (t0 == t1) return;
    if (w->ny == 0) {
        const gradient_take *first = room->joined.take;
        gradient_copy(first, first + room->joined.count, g->x + begin * g->ldx, g->ldx, end - begin, room->x);
    } else if (w->pixels > 0) {
        for (int64_t line = begin / w->pixels; line < end / w->pixels; line++) {
            gradient_line(g, room, line, group, room->x + (line * w->pixels - begin) * VEC_LANES);
        }
    }
    if (t1 == g->tiles && g->columns > g->k) {
        float *ones = room->x + (t1 - 1 - t0) * g->pitch + g->k - gradient_start(g, t1 - 1);
        for (int64_t r = 0; r < end - begin; r++) ones[r * VEC_LANES] = 1.0f;
    }
    for (int64_t i = t0; i < t1 && VEC_ROWS > 1; i++) gradient_join(room->x + (i - t0) * g->pitch, end - begin);
}

/* Where rows from `begin` on of a tile of a convolution lie that is read in place, k0 its first column. */
static fold_lines gradient_lines(const gradient *g, int64_t begin, int64_t k0)
{
    const conv_walk *w = &g->walk;
    int64_t line = begin / w->pixels, number = line % w->lines, pitch = w->w * w->c, y = k0 / g->run, x = 0;
    fold_lines a = {.step = w->sx * w->c,
                    .line_step = w->sy * pitch,
                    .pixels = w->pixels,
                    .row_step = w->sy,
                    .rows = w->h,
                    .number = number,
                    .lines = w->lines,
                    .jump = (w->h - w->lines * w->sy) * pitch};
    if (g->run == w->depth) {
        x = y % w->nx;
        y = y / w->nx;
    }
    conv_pixels_inside(w, x, &a.first, &a.last);
    if (w->direct) a.last = w->pixels;
    a.row = number * w->sy + w->y0 + y * w->dy;
    a.line = w->in + ((line / w->lines * w->h + a.row) * w->w + w->x0 + x * w->dx) * w->c + k0 % g->run;
    return a;
}

/* Of a copied tile of columns [k0, k1) whose tap row leaves the image: the rows inside, as pixels of one line an image;
 * false: all rows are wanted, for other taps or for the bias. */
static bool gradient_rows_inside(const gradient *g, int64_t begin, int64_t k0, int64_t k1, const float *first_row,
                                 fold_lines *out)
{
    const conv_walk *w = &g->walk;
    int64_t first, last, run = w->nx * w->depth, image = w->lines * w->pixels / VEC_ROWS;
    if (w->ny == 0 || w->direct || k1 > g->k || k0 / run != (k1 - 1) / run || w->pixels % VEC_ROWS > 0) return false;
    conv_lines_inside(w, k0 / run, &first, &last);
    if (first == 0 && last == w->lines) return false;
    begin /= VEC_ROWS;
    *out = (fold_lines){.line = first_row - begin % image * VEC_LANES,
                        .step = VEC_LANES,
                        .line_step = image * VEC_LANES,
                        .pixels = image,
                        .first = first * w->pixels / VEC_ROWS,
                        .last = last * w->pixels / VEC_ROWS,
                        .rows = 1,
                        .lines = 1,
                        .pixel = begin % image};
    return true;
}

VEC_INLINE vec gradient_dy(const float *from, int real)
{
    return real >= VEC_LANES ? vec_load(from) : vec_load_part(from, vec_range(0, real));
}

/* Columns of panels [p0, p1) of dy, zeros behind the last. */
static void gradient_take_dy(const gradient *g, const gradient_room *room, int64_t begin, int64_t end, int64_t p0,
                             int64_t p1)
{
    for (int64_t r = begin; r < end; r += VEC_ROWS) {
        for (int64_t panel = p0; panel < p1; panel++) {
            const float *from = g->dy + r * g->ldy + panel * ARTEL__PANEL;
            int width = (int)artel__panel_width(g->n, panel), real = ARTEL__PANEL,
                strip = width < TILE_COLUMNS ? width : TILE_COLUMNS;
            float *to = room->dy + (panel - p0) * g->chunk * ARTEL__PANEL + (r - begin) / VEC_ROWS * strip;
            if (g->n - panel * ARTEL__PANEL < ARTEL__PANEL) real = (int)(g->n - panel * ARTEL__PANEL);
            for (int j = 0; j < width; j += VEC_LANES) {
                vec dy = gradient_dy(from + j, real - j);
                if (VEC_ROWS > 1) dy = vec_join(dy, gradient_dy(from + g->ldy + j, real - j));
                vec_store(to + j % TILE_COLUMNS + j / TILE_COLUMNS * g->chunk * TILE_COLUMNS, dy);
            }
        }
    }
}

#endif
