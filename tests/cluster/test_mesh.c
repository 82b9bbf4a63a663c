/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* The mesh: tasks as threads of one process, over loopback, with a toy for a training (help_players.h). Who comes,
 * goes, copies, saves and ends; and that nothing is left of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <malloc.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/help_players.h"
#include "cluster/mesh_impl.h"
#include "net/connection_impl.h"
#include "support/relay.h"

enum {
    STEPS = 200,
    FREE = 1 << 30
};

static players_scene scene;

/* -- what is left -- */

static int count_entries(const char *path)
{
    DIR *folder = opendir(path);
    int count = 0;
    assert_non_null(folder);
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}

static struct {
    int files, threads;
} before;

static int set_up(void **state)
{
    (void)state;
    before.files = count_entries("/proc/self/fd");
    before.threads = count_entries("/proc/self/task");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < scene.count; i++)
        if (scene.player[i].started) return 0; /* a failed test's; the next ones must not be blamed for it */
    assert_int_equal(count_entries("/proc/self/fd"), before.files);
    assert_int_equal(count_entries("/proc/self/task"), before.threads);
    return 0;
}

/* -- scenes -- */

static void raise_hold(uint64_t step)
{
    atomic_store(&scene.hold, step);
}

static void start_all(int count)
{
    for (int i = 0; i < count; i++) players_start(&scene, i, PLAYER_ENDS, 0);
}

/* Players from..to finished all steps with the right state; one of them wrote. */
static void assert_finished(int from, int to)
{
    int wrote = 0;
    for (int i = from; i <= to; i++) {
        const player *p = &scene.player[i];
        if (p->status != ARTEL_OK) fail_msg("player %d: %d, %s", i, p->status, p->why);
        assert_int_equal(p->step, scene.steps);
        assert_true(p->hash == players_hash(&scene, scene.steps));
        assert_int_equal(p->saves, 1);
        wrote += p->wrote;
    }
    assert_int_equal(wrote, 1);
    assert_int_equal(scene.player[from].wrote, 1); /* the lowest */
}

static const artel__mesh_seat *last_seat(int index)
{
    const player *p = &scene.player[index];
    assert_true(p->seats > 0);
    return &p->seat[p->seats - 1];
}

static void test_all_together(void **state)
{
    (void)state;
    players_open(&scene, 3, STEPS);
    raise_hold(FREE);
    start_all(3);
    for (int i = 0; i < 3; i++) players_join(&scene, i);
    assert_finished(0, 2);
    for (int i = 0; i < 3; i++) {
        const artel__mesh_seat *seat = last_seat(i);
        assert_int_equal(scene.player[i].seats, 1);
        assert_true(seat->begins && seat->ranks == 3 && seat->first == i && seat->members == 3 && seat->joiners == 3);
        assert_int_equal(seat->writer, i == 0);
        assert_int_equal(scene.player[i].copies + scene.player[i].serves, 0);
    }
    players_close(&scene);
}

/* Two tasks over a transport that is not the first of the list: nothing goes another way. */
static void test_another_transport(void **state)
{
    (void)state;
    players_open(&scene, 2, STEPS);
    scene.relayed = true;
    raise_hold(FREE);
    start_all(2);
    for (int i = 0; i < 2; i++) players_join(&scene, i);
    assert_finished(0, 1);
    assert_int_equal(support_relay_counted.created, 2);
    assert_int_equal(support_relay_counted.attached, 2);
    assert_int_equal(support_relay_counted.closed, 2);
    assert_true(support_relay_counted.sent >= 2 * STEPS && support_relay_counted.progressed >= 2 * STEPS);
    players_close(&scene);
}

