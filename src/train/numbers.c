/* SPDX-License-Identifier: Apache-2.0 */
/* What numbers.h promises: two buffers a part, by the parity of the ordinal, so that whoever is an update ahead does
 * not write over what others still want. */
#include "train/numbers.h"

#include <string.h>

static double *told_at(const artel__numbers *n, int part)
{
    return n->told + (size_t)part * 2 * (size_t)(n->count + 1);
}

static size_t bytes_of(int count)
{
    return 2 * ((size_t)count + 1) * sizeof(double);
}

static double *half_of(double *buffer, int count, int64_t ordinal)
{
    return buffer + (ordinal & 1) * (count + 1);
}

artel_status artel__numbers_begin(artel__numbers *n, const artel__service *s)
{
    const artel__optimizer *o = artel__session_optimizer(s->fit->session);
    void *block;
    n->ctx = s->fit->ctx;
    if (!artel__store_may_ask(o, s->some > 0)) return ARTEL_OK;
    n->count = artel__session_slots(s->fit->session)->count + 1;
    size_t bytes = (size_t)ARTEL__MOST_SERVERS * bytes_of(n->count);
    if (n->told) memset(n->told, 0, bytes);
    if (n->told) return ARTEL_OK;
    ARTEL_TRY(artel__calloc(n->ctx, bytes, 1, "parameter server", &block));
    n->told = block;
    return ARTEL_OK;
}

void artel__numbers_fini(artel__numbers *n)
{
    artel__free(n->ctx, n->told);
    n->told = NULL;
}

static void keep_told(artel__numbers *n, int part, uint64_t install, const double *buffer)
{
    double *to = told_at(n, part);
    size_t half = (size_t)n->count + 1;
    if (n->install[part] != install) memset(to, 0, bytes_of(n->count)); /* of another state */
    for (int k = 0; k < 2; k++, to += half, buffer += half) {
        if (buffer[0] > 0) memcpy(to, buffer, half * sizeof *to);
    }
    n->install[part] = install;
}

bool artel__numbers_take(artel__numbers *n, const artel__lane_head *head, const artel__lane_slot *call)
{
    uint32_t part = head->part & 0xffff;
    const double *data = n->told ? artel__slot_data(call, 0, 0, bytes_of(n->count)) : NULL;
    if (!data || part >= ARTEL__MOST_SERVERS) return false;
    keep_told(n, (int)part, head->install, data);
    return true;
}

/* Tells all other servers; what was told before has been answered. */
static artel_status tell(artel__numbers *n, artel__served_part *p, artel__chain_client *client, const artel__service *s)
{
    artel__lane_head head = {.op = ARTEL__SERVE_NUMBERS, .part = (uint32_t)p->number, .install = p->install};
    artel__net_piece piece = {p->numbers, bytes_of(n->count)};
    artel_status status = ARTEL_OK;
    keep_told(n, p->number, p->install, p->numbers);
    for (int k = 0; k < s->servers && status == ARTEL_OK; k++) {
        int rank = s->server[k];
        if (rank == s->endpoint->rank) continue;
        p->telling |= UINT64_C(1) << k;
        status = artel__lane_judge(artel__lane_call(&client[rank].to, &p->tell[k], &head, &piece, 1, 64));
    }
    return status;
}

artel_status artel__numbers_tell_again(artel__numbers *n, artel__served_part *p, artel__chain_client *client,
                                       const artel__service *s)
{
    bool any = p->numbers && (p->numbers[0] > 0 || p->numbers[n->count + 1] > 0);
    return any && !p->telling ? tell(n, p, client, s) : ARTEL_OK;
}

static bool has_told(const artel__numbers *n, const artel__served_part *p, int part, int64_t ordinal)
{
    return n->install[part] == p->install && half_of(told_at(n, part), n->count, ordinal)[0] == (double)ordinal;
}

