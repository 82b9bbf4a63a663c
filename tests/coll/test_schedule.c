/* SPDX-License-Identifier: Apache-2.0 */
/* one thread */
/* The schedules of all collectives at up to 512 simulated ranks: carried out in one thread with real values, nobody
 * waits for ever, everyone ends with what the definition says, and messages, bytes and connections are as the closed
 * form says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "coll/pattern/schedule.h"

typedef struct member {
    artel__coll_shape shape;
    artel__coll_schedule schedule;
    int64_t *start, *receive;
    int32_t *in, *out, *room, **held; /* held: by receive, what has arrived */
    int32_t received, combined, sent;
    int32_t hint; /* where the last message was found */
} member;

typedef struct scene {
    artel__coll_kind kind;
    artel__coll_way way;
    int32_t members, root;
    int64_t count, chunk;
    bool blocks;
    int *destination;
    member *member;
    int64_t most; /* elements of any memory */
} scene;

static int32_t value_of(int32_t position, int64_t i)
{
    return (int32_t)((uint32_t)position * 131071 + (uint32_t)i * 7 + 1);
}

/* -- making -- */

static int64_t pair(const scene *s, int32_t from, int32_t to)
{
    if (!s->blocks) return s->count;
    return s->kind == ARTEL__COLL_ALL_TO_ALL ? (from * 3 + to) % 5 : to % 4;
}

static void make_member(scene *s, int32_t r)
{
    member *m = &s->member[r];
    m->shape =
        (artel__coll_shape){.kind = s->kind, .way = s->way, .members = s->members, .position = r, .root = s->root};
    m->shape.count = s->count;
    m->shape.chunk = s->chunk;
    m->shape.destination = s->destination;
    m->start = calloc((size_t)s->members + 1, sizeof *m->start);
    m->receive = calloc((size_t)s->members + 1, sizeof *m->receive);
    for (int32_t i = 0; i < s->members; i++) {
        m->start[i + 1] = m->start[i] + pair(s, r, i);
        m->receive[i + 1] = m->receive[i] + pair(s, i, r);
    }
    if (s->blocks) m->shape.start = m->start;
    if (s->blocks && s->kind == ARTEL__COLL_ALL_TO_ALL) m->shape.receive = m->receive;
    artel__coll_schedule *list = &m->schedule;
    artel__coll_schedule_make(&m->shape, list);
    list->send = calloc((size_t)list->sends + 1, sizeof *list->send);
    list->receive = calloc((size_t)list->receives + 1, sizeof *list->receive);
    list->combine = calloc((size_t)list->combines + 1, sizeof *list->combine);
    artel__coll_schedule_make(&m->shape, list);
    assert_true(list->room <= s->most);
    m->in = malloc((size_t)s->most * sizeof(int32_t));
    m->out = calloc((size_t)s->most, sizeof(int32_t));
    m->room = calloc((size_t)s->most, sizeof(int32_t));
    m->held = calloc((size_t)list->receives + 1, sizeof *m->held);
    for (int64_t i = 0; i < s->most; i++) m->in[i] = value_of(r, i);
}

static int32_t *memory_at(member *m, artel__coll_memory memory, int64_t first)
{
    return (memory == ARTEL__COLL_IN ? m->in : memory == ARTEL__COLL_OUT ? m->out : m->room) + first;
}

static void free_member(member *m)
{
    free(m->start);
    free(m->receive);
    free(m->schedule.send);
    free(m->schedule.receive);
    free(m->schedule.combine);
    free(m->in);
    free(m->out);
    free(m->room);
    free(m->held);
}

/* -- carrying out -- */

