/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 600 */
/* libFuzzer: a membership machine among peers that may say anything, in any order, beside any answers of its own
 * training. The peers have said HELLO, so that what follows is read. It must stay within its memory, send only on open
 * links and end once. Where the input wants it, peers and training answer as they should, so that generations form, run
 * and end. The first byte says which task it is: the lowest one coordinates, others follow. The incarnation of task t
 * is t + 1.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/membership.h"
#include "fuzz/help_fuzz.h"

enum {
    TASKS = 5,
    LINKS = 32,
    ANSWERS = 64
};

typedef struct world {
    uint32_t self;
    bool open[LINKS], ended, going, stopping;
    uint64_t step;
    artel__generation_id generation; /* the last that was started */
    artel__message answer[ANSWERS];  /* without bytes and members */
    unsigned owed;
    bool copying, saving;
} world;

typedef struct input {
    const uint8_t *data;
    size_t left;
} input;

static uint64_t take(input *in, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes && in->left; i++, in->left--) value = value << 8 | *in->data++;
    return value;
}

/* What an honest peer answers. */
static void owe(world *w, const artel__action *a)
{
    static const uint8_t answer[ARTEL__MESSAGE_KINDS] = {
        [ARTEL__MESSAGE_PROPOSE] = ARTEL__MESSAGE_REPORT,  [ARTEL__MESSAGE_REPORT] = ARTEL__MESSAGE_RECORD,
        [ARTEL__MESSAGE_RECORD] = ARTEL__MESSAGE_READY,    [ARTEL__MESSAGE_READY] = ARTEL__MESSAGE_START,
        [ARTEL__MESSAGE_FINISHED] = ARTEL__MESSAGE_SAVE,   [ARTEL__MESSAGE_SAVE] = ARTEL__MESSAGE_SAVED,
        [ARTEL__MESSAGE_SUSPECT] = ARTEL__MESSAGE_PROPOSE, [ARTEL__MESSAGE_STATUS] = ARTEL__MESSAGE_STATUS};
    artel__member member[TASKS];
    artel__message said = {.member = member, .member_capacity = TASKS};
    if (artel__message_decode(a->bytes, a->count, &said)) abort();
    if (!answer[said.kind] || (said.kind == ARTEL__MESSAGE_STATUS && !said.ping) || w->owed == ANSWERS) return;
    artel__message *m = &w->answer[w->owed++];
    *m = (artel__message){.kind = answer[said.kind], .task = (uint32_t)a->link, .about = said.about, .pong = said.ping};
    m->counter = said.counter;
    m->target = said.kind == ARTEL__MESSAGE_REPORT ? said.step : 0;
    m->step = said.step;
    if (m->kind == ARTEL__MESSAGE_PROPOSE) m->about = (artel__generation_id){said.counter + 1, 1 + m->task};
}

static void act(void *user, const artel__action *a)
{
    world *w = user;
    if (w->ended) abort();
    if ((a->kind == ARTEL__ACTION_SEND || a->kind == ARTEL__ACTION_CLOSE) && !w->open[a->link]) abort();
    if (a->kind == ARTEL__ACTION_SEND && (!a->count || a->count > 65536)) abort();
    if (a->kind == ARTEL__ACTION_SEND) owe(w, a);
    if (a->kind == ARTEL__ACTION_CLOSE) w->open[a->link] = false;
    if (a->kind == ARTEL__ACTION_START && (w->going || w->stopping || a->generation->step != w->step)) abort();
    if (a->kind == ARTEL__ACTION_START) w->generation = a->generation->id;
    if (a->kind == ARTEL__ACTION_STOP) w->stopping = true;
    if (a->kind == ARTEL__ACTION_COPY || a->kind == ARTEL__ACTION_START) w->copying = a->kind == ARTEL__ACTION_COPY;
    w->saving = a->kind == ARTEL__ACTION_SAVE || (w->saving && a->kind != ARTEL__ACTION_STOP);
    if (a->kind == ARTEL__ACTION_START || a->kind == ARTEL__ACTION_COPY) w->going = true;
    if (a->kind == ARTEL__ACTION_COPY) w->step = a->step;
    w->ended = a->kind == ARTEL__ACTION_END;
}

/* Another task than this one; its link has the same number. */
static uint32_t peer_of(const world *w, input *in)
{
    return (w->self + 1 + (uint32_t)take(in, 1) % (TASKS - 1)) % TASKS;
}

/* Bytes as they come, or those of a message with some of them changed. */
static void babble(artel__membership *m, const world *w, int64_t now, input *in, uint8_t *bytes, size_t count)
{
    uint32_t task = peer_of(w, in);
    for (uint64_t n = take(in, 1) % 8; n > 0 && count; n--) {
        size_t at = take(in, 1) % count;
        bytes[at] = (uint8_t)take(in, 1);
    }
    if (count && take(in, 1) % 4 == 0) count = take(in, 1) % count;
    if (w->open[task]) artel__membership_receive(m, now, (int)task, bytes, count);
}