/* Player `lost` closes its cluster before step 50; the others go on with its shards. */
static void lose(int lost)
{
    int first = lost == 0;
    players_open(&scene, 3, STEPS);
    raise_hold(FREE);
    for (int i = 0; i < 3; i++) players_start(&scene, i, i == lost ? PLAYER_DIES : PLAYER_ENDS, 50);
    for (int i = 0; i < 3; i++) players_join(&scene, i);
    for (int i = 0; i < 3; i++) {
        const artel__mesh_seat *seat = last_seat(i);
        char name[16];
        if (i == lost) continue;
        snprintf(name, sizeof name, "worker %d (", lost);
        assert_true(scene.player[i].seats == 2 && seat->ranks == 2 && seat->leavers == 1 && seat->joiners == 0);
        assert_non_null(strstr(scene.player[i].left[1], name));
        assert_int_equal(seat->writer, i == first);
        assert_int_equal(seat->first, i == first ? 0 : 1);
        assert_int_equal(scene.player[i].status, ARTEL_OK);
        assert_true(scene.player[i].hash == players_hash(&scene, STEPS));
        assert_int_equal(scene.player[i].wrote, i == first);
    }
    players_close(&scene);
}

static void test_a_member_is_lost(void **state)
{
    (void)state;
    lose(2);
    lose(1);
}

static void test_the_coordinator_is_lost(void **state)
{
    (void)state;
    lose(0);
}

/* Dies at step 50, and starts again while the others hold at 100: it copies their state, of 4 MB. */
static void test_one_dies_and_joins_again(void **state)
{
    (void)state;
    players_open(&scene, 3, STEPS);
    scene.words = 500000;
    raise_hold(100);
    for (int i = 0; i < 3; i++) players_start(&scene, i, i == 1 ? PLAYER_DIES : PLAYER_ENDS, 50);
    players_until(&scene, 0, 100, 2);
    players_join(&scene, 1);
    players_start(&scene, 1, PLAYER_ENDS, 0);
    players_until(&scene, 2, 100, 3);
    raise_hold(FREE);
    for (int i = 0; i < 3; i++) players_join(&scene, i);
    assert_finished(0, 2);
    assert_true(scene.player[1].copies >= 1 &&
                scene.player[0].serves + scene.player[2].serves >= 1); /* one may be broken off */
    assert_true(last_seat(0)->joiners == 1 && last_seat(0)->ranks == 3 && last_seat(1)->first == 1);
    players_close(&scene);
}

/* A host that has moved is known under its old address yet when the next generation is connected: it is asked for again
 * at once, and not given up after five seconds. */
static void test_a_member_has_moved(void **state)
{
    (void)state;
    players_open(&scene, 3, STEPS);
    raise_hold(100);
    for (int i = 0; i < 3; i++)
        players_start(&scene, i, i == 0 ? PLAYER_DIES : PLAYER_ENDS, 101); /* not before the others are misled */
    players_until(&scene, 2, 100, 3);
    players_mislead(&scene, 2, 1);
    raise_hold(FREE);
    for (int i = 0; i < 3; i++) players_join(&scene, i);
    assert_true(scene.player[2].seats == 2 /* a third is that of who has been given up */ && last_seat(2)->ranks == 2);
    assert_true(scene.player[2].hash == players_hash(&scene, STEPS));
    players_close(&scene);
}

/* Who comes from another address than its own has moved, or there is another way to it: its name is looked up again,
 * once. */
static void test_a_stranger_address(void **state)
{
    (void)state;
    artel__connection from = {.address = "127.0.0.1:5000"};
    artel__mesh_peer peer = {.lookup = ARTEL__MESH_KNOWN};
    assert_true(artel__net_address_parse("127.0.0.1:2222", &peer.resolved));
    artel__mesh_check_address(&peer, &from);
    assert_int_equal(peer.lookup, ARTEL__MESH_KNOWN);
    assert_true(artel__net_address_parse("127.0.0.9:5000", &peer.resolved));
    artel__mesh_check_address(&peer, &from);
    assert_int_equal(peer.lookup, ARTEL__MESH_UNKNOWN);
}