static void deliver(scene *s, int32_t from, const artel__coll_transfer *t)
{
    member *to = &s->member[t->peer];
    int32_t found = to->hint, left = to->schedule.receives;
    for (; left > 0; left--, found++) {
        if (found >= to->schedule.receives) found = 0;
        const artel__coll_transfer *r = &to->schedule.receive[found];
        if (r->peer == from && r->stage == t->stage && r->number == t->number) break;
    }
    assert_true(left > 0 && !to->held[found]);
    to->hint = found + 1;
    assert_int_equal(to->schedule.receive[found].count, t->count);
    to->held[found] = malloc((size_t)t->count * sizeof(int32_t) + 8);
    memcpy(to->held[found], memory_at(&s->member[from], t->memory, t->first), (size_t)t->count * sizeof(int32_t));
}

static void combine(scene *s, member *m, const artel__coll_combine_step *step)
{
    int32_t *out = memory_at(m, step->memory, step->to);
    memcpy(out, m->in + step->first, (size_t)step->count * sizeof(int32_t));
    for (int32_t i = 0; i < s->members - 1; i++) {
        assert_int_equal(m->schedule.receive[step->receive + i].count, step->count);
        for (int64_t k = 0; k < step->count; k++)
            out[k] = (int32_t)((uint32_t)out[k] + (uint32_t)m->held[step->receive + i][k]); /* modulo 2^32 */
        free(m->held[step->receive + i]);
    }
}

static bool take(member *m)
{
    const artel__coll_transfer *t = &m->schedule.receive[m->received];
    if (m->received == m->schedule.receives || !m->held[m->received]) return false;
    if (t->memory != ARTEL__COLL_HELD) {
        memcpy(memory_at(m, t->memory, t->first), m->held[m->received], (size_t)t->count * sizeof(int32_t));
        free(m->held[m->received]);
    }
    m->received++;
    return true;
}

static bool step(scene *s, int32_t r)
{
    member *m = &s->member[r];
    bool moved = false;
    while (take(m)) moved = true;
    while (m->combined < m->schedule.combines && m->schedule.combine[m->combined].needs <= m->received) {
        combine(s, m, &m->schedule.combine[m->combined++]);
        moved = true;
    }
    while (m->sent < m->schedule.sends && m->schedule.send[m->sent].needs <= m->received) {
        deliver(s, r, &m->schedule.send[m->sent++]);
        moved = true;
    }
    return moved;
}

static void carry_out(scene *s)
{
    bool moved = true;
    for (int32_t r = 0; r < s->members; r++) {
        member *m = &s->member[r];
        const artel__coll_schedule *list = &m->schedule;
        if (list->own)
            memcpy(memory_at(m, list->own_to_memory, list->own_to), m->in + list->own_from,
                   (size_t)list->own * sizeof(int32_t));
    }
    while (moved) {
        moved = false;
        for (int32_t r = 0; r < s->members; r++) moved = step(s, r) || moved;
    }
    for (int32_t r = 0; r < s->members; r++) {
        const member *m = &s->member[r];
        assert_int_equal(m->sent, m->schedule.sends);
        assert_int_equal(m->received, m->schedule.receives);
        assert_int_equal(m->combined, m->schedule.combines);
    }
}

/* -- what must come out -- */

static int32_t sum_of(const scene *s, int64_t i)
{
    uint32_t sum = 0;
    for (int32_t r = 0; r < s->members; r++) sum += (uint32_t)value_of(r, i);
    return (int32_t)sum;
}

static void check_blocks(const scene *s, const member *m)
{
    int64_t at = 0;
    for (int32_t from = 0; from < s->members; from++) {
        bool pairs = s->kind == ARTEL__COLL_ALL_TO_ALL;
        int64_t count = pairs ? pair(s, from, m->shape.position) : pair(s, 0, from);
        int64_t first = pairs ? s->member[from].start[m->shape.position] : 0;
        for (int64_t i = 0; i < count; i++) assert_int_equal(m->out[at++], value_of(from, first + i));
    }
}

