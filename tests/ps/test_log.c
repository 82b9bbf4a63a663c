/* SPDX-License-Identifier: Apache-2.0 */
/* One part's log, holder by holder: order, window, duplicates, levelling, copies, digests, and that every payload is
 * given back once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "ps/call.h"

enum {
    HOLDERS = 4,
    QUEUE = 512,
    BATCHES = 1000
};

static const uint16_t chain3[] = {0, 1, 2};

/* Holders in one process; messages wait in a queue until they are delivered. */
typedef struct holder {
    struct bench *bench;
    artel__part_log *log;
    uint32_t number;
    uint64_t state; /* a hash of all that was applied */
    uint64_t iterations;
    int levels, copies, differs, answers;
    uint64_t answered;
} holder;

typedef struct letter {
    uint32_t from, to;
    artel__log_message message;
    uint8_t payload[8];
} letter;

typedef struct bench {
    artel_context *ctx;
    holder holder[HOLDERS];
    letter queue[QUEUE];
    int first, last;
    int payloads;
    bool lose; /* messages vanish */
} bench;

static uint64_t mix(uint64_t state, uint64_t value)
{
    return (state ^ value) * 0x9e3779b97f4a7c15u + 1;
}

static void apply(void *user, const artel__log_entry *entry, const void *payload)
{
    holder *h = user;
    uint64_t value = 0;
    memcpy(&value, payload, entry->length);
    assert_int_equal(entry->iteration, h->iterations);
    if (entry->flags & ARTEL__LOG_STEP) h->iterations++;
    h->state = mix(h->state, value);
}

static uint64_t digest(void *user)
{
    return ((holder *)user)->state;
}

static void send(void *user, uint32_t task, const artel__log_message *message)
{
    holder *h = user;
    bench *b = h->bench;
    if (b->lose) return;
    assert_true(b->last - b->first < QUEUE);
    letter *l = &b->queue[b->last++ % QUEUE];
    *l = (letter){h->number, task, *message, {0}};
    if (message->payload) memcpy(l->payload, message->payload, message->entry.length);
}

static void answer(void *user, const artel__log_entry *entry, artel__log_answer answer)
{
    holder *h = user;
    assert_int_equal(answer, ARTEL__LOG_ACK);
    assert_int_equal(entry->position, h->answered + 1);
    h->answered = entry->position;
    h->answers++;
}

static void level(void *user, uint64_t epoch)
{
    assert_true(epoch > 0);
    ((holder *)user)->levels++;
}

static void copy(void *user, uint64_t epoch, uint32_t from)
{
    (void)epoch, (void)from;
    ((holder *)user)->copies++;
}

static void differ(void *user, uint64_t position)
{
    assert_int_equal(position % ARTEL__LOG_DIGEST_EVERY, 0);
    ((holder *)user)->differs++;
}

static void release(void *user, void *payload)
{
    ((holder *)user)->bench->payloads--;
    free(payload);
}

static const artel__part_log_ops ops = {apply, digest, send, answer, level, copy, differ, release};

static void *make_payload(bench *b, uint64_t value)
{
    void *p = malloc(8);
    memcpy(p, &value, 8);
    b->payloads++;
    return p;
}

static void deliver(bench *b)
{
    while (b->first < b->last) {
        letter l = b->queue[b->first++ % QUEUE];
        artel__log_message m = l.message;
        void *owned = NULL;
        if (m.word == ARTEL__LOG_APPEND) {
            uint64_t value;
            memcpy(&value, l.payload, 8);
            owned = make_payload(b, value);
        }
        m.payload = owned;
        artel__part_log_receive(b->holder[l.to].log, l.from, &m, owned);
    }
}

static bench *make(uint64_t keep_bytes)
{
    bench *b = calloc(1, sizeof *b);
    assert_int_equal(artel_context_create(NULL, &b->ctx), ARTEL_OK);
    for (uint32_t i = 0; i < HOLDERS; i++) {
        holder *h = &b->holder[i];
        artel__part_log_config c = {
            .part = 3, .self = i, .batches = BATCHES, .keep_bytes = keep_bytes, .ops = &ops, .user = h};
        h->bench = b;
        h->number = i;
        assert_int_equal(artel__part_log_create(b->ctx, &c, &h->log), ARTEL_OK);
    }
    return b;
}

static void unmake(bench *b)
{
    for (int i = 0; i < HOLDERS; i++) artel__part_log_destroy(b->holder[i].log);
    assert_int_equal(b->payloads, 0);
    artel_context_destroy(b->ctx);
    free(b);
}

/* A view of these holders, accepted and in force. */
static void view(bench *b, uint64_t epoch, const uint16_t *chain, int holders)
{
    for (int i = 0; i < HOLDERS; i++) artel__part_log_accept(b->holder[i].log, epoch, chain, holders);
    deliver(b);
    for (int i = 0; i < holders; i++) artel__part_log_serve(b->holder[chain[i]].log, epoch);
}

