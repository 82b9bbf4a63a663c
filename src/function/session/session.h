/* SPDX-License-Identifier: Apache-2.0 */
/* What other rooms know of a session. */
#ifndef ARTEL_FUNCTION_SESSION_SESSION_H
#define ARTEL_FUNCTION_SESSION_SESSION_H

#include "artel/session.h"

artel_context *artel__placed_context(const artel_session *session);
artel_strategy *artel__placed_strategy(const artel_session *session);
/* NULL: this process is all tasks. */
artel_communicator *artel__placed_communicator(const artel_session *session);
/* Whether it is task 0. */
bool artel__placed_is_first(const artel_session *session);

#endif
