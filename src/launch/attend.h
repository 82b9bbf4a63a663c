/* SPDX-License-Identifier: Apache-2.0 */
/* A task of a launcher on another machine: the two ends of a remote shell.
 *
 * The launcher starts the *near* end as if it were the task. That starts the shell (ssh HOST artel attend), whose
 * standard output and error are its own, and writes to its standard input: the order, a JSON object and a byte 0, then
 * a byte for each signal that the task is to get. The *far* end puts the certificate into a folder of its own, starts
 * the task, and passes signals on. When its input ends, for the launcher, the near end or the connection is gone, it
 * kills the task: none outlives its launcher. The exit code comes back through the shell; 128 + signal for one that
 * died by a signal.
 *
 * The order: {"artel": version, "words": [program, argument, ...], "directory": path, "variables":
 * ["NAME=value", ...], "share": tasks on that machine, "certificate": {"tls.crt": text, "tls.key": text, "ca.crt":
 * text} or null}.
 */
#ifndef ARTEL_LAUNCH_ATTEND_H
#define ARTEL_LAUNCH_ATTEND_H

#include "base/context.h"

/* The first line of the far end on its standard error, once it knows what to do: the launcher takes it away. */
#define ARTEL__ATTEND_GREETING "artel: attending"

typedef struct artel__attend_order {
    const char *host;         /* as the shell takes it, user@ included */
    const char *shell;        /* words separated by blanks: "ssh -o BatchMode=yes" */
    const char *artel;        /* the program there */
    int share;                /* tasks on that machine, which divide its cores; 0: ARTEL_THREADS holds */
    const char *const *words; /* what to run there, NULL-terminated */
    const char *const
        *environment; /* of this end: TF_CONFIG and ARTEL_* are handed on, the certificate of ARTEL_CERT_DIR too */
} artel__attend_order;

/* `signals`: a signalfd(2), whose signals are passed on. Returns when the shell has ended, with its exit code. Errors:
 * NOT_FOUND (no such shell, no certificate), IO. */
artel_status artel__attend_near(artel_context *ctx, const artel__attend_order *order, int signals, int *out_code);
/* `input`: where the near end writes; `environment`: what the task gets besides. Returns when the task has ended.
 * Errors: INVALID (no order, of another version), NOT_FOUND (directory, program), IO. */
artel_status artel__attend_far(artel_context *ctx, int input, const char *const *environment, int *out_code);

#endif
