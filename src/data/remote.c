/* SPDX-License-Identifier: Apache-2.0 */
/* Fetching into the cache.
 *
 * The cache is $ARTEL_CACHE_DIR, else artel/ in $XDG_CACHE_HOME or ~/.cache. A copy is named by the SHA-256 of its URL;
 * beside it NAME.etag holds what the server called that content, and which file that was: its inode and size. Both are
 * written under other names and renamed, the copy first; of processes that fetch the same file at once one's copy
 * may end beside the other one's name, and is not believed then.
 */
#include "data/remote.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/json_written.h"
#include "base/part.h"
#include "base/text.h"
#include "data/part_curl/part.h"

#define MOST_KEYS ((size_t)10000000) /* of a bucket, that match a pattern */

bool artel__is_remote(const char *path)
{
    return artel__starts_with(path, "http://") || artel__starts_with(path, "https://") ||
           artel__starts_with(path, "s3://");
}

static artel_status open_part(artel_context *ctx, artel__part *out)
{
    static const artel__part_request request = {
        "libartel-curl.so",     ARTEL__CURL_PART_SYMBOL, ARTEL__CURL_PART_VERSION, "fetches files over the network",
        "libcurl4-openssl-dev",
    };
    return artel__part_open(ctx, &request, out);
}

/* ---- the cache ---- */

static artel_status cache_path(artel_context *ctx, const char *url, artel__text *out)
{
    const char *own = getenv("ARTEL_CACHE_DIR"), *shared = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    artel__sha256 hash;
    char name[65];
    if (own != NULL && own[0])
        artel__text_append(out, own);
    else if (shared != NULL && shared[0])
        artel__text_printf(out, "%s/artel", shared);
    else if (home != NULL && home[0])
        artel__text_printf(out, "%s/.cache/artel", home);
    else
        return artel__fail(ctx, ARTEL_ERROR_INVALID, url, "set ARTEL_CACHE_DIR",
                           "there is no folder to keep copies in");
    ARTEL_TRY(artel__text_status(out));
    ARTEL_TRY(artel__make_own_directory(ctx, out->data));
    artel__sha256_init(&hash);
    artel__sha256_update(&hash, url, strlen(url));
    artel__sha256_hex(&hash, name);
    artel__text_printf(out, "/%s", name);
    return artel__text_status(out);
}

/* What tells a file from one that another process has put in its place meanwhile. */
static void describe(const struct stat *file, char out[80])
{
    snprintf(out, 80, "%llu %llu", (unsigned long long)file->st_ino, (unsigned long long)file->st_size);
}

/* What the server called the copy; empty when there is none, or when it is not the file that it was called of. */
static void read_etag(artel_context *ctx, const char *copy, char out[256])
{
    char path[4200], own[80], *text;
    size_t size;
    struct stat file;
    out[0] = '\0';
    if (snprintf(path, sizeof path, "%s.etag", copy) >= (int)sizeof path || !artel__file_exists(path) ||
        stat(copy, &file) != 0)
        return;
    if (artel__read_file(ctx, path, 512, &text, &size) < 0) {
        artel__operation_begin(ctx);
        return;
    }
    char *line = strchr(text, '\n');
    describe(&file, own);
    bool same = line != NULL && strlen(text) == size && strcmp(line + 1, own) == 0;
    size_t length = same ? (size_t)(line - text) : 0;
    if (length < 256 && memchr(text, '\r', length) == NULL) {
        memcpy(out, text, length);
        out[length] = '\0';
    }
    artel__free(ctx, text);
}

static artel_status keep_copy(artel_context *ctx, artel__output *output, const char *copy, const char *etag)
{
    char path[4200], text[400], own[80];
    struct stat file;
    if (snprintf(path, sizeof path, "%s.etag", copy) >= (int)sizeof path)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, copy, "set ARTEL_CACHE_DIR to a shorter path",
                           "the path is too long");
    if (fstat(output->fd, &file) != 0) return artel__fail_errno(ctx, copy, "look at");
    describe(&file, own);
    snprintf(text, sizeof text, "%s\n%s", etag, own);
    ARTEL_TRY(artel__remove_tree(ctx, path)); /* of the former content */
    ARTEL_TRY(artel__output_commit(output));
    return etag[0] ? artel__write_file(ctx, path, text, strlen(text)) : ARTEL_OK;
}

