/* SPDX-License-Identifier: Apache-2.0 */
/* A task of a job whose coordinator makes promises (prog_coordinator.c), and what every task declares: variables, a
 * model, data, functions. */
#ifndef TESTS_API_HELP_COORDINATOR_H
#define TESTS_API_HELP_COORDINATOR_H

#include <stdio.h>
#include <stdlib.h>

#include <artel/artel.h>

enum {
    COORDINATOR_BATCH = 8,
    COORDINATOR_CLASSES = 4,
    COORDINATOR_WORDS = 20011, /* of a table */
    COORDINATOR_BATCHES = 30   /* that `few` has */
};

/* One a process. */
typedef struct coordinator_job {
    artel_context *ctx;
    artel_cluster *cluster;
    artel_strategy *strategy;
    artel_coordinator *coordinator; /* of the chief */
    const char *folder;             /* of the job; see help_chief.h */
    artel_variable *counter, *weights;
    artel_optimizer *counts;
    artel_function *count_up, *count_batch, *judge, *put, *step, *caching;
    artel_worker_data *few; /* batches are worker * 1000 + their number */
    artel_model *model;
    artel_optimizer *trains;
    const char *awaits; /* the first batch of `few` does not come before there is this file; NULL: it does */
} coordinator_job;
extern coordinator_job job;

/* Ends the process with 1 unless it holds. */
#define check(condition, ...)                                                                               \
    do {                                                                                                    \
        if (!(condition)) {                                                                                 \
            printf("%s:%d: %s: ", __FILE__, __LINE__, #condition);                                          \
            printf(__VA_ARGS__);                                                                            \
            printf(" (%s: %s)\n", artel_context_error(job.ctx)->where, artel_context_error(job.ctx)->what); \
            fflush(stdout);                                                                                 \
            _Exit(1);                                                                                       \
        }                                                                                                   \
    } while (0)

/* A step of an optimizer, of the job's or another strategy. */
typedef struct coordinator_training {
    artel_strategy *strategy;
    artel_model *model;
    artel_optimizer *optimizer;
    artel_function *step;
} coordinator_training;
artel_status coordinator_trace_step(void *user, artel_graph *g, const artel_value *in, artel_value *out);
artel_model *coordinator_model(void);
artel_optimizer *coordinator_train_with(artel_strategy *s, artel_model *of, const char *rule);
/* Arguments of a step: rows and their classes. */
extern const artel_argument coordinator_labelled[2];

/* All of the job. */
void coordinator_declare(const char *rule);

#endif
