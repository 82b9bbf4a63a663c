/* SPDX-License-Identifier: Apache-2.0 */
/* Files in a folder for each class, as keras.utils.image_dataset_from_directory finds them.
 *
 * Classes are the folders, sorted by the bytes of their names, with labels 0, 1, ...; files are those with the endings
 * that are wanted, folders below a class included, sorted likewise. A folder without subfolders holds files without
 * labels.
 */
#ifndef ARTEL_DATA_FOLDERS_H
#define ARTEL_DATA_FOLDERS_H

#include "data/source.h"

typedef struct artel__folder_file {
    const char *path;
    size_t name_at; /* where the path below the folder begins */
    int32_t label;  /* -1: none */
    struct artel__folder_file *next;
} artel__folder_file;

typedef struct artel__folders {
    const char *const *endings; /* with the dot, NULL-terminated; any case */
    const char *noun;           /* of what is looked for: "images" */
    artel__folder_file *first, **last;
    artel__folder_file **items; /* by row */
    int64_t count;
    int classes;
    size_t folder_length;
} artel__folders;

extern const char *const artel__image_endings[], *const artel__sound_endings[];

/* Lists source->target and makes the arrays x (as described by `array`, count set) and y. */
artel_status artel__folders_open(artel__source *source, artel__folders *folders, const artel__source_array *array);
/* Names and sizes of all files, and the ends of the first and last few: opening every one of a large set takes minutes.
 */
artel_status artel__folders_fingerprint(const artel__source *source, const artel__folders *folders,
                                        artel__sha256 *hash);
/* Of the file as it is, or of the label (array 1). */
artel_status artel__folders_hash_row(const artel__source *source, const artel__folders *folders, int array, int64_t row,
                                     uint64_t *out);

#endif
