/* SPDX-License-Identifier: Apache-2.0 */
/* Communicators of a cluster: a pass of its own, in which no task has a state that another one could want (step 0, hash
 * 0). A generation of the membership is a life of the communicator: whoever is lost ends it, renew waits for the next
 * one.
 */
#include <stdio.h>

#include "base/clock.h"
#include "coll/communicator_impl.h"

enum {
    MOST_TASKS = 256
};

/* Orders until there is a seat, or the pass is over. */
static artel_status follow(artel__coll_home *home, artel__mesh_order *order)
{
    for (;;) {
        ARTEL_TRY(artel__mesh_await(home->cluster, order));
        switch (order->kind) {
        case ARTEL__MESH_START:
        case ARTEL__MESH_DONE: return ARTEL_OK;
        case ARTEL__MESH_SAVE: artel__mesh_saved(home->cluster, 0); break;
        case ARTEL__MESH_COPY: artel__mesh_copied(home->cluster, true, 0); break;
        case ARTEL__MESH_SERVE: artel__mesh_served(home->cluster); break;
        case ARTEL__MESH_LEAVE: break; /* of who saves first */
        }
    }
}

/* Before the mesh frees the old one, so that nobody cancels what is gone. */
static void set_endpoint(artel__coll_home *home, artel__endpoint *endpoint)
{
    pthread_mutex_lock(&home->mutex);
    home->endpoint = endpoint;
    pthread_mutex_unlock(&home->mutex);
}

artel_status artel__coll_home_await(artel__coll_home *home, int *first, int *ranks)
{
    artel__mesh_order order;
    set_endpoint(home, NULL);
    home->activity = NULL;
    ARTEL_TRY(follow(home, &order));
    if (order.kind == ARTEL__MESH_DONE || order.last)
        return artel__fail(home->ctx, ARTEL_ERROR_RUN, "communicator", "finish it on all tasks at the same place",
                           "the others have ended");
    home->generation = order.seat.generation;
    *first = order.seat.first;
    *ranks = order.seat.ranks;
    if (*ranks == 1) return ARTEL_OK;
    set_endpoint(home, order.seat.endpoint[0]);
    home->activity = order.seat.activity;
    artel__mesh_enter(home->activity, ARTEL__MEMBER_IDLE, artel__now_ns());
    return ARTEL_OK;
}

artel_status artel__coll_home_begin(artel__coll_home *home, int *first, int *ranks)
{
    artel__mesh_request request = {.facts = "pass=collectives\n", .replicas = 1, .shards = MOST_TASKS};
    artel_status status = artel__mesh_begin(home->cluster, &request);
    if (status == ARTEL_ERROR_NO_MEMORY) artel__mesh_unbegun(home->cluster, status);
    if (status < 0) return status;
    home->begun = true;
    return artel__coll_home_await(home, first, ranks);
}

void artel__coll_home_rest(artel__coll_home *home)
{
    artel__mesh_rest(home->cluster, 0, 0);
}

/* A generation that ends before all have finished is followed to its end, too: nothing is left to be done in it. */
artel_status artel__coll_home_finish(artel__coll_home *home)
{
    artel__mesh_order order = {.kind = ARTEL__MESH_START};
    while (order.kind != ARTEL__MESH_DONE) {
        artel__mesh_finished(home->cluster, 0, 0);
        ARTEL_TRY(follow(home, &order));
    }
    home->finished = true;
    home->begun = false;
    artel__mesh_end(home->cluster);
    return ARTEL_OK;
}

void artel__coll_home_leave(artel__coll_home *home)
{
    if (home->begun) artel__mesh_end(home->cluster);
    home->begun = false;
}