/* Two begin without the third; the lowest comes last, and is the writer from then on. */
static void test_the_lowest_comes_late(void **state)
{
    (void)state;
    players_open(&scene, 3, STEPS);
    scene.options.min_workers = 2;
    scene.options.wait_for_cluster = 4; /* time enough for two to meet, on any machine */
    raise_hold(60);
    for (int i = 1; i < 3; i++) players_start(&scene, i, PLAYER_ENDS, 0);
    players_until(&scene, 1, 60, 2);
    players_start(&scene, 0, PLAYER_ENDS, 0);
    players_until(&scene, 1, 60, 3);
    raise_hold(FREE);
    for (int i = 0; i < 3; i++) players_join(&scene, i);
    assert_finished(0, 2);
    assert_int_equal(scene.player[0].copies, 1);
    assert_true(scene.player[1].seat[0].writer && !last_seat(1)->writer && last_seat(0)->writer);
    players_close(&scene);
}

static void drain(int who)
{
    int first = who == 0;
    players_open(&scene, 3, STEPS);
    raise_hold(150); /* nobody is through before it has left */
    for (int i = 0; i < 3; i++) players_start(&scene, i, i == who ? PLAYER_DRAINS : PLAYER_ENDS, 70);
    players_join(&scene, who);
    raise_hold(FREE);
    for (int i = 0; i < 3; i++)
        if (i != who) players_join(&scene, i);
    assert_int_equal(scene.player[who].status, ARTEL_ERROR_PREEMPTED);
    for (int i = 0; i < 3; i++) {
        if (i == who) continue;
        assert_int_equal(scene.player[i].status, ARTEL_OK);
        assert_true(scene.player[i].hash == players_hash(&scene, STEPS));
        assert_int_equal(scene.player[i].wrote, i == first);
        assert_non_null(strstr(last_seat(i)->why, "left in order"));
    }
    players_close(&scene);
}

static void test_one_leaves(void **state)
{
    (void)state;
    drain(0);
    drain(2);
}

/* --on-preempt save: all hold the same step, and one writes. */
static void test_all_save_and_end(void **state)
{
    (void)state;
    players_open(&scene, 3, STEPS);
    scene.options.save_on_preempt = true;
    raise_hold(150); /* nobody is through before all have heard of it */
    for (int i = 0; i < 3; i++) players_start(&scene, i, i == 1 ? PLAYER_DRAINS : PLAYER_ENDS, 70);
    for (int i = 0; i < 3; i++) players_join(&scene, i);
    int wrote = 0;
    for (int i = 0; i < 3; i++) {
        const player *p = &scene.player[i];
        assert_int_equal(p->status, ARTEL_ERROR_PREEMPTED);
        assert_true(p->last && p->saves == 1 && p->step == scene.player[0].step &&
                    p->hash == players_hash(&scene, p->step));
        wrote += p->wrote;
    }
    assert_true(wrote == 1 && scene.player[0].step >= 70 && scene.player[0].step < STEPS);
    players_close(&scene);
}

/* What would fail for whoever computes it ends all, with its message; what fails in one task ends that one. */
static void fail_in(int who, bool common)
{
    players_open(&scene, 3, STEPS);
    raise_hold(0); /* so that `common` is set in time */
    for (int i = 0; i < 3; i++) players_start(&scene, i, i == who ? PLAYER_FAILS : PLAYER_ENDS, 70);
    scene.player[who].common = common;
    raise_hold(FREE);
    for (int i = 0; i < 3; i++) players_join(&scene, i);
    for (int i = 0; i < 3; i++) {
        const player *p = &scene.player[i];
        assert_int_equal(p->status, i == who || common ? ARTEL_ERROR_INVALID : ARTEL_OK);
        if (i == who || common) assert_non_null(strstr(p->why, "step 70 is broken"));
        if (i != who && !common) assert_true(p->hash == players_hash(&scene, STEPS));
    }
    players_close(&scene);
}

static void test_failures(void **state)
{
    (void)state;
    fail_in(1, true);
    fail_in(0, false);
}

/* Who is told to leave before the job begins spoils it for nobody: it is started again, and the job begins. */
static void test_leaving_before_the_beginning(void **state)
{
    (void)state;
    players_open(&scene, 3, STEPS);
    raise_hold(FREE);
    players_start(&scene, 0, PLAYER_ENDS_EARLY, 0);
    players_start(&scene, 1, PLAYER_ENDS, 0);
    players_join(&scene, 0);
    assert_int_equal(scene.player[0].status, ARTEL_ERROR_PREEMPTED);
    players_start(&scene, 2, PLAYER_ENDS_EARLY, 0);
    players_join(&scene, 2);
    players_start(&scene, 2, PLAYER_ENDS, 0);
    players_start(&scene, 0, PLAYER_ENDS, 0);
    for (int i = 0; i < 3; i++) players_join(&scene, i);
    assert_finished(0, 2);
    players_close(&scene);
}

