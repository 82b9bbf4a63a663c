/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* A client of the data service among workers that lie, each in its own way, behind a dispatcher that knows them: alone
 * it ends with an error that says so; beside an honest worker every element comes once, as it is. Nothing of a lie is
 * kept, and no more is taken in than what was asked for can be.
 *
 * A thread plays the dispatcher and both workers, on ports of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "base/bytes.h"
#include "data/texts.h"
#include "net/listener.h"
#include "service/client.h"
#include "service/line.h"
#include "service/texts.h"

#define SECOND INT64_C(1000000000)

enum {
    ROWS = 40,
    LINES = 64,
    NUMBERS = 3
};

/* What a worker says instead of the answer. */
enum lie {
    TRUTH,
    SHORT,       /* a byte is missing */
    LONG,        /* a byte too many */
    OTHER_ROWS,  /* those of another question, one more */
    ENDLESS,     /* the head of a message of 2^40 bytes */
    UNASKED,     /* the answer to a question that was not asked */
    NO_CALL,     /* an answer of four bytes */
    WORDS,       /* JSON */
    UNKNOWN,     /* a kind of message that there is not */
    CUT,         /* half of it, and the connection ends */
    FAILURE,     /* it cannot be read, in words for a terminal */
    TRICKLE,     /* its beginning, and a byte now and then */
    OVERLAP,     /* two texts at one place */
    OUTSIDE,     /* a text behind the end */
    WRAPPED,     /* a length that runs round */
    LEFT_OVER,   /* bytes that are no text of any row */
    ALL_ONE_TEXT /* every cell is the whole of a large text */
};

static const char *const numbers_described =
    "{\"name\":\"d\",\"policy\":\"dynamic\",\"print\":\"%s\",\"rows\":40,\"row_bytes\":16,\"draws\":false,\"sorted\":"
    "false,\"columns\":[{\"name\":\"x\",\"role\":\"input\",\"dtype\":\"float32\",\"shape\":[3],\"pixels\":false}],"
    "\"parts\":[]}";
static const char *const texts_described =
    "{\"name\":\"d\",\"policy\":\"dynamic\",\"print\":\"%s\",\"rows\":40,\"row_bytes\":32,\"draws\":false,\"sorted\":"
    "false,\"columns\":[{\"name\":\"x\",\"role\":\"input\",\"dtype\":\"string\",\"shape\":[2],\"pixels\":false}],"
    "\"parts\":[]}";
