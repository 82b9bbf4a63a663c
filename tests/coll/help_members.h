/* SPDX-License-Identifier: Apache-2.0 */
/* Five members of a communicator, each a thread of this process. */
#ifndef HELP_MEMBERS_H
#define HELP_MEMBERS_H

#include <pthread.h>
#include <stdatomic.h>

#include "artel/communicator.h"
#include "help_ranks.h"

enum {
    MEMBERS = 5
};

typedef struct help_members {
    artel_context *ctx[MEMBERS];
    artel_communicator *c[MEMBERS];
    atomic_int wrong;
    pthread_barrier_t all;
    atomic_int timed_out; /* members whose call came to its limit */
} help_members;

void help_open_members(help_members *s);
void help_close_members(help_members *s);
/* Counts what is wrong, in a thread: cmocka's asserts are the main one's. */
void help_expect(help_members *s, bool right, int line);
#define EXPECT(right) help_expect(s, right, __LINE__)

#endif
