/* SPDX-License-Identifier: Apache-2.0 */
/* Files: read whole, mapped, written whole or not at all, listed in byte order.
 *
 * All system calls on files go through here, so that tests can drive full disks and short writes.
 */
#ifndef ARTEL_BASE_FILE_H
#define ARTEL_BASE_FILE_H

#include "base/context.h"

/* A file mapped read-only. An empty one has an address too, so that whoever reads it need not ask: bytes is NULL only
 * where no file is mapped. */
typedef struct artel__mapping {
    const uint8_t *bytes;
    size_t size;
} artel__mapping;

artel_status artel__map_file(artel_context *ctx, const char *path, artel__mapping *out);
void artel__unmap_file(artel__mapping *mapping);

/* The whole file as a NUL-terminated block on the heap (the NUL is not counted); fails past `limit` bytes. */
artel_status artel__read_file(artel_context *ctx, const char *path, size_t limit, char **out, size_t *out_size);

/* A file that appears whole or not at all: written under a temporary name beside it, synced, renamed on commit. */
typedef struct artel__output {
    artel_context *ctx;
    char *path, *temporary;
    int fd;
    uint64_t written;
} artel__output;

artel_status artel__output_open(artel_context *ctx, const char *path, artel__output *out);
artel_status artel__output_write(artel__output *out, const void *bytes, size_t count);
/* Forgets what was written so far. Of what is no regular file an error. */
artel_status artel__output_restart(artel__output *out);
/* Syncs, closes and renames; the output is finished in any case. */
artel_status artel__output_commit(artel__output *out);
/* Asked by all commits from here on, when the file is whole, before it appears; what is not ARTEL_OK ends them. NULL:
 * nobody is. One thread, while no other one commits. */
typedef artel_status artel__gate_fn(void *user);
void artel__outputs_ask(artel_context *ctx, artel__gate_fn *gate, void *user);
/* Closes and removes the temporary file; after a commit it does nothing. What a killed process left goes when the file
 * is next written. */
void artel__output_abandon(artel__output *out);

/* Whether a file could be written there: fails as artel__output_open does, and leaves nothing behind. What is no
 * regular file is not tried, for whoever reads a pipe would notice. */
artel_status artel__probe_output(artel_context *ctx, const char *path);

artel_status artel__write_file(artel_context *ctx, const char *path, const void *bytes, size_t count);
/* The same for secrets: readable by its owner only (mode 0600) from the first byte on, whatever was there before. */
artel_status artel__write_private_file(artel_context *ctx, const char *path, const void *bytes, size_t count);
/* The same for what all may read and only its owner change (mode 0644), such as certificates. */
artel_status artel__write_public_file(artel_context *ctx, const char *path, const void *bytes, size_t count);
artel_status artel__make_directory(artel_context *ctx, const char *path); /* and its parents; existing is fine */
/* The same, but nobody else may make entries in those that are new, whatever the umask. */
artel_status artel__make_own_directory(artel_context *ctx, const char *path);
/* Whether a file that is to be loaded or run, and its folder, are of root, this user or the owner of the file `beside`
 * (NULL: of no other), and nobody else can write to them (trust.c). */
bool artel__may_trust(const char *path, const char *beside);
/* Refuses to write to what is an address (s3://...) and would become a folder "s3:", and to a path that leads through
 * another user's symbolic link in a folder where all may make entries; outputs and directories that are made have been
 * asked already. */
artel_status artel__check_target(artel_context *ctx, const char *path);
/* Marks what is being written with host and process, "HOST.PID" (writer.c). */
enum {
    ARTEL__WRITER_MARK = 96
};
void artel__writer_mark(char out[ARTEL__WRITER_MARK]);
/* Whether the writer of `path`, whose name bears that mark, lives no more: then it may be removed. */
bool artel__writer_is_gone(const char *mark, const char *path);

/* Whether entries can be made in a directory: fails as making one does, and leaves nothing there. */
artel_status artel__probe_directory(artel_context *ctx, const char *path);
artel_status artel__remove_tree(artel_context *ctx,
                                const char *path); /* missing is fine, also when another process removes it meanwhile */
/* The directory that a path lies in: what stands before its last slash, "." when there is none; NULL when it does not
 * fit. */
const char *artel__folder_of(const char *path, char *buffer, size_t size);
bool artel__file_exists(const char *path);
bool artel__file_missing(const char *path); /* and that is known: a path that could not be looked at may be there */
bool artel__is_directory(const char *path);

/* Paths sorted by bytes; on the heap, freed with artel__paths_fini. */
typedef struct artel__paths {
    artel_context *ctx;
    char **items;
    size_t count;
} artel__paths;

/* Files matching a shell pattern; a plain path must exist. No match is ARTEL_ERROR_NOT_FOUND that names the pattern. */
artel_status artel__glob(artel_context *ctx, const char *pattern, artel__paths *out);
/* Entries of a directory (names without the directory, no dot files). */
artel_status artel__list_directory(artel_context *ctx, const char *path, artel__paths *out);
void artel__paths_fini(artel__paths *paths);

#endif
