/* SPDX-License-Identifier: Apache-2.0 */
/* S3's side of files elsewhere: URLs, credentials from the environment, lists of keys.
 *
 * With AWS_ENDPOINT_URL (MinIO, Ceph, ...) buckets are folders of it; else they are hosts of amazonaws.com. Keys are
 * percent-encoded as signatures of version 4 want them. A list (ListObjectsV2) is read for just <Key> and
 * <NextContinuationToken>; its five entities are resolved.
 */
#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "data/remote.h"

static const char *first_of(const char *a, const char *b, const char *otherwise)
{
    const char *value = getenv(a);
    if (value != NULL && value[0]) return value;
    value = b != NULL ? getenv(b) : NULL;
    return value != NULL && value[0] ? value : otherwise;
}

artel_status artel__s3_encode(artel_context *ctx, const char *text, bool slash, char **out)
{
    artel__text encoded;
    artel__text_init(&encoded, ctx);
    for (; *text != '\0'; text++) {
        bool plain = isalnum((unsigned char)*text) || strchr("-._~", *text) != NULL || (*text == '/' && !slash);
        if (plain)
            artel__text_append_bytes(&encoded, text, 1);
        else
            artel__text_printf(&encoded, "%%%02X", (unsigned)(unsigned char)*text);
    }
    artel_status status = artel__text_status(&encoded);
    if (status == ARTEL_OK) status = artel__strdup(ctx, encoded.data, out);
    artel__text_fini(&encoded);
    return status;
}

static bool is_bucket(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!islower((unsigned char)name[i]) && !isdigit((unsigned char)name[i]) && name[i] != '-' && name[i] != '.')
            return false;
    }
    return length >= 3 && length <= 63;
}

static artel_status make_url(artel_context *ctx, const char *bucket, size_t length, const char *key, const char *query,
                             char **out)
{
    const char *endpoint = first_of("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", NULL);
    const char *region = first_of("AWS_REGION", "AWS_DEFAULT_REGION", "us-east-1");
    char *encoded;
    artel__text url;
    ARTEL_TRY(artel__s3_encode(ctx, key, false, &encoded));
    artel__text_init(&url, ctx);
    if (endpoint != NULL) {
        size_t end = strlen(endpoint);
        while (end > 0 && endpoint[end - 1] == '/') end--;
        artel__text_printf(&url, "%.*s/%.*s/%s", (int)end, endpoint, (int)length, bucket, encoded);
    } else {
        artel__text_printf(&url, "https://%.*s.s3.%s.amazonaws.com/%s", (int)length, bucket, region, encoded);
    }
    if (query != NULL) artel__text_printf(&url, "?%s", query);
    artel__free(ctx, encoded);
    artel_status status = artel__text_status(&url);
    if (status == ARTEL_OK) status = artel__strdup(ctx, url.data, out);
    artel__text_fini(&url);
    return status;
}

artel_status artel__s3_locate(artel_context *ctx, const char *place, const char *query, artel__s3_place *out)
{
    const char *bucket = place + strlen("s3://"), *slash = strchr(bucket, '/');
    size_t length = slash != NULL ? (size_t)(slash - bucket) : strlen(bucket);
    const char *key = first_of("AWS_ACCESS_KEY_ID", NULL, NULL),
               *secret = first_of("AWS_SECRET_ACCESS_KEY", NULL, NULL);
    const char *token = first_of("AWS_SESSION_TOKEN", NULL, NULL);
    memset(out, 0, sizeof *out);
    if (!is_bucket(bucket, length) || (query == NULL && (slash == NULL || slash[1] == '\0')))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, place, "write s3://BUCKET/KEY",
                           "this names no object of a bucket");
    if ((key == NULL) != (secret == NULL))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "AWS_SECRET_ACCESS_KEY",
                           "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or neither",
                           "one of the two is set without the other");
    bool fits = snprintf(out->signature, sizeof out->signature, "aws:amz:%s:s3",
                         first_of("AWS_REGION", "AWS_DEFAULT_REGION", "us-east-1")) < (int)sizeof out->signature;
    if (key != NULL) fits &= snprintf(out->user, sizeof out->user, "%s:%s", key, secret) < (int)sizeof out->user;
    if (token != NULL)
        fits &= snprintf(out->token, sizeof out->token, "x-amz-security-token: %s", token) < (int)sizeof out->token;
    if (!fits)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, place, "check the variables AWS_...", "a credential is too long");
    return make_url(ctx, bucket, length, slash != NULL ? slash + 1 : "", query, &out->url);
}

