/* SPDX-License-Identifier: Apache-2.0 */
/* Where pieces lie when their traffic has been measured, once in a run: at the end of the first epoch that one
 * generation has seen whole.
 *
 * Servers count the bytes that come and go of each piece; of a table, those of the rows that travel. Where the fullest
 * one has more than a tenth above the mean, and another placement is better, the chief ends the generation with the
 * epoch's state in hand, and installs that in the next one as it does when a part is lost (install.c). From then on a
 * state is placed by these loads, on whatever servers there are. It is the chief alone who computes that: it tells
 * servers and workers the part of each piece.
 */
#include <string.h>

#include "ps/part.h"
#include "train/install.h"

#define LIMIT 1.1
#define GAIN 0.95        /* of what it was: else it stays as it is */
#define MORE 1.25        /* bytes at the fullest server, of what it had */
#define SMALL (64 << 20) /* bytes at a server that are never too many */

enum {
    NAMED = 6 /* pieces in the log */
};

typedef struct outcome {
    int *place; /* by piece; the rest of the block is scratch */
    double before, after;
    int heaviest;   /* piece, of the fullest server before */
    uint64_t bytes; /* at the server that has the most of them, after */
    bool better, fits;
} outcome;

static uint64_t count_most(const artel__division *division, const int *place)
{
    uint64_t sum[ARTEL__MOST_SERVERS] = {0}, most = 0;
    for (int i = 0; i < division->pieces; i++) sum[place[i]] += (uint64_t)division->piece[i].count * sizeof(float);
    for (int s = 0; s < division->servers; s++) most = sum[s] > most ? sum[s] : most;
    return most;
}

static artel_status correct(artel_context *ctx, const artel__division *division, const uint64_t *load, outcome *out)
{
    int pieces = division->pieces, servers = division->servers;
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 4 * (size_t)pieces + 1, sizeof *out->place, "placement", &block));
    *out = (outcome){.place = block};
    for (int i = 0; i < pieces; i++) out->place[i] = division->piece[i].server;
    uint64_t had = count_most(division, out->place);
    out->before = artel__place_skew(load, pieces, servers, out->place, &out->heaviest);
    artel__place_correct(load, pieces, servers, LIMIT, out->place, out->place + pieces);
    out->after = artel__place_skew(load, pieces, servers, out->place, NULL);
    out->bytes = count_most(division, out->place);
    out->better = out->before > LIMIT && (out->after <= LIMIT || out->after < GAIN * out->before);
    out->fits = out->bytes <= SMALL || (double)out->bytes <= MORE * (double)had;
    return ARTEL_OK;
}

artel_status artel__installed_place(artel__installed *c)
{
    outcome o;
    int pieces = c->division.pieces;
    if (!c->load || c->loads != pieces || c->division.servers < 2) return ARTEL_OK;
    c->placed = artel__arena_alloc(&c->arena, (size_t)pieces + 1, 1);
    if (!c->placed) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(correct(c->fit->ctx, &c->division, c->load, &o));
    for (int i = 0; i < pieces; i++) c->placed[i] = (uint8_t)o.place[i];
    if (o.better && o.fits)
        artel__division_place(&c->division, c->placed);
    else
        c->placed = NULL;
    artel__free(c->fit->ctx, o.place);
    return ARTEL_OK;
}

/* -- what is said -- */

static const char *name_of(const artel__installed *c, int piece)
{
    const artel__division *division = &c->division;
    const artel__variables *all = artel__session_network(division->session)->variables;
    return all->item[division->piece[piece].variable].name;
}

static void say_moved(const artel__installed *c, const artel__service *s, const outcome *o)
{
    artel_context *ctx = c->fit->ctx;
    int moved = 0;
    for (int i = 0; i < c->division.pieces; i++) {
        const artel__piece *p = &c->division.piece[i];
        if (o->place[i] == p->server || moved++ >= NAMED) continue;
        artel__log(ctx, ARTEL_LOG_NOTE, "%s%s goes from %s to %s", p->whole ? "" : "a piece of ", name_of(c, i),
                   artel__mesh_title(s->cluster, c->part[p->server].task),
                   artel__mesh_title(s->cluster, c->part[o->place[i]].task));
    }
    artel__log(
        ctx, ARTEL_LOG_NOTE,
        "the fullest parameter server has had %.2f times the mean traffic; with %d of %d pieces elsewhere it has "
        "%.2f times",
        o->before, moved, c->division.pieces, o->after);
}

static void say_kept(const artel__installed *c, const artel__service *s, const outcome *o, double mean)
{
    double share = (double)c->traffic[o->heaviest] / mean;
    artel_context *ctx = c->fit->ctx;
    const artel__piece *p = &c->division.piece[o->heaviest];
    const char *title = artel__mesh_title(s->cluster, c->part[p->server].task);
    if (o->better)
        artel__log(ctx, ARTEL_LOG_NOTE,
                   "%s has %.2f times the mean traffic; variables stay where they are, for to even that out one server "
                   "would need %llu bytes for them (with .ps_partitioner pieces are smaller)",
                   title, o->before, (unsigned long long)o->bytes);
    else if (share > 1)
        artel__log(ctx, ARTEL_LOG_NOTE,
                   "%s has %.2f times the mean traffic, for %s%s alone has %.2f times (with .ps_partitioner pieces are "
                   "smaller)",
                   title, o->before, p->whole ? "" : "a piece of ", name_of(c, o->heaviest), share);
    else
        artel__log(ctx, ARTEL_LOG_NOTE, "%s has %.2f times the mean traffic, and no other placement is much better",
                   title, o->before);
}

/* -- at the end of an epoch -- */

static artel_status decide(artel__installed *c, const artel__service *s, uint64_t all, const outcome *o)
{
    double mean = (double)all / c->division.servers, steps = (double)(c->fit->at.step - c->since);
    if (o->before <= LIMIT || (o->before - 1) * mean < (double)s->worth * steps) return ARTEL_OK;
    if (!o->better || !o->fits) {
        say_kept(c, s, o, mean);
        return ARTEL_OK;
    }
    size_t pieces = (size_t)c->division.pieces;
    void *block;
    ARTEL_TRY(artel__calloc(c->fit->ctx, pieces + 1, sizeof *c->load, "placement", &block));
    c->load = block;
    c->loads = c->division.pieces;
    memcpy(c->load, c->traffic, pieces * sizeof *c->load);
    c->moves = true;
    c->told_placement = false;
    c->before = o->before;
    c->after = o->after;
    say_moved(c, s, o);
    return ARTEL_AGAIN;
}

artel_status artel__installed_balance(artel__installed *c, const artel__service *s)
{
    const artel__fit *fit = c->fit;
    uint64_t all = 0;
    outcome o;
    bool whole = fit->at.step - c->since >= fit->at.step_in_epoch,
         last = fit->callbacks.stop || fit->at.epoch + 1 >= fit->options.epochs;
    if (s->placing != ARTEL__PLACING_TRAFFIC || c->weighed || !whole || last || c->parts < 2 ||
        c->parts != s->servers || c->division.pieces > ARTEL__MOST_PLACED)
        return ARTEL_OK;
    for (int i = 0; i < c->division.pieces; i++) all += c->traffic[i];
    c->weighed = true;
    if (all == 0) return ARTEL_OK;
    ARTEL_TRY(correct(fit->ctx, &c->division, c->traffic, &o));
    artel_status status = decide(c, s, all, &o);
    artel__free(fit->ctx, o.place);
    return status;
}
