/* SPDX-License-Identifier: Apache-2.0 */
/* The life of communicators: of threads, of a cluster's tasks, of some of either. */
#include <string.h>

#include "base/argument.h"
#include "base/clock.h"
#include "base/threads.h"
#include "coll/communicator_impl.h"

enum {
    MOST_MEMBERS = 4096
};
#define DEFAULT_LIMIT_NS INT64_C(600000000000) /* of a fit's --collective-timeout, too */
#define SECONDS_MOST 1e9

/* -- threads -- */

static void destroy_threads(artel__coll_threads *t)
{
    artel_context *ctx = t->ctx;
    artel__fabric_destroy(t->fabric);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->mutex);
    artel__free(ctx, t);
    artel_context_destroy(ctx);
}

static artel_status create_threads(int members, artel__coll_threads **out)
{
    artel_context *ctx;
    void *block;
    ARTEL_TRY(artel_context_create(NULL, &ctx));
    if (artel__calloc(ctx, 1, sizeof **out, "communicator", &block) < 0) {
        artel_context_destroy(ctx);
        return ARTEL_ERROR_NO_MEMORY;
    }
    artel__coll_threads *t = block;
    *t = (artel__coll_threads){.ctx = ctx, .members = members};
    pthread_mutex_init(&t->mutex, NULL);
    artel__cond_init(&t->changed);
    artel_status status = artel__fabric_create(ctx, members, artel__usable_cores() >= members, &t->fabric);
    if (status < 0) {
        destroy_threads(t);
        return status;
    }
    *out = t;
    return ARTEL_OK;
}

static void leave_threads(artel__coll_threads *t)
{
    pthread_mutex_lock(&t->mutex);
    bool last = --t->homes == 0;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->mutex);
    if (last) destroy_threads(t);
}

/* -- homes -- */

static void release_home(artel__coll_home *home)
{
    if (--home->users > 0) return;
    if (home->cluster) artel__coll_home_leave(home);
    if (home->endpoint && home->threads) artel__fabric_leave(home->threads->fabric, home->endpoint->rank);
    if (home->threads) leave_threads(home->threads);
    artel__coll_buffer_fini(home->ctx, &home->made_list);
    pthread_mutex_destroy(&home->mutex);
    artel__free(home->ctx, home);
}

static artel_status create_home(artel_context *ctx, artel__coll_home **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof **out, "communicator", &block));
    *out = block;
    **out = (artel__coll_home){.ctx = ctx, .limit_ns = DEFAULT_LIMIT_NS};
    pthread_mutex_init(&(*out)->mutex, NULL);
    return ARTEL_OK;
}

/* -- communicators -- */

/* Ranks of the endpoint, by position: `rank`, or all in order. */
static artel_status set_members(artel_communicator *c, const int32_t *rank, int members, int position)
{
    artel__team *team = &c->team;
    ARTEL_TRY(artel__coll_reserve(c->home->ctx, &c->ranks, (size_t)members, sizeof(int32_t)));
    int32_t *to = c->ranks.data;
    for (int i = 0; i < members; i++) to[i] = rank ? rank[i] : i;
    team->ctx = c->home->ctx;
    team->endpoint = members > 1 ? c->home->endpoint : NULL;
    team->members = members;
    team->position = position;
    team->rank = to;
    team->generation = c->home->generation;
    team->calls = 0;
    return ARTEL_OK;
}

/* Takes a use of the home, also when it fails. */
static artel_status create_communicator(artel__coll_home *home, artel_communicator **out)
{
    void *block;
    home->users++;
    artel_status status = artel__calloc(home->ctx, 1, sizeof **out, "communicator", &block);
    if (status < 0) {
        release_home(home);
        return status;
    }
    *out = block;
    **out = (artel_communicator){.home = home};
    artel__call_init(&(*out)->call, &(*out)->team);
    return ARTEL_OK;
}

void artel_communicator_destroy(artel_communicator *c)
{
    if (!c) return;
    artel__coll_home *home = c->home;
    c->team.ctx = home->ctx;
    artel__call_fini(&c->call);
    artel__coll_itinerary_fini(&c->itinerary);
    artel__coll_buffer *const buffer[] = {&c->ranks, &c->pack, &c->counts, &c->all_ids, &c->all_rows};
    for (size_t i = 0; i < ARTEL__COUNT(buffer); i++) artel__coll_buffer_fini(home->ctx, buffer[i]);
    artel__sparse_room_fini(home->ctx, &c->own);
    artel__sparse_room_fini(home->ctx, &c->combined);
    artel__free(home->ctx, c);
    release_home(home);
}

static artel_status check_contexts(artel_context *const *contexts, int members)
{
    bool same = false;
    for (int i = 0; i < members; i++) {
        for (int k = 0; k < i; k++) same = same || contexts[i] == contexts[k];
    }
    if (!same) return ARTEL_OK;
    return artel__fail(contexts[0], ARTEL_ERROR_INVALID, "communicator", "give each thread a context of its own",
                       "two of %d members have the same context", members);
}

