/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and named barriers for programs: the machine's (membership_shared.c), with waiting and words.
 *
 * Whoever waits is the thread that trains, so it must come to rest when the members change: then it gives up waiting.
 * Its entry at the barrier stands (the machine carries it into the next generation), so a barrier that was not passed
 * is remembered as owed, and the next call of that name goes on waiting for it, and does not enter again.
 */
#include <stdio.h>
#include <string.h>

#include "base/argument.h"
#include "base/clock.h"
#include "cluster/mesh_impl.h"

/* A key of a task that is alone. */
struct artel__mesh_note {
    artel__mesh_note *next;
    size_t bytes;
    char key[ARTEL__TEXT_MAX + 1];
    uint8_t value[ARTEL__VALUE_MAX];
};

static artel_status check_name(artel_cluster *mesh, const char *what, const char *name)
{
    size_t length = strlen(name);
    if (length > 0 && length <= ARTEL__TEXT_MAX) return ARTEL_OK;
    return artel__fail(mesh->ctx, ARTEL_ERROR_INVALID, what, "give 1 to 255 bytes",
                       "the name does not fit (it has %zu bytes)", length);
}

static artel_status check_seconds(artel_cluster *mesh, const char *name, double seconds)
{
    if (seconds >= 0) return ARTEL_OK;
    return artel__fail(mesh->ctx, ARTEL_ERROR_INVALID, name, "give a number from 0; infinity waits for ever",
                       "%g is no number of seconds to wait", seconds);
}

static artel_status no_job(artel_cluster *mesh, const char *what)
{
    return artel__fail(mesh->ctx, ARTEL_ERROR_INVALID, what,
                       "call it in an event of a fit, or while a communicator is open", "no job runs");
}

static artel_status interrupted(artel_cluster *mesh, const char *what)
{
    return artel__fail(mesh->ctx, ARTEL_ERROR_RUN, what, "call it again when they have formed anew",
                       artel__mesh_is_over(mesh) ? "the job has ended" : "the members are changing");
}

static bool runs(const artel_cluster *mesh)
{
    return artel__mesh_is_running(mesh);
}

/* Something may have changed, or the time is over. Seconds that are too many are for ever. */
static void wait_until(artel_cluster *mesh, int64_t begin, double seconds)
{
    int64_t left = seconds < 1e9 ? begin + (int64_t)(seconds * 1e9) - artel__now_ns() : ARTEL__MESH_SECOND;
    artel__mesh_wait(mesh, left < ARTEL__MESH_SECOND / 10 ? left : ARTEL__MESH_SECOND / 10);
}

static bool is_late(int64_t begin, double seconds)
{
    return seconds < 1e9 && artel__now_ns() - begin >= (int64_t)(seconds * 1e9);
}

/* -- keys -- */

static artel__mesh_note **find_note(artel_cluster *mesh, const char *key)
{
    artel__mesh_note **at = &mesh->notes;
    while (*at && strcmp((*at)->key, key) != 0) at = &(*at)->next;
    return at;
}

static artel_status put_note(artel_cluster *mesh, const artel__membership_entry *entry)
{
    artel__mesh_note **at = find_note(mesh, entry->key), *note = *at;
    void *block;
    if (note && !entry->overwrite) return ARTEL_OK;
    if (!entry->count) {
        if (note) *at = note->next;
        artel__free(mesh->ctx, note);
        return ARTEL_OK;
    }
    if (!note) {
        ARTEL_TRY(artel__calloc(mesh->ctx, 1, sizeof *note, "key", &block));
        *at = note = block;
        snprintf(note->key, sizeof note->key, "%s", entry->key);
    }
    memcpy(note->value, entry->value, entry->count);
    note->bytes = entry->count;
    return ARTEL_OK;
}

void artel__mesh_forget_notes(artel_cluster *mesh)
{
    while (mesh->notes) {
        artel__mesh_note *note = mesh->notes;
        mesh->notes = note->next;
        artel__free(mesh->ctx, note);
    }
}

artel_status artel_cluster_put(artel_cluster *mesh, const char *key, const void *value, size_t bytes, bool overwrite)
{
    artel__membership_entry entry = {key, value, bytes, overwrite};
    ARTEL_TRY(artel__enter(mesh ? mesh->ctx : NULL, __func__, "cluster key", mesh, key));
    if (bytes > 0) ARTEL_TRY(artel__need(mesh->ctx, __func__, "value", value));
    ARTEL_TRY(check_name(mesh, "key", key));
    if (bytes > ARTEL__VALUE_MAX)
        return artel__fail(mesh->ctx, ARTEL_ERROR_INVALID, key, "put more into several keys",
                           "the value has %zu bytes (at most %d fit)", bytes, ARTEL__VALUE_MAX);
    if (mesh->single) return put_note(mesh, &entry);
    pthread_mutex_lock(&mesh->mutex);
    bool running = runs(mesh), taken = running && artel__membership_put(mesh->machine, artel__now_ns(), &entry);
    artel__mesh_settle(mesh);
    pthread_mutex_unlock(&mesh->mutex);
    if (!running) return no_job(mesh, key);
    if (taken) return ARTEL_OK;
    return artel__fail(mesh->ctx, ARTEL_ERROR_INVALID, key, "delete some", "there are %d keys already",
                       ARTEL__MAX_KEYS);
}

