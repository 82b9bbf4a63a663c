/* SPDX-License-Identifier: Apache-2.0 */
/* Two tasks over one stream. The leader decides how long things take, by the first byte of what it sends: 1, more will
 * come; 0, the last. The sender of bulk counts time until the receiver has said that it has all. Who waits for shared
 * memory looks, and sleeps for a moment between only when nothing has come for a while. */
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/measure.h"

enum {
    PING = 8,
    PINGS = 200,
    WARM = 20,
    CHUNK = 256 << 10,
    CHUNKS = 256, /* 64 MB */
    LOOKS = 20000 /* at shared memory */
};

#define PATIENCE_NS INT64_C(30000000000)
#define PING_NS INT64_C(1000000000)
#define BULK_NS INT64_C(500000000)

typedef struct talk {
    artel__connection *connection;
    int64_t until;
    int looks;
    bool ended; /* the peer has; what it wrote into shared memory before may still be there */
    uint8_t *chunk;
    char *why;
} talk;

static bool fail(talk *t, const char *reason)
{
    snprintf(t->why, 256, "%.250s", reason);
    return false;
}

static bool wait_for(talk *t, short events)
{
    struct pollfd ready = {.fd = artel__connection_fd(t->connection), .events = events};
    bool shared = artel__connection_carrier(t->connection)->shared;
    if (t->ended) return fail(t, "it ended the connection");
    if (artel__now_ns() >= t->until) return fail(t, "it does not answer in time");
    if (shared && t->looks++ < LOOKS) {
        sched_yield();
        return true;
    }
    if (shared) ready.events = POLLRDHUP;
    t->ended = poll(&ready, 1, shared ? 1 : 100) > 0 && shared;
    return true;
}

static bool send_all(talk *t, const void *bytes, size_t count)
{
    artel__net_stream *stream = artel__connection_carrier(t->connection);
    artel__net_why why = {""};
    for (size_t done = 0; done < count;) {
        struct iovec piece = {(uint8_t *)(uintptr_t)bytes + done, count - done};
        int64_t n = artel__net_stream_write(stream, &piece, 1, &why);
        if (n >= 0) {
            done += (size_t)n;
            t->looks = 0;
        } else if (n != ARTEL__NET_STREAM_AGAIN)
            return fail(t, n == ARTEL__NET_STREAM_END ? "it ended the connection" : why.text);
        else if (!wait_for(t, POLLOUT))
            return false;
    }
    for (;;) {
        int n = artel__net_stream_flush(stream, &why);
        if (n == 0) return true;
        if (n != ARTEL__NET_STREAM_AGAIN)
            return fail(t, n == ARTEL__NET_STREAM_END ? "it ended the connection" : why.text);
        if (!wait_for(t, POLLOUT)) return false;
    }
}

static bool receive_all(talk *t, void *bytes, size_t count)
{
    artel__net_stream *stream = artel__connection_carrier(t->connection);
    artel__net_why why = {""};
    for (size_t done = 0; done < count;) {
        struct iovec piece = {(uint8_t *)bytes + done, count - done};
        int64_t n = artel__net_stream_read(stream, &piece, 1, &why);
        if (n >= 0) {
            done += (size_t)n;
            t->looks = 0;
        } else if (n != ARTEL__NET_STREAM_AGAIN)
            return fail(t, n == ARTEL__NET_STREAM_END ? "it ended the connection" : why.text);
        else if (!wait_for(t, POLLIN))
            return false;
    }
    return true;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Half of the median round trip. */
static bool ping(talk *t, double *out)
{
    uint8_t bytes[PING] = {1};
    int64_t took[PINGS], begin = artel__now_ns();
    int count = 0;
    for (int i = 0; bytes[0]; i++) {
        int64_t sent = artel__now_ns();
        bytes[0] = count + 1 < PINGS && (count == 0 || sent < begin + PING_NS);
        if (!send_all(t, bytes, sizeof bytes) || !receive_all(t, bytes, sizeof bytes)) return false;
        bool warm = i < WARM && sent < begin + PING_NS / 2;
        if (!warm || !bytes[0]) took[count++] = artel__now_ns() - sent;
    }
    qsort(took, (size_t)count, sizeof took[0], compare);
    *out = (double)took[count / 2] * 0.5e-9;
    return true;
}

static bool echo(talk *t)
{
    uint8_t bytes[PING] = {1};
    while (bytes[0]) {
        if (!receive_all(t, bytes, sizeof bytes) || !send_all(t, bytes, sizeof bytes)) return false;
    }
    return true;
}

static bool pour(talk *t, double *out)
{
    int64_t begin = artel__now_ns();
    uint8_t done;
    size_t sent = 0;
    memset(t->chunk, 1, CHUNK);
    while (t->chunk[0]) {
        t->chunk[0] = sent < (size_t)(CHUNKS - 1) * CHUNK && artel__now_ns() < begin + BULK_NS;
        if (!send_all(t, t->chunk, CHUNK)) return false;
        sent += CHUNK;
    }
    if (!receive_all(t, &done, 1)) return false;
    *out = (double)sent / ((double)(artel__now_ns() - begin + 1) * 1e-9);
    return true;
}

static bool drink(talk *t)
{
    do {
        if (!receive_all(t, t->chunk, CHUNK)) return false;
    } while (t->chunk[0]);
    return send_all(t, &(uint8_t){1}, 1);
}

/* Both ends tell what they have measured. Nobody's numbers are believed to be numbers: negative and absurd ones count
 * as 0. */
static bool exchange(talk *t, double *latency, double *in, const artel__measured *own)
{
    const double mine[2] = {own->latency, own->out};
    uint64_t bits[2];
    double theirs[2];
    memcpy(bits, mine, sizeof bits);
    uint8_t bytes[16];
    for (int i = 0; i < 16; i++) bytes[i] = (uint8_t)(bits[i / 8] >> (8 * (i % 8)));
    if (!send_all(t, bytes, sizeof bytes) || !receive_all(t, bytes, sizeof bytes)) return false;
    memset(bits, 0, sizeof bits);
    for (int i = 0; i < 16; i++) bits[i / 8] |= (uint64_t)bytes[i] << (8 * (i % 8));
    memcpy(theirs, bits, sizeof theirs);
    for (int i = 0; i < 2; i++) {
        if (!(theirs[i] >= 0 && theirs[i] < 1e15)) theirs[i] = 0;
    }
    if (latency) *latency = theirs[0];
    *in = theirs[1];
    return true;
}

bool artel__measure_pair(artel__connection *connection, bool leads, int64_t until, artel__measured *out)
{
    talk t = {.connection = connection, .until = until, .why = out->why};
    void *block;
    uint8_t ready = 1;
    out->reached = false;
    out->secure = artel__connection_is_secure(connection);
    out->shared = artel__connection_carrier(connection)->shared != NULL;
    artel_context *ctx = artel__connection_site(connection)->ctx;
    if (artel__alloc(ctx, CHUNK, "measurement", &block) < 0) return fail(&t, "no memory");
    t.chunk = block;
    bool good = send_all(&t, &ready, 1) && receive_all(&t, &ready, 1);
    t.until = artel__now_ns() + PATIENCE_NS;
    if (leads)
        good = good && ping(&t, &out->latency) && pour(&t, &out->out) && drink(&t) && exchange(&t, NULL, &out->in, out);
    else
        good = good && echo(&t) && drink(&t) && pour(&t, &out->out) && exchange(&t, &out->latency, &out->in, out);
    artel__free(ctx, block);
    out->reached = good;
    return good;
}