static artel_status create_thread(artel__coll_threads *threads, artel_context *ctx, int position,
                                  artel_communicator **out)
{
    artel__coll_home *home;
    ARTEL_TRY(create_home(ctx, &home));
    home->threads = threads;
    threads->homes++;
    home->endpoint = artel__fabric_endpoint(threads->fabric, position);
    home->endpoint->ctx = ctx;
    ARTEL_TRY(create_communicator(home, out));
    artel_status status = set_members(*out, NULL, threads->members, position);
    if (status < 0) artel_communicator_destroy(*out);
    return status;
}

artel_status artel_communicator_create(artel_context *const *contexts, int members, artel_communicator **out)
{
    artel__coll_threads *threads;
    ARTEL_TRY(artel__enter(NULL, __func__, "contexts out", contexts, out));
    if (members < 1 || members > MOST_MEMBERS)
        return artel__fail(NULL, ARTEL_ERROR_INVALID, __func__, "give a context for each member",
                           "%d members are not possible (expected 1 to %d)", members, MOST_MEMBERS);
    for (int i = 0; i < members; i++) ARTEL_TRY(artel__enter(contexts[i], __func__, "contexts[]", contexts[i]));
    ARTEL_TRY(check_contexts(contexts, members));
    if (create_threads(members, &threads) < 0) return artel__fail_memory(contexts[0], "communicator", 0);
    threads->homes = 1; /* this function's, until all are made */
    artel_status status = ARTEL_OK;
    int made = 0;
    for (; made < members && status == ARTEL_OK; made++)
        status = create_thread(threads, contexts[made], made, &out[made]);
    if (status < 0) {
        for (int i = 0; i < made - 1; i++) artel_communicator_destroy(out[i]);
    }
    leave_threads(threads);
    return status;
}

artel_status artel_communicator_open(artel_context *ctx, artel_cluster *cluster, artel_communicator **out)
{
    artel__coll_home *home;
    artel_communicator *c;
    int first = 0, ranks = 1;
    ARTEL_TRY(artel__enter(ctx, __func__, "context out", ctx, out));
    ARTEL_TRY(artel__mesh_need_context(ctx, cluster));
    ARTEL_TRY(create_home(ctx, &home));
    ARTEL_TRY(create_communicator(home, &c));
    artel_status status = ARTEL_OK;
    if (!artel__mesh_is_single(cluster)) {
        home->cluster = cluster;
        status = artel__coll_home_begin(home, &first, &ranks);
    }
    if (status == ARTEL_OK) status = set_members(c, NULL, ranks, first);
    if (status < 0) {
        artel_communicator_destroy(c);
        return status;
    }
    *out = c;
    return ARTEL_OK;
}

/* -- subsets -- */

/* The number of the next subset of this id. */
static artel_status count_made(artel__coll_home *home, uint64_t id, uint32_t *out)
{
    artel__coll_made *list = home->made_list.data;
    for (int i = 0; i < home->made; i++) {
        if (list[i].id != id) continue;
        *out = ++list[i].count;
        return ARTEL_OK;
    }
    size_t count = (size_t)home->made + 1;
    if (count * sizeof *list > home->made_list.bytes) { /* growing loses what is there */
        artel__coll_buffer larger = {.data = NULL};
        ARTEL_TRY(artel__coll_reserve(home->ctx, &larger, 2 * count, sizeof *list));
        if (home->made) memcpy(larger.data, list, (size_t)home->made * sizeof *list);
        artel__coll_buffer_fini(home->ctx, &home->made_list);
        home->made_list = larger;
        list = larger.data;
    }
    list[home->made++] = (artel__coll_made){id, 1};
    *out = 1;
    return ARTEL_OK;
}

static artel_status check_subset(const artel_communicator *parent, const int *position, int count, int *own)
{
    artel_context *ctx = parent->home->ctx;
    const char *wrong = count < 1 || count > parent->team.members ? "not as many as the parent has" : NULL;
    *own = -1;
    for (int i = 0; i < count && !wrong; i++) {
        if (position[i] < 0 || position[i] >= parent->team.members) wrong = "one of them is no member of the parent";
        for (int k = 0; k < i && !wrong; k++) {
            if (position[k] == position[i]) wrong = "one of them is there twice";
        }
        if (position[i] == parent->team.position) *own = i;
    }
    if (wrong)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "subset", "list positions of the parent, each once",
                           "%d members: %s", count, wrong);
    if (*own >= 0) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, "subset", "let only the members of a subset make it",
                       "member %d of %d is not among its %d members", parent->team.position, parent->team.members,
                       count);
}

artel_status artel_communicator_subset(artel_communicator *parent, const int *position, int count,
                                       artel_communicator **out)
{
    artel_communicator *c;
    uint32_t n = 0;
    int own;
    ARTEL_TRY(artel__enter(parent ? parent->home->ctx : NULL, __func__, "parent position out", parent, position, out));
    ARTEL_TRY(check_subset(parent, position, count, &own));
    ARTEL_TRY(count_made(parent->home, artel__team_id(&parent->team, position, count, 0), &n));
    ARTEL_TRY(create_communicator(parent->home, &c));
    c->subset = true;
    artel_status status = artel__coll_reserve(parent->home->ctx, &c->ranks, (size_t)count, sizeof(int32_t));
    if (status < 0) {
        artel_communicator_destroy(c);
        return status;
    }
    int32_t *rank = c->ranks.data;
    for (int i = 0; i < count; i++) rank[i] = parent->team.rank[position[i]];
    c->team.id = artel__team_id(&parent->team, position, count, n);
    set_members(c, rank, count, own); /* takes no more memory */
    *out = c;
    return ARTEL_OK;
}

