/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of integers as programs of devices: text/hash.h of their decimal digits. */
#ifndef ARTEL_OP_LOWER_HASH_H
#define ARTEL_OP_LOWER_HASH_H

#include "graph/hlo.h"

/* The hash of each of these integers (INT64) as words: the digits, behind a minus where it is negative. UINT64.
 * `key`: that of the keyed hash; NULL: the fingerprint. */
artel__hlo_value artel__lower_hash_digits(artel__hlo *h, artel__hlo_value x, const uint64_t *key);
/* artel__fingerprint_chain of two values of UINT64. */
artel__hlo_value artel__lower_hash_chain(artel__hlo *h, artel__hlo_value first, artel__hlo_value second);

#endif
