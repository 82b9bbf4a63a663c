/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled programs as files: a folder of the user's cache, or one beside a checkpoint.
 *
 * A file is named by its key (SHA-256 of everything that the program depends on) and holds the key, the SHA-256 of the
 * bytes, and the bytes. It appears whole or not at all, so several processes may write into one folder. Programs are
 * code: a file that others could have put there, or that is not what it says, is passed over with a warning. What
 * cannot be written is noted and lacks next time.
 */
#ifndef ARTEL_DEVICE_CACHE_H
#define ARTEL_DEVICE_CACHE_H

#include <stdatomic.h>

#include "base/text.h"

enum {
    ARTEL__PROGRAM_KEY = 32
};

typedef struct artel__program_folder {
    artel_context *ctx;   /* for what is told */
    artel_context *files; /* for what fails here, which is no failure of the run */
    const char *path;     /* NULL: there is none, nothing is found or kept */
    const char *loss;     /* what it means when nothing is kept, in words; NULL: that it lacks next time */
    atomic_bool writes;
    int64_t most_bytes; /* of all files; 0: as many as come */
    atomic_bool warned, changed;
} artel__program_folder;

/* Where the user's programs are kept: "programs" in $ARTEL_CACHE_DIR, else in artel/ of $XDG_CACHE_HOME or ~/.cache.
 * `out` stays empty where there is no such place, or ARTEL_PROGRAM_CACHE_MB is 0. */
void artel__program_cache_place(artel__text *out);
/* Its bound in bytes: $ARTEL_PROGRAM_CACHE_MB, else 1024 MB. */
int64_t artel__program_cache_bytes(void);

/* Appends the bytes of that key; false: there are none, and `out` is as it was. Any thread. */
bool artel__program_folder_read(artel__program_folder *folder, const uint8_t key[ARTEL__PROGRAM_KEY], artel__text *out);
/* Any thread. */
void artel__program_folder_write(artel__program_folder *folder, const uint8_t key[ARTEL__PROGRAM_KEY],
                                 const void *bytes, size_t length);
/* Removes the files that were used longest ago until the bound holds, when something was written. */
void artel__program_folder_thin(artel__program_folder *folder);

#endif
