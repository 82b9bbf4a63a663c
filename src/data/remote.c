/* SPDX-License-Identifier: Apache-2.0 */
/* Fetching into the cache.
 *
 * The cache is $ARTEL_CACHE_DIR, else artel/ in $XDG_CACHE_HOME or ~/.cache. A copy is named by the SHA-256 of its URL;
 * beside it NAME.etag holds what the server called that content. Both are written under other names and renamed, the
 * copy first, so that processes that fetch the same file do not meet.
 */
#include "data/remote.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "base/json_written.h"
#include "base/part.h"
#include "base/text.h"
#include "data/part_curl/part.h"

enum {
    ATTEMPTS = 6,
    FIRST_PAUSE_MS = 100
};
#define LIST_LIMIT ((size_t)64 << 20)

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

/* ---- one transfer, taken up where it breaks off ---- */

/* Where bytes go: a file or a text. */
typedef struct sink {
    artel_context *ctx;
    const char *where;
    artel__output *output;
    artel__text *text;
    uint64_t taken;
    artel_status status;
} sink;

static int take(void *user, const uint8_t *bytes, size_t size)
{
    sink *s = user;
    if (s->output != NULL) s->status = artel__output_write(s->output, bytes, size);
    if (s->text != NULL) artel__text_append_bytes(s->text, bytes, size);
    if (s->text != NULL) s->status = artel__text_status(s->text);
    if (s->text != NULL && s->text->length > LIST_LIMIT)
        s->status = artel__fail(s->ctx, ARTEL_ERROR_CORRUPT, s->where, "check the endpoint",
                                "a page of the bucket's list is over %zu MiB", LIST_LIMIT >> 20);
    s->taken += size;
    return s->status < 0;
}

static int ended(void *user)
{
    return artel__cancelled(((sink *)user)->ctx);
}

static artel_status refuse(artel_context *ctx, const char *url, const artel__curl_answer *answer)
{
    if (artel__cancelled(ctx)) return artel__fail(ctx, ARTEL_ERROR_CANCELLED, url, "", "fetching was cancelled");
    if (answer->status == 404)
        return artel__fail(ctx, ARTEL_ERROR_NOT_FOUND, url, "check the name", "the server has no such file (404)");
    if (answer->status == 401 || answer->status == 403)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, url,
                           "give credentials that may read it (AWS_ACCESS_KEY_ID, ... for s3://)",
                           "the server denies access (%ld)", answer->status);
    if (answer->status == 301 || answer->status == 307 || answer->status == 400)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, url, "set AWS_REGION to the region of the bucket",
                           "the server answers %ld%s%s", answer->status,
                           answer->region[0] ? ": the bucket lies in " : "", answer->region);
    return artel__fail(ctx, ARTEL_ERROR_IO, url, "try again later; what was fetched so far is not kept", "%s%s",
                       answer->text[0] ? answer->text : "the answer is not understood",
                       answer->may_heal ? ", after several attempts" : "");
}

static void pause_before(artel_context *ctx, int attempt)
{
    for (int64_t left = (int64_t)FIRST_PAUSE_MS << attempt; left > 0 && !artel__cancelled(ctx); left -= 50) {
        struct timespec some = {0, 50000000};
        nanosleep(&some, NULL);
    }
}

/* A transfer: its request with room for the headers of a continuation. */
typedef struct transfer {
    const artel__curl_part *part;
    const char *where;
    artel__curl_request request;
    const char *headers[4];
    char same[300]; /* If-Range */
} transfer;

static void set_headers(transfer *t, const artel__s3_place *place, const char *etag, const char *etag_name)
{
    int count = 0;
    if (place != NULL && place->token[0]) t->headers[count++] = place->token;
    if (etag[0]) {
        snprintf(t->same, sizeof t->same, "%s: %s", etag_name, etag);
        t->headers[count++] = t->same;
    }
    t->headers[count] = NULL;
    t->request.headers = t->headers;
}

