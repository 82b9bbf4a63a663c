/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of comma-separated tables (RFC 4180). */
#ifndef ARTEL_CLI_TABLE_FILE_H
#define ARTEL_CLI_TABLE_FILE_H

#include "base/text.h"

/* In quotation marks where it has to be. */
void artel__cli_put_field(artel__text *out, const char *text);

#endif
