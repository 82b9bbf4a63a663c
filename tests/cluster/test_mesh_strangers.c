/* SPDX-License-Identifier: Apache-2.0 */
/* A mesh that encrypts and waits for a task, among strangers on the host of that task: whatever they say, it goes on
 * waiting, and begins when the task comes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "cluster/help_players.h"
#include "net/address.h"
#include "net/hello.h"
#include "support/certificates.h"

static players_scene scene;
static char folder[] = "/tmp/artel-strangers-XXXXXX";

/* DIR/worker-<i>/{ca.crt, tls.crt, tls.key}. */
static void make_certificates(void)
{
    char path[4][96], name[16];
    assert_non_null(mkdtemp(folder));
    snprintf(path[0], sizeof path[0], "%s/ca", folder);
    support_authority *authority = support_authority_create(path[0]);
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "worker-%d", i);
        snprintf(path[1], sizeof path[1], "%s/%s", folder, name);
        assert_int_equal(mkdir(path[1], 0700), 0);
        snprintf(path[1], sizeof path[1], "%s/%s/ca.crt", folder, name);
        snprintf(path[2], sizeof path[2], "%s/%s/tls.crt", folder, name);
        snprintf(path[3], sizeof path[3], "%s/%s/tls.key", folder, name);
        assert_int_equal(link(path[0], path[1]), 0);
        support_issue(authority, &(support_certificate){name, path[2], path[3], -60, 3600});
    }
    support_authority_destroy(authority);
}

/* Where player 0 listens. */
static artel__net_address address_of_player(void)
{
    char line[64] = "";
    artel__net_address to;
    FILE *f = fopen(scene.file, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "worker %63s", line), 1);
    fclose(f);
    assert_true(artel__net_address_parse(line, &to));
    return to;
}

/* Connects as soon as somebody listens, says it, and reads until the other side has enough. */
static void say(const artel__net_address *to, const void *bytes, size_t count)
{
    char away[512];
    int fd = -1, connected = -1;
    for (int64_t until = artel__now_ns() + INT64_C(120000000000); connected != 0 && artel__now_ns() < until;) {
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        connected = connect(fd, (const struct sockaddr *)&to->socket, to->bytes);
        if (connected == 0) break;
        close(fd);
        poll(NULL, 0, 5);
    }
    assert_int_equal(connected, 0);
    assert_int_equal(send(fd, bytes, count, MSG_NOSIGNAL), (ssize_t)count);
    while (recv(fd, away, sizeof away, 0) > 0) {
    }
    close(fd);
}

static void test_strangers_end_nothing(void **state)
{
    (void)state;
    uint8_t bytes[ARTEL__HELLO_BYTES];
    make_certificates();
    players_open(&scene, 2, 20);
    atomic_store(&scene.hold, 1 << 20);
    scene.options.cert_dir = folder;
    players_start(&scene, 0, PLAYER_ENDS, 0);
    const artel__net_address to = address_of_player();
    for (int fault = ARTEL__FAULT_UNREACHABLE; fault <= ARTEL__FAULT_REJECTED; fault++) {
        artel__refusal_encode(&(artel__refusal){.fault = (artel__net_fault)fault, .reason = "no"}, bytes);
        say(&to, bytes, sizeof bytes);
    }
    const artel__hello hello = {
        .purpose = ARTEL__NET_CONTROL, .job = 1, .incarnation = 1, .task = "worker-1", .to = "worker-0"};
    artel__hello_encode(&hello, bytes);
    say(&to, bytes, sizeof bytes);
    bytes[4]++; /* another version */
    say(&to, bytes, sizeof bytes);
    say(&to, "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", 10);
    say(&to, "GET / HTTP/1.1\r\n\r\n", 18);
    players_start(&scene, 1, PLAYER_ENDS, 0);
    for (int i = 0; i < 2; i++) {
        players_join(&scene, i);
        if (scene.player[i].status < 0) fail_msg("player %d: %s", i, scene.player[i].why);
        assert_int_equal(scene.player[i].step, 20);
    }
    players_close(&scene);
    artel_context *ctx;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    artel__remove_tree(ctx, folder);
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_strangers_end_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