static const char print[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/* One of the two ports: who listens there, and what he says. */
typedef struct player {
    artel__service_site site;
    artel__listener *listener;
    enum lie lie;
    artel__line line[LINES];
    bool tricks[LINES]; /* a trickle has begun */
} player;

typedef struct scene {
    artel_context *ctx, *far; /* the client's; the players' */
    artel__arena arena;
    artel__service_dataset dataset;
    json_t *description;
    player player[2];
    int players;
    pthread_t thread;
    atomic_bool quit;
    atomic_int lies;
    atomic_int named; /* the only worker that is there, counted from 1; 0: all are */
    atomic_bool dispatcher_gone;
} scene;

/* ---- what is true ---- */

static void write_text(uint64_t row, int cell, char out[24])
{
    snprintf(out, 24, "row %llu, cell %d", (unsigned long long)row, cell);
}

/* A row in memory; its texts in `texts`, two of 24 bytes a row. */
static void make_row(const scene *s, uint64_t row, uint8_t *out, char (*texts)[24])
{
    if (!artel__service_has_texts(&s->dataset)) {
        for (int i = 0; i < NUMBERS; i++) ((float *)(void *)out)[i] = (float)row + (float)i / 4;
        return;
    }
    for (int i = 0; i < 2; i++) {
        write_text(row, i, texts[i]);
        ((artel__string *)(void *)out)[i] = (artel__string){texts[i], strlen(texts[i])};
    }
}

static artel__line_block *true_answer(scene *s, uint64_t call, const uint8_t *rows, int64_t count)
{
    size_t row_bytes = s->dataset.row_bytes, size = (size_t)count * row_bytes;
    artel__line_block *block;
    uint8_t *all = calloc(1, size + 1);
    char(*texts)[24] = calloc(2 * (size_t)count, 24);
    assert_non_null(all);
    assert_non_null(texts);
    for (int64_t i = 0; i < count; i++)
        make_row(s, artel__bytes_get(rows + 8 * i, 8), all + (size_t)i * row_bytes, texts + 2 * i);
    size_t more = artel__service_texts_bytes(&s->dataset, all, count);
    assert_int_equal(artel__line_block_create(s->far, ARTEL__LINE_ROWS, 8 + size + more, &block), ARTEL_OK);
    uint8_t *body = artel__bytes_put(artel__line_body(block), call, 8);
    memcpy(body, all, size);
    if (more > 0) artel__service_texts_pack(&s->dataset, body, count);
    free(all);
    free(texts);
    return block;
}

/* ---- what is not ---- */

/* A copy of the message whose body has another size. */
static artel__line_block *resized(scene *s, artel__line_block *block, int64_t more)
{
    artel__line_block *other;
    size_t size = block->size - ARTEL__LINE_HEAD, want = (size_t)((int64_t)size + more);
    assert_int_equal(artel__line_block_create(s->far, ARTEL__LINE_ROWS, want, &other), ARTEL_OK);
    memset(artel__line_body(other), 'x', want);
    memcpy(artel__line_body(other), artel__line_body(block), want < size ? want : size);
    artel__line_block_free(s->far, block);
    return other;
}

/* Changes place or length of the first row's second cell, or of all. */
static void change_cells(const scene *s, artel__line_block *block, int64_t count, enum lie how)
{
    uint8_t *rows = artel__line_body(block) + 8;
    size_t texts = block->size - ARTEL__LINE_HEAD - 8 - (size_t)count * s->dataset.row_bytes;
    if (how == OVERLAP) artel__bytes_put(rows + 16, 0, 8);
    if (how == OUTSIDE) artel__bytes_put(rows + 24, texts + 1, 8);
    if (how == WRAPPED) artel__bytes_put(rows + 24, UINT64_MAX - 3, 8);
    for (int64_t i = 0; how == ALL_ONE_TEXT && i < 2 * count; i++) {
        artel__bytes_put(rows + 16 * i, 0, 8);
        artel__bytes_put(rows + 16 * i + 8, texts, 8);
    }
}

static void say_words(artel__line *line)
{
    artel__line_say(line, json_pack("{s:s, s:s}", "say", "refused", "why", "no"));
}

static void send_head(scene *s, artel__line *line, uint64_t kind, uint64_t size)
{
    artel__line_block *block;
    assert_int_equal(artel__line_block_create(s->far, ARTEL__LINE_ROWS, 64, &block), ARTEL_OK);
    memset(artel__line_body(block), 0, 64);
    artel__bytes_put(artel__bytes_put(block->bytes, kind, 8), size, 8);
    artel__line_send(line, block);
}

/* "{u64 call, i64 status, text}" with a status that there is not. */
static artel__line_block *failure(scene *s, uint64_t call)
{
    static const char text[] = "bad \x1b[2J\x07\xff";
    artel__line_block *block;
    assert_int_equal(artel__line_block_create(s->far, ARTEL__LINE_FAILED, 16 + sizeof text - 1, &block), ARTEL_OK);
    uint8_t *at = artel__bytes_put(artel__bytes_put(artel__line_body(block), call, 8), (uint64_t)-700, 8);
    memcpy(at, text, sizeof text - 1);
    return block;
}

/* True: the connection is to end. */
static bool answer(scene *s, player *p, int at, const uint8_t *bytes, size_t size)
{
    artel__line *line = &p->line[at];
    int64_t count = (int64_t)(size / 8) - 1;
    uint64_t call = artel__bytes_get(bytes, 8);
    artel__line_block *block = true_answer(s, p->lie == UNASKED ? call + 1000 : call, bytes + 8, count);
    size_t row_bytes = s->dataset.row_bytes;
    atomic_fetch_add(&s->lies, p->lie != TRUTH);
    switch (p->lie) {
    case SHORT: block = resized(s, block, -1); break;
    case LONG: block = resized(s, block, 1); break;
    case OTHER_ROWS: block = resized(s, block, (int64_t)row_bytes); break;
    case NO_CALL: block = resized(s, block, 4 - (int64_t)(block->size - ARTEL__LINE_HEAD)); break;
    case LEFT_OVER: block = resized(s, block, 1000); break;
    case ALL_ONE_TEXT: block = resized(s, block, 100000); break;
    default: break;
    }
    if (p->lie >= OVERLAP) change_cells(s, block, count, p->lie);
    if (p->lie == ENDLESS || p->lie == UNKNOWN || p->lie == CUT || p->lie == TRICKLE || p->lie == WORDS) {
        artel__line_block_free(s->far, block);
        if (p->lie == WORDS) say_words(line);
        if (p->lie == ENDLESS) send_head(s, line, ARTEL__LINE_ROWS, (uint64_t)1 << 40);
        if (p->lie == UNKNOWN) send_head(s, line, 9, 64);
        if (p->lie == CUT || p->lie == TRICKLE) send_head(s, line, ARTEL__LINE_ROWS, 60000);
        p->tricks[at] = p->lie == TRICKLE;
        return p->lie == CUT;
    }
    if (p->lie == FAILURE) {
        artel__line_block_free(s->far, block);
        block = failure(s, call);
    }
    artel__line_send(line, block);
    return false;
}

/* ---- the thread ---- */

static void describe(scene *s, artel__line *line)
{
    char address[32];
    json_t *workers = json_array();
    int named = atomic_load(&s->named);
    for (int i = 0; i < s->players; i++) {
        if (named && named != i + 1) continue;
        snprintf(address, sizeof address, "127.0.0.1:%d", artel__listener_port(s->player[i].listener));
        json_array_append_new(workers, json_pack("{s:s, s:s, s:s}", "address", address, "task",
                                                 s->player[i].site.site.self.task, "here", ""));
    }
    artel__line_say(line,
                    json_pack("{s:s, s:O, s:o}", "say", "dataset", "dataset", s->description, "workers", workers));
}

static void hear(scene *s, player *p, int at)
{
    artel__line_kind kind;
    const uint8_t *bytes;
    size_t size;
    bool ends = false;
    artel__line *line = &p->line[at];
    while (!ends && !p->tricks[at] && artel__line_hear(line, &kind, &bytes, &size) == ARTEL_OK) {
        bool opens = kind == ARTEL__LINE_JSON && memmem(bytes, size, "open", 4);
        int named = atomic_load(&s->named);
        ends = opens ? atomic_load(&s->dispatcher_gone) : named && p != &s->player[named - 1];
        if (kind == ARTEL__LINE_ASK && !ends) ends = answer(s, p, at, bytes, size);
        if (opens && !ends) describe(s, line);
    }
    if (p->tricks[at] && !line->first) {
        uint8_t byte = 0;
        artel__connection_say(line->connection, &byte, 1);
    }
    artel__connection_state state = artel__line_progress(line);
    if (ends || state == ARTEL__CONNECTION_LOST) {
        artel__line_close(line);
        p->tricks[at] = false;
    }
}

/* The honest one is not there before a lie was told. */
static void move(scene *s, player *p)
{
    if (p != &s->player[0] && s->player[0].lie != TRUTH && atomic_load(&s->lies) == 0) return;
    artel__listener_progress(p->listener);
    for (artel__connection *c = artel__listener_take(p->listener); c; c = artel__listener_take(p->listener)) {
        int at = 0;
        while (at < LINES && p->line[at].ctx) at++;
        if (at == LINES) {
            artel__connection_close(c);
            continue;
        }
        artel__line_open(&p->line[at], s->far, c, 1 << 20);
    }
    for (int i = 0; i < LINES; i++) {
        if (!p->line[i].ctx) continue;
        artel__line_progress(&p->line[i]);
        hear(s, p, i);
    }
}

static void *play(void *user)
{
    scene *s = user;
    struct pollfd ready[2 * (LINES + 1)];
    while (!atomic_load(&s->quit)) {
        nfds_t count = 0;
        for (int i = 0; i < s->players; i++) {
            player *p = &s->player[i];
            move(s, p);
            ready[count++] = (struct pollfd){.fd = artel__listener_fd(p->listener), .events = POLLIN};
            for (int l = 0; l < LINES; l++)
                if (p->line[l].ctx)
                    ready[count++] = (struct pollfd){.fd = artel__connection_fd(p->line[l].connection),
                                                     .events = artel__connection_events(p->line[l].connection)};
        }
        poll(ready, count, 10);
    }
    return NULL;
}

static void open_player(scene *s, player *p, const char *name, enum lie lie)
{
    const artel__service_access access = {.cert_dir = NULL};
    artel__listener_options listen = {.most_pending = 0};
    p->lie = lie;
    assert_true(artel__net_address_parse("127.0.0.1:0", &listen.address));
    assert_int_equal(artel__service_site_open(s->far, &access, name, false, &p->site), ARTEL_OK);
    assert_int_equal(artel__listener_create(&p->site.site, &listen, &p->listener), ARTEL_OK);
}

static void open_scene(scene *s, enum lie lie, bool honest_one, bool texts)
{
    char text[1024];
    memset(s, 0, sizeof *s);
    assert_int_equal(artel_context_create(NULL, &s->ctx), ARTEL_OK);
    assert_int_equal(artel_context_create(NULL, &s->far), ARTEL_OK);
    artel__budget_set(s->ctx, 1 << 20);
    artel__arena_init(&s->arena, s->far);
    if (texts)
        snprintf(text, sizeof text, texts_described, print);
    else
        snprintf(text, sizeof text, numbers_described, print);
    assert_int_equal(artel__json_load(s->far, "test", text, strlen(text), &s->description), ARTEL_OK);
    assert_int_equal(artel__service_dataset_read(&s->arena, "test", s->description, &s->dataset), ARTEL_OK);
    open_player(s, &s->player[s->players++], "liar", lie);
    if (honest_one) open_player(s, &s->player[s->players++], "honest", TRUTH);
    assert_int_equal(pthread_create(&s->thread, NULL, play, s), 0);
}

static void close_scene(scene *s)
{
    atomic_store(&s->quit, true);
    pthread_join(s->thread, NULL);
    for (int i = 0; i < s->players; i++) {
        for (int l = 0; l < LINES; l++) artel__line_close(&s->player[i].line[l]);
        artel__listener_destroy(s->player[i].listener);
        artel__service_site_close(&s->player[i].site);
    }
    json_decref(s->description);
    artel__arena_fini(&s->arena);
    artel_context_destroy(s->far);
    artel_context_destroy(s->ctx);
}

/* ---- the client ---- */

typedef struct taken {
    scene *s;
    int times[ROWS];
} taken;

static void take(void *user, int64_t at, const uint8_t *row)
{
    taken *t = user;
    uint8_t want[64];
    char texts[2][24];
    t->times[at]++;
    make_row(t->s, (uint64_t)at, want, texts);
    if (!artel__service_has_texts(&t->s->dataset)) {
        assert_memory_equal(row, want, NUMBERS * sizeof(float));
        return;
    }
    for (int i = 0; i < 2; i++) {
        artel__string text;
        memcpy(&text, row + 16 * i, sizeof text);
        assert_int_equal(text.length, strlen(texts[i]));
        assert_memory_equal(text.bytes, texts[i], text.length);
    }
}

/* Reads all rows of a service whose first worker tells that lie; texts into a keeper, of whose bytes it gives the sum.
 */
static artel_status read_all(scene *s, int64_t wait_ns, size_t *kept_bytes)
{
    char address[32];
    uint64_t rows[ROWS];
    taken t = {.s = s};
    artel__texts keeper;
    artel__service_client *client;
    snprintf(address, sizeof address, "127.0.0.1:%d", artel__listener_port(s->player[0].listener));
    const artel__service_client_options options = {.address = address, .dataset = "d", .wait_ns = wait_ns};
    assert_int_equal(artel__service_client_open(s->ctx, &options, &client), ARTEL_OK);
    for (uint64_t i = 0; i < ROWS; i++) rows[i] = i;
    artel__texts_init(&keeper, s->ctx, 0);
    artel__texts *before = artel__texts_set_keeper(&keeper);
    artel_status status = artel__service_client_fetch(client, rows, ROWS, take, &t);
    artel__texts_set_keeper(before);
    *kept_bytes = keeper.bytes;
    artel__texts_fini(&keeper);
    artel__service_client_close(client);
    for (int i = 0; i < ROWS && status == ARTEL_OK; i++) assert_int_equal(t.times[i], 1);
    return status;
}

static size_t bytes_of_texts(void)
{
    size_t all = 0;
    for (uint64_t row = 0; row < ROWS; row++) {
        for (int i = 0; i < 2; i++) {
            char text[24];
            write_text(row, i, text);
            all += strlen(text);
        }
    }
    return all;
}

static void expect_truth(enum lie lie, bool texts, int64_t wait_ns)
{
    scene s;
    size_t kept;
    open_scene(&s, lie, true, texts);
    artel_status status = read_all(&s, wait_ns, &kept);
    if (status < 0) fail_msg("lie %d: %s", lie, artel_context_error(s.ctx)->what);
    assert_int_equal(kept, texts ? bytes_of_texts() : 0);
    assert_true(lie == TRUTH || atomic_load(&s.lies) > 0);
    close_scene(&s);
}

static void expect_error(enum lie lie, bool texts, const char *part)
{
    scene s;
    size_t kept;
    open_scene(&s, lie, false, texts);
    assert_int_equal(read_all(&s, SECOND / 2, &kept), ARTEL_ERROR_RUN);
    const char *what = artel_context_error(s.ctx)->what;
    if (!strstr(what, part)) fail_msg("lie %d: '%s' is not in: %s", lie, part, what);
    assert_non_null(strstr(what, "nobody computes elements of 'd'"));
    assert_int_equal(kept, 0);
    assert_true(atomic_load(&s.lies) > 0);
    close_scene(&s);
}

static void liars_beside_an_honest_worker(void **state)
{
    (void)state;
    for (int lie = TRUTH; lie < FAILURE; lie++) expect_truth((enum lie)lie, false, 60 * SECOND);
    expect_truth(TRUTH, true, 60 * SECOND);
    for (int lie = OVERLAP; lie <= ALL_ONE_TEXT; lie++) expect_truth((enum lie)lie, true, 60 * SECOND);
}

/* That is believed, as it is of an honest one: what one cannot read, no other can. */
static void a_failure_is_cleaned(void **state)
{
    scene s;
    size_t kept;
    (void)state;
    open_scene(&s, FAILURE, false, false);
    assert_int_equal(read_all(&s, 60 * SECOND, &kept), ARTEL_ERROR_CORRUPT);
    const char *what = artel_context_error(s.ctx)->what;
    assert_memory_equal(what, "bad ", 4);
    for (const char *at = what; *at; at++) assert_true((unsigned char)*at >= ' ');
    close_scene(&s);
}

/* It is given half of the patience. */
static void a_worker_that_does_not_come_to_an_end(void **state)
{
    (void)state;
    expect_truth(TRICKLE, false, 10 * SECOND);
}

static void liars_alone(void **state)
{
    static const enum lie short_ones[] = {SHORT, LONG, UNASKED, NO_CALL, WORDS, UNKNOWN};
    (void)state;
    for (size_t i = 0; i < sizeof short_ones / sizeof *short_ones; i++)
        expect_error(short_ones[i], false, "it does not serve this dataset, or speaks otherwise");
    expect_error(ENDLESS, false, "longer than what was asked for");
    expect_error(CUT, false, "it ended the connection");
    expect_error(TRICKLE, false, "no worker is there");
    for (int lie = OVERLAP; lie <= ALL_ONE_TEXT; lie++) expect_error((enum lie)lie, true, "or speaks otherwise");
}

#define CASE(name) cmocka_unit_test(name)

/* ---- sessions ---- */

typedef struct nested {
    taken taken;
    artel__service_client *client;
    const uint64_t *rows;
    artel_status inner;
    bool begun;
} nested;

/* Reads all again while the outer call has its session. */
static void take_nested(void *user, int64_t at, const uint8_t *row)
{
    nested *n = user;
    taken inner = {.s = n->taken.s};
    take(&n->taken, at, row);
    if (n->begun) return;
    n->begun = true;
    n->inner = artel__service_client_fetch(n->client, n->rows, ROWS, take, &inner);
}

static void read_twice(scene *s, artel__service_client *client, const uint64_t *rows)
{
    nested n = {.taken = {.s = s}, .client = client, .rows = rows};
    artel_status outer = artel__service_client_fetch(client, rows, ROWS, take_nested, &n);
    if (outer < 0 || n.inner < 0) fail_msg("outer %d, inner %d: %s", outer, n.inner, artel_context_error(s->ctx)->what);
}

/* A worker ends and another comes, and one session hears of it; then the dispatcher ends. The other session finds the
 * new worker all the same. */
static void sessions_tell_one_another(void **state)
{
    (void)state;
    scene s;
    char address[32];
    uint64_t rows[ROWS];
    taken alone = {.s = &s};
    artel__service_client *client;
    open_scene(&s, TRUTH, true, false);
    snprintf(address, sizeof address, "127.0.0.1:%d", artel__listener_port(s.player[0].listener));
    const artel__service_client_options options = {.address = address, .dataset = "d", .wait_ns = 20 * SECOND};
    for (uint64_t i = 0; i < ROWS; i++) rows[i] = i;
    atomic_store(&s.named, 1);
    assert_int_equal(artel__service_client_open(s.ctx, &options, &client), ARTEL_OK);
    read_twice(&s, client, rows);
    atomic_store(&s.named, 2);
    assert_int_equal(artel__service_client_fetch(client, rows, ROWS, take, &alone), ARTEL_OK);
    atomic_store(&s.dispatcher_gone, true);
    read_twice(&s, client, rows);
    artel__service_client_close(client);
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(liars_beside_an_honest_worker), CASE(liars_alone),
                                       CASE(a_failure_is_cleaned), CASE(a_worker_that_does_not_come_to_an_end),
                                       CASE(sessions_tell_one_another)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