/* ---- lists ---- */

static void resolve_entities(char *text)
{
    static const struct {
        const char *name;
        char value;
    } entities[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    char *to = text;
    for (const char *from = text; *from != '\0';) {
        size_t step = 1;
        char value = *from;
        for (size_t i = 0; *from == '&' && i < ARTEL__COUNT(entities); i++) {
            if (strncmp(from, entities[i].name, strlen(entities[i].name)) != 0) continue;
            step = strlen(entities[i].name);
            value = entities[i].value;
        }
        *to++ = value;
        from += step;
    }
    *to = '\0';
}

/* The content of the next element of that name behind *at, on the heap, or NULL; *at moves behind it. */
static artel_status next_element(artel_context *ctx, const char **at, const char *name, char **out)
{
    char open[40], close[40];
    snprintf(open, sizeof open, "<%s>", name);
    snprintf(close, sizeof close, "</%s>", name);
    *out = NULL;
    const char *begin = strstr(*at, open), *end = begin != NULL ? strstr(begin, close) : NULL;
    if (end == NULL) return ARTEL_OK;
    begin += strlen(open);
    void *block;
    ARTEL_TRY(artel__alloc(ctx, (size_t)(end - begin) + 1, "a bucket's list", &block));
    memcpy(block, begin, (size_t)(end - begin));
    ((char *)block)[end - begin] = '\0';
    resolve_entities(block);
    *out = block;
    *at = end;
    return ARTEL_OK;
}

static artel_status add_key(artel_context *ctx, const char *pattern, const char *key, artel__paths *out)
{
    size_t bucket = (size_t)(strchr(pattern + 5, '/') + 1 - pattern);
    if (fnmatch(pattern + bucket, key, FNM_PATHNAME | FNM_PERIOD) != 0) return ARTEL_OK;
    void *items = out->items;
    ARTEL_TRY(artel__realloc(ctx, (out->count + 1) * sizeof(char *), pattern, &items));
    out->items = items;
    void *path;
    ARTEL_TRY(artel__alloc(ctx, bucket + strlen(key) + 1, pattern, &path));
    memcpy(path, pattern, bucket);
    memcpy((char *)path + bucket, key, strlen(key) + 1);
    out->items[out->count++] = path;
    return ARTEL_OK;
}

artel_status artel__s3_read_list(artel_context *ctx, const char *pattern, const char *xml, size_t size,
                                 artel__paths *out, char **token)
{
    const char *at = xml;
    char *key;
    *token = NULL;
    if (strlen(xml) != size || strstr(xml, "<ListBucketResult") == NULL)
        return artel__fail(ctx, ARTEL_ERROR_CORRUPT, pattern, "check the endpoint",
                           "the answer is no list of a bucket");
    if (strstr(xml, "</ListBucketResult>") == NULL)
        return artel__fail(ctx, ARTEL_ERROR_CORRUPT, pattern, "try again later",
                           "a page of the bucket's list is cut off");
    for (;;) {
        ARTEL_TRY(next_element(ctx, &at, "Key", &key));
        if (key == NULL) break;
        artel_status status = add_key(ctx, pattern, key, out);
        artel__free(ctx, key);
        if (status < 0) return status;
    }
    at = xml;
    ARTEL_TRY(next_element(ctx, &at, "NextContinuationToken", token));
    if (*token == NULL && strstr(xml, "<IsTruncated>true<") != NULL)
        return artel__fail(ctx, ARTEL_ERROR_CORRUPT, pattern, "check the endpoint",
                           "the bucket's list goes on and does not say where");
    return ARTEL_OK;
}
