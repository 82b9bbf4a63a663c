/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing what to drop.
 *
 * First checkpoints in the manner of T. Chen, B. Xu, C. Zhang, C. Guestrin, "Training deep nets with sublinear memory
 * cost", 2016, for any graph: the forward pass is cut into segments of about equal bytes, each cut where the fewest
 * bytes cross it, and what crosses a cut is kept. All else is dropped but for what is dear to compute for its size;
 * several bounds on that price are played. The best is improved by changing single buffers, and pairs of neighbours, as
 * long as that helps. This is done for many numbers of segments. Better means: a smaller product of the (smooth) peak
 * and of the time. The search is bounded by a count of events, not by a clock.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/recompute_impl.h"

#define MARGIN 0.9           /* times are estimates: a tenth of what may be spent is held back */
#define LEAST_GAIN 0.99      /* of the peak: what saves less is not worth any time */
#define MOST_EVENTS 20000000 /* played in a search: about half a second */

enum {
    PRICES = 8
};

typedef struct candidate {
    int32_t buffer;
    double price; /* time a byte */
} candidate;

typedef struct chooser {
    artel__step_model *model;
    double extra_time;
    candidate *item; /* in the order they are made */
    int count;
    int64_t *crossing;  /* by forward event: bytes of candidates that are alive before it, for forward events */
    int32_t *last_read; /* by buffer: the last forward event that reads it */
    double *made;       /* by forward event: bytes of candidates made before it */
    bool *drop, *best;  /* by buffer */
    artel__outcome outcome;
    double score;
    int64_t played;
} chooser;

static double score_of(const chooser *c, const artel__outcome *outcome)
{
    if (outcome->extra > c->extra_time * MARGIN || outcome->peak > c->model->trial->base) return -1;
    double time = 1 + outcome->extra / 4;
    for (int i = 0; i < 5; i++) time *= time; /* swell is a 32nd power, too */
    return outcome->swell * time;
}

/* Plays the choice; keeps it when it is the best so far. */
static bool consider(chooser *c, const bool *drop)
{
    artel__outcome outcome = artel__step_model_try(c->model, drop);
    c->played += outcome.events;
    double score = score_of(c, &outcome);
    if (score < 0 || score >= c->score) return false;
    c->score = score;
    c->outcome = outcome;
    if (drop != c->best) memcpy(c->best, drop, (size_t)c->model->buffers);
    return true;
}

/* -- candidates -- */

static double price_of(const artel__step_model *model, int32_t buffer)
{
    double time = 0;
    for (int32_t m = model->makers.start[buffer]; m < model->makers.start[buffer + 1]; m++)
        time += model->time[model->makers.item[m]];
    return time / (double)model->bytes[buffer];
}

static void list_candidates(chooser *c)
{
    artel__step_model *model = c->model;
    for (int32_t b = 0; b < model->buffers; b++) {
        if (model->retention[b] == ARTEL__RETENTION_DROPPED) c->item[c->count++] = (candidate){b, price_of(model, b)};
    }
}

/* Nothing is dropped but what the backward pass does not read: that is not kept for it in any case. */
static void start_from_nothing(chooser *c)
{
    const artel__step_model *model = c->model;
    memset(c->best, 0, (size_t)model->buffers);
    for (int i = 0; i < c->count; i++) c->best[c->item[i].buffer] = true;
    for (int32_t i = model->reads.start[model->turn]; i < model->reads.start[model->events]; i++)
        c->best[model->reads.item[i]] = false;
    c->outcome = artel__step_model_try(c->model, c->best);
    c->score = score_of(c, &c->outcome);
}

/* -- segments -- */

static void measure_cuts(chooser *c)
{
    const artel__step_model *model = c->model;
    for (int32_t b = 0; b < model->buffers; b++) c->last_read[b] = -1;
    for (int32_t e = 0; e < model->turn; e++) {
        for (int32_t i = model->reads.start[e]; i < model->reads.start[e + 1]; i++)
            c->last_read[model->reads.item[i]] = e;
    }
    for (int i = 0; i < c->count; i++) {
        int32_t b = c->item[i].buffer, first = model->makers.item[model->makers.start[b]];
        c->made[first + 1] += (double)model->bytes[b];
        if (c->last_read[b] <= first) continue;
        c->crossing[first + 1] += model->bytes[b];
        c->crossing[c->last_read[b] + 1] -= model->bytes[b];
    }
    for (int32_t e = 0; e < model->turn; e++) {
        c->made[e + 1] += c->made[e];
        c->crossing[e + 1] += c->crossing[e];
    }
}

/* Keeps what crosses the cheapest place within half a segment of a share of all bytes. */
static void cut_near(chooser *c, double share, double reach)
{
    const artel__step_model *model = c->model;
    double total = c->made[model->turn];
    int32_t cut = -1;
    for (int32_t e = 1; e < model->turn; e++) {
        if (c->made[e] < (share - reach) * total || c->made[e] > (share + reach) * total) continue;
        if (cut < 0 || c->crossing[e] < c->crossing[cut]) cut = e;
    }
    for (int i = 0; cut >= 0 && i < c->count; i++) {
        int32_t b = c->item[i].buffer;
        if (model->makers.item[model->makers.start[b]] < cut && c->last_read[b] >= cut) c->drop[b] = false;
    }
}