/* Nobody else comes. */
static void test_nobody_comes(void **state)
{
    (void)state;
    players_open(&scene, 2, STEPS);
    scene.options.wait_for_cluster = 0.2;
    players_start(&scene, 1, PLAYER_ENDS, 0);
    players_join(&scene, 1);
    assert_int_equal(scene.player[1].status, ARTEL_ERROR_RUN);
    assert_non_null(strstr(scene.player[1].why, "missing: worker 0"));
    players_close(&scene);
}

/* One after another dies at a step, at once and in the midst of the others' work, and starts again; no memory stays
 * behind. */
static void test_lives_leave_nothing(void **state)
{
    enum {
        WARM = 2,
        LIVES = 8
    };
    size_t warm = 0;
    (void)state;
    for (int life = 0; life < LIVES; life++) {
        int victim = life % 3;
        players_open(&scene, 3, 40);
        raise_hold(30);
        for (int i = 0; i < 3; i++) players_start(&scene, i, i == victim ? PLAYER_DIES : PLAYER_ENDS, (uint64_t)life);
        players_until(&scene, (victim + 1) % 3, 30, 2);
        players_join(&scene, victim);
        players_start(&scene, victim, PLAYER_CLOSES, 0);
        players_join(&scene, victim);
        players_start(&scene, victim, PLAYER_ENDS, 0);
        players_until(&scene, (victim + 1) % 3, 30, 3);
        raise_hold(FREE);
        for (int i = 0; i < 3; i++) players_join(&scene, i);
        assert_finished(0, 2);
        players_close(&scene);
        struct mallinfo2 info = mallinfo2(); /* zeros under a sanitizer */
        if (life == WARM) warm = info.uordblks + info.hblkhd;
        if (life > WARM) assert_in_range(info.uordblks + info.hblkhd, 0, warm + 16384);
    }
}

/* Endpoints could not be made when START came, and then the generation is in doubt: nobody is seated without them. */
static void test_no_seats_without_a_generation(void **state)
{
    artel_context *ctx;
    artel_cluster *mesh;
    (void)state;
    players_open(&scene, 2, STEPS);
    artel_cluster_options options = scene.options;
    options.resolver = "file";
    options.file = scene.file;
    options.task = "worker:0";
    artel__mesh_request request = {.facts = "game=toy\n", .replicas = 1, .shards = 8};
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    assert_int_equal(artel_cluster_open(ctx, &options, &mesh), ARTEL_OK);
    assert_int_equal(artel__mesh_begin(mesh, &request), ARTEL_OK);
    pthread_mutex_lock(&mesh->mutex);
    assert_null(artel__membership_generation(mesh->machine));
    artel__mesh_move_due(&mesh->orders.due, ARTEL__MESH_SEATS);
    artel__mesh_move_data(mesh, artel__now_ns());
    assert_int_equal(mesh->orders.due, ARTEL__MESH_SEATS);
    artel__mesh_move_due(&mesh->orders.due, ARTEL__MESH_NOTHING);
    pthread_mutex_unlock(&mesh->mutex);
    artel__mesh_end(mesh);
    artel_cluster_close(mesh);
    artel_context_destroy(ctx);
    players_close(&scene);
}

static void *nothing(void *user)
{
    return user;
}

/* The first thread of a process may bring one of a sanitizer with it. */
static int warm_up(void **state)
{
    pthread_t thread;
    (void)state;
    return pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_another_transport, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_member_is_lost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_coordinator_is_lost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_dies_and_joins_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_member_has_moved, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_stranger_address, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_lowest_comes_late, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_leaves, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_all_save_and_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failures, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_leaving_before_the_beginning, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nobody_comes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_seats_without_a_generation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lives_leave_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, warm_up, NULL);
}
