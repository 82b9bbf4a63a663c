/* SPDX-License-Identifier: Apache-2.0 */
/* Files elsewhere: http://, https:// and s3:// in place of a path.
 *
 * A file is fetched as a whole into a cache on this machine and used from there. What is in the cache is asked about
 * (If-None-Match) and taken as it is while the server says that it has not changed. A transfer that breaks off is taken
 * up where it ended, with growing pauses (remote_get.c). Libcurl is in libartel-curl.so, opened on first use.
 */
#ifndef ARTEL_DATA_REMOTE_H
#define ARTEL_DATA_REMOTE_H

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

/* Whether the text names something elsewhere. */
bool artel__is_remote(const char *path);
/* Fetches a file; *out is the path of the copy, on the context's heap. Errors: NOT_FOUND (404), INVALID (denied: 401,
 * 403; a name that is none), IO (the network, after all attempts), UNSUPPORTED (no libcurl), each naming the URL. */
artel_status artel__remote_fetch(artel_context *ctx, const char *url, char **out);
/* A JSON file, here or elsewhere. With `optional` one that is not there gives *out NULL. */
artel_status artel__data_load_json(artel_context *ctx, const char *path, bool optional, json_t **out);
/* artel__glob() for both: s3:// patterns are matched against the bucket's list, other URLs are taken as they are.
 * FILE.index beside a FILE that is there, too, is left out. */
artel_status artel__data_glob(artel_context *ctx, const char *pattern, artel__paths *out);

/* ---- remote_s3.c ---- */

/* s3://BUCKET/KEY as a URL, with what signs it. */
typedef struct artel__s3_place {
    char *url;
    char user[512];     /* KEY:SECRET; empty: unsigned */
    char signature[96]; /* "aws:amz:REGION:s3" */
    char token[4200];   /* a header, or empty */
} artel__s3_place;

/* From AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION (AWS_DEFAULT_REGION),
 * AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL. `query`: NULL, or what stands behind "?". url on the context's heap. */
artel_status artel__s3_locate(artel_context *ctx, const char *place, const char *query, artel__s3_place *out);
/* The keys of a page of ListObjectsV2, as s3://BUCKET/KEY, that match a pattern; *token (heap): the next page, or NULL.
 */
artel_status artel__s3_read_list(artel_context *ctx, const char *pattern, const char *xml, size_t size,
                                 artel__paths *out, char **token);
/* Bytes of a query, percent-encoded; `slash`: that too. On the context's heap. */
artel_status artel__s3_encode(artel_context *ctx, const char *text, bool slash, char **out);

/* ---- remote_get.c ---- */

/* What is asked for, and where it goes: either an output or a text. */
typedef struct artel__remote_query {
    const struct artel__curl_part *part;
    const char *where;            /* for messages; the URL where `place` is NULL */
    const artel__s3_place *place; /* or NULL */
    const char *known;            /* the ETag of what is here already; NULL or empty: nothing */
    artel__output *output;
    artel__text *text;
} artel__remote_query;

typedef struct artel__remote_got {
    char etag[256]; /* empty: none */
    bool unchanged; /* what is here already is what the server has; nothing was written */
} artel__remote_got;

/* All of it, after as many attempts as it takes, or an error that names `where`: those of artel__remote_fetch(). */
artel_status artel__remote_get(artel_context *ctx, const artel__remote_query *query, artel__remote_got *out);

#endif
