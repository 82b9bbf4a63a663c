/* SPDX-License-Identifier: Apache-2.0 */
/* Environments of processes, and what cluster/resolver.h makes of them. */
#ifndef ARTEL_TESTS_CLUSTER_HELP_RESOLVE_H
#define ARTEL_TESTS_CLUSTER_HELP_RESOLVE_H

#include "cluster/resolver.h"

/* NAME=value strings, perhaps options, and the answer in one line:
 *   "resolver rank/trainers own-address [rendezvous]", or "! part of WHERE: part of the message". */
typedef struct resolve_case {
    const char *variable[14];
    const char *expected;
    artel__cluster_options options;
} resolve_case;

#define TWO "\"cluster\":{\"worker\":[\"a:1\",\"b:1\"]}"
#define TASK(type, index) "\"task\":{\"type\":\"" type "\",\"index\":" index "}"
#define OMPI(rank, size) "OMPI_COMM_WORLD_RANK=" rank, "OMPI_COMM_WORLD_SIZE=" size

/* *state: a context. */
int resolve_set_up(void **state);
int resolve_tear_down(void **state);
/* A variable of the list that `user` is, in a buffer that the next call overwrites, as the contract allows. */
const char *resolve_look(void *user, const char *name);
/* The answer of a case, whatever is expected; and whether one fits: of "! where: message" parts are compared, of
 * everything else the whole. */
void resolve_answer(artel_context *ctx, const resolve_case *c, char *out, size_t size);
bool resolve_fits(const char *expected, const char *found);
/* Fails the test at the first case with another answer. */
void resolve_run(artel_context *ctx, const resolve_case *cases, size_t count);

#endif
