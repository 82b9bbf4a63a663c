/* SPDX-License-Identifier: Apache-2.0 */
/* Advice on names that nobody knows. */
#ifndef ARTEL_BASE_ADVICE_H
#define ARTEL_BASE_ADVICE_H

#include <stddef.h>

/* "did you mean ring?" where one of the names (NULL ends) is near, else "use auto, direct or ring": all of them. */
void artel__advise_name(const char *word, const char *const *names, char *advice, size_t size);

#endif
