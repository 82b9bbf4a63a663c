/* SPDX-License-Identifier: Apache-2.0 */
/* Players; see help_players.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "cluster/help_players.h"
#include "cluster/mesh_impl.h"
#include "comm/group.h"
#include "support/ports.h"
#include "support/relay.h"

enum {
    SHARDS = 8
};

/* -- the toy -- */

/* Of a long state a part each time: long is its way, and not the step. */
static void advance(uint64_t *state, uint64_t words, uint64_t step)
{
    uint64_t stride = 1 + words / 1000;
    for (uint64_t i = step % stride; i < words; i += stride)
        state[i] = state[i] * UINT64_C(6364136223846793005) + step + i;
}

static uint64_t hash_of(const players_scene *scene, const uint64_t *state)
{
    return artel__hash64(state, scene->words * sizeof *state);
}

uint64_t players_hash(const players_scene *scene, uint64_t steps)
{
    uint64_t *state = calloc(scene->words, sizeof *state), hash;
    for (uint64_t s = 0; s < steps; s++) advance(state, scene->words, s);
    hash = hash_of(scene, state);
    free(state);
    return hash;
}

typedef struct life {
    player *p;
    artel_context *ctx;
    artel_cluster *mesh;
    artel__group *group;
    uint64_t *state;
    bool asked, dead;
} life;

/* At the raised hold, stopped, or at the end of its life. */
static bool may_step(life *l)
{
    player *p = l->p;
    while (!artel__mesh_stopping(l->mesh)) {
        bool here = p->step >= p->at;
        if (here && p->end == PLAYER_DIES) l->dead = true;
        if (here && p->end == PLAYER_FAILS) return true;
        if (l->dead) return false;
        if (here && p->end == PLAYER_DRAINS && !l->asked) {
            l->asked = true;
            artel__mesh_drain(l->mesh);
        }
        if (p->step < atomic_load(&p->scene->hold)) return p->step < p->scene->steps;
        poll(NULL, 0, 1);
    }
    return false;
}

static artel_status step(life *l)
{
    player *p = l->p;
    const artel__comm *comm = l->group ? artel__group_comm(l->group, 0) : NULL;
    if (p->end == PLAYER_FAILS && p->step >= p->at)
        return artel__fail(l->ctx, ARTEL_ERROR_INVALID, "toy", "play another", "step %d is broken", (int)p->at);
    if (comm) ARTEL_TRY(comm->ops->barrier(comm->self, true));
    advance(l->state, p->scene->words, p->step);
    atomic_store(&p->now, ++p->step);
    artel__mesh_stepped(l->mesh, p->step, artel__mesh_hashes(l->mesh, p->step) ? hash_of(p->scene, l->state) : 0);
    return ARTEL_OK;
}

static void leave_seat(life *l)
{
    atomic_store(&l->p->members, 0);
    artel__group_destroy(l->group);
    l->group = NULL;
}

/* One generation. ARTEL_ERROR_INVALID: the toy is broken. */
static artel_status train(life *l, const artel__mesh_order *order)
{
    player *p = l->p;
    artel_status status = ARTEL_OK;
    p->last = order->last;
    assert_true(p->seats < PLAYER_SEATS && order->step == p->step);
    if (order->seat.leavers) snprintf(p->left[p->seats], sizeof p->left[0], "%.60s", order->seat.left[0]);
    p->seat[p->seats++] = order->seat;
    assert_int_equal(artel__group_create_seated(l->ctx, 1, SHARDS, &order->seat, &l->group), ARTEL_OK);
    atomic_store(&p->members, order->seat.members);
    while (status == ARTEL_OK && !order->last && may_step(l)) status = step(l);
    if (l->dead) return ARTEL_OK;
    bool done = status == ARTEL_OK && !artel__mesh_stopping(l->mesh);
    leave_seat(l);
    if (status == ARTEL_ERROR_INVALID) return status;
    if (done)
        artel__mesh_finished(l->mesh, p->step, hash_of(p->scene, l->state));
    else
        artel__mesh_rest(l->mesh, p->step, hash_of(p->scene, l->state));
    return ARTEL_OK;
}

