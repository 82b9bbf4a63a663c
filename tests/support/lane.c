/* SPDX-License-Identifier: Apache-2.0 */
/* What a test hears by hand on the lanes of a job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/lane.h"

void lane_await(artel__lane *lane, const artel__lane_slot *slot)
{
    assert_int_equal(artel__net_progress(lane->endpoint), ARTEL_OK);
    while (!artel__slot_arrived(slot)) {
        artel__net_wait(lane->endpoint);
        assert_int_equal(artel__net_progress(lane->endpoint), ARTEL_OK);
    }
}