/* A message of few bytes: small numbers, so that they meet tasks, counters and steps that exist. */
static void say(artel__membership *m, world *w, int64_t now, input *in)
{
    artel__member member[TASKS];
    uint8_t bytes[8192], set = (uint8_t)take(in, 1);
    uint32_t task = peer_of(w, in), kind = (uint32_t)take(in, 1);
    artel__message s = {
        .kind = 1 + kind % (ARTEL__MESSAGE_KINDS - 1), .task = task, .incarnation = 1 + task + take(in, 1) / 250};
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
    s.life = 1 + task;
    s.protocol = ARTEL__PROTOCOL_VERSION;
    s.facts = (artel__message_bytes){(const uint8_t *)"v=1", 3};
    s.bits = (artel__message_bytes){&set, 1};
    s.name = (artel__message_bytes){(const uint8_t *)"name", (uint32_t)take(in, 1) % 5};
    s.value = s.name;
    s.member = member;
    s.members = (uint32_t)take(in, 1) % (TASKS + 1);
    for (uint32_t i = 0; i < s.members; i++) {
        uint8_t b = (uint8_t)take(in, 1);
        member[i] = (artel__member){
            b % 8, 1 + b % 8, 1, i * 8 / s.members, (i + 1) * 8 / s.members - i * 8 / s.members, b / 32 % 7};
    }
    size_t count = artel__message_encode(&s, bytes, sizeof bytes);
    if (kind > 240)
        babble(m, w, now, in, bytes, count);
    else if (w->open[task])
        artel__membership_receive(m, now, (int)task, bytes, count);
}

static void training(artel__membership *m, world *w, int64_t now, input *in)
{
    uint8_t kind = (uint8_t)take(in, 1) % 8, value = (uint8_t)take(in, 1) % 4;
    switch (kind) {
    case 0:
        if (w->going && !w->stopping) w->step += value == 1;
        artel__membership_progressed(
            m, now, &(artel__membership_progress){w->step, 0, (artel__member_phase)(value + 1), value, value});
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

static void answer_one(artel__membership *m, world *w, int64_t now)
{
    static const uint8_t all = (1 << TASKS) - 1;
    artel__message s = w->answer[--w->owed];
    uint8_t bytes[8192];
    uint32_t low = s.task < w->self ? s.task : w->self, high = s.task < w->self ? w->self : s.task;
    artel__member member[2] = {{low, 1 + low, 1, 0, 4, 0}, {high, 1 + high, 1, 4, 4, 0}};
    s.incarnation = 1 + s.task;
    s.hash = 7;
    s.hash_step = s.step;
    s.replicas = 1;
    s.bits = (artel__message_bytes){&all, 1};
    s.member = member;
    s.members = s.kind == ARTEL__MESSAGE_RECORD ? 2 : 0;
    s.generation = w->generation;
    s.lowest = s.generation.incarnation ? (uint32_t)s.generation.incarnation - 1 : 0;
    s.size = w->generation.counter ? 2 : 0;
    s.flags =
        w->going && !w->copying ? ARTEL__FLAG_RUNNING | ARTEL__FLAG_HAS_RUN | ARTEL__FLAG_YOURS : ARTEL__FLAG_FORMING;
    size_t count = artel__message_encode(&s, bytes, sizeof bytes);
    if (w->open[s.task]) artel__membership_receive(m, now, (int)s.task, bytes, count);
}

/* What the peers and the training owe; the last first, so that a probe is answered before the proposal that it came
 * with. */
static void answer(artel__membership *m, world *w, int64_t now)
{
    for (unsigned n = w->owed; n > 0 && w->owed && !w->ended; n--) answer_one(m, w, now);
    if (w->stopping && !w->ended) {
        w->going = w->stopping = w->copying = false;
        artel__membership_stopped(m, now, w->step, 7);
    } else if (w->copying && !w->ended) {
        w->going = w->copying = false;
        artel__membership_copied(m, now, 7);
    } else if (w->saving && !w->ended) {
        w->saving = false;
        artel__membership_saved(m, now, 5);
    }
}

static void link(artel__membership *m, world *w, int64_t now, input *in)
{
    uint32_t task = peer_of(w, in);
    uint8_t bytes[8192];
    if (w->open[task]) {
        w->open[task] = false;
        artel__membership_link_down(m, now, (int)task);
        return;
    }
    artel__message hello = {.kind = ARTEL__MESSAGE_HELLO,
                            .task = task,
                            .incarnation = 1 + task,
                            .life = 1 + task,
                            .protocol = ARTEL__PROTOCOL_VERSION};
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
    w.self = c.self = (uint32_t)take(&in, 1) % TASKS;
    c.incarnation = 1 + c.self;
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
        if (op & 64) answer(m, &w, now);
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

/* Links to all; time, with honest answers, in which a generation forms; then messages, time and training in turn. */
size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room)
{
    if (number > 19 || room < 512) return 0;
    out[0] = (uint8_t)number;
    for (size_t i = 1; i < 512; i++) {
        if (i < 9)
            out[i] = (uint8_t)(i % 2 ? 0x30 : i / 2 - 1);
        else
            out[i] = i < 9 + 20 * (size_t)number ? 0x41 : (uint8_t)((i * (2 * number + 3)) >> (number & 3));
    }
    return 512;
}
