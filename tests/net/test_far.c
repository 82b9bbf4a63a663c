/* SPDX-License-Identifier: Apache-2.0 */
/* Transports between hosts: the list, names, and what each of them must do beside carrying messages
 * (tests/net/test_transport.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "support/net_mesh.h"
#include "support/relay.h"

static void test_names(void **state)
{
    (void)state;
    artel_context *ctx;
    const artel__far_transport *found = NULL;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    assert_int_equal(artel__far_find(ctx, NULL, &found), ARTEL_OK);
    assert_ptr_equal(found, artel__far_transports[0]);
    for (int i = 0; artel__far_transports[i]; i++) {
        const artel__far_transport *t = artel__far_transports[i];
        assert_true(t->name[0] && t->doc[0]);
        assert_true(t->create && t->attach && t->is_attached && t->is_lost && t->lose && t->wake && t->awaited);
        assert_int_equal(artel__far_find(ctx, t->name, &found), ARTEL_OK);
        assert_ptr_equal(found, t);
    }
    assert_int_equal(artel__far_find(ctx, "tpc", &found), ARTEL_ERROR_INVALID);
    assert_string_equal(artel_context_error(ctx)->advice, "did you mean tcp?");
    assert_int_equal(artel__far_find(ctx, "relay", &found), ARTEL_ERROR_INVALID);
    assert_int_equal(support_relay_add(ctx), ARTEL_OK);
    assert_int_equal(artel__far_find(ctx, "relay", &found), ARTEL_OK);
    assert_string_equal(found->name, "relay");
    artel_context_destroy(ctx);
}

static void *wake_soon(void *endpoint)
{
    artel__far_wake(endpoint);
    return NULL;
}

/* Three ranks: who is attached, awaited, unheard, lost; a wait that is ended from outside. */
static void check(const artel__far_transport *transport)
{
    support_mesh mesh = {.ranks = 3, .transport = transport};
    assert_int_equal(artel_context_create(NULL, &mesh.ctx), ARTEL_OK);
    artel__endpoint *alone;
    assert_int_equal(transport->create(mesh.ctx, &(artel__far_options){.rank = 1, .ranks = 3, .generation = 4}, &alone),
                     ARTEL_OK);
    assert_true(alone->rank == 1 && alone->ranks == 3 && alone->ops->far);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(artel__far_is_attached(alone, r), r == 1);
        assert_int_equal(artel__far_is_lost(alone, r), r != 1);
    }
    artel__net_close(alone);

    assert_int_equal(support_mesh_open(&mesh), ARTEL_OK);
    artel__endpoint *e = mesh.endpoint[0];
    for (int r = 0; r < 3; r++) assert_true(artel__far_is_attached(e, r) && !artel__far_is_lost(e, r));
    assert_int_equal(artel__far_awaited(e), -1);
    assert_int_equal(artel__far_unheard(e, 1), -1);

    artel__net_request receive[2] = {{.peer = 1}, {.peer = 2}};
    for (int i = 0; i < 2; i++) {
        receive[i].frame = (artel__frame){.kind = ARTEL__FRAME_NODES, .generation = 1, .step = 1};
        assert_int_equal(artel__net_receive(e, &receive[i]), ARTEL_OK);
        assert_int_equal(artel__far_awaited(e), i == 0 ? 1 : -1); /* one peer; several */
    }
    pthread_t other;
    assert_int_equal(artel__net_progress(e), ARTEL_OK);
    assert_int_equal(pthread_create(&other, NULL, wake_soon, e), 0);
    artel__net_wait(e); /* nothing comes: the other thread ends it */
    pthread_join(other, NULL);

    artel__far_lose(e, 2, "for a test");
    assert_true(artel__far_is_lost(e, 2) && artel__far_is_attached(e, 2) && !artel__far_is_lost(e, 1));
    assert_int_equal(artel__net_progress(e), ARTEL_ERROR_RUN);
    assert_non_null(strstr(artel_context_error(mesh.ctx)->what, "for a test"));
    for (int i = 0; i < 2; i++) artel__net_withdraw(e, &receive[i]);
    support_mesh_close(&mesh);
    artel_context_destroy(mesh.ctx);
}

static void test_all(void **state)
{
    (void)state;
    for (int i = 0; artel__far_transports[i]; i++) check(artel__far_transports[i]);
    check(&support_relay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