/* -- orders -- */

static void copy(life *l, artel__mesh_stream *stream, uint64_t wanted)
{
    player *p = l->p;
    uint64_t steps = 0, *fresh = calloc(p->scene->words, sizeof *fresh);
    artel_status status = artel__mesh_receive(stream, &steps, sizeof steps);
    if (status == ARTEL_OK) status = artel__mesh_receive(stream, fresh, p->scene->words * sizeof *fresh);
    if (status == ARTEL_OK) {
        memcpy(l->state, fresh, p->scene->words * sizeof *fresh);
        p->step = steps;
        p->copies++;
    }
    free(fresh);
    artel__mesh_copied(l->mesh, status == ARTEL_OK && steps == wanted, hash_of(p->scene, l->state));
}

static void serve(life *l, artel__mesh_stream *stream)
{
    player *p = l->p;
    artel_status status = artel__mesh_send(stream, &p->step, sizeof p->step);
    if (status == ARTEL_OK) status = artel__mesh_send(stream, l->state, p->scene->words * sizeof *l->state);
    p->serves += status == ARTEL_OK;
    artel__mesh_served(l->mesh);
}

static artel_status play(life *l)
{
    player *p = l->p;
    for (bool over = false; !over && !l->dead;) {
        artel__mesh_order order;
        ARTEL_TRY(artel__mesh_await(l->mesh, &order));
        switch (order.kind) {
        case ARTEL__MESH_COPY: copy(l, order.stream, order.step); break;
        case ARTEL__MESH_SERVE: serve(l, order.stream); break;
        case ARTEL__MESH_START: ARTEL_TRY(train(l, &order)); break;
        case ARTEL__MESH_SAVE:
            p->saves++;
            p->wrote += order.writer;
            p->last = order.last;
            artel__mesh_saved(l->mesh, order.writer ? 77 : 0);
            break;
        case ARTEL__MESH_LEAVE: break; /* of who saves first */
        case ARTEL__MESH_DONE: over = true; break;
        }
    }
    return ARTEL_OK;
}

static void live(life *l)
{
    player *p = l->p;
    artel__mesh_request request = {
        .facts = "game=toy\n", .replicas = 1, .shards = SHARDS, .step = p->step, .hash = hash_of(p->scene, l->state)};
    if (p->end == PLAYER_ENDS_EARLY) artel__mesh_drain(l->mesh);
    p->status = artel__mesh_begin(l->mesh, &request);
    if (p->end == PLAYER_ENDS_EARLY && p->status == ARTEL_OK) artel__mesh_drain(l->mesh);
    if (p->status == ARTEL_OK) p->status = play(l);
    if (l->dead) return;
    snprintf(p->why, sizeof p->why, "%.80s: %.160s", artel_context_error(l->ctx)->where,
             artel_context_error(l->ctx)->what);
    p->hash = hash_of(p->scene, l->state);
    if (p->status == ARTEL_ERROR_INVALID && p->end == PLAYER_FAILS) artel__mesh_fail(l->mesh, p->common, p->status);
    artel__mesh_end(l->mesh);
}

static void *run(void *user)
{
    player *p = user;
    life l = {.p = p, .state = calloc(p->scene->words, sizeof *l.state)};
    artel_cluster_options options = p->scene->options;
    char task[16];
    snprintf(task, sizeof task, "worker:%d", p->index);
    options.resolver = "file";
    options.file = p->scene->file;
    options.task = task;
    p->status = artel_context_create(NULL, &l.ctx);
    const char *transport = p->scene->relayed ? support_relay.name : NULL;
    if (p->status == ARTEL_OK && transport) p->status = support_relay_add(l.ctx);
    if (p->status == ARTEL_OK) p->status = artel__mesh_open(l.ctx, &options, transport, &l.mesh);
    atomic_store(&p->mesh, l.mesh);
    if (p->status == ARTEL_OK && p->end != PLAYER_CLOSES) live(&l);
    if (p->status != ARTEL_OK && !p->why[0] && l.ctx)
        snprintf(p->why, sizeof p->why, "%.250s", artel_context_error(l.ctx)->what);
    if (l.dead) leave_seat(&l); /* the endpoints are the mesh's */
    artel_cluster_close(l.mesh);
    artel_context_destroy(l.ctx);
    free(l.state);
    return NULL;
}

