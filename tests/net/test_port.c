/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and ports: what is an address; a port that is taken, let go late, or met at the limit of open files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/help_sites.h"

static int binds_in_vain; /* so many times from now on somebody else has the port */

int bind(int fd, __CONST_SOCKADDR_ARG address, socklen_t size) /* as glibc declares it */
{
    if (binds_in_vain == 0) return (int)syscall(SYS_bind, fd, address.__sockaddr__, size);
    binds_in_vain--;
    errno = EADDRINUSE;
    return -1;
}

static void the_port_is_taken(void **state)
{
    (void)state;
    support_mesh mesh;
    sites_open(&mesh, false);
    artel__listener_options options = {.most_pending = 0};
    char text[32];
    artel__listener *second;
    snprintf(text, sizeof text, "127.0.0.1:%d", artel__listener_port(mesh.listener[1]));
    assert_true(artel__net_address_parse(text, &options.address));
    assert_int_equal(artel__listener_create(&mesh.site[0], &options, &second), ARTEL_ERROR_IO);
    assert_string_equal(artel_context_error(mesh.ctx)->where, text);
    sites_close(&mesh);
}

/* As when a task is started again whose killed process had a child that has not run its program yet. */
static void the_port_is_let_go(void **state)
{
    (void)state;
    support_mesh mesh;
    sites_open(&mesh, false);
    artel__listener_options options = {.most_pending = 0};
    artel__listener *listener;
    assert_true(artel__net_address_parse("127.0.0.1:0", &options.address));
    binds_in_vain = 3;
    assert_int_equal(artel__listener_create(&mesh.site[0], &options, &listener), ARTEL_OK);
    assert_int_equal(binds_in_vain, 0);
    artel__listener_destroy(listener);
    sites_close(&mesh);
}

/* At the limit of open files the port is let be for a moment, and whoever waits there is taken later. */
static void no_files(void **state)
{
    (void)state;
    support_mesh mesh;
    struct rlimit before, none;
    sites_open(&mesh, false);
    artel__listener *listener = mesh.listener[1];
    int fd = sites_dial(&mesh);
    struct pollfd ready = {artel__listener_fd(listener), POLLIN, 0};
    assert_int_equal(poll(&ready, 1, 2000), 1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    artel__listener_progress(listener);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(artel__listener_lack(listener), EMFILE);
    assert_int_equal(artel__listener_pending(listener), 0);
    assert_true(artel__listener_deadline(listener) < INT64_MAX);
    assert_int_equal(poll(&ready, 1, 0), 0);
    for (int64_t until = artel__now_ns() + INT64_C(120000000000);
         artel__now_ns() < until && !artel__listener_pending(listener);) {
        artel__listener_progress(listener);
        poll(&ready, 1, 5);
    }
    assert_int_equal(artel__listener_pending(listener), 1);
    assert_int_equal(artel__listener_lack(listener), 0);
    close(fd);
    sites_close(&mesh);
}

static void addresses(void **state)
{
    artel__net_address a, b;
    char text[ARTEL__NET_ADDRESS_TEXT];
    artel_context *ctx;
    (void)state;
    assert_true(artel__net_address_parse("127.0.0.1:80", &a));
    assert_false(artel__net_address_parse("127.0.0.1:65536", &b)); /* would be port 0 */
    assert_string_equal(artel__net_address_text(&a, text), "127.0.0.1:80");
    assert_true(artel__net_address_is_loopback(&a));
    assert_true(artel__net_address_parse("[::1]:8080", &b));
    assert_string_equal(artel__net_address_text(&b, text), "[::1]:8080");
    assert_true(artel__net_address_is_loopback(&b));
    assert_int_equal(artel__net_address_port(&b), 8080);
    assert_false(artel__net_address_same_host(&a, &b));
    assert_true(artel__net_address_parse("[::ffff:127.0.0.1]:9", &b));
    assert_true(artel__net_address_same_host(&a, &b));
    assert_true(artel__net_address_parse("10.1.2.3:9", &b));
    assert_false(artel__net_address_is_loopback(&b));
    assert_true(artel__net_address_parse("10.1.2.3:065535", &b));
    assert_int_equal(artel__net_address_port(&b), 65535);
    static const char *const wrong[] = {
        "",         ":80",       "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:+80",
        "[::1]:-0", "[::1]:80 ", "[::1]: 80", "[::1:80",    "host:80",     "1.2.3.4:99999999"};
    for (size_t i = 0; i < ARTEL__COUNT(wrong); i++) assert_false(artel__net_address_parse(wrong[i], &a));
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    assert_int_equal(artel__net_address_resolve(ctx, "nowhere", &a), ARTEL_ERROR_INVALID);
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_port_is_taken),
        cmocka_unit_test(the_port_is_let_go),
        cmocka_unit_test(no_files),
        cmocka_unit_test(addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
