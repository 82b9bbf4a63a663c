/* SPDX-License-Identifier: Apache-2.0 */
/* Directories: made with their parents, removed with their contents, listed and matched in byte order.
 *
 * Order is that of the bytes of a name, never of the locale: the order of files decides the order of samples, and a
 * run must not depend on LC_COLLATE. Trees are removed relative to open directories and never through symbolic links.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define DEEPEST_TREE 200

const char *artel__folder_of(const char *path, char *buffer, size_t size)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return ".";
    size_t length = slash == path ? 1 : (size_t)(slash - path);
    if (length >= size) return NULL;
    memcpy(buffer, path, length);
    buffer[length] = '\0';
    return buffer;
}

bool artel__file_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

bool artel__file_missing(const char *path)
{
    struct stat info;
    return stat(path, &info) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

bool artel__is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static artel_status make_one(artel_context *ctx, const char *path, mode_t mode)
{
    if (mkdir(path, mode) == 0 || (errno == EEXIST && artel__is_directory(path))) return ARTEL_OK;
    if (errno == EEXIST)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, path, "name another directory", "is a file, expected a directory");
    return artel__fail_errno(ctx, path, "make directory");
}

static artel_status make_all(artel_context *ctx, const char *path, mode_t mode)
{
    char *copy = NULL;
    artel_status status = ARTEL_OK;
    ARTEL_TRY(artel__check_target(ctx, path));
    ARTEL_TRY(artel__strdup(ctx, path, &copy));
    for (char *at = copy + (*copy == '/'); *at && status == ARTEL_OK; at++) {
        if (*at != '/') continue;
        *at = '\0';
        if (at[-1] != '\0') status = make_one(ctx, copy, mode);
        *at = '/';
    }
    if (status == ARTEL_OK) status = make_one(ctx, copy, mode);
    artel__free(ctx, copy);
    return status;
}

artel_status artel__make_directory(artel_context *ctx, const char *path)
{
    return make_all(ctx, path, 0777);
}

artel_status artel__make_own_directory(artel_context *ctx, const char *path)
{
    return make_all(ctx, path, 0755);
}

artel_status artel__probe_directory(artel_context *ctx, const char *path)
{
    char probe[PATH_MAX];
    int length = snprintf(probe, sizeof probe, "%s/.probe-XXXXXX", path);
    if (length < 0 || (size_t)length >= sizeof probe) errno = ENAMETOOLONG;
    if (length < 0 || (size_t)length >= sizeof probe || !mkdtemp(probe))
        return artel__fail_errno(ctx, path, "write into this directory");
    rmdir(probe);
    return ARTEL_OK;
}

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static bool empty_directory(int fd, int depth);

/* False with errno set on failure; what another process has removed is none. */
static bool remove_entry(int fd, const char *name, int depth)
{
    if (is_dot(name) || unlinkat(fd, name, 0) == 0 || errno == ENOENT) return true;
    if (errno != EISDIR && errno != EPERM) return false;
    int inner = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return (inner >= 0 && empty_directory(inner, depth + 1) && unlinkat(fd, name, AT_REMOVEDIR) == 0) ||
           errno == ENOENT;
}

/* Removes what a directory holds; takes `fd`. False with errno set on failure. Without memory, which readdir() would
 * ask for: a folder is removed when there is none left, too. */
static bool empty_directory(int fd, int depth)
{
    _Alignas(struct dirent64) char entries[2048];
    ssize_t size = 0;
    bool fine = depth < DEEPEST_TREE;
    errno = ELOOP;
    while (fine && (size = getdents64(fd, entries, sizeof entries)) > 0) {
        for (ssize_t at = 0; at < size && fine; at += ((struct dirent64 *)(entries + at))->d_reclen)
            fine = remove_entry(fd, ((struct dirent64 *)(entries + at))->d_name, depth);
    }
    int error = errno;
    close(fd);
    errno = error;
    return fine && size == 0;
}

artel_status artel__remove_tree(artel_context *ctx, const char *path)
{
    struct stat info;
    if (lstat(path, &info) != 0) return errno == ENOENT ? ARTEL_OK : artel__fail_errno(ctx, path, "look at");
    if (S_ISDIR(info.st_mode)) {
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        bool gone = fd >= 0 && empty_directory(fd, 0) && rmdir(path) == 0;
        return gone || errno == ENOENT ? ARTEL_OK : artel__fail_errno(ctx, path, "remove");
    }
    return unlink(path) == 0 || errno == ENOENT ? ARTEL_OK : artel__fail_errno(ctx, path, "remove");
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void artel__paths_fini(artel__paths *paths)
{
    for (size_t i = 0; i < paths->count; i++) artel__free(paths->ctx, paths->items[i]);
    artel__free(paths->ctx, paths->items);
    *paths = (artel__paths){.ctx = paths->ctx};
}

/* Appends a copy of `path`; the block grows at powers of two. */
static artel_status add_path(artel__paths *paths, const char *path)
{
    if ((paths->count & (paths->count - 1)) == 0) {
        size_t capacity = paths->count ? 2 * paths->count : 1;
        void *block = paths->items;
        ARTEL_TRY(artel__realloc(paths->ctx, capacity * sizeof(*paths->items), "paths", &block));
        paths->items = block;
    }
    ARTEL_TRY(artel__strdup(paths->ctx, path, &paths->items[paths->count]));
    paths->count++;
    return ARTEL_OK;
}

/* Sorts and hands over, or frees on failure. */
static artel_status finish_paths(artel_status status, artel__paths *found, artel__paths *out)
{
    if (status < 0) {
        artel__paths_fini(found);
        return status;
    }
    if (found->count > 1) qsort(found->items, found->count, sizeof(*found->items), compare_paths);
    *out = *found;
    return ARTEL_OK;
}

artel_status artel__glob(artel_context *ctx, const char *pattern, artel__paths *out)
{
    artel__paths found = {.ctx = ctx};
    glob_t matches;
    artel_status status = ARTEL_OK;
    if (artel__file_exists(pattern)) return finish_paths(add_path(&found, pattern), &found, out);
    int answer = glob(pattern, GLOB_NOSORT, NULL, &matches);
    if (answer == GLOB_NOSPACE) return artel__fail_memory(ctx, pattern, 0);
    if (answer != 0) {
        const char *what = strpbrk(pattern, "*?[") ? "no file matches this pattern" : "no such file";
        return artel__fail(ctx, ARTEL_ERROR_NOT_FOUND, pattern, "check the path", "%s", what);
    }
    for (size_t i = 0; i < matches.gl_pathc && status == ARTEL_OK; i++) status = add_path(&found, matches.gl_pathv[i]);
    globfree(&matches);
    return finish_paths(status, &found, out);
}

artel_status artel__list_directory(artel_context *ctx, const char *path, artel__paths *out)
{
    artel__paths found = {.ctx = ctx};
    artel_status status = ARTEL_OK;
    DIR *directory = opendir(path);
    struct dirent *entry = NULL;
    if (!directory) return artel__fail_errno(ctx, path, "list directory");
    while (status == ARTEL_OK && (entry = readdir(directory)))
        if (entry->d_name[0] != '.') status = add_path(&found, entry->d_name);
    closedir(directory);
    return finish_paths(status, &found, out);
}