static artel__log_answer push(bench *b, uint32_t head, uint64_t epoch, uint64_t item, uint64_t *position)
{
    artel__log_entry e = {
        .client = 5, .item = item, .length = 8, .kind = ARTEL__LOG_GRADIENT, .flags = ARTEL__LOG_STEP};
    void *payload = make_payload(b, item);
    artel__log_answer a = artel__part_log_push(b->holder[head].log, epoch, &e, payload, position);
    if (a != ARTEL__LOG_WAIT) release(&b->holder[head], payload);
    return a;
}

static void all_alike(bench *b, const uint16_t *chain, int holders)
{
    for (int i = 1; i < holders; i++) {
        assert_int_equal(b->holder[chain[i]].state, b->holder[chain[0]].state);
        assert_int_equal(artel__part_log_applied(b->holder[chain[i]].log),
                         artel__part_log_applied(b->holder[chain[0]].log));
        assert_int_equal(b->holder[chain[i]].differs, 0);
    }
}

static void an_update_goes_down_the_chain(void **state)
{
    (void)state;
    bench *b = make(0);
    uint64_t at;
    view(b, 1, chain3, 3);
    assert_int_equal(b->holder[2].levels, 1);
    assert_int_equal(push(b, 0, 1, artel__item(0, 7), &at), ARTEL__LOG_WAIT);
    assert_int_equal(at, 1);
    assert_int_equal(artel__part_log_applied(b->holder[0].log), 0); /* nothing is read before all have it */
    assert_int_equal(push(b, 0, 1, artel__item(0, 7), &at), ARTEL__LOG_BUSY);
    deliver(b);
    assert_int_equal(b->holder[0].answers, 1);
    assert_int_equal(push(b, 0, 1, artel__item(0, 7), &at), ARTEL__LOG_ALREADY);
    assert_int_equal(at, 1);
    assert_int_equal(push(b, 0, 2, artel__item(0, 8), &at), ARTEL__LOG_STALE);
    assert_int_equal(push(b, 1, 1, artel__item(0, 8), &at), ARTEL__LOG_STALE);      /* no head */
    assert_int_equal(push(b, 0, 1, artel__item(0, BATCHES), &at), ARTEL__LOG_BUSY); /* no such batch */
    artel__part_log_fence(b->holder[0].log);
    assert_int_equal(push(b, 0, 1, artel__item(0, 8), &at), ARTEL__LOG_STALE);
    all_alike(b, chain3, 3);
    unmake(b);
}

static void the_window_is_full(void **state)
{
    (void)state;
    bench *b = make(0);
    uint64_t at;
    view(b, 1, chain3, 3);
    for (uint64_t i = 0; i < ARTEL__LOG_WINDOW; i++) assert_int_equal(push(b, 0, 1, i, &at), ARTEL__LOG_WAIT);
    assert_int_equal(push(b, 0, 1, 100, &at), ARTEL__LOG_BUSY);
    deliver(b);
    assert_int_equal(push(b, 0, 1, 100, &at), ARTEL__LOG_WAIT);
    for (uint64_t i = 200; i < 600; i++) {
        deliver(b);
        assert_int_equal(push(b, 0, 1, i, &at), ARTEL__LOG_WAIT);
    }
    deliver(b);
    assert_int_equal(b->payloads, 3 * ARTEL__LOG_WINDOW);
    assert_int_equal(push(b, 0, 1, 200, &at), ARTEL__LOG_ALREADY);
    assert_int_equal(at, 0); /* it was so long ago that nobody knows where */
    all_alike(b, chain3, 3);
    unmake(b);
}

static void payloads_are_kept_within_bounds(void **state)
{
    (void)state;
    bench *b = make(80); /* ten payloads */
    uint64_t at;
    view(b, 1, chain3, 3);
    for (uint64_t i = 0; i < 300; i++) {
        assert_int_equal(push(b, 0, 1, i, &at), ARTEL__LOG_WAIT);
        if (i % 20 == 19) deliver(b);
    }
    deliver(b);
    assert_in_range(b->payloads, 3, 40);
    all_alike(b, chain3, 3);
    unmake(b);
}

