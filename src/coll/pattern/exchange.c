/* SPDX-License-Identifier: Apache-2.0 */
/* The schedules of the all-reduces, listed for one rank, and their cost. */
#include "coll/pattern/exchange.h"

static bool empty(const artel__coll_exchange *exchange, int32_t slice)
{
    return exchange->begin[slice] == exchange->begin[slice + 1];
}

int32_t artel__coll_most_messages(const artel__coll_layout *layout, int32_t rank)
{
    int32_t sends = artel__coll_owned(layout, rank) * (layout->ranks - 1), receives = layout->nodes;
    return (sends > receives ? sends : receives) + layout->ranks;
}

static void list_sends(const artel__coll_exchange *exchange, int32_t rank, artel__coll_lists *lists)
{
    const artel__coll_layout *layout = exchange->layout;
    int32_t count = 0;
    for (int32_t step = 1; step < layout->ranks; step++) {
        int32_t peer = (rank + step) % layout->ranks, slice = artel__coll_own_slice(exchange->algorithm, peer);
        if (empty(exchange, slice)) continue;
        for (int32_t n = layout->first[rank]; n < layout->first[rank + 1]; n++)
            lists->send[count++] = (artel__coll_message){peer, n, slice};
    }
    lists->node_sends = count;
    lists->result_sends = 0;
    if (exchange->algorithm != ARTEL__COLL_DIRECT || empty(exchange, rank)) return;
    for (int32_t step = 1; step < layout->ranks; step++)
        lists->send[count++] = (artel__coll_message){(rank + step) % layout->ranks, -1, rank};
    lists->result_sends = count - lists->node_sends;
}

static void list_receives(const artel__coll_exchange *exchange, int32_t rank, artel__coll_lists *lists)
{
    const artel__coll_layout *layout = exchange->layout;
    int32_t count = 0, slice = artel__coll_own_slice(exchange->algorithm, rank);
    for (int32_t n = 0; n < layout->nodes && !empty(exchange, slice); n++) {
        if (layout->node[n].owner != rank)
            lists->receive[count++] = (artel__coll_message){layout->node[n].owner, n, slice};
    }
    lists->node_receives = count;
    lists->result_receives = 0;
    if (exchange->algorithm != ARTEL__COLL_DIRECT) return;
    for (int32_t step = 1; step < layout->ranks; step++) {
        int32_t peer = (rank + step) % layout->ranks;
        if (!empty(exchange, peer)) lists->receive[count++] = (artel__coll_message){peer, -1, peer};
    }
    lists->result_receives = count - lists->node_receives;
}

void artel__coll_list_messages(const artel__coll_exchange *exchange, int32_t rank, artel__coll_lists *lists)
{
    list_sends(exchange, rank, lists);
    list_receives(exchange, rank, lists);
}

artel__coll_load artel__coll_rank_load(const artel__coll_layout *layout, artel__coll_algorithm algorithm,
                                       const int64_t *slice_bytes, int32_t rank)
{
    int64_t nodes = artel__coll_owned(layout, rank), others = layout->ranks - 1;
    artel__coll_load load = {.connections = layout->ranks - 1};
    if (algorithm == ARTEL__COLL_REDUNDANT) {
        load.messages = slice_bytes[0] ? nodes * others : 0;
        load.bytes = nodes * slice_bytes[0] * others;
        return load;
    }
    for (int32_t i = 0; i < layout->ranks; i++) {
        if (!slice_bytes[i]) continue;
        load.messages += i == rank ? others : nodes;
        load.bytes += slice_bytes[i] * (i == rank ? others : nodes);
    }
    return load;
}