/* The value now, or NULL; the mutex is held. */
static const uint8_t *look_up(artel_cluster *mesh, const char *key, size_t *bytes)
{
    if (!mesh->single) return artel__membership_get(mesh->machine, key, bytes);
    const artel__mesh_note *note = *find_note(mesh, key);
    *bytes = note ? note->bytes : 0;
    return note ? note->value : NULL;
}

static artel_status await_key(artel_cluster *mesh, const char *key, double seconds, const uint8_t **value,
                              size_t *bytes)
{
    int64_t begin = artel__now_ns();
    for (;;) {
        if (!mesh->single && !mesh->machine) return no_job(mesh, key);
        *value = look_up(mesh, key, bytes);
        if (*value) return ARTEL_OK;
        if (mesh->single || is_late(begin, seconds))
            return artel__fail(mesh->ctx, ARTEL_ERROR_NOT_FOUND, key, "wait longer, or see whether it was put",
                               "the key has no value");
        if (artel__mesh_is_over(mesh) || artel__mesh_stopping(mesh)) return interrupted(mesh, key);
        wait_until(mesh, begin, seconds);
    }
}

artel_status artel_cluster_get(artel_cluster *mesh, const char *key, double seconds, void *value, size_t room,
                               size_t *out_bytes)
{
    const uint8_t *found = NULL;
    size_t bytes = 0;
    ARTEL_TRY(artel__enter(mesh ? mesh->ctx : NULL, __func__, "cluster key out_bytes", mesh, key, out_bytes));
    if (room > 0) ARTEL_TRY(artel__need(mesh->ctx, __func__, "value", value));
    ARTEL_TRY(check_name(mesh, "key", key));
    ARTEL_TRY(check_seconds(mesh, key, seconds));
    if (!mesh->single) pthread_mutex_lock(&mesh->mutex);
    artel_status status = await_key(mesh, key, seconds, &found, &bytes);
    if (status == ARTEL_OK && room) memcpy(value, found, bytes < room ? bytes : room);
    if (!mesh->single) pthread_mutex_unlock(&mesh->mutex);
    if (status == ARTEL_OK) *out_bytes = bytes;
    return status;
}

/* -- barriers -- */

static char *find_owed(artel_cluster *mesh, const char *name)
{
    for (int i = 0; i < ARTEL__MAX_BARRIERS; i++) {
        if (strcmp(mesh->pass.owed[i], name) == 0) return mesh->pass.owed[i];
    }
    return NULL;
}

static artel_status late(artel_cluster *mesh, const char *name, double seconds)
{
    char names[ARTEL__MESH_WHY];
    artel__membership_missing(mesh->machine, name, names, sizeof names);
    return artel__fail(mesh->ctx, ARTEL_ERROR_RUN, name, "call it again to go on waiting",
                       "after %.3g s still missing at this barrier: %s", seconds,
                       names[0] ? names : "the coordinator's answer");
}

static artel_status await_barrier(artel_cluster *mesh, const char *name, double seconds)
{
    int64_t begin = artel__now_ns();
    while (runs(mesh) && artel__membership_waits(mesh->machine, name)) {
        if (artel__mesh_stopping(mesh)) return interrupted(mesh, name);
        if (is_late(begin, seconds)) return late(mesh, name, seconds);
        wait_until(mesh, begin, seconds);
    }
    return runs(mesh) ? ARTEL_OK : interrupted(mesh, name);
}

artel_status artel_cluster_barrier(artel_cluster *mesh, const char *name, double seconds)
{
    ARTEL_TRY(artel__enter(mesh ? mesh->ctx : NULL, __func__, "cluster name", mesh, name));
    ARTEL_TRY(check_name(mesh, "barrier", name));
    ARTEL_TRY(check_seconds(mesh, name, seconds));
    if (mesh->single) return ARTEL_OK;
    pthread_mutex_lock(&mesh->mutex);
    char *owed = find_owed(mesh, name);
    bool running = runs(mesh),
         entered = running && (owed || artel__membership_enter(mesh->machine, artel__now_ns(), name));
    artel_status status = !running ? no_job(mesh, name) : ARTEL_OK;
    if (running && !entered)
        status = artel__fail(mesh->ctx, ARTEL_ERROR_INVALID, name, "use fewer names", "there are %d barriers already",
                             ARTEL__MAX_BARRIERS);
    if (entered) {
        artel__mesh_settle(mesh);
        status = await_barrier(mesh, name, seconds);
        if (status < 0 && !owed) owed = find_owed(mesh, "");
        if (owed) snprintf(owed, sizeof mesh->pass.owed[0], "%s", status < 0 ? name : "");
    }
    pthread_mutex_unlock(&mesh->mutex);
    return status;
}
