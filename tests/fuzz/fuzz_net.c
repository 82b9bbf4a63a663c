/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 600 */
/* libFuzzer: any bytes as what a peer sends. The first byte chooses how far the peer gets before it goes wrong: no
 * greeting, a right one and then control messages, or a right one and then frames; and whether the sums of its records
 * are made to fit, so that the fields behind them are reached.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/hash.h"
#include "net/tcp_impl.h"
#include "fuzz/help_fuzz.h"

typedef struct scene {
    artel__site site;
    artel__connection *connection;
    int peer; /* the fuzzer's end */
    const uint8_t *data;
    size_t size;
    bool sealed;
} scene;

static void quiet(void *user, const artel__net_incident *incident)
{
    (void)user;
    (void)incident;
}

static void put(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static void deliver(scene *s, const void *bytes, size_t count)
{
    ssize_t n = send(s->peer, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)n;
}

static void greet(scene *s, artel__net_purpose purpose)
{
    artel__hello hello = {.purpose = purpose, .job = 7, .task = "worker-1"};
    uint8_t bytes[ARTEL__HELLO_BYTES];
    artel__hello_encode(&hello, bytes);
    deliver(s, bytes, sizeof bytes);
    artel__connection_progress(s->connection);
}

static void hear_all(scene *s)
{
    const void *bytes;
    size_t count;
    artel__connection_progress(s->connection);
    while (artel__connection_hear(s->connection, &bytes, &count) == ARTEL_OK) {
    }
}

/* {u8 length, bytes} as control messages with right sums. */
static void sealed_controls(scene *s)
{
    uint32_t mask = artel__connection_mask(s->connection, false), number = 0;
    while (s->size > 1) {
        uint8_t bytes[8 + 256];
        size_t n = s->data[0] < s->size - 1 ? s->data[0] : s->size - 1;
        put(bytes, (uint32_t)n);
        memcpy(bytes + 8, s->data + 1, n);
        put(bytes + 4, artel__crc32c(artel__crc32c(mask, bytes, 4), bytes + 8, n) ^ (number++ * 0x9e3779b9u));
        deliver(s, bytes, 8 + n);
        hear_all(s);
        s->data += n + 1;
        s->size -= n + 1;
    }
}

/* Eight bytes make a header, and, when they say so, its chunk. */
static void sealed_frames(scene *s, artel__endpoint *endpoint)
{
    uint32_t mask = artel__connection_mask(s->connection, false), number = 0;
    for (; s->size >= 8; s->data += 8, s->size -= 8) {
        const uint8_t *d = s->data;
        uint8_t bytes[ARTEL__FRAME_BYTES + 8 + 2048] = {0}, *after = bytes + ARTEL__FRAME_BYTES;
        artel__frame frame = {
            .kind = d[0] % 8, .generation = d[1] & 3, .slice = d[2] & 3, .step = d[3] & 1, .node = d[4] & 1};
        frame.length = d[5] * 8u + (d[6] & 1) * 0x7fff0001u + ((uint64_t)(d[6] >> 4) << (d[7] & 63));
        artel__frame_encode(&frame, bytes);
        put(after - 4, artel__tcp_seal(artel__crc32c(0, bytes, ARTEL__FRAME_BYTES - 4), mask, number++));
        size_t payload = d[5] * 8u;
        put(after + 4, d[6] >> 1 & 1);
        memset(after + 8, d[7], payload);
        put(after, artel__tcp_seal(artel__crc32c(0, after + 4, (d[6] >> 1 & 1) ? 4 : 4 + payload), mask, number));
        bool chunk = frame.length > 0 && !(d[6] & 4);
        number += chunk;
        deliver(s, bytes, ARTEL__FRAME_BYTES + (chunk ? 8 + ((d[6] & 2) ? 0 : payload) : 0));
        artel__net_progress(endpoint);
    }
}

static void frames(scene *s)
{
    artel__endpoint *endpoint;
    artel__far_options options = {.rank = 0, .ranks = 2, .window = 8192};
    artel__connection *connection = s->connection;
    artel__net_request receive[4];
    s->connection = NULL;
    if (artel__tcp_create(s->site.ctx, &options, &endpoint) < 0) {
        artel__connection_close(connection);
        return;
    }
    if (artel__tcp_attach(endpoint, 1, connection) == ARTEL_OK) {
        s->connection = connection;
        for (uint32_t i = 0; i < 4; i++) {
            receive[i] = (artel__net_request){
                .peer = 1, .frame = {.kind = ARTEL__FRAME_NODES, .generation = 1, .slice = i}, .most = 600};
            artel__net_receive(endpoint, &receive[i]);
        }
        if (s->sealed)
            sealed_frames(s, endpoint);
        else
            deliver(s, s->data, s->size);
        for (int i = 0; i < 4; i++) artel__net_progress(endpoint);
        shutdown(s->peer, SHUT_WR);
        artel__net_progress(endpoint);
        if (artel__tcp_held_bytes(endpoint) > 8192 + 4096) abort();
        for (int i = 0; i < 4; i++) artel__net_withdraw(endpoint, &receive[i]);
        s->connection = NULL;
    }
    artel__net_close(endpoint);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    artel_context *ctx;
    artel__net_address from;
    int ends[2];
    if (size < 1 || artel_context_create(NULL, &ctx) < 0) return 0;
    scene s = {.data = data + 1, .size = size - 1, .sealed = data[0] & 4};
    s.site =
        (artel__site){.ctx = ctx, .self = {.job = 7, .task = "worker-0"}, .insecure_network = true, .incident = quiet};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) < 0 || !artel__net_address_parse("10.0.0.1:9", &from))
        abort();
    s.peer = ends[1];
    int mode = data[0] & 3;
    if (artel__connection_accept(&s.site, ends[0], &from, &s.connection) == ARTEL_OK) {
        if (mode) greet(&s, mode == 1 ? ARTEL__NET_CONTROL : ARTEL__NET_DATA);
        if (mode && artel__connection_get_state(s.connection) != ARTEL__CONNECTION_OPEN) abort();
        if (mode >= 2) {
            frames(&s);
        } else if (mode == 1 && s.sealed) {
            sealed_controls(&s);
        } else {
            deliver(&s, s.data, s.size);
            for (int i = 0; i < 3; i++) hear_all(&s);
        }
    }
    artel__connection_close(s.connection);
    close(s.peer);
    artel_context_destroy(ctx);
    return 0;
}

/* For each way of going wrong (the first byte) a few bytes that get far. */
size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room)
{
    if (number > 7 || room < 512) return 0;
    const artel__hello hello = {.purpose = ARTEL__NET_CONTROL, .job = 7, .task = "worker-1"};
    const artel__frame frame = {.kind = ARTEL__FRAME_NODES, .generation = 1, .length = 64};
    memset(out, 0, 512);
    out[0] = (uint8_t)number;
    if ((number & 3) == 0) artel__hello_encode(&hello, out + 1);
    if ((number & 3) >= 2 && number < 4) artel__frame_encode(&frame, out + 1);
    for (size_t i = 1; number >= 4 && i + 8 <= 200; i += 8)
        memcpy(out + i, (uint8_t[]){1, 1, (uint8_t)(i / 8 % 4), 0, 0, 8, 0, 5}, 8);
    return (number & 3) == 0 ? 1 + ARTEL__HELLO_BYTES : 200;
}
