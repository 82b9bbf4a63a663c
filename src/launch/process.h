/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of a launcher: each in a process group of its own, its output in pipes, none outliving the launcher.
 *
 * A child is killed by the kernel when the launcher dies (PR_SET_PDEATHSIG). That does not reach the child's own
 * children, so a *guard* stands by: a process forked from the launcher, which knows the groups and, once the launcher's
 * end of a pipe closes, kills them and removes a folder that it has made. What leaves its group (setsid) is out of
 * reach.
 *
 * A child that has ended stays a zombie until artel__process_reap, so that its number names its group and nothing else.
 * Objects belong to the thread that made them, and it must live as long as the children.
 */
#ifndef ARTEL_LAUNCH_PROCESS_H
#define ARTEL_LAUNCH_PROCESS_H

#include <sys/types.h>

#include "base/context.h"

#define ARTEL__GUARD_FOLDER 512

typedef struct artel__guard {
    int fd; /* -1: none */
    pid_t pid;
    char folder[ARTEL__GUARD_FOLDER]; /* or "" */
} artel__guard;

/* With `places` (NULL-terminated, or NULL): makes a folder with mode 0700 in the first of them that allows it, and in
 * the end removes it with all that it holds. Errors: IO. */
artel_status artel__guard_create(artel_context *ctx, const char *const *places, artel__guard *out);
/* Lets it do its work and waits for it. A guard without one is accepted. */
void artel__guard_destroy(artel__guard *guard);

typedef struct artel__process_request {
    const char *where;        /* for messages: "worker 1" */
    const char *const *words; /* NULL-terminated; the first is a path */
    const char *const *environment;
    const int *core;  /* the child may run on these only */
    int cores;        /* 0: any */
    int input;        /* becomes its standard input; 0: an empty one */
    bool same_output; /* it writes where this process does; else into pipes */
    const artel__guard *guard;
    void (*in_child)(
        void *user); /* before the program starts; calls nothing but async-signal-safe functions. Or NULL */
    void *user;
} artel__process_request;

typedef struct artel__process {
    pid_t pid;    /* 0: none */
    int watch;    /* readable once it has ended; -1: the kernel has no such thing, ask now and then */
    int out, err; /* reading ends, non-blocking; -1 when closed */
    bool ended;
    int status; /* as of wait(2), once ended */
} artel__process;

/* Starts a program and waits until it runs. Errors: NOT_FOUND, IO (the record says why). */
artel_status artel__process_start(artel_context *ctx, const artel__process_request *request, artel__process *out);
/* Whether it has ended; never waits. */
bool artel__process_ended(artel__process *process);
/* Of one that has ended: its exit code, 128 + signal for one that a signal has ended. */
int artel__process_code(const artel__process *process);
/* To the whole group, as far as there is one. */
void artel__process_signal(const artel__process *process, int number);
/* Kills what is left of the group, forgets the process, closes everything. A running one is killed, too. */
void artel__process_reap(artel__process *process, const artel__guard *guard);
/* The same without waiting: for one that does not end even so. */
void artel__process_leave(artel__process *process);

/* The value of a variable in a list of NAME=value, NULL-terminated; NULL: it is not there. */
const char *artel__environment_find(const char *const *environment, const char *name);

/* The file that would run: `name` itself when it has a slash, else the first of PATH. Errors: NOT_FOUND; INVALID (is
 * not executable). At most `size` bytes with the NUL. */
artel_status artel__process_find(artel_context *ctx, const char *name, const char *search, char *out, size_t size);

#endif