/* The sums, in the order of the session's variables. False: a part has not told its numbers yet. */
static bool sum_up(const artel__numbers *n, const artel__served_part *p, int64_t ordinal, double *squares, double *gate)
{
    int parts = p->division.servers;
    *squares = *gate = 0;
    for (int i = 0; i < parts; i++) {
        if (!has_told(n, p, i, ordinal)) return false;
    }
    for (int t = 0; t < n->count; t++) {
        double *sum = t < n->count - 1 ? squares : gate, of_all = 0;
        for (int i = 0; i < parts; i++) of_all += half_of(told_at(n, i), n->count, ordinal)[1 + t];
        *sum += of_all;
    }
    return true;
}

static void make(artel__served_part *p, int count, int64_t ordinal)
{
    double *own = half_of(p->numbers, count, ordinal);
    artel__store_preview(p->store, own + 1);
    own[0] = (double)ordinal;
}

artel_status artel__numbers_agree(artel__numbers *n, artel__served_part *p, artel__chain_call *at,
                                  artel__chain_client *client, const artel__service *s, bool *ready)
{
    int64_t ordinal = artel__store_ask(p->store);
    double squares, gate;
    *ready = !p->numbers || ordinal == 0;
    if (*ready) return ARTEL_OK;
    p->pending = at;
    if (!p->has_told && !p->telling) {
        make(p, n->count, ordinal);
        p->has_told = true;
        artel_status status = tell(n, p, client, s);
        if (status != ARTEL_OK) return status;
    }
    if (!p->has_told || p->telling || !sum_up(n, p, ordinal, &squares, &gate)) return ARTEL_OK;
    artel__store_take_sums(p->store, squares, gate);
    p->squares = squares;
    p->pending = NULL;
    *ready = true;
    return ARTEL_OK;
}

void artel__numbers_awaited(const artel__numbers *n, const artel__served_part *p, const artel__service *s, int *rank,
                            int *of_part)
{
    *rank = *of_part = -1;
    for (int k = 0; k < s->servers && *rank < 0; k++) {
        if (p->telling >> k & 1 && !artel__slot_arrived(&p->tell[k])) *rank = s->server[k];
    }
    if (!p->pending || !p->has_told || *rank >= 0) return;
    for (int i = 0; i < p->division.servers && *of_part < 0; i++) {
        if (!has_told(n, p, i, artel__store_ask(p->store))) *of_part = i;
    }
}

void artel__numbers_follow(artel__served_part *p, double squares)
{
    int64_t ordinal = artel__store_ask(p->store);
    int count = artel__store_numbers(p->store);
    if (!p->numbers || ordinal == 0) return;
    make(p, count, ordinal);
    artel__store_take_sums(p->store, squares, half_of(p->numbers, count, ordinal)[count]);
}

artel_status artel__numbers_hear(artel__served_part *p, artel__chain_client *client, const artel__service *s, bool *did)
{
    artel__lane_head in;
    for (int k = 0; k < s->servers && p->telling; k++) {
        bool waits = p->telling >> k & 1;
        if (!waits || !artel__slot_arrived(&p->tell[k])) continue;
        artel__lane *lane = &client[s->server[k]].to;
        ARTEL_TRY(artel__lane_take(lane, &p->tell[k], &in));
        if (in.flags != ARTEL__ANSWER_OK) return artel__served_misfit(s->fit);
        artel_status status = artel__lane_judge(artel__lane_done(lane, &p->tell[k]));
        if (status != ARTEL_OK) return status;
        p->telling &= ~(UINT64_C(1) << k);
        *did = true;
    }
    return ARTEL_OK;
}

void artel__numbers_withdraw(artel__served_part *p, artel__chain_client *client, const artel__service *s)
{
    for (int k = 0; k < s->servers; k++) {
        if (p->telling >> k & 1) artel__lane_withdraw(&client[s->server[k]].to, &p->tell[k]);
    }
    p->telling = 0;
    if (p->has_told) half_of(p->numbers, artel__store_numbers(p->store), artel__store_ask(p->store))[0] = 0;
    p->pending = NULL;
    p->has_told = false;
}
