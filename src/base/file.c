/* SPDX-License-Identifier: Apache-2.0 */
/* Files: mapped or read whole, and written whole or not at all.
 *
 * An output is written under a temporary dot name in the same directory, synced and renamed, so that a reader never
 * sees half a file and a full disk leaves the former one. What a killed process left under such a name is
 * removed by who writes next. What is not a regular file (/dev/stdout, a pipe) is written
 * directly. Every system call passes refused(), where tests make it fail; writes cope with short counts.
 */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context_impl.h"
#include "base/text.h"

enum {
    PREFIX = 128 /* of a temporary name */
};

void artel__fail_file_after(artel_context *ctx, uint64_t n, int error)
{
    atomic_store(&ctx->file_error, error);
    atomic_store(&ctx->file_countdown, n);
}

void artel__limit_write(artel_context *ctx, size_t bytes)
{
    atomic_store(&ctx->write_limit, bytes);
}

/* True, with errno set, when the test seam wants this call to fail. */
static bool refused(artel_context *ctx)
{
    if (!artel__countdown(&ctx->file_countdown)) return false;
    errno = atomic_load(&ctx->file_error);
    return true;
}

/* Opens a file for reading and finds its size (0 when it is not a regular one). */
static artel_status open_input(artel_context *ctx, const char *path, int *out, size_t *size)
{
    struct stat info = {0};
    artel_status status = ARTEL_OK;
    int fd = refused(ctx) ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return artel__fail_errno(ctx, path, "open");
    if (refused(ctx) || fstat(fd, &info) != 0)
        status = artel__fail_errno(ctx, path, "look at");
    else if (S_ISDIR(info.st_mode))
        status = artel__fail(ctx, ARTEL_ERROR_INVALID, path, "name a file", "is a directory, expected a file");
    if (status < 0) {
        close(fd);
        return status;
    }
    *size = S_ISREG(info.st_mode) && info.st_size > 0 ? (size_t)info.st_size : 0;
    *out = fd;
    return ARTEL_OK;
}

static const uint8_t empty[1]; /* what an empty file is mapped to */

artel_status artel__map_file(artel_context *ctx, const char *path, artel__mapping *out)
{
    size_t size = 0;
    int fd = -1;
    ARTEL_TRY(open_input(ctx, path, &fd, &size));
    void *bytes = (void *)(uintptr_t)empty;
    if (size) bytes = refused(ctx) ? MAP_FAILED : mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED) {
        artel_status status = artel__fail_errno(ctx, path, "map");
        close(fd);
        return status;
    }
    close(fd);
    *out = (artel__mapping){bytes, size};
    return ARTEL_OK;
}

void artel__unmap_file(artel__mapping *mapping)
{
    if (mapping->size) munmap((void *)mapping->bytes, mapping->size);
    *mapping = (artel__mapping){NULL, 0};
}

static artel_status fail_limit(artel_context *ctx, const char *path, size_t limit)
{
    return artel__fail(ctx, ARTEL_ERROR_INVALID, path, "check that this is the file you mean",
                       "is larger than %zu bytes", limit);
}

/* Reads to the end into a growing block, so that pipes and files of /proc work as well. */
static artel_status read_all(artel_context *ctx, int fd, const char *path, size_t limit, artel__text *text)
{
    char buffer[16384];
    for (;;) {
        ssize_t got = refused(ctx) ? -1 : read(fd, buffer, sizeof(buffer));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return artel__fail_errno(ctx, path, "read");
        if (got == 0) return artel__text_status(text);
        if ((size_t)got > limit - text->length) return fail_limit(ctx, path, limit);
        artel__text_append_bytes(text, buffer, (size_t)got);
        ARTEL_TRY(artel__text_status(text));
    }
}

artel_status artel__read_file(artel_context *ctx, const char *path, size_t limit, char **out, size_t *out_size)
{
    artel__text text;
    size_t size = 0;
    int fd = -1;
    ARTEL_TRY(open_input(ctx, path, &fd, &size));
    artel__text_init(&text, ctx);
    artel_status status = size > limit ? fail_limit(ctx, path, limit) : read_all(ctx, fd, path, limit, &text);
    close(fd);
    if (status == ARTEL_OK && text.capacity == 0) {
        void *block = NULL;
        status = artel__calloc(ctx, 1, 1, path, &block);
        text.data = block;
    }
    if (status < 0) {
        artel__text_fini(&text);
        return status;
    }
    *out = text.data;
    if (out_size) *out_size = text.length;
    return ARTEL_OK;
}