static void passes_follow_one_another(void **state)
{
    (void)state;
    bench *b = make(0);
    static const uint16_t alone[] = {0};
    uint64_t at;
    view(b, 1, alone, 1);
    assert_int_equal(push(b, 0, 1, artel__item(3, 9), &at), ARTEL__LOG_WAIT);
    assert_int_equal(push(b, 0, 1, artel__item(2, 9), &at), ARTEL__LOG_WAIT); /* late, of the pass before */
    assert_int_equal(push(b, 0, 1, artel__item(2, 9), &at), ARTEL__LOG_ALREADY);
    assert_int_equal(push(b, 0, 1, artel__item(1, 9), &at), ARTEL__LOG_ALREADY); /* long over */
    assert_int_equal(push(b, 0, 1, artel__item(4, 9), &at), ARTEL__LOG_WAIT);
    assert_int_equal(push(b, 0, 1, artel__item(3, 9), &at), ARTEL__LOG_ALREADY);
    assert_int_equal(push(b, 0, 1, artel__item(3, 10), &at), ARTEL__LOG_WAIT);
    assert_int_equal(push(b, 0, 1, artel__item(9, 10), &at), ARTEL__LOG_WAIT);
    assert_int_equal(push(b, 0, 1, artel__item(8, 10), &at), ARTEL__LOG_WAIT);
    unmake(b);
}

static artel__log_answer word(bench *b, uint64_t client, uint64_t sequence, artel__log_kind kind)
{
    uint64_t at;
    artel__log_entry e = {
        .client = client, .sequence = sequence, .item = ARTEL__NO_ITEM, .length = 8, .kind = (uint8_t)kind};
    void *payload = make_payload(b, sequence);
    artel__log_answer a = artel__part_log_push(b->holder[0].log, 1, &e, payload, &at);
    if (a != ARTEL__LOG_WAIT) release(&b->holder[0], payload);
    return a;
}

static void words_count_by_sequence(void **state)
{
    (void)state;
    bench *b = make(0);
    static const uint16_t alone[] = {0};
    view(b, 1, alone, 1);
    assert_int_equal(word(b, 1, 4, ARTEL__LOG_RATE), ARTEL__LOG_WAIT);
    assert_int_equal(word(b, 1, 4, ARTEL__LOG_RATE), ARTEL__LOG_ALREADY);
    assert_int_equal(word(b, 1, 3, ARTEL__LOG_RATE), ARTEL__LOG_ALREADY);
    assert_int_equal(word(b, 2, 3, ARTEL__LOG_RATE), ARTEL__LOG_WAIT);
    assert_int_equal(word(b, 1, 5, ARTEL__LOG_LEAVE), ARTEL__LOG_WAIT);
    assert_int_equal(word(b, 1, 6, ARTEL__LOG_RATE), ARTEL__LOG_ALREADY); /* of one that has left */
    for (uint64_t c = 10; c < 8 + ARTEL__LOG_CLIENTS; c++)
        assert_int_equal(word(b, c, 1, ARTEL__LOG_RATE), ARTEL__LOG_WAIT);
    assert_int_equal(word(b, 5000, 1, ARTEL__LOG_RATE), ARTEL__LOG_WAIT); /* in the place of the one that left */
    assert_int_equal(word(b, 5001, 1, ARTEL__LOG_RATE), ARTEL__LOG_BUSY);
    unmake(b);
}

static void a_head_dies_and_the_next_commits(void **state)
{
    (void)state;
    bench *b = make(0);
    static const uint16_t rest[] = {1, 2};
    uint64_t at;
    view(b, 1, chain3, 3);
    for (uint64_t i = 0; i < 5; i++) push(b, 0, 1, i, &at);
    deliver(b);
    push(b, 0, 1, 5, &at); /* reaches the second only: the rest of the queue vanishes */
    letter l = b->queue[b->first++ % QUEUE];
    l.message.payload = make_payload(b, 5);
    artel__part_log_receive(b->holder[1].log, 0, &l.message, (void *)(uintptr_t)l.message.payload);
    b->first = b->last;
    artel__part_log_fence(b->holder[0].log);
    b->holder[1].answered = 5; /* it knows that all had these */
    view(b, 2, rest, 2);
    assert_int_equal(artel__part_log_applied(b->holder[2].log), 6);
    assert_int_equal(push(b, 1, 2, 5, &at), ARTEL__LOG_ALREADY);
    assert_int_equal(at, 6);
    assert_int_equal(push(b, 1, 2, 6, &at), ARTEL__LOG_WAIT);
    deliver(b);
    assert_int_equal(b->holder[1].answered, 7);
    all_alike(b, rest, 2);
    unmake(b);
}

