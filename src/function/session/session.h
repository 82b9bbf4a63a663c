/* SPDX-License-Identifier: Apache-2.0 */
/* What other rooms know of a session. */
#ifndef ARTEL_FUNCTION_SESSION_SESSION_H
#define ARTEL_FUNCTION_SESSION_SESSION_H

#include "artel/session.h"

artel_context *artel__placed_context(const artel_session *session);
artel_strategy *artel__placed_strategy(const artel_session *session);
/* NULL: this process is all tasks. */
artel_communicator *artel__placed_communicator(const artel_session *session);
artel_context *artel__placed_function_context(const artel_function *function);
/* Who is asked instead of a run that the program wants, and what then runs it. NULL: nobody. */
typedef artel_status artel__placed_around_fn(void *user, artel_function *function, const artel_session_call *call);
void artel__placed_surround(artel_session *session, artel__placed_around_fn *around, void *user);
void *artel__placed_surrounded(const artel_session *session);
/* Where the time went of a node that this task has computed in a run of its own. */
typedef struct artel__placed_time {
    const char *layer, *operation, *kernel, *phase;
    int64_t begin_ns, longest_ns;
} artel__placed_time;
typedef void artel__placed_time_fn(void *user, const artel__placed_time *time);
/* Runs by this client are timed from here on, and their nodes told when they have succeeded. NULL: no more. */
void artel__placed_watch(artel_session *session, artel__placed_time_fn *watch, void *user);
/* Whether the last call of a client's failed because a task is lost. */
bool artel__placed_lost(const artel_session *session);
/* Whether it is task 0. */
bool artel__placed_is_first(const artel_session *session);

#endif
