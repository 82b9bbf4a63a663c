/* SPDX-License-Identifier: Apache-2.0 */
/* Whom files belong to: what other users of this machine could have put there.
 *
 * A file that is loaded or run, and the folder it lies in, must be of root, of this user, or of who owns the program
 * itself, and nobody else may be able to write to them. A symbolic link of somebody else in a folder where all may make
 * entries (/tmp) leads where he likes: it is not followed, as the kernel refuses to where fs.protected_symlinks is set;
 * root's links and those of the folder's owner are.
 */
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static bool is_ours(const struct stat *about, uid_t also)
{
    bool others =
        (about->st_mode & S_IWOTH) || ((about->st_mode & S_IWGRP) && about->st_gid != getegid() && about->st_gid != 0);
    return (about->st_uid == 0 || about->st_uid == geteuid() || about->st_uid == also) && !others;
}

bool artel__may_trust(const char *path, const char *beside)
{
    char buffer[PATH_MAX];
    struct stat about;
    const char *folder = artel__folder_of(path, buffer, sizeof buffer);
    uid_t also = beside && stat(beside, &about) == 0 ? about.st_uid : geteuid();
    if (!folder || stat(path, &about) != 0 || !is_ours(&about, also)) return false;
    return stat(folder, &about) == 0 && is_ours(&about, also);
}

/* Whether the link at `path` is of somebody who may only make entries there. */
static bool is_foreign_link(const char *path)
{
    char buffer[PATH_MAX];
    struct stat link, folder;
    const char *above = artel__folder_of(path, buffer, sizeof buffer);
    if (lstat(path, &link) != 0 || !S_ISLNK(link.st_mode) || link.st_uid == geteuid() || link.st_uid == 0) return false;
    if (!above || stat(above, &folder) != 0) return true;
    return (folder.st_mode & S_IWOTH) && folder.st_uid != link.st_uid;
}

/* "s3://bucket/run1": to the kernel a folder "s3:" and what lies in it. */
static bool is_address(const char *path)
{
    size_t scheme = strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
    return scheme > 0 && strncmp(path + scheme, "://", 3) == 0;
}

artel_status artel__check_target(artel_context *ctx, const char *path)
{
    char part[PATH_MAX];
    size_t length = strlen(path);
    if (is_address(path))
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, path,
                           "name a file or folder of this machine, and copy it there afterwards, or mount it",
                           "addresses are not written to, only files");
    if (length >= sizeof part) return ARTEL_OK; /* the kernel has a word for it */
    memcpy(part, path, length + 1);
    for (size_t end = 1; end <= length; end++) {
        if (part[end] != '/' && part[end] != '\0') continue;
        part[end] = '\0';
        bool foreign = is_foreign_link(part);
        if (foreign)
            return artel__fail(ctx, ARTEL_ERROR_INVALID, part, "name another place, or remove it",
                               "it is another user's symbolic link in a folder of all, and is not followed to write");
        part[end] = path[end];
    }
    return ARTEL_OK;
}
