/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that are read where their sender has them: when they are lent and when copied, when the send is done, what a
 * withdrawal, a loss and the end of the memory do to who reads, and what a peer may say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "net/help_tcp.h"
#include "net/shared_impl.h"
#include "net/tcp_impl.h"

enum {
    BYTES = 200000, /* of the block */
    LONG = 64 << 10
};

typedef struct scene {
    support_mesh mesh;
    uint8_t *memory; /* lendable */
} scene;

static void open_scene(scene *s)
{
    void *block;
    memset(s, 0, sizeof *s);
    s->mesh = (support_mesh){.ranks = 2, .shares = true, .window = 4096};
    assert_int_equal(artel_context_create(NULL, &s->mesh.ctx), ARTEL_OK);
    assert_int_equal(support_mesh_open(&s->mesh), ARTEL_OK);
    assert_int_equal(artel__alloc_lendable(s->mesh.ctx, BYTES, "test", &block), ARTEL_OK);
    s->memory = block;
    for (int i = 0; i < BYTES; i++) s->memory[i] = (uint8_t)(i * 7 + i / 251);
}

static void close_scene(scene *s)
{
    artel__free_lendable(s->mesh.ctx, s->memory, BYTES);
    tcp_close(&s->mesh);
}

/* From rank 0 to rank 1. */
static void send_and_hear(scene *s, artel__net_request *send, artel__net_request *receive)
{
    assert_int_equal(artel__net_receive(s->mesh.endpoint[1], receive), ARTEL_OK);
    assert_int_equal(artel__net_send(s->mesh.endpoint[0], send), ARTEL_OK);
    assert_int_equal(tcp_run(&s->mesh, 1, receive), ARTEL_OK);
    assert_true(artel__net_done(receive));
}

static void progress_both(scene *s)
{
    for (int i = 0; i < 20; i++) {
        for (int r = 0; r < 2; r++) assert_int_equal(artel__net_progress(s->mesh.endpoint[r]), ARTEL_OK);
    }
}

/* How many mappings of lendable memory this process has. */
static int mappings(void)
{
    char line[512];
    int count = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, f)) count += strstr(line, "/memfd:artel ") != NULL && strstr(line, " r--s") != NULL;
    fclose(f);
    return count;
}

/* What the sender writes later is seen: nothing was copied. The send is done when the reader is. */
static void read_in_place(void **state)
{
    (void)state;
    scene s;
    open_scene(&s);
    const artel__net_piece piece[3] = {{s.memory + 1, LONG - 3}, {NULL, 0}, {s.memory + 100000, 16}};
    for (uint32_t round = 0; round < 3; round++) {
        artel__net_request send = tcp_request(1, round, piece), receive = tcp_request(0, round, NULL);
        send.pieces = 3;
        send_and_hear(&s, &send, &receive);
        assert_int_equal(receive.pieces, 3);
        assert_int_equal(receive.frame.length, LONG + 16);
        assert_int_equal(receive.piece[1].bytes, 0);
        assert_memory_equal(artel__net_part(&receive, 0, 0), s.memory + 1, LONG - 3);
        const uint8_t *seen = artel__net_part(&receive, 2, LONG);
        assert_ptr_not_equal(seen, s.memory + 100000);
        s.memory[100003] = (uint8_t)(90 + round);
        assert_memory_equal(seen, s.memory + 100000, 16);
        progress_both(&s);
        assert_false(artel__net_done(&send));
        assert_int_equal(artel__net_release(s.mesh.endpoint[1], &receive), ARTEL_OK);
        assert_int_equal(tcp_run(&s.mesh, 0, &send), ARTEL_OK);
        assert_true(artel__net_done(&send));
    }
    assert_int_equal(mappings(), 1);
    close_scene(&s);
    assert_int_equal(mappings(), 0);
}

/* Short messages, and such that do not lie in one block, are copied: done before anybody reads them. */
static void copied(void **state)
{
    (void)state;
    static uint8_t elsewhere[LONG];
    scene s;
    open_scene(&s);
    const artel__net_piece pieces[][2] = {{{s.memory, 1000}, {s.memory + 5000, 100}},
                                          {{s.memory, LONG}, {elsewhere, 8}},
                                          {{elsewhere, LONG}, {s.memory, 8}}};
    for (uint32_t i = 0; i < 3; i++) {
        artel__net_request send = tcp_request(1, i, pieces[i]), receive = tcp_request(0, i, NULL);
        send.pieces = 2;
        send_and_hear(&s, &send, &receive);
        assert_true(artel__net_done(&send));
        assert_memory_equal(artel__net_part(&receive, 0, 0), pieces[i][0].data, pieces[i][0].bytes);
        assert_int_equal(artel__net_release(s.mesh.endpoint[1], &receive), ARTEL_OK);
    }
    assert_int_equal(mappings(), 0);
    close_scene(&s);
}

