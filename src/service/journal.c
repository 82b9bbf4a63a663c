/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and appending lines. */
#include "service/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"

#define MOST_BYTES ((size_t)256 << 20)
#define SUM 9 /* "01234567 " */

/* Whether the line, without its break, is whole. */
static bool is_whole(const char *line, size_t length)
{
    char sum[SUM];
    if (length < SUM || line[SUM - 1] != ' ') return false;
    snprintf(sum, sizeof sum, "%08x", (unsigned)artel__crc32c(0, line + SUM, length - SUM));
    return memcmp(sum, line, SUM - 1) == 0;
}

/* *good: bytes of whole lines. */
static artel_status read_lines(artel__journal *journal, const char *text, size_t size, artel__journal_fn *tell,
                               void *user, size_t *good)
{
    int64_t number = 1;
    *good = 0;
    while (*good < size) {
        const char *line = text + *good, *end = memchr(line, '\n', size - *good);
        json_t *entry;
        if (!end) break; /* cut off */
        if (!is_whole(line, (size_t)(end - line)))
            return artel__fail(journal->ctx, ARTEL_ERROR_CORRUPT, journal->path, "move the file away to begin anew",
                               "line %lld is damaged", (long long)number);
        ARTEL_TRY(artel__json_load(journal->ctx, journal->path, line + SUM, (size_t)(end - line) - SUM, &entry));
        artel_status status = tell(user, entry);
        json_decref(entry);
        if (status < 0) return status;
        *good += (size_t)(end - line) + 1;
        number++;
    }
    return ARTEL_OK;
}

static artel_status replay(artel__journal *journal, artel__journal_fn *tell, void *user)
{
    char *text;
    size_t size, good = 0;
    ARTEL_TRY(artel__read_file(journal->ctx, journal->path, MOST_BYTES, &text, &size));
    artel_status status = read_lines(journal, text, size, tell, user, &good);
    artel__free(journal->ctx, text);
    if (status < 0) return status;
    if (ftruncate(journal->fd, (off_t)good) != 0) return artel__fail_errno(journal->ctx, journal->path, "shorten");
    return lseek(journal->fd, 0, SEEK_END) < 0 ? artel__fail_errno(journal->ctx, journal->path, "seek in") : ARTEL_OK;
}

/* A journal that is new is not lost with its folder's entry. File systems that cannot sync a folder are left alone. */
static void sync_folder(const char *path)
{
    char buffer[PATH_MAX];
    const char *folder = artel__folder_of(path, buffer, sizeof buffer);
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

artel_status artel__journal_open(artel_context *ctx, const char *path, artel__journal_fn *tell, void *user,
                                 artel__journal *out)
{
    *out = (artel__journal){.ctx = ctx, .fd = -1};
    if (!path) return ARTEL_OK;
    ARTEL_TRY(artel__check_target(ctx, path));
    ARTEL_TRY(artel__strdup(ctx, path, &out->path));
    out->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    artel_status status = out->fd < 0 ? artel__fail_errno(ctx, path, "open") : ARTEL_OK;
    if (status == ARTEL_OK && flock(out->fd, LOCK_EX | LOCK_NB) != 0)
        status = artel__fail(ctx, ARTEL_ERROR_INVALID, path, "give each dispatcher a journal of its own",
                             "another process writes it");
    if (status == ARTEL_OK) sync_folder(path);
    if (status == ARTEL_OK) status = replay(out, tell, user);
    if (status < 0) artel__journal_close(out);
    return status;
}

static artel_status write_all(const artel__journal *journal, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t done = write(journal->fd, bytes, count);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return artel__fail_errno(journal->ctx, journal->path, "write");
        bytes += done;
        count -= (size_t)done;
    }
    return fdatasync(journal->fd) != 0 ? artel__fail_errno(journal->ctx, journal->path, "sync") : ARTEL_OK;
}

artel_status artel__journal_add(artel__journal *journal, json_t *entry)
{
    artel__text text, line;
    if (!entry) return artel__fail_memory(journal->ctx, "journal", 64);
    artel__text_init(&text, journal->ctx);
    artel__text_init(&line, journal->ctx);
    artel_status status = journal->fd >= 0 ? artel__json_dump(entry, ARTEL__JSON_COMPACT, &text) : ARTEL_OK;
    json_decref(entry);
    if (status == ARTEL_OK && journal->fd >= 0) {
        artel__text_printf(&line, "%08x %s\n", (unsigned)artel__crc32c(0, text.data, text.length), text.data);
        status = artel__text_status(&line);
        if (status == ARTEL_OK) status = write_all(journal, line.data, line.length);
    }
    artel__text_fini(&text);
    artel__text_fini(&line);
    return status;
}

void artel__journal_close(artel__journal *journal)
{
    if (journal->fd >= 0) close(journal->fd);
    if (journal->ctx) artel__free(journal->ctx, journal->path);
    *journal = (artel__journal){.fd = -1};
}