static artel_status fetch_into(artel_context *ctx, const artel__curl_part *part, const char *url,
                               const artel__s3_place *place, const char *copy)
{
    artel__output output;
    artel__remote_got got;
    char known[256];
    read_etag(ctx, copy, known);
    ARTEL_TRY(artel__output_open(ctx, copy, &output));
    artel__remote_query query = {.part = part, .where = url, .place = place, .known = known, .output = &output};
    artel_status status = artel__remote_get(ctx, &query, &got);
    if (status == ARTEL_OK && !got.unchanged) status = keep_copy(ctx, &output, copy, got.etag);
    artel__output_abandon(&output);
    return status;
}

static artel_status fetch(artel_context *ctx, const artel__curl_part *part, const char *url, const char *copy)
{
    artel__s3_place *place = NULL;
    if (!artel__starts_with(url, "s3://")) return fetch_into(ctx, part, url, NULL, copy);
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof *place, url, (void **)&place));
    artel_status status = artel__s3_locate(ctx, url, NULL, place);
    if (status == ARTEL_OK) status = fetch_into(ctx, part, url, place, copy);
    artel__free(ctx, place->url);
    artel__free(ctx, place);
    return status;
}

artel_status artel__remote_fetch(artel_context *ctx, const char *url, char **out)
{
    artel__part library;
    artel__text copy;
    ARTEL_TRY(open_part(ctx, &library));
    artel__text_init(&copy, ctx);
    artel_status status = cache_path(ctx, url, &copy);
    if (status == ARTEL_OK) status = fetch(ctx, library.table, url, copy.data);
    if (status == ARTEL_OK) status = artel__strdup(ctx, copy.data, out);
    artel__text_fini(&copy);
    artel__part_close(&library);
    return status;
}

artel_status artel__data_load_json(artel_context *ctx, const char *path, bool optional, json_t **out)
{
    char *copy;
    *out = NULL;
    if (!artel__is_remote(path))
        return optional && !artel__file_exists(path) ? ARTEL_OK : artel__json_load_written_file(ctx, path, out);
    artel_status status = artel__remote_fetch(ctx, path, &copy);
    if (optional &&
        (status == ARTEL_ERROR_NOT_FOUND || status == ARTEL_ERROR_INVALID)) { /* S3 denies what it may not list */
        artel__operation_begin(ctx);
        return ARTEL_OK;
    }
    if (status < 0) return status;
    status = artel__json_load_written_file(ctx, copy, out);
    artel__free(ctx, copy);
    return status;
}

/* ---- patterns ---- */

/* One page of a bucket's list. */
static artel_status list_page(artel_context *ctx, const artel__curl_part *part, const char *pattern, const char *query,
                              artel__text *xml)
{
    artel__remote_got got;
    artel__s3_place *place = NULL;
    char bucket[256];
    snprintf(bucket, sizeof bucket, "%.*s", (int)(5 + strcspn(pattern + 5, "/")), pattern);
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof *place, pattern, (void **)&place));
    artel_status status = artel__s3_locate(ctx, bucket, query, place);
    artel__remote_query asked = {.part = part, .where = pattern, .place = place, .text = xml};
    if (status == ARTEL_OK) status = artel__remote_get(ctx, &asked, &got);
    artel__free(ctx, place->url);
    artel__free(ctx, place);
    return status;
}

static artel_status refuse_list(artel_context *ctx, const char *pattern, const char *what)
{
    return artel__fail(ctx, ARTEL_ERROR_CORRUPT, pattern, "check the endpoint", "%s", what);
}

