/* SPDX-License-Identifier: Apache-2.0 */
/* Time. Monotonic nanoseconds for measuring, wall seconds for files. */
#ifndef ARTEL_BASE_CLOCK_H
#define ARTEL_BASE_CLOCK_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

int64_t artel__now_ns(void);          /* CLOCK_MONOTONIC */
double artel__wall_seconds(void);     /* seconds since 1970 */
int64_t artel__thread_time_ns(void);  /* processor time of the calling thread */
int64_t artel__process_time_ns(void); /* of all threads of this process */
double artel__process_age(void); /* seconds since this process was executed, from /proc/self/stat; 0 when unknown */
int64_t artel__peak_rss_bytes(void);

/* A condition variable whose timed waits go by CLOCK_MONOTONIC, and a moment for them. 0, or what pthread_cond_init
 * says. */
int artel__cond_init(pthread_cond_t *condition);
struct timespec artel__after_ns(int64_t ns);

#endif
