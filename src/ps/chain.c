/* SPDX-License-Identifier: Apache-2.0 */
/* What chain.h promises. */
#include "ps/chain.h"

#include <string.h>

/* -- clients -- */

artel_status artel__chain_client_open(artel_context *ctx, artel__chain_client *c, const artel__lane *lane, int slots)
{
    void *block;
    c->from = c->to = *lane;
    ARTEL_TRY(artel__calloc(ctx, (size_t)slots, sizeof *c->slot, "parameter server", &block));
    c->slot = block;
    c->slots = slots;
    return ARTEL_OK;
}

void artel__chain_client_close(artel_context *ctx, artel__chain_client *c)
{
    for (int k = 0; c->slot && k < c->slots; k++) {
        artel__lane_withdraw(&c->from, &c->slot[k].call);
        artel__slot_fini(ctx, &c->slot[k].call);
        artel__free(ctx, c->slot[k].piece);
    }
    artel__free(ctx, c->slot);
    c->slot = NULL;
}

/* -- telling copies -- */

bool artel__chain_may_tell(const artel__chain *n, const artel__chain_client *client, int most)
{
    for (int k = 0; k < n->copies; k++) {
        if (client[n->copy[k]].ahead >= most) return false;
    }
    return n->sent - n->heard < ARTEL__CHAIN_AHEAD;
}

artel_status artel__chain_tell(artel__chain *n, artel__chain_client *client, const int *rank, int ranks,
                               const artel__lane_head *head, const artel__net_piece *piece, int count)
{
    artel__chain_forward *f = &n->forward[n->sent++ % ARTEL__CHAIN_AHEAD];
    artel_status status = ARTEL_OK;
    f->calls = 0;
    for (int k = 0; k < ranks && status == ARTEL_OK; k++) {
        f->rank[f->calls++] = rank[k];
        client[rank[k]].ahead++;
        status = artel__lane_judge(artel__lane_call(&client[rank[k]].to, &f->call[k], head, piece, count, 64));
    }
    return status;
}

artel_status artel__chain_hear(artel__chain *n, artel__chain_client *client, bool *did)
{
    while (n->heard < n->sent) {
        artel__chain_forward *f = &n->forward[n->heard % ARTEL__CHAIN_AHEAD];
        artel__lane_head in;
        for (int k = 0; k < f->calls; k++) {
            if (!artel__slot_arrived(&f->call[k])) return ARTEL_OK;
        }
        for (int k = 0; k < f->calls; k++) {
            artel__lane *lane = &client[f->rank[k]].to;
            client[f->rank[k]].ahead--;
            ARTEL_TRY(artel__lane_take(lane, &f->call[k], &in));
            if (in.flags)
                return artel__fail(lane->endpoint->ctx, ARTEL_ERROR_INVALID, "parameter servers",
                                   "run the same artel, model and options everywhere",
                                   "a copy of a part of the variables refuses what its head has sent");
            artel_status status = artel__lane_judge(artel__lane_done(lane, &f->call[k]));
            if (status != ARTEL_OK) return status;
        }
        n->heard++;
        *did = true;
    }
    return ARTEL_OK;
}

int artel__chain_awaited(const artel__chain *n)
{
    const artel__chain_forward *f = &n->forward[n->heard % ARTEL__CHAIN_AHEAD];
    for (int k = 0; n->heard < n->sent && k < f->calls; k++) {
        if (!artel__slot_arrived(&f->call[k])) return f->rank[k];
    }
    return -1;
}

void artel__chain_withdraw(artel__chain *n, artel__chain_client *client)
{
    for (; n->heard < n->sent; n->heard++) {
        artel__chain_forward *f = &n->forward[n->heard % ARTEL__CHAIN_AHEAD];
        for (int k = 0; k < f->calls; k++) artel__lane_withdraw(&client[f->rank[k]].to, &f->call[k]);
    }
    n->sent = n->heard = 0;
}

void artel__chain_fini(artel_context *ctx, artel__chain *n)
{
    for (int i = 0; i < ARTEL__CHAIN_AHEAD; i++) {
        for (int k = 0; k < ARTEL__CHAIN_HOLDERS - 1; k++) artel__slot_fini(ctx, &n->forward[i].call[k]);
    }
}

/* -- answers -- */

artel_status artel__chain_answer(artel__chain_client *c, artel__chain_call *at, const artel__lane_head *head,
                                 const artel__net_piece *piece, int count)
{
    at->state = ARTEL__CALL_LEAVING;
    return artel__lane_judge(artel__lane_answer(&c->from, &at->call, head, piece, count));
}

artel_status artel__chain_hold(artel_context *ctx, artel__chain *n, artel__chain_call *at, const artel__lane_head *head,
                               const artel__net_piece *piece, int count)
{
    void *wider = at->piece;
    if (count > at->room) {
        ARTEL_TRY(artel__realloc(ctx, (size_t)count * sizeof *piece, "parameter server", &wider));
        at->piece = wider;
        at->room = count;
    }
    if (count) memcpy(at->piece, piece, (size_t)count * sizeof *piece);
    at->pieces = count;
    at->reply = *head;
    at->of = n;
    at->until = n->sent;
    at->state = ARTEL__CALL_HELD;
    return ARTEL_OK;
}

artel_status artel__chain_room(artel__chain_client *c, artel__chain_call *at, size_t bytes, uint8_t **out)
{
    for (int k = 0; k < c->slots && !at->call.values; k++) {
        artel__chain_call *other = &c->slot[k];
        bool used = other->state == ARTEL__CALL_HELD ||
                    (other->state == ARTEL__CALL_LEAVING && !artel__slot_left(&other->call));
        if (!used && other != at) artel__slot_hand_room(&other->call, &at->call);
    }
    return artel__slot_room(&c->from, &at->call, bytes, out);
}

/* -- who holds a part -- */

int artel__holding_head(const artel__holding *at, int servers, int before)
{
    int best = -1;
    for (int k = 0; k < servers; k++) {
        if (!at[k].has) continue;
        if (best < 0 || at[k].position > at[best].position || (at[k].position == at[best].position && k == before))
            best = k;
    }
    return best;
}

static bool is_among(int server, const int *chosen, int count)
{
    for (int k = 0; k < count; k++) {
        if (chosen[k] == server) return true;
    }
    return false;
}

int artel__holding_copy(const artel__holding *at, const uint64_t *load, int servers, const int *chosen, int count)
{
    int best = -1;
    for (int k = 0; k < servers; k++) {
        if (is_among(k, chosen, count)) continue;
        bool has = at[k].has, better = best < 0 || (has && !at[best].has);
        if (!better && has == at[best].has) better = load[k] < load[best];
        if (better) best = k;
    }
    return best;
}