/* Whether what came is the whole; what is lacking is asked for again. */
static artel_status run(artel_context *ctx, transfer *t, const artel__s3_place *place, const char *known, sink *s,
                        artel__curl_answer *answer)
{
    char etag[256] = "";
    for (int attempt = 0;; attempt++) {
        t->request.offset = s->taken;
        set_headers(t, place, s->taken > 0 ? etag : known, s->taken > 0 ? "If-Range" : "If-None-Match");
        t->part->get(&t->request, answer);
        if (s->status < 0) return s->status;
        if (answer->transferred && (answer->status == 200 || answer->status == 206 || answer->status == 304))
            return ARTEL_OK;
        bool again = answer->may_heal && attempt + 1 < ATTEMPTS && !artel__cancelled(ctx);
        if (s->taken > 0 && (!answer->etag[0] || (etag[0] && strcmp(etag, answer->etag) != 0)))
            again = false; /* it cannot be taken up */
        if (!again) return refuse(ctx, t->where, answer);
        if (answer->etag[0]) snprintf(etag, sizeof etag, "%s", answer->etag);
        artel__log(ctx, ARTEL_LOG_NOTE, "%s: %s at byte %llu; trying again", t->where, answer->text,
                   (unsigned long long)s->taken);
        pause_before(ctx, attempt);
    }
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

/* What the server called the copy; empty when there is none. */
static void read_etag(artel_context *ctx, const char *copy, char out[256])
{
    char path[4200], *text;
    size_t size;
    out[0] = '\0';
    if (snprintf(path, sizeof path, "%s.etag", copy) >= (int)sizeof path || !artel__file_exists(path) ||
        !artel__file_exists(copy))
        return;
    if (artel__read_file(ctx, path, 255, &text, &size) < 0) {
        artel__operation_begin(ctx);
        return;
    }
    if (size < 256 && strlen(text) == size && strpbrk(text, "\r\n") == NULL) memcpy(out, text, size + 1);
    artel__free(ctx, text);
}

static artel_status keep_copy(artel_context *ctx, artel__output *output, const char *copy, const char *etag)
{
    char path[4200];
    if (snprintf(path, sizeof path, "%s.etag", copy) >= (int)sizeof path)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, copy, "set ARTEL_CACHE_DIR to a shorter path",
                           "the path is too long");
    ARTEL_TRY(artel__remove_tree(ctx, path)); /* of the former content */
    ARTEL_TRY(artel__output_commit(output));
    return etag[0] ? artel__write_file(ctx, path, etag, strlen(etag)) : ARTEL_OK;
}

static artel_status fetch_into(artel_context *ctx, const artel__curl_part *part, const char *url,
                               const artel__s3_place *place, const char *copy)
{
    artel__output output;
    artel__curl_answer answer;
    char known[256];
    read_etag(ctx, copy, known);
    ARTEL_TRY(artel__output_open(ctx, copy, &output));
    sink s = {.ctx = ctx, .where = url, .output = &output};
    transfer t = {.part = part, .where = url};
    t.request =
        (artel__curl_request){.url = place != NULL ? place->url : url, .take = take, .ended = ended, .data = &s};
    if (place != NULL && place->user[0]) {
        t.request.user = place->user;
        t.request.signature = place->signature;
    }
    artel_status status = run(ctx, &t, place, known, &s, &answer);
    if (status == ARTEL_OK && answer.status != 304) status = keep_copy(ctx, &output, copy, answer.etag);
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
    artel__curl_answer answer;
    artel__s3_place *place = NULL;
    char bucket[256];
    snprintf(bucket, sizeof bucket, "%.*s", (int)(5 + strcspn(pattern + 5, "/")), pattern);
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof *place, pattern, (void **)&place));
    artel_status status = artel__s3_locate(ctx, bucket, query, place);
    if (status == ARTEL_OK) {
        sink s = {.ctx = ctx, .where = pattern, .text = xml};
        transfer t = {.part = part, .where = pattern};
        t.request = (artel__curl_request){.url = place->url, .take = take, .ended = ended, .data = &s};
        if (place->user[0]) {
            t.request.user = place->user;
            t.request.signature = place->signature;
        }
        status = run(ctx, &t, place, "", &s, &answer);
    }
    artel__free(ctx, place->url);
    artel__free(ctx, place);
    return status;
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
        artel__text_printf(&query, "%s%s%slist-type=2&prefix=%s", next ? "continuation-token=" : "", next ? next : "",
                           next ? "&" : "", prefix);
        if (status == ARTEL_OK) status = artel__text_status(&query);
        if (status == ARTEL_OK) status = list_page(ctx, part, pattern, query.data, &xml);
        if (status == ARTEL_OK) status = artel__s3_read_list(ctx, pattern, xml.data, xml.length, found, &token);
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

artel_status artel__data_glob(artel_context *ctx, const char *pattern, artel__paths *out)
{
    artel__part library;
    artel__paths found = {.ctx = ctx};
    if (!artel__is_remote(pattern)) return artel__glob(ctx, pattern, out);
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
    *out = found;
    return ARTEL_OK;
}