int artel_communicator_position(const artel_communicator *c)
{
    return c ? c->team.position : -1;
}

int artel_communicator_members(const artel_communicator *c)
{
    return c ? c->team.members : 0;
}

/* -- failing, ending -- */

void artel_communicator_cancel(artel_communicator *c)
{
    if (!c) return;
    artel__coll_home *home = c->home;
    pthread_mutex_lock(&home->mutex);
    if (home->endpoint) artel__net_cancel(home->endpoint);
    pthread_mutex_unlock(&home->mutex);
}

artel_status artel_communicator_set_timeout(artel_communicator *c, double seconds)
{
    ARTEL_TRY(artel__enter(c ? c->home->ctx : NULL, __func__, "communicator", c));
    if (!(seconds >= 0 && seconds <= SECONDS_MOST))
        return artel__fail(c->home->ctx, ARTEL_ERROR_INVALID, __func__, "give seconds, or 0 to wait for ever",
                           "%g s is no time", seconds);
    c->home->limit_ns = seconds == 0 ? 0 : 1 + (int64_t)(seconds * 1e9);
    return ARTEL_OK;
}

/* The last one to come clears the fabric, which nobody uses then. */
static artel_status renew_threads(artel__coll_home *home)
{
    artel__coll_threads *t = home->threads;
    int64_t began = artel__now_ns();
    bool late = false;
    pthread_mutex_lock(&t->mutex);
    uint32_t before = t->generation;
    if (++t->renewing == t->members) {
        for (int r = 0; r < t->members; r++) artel__net_resume(artel__fabric_endpoint(t->fabric, r));
        t->renewing = 0;
        t->generation++;
        pthread_cond_broadcast(&t->changed);
    }
    while (t->generation == before && t->homes == t->members && !artel__cancelled(home->ctx) && !late) {
        struct timespec until = artel__after_ns(ARTEL__LOOK_NS);
        pthread_cond_timedwait(&t->changed, &t->mutex, &until);
        late = home->limit_ns > 0 && artel__now_ns() - began > home->limit_ns && t->generation == before;
    }
    int missing = t->members - t->renewing;
    bool renewed = t->generation != before, left = t->homes < t->members;
    if (!renewed) t->renewing--;
    home->generation = t->generation;
    pthread_mutex_unlock(&t->mutex);
    if (renewed) return ARTEL_OK;
    if (late)
        return artel__fail(home->ctx, ARTEL_ERROR_RUN, "communicator", "renew it on all members",
                           "%d of %d members have not renewed it", missing, t->members);
    if (!left)
        return artel__fail(home->ctx, ARTEL_ERROR_CANCELLED, "communicator", "",
                           "cancelled while it waited for the others to renew");
    return artel__fail(home->ctx, ARTEL_ERROR_RUN, "communicator", "create a new one", "a member has left it");
}

artel_status artel_communicator_renew(artel_communicator *c)
{
    ARTEL_TRY(artel__enter(c ? c->home->ctx : NULL, __func__, "communicator", c));
    artel__coll_home *home = c->home;
    int first = c->team.position, ranks = c->team.members;
    if (c->subset || home->users > 1)
        return artel__fail(home->ctx, ARTEL_ERROR_INVALID, "communicator",
                           "destroy its subsets, renew it, and make them again",
                           c->subset ? "a subset is not renewed" : "%d subsets are left", home->users - 1);
    if (home->finished) return artel__fail(home->ctx, ARTEL_ERROR_INVALID, "communicator", "", "it is finished");
    if (home->threads) ARTEL_TRY(renew_threads(home));
    if (home->cluster && home->broken == ARTEL_OK) {
        if (!artel__mesh_stopping(home->cluster)) return ARTEL_OK; /* nothing has failed */
        artel__coll_home_rest(home); /* no call of this member has noticed yet that another one is lost */
    }
    if (home->cluster) {
        artel__mesh_renew(home->cluster); /* nobody may be lost, where members differed or were cancelled */
        ARTEL_TRY(artel__coll_home_await(home, &first, &ranks));
    }
    home->broken = ARTEL_OK;
    home->made = 0;
    return set_members(c, NULL, ranks, first);
}

artel_status artel_communicator_finish(artel_communicator *c)
{
    ARTEL_TRY(artel__enter(c ? c->home->ctx : NULL, __func__, "communicator", c));
    artel__coll_home *home = c->home;
    if (!home->cluster || c->subset) return artel_communicator_barrier(c);
    if (home->broken < 0)
        return artel__fail(home->ctx, home->broken, "communicator", "renew it before", "a call before has failed (%s)",
                           artel_status_name(home->broken));
    return artel__coll_home_finish(home);
}
