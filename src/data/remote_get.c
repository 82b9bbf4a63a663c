/* SPDX-License-Identifier: Apache-2.0 */
/* One file or page of a server, whole or not at all.
 *
 * What is lacking is asked for again: from where it ended when the server says that it is the same content (a strong
 * ETag, the same length), else from the beginning. An answer is whole when as many bytes came as the server had
 * announced; one whose end cannot be told from a broken connection (no length, no chunks) is refused, and so is a part
 * that was not asked for or does not fit to what is there. A server that gives less than LEAST_RATE for
 * ARTEL_FETCH_SECONDS counts as broken off. What the server wants to be left alone for (Retry-After) it is, up to
 * LONGEST_PAUSE_MS.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "data/part_curl/part.h"
#include "data/remote.h"

enum {
    ATTEMPTS = 6,
    FIRST_PAUSE_MS = 100,
    LONGEST_PAUSE_MS = 120000,
    LEAST_RATE = 1024, /* bytes a second */
    PATIENCE = 30,     /* seconds below it */
    PROGRESS = 1 << 20 /* bytes, after which a failure is the first one again */
};
#define NOTE_NS 10000000000
#define LIST_LIMIT ((size_t)64 << 20)

/* Where bytes go, and what is known of the content they are of. */
typedef struct sink {
    artel_context *ctx;
    const artel__remote_query *query;
    char etag[256];
    uint64_t taken;
    int64_t total;     /* bytes of the whole; -1: not known */
    const char *wrong; /* with an answer, which is not taken and makes everything begin anew; or NULL */
    int64_t noted;     /* when something was said last */
    artel_status status;
} sink;

static artel_status start_over(sink *s)
{
    if (s->query->text != NULL) artel__text_clear(s->query->text);
    if (s->taken > 0 && s->query->output != NULL) s->status = artel__output_restart(s->query->output);
    s->taken = 0;
    s->total = -1;
    s->etag[0] = '\0';
    return s->status;
}

static bool is_strong(const char *etag)
{
    return etag[0] == '"';
}

/* Whether a part is the one that was asked for, of the same content. */
static bool continues(const sink *s, const artel__curl_answer *answer)
{
    if (answer->first != (int64_t)s->taken) return false;
    if (answer->length >= 0 && answer->length != answer->last - answer->first + 1) return false;
    if (s->taken == 0) return true;
    return strcmp(s->etag, answer->etag) == 0 && (s->total < 0 || answer->total == s->total);
}

static int begin(void *user, const artel__curl_answer *answer)
{
    sink *s = user;
    if (answer->status == 206 && answer->total < 0)
        s->wrong = "the server sends a part of the file and does not say which (206)";
    else if (answer->status == 200 && !answer->bounded)
        s->wrong = "the server does not say where the file ends, so that a part of it would look whole";
    else if (answer->status == 206 && !continues(s, answer))
        s->wrong = "the part that the server sends does not continue what is here";
    else if (answer->status == 200)
        start_over(s);
    if (s->status < 0 || s->wrong != NULL) return 1;
    s->total = answer->status == 206 ? answer->total : answer->length;
    snprintf(s->etag, sizeof s->etag, "%s", answer->etag);
    return 0;
}

static int take(void *user, const uint8_t *bytes, size_t size)
{
    sink *s = user;
    artel__text *text = s->query->text;
    if (s->query->output != NULL) s->status = artel__output_write(s->query->output, bytes, size);
    if (text != NULL) artel__text_append_bytes(text, bytes, size);
    if (text != NULL) s->status = artel__text_status(text);
    if (text != NULL && text->length > LIST_LIMIT)
        s->status = artel__fail(s->ctx, ARTEL_ERROR_CORRUPT, s->query->where, "check the endpoint",
                                "a page of the bucket's list is over %zu MiB", LIST_LIMIT >> 20);
    s->taken += size;
    return s->status < 0;
}

