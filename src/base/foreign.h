/* SPDX-License-Identifier: Apache-2.0 */
/* Names files that are whole and something else than their reader expects. */
#ifndef ARTEL_BASE_FOREIGN_H
#define ARTEL_BASE_FOREIGN_H

#include <stddef.h>

#include "base/context.h"

/* For a reader that does not know what a file begins with: fails (CORRUPT) with what it is, where that is known; else
 * ARTEL_OK. */
artel_status artel__check_foreign(artel_context *ctx, const char *where, const void *bytes, size_t size);

#endif