/* Over a socket lendable memory is memory as any other. */
static void over_sockets(void **state)
{
    (void)state;
    scene s;
    void *block;
    tcp_open(&s.mesh, 2, false);
    assert_int_equal(artel__alloc_lendable(s.mesh.ctx, BYTES, "test", &block), ARTEL_OK);
    s.memory = memset(block, 5, BYTES);
    artel__net_piece piece = {s.memory, LONG};
    artel__net_request send = tcp_request(1, 0, &piece), receive = tcp_request(0, 0, NULL);
    send_and_hear(&s, &send, &receive);
    assert_int_equal(tcp_run(&s.mesh, 0, &send), ARTEL_OK);
    assert_memory_equal(artel__net_part(&receive, 0, 0), s.memory, LONG);
    assert_int_equal(artel__net_release(s.mesh.endpoint[1], &receive), ARTEL_OK);
    close_scene(&s);
}

/* A sender that withdraws does not wait; the reader learns that what it has read is void, and the next message is good
 * again. */
static void recalled(void **state)
{
    (void)state;
    scene s;
    open_scene(&s);
    artel__net_piece piece = {s.memory, LONG};
    for (uint32_t i = 0; i < 3; i++) {
        artel__net_request send = tcp_request(1, 2 * i, &piece), receive = tcp_request(0, 2 * i, NULL);
        send_and_hear(&s, &send, &receive);
        artel__net_withdraw(s.mesh.endpoint[0], &send);
        assert_int_equal(artel__net_release(s.mesh.endpoint[1], &receive), ARTEL_ERROR_CANCELLED);
        artel__net_request again = tcp_request(1, 2 * i + 1, &piece), heard = tcp_request(0, 2 * i + 1, NULL);
        send_and_hear(&s, &again, &heard);
        assert_int_equal(artel__net_release(s.mesh.endpoint[1], &heard), ARTEL_OK);
        assert_int_equal(tcp_run(&s.mesh, 0, &again), ARTEL_OK);
    }
    close_scene(&s);
}

/* The lender's connection ends while its memory is read: it can still be read, and is void. */
static void lost_meanwhile(void **state)
{
    (void)state;
    for (int closed = 0; closed < 2; closed++) {
        scene s;
        open_scene(&s);
        artel__net_piece piece = {s.memory, LONG};
        artel__net_request send = tcp_request(1, 0, &piece), receive = tcp_request(0, 0, NULL);
        send_and_hear(&s, &send, &receive);
        if (closed) { /* another connection takes its place */
            artel__connection *near;
            for (int r = 0; r < 2; r++) artel__tcp_lose(s.mesh.endpoint[r], 1 - r, "test");
            assert_int_equal(support_mesh_dial(&s.mesh, 0, 1, ARTEL__NET_DATA, &near), ARTEL_OK);
            artel__connection *far = support_mesh_meet(&s.mesh, 1, near);
            assert_non_null(far);
            assert_int_equal(artel__tcp_attach(s.mesh.endpoint[1], 0, far), ARTEL_OK);
            artel__net_withdraw(s.mesh.endpoint[0], &send);
            assert_int_equal(artel__tcp_attach(s.mesh.endpoint[0], 1, near), ARTEL_OK);
        } else {
            artel__tcp_lose(s.mesh.endpoint[0], 1, "test");
            artel__net_withdraw(s.mesh.endpoint[0], &send);
        }
        assert_memory_equal(artel__net_part(&receive, 0, 0), s.memory, LONG);
        assert_int_equal(artel__net_release(s.mesh.endpoint[1], &receive), ARTEL_ERROR_CANCELLED);
        if (closed) progress_both(&s);
        assert_int_equal(mappings(), closed ? 0 : 1);
        close_scene(&s);
    }
}

