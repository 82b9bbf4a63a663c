/* SPDX-License-Identifier: Apache-2.0 */
/* What every function of the library answers, and the record that says why.
 *
 * A function that can fail returns an artel_status. Zero is success, a positive value means "in progress" or
 * "again", a negative value is a failure. Whoever detects a failure fills the context's error record; everyone else
 * passes the status up. See artel_context_error() in context.h.
 */
#ifndef ARTEL_STATUS_H
#define ARTEL_STATUS_H

#if defined(__GNUC__)
#define ARTEL_API __attribute__((visibility("default")))
#else
#define ARTEL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The kinds of answer. The command line maps the failures to exit codes; see artel_status_exit_code(). */
typedef enum artel_status {
    ARTEL_OK = 0,
    ARTEL_AGAIN = 1, /* in progress, or: no more items */
    ARTEL_ERROR_INVALID =
        -1, /* an argument, an option, a model or a value is wrong; a file may not be read or written */
    ARTEL_ERROR_NOT_FOUND = -2,   /* a file, an array, a layer or a name does not exist */
    ARTEL_ERROR_CORRUPT = -3,     /* a file is damaged or is not what it claims to be */
    ARTEL_ERROR_UNSUPPORTED = -4, /* well-formed, known, and not something this build can do */
    ARTEL_ERROR_NO_MEMORY = -5,   /* an allocation failed or would pass a limit */
    ARTEL_ERROR_IO = -6,          /* the operating system refused to read or write (disk full, bad sector) */
    ARTEL_ERROR_RUN = -7,         /* the run itself failed: NaN with stop-on-nan, peers lost beyond repair */
    ARTEL_ERROR_CANCELLED = -8,   /* artel_context_cancel() was called; everything done so far is in order */
    ARTEL_ERROR_PREEMPTED = -9,   /* stopped on request after saving; start again to continue */
    ARTEL_ERROR_INTERNAL = -10    /* a defect of artel; please report it */
} artel_status;

/* One failure, in the terms of the person who has to mend it. Strings are never NULL, possibly empty. */
typedef struct artel_error {
    artel_status status;
    char where[256];  /* the file, option, layer or address concerned */
    char what[768];   /* what is wrong: what was found, what was expected */
    char advice[512]; /* what to do about it; empty when there is nothing to advise */
} artel_error;

/* A constant name such as "invalid"; "unknown" for other values. Thread-safe. */
ARTEL_API const char *artel_status_name(artel_status status);

/* The exit code of a program that ends with this status: 0, 1 (usage or bad input), 2 (the run failed), 130 or 143. */
ARTEL_API int artel_status_exit_code(artel_status status);

#ifdef __cplusplus
}
#endif
#endif
