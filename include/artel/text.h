/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of arrays of strings (ARTEL_DTYPE_STRING), wherever the library takes or gives them. */
#ifndef ARTEL_TEXT_H
#define ARTEL_TEXT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* UTF-8. NUL bytes count like others; none is needed behind the last one. Whoever made it says how long the bytes
 * stay: the library copies or reads what it is given before the call returns, unless its function says "borrowed". */
typedef struct artel_string {
    const char *bytes; /* may be NULL where length is 0 */
    size_t length;
} artel_string;

#ifdef __cplusplus
}
#endif
#endif