static void check_out(const scene *s, const member *m)
{
    bool root = m->shape.position == s->root;
    int32_t from = 0;
    switch (s->kind) {
    case ARTEL__COLL_BARRIER: break;
    case ARTEL__COLL_BROADCAST:
        for (int64_t i = 0; i < s->count; i++) assert_int_equal(m->out[i], value_of(s->root, i));
        break;
    case ARTEL__COLL_REDUCE:
    case ARTEL__COLL_ALL_REDUCE:
        for (int64_t i = 0; i < s->count && (root || s->kind == ARTEL__COLL_ALL_REDUCE); i++)
            assert_int_equal(m->out[i], sum_of(s, i));
        break;
    case ARTEL__COLL_REDUCE_SCATTER: {
        int64_t first = artel__coll_start(&m->shape, m->shape.position),
                end = artel__coll_start(&m->shape, m->shape.position + 1);
        for (int64_t i = first; i < end; i++) assert_int_equal(m->out[i - first], sum_of(s, i));
        break;
    }
    case ARTEL__COLL_PERMUTE:
        while (s->destination[from] != m->shape.position) from++;
        for (int64_t i = 0; i < s->count; i++) assert_int_equal(m->out[i], value_of(from, i));
        break;
    default:
        if (s->kind != ARTEL__COLL_GATHER || root) check_blocks(s, m);
    }
}

static void check_load(const scene *s, const member *m)
{
    int64_t bytes = 0;
    int32_t connections = 0;
    const artel__coll_schedule *list = &m->schedule;
    uint8_t *met = calloc((size_t)s->members, 1);
    for (int32_t i = 0; i < list->sends; i++) {
        assert_true(list->send[i].peer != m->shape.position);
        assert_true(list->send[i].count <= s->chunk || m->shape.receive);
        assert_true(i == 0 || list->send[i].needs >= list->send[i - 1].needs);
        bytes += list->send[i].count * 4;
        if (!met[list->send[i].peer]) connections++;
        met[list->send[i].peer] = 1;
    }
    for (int32_t i = 0; i < list->receives; i++) {
        if (!met[list->receive[i].peer]) connections++;
        met[list->receive[i].peer] = 1;
    }
    artel__coll_load load = artel__coll_schedule_load(&m->shape, 4);
    assert_int_equal(load.messages, list->sends);
    assert_int_equal(load.bytes, bytes);
    assert_true(connections <= load.connections);
    free(met);
}

static void check(const scene *wanted)
{
    scene s = *wanted;
    s.most = s.count > 5 * s.members ? s.count : 5 * s.members;
    s.member = calloc((size_t)s.members, sizeof *s.member);
    s.destination = calloc((size_t)s.members, sizeof *s.destination);
    for (int32_t r = 0; r < s.members; r++) s.destination[r] = (r + 3) % s.members;
    for (int32_t r = 0; r < s.members; r++) make_member(&s, r);
    carry_out(&s);
    for (int32_t r = 0; r < s.members; r++) {
        check_out(&s, &s.member[r]);
        check_load(&s, &s.member[r]);
    }
    for (int32_t r = 0; r < s.members; r++) free_member(&s.member[r]);
    free(s.member);
    free(s.destination);
}

typedef struct row {
    artel__coll_kind kind;
    artel__coll_way way;
    bool blocks; /* count is that of a block */
} row;

static const row rows[] = {
    {ARTEL__COLL_BARRIER, ARTEL__COLL_SLICED, false},       {ARTEL__COLL_BROADCAST, ARTEL__COLL_TREE, false},
    {ARTEL__COLL_REDUCE, ARTEL__COLL_SLICED, false},        {ARTEL__COLL_REDUCE, ARTEL__COLL_WHOLE, false},
    {ARTEL__COLL_ALL_REDUCE, ARTEL__COLL_SLICED, false},    {ARTEL__COLL_ALL_REDUCE, ARTEL__COLL_WHOLE, false},
    {ARTEL__COLL_REDUCE_SCATTER, ARTEL__COLL_SLICED, true}, {ARTEL__COLL_GATHER, ARTEL__COLL_TREE, true},
    {ARTEL__COLL_GATHER, ARTEL__COLL_SLICED, true},         {ARTEL__COLL_ALL_GATHER, ARTEL__COLL_SLICED, true},
    {ARTEL__COLL_ALL_TO_ALL, ARTEL__COLL_SLICED, true},     {ARTEL__COLL_PERMUTE, ARTEL__COLL_SLICED, false},
};