static artel_status list_pages(artel_context *ctx, const artel__curl_part *part, const char *pattern,
                               artel__paths *found)
{
    char *token = NULL, *prefix = NULL, *next = NULL;
    const char *key = strchr(pattern + 5, '/');
    artel__text query, xml;
    char plain[1100];
    if (key == NULL || strcspn(key + 1, "*?[") >= sizeof plain - 1)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, pattern, "write s3://BUCKET/KEY",
                           "the pattern names no keys of a bucket");
    snprintf(plain, sizeof plain, "%.*s", (int)strcspn(key + 1, "*?["), key + 1);
    ARTEL_TRY(artel__s3_encode(ctx, plain, true, &prefix));
    artel__text_init(&query, ctx);
    artel__text_init(&xml, ctx);
    artel_status status = ARTEL_OK;
    do {
        artel__text_clear(&query);
        artel__text_clear(&xml);
        artel__free(ctx, next);
        next = NULL;
        if (token != NULL) status = artel__s3_encode(ctx, token, true, &next);
        artel__free(ctx, token);
        token = NULL;
        if (found->count > MOST_KEYS) status = refuse_list(ctx, pattern, "more keys match than can be");
        artel__text_printf(&query, "%s%s%slist-type=2&prefix=%s", next ? "continuation-token=" : "", next ? next : "",
                           next ? "&" : "", prefix);
        if (status == ARTEL_OK) status = artel__text_status(&query);
        if (status == ARTEL_OK) status = list_page(ctx, part, pattern, query.data, &xml);
        if (status == ARTEL_OK) status = artel__s3_read_list(ctx, pattern, xml.data, xml.length, found, &token);
        char *again = NULL;
        if (status == ARTEL_OK && token != NULL) status = artel__s3_encode(ctx, token, true, &again);
        if (again != NULL && next != NULL && strcmp(again, next) == 0)
            status = refuse_list(ctx, pattern, "a page of the bucket's list is followed by itself");
        artel__free(ctx, again);
    } while (status == ARTEL_OK && token != NULL);
    artel__text_fini(&query);
    artel__text_fini(&xml);
    artel__free(ctx, prefix);
    artel__free(ctx, next);
    artel__free(ctx, token);
    return status;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static artel_status one_path(artel_context *ctx, const char *path, artel__paths *out)
{
    void *items;
    *out = (artel__paths){.ctx = ctx};
    ARTEL_TRY(artel__alloc(ctx, sizeof(char *), path, &items));
    out->items = items;
    artel_status status = artel__strdup(ctx, path, &out->items[0]);
    out->count = status == ARTEL_OK;
    if (status < 0) artel__paths_fini(out);
    return status;
}

/* What stands beside a file that the pattern matches is its index, and none of what the pattern means. Names are
 * sorted, so that a file stands in front of its index. */
static void drop_indexes(artel__paths *paths)
{
    size_t kept = 0;
    for (size_t i = 0; i < paths->count; i++) {
        char *item = paths->items[i], *end = item + strlen(item);
        bool beside = false;
        if (artel__ends_with(item, ".index")) {
            end -= strlen(".index");
            *end = '\0';
            beside = bsearch(&item, paths->items, kept, sizeof item, by_bytes) != NULL;
            *end = '.';
        }
        if (beside)
            artel__free(paths->ctx, item);
        else
            paths->items[kept++] = item;
    }
    paths->count = kept;
}

artel_status artel__data_glob(artel_context *ctx, const char *pattern, artel__paths *out)
{
    artel__part library;
    artel__paths found = {.ctx = ctx};
    if (!artel__is_remote(pattern)) {
        ARTEL_TRY(artel__glob(ctx, pattern, out));
        drop_indexes(out);
        return ARTEL_OK;
    }
    bool wild = artel__starts_with(pattern, "s3://") && strpbrk(pattern, "*?[") != NULL;
    if (!wild) return one_path(ctx, pattern, out);
    ARTEL_TRY(open_part(ctx, &library));
    artel_status status = list_pages(ctx, library.table, pattern, &found);
    artel__part_close(&library);
    if (status == ARTEL_OK && found.count == 0)
        status = artel__fail(ctx, ARTEL_ERROR_NOT_FOUND, pattern, "check the name",
                             "no key of the bucket matches this pattern");
    if (status < 0) {
        artel__paths_fini(&found);
        return status;
    }
    qsort(found.items, found.count, sizeof *found.items, by_bytes);
    drop_indexes(&found);
    *out = found;
    return ARTEL_OK;
}
