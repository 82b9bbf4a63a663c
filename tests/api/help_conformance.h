/* SPDX-License-Identifier: Apache-2.0 */
/* The strategies over which the rows of tf.distribute's semantics are tried: those of one process, on processors and on
 * XLA's device where its plug-in is installed; among tasks that step together; over parameter servers. Each test goes
 * through all forms of its run:
 *
 *   for each form: begin, declare, if start: runs and what they have made; end
 *
 * Public headers only. */
#ifndef TESTS_API_HELP_CONFORMANCE_H
#define TESTS_API_HELP_CONFORMANCE_H

#include "api/help_api.h"

#include "artel/cluster.h"
#include "artel/coordinator.h"

enum {
    CONFORMANCE_SHARDS = 8 /* everywhere, so that bits can be compared */
};

typedef struct conformance_form {
    const char *strategy, *resolved;
    int replicas, threads;
    const char *device; /* NULL: processors, which have other bits */
    bool together;      /* with the other tasks */
} conformance_form;

extern const conformance_form *conformance_forms;
extern int conformance_count;
extern artel_cluster *conformance_cluster; /* NULL: this process is alone */
extern int conformance_tasks;

typedef struct conformance_stage {
    artel_context *ctx;
    artel_strategy *strategy;
    const conformance_form *form;
    artel_coordinator *coordinator;
    artel_model *model; /* of the test's; ends behind the strategy */
} conformance_stage;

/* Of a program that is given nothing (alone), the number of tasks that step together, or "servers". */
void conformance_open(int argc, char **argv);
/* The exit code. */
int conformance_close(int failures);

/* Whether the form is the first of those whose bits are the same: what it makes is what the others are compared with.
 */
bool conformance_leads(int form);
bool conformance_has_servers(const conformance_form *form);

conformance_stage conformance_begin(const conformance_form *form, int batch);
void conformance_end(conformance_stage *stage);
/* Once all is declared. False: this task is a worker or a server of closures, and has been one until the chief's end().
 */
bool conformance_start(conformance_stage *stage);
/* A run: by itself, as a unit of the strategy's loop, or as a closure that is fetched. */
artel_status conformance_run(conformance_stage *stage, artel_function *f, const artel_array *in, int inputs,
                             const artel_array *out, int outputs);

#endif