static void simulated_ranks(int32_t ranks)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        scene s = {.kind = rows[i].kind, .way = rows[i].way, .members = ranks, .root = ranks / 3};
        bool whole = s.kind == ARTEL__COLL_ALL_REDUCE && s.way == ARTEL__COLL_WHOLE; /* everything goes everywhere */
        s.count = rows[i].blocks ? 3 : whole ? 70 : 9001;
        s.chunk = rows[i].blocks ? 2 : whole ? 40 : 1000;
        check(&s);
        if (ranks > 100) continue;
        s.chunk = 1 << 20;
        s.root = 0;
        s.blocks = rows[i].blocks;
        check(&s);
        s.blocks = false;
        s.count = 1;
        s.root = ranks - 1;
        check(&s);
        s.count = 0;
        check(&s);
    }
}

static void few_ranks(void **state)
{
    (void)state;
    for (int32_t ranks = 1; ranks <= 17; ranks++) simulated_ranks(ranks);
}

static void many_ranks(void **state)
{
    (void)state;
    simulated_ranks(64);
    simulated_ranks(100);
    simulated_ranks(512);
}

/* The figures the documentation gives: 256 MiB of float32, one chunk a slice. */
static void figures(void **state)
{
    (void)state;
    static const int32_t ranks[] = {64, 512};
    for (size_t i = 0; i < 2; i++) {
        int64_t n = ranks[i], total = (int64_t)256 << 20;
        artel__coll_shape s = {
            .kind = ARTEL__COLL_ALL_REDUCE, .members = (int32_t)n, .position = 7, .count = total / 4, .chunk = 1 << 22};
        artel__coll_load load = artel__coll_schedule_load(&s, 4);
        assert_int_equal(load.messages, 2 * (n - 1));
        assert_int_equal(load.bytes, 2 * (total - total / n));
        assert_int_equal(load.connections, n - 1);
        s = (artel__coll_shape){
            .kind = ARTEL__COLL_BROADCAST, .way = ARTEL__COLL_TREE, .members = (int32_t)n, .count = 9, .chunk = 9};
        load = artel__coll_schedule_load(&s, 4);
        assert_int_equal(load.messages, n == 64 ? 6 : 9);
        assert_int_equal(load.connections, n == 64 ? 6 : 9);
    }
}

static void choice(void **state)
{
    (void)state;
    assert_int_equal(artel__coll_choose(ARTEL__COLL_ALL_REDUCE, 2, 4), ARTEL__COLL_WHOLE);
    assert_int_equal(artel__coll_choose(ARTEL__COLL_ALL_REDUCE, 2, 1 << 24), ARTEL__COLL_SLICED);
    assert_int_equal(artel__coll_choose(ARTEL__COLL_GATHER, 8, 64), ARTEL__COLL_TREE);
    assert_int_equal(artel__coll_choose(ARTEL__COLL_GATHER, 8, 1 << 24), ARTEL__COLL_SLICED);
    assert_int_equal(artel__coll_choose(ARTEL__COLL_BROADCAST, 8, 1 << 24), ARTEL__COLL_TREE);
    assert_int_equal(artel__coll_choose(ARTEL__COLL_ALL_TO_ALL, 8, 1), ARTEL__COLL_SLICED);
    for (int kind = 0; kind < ARTEL__COLL_KINDS; kind++)
        assert_string_not_equal(artel__coll_kind_name((artel__coll_kind)kind), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_ranks),
        cmocka_unit_test(many_ranks),
        cmocka_unit_test(figures),
        cmocka_unit_test(choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
