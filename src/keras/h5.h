/* SPDX-License-Identifier: Apache-2.0 */
/* HDF5 files as trees in memory: groups, datasets, attributes. No knowledge of models.
 *
 * libhdf5 crashes and hangs on damaged files, so it never runs in this process: a helper program (`artel-hdf5`) is
 * started for each file, with limits on time, memory and system calls, gets the bytes in a memory file and answers with
 * a flat description that is checked as if it came from an enemy. Whatever happens to the helper, the caller gets a
 * tree or ARTEL_ERROR_CORRUPT. The helper is looked for at $ARTEL_HDF5_HELPER, then beside the library or program, then
 * in
 * ../libexec/artel. One file costs about 2 ms; data are not copied on reading except where they are compressed.
 *
 * Nodes, names and attributes live in the arena given. A tree belongs to one thread at a time.
 */
#ifndef ARTEL_KERAS_H5_H
#define ARTEL_KERAS_H5_H

#include "artel/tensor.h"
#include "base/arena.h"
#include "base/file.h"

/* Depth of groups, in both directions. */
#define ARTEL__H5_MAX_DEPTH 64

typedef enum artel__h5_kind {
    ARTEL__H5_INTS = 1,
    ARTEL__H5_DOUBLES = 2,
    ARTEL__H5_STRINGS = 3
} artel__h5_kind;

typedef struct artel__h5_attribute {
    struct artel__h5_attribute *next;
    const char *name;
    artel__h5_kind kind;
    bool scalar;  /* one value that is not an array */
    size_t count; /* arrays of any rank are flattened; 0 for empty ones, whatever their kind */
    union {
        const int64_t *ints;
        const double *doubles;
        const char *const *strings; /* UTF-8 by convention; not checked */
    };
} artel__h5_attribute;

typedef struct artel__h5_node {
    struct artel__h5_node *next, *first, *last; /* sibling; children in file order */
    const char *name;                           /* "/" for the root */
    artel__h5_attribute *attributes, *last_attribute;
    size_t child_count, attribute_count;
    bool is_dataset;
    bool readable;     /* false: a dataset of a type that has no artel_dtype; data is NULL */
    artel_dtype dtype; /* BFLOAT16 for 2-byte data as Keras marks it */
    artel_shape shape;
    const void *data; /* row-major, little-endian, read from files not aligned for its type; for STRING an array of
                         const char * */
    size_t bytes;     /* of data; for STRING count * sizeof(const char *) */
} artel__h5_node;

/* A file that was read. Data of its nodes are valid until artel__h5_close. */
typedef struct artel__h5_file {
    artel_context *ctx;
    artel__h5_node *root;
    artel__mapping image, reply; /* memory files */
} artel__h5_file;

/* True when the bytes begin like an HDF5 file (a user block in front is allowed). */
bool artel__h5_is_h5(const void *bytes, size_t size);

/* Reads the file that lies in `bytes` (which are not needed afterwards); `where` names it in messages. Soft and
 * external links are left out. Errors: CORRUPT (damaged; the helper crashed or took too long), UNSUPPORTED (no helper),
 * NO_MEMORY. */
artel_status artel__h5_read(artel__arena *arena, const char *where, const void *bytes, size_t size,
                            artel__h5_file *out);
artel_status artel__h5_read_file(artel__arena *arena, const char *path, artel__h5_file *out);
/* Also valid on a zeroed struct. */
void artel__h5_close(artel__h5_file *file);

/* The child of that name; or the node at a path of names ("layers/dense/vars/0", a leading '/' is allowed, "" is the
 * node itself). NULL when there is none or when `node` is NULL. */
const artel__h5_node *artel__h5_child(const artel__h5_node *node, const char *name);
const artel__h5_node *artel__h5_find(const artel__h5_node *node, const char *path);
const artel__h5_attribute *artel__h5_attribute_find(const artel__h5_node *node, const char *name);
/* The value of a string attribute with one value, or NULL. */
const char *artel__h5_attribute_text(const artel__h5_node *node, const char *name);

/* Builders. Names, shapes and attribute values are copied, data are borrowed until the tree has been written. NULL when
 * memory is out (see artel__arena_status) or when `parent` is NULL. */
artel__h5_node *artel__h5_root(artel__arena *arena);
artel__h5_node *artel__h5_group(artel__arena *arena, artel__h5_node *parent, const char *name);
/* Groups along a path, those that exist are used. NULL also when a dataset is in the way. */
artel__h5_node *artel__h5_groups(artel__arena *arena, artel__h5_node *parent, const char *path);
/* Numbers only; bfloat16 is written as Keras does, 2-byte opaque data with the attribute dtype="bfloat16". */
artel__h5_node *artel__h5_dataset(artel__arena *arena, artel__h5_node *parent, const char *name, artel_dtype dtype,
                                  const artel_shape *shape, const void *data);
/* False when memory is out or `node` is NULL. A text becomes a scalar, strings an array (an empty one is written as
 * h5py does it: float64 of length 0). */
bool artel__h5_set_text(artel__arena *arena, artel__h5_node *node, const char *name, const char *value);
bool artel__h5_set_strings(artel__arena *arena, artel__h5_node *node, const char *name, const char *const *values,
                           size_t count);
bool artel__h5_set_ints(artel__arena *arena, artel__h5_node *node, const char *name, const int64_t *values,
                        size_t count, bool scalar);
bool artel__h5_set_doubles(artel__arena *arena, artel__h5_node *node, const char *name, const double *values,
                           size_t count, bool scalar);

/* The bytes of an HDF5 file as h5py lays it out: contiguous, uncompressed, strings of variable length, no time stamps;
 * the same tree gives the same bytes. Release with artel__h5_release. Errors: INVALID (twice the same name, an
 * attribute of more than 64,512 bytes), UNSUPPORTED (no helper), NO_MEMORY. */
artel_status artel__h5_write(artel_context *ctx, const char *where, const artel__h5_node *root, artel__mapping *out);
void artel__h5_release(artel__mapping *bytes);

#endif