/* ".NAME.HOST.PID-ATTEMPT.tmp", of a long NAME its beginning. */
static void temporary_prefix(const char *path, char out[PREFIX])
{
    const char *slash = strrchr(path, '/');
    snprintf(out, PREFIX, ".%.*s.", PREFIX - 3, slash ? slash + 1 : path);
}

/* Removes what killed processes left of earlier writes; to fail in that is no failure of this one. */
static void sweep(const char *path)
{
    char buffer[PATH_MAX], prefix[PREFIX], mark[NAME_MAX + 1], left[PATH_MAX];
    const char *folder = artel__folder_of(path, buffer, sizeof(buffer));
    DIR *directory = folder ? opendir(folder) : NULL;
    struct dirent *entry;
    temporary_prefix(path, prefix);
    while (directory && (entry = readdir(directory))) {
        if (!artel__starts_with(entry->d_name, prefix) || !artel__ends_with(entry->d_name, ".tmp")) continue;
        snprintf(mark, sizeof(mark), "%s", entry->d_name + strlen(prefix));
        char *attempt = strrchr(mark, '-');
        int length = snprintf(left, sizeof(left), "%s/%s", folder, entry->d_name);
        if (!attempt || length >= (int)sizeof(left)) continue;
        *attempt = '\0';
        if (artel__writer_is_gone(mark, left)) unlink(left);
    }
    if (directory) closedir(directory);
}

/* The file behind symbolic links, so that a link survives being written to; the path itself when there is none. */
static artel_status resolve(artel_context *ctx, const char *path, char **out)
{
    char target[PATH_MAX];
    return artel__strdup(ctx, realpath(path, target) ? target : path, out);
}

static artel_status temporary_name(artel_context *ctx, const char *path, unsigned attempt, char **out)
{
    artel__text text;
    const char *slash = strrchr(path, '/');
    char prefix[PREFIX], mark[ARTEL__WRITER_MARK];
    temporary_prefix(path, prefix);
    artel__writer_mark(mark);
    artel__text_init(&text, ctx);
    artel__text_append_bytes(&text, path, slash ? (size_t)(slash - path) + 1 : 0);
    artel__text_printf(&text, "%s%s-%u.tmp", prefix, mark, attempt);
    if (artel__text_status(&text) < 0) {
        artel__text_fini(&text);
        return ARTEL_ERROR_NO_MEMORY;
    }
    *out = text.data;
    return ARTEL_OK;
}

static artel_status open_temporary(artel_context *ctx, artel__output *out, mode_t mode)
{
    sweep(out->path);
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        ARTEL_TRY(temporary_name(ctx, out->path, attempt, &out->temporary));
        out->fd = refused(ctx) ? -1 : open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (out->fd >= 0) return ARTEL_OK;
        if (errno != EEXIST) break;
        artel__free(ctx, out->temporary);
        out->temporary = NULL;
    }
    return artel__fail_errno(ctx, out->path, "create");
}

static void output_forget(artel__output *out)
{
    artel__free(out->ctx, out->path);
    artel__free(out->ctx, out->temporary);
    *out = (artel__output){.ctx = out->ctx, .fd = -1};
}

/* `mode` 0: that of the file that is there, or what the umask leaves. */
static artel_status open_output(artel_context *ctx, const char *path, mode_t mode, artel__output *out)
{
    struct stat info;
    artel__output output = {.ctx = ctx, .fd = -1};
    ARTEL_TRY(artel__check_target(ctx, path));
    ARTEL_TRY(resolve(ctx, path, &output.path));
    bool exists = stat(output.path, &info) == 0;
    artel_status status = ARTEL_OK;
    if (exists && S_ISDIR(info.st_mode)) {
        status = artel__fail(ctx, ARTEL_ERROR_INVALID, path, "name a file", "is a directory, expected a file to write");
    } else if (exists && !S_ISREG(info.st_mode)) {
        output.fd = refused(ctx) ? -1 : open(output.path, O_WRONLY | O_CLOEXEC);
        if (output.fd < 0) status = artel__fail_errno(ctx, path, "open");
    } else {
        status = open_temporary(ctx, &output, mode ? mode : 0666);
        if (status == ARTEL_OK && exists && !mode)
            (void)!fchmod(output.fd, info.st_mode & 07777); /* a wish, not a promise */
    }
    if (status < 0) {
        output_forget(&output);
        return status;
    }
    *out = output;
    return ARTEL_OK;
}

