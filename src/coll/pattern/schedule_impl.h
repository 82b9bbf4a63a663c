/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of schedules: what schedule.c and schedule_tree.c share. */
#ifndef ARTEL_COLL_SCHEDULE_IMPL_H
#define ARTEL_COLL_SCHEDULE_IMPL_H

#include "coll/pattern/schedule.h"

enum {
    ARTEL__COLL_TREE_BYTES = 4096 /* average block up to which a gather goes along the tree */
};

/* A range as one message for each chunk, numbered from t.number on. */
void artel__coll_send_range(const artel__coll_shape *shape, artel__coll_schedule *out, artel__coll_transfer t);
void artel__coll_receive_range(const artel__coll_shape *shape, artel__coll_schedule *out, artel__coll_transfer t);

void artel__coll_list_broadcast(const artel__coll_shape *shape, artel__coll_schedule *out);
void artel__coll_list_gather(const artel__coll_shape *shape, artel__coll_schedule *out);

/* Of the tree: members of the subtree of v, and how many children it has. */
int32_t artel__coll_subtree(const artel__coll_shape *shape, int32_t v);
int32_t artel__coll_children(const artel__coll_shape *shape, int32_t v);
/* Elements of the blocks of a subtree, and in how many messages they travel. */
int64_t artel__coll_subtree_elements(const artel__coll_shape *shape, int32_t v, int64_t *messages);

static inline int32_t artel__coll_tree_place(const artel__coll_shape *shape)
{
    return (shape->position - shape->root + shape->members) % shape->members;
}

#endif
