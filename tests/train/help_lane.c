/* SPDX-License-Identifier: Apache-2.0 */
/* What a test says and hears by hand on the lanes of a job, to servers and the chief. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "help_lane.h"

float lane_zeros[4096];

artel__lane_head lane_hear(artel_context *ctx, artel__lane *lane, artel__lane_slot *slot, artel__item *item)
{
    artel__lane_head head;
    lane_await(lane, slot);
    assert_int_equal(artel__lane_take(lane, slot, &head), ARTEL_OK);
    const void *data = item && head.flags != ARTEL__ANSWER_END ? artel__slot_data(slot, 0, 0, sizeof *item) : NULL;
    if (data) memcpy(item, data, sizeof *item);
    assert_int_equal(artel__lane_done(lane, slot), ARTEL_OK);
    artel__slot_fini(ctx, slot);
    return head;
}

static void *place_zeros(void *user, const artel__entry *entry)
{
    assert_true(entry->bytes <= sizeof lane_zeros);
    return user;
}

int lane_list_zeros(const artel__division *division, int server, artel__part_list list, artel__entry *entry,
                    artel__net_piece *piece)
{
    int count = artel__division_list(division, server, list, entry);
    artel__entries_list(entry, count, place_zeros, lane_zeros, piece);
    return count;
}