artel_status artel__output_open(artel_context *ctx, const char *path, artel__output *out)
{
    return open_output(ctx, path, 0, out);
}

artel_status artel__output_write(artel__output *out, const void *bytes, size_t count)
{
    const char *at = bytes;
    size_t limit = atomic_load(&out->ctx->write_limit);
    while (count > 0) {
        size_t piece = limit && count > limit ? limit : count;
        ssize_t done = refused(out->ctx) ? -1 : write(out->fd, at, piece);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return artel__fail_errno(out->ctx, out->path, "write");
        at += done;
        count -= (size_t)done;
        out->written += (uint64_t)done;
    }
    return ARTEL_OK;
}

artel_status artel__output_restart(artel__output *out)
{
    if (refused(out->ctx) || ftruncate(out->fd, 0) != 0 || lseek(out->fd, 0, SEEK_SET) != 0)
        return artel__fail_errno(out->ctx, out->path, "truncate");
    out->written = 0;
    return ARTEL_OK;
}

/* Makes the rename itself lasting; file systems that cannot sync a directory are left alone. */
static void sync_directory(const char *path)
{
    char buffer[PATH_MAX];
    const char *directory = artel__folder_of(path, buffer, sizeof(buffer));
    int fd = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

void artel__outputs_ask(artel_context *ctx, artel__gate_fn *gate, void *user)
{
    ctx->gate = gate;
    ctx->gate_user = user;
}

artel_status artel__output_commit(artel__output *out)
{
    artel_context *ctx = out->ctx;
    artel_status status = ARTEL_OK;
    bool regular = out->temporary != NULL;
    if (regular && (refused(ctx) || fsync(out->fd) != 0)) status = artel__fail_errno(ctx, out->path, "sync");
    if ((close(out->fd) != 0 || (status == ARTEL_OK && refused(ctx))) && status == ARTEL_OK)
        status = artel__fail_errno(ctx, out->path, "close");
    out->fd = -1;
    if (status == ARTEL_OK && regular && ctx->gate) status = ctx->gate(ctx->gate_user);
    if (status == ARTEL_OK && regular && (refused(ctx) || rename(out->temporary, out->path) != 0))
        status = artel__fail_errno(ctx, out->path, "rename");
    if (regular && status == ARTEL_OK) sync_directory(out->path);
    if (regular && status != ARTEL_OK) unlink(out->temporary);
    output_forget(out);
    return status;
}

void artel__output_abandon(artel__output *out)
{
    if (out->fd < 0) return;
    close(out->fd);
    if (out->temporary) unlink(out->temporary);
    output_forget(out);
}

artel_status artel__probe_output(artel_context *ctx, const char *path)
{
    struct stat info;
    artel__output probe;
    errno = 0;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return ARTEL_OK;
    if (errno == ENAMETOOLONG) /* the output is written under a shorter name first, and would fail at its end */
        return artel__fail(ctx, ARTEL_ERROR_INVALID, path, "give a shorter one", "the name is too long");
    ARTEL_TRY(artel__output_open(ctx, path, &probe));
    artel__output_abandon(&probe);
    return ARTEL_OK;
}

static artel_status write_whole(artel_context *ctx, const char *path, mode_t mode, const void *bytes, size_t count)
{
    artel__output output;
    ARTEL_TRY(open_output(ctx, path, mode, &output));
    artel_status status = artel__output_write(&output, bytes, count);
    if (status < 0) {
        artel__output_abandon(&output);
        return status;
    }
    return artel__output_commit(&output);
}

artel_status artel__write_file(artel_context *ctx, const char *path, const void *bytes, size_t count)
{
    return write_whole(ctx, path, 0, bytes, count);
}

artel_status artel__write_private_file(artel_context *ctx, const char *path, const void *bytes, size_t count)
{
    return write_whole(ctx, path, 0600, bytes, count);
}

artel_status artel__write_public_file(artel_context *ctx, const char *path, const void *bytes, size_t count)
{
    return write_whole(ctx, path, 0644, bytes, count);
}
