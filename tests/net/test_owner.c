/* SPDX-License-Identifier: Apache-2.0 */
/* The user at the other end: this one's processes, those of another user (where the test runs as root), and ends that
 * nobody holds. A process of another user is refused before it has said a word that counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/owner.h"
#include "support/net_mesh.h"

#define NOBODY 65534

/* Two ends of a connection over loopback of `family`; the listening end may speak both. */
static void connect_pair(int family, bool both, int out[2])
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = both ? in6addr_any : in6addr_loopback};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    bool listens6 = family == AF_INET6 || both;
    struct sockaddr *own = listens6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4;
    socklen_t size = listens6 ? sizeof v6 : sizeof v4;
    int l = socket(own->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listens6) assert_int_equal(setsockopt(l, IPPROTO_IPV6, IPV6_V6ONLY, &(int){!both}, sizeof(int)), 0);
    assert_int_equal(bind(l, own, size), 0);
    assert_int_equal(listen(l, 1), 0);
    assert_int_equal(getsockname(l, own, &size), 0);
    if (both) v4.sin_port = v6.sin6_port;
    struct sockaddr *to = family == AF_INET ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
    out[0] = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(out[0], to, family == AF_INET ? sizeof v4 : sizeof v6), 0);
    out[1] = accept(l, NULL, NULL);
    assert_true(out[1] >= 0);
    close(l);
}

static void own_process(void **state)
{
    static const struct {
        int family;
        bool both;
    } form[] = {{AF_INET, false}, {AF_INET, true}, {AF_INET6, false}};
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(form); i++) {
        int end[2];
        uid_t owner = 12345;
        connect_pair(form[i].family, form[i].both, end);
        for (int k = 0; k < 2; k++) {
            assert_true(artel__net_owner(end[k], &owner));
            assert_int_equal(owner, geteuid());
        }
        close(end[0]);
        assert_false(artel__net_owner(end[1], &owner)); /* said its word and ran away */
        close(end[1]);
    }
    assert_true(artel__net_owner_is_trusted(geteuid()));
    assert_true(artel__net_owner_is_trusted(0));
    assert_false(artel__net_owner_is_trusted(geteuid() + 1));
}

/* A process of nobody connects to rank 1 and greets as worker-0 would; it ends with 1 when it is answered as a member
 * is. */
static int greet_as_another_user(const support_mesh *mesh)
{
    artel__net_address to;
    char text[32];
    uint8_t bytes[ARTEL__HELLO_BYTES];
    snprintf(text, sizeof text, "127.0.0.1:%d", artel__listener_port(mesh->listener[1]));
    if (!artel__net_address_parse(text, &to) || setuid(NOBODY) != 0) return 2;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    const artel__hello hello = {
        .purpose = ARTEL__NET_CONTROL, .job = 7, .incarnation = 1, .task = "worker-0", .to = "worker-1"};
    artel__hello_encode(&hello, bytes);
    if (connect(fd, (const struct sockaddr *)&to.socket, to.bytes) != 0) return 3;
    if (send(fd, bytes, sizeof bytes, MSG_NOSIGNAL) != (ssize_t)sizeof bytes) return 4;
    if (recv(fd, bytes, sizeof bytes, MSG_WAITALL) != (ssize_t)sizeof bytes) return 5;
    artel__hello answer;
    artel__refusal refusal;
    bool refused;
    artel__hello_decode(bytes, &answer, &refusal, &refused);
    return refused && strstr(refusal.reason, "another user") ? 0 : 1;
}

static void another_user(void **state)
{
    (void)state;
    support_mesh mesh;
    int status;
    if (geteuid() != 0) skip();
    memset(&mesh, 0, sizeof mesh);
    assert_int_equal(artel_context_create(NULL, &mesh.ctx), ARTEL_OK);
    mesh.ranks = 2;
    assert_int_equal(support_mesh_listen(&mesh), ARTEL_OK);
    pid_t child = fork();
    if (child == 0) _exit(greet_as_another_user(&mesh));
    assert_true(child > 0);
    while (waitpid(child, &status, WNOHANG) == 0) {
        artel__listener_progress(mesh.listener[1]);
        assert_null(artel__listener_take(mesh.listener[1]));
        struct pollfd ready = {artel__listener_fd(mesh.listener[1]), POLLIN, 0};
        poll(&ready, 1, 5);
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(mesh.fault, ARTEL__FAULT_PLAINTEXT);
    assert_false(mesh.proven);
    support_mesh_close(&mesh);
    artel_context_destroy(mesh.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(own_process), cmocka_unit_test(another_user)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
