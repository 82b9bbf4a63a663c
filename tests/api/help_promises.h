/* SPDX-License-Identifier: Apache-2.0 */
/* A coordinator's promises (PS10-PS21), which the chief of prog_coordinator.c checks: each ends the process when it is
 * broken. */
#ifndef TESTS_API_HELP_PROMISES_H
#define TESTS_API_HELP_PROMISES_H

#include <stdbool.h>

/* -- what closures do and bring (help_promises.c) -- */

/* Every closure's update counts, and all before it was scheduled are seen. */
void promise_runs_closures(void);
/* Rows, shared values, conversion of arguments; whoever does not want an output gives no room for it. */
void promise_brings_outputs(void);
/* Assignments, from closures and from the chief. */
void promise_assigns(void);
/* The first error once, by whoever comes first; the rest is dropped; then all is as before. */
void promise_raises_once(void);
/* What waits when a closure fails is told so. */
void promise_drops_what_waits(void);
/* Each worker has data of its own, in order; when it ends, the closure that wants more fails. */
void promise_gives_data(void);
/* What the values of ps_values.py are to TensorFlow (VA7). A variable that replicas write is written by what they agree
 * on, once a closure (aggregating); a closure reads each variable once, however often others write it meanwhile
 * (caching); a worker keeps what it has opened (per worker); a table is on each worker (distributed). */
void promise_keeps_values_of_workers(void);
/* The bits of a process that does it all: one worker, one closure at a time. With kills, of servers of which each has a
 * copy of the other, between closures. */
void promise_has_the_bits(const char *rule, bool kills);

/* -- tables (help_promises_rows.c) -- */

/* Of each task: a model with a table that `rule` steps, before the coordinator opens; after all. */
void promise_declares_rows(const char *rule);
void promise_forgets_rows(void);
/* Of a table no more travels than the rows that a closure reads and steps; the bits are those of one process, which has
 * it all, also beside steps of the whole table. One worker, one closure at a time. With kills as above. */
void promise_moves_rows(const char *rule, bool kills);

/* -- what losses of tasks leave (help_promises_losses.c) -- */

/* A worker that is killed loses nothing, and nothing counts twice. */
void promise_survives_workers(void);
/* One worker after another, while closures run: each kill waits until whoever it kills has come back from the one
 * before. */
void promise_survives_a_storm(int kills);
/* A server that is killed has lost its variables: one error, and back to what was kept. */
void promise_survives_servers(void);
/* Servers that have copies of one another are killed while closures run, once the one before has come back and has its
 * copies: nothing is lost, raised or counted twice. */
void promise_loses_no_server(int kills);
/* A server sleeps until the others have gone on with the copies of what it has: that is void when it wakes, and it gets
 * copies of what there is then. */
void promise_takes_back_a_stale_server(void);
/* A chief that is killed finds the servers as they were. */
void promise_resumes(void);
void promise_hears_what_was_lost(void);
/* A server has come back without its variables, and nobody has been told: what it has now is not kept, and not read. */
void promise_keeps_nothing_void(void);
/* A closure has failed that nobody fetches, and before that is raised a server has come back without its variables: the
 * loss is raised, and what the closure said is in the log. So is what is not raised before the coordinator closes. */
void promise_says_what_is_not_raised(void);
/* A server is lost when the one before it has been kept already: what was kept before stays, whole. */
void promise_keeps_all_or_nothing(void);

/* -- where functions run, what waits, and for how long (help_promises_waits.c) -- */

/* Functions over servers run where they are scheduled, and nowhere else; a loop of units has no place here (PS2). */
void promise_nothing_is_run_unscheduled(void);
void promise_runs_where_it_is_scheduled(void);
/* A task that does not answer for a time is no failure: nothing is raised, and nothing runs again (PS16). */
void promise_bears_a_pause(void);
/* With a delay the second worker is given nothing before its time (PS19); with one that may be no longer than half a
 * second, it is. */
void promise_begins_in_turn(bool most);
/* A server that does not come back: whoever needs it waits for as long as was said, and hears who it was. */
void promise_gives_up_on_a_server(void);
/* Tasks that never come: what waits for them fails when the time for the cluster is over, closing too. */
void promise_gives_up_on_all(void);
/* Once somebody has looked at the job, a worker's data does not come: the worker is named to who waits, and ends as
 * the cluster's collective_timeout says. */
void promise_outlasts_a_stuck_worker(void);

#endif
