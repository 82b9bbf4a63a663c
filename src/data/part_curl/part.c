/* SPDX-License-Identifier: Apache-2.0 */
/* One GET by libcurl: HTTP and HTTPS only, certificates checked, at most five redirections that may not leave HTTPS,
 * ten seconds to connect, half a minute without a byte at the most. Signatures of AWS (version 4) are libcurl's own.
 */
#include "data/part_curl/part.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <curl/curl.h>

#include "artel/status.h"

ARTEL_API const artel__curl_part *artel_part_curl(void);

typedef struct transfer {
    CURL *curl;
    const artel__curl_request *request;
    artel__curl_answer *answer;
    int refused; /* by take or ended */
} transfer;

static size_t take_body(char *bytes, size_t one, size_t count, void *user)
{
    transfer *t = user;
    long status = 0;
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200 && status != 206) return one * count; /* a page that says what is wrong */
    t->refused = t->request->take(t->request->data, (const uint8_t *)bytes, one * count);
    return t->refused ? 0 : one * count;
}

static void keep(const char *line, size_t size, const char *name, char *out, size_t room)
{
    size_t length = strlen(name);
    if (size <= length) return;
    for (size_t i = 0; i < length; i++) {
        if (tolower((unsigned char)line[i]) != name[i]) return;
    }
    line += length;
    size -= length;
    while (size > 0 && (*line == ' ' || *line == '\t')) line++, size--;
    while (size > 0 && (line[size - 1] == '\r' || line[size - 1] == '\n' || line[size - 1] == ' ')) size--;
    if (size >= room) return;
    memcpy(out, line, size);
    out[size] = '\0';
}

static size_t take_header(char *line, size_t one, size_t count, void *user)
{
    transfer *t = user;
    if (one * count > 5 && memcmp(line, "HTTP/", 5) == 0)
        t->answer->etag[0] = '\0'; /* of an answer before: a redirection */
    keep(line, one * count, "etag:", t->answer->etag, sizeof t->answer->etag);
    keep(line, one * count, "x-amz-bucket-region:", t->answer->region, sizeof t->answer->region);
    return one * count;
}

static int look(void *user, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    transfer *t = user;
    (void)a, (void)b, (void)c, (void)d;
    if (t->request->ended(t->request->data)) t->refused = 1;
    return t->refused;
}

static int may_heal(CURLcode code)
{
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_WEIRD_SERVER_REPLY: return 1;
    default: return 0;
    }
}

static void set_options(transfer *t, struct curl_slist *headers)
{
    const artel__curl_request *r = t->request;
    CURL *curl = t->curl;
    curl_easy_setopt(curl, CURLOPT_URL, r->url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, strncmp(r->url, "https:", 6) == 0 ? "https" : "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, r->signature == NULL ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 10L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, 30L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "artel");
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, t);
    if (r->signature != NULL) curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, r->signature);
    if (r->user != NULL) curl_easy_setopt(curl, CURLOPT_USERPWD, r->user);
    if (r->offset > 0) curl_easy_setopt(curl, CURLOPT_RESUME_FROM_LARGE, (curl_off_t)r->offset);
}

static void get(const artel__curl_request *request, artel__curl_answer *answer)
{
    struct curl_slist *headers = NULL;
    transfer t = {.curl = curl_easy_init(), .request = request, .answer = answer};
    memset(answer, 0, sizeof *answer);
    answer->length = -1;
    for (int i = 0; request->headers != NULL && request->headers[i] != NULL; i++) {
        struct curl_slist *more = curl_slist_append(headers, request->headers[i]);
        if (more != NULL) headers = more;
    }
    if (t.curl == NULL) {
        snprintf(answer->text, sizeof answer->text, "no memory");
        curl_slist_free_all(headers);
        return;
    }
    set_options(&t, headers);
    CURLcode code = curl_easy_perform(t.curl);
    curl_off_t length = -1;
    curl_easy_getinfo(t.curl, CURLINFO_RESPONSE_CODE, &answer->status);
    curl_easy_getinfo(t.curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    answer->length = length;
    answer->transferred = code == CURLE_OK;
    answer->may_heal = (!t.refused && may_heal(code)) || answer->status == 429 || answer->status >= 500;
    if (code != CURLE_OK)
        snprintf(answer->text, sizeof answer->text, "%s", curl_easy_strerror(code));
    else if (answer->status >= 300)
        snprintf(answer->text, sizeof answer->text, "the server answers %ld", answer->status);
    curl_easy_cleanup(t.curl);
    curl_slist_free_all(headers);
}

const artel__curl_part *artel_part_curl(void)
{
    static const artel__curl_part part = {ARTEL__CURL_PART_VERSION, get};
    return &part;
}
