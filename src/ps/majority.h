/* SPDX-License-Identifier: Apache-2.0 */
/* Which of two chiefs may go on when the tasks of a job with parameter servers fall into parts, and each part has
 * started one: a majority of votes decides, without clocks or leases.
 *
 * Voters are the chief and all ps tasks of the job; of an even number the chief has two votes, and where there is one
 * ps task that one alone decides. A ps task is with one chief at a time: who changes its members leaves those it had.
 * It remembers the last chief that had a majority with it. A majority of ps tasks alone is one for whatever chief. The
 * chief's own votes count only beside ps tasks that remember it: a process that has just been started as chief has
 * none, and a ps task that has been started anew, or has followed another one, adds none to them. So two chiefs never
 * both have a majority, as long as no ps task runs twice (tests/ps/test_majority.c goes through all states).
 */
#ifndef ARTEL_PS_MAJORITY_H
#define ARTEL_PS_MAJORITY_H

#include <stdbool.h>
#include <stdint.h>

/* Whether a chief of this number (random, another one in each life of a process, not 0) has a majority of a job with
 * `servers` ps tasks, when `present` ones are with it; `remembers` of each the chief of its last majority, 0: none.
 * When true, all of these forget another chief before any of them remembers this one, and have answered before anything
 * else is done: whoever is cut off in the midst of it then has its own votes beside nobody that another chief counts
 * on. */
bool artel__majority_holds(int servers, uint64_t chief, const uint64_t *remembers, int present);

/* The fewest ps tasks that a chief has a majority with when they remember it. */
int artel__majority_beside(int servers);
/* The same when none of them remembers it: it has just been started, or they follow another one. */
int artel__majority_fresh(int servers);

#endif
