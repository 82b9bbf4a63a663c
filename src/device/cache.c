/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of programs. A file that is read gets the time of day, so the oldest are those that nobody needs. */
#include "device/cache.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"

#define SUFFIX ".program"

enum {
    MOST_PROGRAM_MB = 1024,
    DEFAULT_MB = 1024
};

static const char magic[16] = "artel program 1";

typedef struct head {
    char magic[16];
    uint8_t key[ARTEL__PROGRAM_KEY], hash[ARTEL__PROGRAM_KEY];
} head;

/* -- places -- */

int64_t artel__program_cache_bytes(void)
{
    const char *given = getenv("ARTEL_PROGRAM_CACHE_MB");
    int64_t megabytes;
    bool good = given && artel__parse_int64(given, &megabytes) && megabytes >= 0 && megabytes <= INT64_C(1) << 30;
    return (good ? megabytes : DEFAULT_MB) << 20;
}

void artel__program_cache_place(artel__text *out)
{
    const char *own = getenv("ARTEL_CACHE_DIR"), *shared = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (artel__program_cache_bytes() == 0) return;
    if (own && own[0])
        artel__text_printf(out, "%s/programs", own);
    else if (shared && shared[0])
        artel__text_printf(out, "%s/artel/programs", shared);
    else if (home && home[0])
        artel__text_printf(out, "%s/.cache/artel/programs", home);
}

static bool path_of(const artel__program_folder *folder, const uint8_t key[ARTEL__PROGRAM_KEY], char out[PATH_MAX])
{
    char name[2 * ARTEL__PROGRAM_KEY + 1];
    for (int i = 0; i < ARTEL__PROGRAM_KEY; i++) snprintf(name + 2 * i, 3, "%02x", key[i]);
    int length = snprintf(out, PATH_MAX, "%s/%s" SUFFIX, folder->path, name);
    return length > 0 && length < PATH_MAX;
}

/* Once a folder. */
static void warn(artel__program_folder *folder, const char *path, const char *what)
{
    if (!folder->warned) artel__log(folder->ctx, ARTEL_LOG_WARNING, "%s: %s", path, what);
    folder->warned = true;
}

/* -- reading -- */

static void hash_of(const void *bytes, size_t length, uint8_t out[ARTEL__PROGRAM_KEY])
{
    artel__sha256 hash;
    artel__sha256_init(&hash);
    artel__sha256_update(&hash, bytes, length);
    artel__sha256_final(&hash, out);
}

/* The bytes behind the head, when they are what it says. */
static bool is_whole(const char *text, size_t size, const uint8_t key[ARTEL__PROGRAM_KEY])
{
    head h;
    uint8_t hash[ARTEL__PROGRAM_KEY];
    if (size < sizeof h) return false;
    memcpy(&h, text, sizeof h);
    hash_of(text + sizeof h, size - sizeof h, hash);
    return memcmp(h.magic, magic, sizeof magic) == 0 && memcmp(h.key, key, sizeof h.key) == 0 &&
           memcmp(h.hash, hash, sizeof hash) == 0;
}

bool artel__program_folder_read(artel__program_folder *folder, const uint8_t key[ARTEL__PROGRAM_KEY], artel__text *out)
{
    char path[PATH_MAX], *text;
    size_t size;
    if (!folder->path || !path_of(folder, key, path) || access(path, F_OK) != 0) return false;
    if (!artel__may_trust(path, NULL)) {
        warn(folder, path, "this compiled program is passed over: others could have put it there");
        return false;
    }
    if (artel__read_file(folder->files, path, (size_t)MOST_PROGRAM_MB << 20, &text, &size) < 0) {
        artel__operation_begin(folder->files); /* another process has removed it */
        return false;
    }
    bool whole = is_whole(text, size, key);
    if (whole) {
        artel__text_append_bytes(out, text + sizeof(head), size - sizeof(head));
        utimensat(AT_FDCWD, path, NULL, 0);
    } else {
        warn(folder, path, "this compiled program is damaged, and passed over");
        if (folder->writes) unlink(path);
    }
    artel__free(folder->files, text);
    return whole;
}

/* -- writing -- */

static artel_status write_whole(artel_context *ctx, const char *path, const head *h, const void *bytes, size_t length)
{
    artel__output output;
    ARTEL_TRY(artel__output_open(ctx, path, &output));
    artel_status status = artel__output_write(&output, h, sizeof *h);
    if (status == ARTEL_OK) status = artel__output_write(&output, bytes, length);
    if (status == ARTEL_OK) status = artel__output_commit(&output);
    artel__output_abandon(&output);
    return status;
}

/* Whatever is wrong with the folder is no failure of the run. */
void artel__program_folder_write(artel__program_folder *folder, const uint8_t key[ARTEL__PROGRAM_KEY],
                                 const void *bytes, size_t length)
{
    char path[PATH_MAX];
    head h;
    if (!folder->path || !folder->writes || !path_of(folder, key, path)) return;
    memcpy(h.magic, magic, sizeof magic);
    memcpy(h.key, key, sizeof h.key);
    hash_of(bytes, length, h.hash);
    artel_status status = artel__make_own_directory(folder->files, folder->path);
    if (status == ARTEL_OK) status = write_whole(folder->files, path, &h, bytes, length);
    folder->changed = true;
    if (status == ARTEL_OK) return;
    artel_log_level level = folder->warned ? ARTEL_LOG_DEBUG : folder->loss ? ARTEL_LOG_WARNING : ARTEL_LOG_NOTE;
    artel__log(folder->ctx, level, "%s: compiled programs are not kept: %s: %s", folder->path,
               artel_context_error(folder->files)->what,
               folder->loss ? folder->loss : "the next start compiles them again");
    folder->warned = true;
    folder->writes = false;
    artel__operation_begin(folder->files);
}

/* -- thinning -- */

typedef struct entry {
    char path[PATH_MAX];
    struct timespec used;
    int64_t bytes;
} entry;

static int by_use(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return x->used.tv_nsec < y->used.tv_nsec ? -1 : x->used.tv_nsec > y->used.tv_nsec;
}

static int list_entries(const artel__program_folder *folder, const artel__paths *names, entry *out, int64_t *bytes)
{
    int count = 0;
    struct stat about;
    *bytes = 0;
    for (size_t i = 0; i < names->count; i++) {
        entry *e = &out[count];
        int length = snprintf(e->path, sizeof e->path, "%s/%s", folder->path, names->items[i]);
        if (!artel__ends_with(names->items[i], SUFFIX) || length <= 0 || length >= PATH_MAX ||
            lstat(e->path, &about) != 0)
            continue;
        e->used = about.st_mtim;
        e->bytes = about.st_size;
        *bytes += e->bytes;
        count++;
    }
    return count;
}

void artel__program_folder_thin(artel__program_folder *folder)
{
    artel__paths names;
    void *block;
    int64_t bytes;
    if (!folder->path || !folder->changed || folder->most_bytes == 0) return;
    if (artel__list_directory(folder->files, folder->path, &names) < 0) {
        artel__operation_begin(folder->files);
        return;
    }
    if (artel__alloc(folder->files, (names.count + 1) * sizeof(entry), "device", &block) == ARTEL_OK) {
        entry *list = block;
        int count = list_entries(folder, &names, list, &bytes);
        qsort(list, (size_t)count, sizeof *list, by_use);
        for (int i = 0; i < count && bytes > folder->most_bytes; i++) {
            unlink(list[i].path);
            bytes -= list[i].bytes;
        }
        artel__free(folder->files, block);
    }
    artel__paths_fini(&names);
    folder->changed = false;
}
