/* SPDX-License-Identifier: Apache-2.0 */
/* What every index beside a file has: its name, its head, and what is said where only the index is on this machine.
 *
 * FILE.index begins with, little-endian, 8 bytes each: a word that says of which kind it is, the size of FILE, its
 * number of rows, the CRC-32C of its first and last 4 KiB, a sum of what follows (part_index.h, record_file.h).
 */
#ifndef ARTEL_DATA_INDEX_FILE_H
#define ARTEL_DATA_INDEX_FILE_H

#include "base/file.h"

enum {
    ARTEL__INDEX_HEAD = 40,
    ARTEL__INDEX_KIND = 8,
    ARTEL__INDEX_NAME = 4200 /* bytes that the longest name of one takes */
};

typedef struct artel__index_head {
    uint64_t size, rows, ends, sum;
} artel__index_head;

/* FILE.index; false: the name is too long. */
bool artel__index_name(const char *path, char out[ARTEL__INDEX_NAME]);
/* Whether it is there; out: its name. Of what is elsewhere it never is. */
bool artel__index_find(const char *path, char out[ARTEL__INDEX_NAME]);
/* False: it is none of this kind. */
bool artel__index_take(const artel__mapping *index, const char kind[ARTEL__INDEX_KIND], artel__index_head *out);
void artel__index_put(uint8_t out[ARTEL__INDEX_HEAD], const char kind[ARTEL__INDEX_KIND],
                      const artel__index_head *head);
/* Whether it is of this file. */
bool artel__index_fits(const artel__index_head *head, const uint8_t *bytes, size_t size);
/* The sum of a file's first and last 4 KiB. */
uint32_t artel__sum_ends(const uint8_t *bytes, size_t size);
/* What to do where a file is wanted of which only the index is here. */
extern const char artel__index_advice[];

#endif