/* Nobody asks, or only for something shorter: the sender gets its memory back. */
static void returned_unread(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        scene s;
        open_scene(&s);
        artel__net_piece piece = {s.memory, LONG};
        artel__net_request send = tcp_request(1, 0, &piece), receive = tcp_request(0, 0, NULL);
        receive.most = 1000;
        if (kind == 0) assert_int_equal(artel__net_receive(s.mesh.endpoint[1], &receive), ARTEL_OK);
        assert_int_equal(artel__net_send(s.mesh.endpoint[0], &send), ARTEL_OK);
        progress_both(&s);
        if (kind > 0) assert_int_equal(artel__tcp_held_bytes(s.mesh.endpoint[1]), 24 + 16 + ARTEL__TCP_MESSAGE_COST);
        if (kind == 1) assert_int_equal(artel__net_receive(s.mesh.endpoint[1], &receive), ARTEL_OK);
        if (kind == 2) artel__tcp_set_generation(s.mesh.endpoint[1], 6);
        assert_int_equal(tcp_run(&s.mesh, 0, &send), ARTEL_OK);
        assert_true(artel__net_done(&send));
        if (kind < 2) {
            assert_true(artel__net_done(&receive));
            assert_int_equal(receive.frame.length, LONG);
            assert_int_equal(receive.pieces, 0);
            assert_int_equal(artel__net_release(s.mesh.endpoint[1], &receive), ARTEL_OK);
        }
        close_scene(&s);
    }
}

/* Blocks come and go, many more than are kept; the peer maps those that are lent, and unmaps what it need not keep. */
static void blocks_come_and_go(void **state)
{
    (void)state;
    scene s;
    open_scene(&s);
    for (uint32_t i = 0; i < 3 * ARTEL__SHARED_BLOCKS; i++) {
        void *block;
        assert_int_equal(artel__alloc_lendable(s.mesh.ctx, LONG, "test", &block), ARTEL_OK);
        memset(block, (int)i, LONG);
        artel__net_piece piece = {block, LONG};
        artel__net_request send = tcp_request(1, i, &piece), receive = tcp_request(0, i, NULL);
        send_and_hear(&s, &send, &receive);
        assert_memory_equal(artel__net_part(&receive, 0, 0), block, LONG);
        assert_int_equal(artel__net_release(s.mesh.endpoint[1], &receive), ARTEL_OK);
        assert_int_equal(tcp_run(&s.mesh, 0, &send), ARTEL_OK);
        assert_true(mappings() <= 2);
        artel__free_lendable(s.mesh.ctx, block, LONG);
    }
    close_scene(&s);
}

/* Blocks that were freed are unmapped by the peer when it hears of anything at all, all of them. */
static void forgotten_soon(void **state)
{
    (void)state;
    scene s;
    void *block[5];
    uint32_t word = 7;
    open_scene(&s);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(artel__alloc_lendable(s.mesh.ctx, LONG, "test", &block[i]), ARTEL_OK);
        artel__net_piece piece = {block[i], LONG};
        artel__net_request send = tcp_request(1, i, &piece), receive = tcp_request(0, i, NULL);
        send_and_hear(&s, &send, &receive);
        assert_int_equal(artel__net_release(s.mesh.endpoint[1], &receive), ARTEL_OK);
        assert_int_equal(tcp_run(&s.mesh, 0, &send), ARTEL_OK);
    }
    assert_int_equal(mappings(), 5);
    for (int i = 0; i < 4; i++) artel__free_lendable(s.mesh.ctx, block[i], LONG);
    artel__net_piece piece = {&word, sizeof word};
    artel__net_request send = tcp_request(1, 9, &piece), receive = tcp_request(0, 9, NULL);
    send_and_hear(&s, &send, &receive);
    assert_int_equal(mappings(), 1);
    assert_int_equal(artel__net_release(s.mesh.endpoint[1], &receive), ARTEL_OK);
    artel__free_lendable(s.mesh.ctx, block[4], LONG);
    close_scene(&s);
}

/* With more blocks at once than an end keeps, the others are copied; when those are freed, there is room for new ones.
 */
