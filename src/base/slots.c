/* SPDX-License-Identifier: Apache-2.0 */
/* See slots.h. Positioned reads and writes, not a mapping: a file that others shorten then costs a value, not the
 * process. */
#include "base/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"

#define ORDER UINT64_C(0x0102030405060708)
#define MARK UINT32_C(0xa17e1001)

enum {
    HEAD = 4096,
    SUMMED = 64
};

static const char magic[8] = {'A', 'R', 'T', 'E', 'L', 'S', 'L', '1'};

static void make_head(const uint8_t key[32], uint64_t count, uint64_t stride, uint8_t out[HEAD])
{
    const uint64_t numbers[3] = {ORDER, count, stride};
    memset(out, 0, HEAD);
    memcpy(out, magic, 8);
    memcpy(out + 8, numbers, sizeof numbers);
    memcpy(out + 32, key, 32);
    uint32_t sum = artel__crc32c(0, out, SUMMED);
    memcpy(out + SUMMED, &sum, sizeof sum);
}

static artel_status check_head(const artel__slots *slots, const uint8_t want[HEAD])
{
    uint8_t head[SUMMED + 4];
    uint32_t sum;
    ssize_t got = pread(slots->fd, head, sizeof head, 0);
    if (got < 0) return artel__fail_errno(slots->ctx, slots->path, "read");
    if (got < (ssize_t)sizeof head || memcmp(head, magic, 8) != 0)
        return artel__fail(slots->ctx, ARTEL_ERROR_INVALID, slots->path, "name a file that there is not yet",
                           "the file is no cache of artel");
    memcpy(&sum, head + SUMMED, sizeof sum);
    if (artel__crc32c(0, head, SUMMED) != sum)
        return artel__fail(slots->ctx, ARTEL_ERROR_CORRUPT, slots->path, "remove it",
                           "the head of the cache is damaged");
    if (memcmp(head, want, sizeof head) == 0) return ARTEL_OK;
    return artel__fail(slots->ctx, ARTEL_ERROR_INVALID, slots->path, "remove it, or name another file",
                       "it is the cache of another pipeline, of other data or settings");
}

/* For reading and writing; 0: there is none. */
static artel_status open_existing(artel__slots *slots, bool *there)
{
    slots->writes = true;
    slots->fd = open(slots->path, O_RDWR | O_CLOEXEC);
    if (slots->fd < 0 && (errno == EACCES || errno == EROFS || errno == EPERM)) {
        slots->writes = false;
        slots->fd = open(slots->path, O_RDONLY | O_CLOEXEC);
    }
    *there = slots->fd >= 0;
    return slots->fd >= 0 || errno == ENOENT ? ARTEL_OK : artel__fail_errno(slots->ctx, slots->path, "open");
}

static artel_status open_file(artel__slots *slots, const uint8_t head[HEAD])
{
    bool there;
    struct stat file;
    ARTEL_TRY(artel__check_target(slots->ctx, slots->path));
    ARTEL_TRY(open_existing(slots, &there));
    if (!there) {
        ARTEL_TRY(artel__write_file(slots->ctx, slots->path, head, HEAD));
        ARTEL_TRY(open_existing(slots, &there));
        if (!there) return artel__fail_errno(slots->ctx, slots->path, "open");
    }
    ARTEL_TRY(check_head(slots, head));
    off_t size = (off_t)(HEAD + slots->count * slots->stride);
    if (fstat(slots->fd, &file) != 0) return artel__fail_errno(slots->ctx, slots->path, "look at");
    if (slots->writes && file.st_size < size && ftruncate(slots->fd, size) != 0)
        return artel__fail_errno(slots->ctx, slots->path, "lengthen");
    return ARTEL_OK;
}

artel_status artel__slots_open(artel_context *ctx, const char *path, const uint8_t key[32], uint64_t count,
                               uint64_t stride, artel__slots *out)
{
    uint8_t head[HEAD];
    memset(out, 0, sizeof *out);
    out->ctx = ctx;
    out->fd = -1;
    out->count = count;
    out->stride = stride;
    if (stride > 0 && count > (uint64_t)(INT64_MAX - HEAD) / stride)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, path, "keep fewer or smaller elements", "no file is as long");
    ARTEL_TRY(artel__strdup(ctx, path, &out->path));
    make_head(key, count, stride, head);
    artel_status status = open_file(out, head);
    if (status < 0) artel__slots_close(out);
    return status;
}

void artel__slots_close(artel__slots *slots)
{
    if (!slots->ctx) return;
    if (slots->fd >= 0) close(slots->fd);
    artel__free(slots->ctx, slots->path);
    slots->ctx = NULL;
    slots->fd = -1;
}

static uint32_t sum_of(uint64_t position, const void *value, size_t bytes)
{
    return artel__crc32c(artel__crc32c(0, &position, sizeof position), value, bytes);
}

bool artel__slots_read(const artel__slots *slots, uint64_t index, uint64_t at, void *out, size_t bytes)
{
    uint32_t front[2];
    uint64_t position = HEAD + index * slots->stride + at;
    struct iovec pieces[2] = {{front, sizeof front}, {out, bytes}};
    ssize_t got;
    do got = preadv(slots->fd, pieces, 2, (off_t)position);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)(sizeof front + bytes) && front[0] == MARK && front[1] == sum_of(position, out, bytes);
}

bool artel__slots_written(const artel__slots *slots, uint64_t index, uint64_t at)
{
    uint32_t mark = 0;
    ssize_t got;
    do got = pread(slots->fd, &mark, sizeof mark, (off_t)(HEAD + index * slots->stride + at));
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof mark && mark == MARK;
}

void artel__slots_write(artel__slots *slots, uint64_t index, uint64_t at, const void *value, size_t bytes)
{
    uint64_t position = HEAD + index * slots->stride + at;
    uint32_t front[2] = {MARK, sum_of(position, value, bytes)};
    struct iovec pieces[2] = {{front, sizeof front}, {(void *)(uintptr_t)value, bytes}};
    ssize_t done;
    if (!slots->writes) return;
    do done = pwritev(slots->fd, pieces, 2, (off_t)position);
    while (done < 0 && errno == EINTR);
    if (done == (ssize_t)(sizeof front + bytes) || atomic_exchange(&slots->told, true)) return;
    artel__log(slots->ctx, ARTEL_LOG_WARNING, "%s: what cannot be kept is made anew each time (%s)", slots->path,
               done < 0 ? strerror(errno) : "the disk is full");
}
