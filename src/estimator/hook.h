/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of monitored sessions, from the inside: what calls them is monitor.c. */
#ifndef ARTEL_ESTIMATOR_HOOK_H
#define ARTEL_ESTIMATOR_HOOK_H

#include "artel/hooks.h"

struct artel_hook {
    artel_context *ctx;
    artel_hook_functions call;
    void *user;
    void (*fini)(void *user); /* of the library's own: `user` is freed, too */
};

/* A hook of the library's own, with `bytes` of zeros as its user. */
artel_status artel__hook_make(artel_context *ctx, const artel_hook_functions *call, void (*fini)(void *user),
                              size_t bytes, artel_hook **out);

/* What is around a run. `stopped`: by artel_session_request_stop(). */
typedef struct artel__hooks {
    artel_session *session;
    artel_context *ctx;
    artel_hook *const *hook;
    int count;
    int64_t unit; /* that is going on */
    bool stopped;
} artel__hooks;

typedef enum artel__hook_moment {
    ARTEL__HOOK_BEGIN,
    ARTEL__HOOK_CREATED,
    ARTEL__HOOK_SAVING,
    ARTEL__HOOK_SAVED,
    ARTEL__HOOK_END
} artel__hook_moment;

/* All of them, in their order, until one fails; what they run has no hooks around it. */
artel_status artel__hooks_call(artel__hooks *hooks, artel__hook_moment moment, int64_t unit);
/* artel__placed_around_fn of a session that has hooks. */
artel_status artel__hooks_around(void *hooks, artel_function *function, const artel_session_call *call);

#endif
