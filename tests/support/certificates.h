/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates for tests: an authority in memory that issues what a test asks for, good or bad. */
#ifndef SUPPORT_CERTIFICATES_H
#define SUPPORT_CERTIFICATES_H

#include "net/part_tls/stream.h"

typedef struct support_authority support_authority;

/* Makes an authority and writes it to `path`. Ends the test when it cannot. */
support_authority *support_authority_create(const char *path);
void support_authority_destroy(support_authority *authority);

/* Writes a certificate for `name`, valid from `from` to `to` seconds from now, and its key. */
typedef struct support_certificate {
    const char *name, *certificate, *key; /* paths */
    long from, to;
} support_certificate;
void support_issue(support_authority *authority, const support_certificate *wanted);

#endif
