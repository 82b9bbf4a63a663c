/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 600 */
/* libFuzzer: a view machine among peers that may say anything, in any order, beside any answers of its driver. It must
 * stay within its memory, send only on links, accept sound views only, and serve only what it has accepted, level, and
 * while it is not fenced.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/holding_impl.h"
#include "fuzz/help_fuzz.h"

enum {
    TASKS = 4,
    PARTS = 3,
    MOST = 4096
};

typedef struct world {
    bool linked[TASKS], fenced;
    artel__generation_id accepted;
    uint64_t life;
} world;

typedef struct input {
    const uint8_t *data;
    size_t left;
} input;

static uint64_t take(input *in)
{
    if (!in->left) return 0;
    in->left--;
    return *in->data++;
}

static void check_view(const artel__view *v)
{
    if (!v->ballot.counter || v->coordinator >= TASKS || v->epoch != artel__ballot_epoch(v->ballot)) abort();
    for (uint32_t p = 0; p < PARTS; p++) {
        const artel__chain *c = &v->chain[p];
        if (!c->holders || c->holders > ARTEL__HOLDING_COPIES) abort();
        for (int i = 0; i < c->holders; i++)
            if (c->task[i] >= TASKS || !v->member[c->task[i]]) abort();
    }
}

static void act(void *user, const artel__holding_action *a)
{
    world *w = user;
    switch (a->kind) {
    case ARTEL__HOLDING_SEND:
        if (a->task >= TASKS || !w->linked[a->task] || !a->count || a->count > artel__holding_bound(TASKS, PARTS))
            abort();
        break;
    case ARTEL__HOLDING_FENCE:
        if (w->fenced) abort();
        w->fenced = true;
        break;
    case ARTEL__HOLDING_ACCEPT:
        check_view(a->view);
        w->accepted = a->view->ballot;
        break;
    case ARTEL__HOLDING_SERVE:
        check_view(a->view);
        w->fenced = false;
        break;
    case ARTEL__HOLDING_COPY_FROM:
        if (a->part >= PARTS || a->task >= TASKS) abort();
        break;
    case ARTEL__HOLDING_LEARN: check_view(a->view); break;
    default:
        if (a->part >= PARTS) abort();
    }
}

/* A message of small numbers, so that they meet tasks, lives and ballots that exist. */
static size_t say(const world *w, input *in, uint32_t task, uint8_t *out)
{
    uint64_t member[TASKS];
    artel__chain chain[PARTS];
    uint8_t state[PARTS];
    artel__view v = {.member = member, .chain = chain, .origin = take(in)};
    artel__holding_message m = {
        .kind = (uint8_t)(1 + take(in) % (ARTEL__HOLDING_KINDS - 1)), .task = (uint16_t)task, .from = 10 + task};
    m.flags = (uint8_t)take(in);
    m.to = w->life;
    m.about = (artel__generation_id){(uint32_t)take(in) % 6, 10 + take(in) % TASKS};
    m.known = (artel__generation_id){(uint32_t)take(in) % 6, 10 + take(in) % TASKS};
    m.subject = (uint32_t)take(in) % (TASKS + 1);
    v.ballot = m.about;
    v.start = (artel__generation_id){1 + (uint32_t)take(in) % 3, 10};
    v.coordinator = (uint32_t)take(in) % TASKS;
    for (uint32_t t = 0; t < TASKS; t++) member[t] = take(in) % 8 ? 10 + t : take(in);
    for (uint32_t p = 0; p < PARTS; p++) {
        uint8_t b = (uint8_t)take(in);
        chain[p] = (artel__chain){{b % TASKS, b / 4 % TASKS, b / 16 % TASKS}, 1 + b / 64 % 3};
        state[p] = (uint8_t)(take(in) % 3);
    }
    bool view = m.kind == ARTEL__HOLDING_VIEW || m.kind == ARTEL__HOLDING_TELL ||
                (m.kind == ARTEL__HOLDING_PROMISE && m.flags & 2);
    m.view = view ? &v : NULL;
    m.state = m.kind == ARTEL__HOLDING_PROMISE ? state : NULL;
    size_t count = artel__holding_encode(&m, TASKS, PARTS, out);
    for (uint64_t n = take(in) % 16; n > 13 && count; n--) out[take(in) % count] = (uint8_t)take(in);
    return count;
}

static void raw(const input *in)
{
    uint64_t member[TASKS];
    artel__chain chain[PARTS];
    uint8_t state[PARTS], out[MOST];
    artel__view v = {.member = member, .chain = chain};
    artel__holding_message m = {.view = &v, .state = state};
    if (artel__holding_decode(in->data, in->left, TASKS, PARTS, &m)) return;
    if (!(m.flags & ARTEL__HOLDING_HAS_VIEW)) m.view = NULL;
    if (!(m.flags & ARTEL__HOLDING_HAS_STATE)) m.state = NULL;
    if (m.view) check_view(&v);
    if (artel__holding_encode(&m, TASKS, PARTS, out) != in->left) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t votes[TASKS] = {1, 1, 1, 0}, server[TASKS] = {0, 1, 1, 0};
    static const uint16_t first[PARTS] = {1, 2, 1};
    artel_context *ctx;
    artel__holding *h;
    input in = {data, size};
    uint8_t bytes[MOST];
    raw(&in);
    world w = {.fenced = true};
    uint32_t self = (uint32_t)take(&in) % TASKS;
    w.life = 10 + self;
    artel__holding_config c = {.tasks = TASKS,
                               .self = self,
                               .parts = PARTS,
                               .incarnation = w.life,
                               .votes = votes,
                               .server = server,
                               .first = first,
                               .copies = 2,
                               .suspect_after_ns = 100000000,
                               .lost_after_ns = 500000000,
                               .act = act,
                               .user = &w};
    if (artel_context_create(NULL, &ctx) < 0) return 0;
    if (artel__holding_create(ctx, &c, &h) < 0) abort();
    int64_t now = 1000000000;
    while (in.left) {
        uint8_t op = (uint8_t)take(&in);
        uint32_t task = (self + 1 + op / 16 % (TASKS - 1)) % TASKS, part = op / 64 % PARTS;
        now += op & 8 ? 60000000 : 1000000;
        switch (op & 7) {
        case 0: artel__holding_tick(h, now); break;
        case 1:
            w.linked[task] = true;
            artel__holding_link_up(h, now, task, 10 + task + (op > 240 ? 100 : 0));
            break;
        case 2:
            if (op < 200) break; /* rarely */
            w.linked[task] = false;
            artel__holding_link_down(h, now, task);
            break;
        case 3: artel__holding_level(h, now, w.accepted, part); break;
        case 4:
            artel__holding_copied(h, now, w.accepted, part);
            if (op > 200) artel__holding_complain(h, now, task);
            break;
        default: {
            size_t count = say(&w, &in, task, bytes);
            artel__holding_receive(h, now, task, bytes, count);
        }
        }
        if (artel__holding_serving(h) && w.fenced) abort();
    }
    artel__holding_destroy(h);
    artel_context_destroy(ctx);
    return 0;
}

/* Links to all and time, so that a ballot is under way; then messages and time in turn. */
size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room)
{
    if (number > 23 || room < 600) return 0;
    out[0] = (uint8_t)number;
    static const uint8_t begin[] = {0x01, 0x11, 0x21, 0x00, 0x08};
    memcpy(out + 1, begin, sizeof begin);
    for (size_t i = 1 + sizeof begin; i < 600; i++) out[i] = (uint8_t)((i * (2 * number + 3)) >> (number & 3));
    return 600;
}
