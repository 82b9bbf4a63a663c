/* SPDX-License-Identifier: Apache-2.0 */
#include "net/help_tcp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/clock.h"

void tcp_open(support_mesh *mesh, int ranks, bool secure)
{
    memset(mesh, 0, sizeof *mesh);
    assert_int_equal(artel_context_create(NULL, &mesh->ctx), ARTEL_OK);
    mesh->ranks = ranks;
    mesh->secure = secure;
    mesh->window = 4096;
    assert_int_equal(support_mesh_open(mesh), ARTEL_OK);
}

void tcp_close(support_mesh *mesh)
{
    support_mesh_close(mesh);
    artel_context_destroy(mesh->ctx);
}

artel__net_request tcp_request(int peer, uint32_t slice, const artel__net_piece *piece)
{
    artel__net_request r = {.peer = peer, .piece = piece, .pieces = piece ? 1 : 0};
    r.frame = (artel__frame){.kind = ARTEL__FRAME_NODES, .generation = 5, .slice = slice};
    return r;
}

artel_status tcp_run(support_mesh *mesh, int of, const artel__net_request *done)
{
    int64_t until = artel__now_ns() + INT64_C(120000000000);
    artel_status status = ARTEL_OK;
    while (status == ARTEL_OK && !(done && artel__net_done(done)) && artel__now_ns() < until) {
        for (int r = 0; r < mesh->ranks; r++) {
            if (!mesh->endpoint[r]) continue;
            artel_status one = artel__net_progress(mesh->endpoint[r]);
            if (r == of) status = one;
        }
    }
    return status;
}