static void try_segments(chooser *c, int segments, double dearest)
{
    memset(c->drop, 0, (size_t)c->model->buffers);
    for (int i = 0; i < c->count; i++) c->drop[c->item[i].buffer] = c->item[i].price <= dearest;
    for (int k = 1; k < segments; k++) cut_near(c, (double)k / segments, 0.5 / segments);
    consider(c, c->drop);
}

static int by_price(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->price != y->price) return x->price < y->price ? -1 : 1;
    return x->buffer < y->buffer ? -1 : 1;
}

/* Prices such that each admits an equal part of the bytes more than the one before. */
static artel_status list_prices(chooser *c, double *price)
{
    candidate *sorted = artel__arena_alloc(&c->model->arena, (size_t)c->count + 1, sizeof *sorted);
    if (!sorted) return ARTEL_ERROR_NO_MEMORY;
    memcpy(sorted, c->item, (size_t)c->count * sizeof *sorted);
    qsort(sorted, (size_t)c->count, sizeof *sorted, by_price);
    double total = c->made[c->model->turn], sum = 0;
    int next = 0;
    for (int i = 0; i < c->count; i++) {
        sum += (double)c->model->bytes[sorted[i].buffer];
        while (next < PRICES && sum >= total * (next + 1) / PRICES) price[next++] = sorted[i].price;
    }
    while (next < PRICES) price[next++] = c->count ? sorted[c->count - 1].price : 0;
    return ARTEL_OK;
}

/* -- improving -- */

static bool try_change(chooser *c, int a, int b)
{
    memcpy(c->drop, c->best, (size_t)c->model->buffers);
    c->drop[c->item[a].buffer] ^= true;
    if (b >= 0) c->drop[c->item[b].buffer] ^= true;
    return consider(c, c->drop);
}

/* The next candidate in the order of making with the opposite fate, at most `reach` away; -1: none. */
static int opposite(const chooser *c, int from, int step, int reach)
{
    for (int i = from + step, n = 0; i >= 0 && i < c->count && n < reach; i += step, n++) {
        if (c->best[c->item[i].buffer] != c->best[c->item[from].buffer]) return i;
    }
    return -1;
}

static void improve(chooser *c)
{
    enum {
        REACH = 12
    };
    bool better = true;
    while (better && c->played < MOST_EVENTS) {
        better = false;
        for (int i = 0; i < c->count && c->played < MOST_EVENTS; i++) better = try_change(c, i, -1) || better;
        for (int i = 0; i < c->count && c->played < MOST_EVENTS; i++) {
            int other = opposite(c, i, 1, REACH);
            if (other >= 0) better = try_change(c, i, other) || better;
            other = opposite(c, i, -1, REACH);
            if (other >= 0) better = try_change(c, i, other) || better;
        }
    }
}

/* Starts from each number of segments, improves each, and leaves the best in `best`. */
static artel_status search(chooser *c)
{
    static const int segments[] = {11, 1, 29, 4,  18, 2,  47,
                                   8,  6, 3,  14, 23, 37, 59}; /* far apart first: events may run out */
    double price[PRICES], score = HUGE_VAL;
    size_t buffers = (size_t)c->model->buffers;
    bool *held = artel__arena_alloc(&c->model->arena, buffers + 1, sizeof *held);
    if (!held) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(list_prices(c, price));
    for (size_t k = 0; k < ARTEL__COUNT(segments) && c->played < MOST_EVENTS; k++) {
        if (k > 0 && segments[k] > c->count) continue;
        start_from_nothing(c);
        for (int p = 0; p < PRICES; p++) try_segments(c, segments[k], price[p]);
        improve(c);
        if (c->score >= score) continue;
        score = c->score;
        memcpy(held, c->best, buffers);
    }
    memcpy(c->best, held, buffers);
    return ARTEL_OK;
}

artel_status artel__recompute_choose(artel__step_model *model, double extra_time, bool *drop, artel__outcome *out)
{
    artel__arena *arena = &model->arena;
    size_t buffers = (size_t)model->buffers + 1, events = (size_t)model->turn + 2;
    chooser c = {.model = model,
                 .extra_time = extra_time,
                 .item = artel__arena_alloc(arena, buffers, sizeof *c.item),
                 .crossing = artel__arena_alloc(arena, events, sizeof *c.crossing),
                 .last_read = artel__arena_alloc(arena, buffers, sizeof *c.last_read),
                 .made = artel__arena_alloc(arena, events, sizeof *c.made),
                 .drop = artel__arena_alloc(arena, buffers, sizeof *c.drop),
                 .best = drop};
    ARTEL_TRY(artel__arena_status(arena));
    list_candidates(&c);
    measure_cuts(&c);
    ARTEL_TRY(search(&c));
    double before = (double)(model->trial->base - model->fixed),
           after = (double)(artel__step_model_try(model, drop).peak - model->fixed);
    if (after > before * LEAST_GAIN) memset(drop, 0, (size_t)model->buffers);
    *out = artel__step_model_log(model, drop);
    return ARTEL_OK;
}
