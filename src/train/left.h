/* SPDX-License-Identifier: Apache-2.0 */
/* Large variables that nobody has drawn yet.
 *
 * In a job with parameter servers a variable of ARTEL__LEFT_LEAST bytes and more whose values come from the seed is not
 * drawn by who does not need it: each server draws its own rows, workers fetch those that they read, and the
 * coordinator gets all with the first state that it takes back. Numbers count elements, so whoever draws one gets the
 * same. A session has all variables from the beginning, these as zeros that take no room (base/memory.c: pages that are
 * not touched).
 */
#ifndef ARTEL_TRAIN_LEFT_H
#define ARTEL_TRAIN_LEFT_H

#include "train/session.h"

#define ARTEL__LEFT_LEAST ((size_t)16 << 20)

/* The model's initial values, but those that are left; the first `count` variables of one state from another, but
 * those, which are zero in both and are not touched. For session.c. */
artel_status artel__session_initialise(artel__session *session);
void artel__session_copy_drawn(const artel__session *session, artel__state *to, const artel__state *from, int count);
/* Whether there are such; whether this is one. */
bool artel__session_leaves(const artel__session *session);
bool artel__session_left(const artel__session *session, int variable);
/* Elements [first, first + count) of one. */
artel_status artel__session_draw(const artel__session *session, int variable, int64_t first, int64_t count, float *out);
/* The session's state has been given all. */
void artel__session_has_all(artel__session *session);
/* Draws what is left: before the whole state is read. */
artel_status artel__session_complete(artel__session *session);

#endif
