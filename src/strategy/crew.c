/* SPDX-License-Identifier: Apache-2.0 */
/* Threads for the replicas of one process; see the header. Waiting is polling for a while where every thread has a
 * core, then sleeping. */
#include "strategy/crew.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/threads.h"

typedef struct member {
    artel__crew *crew;
    int index;
    pthread_t thread;
    bool started;
} member;

/* Work is handed out by a new generation, its end told by `unfinished`: both can be polled. Whoever sleeps instead
 * looks at them under the mutex, and whoever changes them wakes the sleepers under it afterwards. */
struct artel__crew {
    artel_context *ctx;
    int members;
    bool polls, quit;
    atomic_uint generation, unfinished;
    pthread_mutex_t mutex; /* guards `quit`; innermost */
    pthread_cond_t work, done;
    artel__crew_fn *run;
    void *user;
    member *member;
};

static unsigned await_work(artel__crew *crew, unsigned seen)
{
    if (crew->polls && artel__poll_change(&crew->generation, seen)) return atomic_load(&crew->generation);
    pthread_mutex_lock(&crew->mutex);
    while (!crew->quit && atomic_load(&crew->generation) == seen) pthread_cond_wait(&crew->work, &crew->mutex);
    pthread_mutex_unlock(&crew->mutex);
    return atomic_load(&crew->generation);
}

static void wake(artel__crew *crew, pthread_cond_t *sleepers)
{
    pthread_mutex_lock(&crew->mutex);
    pthread_cond_broadcast(sleepers);
    pthread_mutex_unlock(&crew->mutex);
}

static void *member_main(void *user)
{
    member *self = user;
    artel__crew *crew = self->crew;
    unsigned seen = 0, next;
    while ((next = await_work(crew, seen)) != seen) {
        seen = next;
        crew->run(crew->user, self->index);
        if (atomic_fetch_sub(&crew->unfinished, 1) == 1) wake(crew, &crew->done);
    }
    return NULL;
}

void artel__crew_work(artel__crew *crew, artel__crew_fn *work, void *user)
{
    unsigned left;
    crew->run = work;
    crew->user = user;
    if (crew->members > 1) {
        atomic_store(&crew->unfinished, (unsigned)crew->members - 1);
        atomic_fetch_add(&crew->generation, 1);
        wake(crew, &crew->work);
    }
    work(user, 0);
    while (crew->polls && (left = atomic_load(&crew->unfinished)) > 0 && artel__poll_change(&crew->unfinished, left)) {
    }
    if (atomic_load(&crew->unfinished) == 0) return;
    pthread_mutex_lock(&crew->mutex);
    while (atomic_load(&crew->unfinished) > 0) pthread_cond_wait(&crew->done, &crew->mutex);
    pthread_mutex_unlock(&crew->mutex);
}

artel_status artel__crew_create(artel_context *ctx, int members, bool poll, artel__crew **out)
{
    void *block, *list;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__crew), "crew", &block));
    artel__crew *crew = block;
    artel_status status = artel__calloc(ctx, (size_t)members, sizeof(member), "crew", &list);
    if (status < 0) {
        artel__free(ctx, crew);
        return status;
    }
    *crew = (artel__crew){.ctx = ctx, .members = members, .polls = poll, .member = list};
    pthread_mutex_init(&crew->mutex, NULL);
    pthread_cond_init(&crew->work, NULL);
    pthread_cond_init(&crew->done, NULL);
    for (int i = 1; i < members; i++) {
        crew->member[i] = (member){.crew = crew, .index = i};
        if (pthread_create(&crew->member[i].thread, NULL, member_main, &crew->member[i]) != 0) {
            artel__crew_destroy(crew);
            return artel__fail(ctx, ARTEL_ERROR_RUN, "strategy", "use fewer replicas, or " ARTEL__ADVISE_THREADS,
                               "a thread for replica %d could not be started", i);
        }
        crew->member[i].started = true;
    }
    *out = crew;
    return ARTEL_OK;
}

void artel__crew_destroy(artel__crew *crew)
{
    if (!crew) return;
    pthread_mutex_lock(&crew->mutex);
    crew->quit = true;
    pthread_cond_broadcast(&crew->work);
    pthread_mutex_unlock(&crew->mutex);
    for (int i = 1; i < crew->members; i++) {
        if (crew->member[i].started) pthread_join(crew->member[i].thread, NULL);
    }
    pthread_cond_destroy(&crew->done);
    pthread_cond_destroy(&crew->work);
    pthread_mutex_destroy(&crew->mutex);
    artel__free(crew->ctx, crew->member);
    artel__free(crew->ctx, crew);
}
