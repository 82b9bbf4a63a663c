/* SPDX-License-Identifier: Apache-2.0 */
/* Communicators lent to those who send messages of their own. */
#include "base/clock.h"
#include "coll/communicator_impl.h"
#include "coll/seat.h"

artel_status artel__coll_seat_take(artel_communicator *c, artel__coll_seat *out)
{
    artel__coll_home *home = c->home;
    if (c->subset || home->finished)
        return artel__fail(home->ctx, ARTEL_ERROR_INVALID, "communicator",
                           "give one that was opened or created, and is not finished",
                           c->subset ? "it is a subset" : "it is finished");
    if (home->broken < 0)
        return artel__fail(home->ctx, home->broken, "communicator", "renew it on all members",
                           "a call before has failed (%s)", artel_status_name(home->broken));
    *out = (artel__coll_seat){.endpoint = c->team.endpoint,
                              .generation = home->generation,
                              .position = c->team.position,
                              .members = c->team.members,
                              .limit_ns = home->limit_ns,
                              .cluster = home->cluster};
    return ARTEL_OK;
}

bool artel__coll_seat_holds(const artel_communicator *c, const artel__coll_seat *seat)
{
    return !c->home->finished && c->home->endpoint == seat->endpoint && c->home->generation == seat->generation;
}

void artel__coll_seat_enter(artel_communicator *c, artel__member_phase phase)
{
    if (c->home->activity) artel__mesh_enter(c->home->activity, phase, artel__now_ns());
}

artel_status artel__coll_seat_fail(artel_communicator *c, artel_status status)
{
    artel__coll_home *home = c->home;
    artel__fail(home->ctx, status, "session", "renew the communicator on all members, or end",
                "the exchange ended early: a member is lost, or one has cancelled it");
    if (home->endpoint) artel__net_cancel(home->endpoint);
    home->broken = status;
    if (home->cluster) artel__coll_home_rest(home);
    return status;
}
