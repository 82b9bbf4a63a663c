/* SPDX-License-Identifier: Apache-2.0 */
/* What the chief of prog_coordinator.c does again and again, and the tasks' process numbers: each task writes its own
 * into a file of the job's folder, so that the chief may kill it. */
#ifndef TESTS_API_HELP_CHIEF_H
#define TESTS_API_HELP_CHIEF_H

#include "help_coordinator.h"

/* The counter of the job. */
float chief_counted(void);
void chief_schedule(artel_function *f, const artel_array *in, int inputs, artel_worker_data *data, artel_remote **out);
/* Schedules so many times what counts up. */
void chief_many(int count);
void chief_join(void);
/* The only value of a closure, which is released. */
float chief_fetch_number(artel_remote *r);
artel_coordinator_metrics chief_look(void);

/* Of a closure and of one process: the same bits; near one another, where both were made on a device
 * (ARTEL_CLOSURE_DEVICE), for servers step on processors. */
const char *chief_device(void); /* NULL: processors */
bool chief_agree(float far, float alone);
/* The variables of both, likewise. */
void chief_check_model(artel_model *far, artel_model *alone, const char *rule);

void chief_name_file(char out[512], const char *type, int index);
/* What each task does first. */
void chief_tell_process(void);
int chief_process_of(const char *type, int index);
void chief_kill(const char *type, int index);
/* It stands still. */
void chief_stop(const char *type, int index);
/* All servers are here, and each has what it shall have: closures have run since. */
void chief_await_servers(void);
/* The same as kill; it is gone then. */
void chief_end(const char *type, int index);

/* A log that writes lines to stderr. */
void chief_say(void *user, artel_log_level level, const char *text);

#endif
