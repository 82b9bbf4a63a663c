/* SPDX-License-Identifier: Apache-2.0 */
/* What replicas of a process tell one another between launches for all their devices (step_joint.c, step_all.c): a byte
 * each, by messages that end, like any exchange, when one of them has failed. */
#include "device/execution_impl.h"

enum {
    FIRST_MESSAGE = 1 << 21 /* two a stage, and two, behind the collectives of the graph and those of agree.c */
};

artel_status artel__step_joint_tell(artel__device_execution *e, const artel__step *step, int32_t message, bool gathers,
                                    uint8_t byte[ARTEL__MAX_JOINT])
{
    artel__comm_parcel parcel[ARTEL__MAX_JOINT];
    int first = e->comm->rank - e->index, count = 0, from = e->index ? 0 : 1, end = e->index ? 1 : e->x->joint->members;
    for (int r = from; r < end; r++, count++)
        parcel[count] = (artel__comm_parcel){.peer = first + r,
                                             .sends = gathers == (e->index > 0),
                                             .data = &byte[gathers && e->index ? e->index : r],
                                             .bytes = 1};
    return e->comm->ops->exchange(e->comm->self, step, FIRST_MESSAGE + message, parcel, count);
}