static void lost_messages_are_sent_again(void **state)
{
    (void)state;
    bench *b = make(0);
    uint64_t at;
    uint32_t silent = 99;
    view(b, 1, chain3, 3);
    push(b, 0, 1, 1, &at);
    b->first = b->last; /* lost */
    push(b, 0, 1, 2, &at);
    deliver(b); /* a gap */
    assert_int_equal(b->holder[0].answers, 2);
    b->lose = true;
    push(b, 0, 1, 3, &at);
    b->lose = false;
    assert_false(artel__part_log_nudge(b->holder[0].log, &silent)); /* new, so it may be on its way */
    assert_false(artel__part_log_nudge(b->holder[0].log, &silent));
    deliver(b);
    assert_int_equal(b->holder[0].answers, 3);
    b->lose = true;
    push(b, 0, 1, 4, &at);
    for (int i = 0; i < 4; i++) artel__part_log_nudge(b->holder[0].log, &silent);
    assert_true(artel__part_log_nudge(b->holder[0].log, &silent));
    assert_int_equal(silent, 1);
    b->lose = false;
    artel__part_log_again(b->holder[0].log, 1); /* a new connection */
    deliver(b);
    assert_int_equal(b->holder[0].answers, 4);
    all_alike(b, chain3, 3);
    unmake(b);
}

static void give_copy(bench *b, uint32_t from, uint32_t to)
{
    holder *a = &b->holder[from], *c = &b->holder[to];
    assert_true(artel__part_log_is_still(a->log));
    size_t count = artel__part_log_bytes(a->log);
    uint8_t *bytes = malloc(count);
    artel__part_log_save(a->log, bytes);
    c->state = a->state;
    c->iterations = a->iterations;
    assert_null(artel__part_log_load(c->log, bytes, count));
    for (size_t i = 0; i < count; i += 7) { /* damaged in one place: refused, and nothing changes */
        bytes[i] ^= 16;
        assert_non_null(artel__part_log_load(c->log, bytes, count));
        bytes[i] ^= 16;
    }
    assert_non_null(artel__part_log_load(c->log, bytes, count - 1));
    free(bytes);
}

static void a_newcomer_copies_and_levels(void **state)
{
    (void)state;
    bench *b = make(0);
    static const uint16_t two[] = {0, 1}, three[] = {0, 1, 3};
    uint64_t at;
    view(b, 1, two, 2);
    for (uint64_t i = 0; i < 30; i++) push(b, 0, 1, i, &at), deliver(b);
    push(b, 0, 1, 30, &at);
    assert_false(artel__part_log_is_still(b->holder[0].log));
    artel__part_log_pause(b->holder[0].log, true);
    deliver(b);
    assert_int_equal(push(b, 0, 1, 31, &at), ARTEL__LOG_BUSY);
    give_copy(b, 0, 3);
    artel__part_log_pause(b->holder[0].log, false);
    for (uint64_t i = 31; i < 50; i++) push(b, 0, 1, i, &at), deliver(b);
    view(b, 2, three, 3);
    assert_int_equal(b->holder[3].levels, 1);
    assert_int_equal(b->holder[3].copies, 0);
    push(b, 0, 2, 60, &at);
    deliver(b);
    all_alike(b, three, 3);
    assert_true(artel__part_log_has_item(b->holder[3].log, 12) && !artel__part_log_has_item(b->holder[3].log, 61));
    unmake(b);
}

static void too_late_for_the_window_is_told_to_copy(void **state)
{
    (void)state;
    bench *b = make(0);
    static const uint16_t two[] = {0, 1}, three[] = {0, 1, 3};
    uint64_t at;
    view(b, 1, two, 2);
    push(b, 0, 1, 0, &at), deliver(b);
    give_copy(b, 0, 3);
    for (uint64_t i = 1; i < 100; i++) push(b, 0, 1, i, &at), deliver(b);
    view(b, 2, three, 3);
    assert_int_equal(b->holder[3].copies, 1);
    assert_int_equal(b->holder[3].levels, 0);
    give_copy(b, 1, 3);
    deliver(b);
    assert_int_equal(b->holder[3].levels, 1);
    artel__part_log_serve(b->holder[3].log, 2);
    push(b, 0, 2, 200, &at);
    deliver(b);
    all_alike(b, three, 3);
    unmake(b);
}

static void a_state_that_differs_is_found(void **state)
{
    (void)state;
    bench *b = make(0);
    uint64_t at;
    view(b, 1, chain3, 3);
    for (uint64_t i = 0; i < 40; i++) push(b, 0, 1, i, &at), deliver(b);
    b->holder[1].state ^= 1; /* a bit in its memory */
    for (uint64_t i = 40; i < 70; i++) push(b, 0, 1, i, &at), deliver(b);
    assert_true(b->holder[1].differs > 0);
    unmake(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_update_goes_down_the_chain),
        cmocka_unit_test(the_window_is_full),
        cmocka_unit_test(payloads_are_kept_within_bounds),
        cmocka_unit_test(passes_follow_one_another),
        cmocka_unit_test(words_count_by_sequence),
        cmocka_unit_test(a_head_dies_and_the_next_commits),
        cmocka_unit_test(lost_messages_are_sent_again),
        cmocka_unit_test(a_newcomer_copies_and_levels),
        cmocka_unit_test(too_late_for_the_window_is_told_to_copy),
        cmocka_unit_test(a_state_that_differs_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