/* -- scenes -- */

void players_open(players_scene *scene, int count, uint64_t steps)
{
    memset(scene, 0, sizeof *scene);
    scene->options = (artel_cluster_options)ARTEL_CLUSTER_OPTIONS_INIT;
    scene->count = count;
    scene->steps = steps;
    scene->words = 100;
    snprintf(scene->file, sizeof scene->file, "/tmp/artel-players-XXXXXX");
    int fd = mkstemp(scene->file);
    assert_true(fd >= 0);
    for (int i = 0; i < count; i++) dprintf(fd, "worker 127.0.0.1:%d\n", support_port_hold(&scene->held[i]));
    close(fd);
}

void players_close(players_scene *scene)
{
    for (int i = 0; i < scene->count; i++) {
        assert_false(scene->player[i].started);
        close(scene->held[i]);
    }
    unlink(scene->file);
}

void players_start(players_scene *scene, int index, player_end end, uint64_t at)
{
    player *p = &scene->player[index];
    assert_false(p->started);
    memset(p, 0, sizeof *p);
    p->scene = scene;
    p->index = index;
    p->end = end;
    p->at = at;
    assert_int_equal(pthread_create(&p->thread, NULL, run, p), 0);
    p->started = true;
}

void players_join(players_scene *scene, int index)
{
    pthread_join(scene->player[index].thread, NULL);
    scene->player[index].started = false;
}

/* What became of a player, for who reads of a failure. It may run: what is read is near enough. */
static void tell(player *p)
{
    artel_cluster *mesh = atomic_load(&p->mesh);
    print_error("player %d: started %d, status %d (%s), %d steps, %d members\n", p->index, p->started, p->status,
                p->why, (int)p->now, (int)p->members);
    if (!p->started || !mesh) return;
    artel__text text;
    artel__text_init(&text, mesh->quiet);
    pthread_mutex_lock(&mesh->mutex);
    artel_status status = mesh->machine ? artel__mesh_describe(mesh, &text) : ARTEL_OK;
    pthread_mutex_unlock(&mesh->mutex);
    if (status == ARTEL_OK) print_error("%s\n", text.data);
    artel__text_fini(&text);
}

void players_until(players_scene *scene, int index, uint64_t steps, int members)
{
    const player *p = &scene->player[index];
    /* Turns, not seconds: on a busy machine each takes as much longer as all else does. */
    for (int turns = 60000; atomic_load(&p->now) < steps || (members && atomic_load(&p->members) != members); turns--) {
        if (!turns) {
            print_error("player %d has %d steps and %d members, not %d and %d\n", index, (int)p->now, p->members,
                        (int)steps, members);
            for (int i = 0; i < scene->count; i++) tell(&scene->player[i]);
            abort(); /* the players live on, and later tests would wait for them for ever */
        }
        poll(NULL, 0, 2);
    }
}

void players_mislead(players_scene *scene, int index, int other)
{
    artel_cluster *mesh = atomic_load(&scene->player[index].mesh);
    pthread_mutex_lock(&mesh->mutex);
    assert_int_equal(mesh->peer[other].lookup, ARTEL__MESH_KNOWN);
    assert_true(artel__net_address_parse("127.0.0.9:9", &mesh->peer[other].resolved));
    pthread_mutex_unlock(&mesh->mutex);
}
