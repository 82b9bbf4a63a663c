/* SPDX-License-Identifier: Apache-2.0 */
/* artel-hdf5: the only program that links libhdf5. It turns a file into the flat form of keras/h5_wire.h or back.
 *
 * It gives up everything it does not need before it looks at the first byte, frees nothing (its life is one file), and
 * ends with _exit at the first failure after writing one line for the parent. It may crash or hang in libhdf5; the
 * parent expects that. Nothing here is part of libartel.
 */
#ifndef ARTEL_KERAS_HDF5_HELPER_H
#define ARTEL_KERAS_HDF5_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hdf5.h>

#include "artel/tensor.h"
#include "keras/h5_wire.h"

/* Kinds of failure, the first letter of the message. */
enum {
    HELPER_CORRUPT = 'C',
    HELPER_UNSUPPORTED = 'U',
    HELPER_MEMORY = 'M',
    HELPER_INVALID = 'I'
};

/* Sends the message, with libhdf5's own words where `with_hdf5`, and ends the process. */
_Noreturn void helper_fail(int kind, bool with_hdf5, const char *format, ...) __attribute__((format(printf, 3, 4)));
void *helper_alloc(size_t count, size_t size); /* cleared; never NULL */

/* Limits on processor time, memory and file size; then system calls. */
void helper_limit(uint64_t input_size, unsigned seconds);
void helper_sandbox(void);

/* The whole input; nothing writes to it. */
typedef struct helper_input {
    uint8_t *bytes;
    uint64_t size;
} helper_input;

/* The output, written front to back through a buffer; helper_end writes the header. */
typedef struct helper_output {
    uint64_t written, limit;
    size_t used;
    uint8_t buffer[1 << 16];
} helper_output;

void helper_begin(helper_output *out, uint64_t limit);
void helper_put(helper_output *out, const void *bytes, size_t count);
void helper_put_word(helper_output *out, uint64_t word);
void helper_put_string(helper_output *out, const char *text, size_t length);
void helper_pad(helper_output *out, size_t alignment);
void helper_end(helper_output *out);
uint64_t helper_room(const helper_output *out); /* bytes that may still be written */

/* Pairs of a type in a file and the type its elements have in memory. */
typedef struct helper_type {
    bool known;
    artel_dtype dtype;
    hid_t memory;   /* for H5Dread */
    bool identical; /* bytes in the file are those in memory */
} helper_type;

helper_type helper_classify(hid_t file_type);
hid_t helper_memory_type(artel_dtype dtype); /* little-endian, as h5py makes it; -1 for strings */

/* Of a file image whose bytes are ours (H5Pset_file_image_callbacks). */
herr_t helper_image_free(void *block, H5FD_file_image_op_t op, void *user);
void *helper_image_user_copy(void *user);
herr_t helper_image_user_free(void *user);

void helper_read(const helper_input *input, helper_output *out);
void helper_write(const helper_input *input);

#endif
