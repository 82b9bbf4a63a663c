/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: a membership machine among peers that may say anything, in any order, beside any answers of its own training. The
 * peers have said HELLO, so that what follows is read. It must stay within its memory, send only on open links and end once. */
#include <stdlib.h>
#include <string.h>

#include "cluster/membership.h"

enum {
    TASKS = 5,
    LINKS = 32
};

typedef struct world {
    bool open[LINKS], ended, going, stopping;
    uint64_t step;
} world;

typedef struct input {
    const uint8_t *data;
    size_t left;
} input;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t take(input *in, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes && in->left; i++, in->left--) value = value << 8 | *in->data++;
    return value;
}

static void act(void *user, const artel__action *a)
{
    world *w = user;
    if (w->ended) abort();
    if ((a->kind == ARTEL__ACTION_SEND || a->kind == ARTEL__ACTION_CLOSE) && !w->open[a->link]) abort();
    if (a->kind == ARTEL__ACTION_SEND && (!a->count || a->count > 65536)) abort();
    if (a->kind == ARTEL__ACTION_CLOSE) w->open[a->link] = false;
    if (a->kind == ARTEL__ACTION_START && (w->going || w->stopping || a->generation->step != w->step)) abort();
    if (a->kind == ARTEL__ACTION_STOP) w->stopping = true;
    if (a->kind == ARTEL__ACTION_START || a->kind == ARTEL__ACTION_COPY) w->going = true;
    if (a->kind == ARTEL__ACTION_COPY) w->step = a->step;
    w->ended = a->kind == ARTEL__ACTION_END;
}

/* A message of few bytes: small numbers, so that they meet tasks, counters and steps that exist. */
static void say(artel__membership *m, world *w, int64_t now, input *in)
{
    artel__member member[TASKS];
    uint8_t bytes[8192], set = (uint8_t)take(in, 1);
    uint32_t task = 1 + (uint32_t)take(in, 1) % (TASKS - 1);
    artel__message s = {
        .kind = 1 + (uint32_t)take(in, 1) % (ARTEL__MESSAGE_KINDS - 1), .task = task, .incarnation = task + take(in, 1) / 250};
    s.flags = (uint32_t)take(in, 1);
    s.generation = (artel__generation_id){(uint32_t)take(in, 1) % 8, 1 + take(in, 1) % TASKS};
    s.about = (artel__generation_id){(uint32_t)take(in, 1) % 8, 1 + take(in, 1) % TASKS};
    s.size = (uint32_t)take(in, 1) % 8;
    s.lowest = (uint32_t)take(in, 1) % 8;
    s.reason = (uint32_t)take(in, 1) % (ARTEL__REASONS + 2);
    s.subject = (uint32_t)take(in, 1) % (TASKS + 2);
    s.step = take(in, 1) % 4;
    s.target = take(in, 1) % 4;
    s.ping = take(in, 1);
    s.pong = take(in, 1);
    s.replicas = (uint32_t)take(in, 1);
    s.status = (int32_t)(take(in, 1) % 12) - 10;
    s.sequence = (uint32_t)take(in, 1) % 4;
    s.life = task;
    s.protocol = ARTEL__PROTOCOL_VERSION;
    s.facts = (artel__message_bytes){(const uint8_t *)"v=1", 3};
    s.bits = (artel__message_bytes){&set, 1};
    s.name = (artel__message_bytes){(const uint8_t *)"name", (uint32_t)take(in, 1) % 5};
    s.value = s.name;
    s.member = member;
    s.members = (uint32_t)take(in, 1) % (TASKS + 1);
    for (uint32_t i = 0; i < s.members; i++) {
        uint8_t b = (uint8_t)take(in, 1);
        member[i] = (artel__member){b % 8, 1 + b % 8, 1, i * 8 / s.members, (i + 1) * 8 / s.members - i * 8 / s.members, b / 32 % 7};
    }
    size_t count = artel__message_encode(&s, bytes, sizeof bytes);
    if (w->open[task]) artel__membership_receive(m, now, (int)task, bytes, count);
}

static void training(artel__membership *m, world *w, int64_t now, input *in)
{
    uint8_t kind = (uint8_t)take(in, 1) % 8, value = (uint8_t)take(in, 1) % 4;
    switch (kind) {
    case 0:
        if (w->going && !w->stopping) w->step += value == 1;
        artel__membership_progressed(m, now, &(artel__membership_progress){w->step, 0, (artel__phase)(value + 1), value});
        break;
    case 1:
        w->going = w->stopping = false;
        artel__membership_stopped(m, now, w->step, 7);
        break;
    case 2:
        if (w->stopping) break;
        w->going = false;
        artel__membership_copied(m, now, 7);
        break;
    case 3: artel__membership_finished(m, now, w->step, 7); break;
    case 4: artel__membership_saved(m, now, value); break;
    case 5: artel__membership_lost(m, now, value); break;
    case 6: artel__membership_enter(m, now, "name"); break;
    default: artel__membership_put(m, now, &(artel__membership_entry){"name", "val", value, value & 1}); break;
    }
}

static void link(artel__membership *m, world *w, int64_t now, input *in)
{
    uint32_t task = 1 + (uint32_t)take(in, 1) % (TASKS - 1);
    uint8_t bytes[512];
    if (w->open[task]) {
        w->open[task] = false;
        artel__membership_link_down(m, now, (int)task);
        return;
    }
    artel__message hello = {
        .kind = ARTEL__MESSAGE_HELLO, .task = task, .incarnation = task, .life = task, .protocol = ARTEL__PROTOCOL_VERSION};
    hello.facts = (artel__message_bytes){(const uint8_t *)"v=1", 3};
    size_t count = artel__message_encode(&hello, bytes, sizeof bytes);
    w->open[task] = true;
    artel__membership_link_up(m, now, (int)task, -1);
    if (count && w->open[task]) artel__membership_receive(m, now, (int)task, bytes, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const name[] = {"w0", "w1", "w2", "w3", "w4"};
    artel_context *ctx;
    artel__membership *m;
    world w = {0};
    input in = {data, size};
    artel__membership_config c = ARTEL__MEMBERSHIP_CONFIG_INIT;
    c.tasks = TASKS;
    c.name = name;
    c.incarnation = 99;
    c.facts = "v=1";
    c.links = LINKS;
    c.shards = 8;
    c.hash = 7;
    c.act = act;
    c.user = &w;
    if (artel_context_create(NULL, &ctx) < 0) return 0;
    if (artel__membership_create(ctx, &c, &m) < 0) abort();
    int64_t now = 1000000000;
    while (in.left && !w.ended) {
        uint8_t op = (uint8_t)take(&in, 1);
        now += (int64_t)(op & 7) * ARTEL__MEMBERSHIP_TICK_NS * (op & 8 ? 4 : 1);
        switch (op >> 4 & 3) {
        case 0: artel__membership_tick(m, now); break;
        case 1: say(m, &w, now, &in); break;
        case 2: training(m, &w, now, &in); break;
        default: link(m, &w, now, &in); break;
        }
    }
    artel__membership_destroy(m);
    artel_context_destroy(ctx);
    return 0;
}