static void too_many_blocks(void **state)
{
    (void)state;
    enum {
        MORE = ARTEL__SHARED_BLOCKS + 3
    };
    void *block[MORE + 1];
    int lent = 0;
    scene s;
    open_scene(&s);
    for (uint32_t i = 0; i <= MORE; i++) {
        for (int k = 0; i == MORE && k < MORE; k++) artel__free_lendable(s.mesh.ctx, block[k], LONG);
        assert_int_equal(artel__alloc_lendable(s.mesh.ctx, LONG, "test", &block[i]), ARTEL_OK);
        memset(block[i], (int)i, LONG);
        artel__net_piece piece = {block[i], LONG};
        artel__net_request send = tcp_request(1, i, &piece), receive = tcp_request(0, i, NULL);
        send_and_hear(&s, &send, &receive);
        lent += !artel__net_done(&send);
        assert_memory_equal(artel__net_part(&receive, 0, 0), block[i], LONG);
        assert_int_equal(artel__net_release(s.mesh.endpoint[1], &receive), ARTEL_OK);
        assert_int_equal(tcp_run(&s.mesh, 0, &send), ARTEL_OK);
    }
    assert_int_equal(lent, ARTEL__SHARED_BLOCKS + 1);
    artel__free_lendable(s.mesh.ctx, block[MORE], LONG);
    close_scene(&s);
}

/* -- what a peer may say -- */

/* Rank 0 is the test itself. */
typedef struct forger {
    support_mesh mesh;
    artel__connection *connection;
    uint32_t number;
    uint8_t *memory;
    artel__lendable block;
    uint8_t bytes[1024];
    size_t count;
} forger;

static void open_forger(forger *f, bool shares)
{
    void *block;
    memset(f, 0, sizeof *f);
    f->mesh = (support_mesh){.ranks = 2, .shares = shares};
    assert_int_equal(artel_context_create(NULL, &f->mesh.ctx), ARTEL_OK);
    assert_int_equal(support_mesh_listen(&f->mesh), ARTEL_OK);
    artel__far_options options = {.rank = 1, .ranks = 2};
    assert_int_equal(artel__tcp_create(f->mesh.ctx, &options, &f->mesh.endpoint[1]), ARTEL_OK);
    assert_int_equal(support_mesh_dial(&f->mesh, 0, 1, ARTEL__NET_DATA, &f->connection), ARTEL_OK);
    artel__connection *far = support_mesh_meet(&f->mesh, 1, f->connection);
    assert_non_null(far);
    assert_int_equal(artel__tcp_attach(f->mesh.endpoint[1], 0, far), ARTEL_OK);
    assert_int_equal(artel__alloc_lendable(f->mesh.ctx, BYTES, "test", &block), ARTEL_OK);
    f->memory = memset(block, 3, BYTES);
    assert_true(artel__find_lendable(f->mesh.ctx, block, BYTES, &f->block));
    if (shares) assert_true(artel__shared_hand(artel__connection_carrier(f->connection)->shared, &f->block));
}

static void close_forger(forger *f)
{
    artel__connection_close(f->connection);
    artel__free_lendable(f->mesh.ctx, f->memory, BYTES);
    tcp_close(&f->mesh);
}

static void put_header(forger *f, const artel__frame *frame)
{
    uint8_t *at = f->bytes + f->count;
    artel__frame_encode(frame, at);
    uint32_t crc = artel__crc32c(0, at, ARTEL__FRAME_BYTES - 4);
    artel__bytes_put(at + ARTEL__FRAME_BYTES - 4,
                     artel__tcp_seal(crc, artel__connection_mask(f->connection, true), f->number++), 4);
    f->count += ARTEL__FRAME_BYTES;
}

typedef struct description {
    uint64_t block, recalls, number;
    uint64_t place[2][2]; /* offset, bytes */
} description;

static void put_description(forger *f, const description *d)
{
    uint8_t *at = f->bytes + f->count, zero[4] = {0};
    at = artel__bytes_put(
        at, artel__tcp_seal(artel__crc32c(0, zero, 4), artel__connection_mask(f->connection, true), f->number++), 4);
    at = artel__bytes_put(at, 0, 4);
    at = artel__bytes_put(at, d->block, 8);
    at = artel__bytes_put(at, d->recalls, 8);
    at = artel__bytes_put(at, d->number, 8);
    for (int i = 0; i < 2; i++) {
        at = artel__bytes_put(at, d->place[i][0], 8);
        at = artel__bytes_put(at, d->place[i][1], 8);
    }
    f->count = (size_t)(at - f->bytes);
}

/* Whether the connection has survived what was put. */
static bool deliver(forger *f, const artel__net_request *receive)
{
    artel__net_why why = {""};
    artel__net_stream *stream = artel__connection_carrier(f->connection);
    assert_int_equal(artel__net_stream_write(stream, &(struct iovec){f->bytes, f->count}, 1, &why), f->count);
    tcp_run(&f->mesh, 1, receive);
    return !artel__tcp_is_lost(f->mesh.endpoint[1], 0);
}

