/* SPDX-License-Identifier: Apache-2.0 */
/* What a test says and hears by hand on the lanes of a job, to servers and the chief. */
#ifndef ARTEL_TESTS_TRAIN_HELP_LANE_H
#define ARTEL_TESTS_TRAIN_HELP_LANE_H

#include "support/lane.h"
#include "train/servers.h"

/* What pieces of zeros lie in; never written. */
extern float lane_zeros[4096];

/* The head of the answer, whose call is over. `item`: NULL, or where one that came with it goes. */
artel__lane_head lane_hear(artel_context *ctx, artel__lane *lane, artel__lane_slot *slot, artel__item *item);
/* The pieces of a message about the elements of a server, of zeros; `entry` and `piece` have room for all. */
int lane_list_zeros(const artel__division *division, int server, artel__part_list list, artel__entry *entry,
                    artel__net_piece *piece);

#endif
