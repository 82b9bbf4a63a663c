/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted tables of keys and values in a file: LevelDB's format, in which TensorFlow keeps what a checkpoint holds.
 *
 * Format: github.com/google/leveldb, doc/table_format.md. A block is entries with shared beginnings of keys, an array
 * of restarts, a byte for its compression and a masked CRC32C. The footer names the index block, whose values are
 * places of the blocks with data.
 */
#ifndef ARTEL_KERAS_TF_TABLE_H
#define ARTEL_KERAS_TF_TABLE_H

#include "base/context.h"
#include "base/protobuf.h"

/* The key is terminated by NUL besides; both are valid during the call. */
typedef artel_status artel__tf_entry_fn(void *user, const char *key, size_t key_size, artel__proto value);

bool artel__tf_is_table(const uint8_t *bytes, size_t size);
/* Every entry in the order of keys. Errors: CORRUPT (damaged, with what), UNSUPPORTED (compressed), or what the
 * function gives. */
artel_status artel__tf_table_read(artel_context *ctx, const char *where, const uint8_t *bytes, size_t size,
                                  artel__tf_entry_fn *entry, void *user);

#endif
