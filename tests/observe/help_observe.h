/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of this room share: a context, a scratch directory, files and pipes as strings. */
#ifndef TESTS_OBSERVE_HELP_OBSERVE_H
#define TESTS_OBSERVE_HELP_OBSERVE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/context.h"

/* A fresh directory under TMPDIR with a context; ended with scratch_fini, which removes it. */
typedef struct scratch {
    artel_context *ctx;
    char directory[512];
} scratch;

void scratch_init(scratch *s);
void scratch_fini(scratch *s);
/* A path inside it, valid until the next call but three. */
const char *scratch_path(scratch *s, const char *name);
/* The file as a NUL-terminated block; *size may be NULL. Free with free(). */
char *slurp(const char *path, size_t *size);
/* The only entry of a directory whose name begins with `prefix`, as a path; free with free(). */
char *only_file(const char *directory, const char *prefix);

/* An anonymous file that collects what is written to a descriptor. */
int capture_open(void);
/* What has been written so far; free with free(). */
char *capture_text(int fd);

#endif