/* Now and then it is said how far a long transfer has come. */
static int ended(void *user)
{
    sink *s = user;
    int64_t now = artel__now_ns();
    if (now - s->noted > NOTE_NS) {
        s->noted = now;
        if (s->total > 0)
            artel__log(s->ctx, ARTEL_LOG_NOTE, "%s: %.1f of %.1f MB are here", s->query->where, (double)s->taken / 1e6,
                       (double)s->total / 1e6);
        else
            artel__log(s->ctx, ARTEL_LOG_NOTE, "%s: %.1f MB are here", s->query->where, (double)s->taken / 1e6);
    }
    return artel__cancelled(s->ctx);
}

/* ---- what a server says of a failure ---- */

/* The <Code> of S3's errors; only letters and digits are believed. */
static void read_code(const char *page, char out[64])
{
    const char *at = strstr(page, "<Code>");
    size_t length = 0;
    if (at != NULL) at += strlen("<Code>");
    while (at != NULL && isalnum((unsigned char)at[length])) length++;
    if (at == NULL || at[length] != '<' || length > 63) length = 0;
    if (length > 0) memcpy(out, at, length);
    out[length] = '\0';
}

static artel_status refuse_s3(artel_context *ctx, const char *where, const artel__curl_answer *answer)
{
    char code[64];
    read_code(answer->page, code);
    bool expired = strstr(code, "Expired") != NULL || strcmp(code, "InvalidToken") == 0;
    bool denied = answer->status == 401 || answer->status == 403;
    const char *advice = expired ? "renew AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN"
                         : strcmp(code, "RequestTimeTooSkewed") == 0 ? "set this machine's clock"
                         : denied ? "give credentials that may read it (AWS_ACCESS_KEY_ID, ...)"
                                  : "set AWS_REGION to the region of the bucket";
    return artel__fail(ctx, ARTEL_ERROR_INVALID, where, advice, "the server %s (%ld%s%s)%s%s",
                       expired  ? "says that the credentials have expired"
                       : denied ? "denies access"
                                : "refuses the request",
                       answer->status, code[0] ? " " : "", code, answer->region[0] ? ": the bucket lies in " : "",
                       answer->region);
}

/* A failure, or bytes that are lacking: whether it is worth another attempt. */
static bool may_go_on(const sink *s, const artel__curl_answer *answer)
{
    if (artel__cancelled(s->ctx) || answer->retry_after > LONGEST_PAUSE_MS / 1000) return false;
    bool part = answer->transferred && (answer->status == 200 || answer->status == 206);
    return answer->may_heal || s->wrong != NULL || part || (answer->status == 416 && s->taken > 0);
}

static artel_status refuse(const sink *s, const artel__curl_answer *answer)
{
    artel_context *ctx = s->ctx;
    const char *where = s->query->where;
    bool moved = answer->status == 301 || answer->status == 307;
    if (artel__cancelled(ctx)) return artel__fail(ctx, ARTEL_ERROR_CANCELLED, where, "", "fetching was cancelled");
    if (answer->status == 404)
        return artel__fail(ctx, ARTEL_ERROR_NOT_FOUND, where, "check the name", "the server has no such file (404)");
    if (s->query->place != NULL && (moved || answer->status == 400 || answer->status == 401 || answer->status == 403))
        return refuse_s3(ctx, where, answer);
    if (answer->status == 401 || answer->status == 403)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, where,
                           "give credentials that may read it (AWS_ACCESS_KEY_ID, ... for s3://)",
                           "the server denies access (%ld)", answer->status);
    if (answer->retry_after > LONGEST_PAUSE_MS / 1000)
        return artel__fail(ctx, ARTEL_ERROR_IO, where, "try again later; what was fetched so far is not kept",
                           "%s and wants to be asked again in %lld s", answer->text, (long long)answer->retry_after);
    return artel__fail(ctx, ARTEL_ERROR_IO, where, "try again later; what was fetched so far is not kept", "%s%s",
                       answer->text[0] ? answer->text : "the answer is not understood",
                       may_go_on(s, answer) ? ", after several attempts" : "");
}

/* ---- again and again ---- */

static void pause_before(artel_context *ctx, int64_t ms)
{
    for (; ms > 0 && !artel__cancelled(ctx); ms -= 50) {
        struct timespec some = {0, 50000000};
        nanosleep(&some, NULL);
    }
}

