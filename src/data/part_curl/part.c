/* SPDX-License-Identifier: Apache-2.0 */
/* One GET by libcurl: HTTP and HTTPS only, certificates checked, at most five redirections that may not leave HTTPS,
 * ten seconds to connect. Signatures of AWS (version 4) are libcurl's own. Ranges are asked for and read here:
 * libcurl's own continuation takes an answer of 200 whose length happens to be the offset for the end of the file.
 */
#include "data/part_curl/part.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <curl/curl.h>

#include "artel/status.h"

ARTEL_API const artel__curl_part *artel_part_curl(void);

typedef struct transfer {
    CURL *curl;
    const artel__curl_request *request;
    artel__curl_answer *answer;
    char range[80]; /* Content-Range */
    size_t page;    /* bytes of answer->page */
    int begun;
    int refused; /* by begin, take or ended */
} transfer;

static void read_range(const char *text, artel__curl_answer *answer)
{
    long long first, last, total;
    int end = 0;
    if (sscanf(text, "bytes %18lld-%18lld/%n", &first, &last, &end) < 2 || end == 0 || first < 0 || last < first)
        return;
    answer->first = first;
    answer->last = last;
    if (sscanf(text + end, "%18lld", &total) == 1 && total > last) answer->total = total;
}

/* What the headers say, once they are there. */
static void read_head(transfer *t)
{
    curl_off_t length = -1, pause = 0;
    long version = 0;
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &t->answer->status);
    curl_easy_getinfo(t->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    curl_easy_getinfo(t->curl, CURLINFO_HTTP_VERSION, &version);
    curl_easy_getinfo(t->curl, CURLINFO_RETRY_AFTER, &pause);
    t->answer->length = length;
    t->answer->retry_after = pause > 0 ? pause : 0;
    if (length >= 0 || version >= CURL_HTTP_VERSION_2_0) t->answer->bounded = 1;
    if (t->answer->status == 206) read_range(t->range, t->answer);
}

static int begin(transfer *t)
{
    read_head(t);
    t->begun = 1;
    t->refused = t->request->begin(t->request->data, t->answer);
    return t->refused;
}

static size_t take_body(char *bytes, size_t one, size_t count, void *user)
{
    transfer *t = user;
    long status = 0;
    size_t room = sizeof t->answer->page - 1 - t->page, some = one * count < room ? one * count : room;
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200 && status != 206) { /* a page that says what is wrong */
        memcpy(t->answer->page + t->page, bytes, some);
        t->page += some;
        return one * count;
    }
    if (!t->begun && begin(t) != 0) return 0;
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
    char coding[32] = "";
    if (one * count > 5 && memcmp(line, "HTTP/", 5) == 0) { /* one answer after another: redirections */
        t->answer->etag[0] = t->range[0] = '\0';
        t->answer->bounded = 0;
        t->page = 0;
    }
    keep(line, one * count, "etag:", t->answer->etag, sizeof t->answer->etag);
    keep(line, one * count, "content-range:", t->range, sizeof t->range);
    keep(line, one * count, "x-amz-bucket-region:", t->answer->region, sizeof t->answer->region);
    keep(line, one * count, "transfer-encoding:", coding, sizeof coding);
    if (strcasecmp(coding, "chunked") == 0) t->answer->bounded = 1; /* the last of them is empty */
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
    case CURLE_SSL_CONNECT_ERROR:
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
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, r->least_rate);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, r->patience);
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
    if (r->offset == 0) return;
    char range[32];
    snprintf(range, sizeof range, "%llu-", (unsigned long long)r->offset);
    curl_easy_setopt(curl, CURLOPT_RANGE, range);
}

/* What became of it. */
static void judge(transfer *t, CURLcode code)
{
    artel__curl_answer *answer = t->answer;
    read_head(t);
    if (code == CURLE_OK && !t->begun && (answer->status == 200 || answer->status == 206)) begin(t); /* and no body */
    answer->transferred = code == CURLE_OK && !t->refused;
    answer->may_heal =
        (!t->refused && may_heal(code)) || answer->status == 408 || answer->status == 429 || answer->status >= 500;
    if (code != CURLE_OK && answer->status < 300)
        snprintf(answer->text, sizeof answer->text, "%s", curl_easy_strerror(code));
    else if (answer->status >= 300)
        snprintf(answer->text, sizeof answer->text, "the server answers %ld%s%s", answer->status,
                 code != CURLE_OK ? "; " : "", code != CURLE_OK ? curl_easy_strerror(code) : "");
}

static void get(const artel__curl_request *request, artel__curl_answer *answer)
{
    struct curl_slist *headers = NULL;
    transfer t = {.curl = curl_easy_init(), .request = request, .answer = answer};
    memset(answer, 0, sizeof *answer);
    answer->length = answer->first = answer->last = answer->total = -1;
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
    judge(&t, curl_easy_perform(t.curl));
    curl_easy_cleanup(t.curl);
    curl_slist_free_all(headers);
}

const artel__curl_part *artel_part_curl(void)
{
    static const artel__curl_part part = {ARTEL__CURL_PART_VERSION, get};
    return &part;
}
