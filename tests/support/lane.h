/* SPDX-License-Identifier: Apache-2.0 */
/* What a test hears by hand on the lanes of a job (ps/lane.h). */
#ifndef ARTEL_TESTS_SUPPORT_LANE_H
#define ARTEL_TESTS_SUPPORT_LANE_H

#include "ps/lane.h"

/* Returns when the slot has something; fails the test when the lane does. */
void lane_await(artel__lane *lane, const artel__lane_slot *slot);

#endif
