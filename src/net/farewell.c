/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to each, all at a time, until each has answered or the time is over. */
#include "net/farewell.h"

#include <poll.h>

#include "base/clock.h"

#define AGAIN_NS INT64_C(20000000)

typedef struct call {
    artel__connection *connection; /* NULL: none */
    int64_t again_at;
    bool told;
} call;

static void begin(call *c, artel__site *site, const artel__net_address *to, const char *task, int64_t now)
{
    const artel__connection_request request = {.to = *to, .purpose = ARTEL__NET_CONTROL, .task = task};
    c->again_at = now + AGAIN_NS;
    if (artel__connection_open(site, &request, &c->connection) < 0) c->connection = NULL;
}

/* What the other side finds, or this side, is what there is to say; only who was not reached may be reached later. */
static void move(call *c)
{
    artel__connection_state state = artel__connection_progress(c->connection);
    artel__net_fault fault = artel__connection_fault(c->connection);
    if (state != ARTEL__CONNECTION_LOST && state != ARTEL__CONNECTION_OPEN) return;
    c->told = state == ARTEL__CONNECTION_OPEN || (fault != ARTEL__FAULT_UNREACHABLE && fault != ARTEL__FAULT_CROWDED);
    artel__connection_close(c->connection);
    c->connection = NULL;
}

void artel__farewell(artel__site *site, const artel__net_address *to, const char *const *task, int count,
                     int64_t limit_ns)
{
    void *block;
    int64_t now = artel__now_ns(), until = now + limit_ns;
    if (artel__calloc(site->ctx, (size_t)count, sizeof(call), "farewell", &block) < 0) return;
    call *c = block;
    for (int told = 0; told < count && now < until; now = artel__now_ns()) {
        told = 0;
        for (int i = 0; i < count; i++) {
            if (c[i].connection) move(&c[i]);
            if (!c[i].connection && !c[i].told && now >= c[i].again_at) begin(&c[i], site, &to[i], task[i], now);
            told += c[i].told;
        }
        if (told < count) poll(NULL, 0, 10);
    }
    for (int i = 0; i < count; i++) artel__connection_close(c[i].connection);
    artel__free(site->ctx, c);
}