static void forged_descriptions(void **state)
{
    (void)state;
    static const description change[] = {
        {.place = {{0, 0}, {0, 0}}},              /* a right one, to begin with */
        {.block = 1},                             /* a block that was not handed over */
        {.place = {{BYTES, 0}, {0, 0}}},          /* behind the end */
        {.place = {{UINT64_MAX - 8, 0}, {0, 0}}}, /* around the end */
        {.place = {{0, BYTES}, {0, 0}}},          /* longer than the block, and than the message says */
        {.place = {{0, 0}, {0, 8}}},              /* longer than the message says */
        {.place = {{0, 0}, {0, UINT64_MAX - LONG}}},
    };
    for (size_t i = 0; i < ARTEL__COUNT(change); i++) {
        forger f;
        open_forger(&f, true);
        artel__net_request receive = tcp_request(0, 0, NULL);
        assert_int_equal(artel__net_receive(f.mesh.endpoint[1], &receive), ARTEL_OK);
        description d = {.block = f.block.id + change[i].block, .number = 1, .place = {{8, LONG}, {1000, 0}}};
        for (int k = 0; k < 4; k++) d.place[k / 2][k % 2] += change[i].place[k / 2][k % 2];
        put_header(&f, &(artel__frame){.kind = ARTEL__FRAME_NODES, .generation = 5, .length = LONG, .lent = 2});
        put_description(&f, &d);
        assert_int_equal(deliver(&f, &receive), i == 0);
        assert_int_equal(artel__net_done(&receive), i == 0);
        assert_int_equal(f.mesh.incidents, i > 0);
        artel__net_withdraw(f.mesh.endpoint[1], &receive);
        close_forger(&f);
    }
}

static int open_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}

/* A descriptor with a message of one byte. */
static void send_short(int socket, int fd)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } box = {.room = {0}};
    struct iovec one = {&(char){1}, 1};
    struct msghdr message = {
        .msg_iov = &one, .msg_iovlen = 1, .msg_control = box.room, .msg_controllen = sizeof box.room};
    *CMSG_FIRSTHDR(&message) =
        (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd)};
    memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &fd, sizeof fd);
    assert_int_equal(sendmsg(socket, &message, MSG_NOSIGNAL), 1);
}

static void forged_headers(void **state)
{
    (void)state;
    static const artel__frame frame[] = {
        {.kind = ARTEL__FRAME_NODES, .length = LONG, .lent = UINT32_MAX}, /* more pieces than there can be */
        {.kind = ARTEL__FRAME_NODES, .lent = 1},                          /* nothing lent */
        {.kind = ARTEL__FRAME_RETURN, .length = 8},
        {.kind = ARTEL__FRAME_FORGET, .lent = 1},
        {.kind = ARTEL__FRAME_RETURN, .step = 77},               /* of what was not lent: ignored */
        {.kind = ARTEL__FRAME_FORGET, .step = 77},               /* of what was not handed over */
        {.kind = ARTEL__FRAME_NODES, .length = LONG, .lent = 2}, /* right, but for sockets */
    };
    for (size_t i = 0; i < ARTEL__COUNT(frame); i++) {
        for (int shares = 0; shares < 2; shares++) {
            forger f;
            open_forger(&f, shares);
            artel__net_request after = tcp_request(0, 9, NULL);
            assert_int_equal(artel__net_receive(f.mesh.endpoint[1], &after), ARTEL_OK);
            put_header(&f, &frame[i]);
            if (frame[i].lent == 2)
                put_description(&f, &(description){.block = f.block.id, .place = {{0, LONG}, {0, 0}}});
            put_header(&f, &(artel__frame){.kind = ARTEL__FRAME_NODES, .generation = 5, .slice = 9});
            bool good = shares && i >= 4;
            assert_int_equal(deliver(&f, &after), good);
            assert_int_equal(artel__net_done(&after), good);
            artel__net_withdraw(f.mesh.endpoint[1], &after);
            close_forger(&f);
        }
    }
}

/* What is handed over in place of a block is not mapped: the connection ends with its first message, and no descriptor
 * stays open. */
