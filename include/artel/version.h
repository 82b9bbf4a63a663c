/* SPDX-License-Identifier: Apache-2.0 */
/* The version of these headers, and of the library that a program runs with.
 *
 * Versions are semantic: a program compiled against MAJOR.MINOR runs with every library of that MAJOR and the same or a
 * later MINOR (while MAJOR is 0, of that MINOR only). Structs of options may grow at their end: their struct_size says
 * which ones a caller knows. The bits of results are promised by the arithmetic class, not by the version.
 */
#ifndef ARTEL_VERSION_H
#define ARTEL_VERSION_H

#include "artel/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ARTEL_VERSION_MAJOR 0
#define ARTEL_VERSION_MINOR 1
#define ARTEL_VERSION_PATCH 0
#define ARTEL_VERSION_STRING "0.1.0"

/* One number that grows with the version: #if ARTEL_VERSION_NUMBER >= ARTEL_VERSION_ENCODE(0, 1, 0) */
#define ARTEL_VERSION_ENCODE(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define ARTEL_VERSION_NUMBER ARTEL_VERSION_ENCODE(ARTEL_VERSION_MAJOR, ARTEL_VERSION_MINOR, ARTEL_VERSION_PATCH)

/* The running library's ARTEL_VERSION_NUMBER; `text`, unless NULL, receives its ARTEL_VERSION_STRING, a constant. Any
 * thread. */
ARTEL_API int artel_version(const char **text);

#ifdef __cplusplus
}
#endif
#endif