/* A request with room for its headers. */
typedef struct transfer {
    artel__curl_request request;
    const char *headers[4];
    char same[300]; /* If-Range, If-None-Match */
} transfer;

static long patience(void)
{
    int64_t seconds;
    const char *given = getenv("ARTEL_FETCH_SECONDS");
    return given && artel__parse_int64(given, &seconds) && seconds > 0 && seconds <= 3600 ? (long)seconds : PATIENCE;
}

static void prepare(transfer *t, sink *s)
{
    const artel__remote_query *query = s->query;
    const artel__s3_place *place = query->place;
    int count = 0;
    const char *etag = s->taken > 0 ? s->etag : query->known;
    t->request = (artel__curl_request){.url = place != NULL ? place->url : query->where,
                                       .offset = s->taken,
                                       .least_rate = LEAST_RATE,
                                       .patience = patience(),
                                       .begin = begin,
                                       .take = take,
                                       .ended = ended,
                                       .data = s};
    if (place != NULL && place->user[0]) {
        t->request.user = place->user;
        t->request.signature = place->signature;
    }
    if (place != NULL && place->token[0]) t->headers[count++] = place->token;
    if (etag != NULL && etag[0]) {
        snprintf(t->same, sizeof t->same, "%s: %s", s->taken > 0 ? "If-Range" : "If-None-Match", etag);
        t->headers[count++] = t->same;
    }
    t->headers[count] = NULL;
    t->request.headers = t->headers;
}

/* Whether the answer is all there is to have. What is not may be lacking, which is no failure yet. */
static bool is_whole(const sink *s, const artel__curl_answer *answer)
{
    if (!answer->transferred) return false;
    if (answer->status == 304) return s->taken == 0 && s->query->known != NULL && s->query->known[0];
    return (answer->status == 200 || answer->status == 206) && (s->total < 0 || (int64_t)s->taken == s->total);
}

static void say_what_lacks(const sink *s, artel__curl_answer *answer)
{
    if (s->wrong != NULL)
        snprintf(answer->text, sizeof answer->text, "%s", s->wrong);
    else if (answer->transferred && (answer->status == 200 || answer->status == 206))
        snprintf(answer->text, sizeof answer->text, "the server sent %llu of %lld bytes", (unsigned long long)s->taken,
                 (long long)s->total);
    else if (answer->transferred && answer->status == 304)
        snprintf(answer->text, sizeof answer->text, "the server says that nothing has changed of what is not here");
}

artel_status artel__remote_get(artel_context *ctx, const artel__remote_query *query, artel__remote_got *out)
{
    transfer t;
    artel__curl_answer answer;
    sink s = {.ctx = ctx, .query = query, .total = -1, .noted = artel__now_ns()};
    uint64_t most = 0;
    for (int failures = 0, restarts = 0;; failures++) {
        prepare(&t, &s);
        query->part->get(&t.request, &answer);
        if (s.status < 0) return s.status;
        if (is_whole(&s, &answer)) break;
        if (s.taken >= most + PROGRESS) failures = 0;
        if (s.taken > most) most = s.taken;
        say_what_lacks(&s, &answer);
        if (!may_go_on(&s, &answer) || failures + 1 >= ATTEMPTS || restarts >= ATTEMPTS) return refuse(&s, &answer);
        if (s.taken > 0 && (s.wrong != NULL || answer.status == 416 || !is_strong(s.etag))) {
            ARTEL_TRY(start_over(&s));
            restarts++;
        }
        s.wrong = NULL;
        int64_t ms = (int64_t)FIRST_PAUSE_MS << failures;
        if (answer.retry_after * 1000 > ms) ms = answer.retry_after * 1000;
        artel__log(ctx, ARTEL_LOG_NOTE, "%s: %s; trying again from byte %llu in %.1f s", query->where, answer.text,
                   (unsigned long long)s.taken, (double)ms / 1e3);
        pause_before(ctx, ms);
    }
    out->unchanged = answer.status == 304;
    snprintf(out->etag, sizeof out->etag, "%s", s.etag);
    return ARTEL_OK;
}