static void forged_blocks(void **state)
{
    (void)state;
    enum {
        RIGHT,
        UNSEALED,
        EMPTY,
        PIPE,
        TWICE,
        CUT_SHORT,
        KINDS
    };
    for (int kind = 0; kind < KINDS; kind++) {
        forger f;
        int fd[2], ends[2];
        open_forger(&f, true);
        uint64_t id = f.block.id + 1;
        int pass = artel__connection_carrier(f.connection)->shared->pass;
        assert_int_equal(pipe(ends), 0);
        fd[0] = kind == UNSEALED || kind == EMPTY ? memfd_create("test", MFD_ALLOW_SEALING) : artel__sealed_file(BYTES);
        if (kind == UNSEALED) assert_int_equal(ftruncate(fd[0], BYTES), 0);
        if (kind == EMPTY) assert_int_equal(fcntl(fd[0], F_ADD_SEALS, F_SEAL_SHRINK), 0);
        fd[1] = kind == PIPE ? ends[0] : fd[0];
        int before = open_descriptors();
        if (kind == CUT_SHORT)
            send_short(pass, fd[1]);
        else
            assert_true(artel__shared_send_descriptors(pass, kind == TWICE ? f.block.id : id, &fd[1], 1));
        artel__net_request receive = tcp_request(0, 0, NULL);
        assert_int_equal(artel__net_receive(f.mesh.endpoint[1], &receive), ARTEL_OK);
        put_header(&f, &(artel__frame){.kind = ARTEL__FRAME_NODES, .generation = 5, .length = LONG, .lent = 2});
        put_description(&f, &(description){.block = id, .number = 1, .place = {{8, LONG}, {1000, 0}}});
        assert_int_equal(deliver(&f, &receive), kind == RIGHT);
        assert_int_equal(artel__net_done(&receive), kind == RIGHT);
        assert_int_equal(open_descriptors(), before);
        artel__net_withdraw(f.mesh.endpoint[1], &receive);
        close(fd[0]);
        close(ends[0]);
        close(ends[1]);
        close_forger(&f);
    }
}

/* Descriptions of anything: taken or refused, never read beyond the block. */
static void random_descriptions(void **state)
{
    (void)state;
    uint64_t seed = 1;
    int taken = 0;
    for (int i = 0; i < 300; i++) {
        forger f;
        open_forger(&f, true);
        artel__net_request receive = tcp_request(0, 0, NULL);
        assert_int_equal(artel__net_receive(f.mesh.endpoint[1], &receive), ARTEL_OK);
        uint64_t any[6];
        for (int k = 0; k < 6; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            any[k] = (seed >> 33) % (BYTES / 2) * (seed >> 60 ? 1 : (uint64_t)1 << 45);
        }
        description d = {.block = f.block.id + (any[0] % 16 == 0), .recalls = any[1] % 2, .number = any[1]};
        memcpy(d.place, any + 2, sizeof d.place);
        uint64_t length = (d.place[0][1] + 7) / 8 * 8 + (d.place[1][1] + 7) / 8 * 8;
        put_header(&f, &(artel__frame){.kind = ARTEL__FRAME_NODES, .generation = 5, .length = length, .lent = 2});
        put_description(&f, &d);
        if (deliver(&f, &receive)) {
            taken++;
            uint64_t sum = 0;
            for (int k = 0; k < receive.pieces; k++) {
                for (size_t b = 0; b < receive.piece[k].bytes; b++) sum += ((const uint8_t *)receive.piece[k].data)[b];
            }
            assert_true(sum == 3 * (d.place[0][1] + d.place[1][1]));
            assert_int_equal(artel__net_release(f.mesh.endpoint[1], &receive),
                             d.recalls ? ARTEL_ERROR_CANCELLED : ARTEL_OK);
        }
        artel__net_withdraw(f.mesh.endpoint[1], &receive);
        close_forger(&f);
    }
    assert_in_range(taken, 50, 299);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_in_place),       cmocka_unit_test(copied),
        cmocka_unit_test(over_sockets),        cmocka_unit_test(recalled),
        cmocka_unit_test(lost_meanwhile),      cmocka_unit_test(returned_unread),
        cmocka_unit_test(blocks_come_and_go),  cmocka_unit_test(forgotten_soon),
        cmocka_unit_test(too_many_blocks),     cmocka_unit_test(forged_descriptions),
        cmocka_unit_test(forged_headers),      cmocka_unit_test(forged_blocks),
        cmocka_unit_test(random_descriptions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
