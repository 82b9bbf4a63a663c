/* SPDX-License-Identifier: Apache-2.0 */
/* The boundary between artel and libartel-curl.so, the part that links libcurl: one GET of a URL.
 *
 * The part knows nothing of artel but this header: no contexts, no files, no retries, no logs. It may be called by any
 * number of threads at once.
 */
#ifndef ARTEL_DATA_PART_CURL_PART_H
#define ARTEL_DATA_PART_CURL_PART_H

#include <stddef.h>
#include <stdint.h>

#define ARTEL__CURL_PART_VERSION 2u
#define ARTEL__CURL_PART_SYMBOL "artel_part_curl"
#define ARTEL__CURL_PAGE 2048

typedef struct artel__curl_answer artel__curl_answer;

/* Called once for an answer of 200 or 206, when its head is known and before its body; other than 0 ends the
 * transfer. */
typedef int artel__curl_begin_fn(void *user, const artel__curl_answer *answer);
/* Takes bytes of the body as they come; other than 0 ends the transfer. Called only for answers of 200 and 206. */
typedef int artel__curl_take_fn(void *user, const uint8_t *bytes, size_t size);
/* Other than 0 ends the transfer. Called about once a second at least. */
typedef int artel__curl_ended_fn(void *user);

typedef struct artel__curl_request {
    const char *url;
    const char *const *headers; /* "Name: value"; NULL-terminated; NULL: none */
    const char *signature;      /* "aws:amz:REGION:s3", or NULL */
    const char *user;           /* "KEY:SECRET" of the signature, or NULL */
    uint64_t offset;            /* > 0: the bytes from there on are asked for */
    long least_rate;            /* bytes a second, ... */
    long patience;              /* ... below which a transfer ends that has been slower for so many seconds */
    artel__curl_begin_fn *begin;
    artel__curl_take_fn *take;
    artel__curl_ended_fn *ended;
    void *data; /* handed to all three */
} artel__curl_request;

struct artel__curl_answer {
    long status;                 /* of HTTP; 0: there was no answer */
    int64_t length;              /* of the body, as announced; -1: not announced */
    int64_t first, last, total;  /* of 206: which bytes these are, both included, and of how many; -1: not said */
    int bounded;                 /* a body that breaks off is told from one that ends */
    int transferred;             /* the body came to its end */
    int64_t retry_after;         /* seconds that the server wants to be left alone; 0: it says nothing */
    char etag[256];              /* with its quotes; empty: none */
    char region[64];             /* in which a bucket lies, where S3 says so */
    char text[200];              /* what went wrong */
    char page[ARTEL__CURL_PAGE]; /* how a body of another status begins: what the server says of it */
    int may_heal;                /* it may go well another time */
};

typedef struct artel__curl_part {
    uint32_t version;
    void (*get)(const artel__curl_request *request, artel__curl_answer *answer);
} artel__curl_part;

#endif
