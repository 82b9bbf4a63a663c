/* SPDX-License-Identifier: Apache-2.0 */
#include "net/help_sites.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

void sites_open(support_mesh *mesh, bool secure)
{
    memset(mesh, 0, sizeof *mesh);
    assert_int_equal(artel_context_create(NULL, &mesh->ctx), ARTEL_OK);
    mesh->ranks = 2;
    mesh->secure = secure;
    assert_int_equal(support_mesh_listen(mesh), ARTEL_OK);
}

void sites_close(support_mesh *mesh)
{
    support_mesh_close(mesh);
    artel_context_destroy(mesh->ctx);
}

int sites_dial(const support_mesh *mesh)
{
    artel__net_address to;
    char text[32];
    snprintf(text, sizeof text, "127.0.0.1:%d", artel__listener_port(mesh->listener[1]));
    assert_true(artel__net_address_parse(text, &to));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to.socket, to.bytes), 0);
    return fd;
}
