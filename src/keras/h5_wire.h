/* SPDX-License-Identifier: Apache-2.0 */
/* The flat form of a tree that the library and `artel-hdf5` exchange through memory files.
 *
 * Words are 64-bit in the machine's order (both ends are the same machine and the same build); strings are a length and
 * bytes; every item starts at a multiple of 8, data at a multiple of ARTEL__WIRE_ALIGN. After the header comes the
 * root:
 *
 *   node      = GROUP name attributes node* END | DATASET name attributes dtype rank dim*rank place
 *   attributes = count (name kind scalar count value*count)*count
 *   place     = NONE | IMAGE offset bytes | HERE bytes pad data | TEXTS count string*count
 *
 * The header is written last, so that its `complete` says that the rest is there. The helper is called as
 *   artel-hdf5 read|write WIRE_VERSION SECONDS   with descriptors 3 input, 4 output, 5 message (one letter and a text).
 */
#ifndef ARTEL_KERAS_H5_WIRE_H
#define ARTEL_KERAS_H5_WIRE_H

#include <stdint.h>

#define ARTEL__WIRE_VERSION "1"
#define ARTEL__WIRE_MAGIC 0x3130354848545241u /* "ARTHH501" */
#define ARTEL__WIRE_COMPLETE 0x656e6f64u
#define ARTEL__WIRE_ALIGN 64u
#define ARTEL__WIRE_MAX_DEPTH 64

enum {
    ARTEL__WIRE_INPUT = 3,
    ARTEL__WIRE_OUTPUT = 4,
    ARTEL__WIRE_MESSAGE = 5
};
enum {
    ARTEL__WIRE_END = 0,
    ARTEL__WIRE_GROUP = 1,
    ARTEL__WIRE_DATASET = 2
};
enum {
    ARTEL__WIRE_NONE = 0,
    ARTEL__WIRE_IMAGE = 1,
    ARTEL__WIRE_HERE = 2,
    ARTEL__WIRE_TEXTS = 3
};
enum {
    ARTEL__WIRE_INTS = 1,
    ARTEL__WIRE_DOUBLES = 2,
    ARTEL__WIRE_STRINGS = 3
};

typedef struct artel__wire_header {
    uint64_t magic, complete, length, reserved;
} artel__wire_header;

/* What a file may grow to in the flat form: damaged ones declare anything. */
static inline uint64_t artel__wire_limit(uint64_t file_size)
{
    return ((uint64_t)1 << 30) + (file_size < (uint64_t)1 << 56 ? 20 * file_size : 0);
}

#endif
