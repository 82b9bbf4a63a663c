/* SPDX-License-Identifier: Apache-2.0 */
/* The hashes by which TensorFlow sorts words into buckets.
 *
 * `tf.strings.to_hash_bucket_fast` takes the fingerprint modulo the buckets, `to_hash_bucket_strong` the keyed hash;
 * crosses chain fingerprints with artel__fingerprint_chain. Each is a fixed function: files depend on the values.
 */
#ifndef ARTEL_TEXT_HASH_H
#define ARTEL_TEXT_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Fingerprint64 of FarmHash. */
uint64_t artel__fingerprint(const void *bytes, size_t length);
/* Hash64 of TensorFlow (Murmur's of 64 bits with a seed of its own): `tf.strings.to_hash_bucket`. */
uint64_t artel__old_hash(const void *bytes, size_t length);
/* SipHash-2-4 with 64 bits. */
uint64_t artel__keyed_hash(const uint64_t key[2], const void *bytes, size_t length);
/* One fingerprint of two, in this order. */
uint64_t artel__fingerprint_chain(uint64_t first, uint64_t second);

#endif
