/* SPDX-License-Identifier: Apache-2.0 */
/* What rank 0 gives to all others behind each step. */
#include "train/mixed.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "strategy/devices.h"

enum {
    FIRST_COLLECTIVE = 8 /* behind those of replica.c, audit.c, content.c and deal_rows.c */
};

#define CLASS "mixed among tasks"

artel_status artel__mixed_check(artel__session *session)
{
    const artel__session_options *o = &session->options;
    int names = session->devices ? session->devices->mixture.count : 0;
    session->mixed_tasks = session->cluster && o->device.mixed;
    session->mixed = session->mixed_tasks || names;
    if (session->mixed_tasks) ARTEL_TRY(artel__devices_check_mixable(session->ctx, &o->device));
    return artel__strategy_settle_mixture(session->ctx, session->devices, session->cluster ? 0 : o->shards,
                                          &session->strategy);
}

/* -- who computes what -- */

artel_status artel__mixed_continue(artel__session *session, const char *made_by)
{
    if (!session->mixed_tasks || !made_by) return ARTEL_OK;
    session->continues = artel__arena_strdup(&session->arena, made_by);
    return artel__arena_status(&session->arena);
}

/* Addresses stand in brackets, and are others each time. */
static const char *pass_address(const char *text)
{
    while (*text == '(') {
        text += strcspn(text, ")");
        text += *text == ')';
    }
    return text;
}

static bool is_same_mixture(const char *a, const char *b)
{
    for (a = pass_address(a), b = pass_address(b); *a && *a == *b;) {
        a = pass_address(a + 1);
        b = pass_address(b + 1);
    }
    return *a == *b;
}

void artel__mixed_words(const char *text, char out[ARTEL__ARITHMETIC_ROOM])
{
    uint64_t hash = 0;
    size_t length = strlen(text);
    if (length < ARTEL__ARITHMETIC_ROOM) {
        memcpy(out, text, length + 1);
        return;
    }
    length = 0;
    for (const char *at = pass_address(text); *at; at = pass_address(at + 1)) {
        uint64_t next[2] = {hash, (unsigned char)*at};
        hash = artel__hash64(next, sizeof next);
        if (length + sizeof " ... 0123456789abcdef" < ARTEL__ARITHMETIC_ROOM) out[length++] = *at;
    }
    snprintf(out + length, ARTEL__ARITHMETIC_ROOM - length, " ... %016llx", (unsigned long long)hash);
}

static void tell_other(artel__session *session)
{
    if (session->continues && !is_same_mixture(session->continues, session->arithmetic))
        artel__log(session->ctx, ARTEL_LOG_NOTE,
                   "the checkpoint was made by others, and last bits may differ from those of a run that goes on as it "
                   "was: there %s; here %s",
                   session->continues, session->arithmetic);
    session->continues = NULL;
}

artel_status artel__mixed_seated(artel__session *session)
{
    char own[ARTEL__OWN_MAX + 1];
    artel__text text;
    int before = -1;
    if (!session->mixed_tasks) return ARTEL_OK;
    artel__text_init(&text, session->ctx);
    artel__text_append(&text, CLASS);
    for (int r = 0; r < session->ranks; r++) {
        int task = artel__mesh_task_of(session->cluster, r);
        if (task < 0 || task == before) continue;
        artel__mesh_own(session->cluster, task, own);
        artel__text_printf(&text, "%s%s %s", before < 0 ? ": " : ", ", artel__mesh_title(session->cluster, task), own);
        before = task;
    }
    artel_status status = artel__text_status(&text);
    if (status == ARTEL_OK) artel__mixed_words(text.data, session->arithmetic);
    artel__text_fini(&text);
    if (status == ARTEL_OK) tell_other(session);
    return status;
}

/* -- what was kept -- */

/* Bytes of a kept value that is the same for all rows; 0: it has rows. */
static size_t kept_bytes(const artel__graph *graph, int kept)
{
    const artel__value *value = &graph->value[graph->kept[kept]];
    if (value->domain != ARTEL__DOMAIN_GLOBAL) return 0;
    return ((size_t)artel_shape_count(&value->shape) * artel_dtype_size(value->dtype) + 7) / 8 * 8;
}

static size_t all_kept_bytes(const artel__graph *graph)
{
    size_t bytes = 0;
    for (int i = 0; i < graph->kept_count; i++) bytes += kept_bytes(graph, i);
    return bytes;
}

static bool is_root(const artel__replica *replica)
{
    return replica->session->first + replica->index == 0;
}

artel_status artel__mixed_prepare(artel__replica *replica, artel__mode m)
{
    artel__session *session = replica->session;
    artel__mixed_room *room = &replica->mode[m].mixed;
    const artel__graph *graph = &session->mode[m].objective->graph;
    if (!session->mixed || session->ranks == 1) return ARTEL_OK;
    size_t bytes = all_kept_bytes(graph);
    room->kept = artel__arena_alloc(&replica->mode[m].arena, bytes / 8 + 1, sizeof *room->kept);
    room->parcel = artel__arena_alloc(&replica->mode[m].arena, (size_t)session->ranks, sizeof *room->parcel);
    ARTEL_TRY(artel__arena_status(&replica->mode[m].arena));
    if (!session->mixed_tasks || m != ARTEL__MODE_TRAIN || replica->index > 0) return ARTEL_OK;
    bytes = artel__image_bytes(&session->variables, artel__all_of(&session->variables));
    ARTEL_TRY(artel__alloc_aligned(session->ctx, bytes + 1, "variables of rank 0", &room->image));
    room->image_bytes = bytes + 1;
    return ARTEL_OK;
}

const void *artel__mixed_kept(const artel__replica *replica, artel__mode m, int kept)
{
    const artel__graph *graph = &replica->session->mode[m].objective->graph;
    const double *at = replica->mode[m].mixed.kept;
    if (!at || kept_bytes(graph, kept) == 0) return artel__execution_read(replica->mode[m].run, kept);
    for (int i = 0; i < kept; i++) at += kept_bytes(graph, i) / 8;
    return at;
}

/* From rank 0 to this one; from rank 0, to the first replica of each task, or to every replica. */
static artel_status give(artel__replica *replica, const artel__step *step, int collective, void *data, size_t bytes,
                         bool firsts)
{
    artel__session *session = replica->session;
    artel__comm_parcel *parcel = replica->mode[replica->computing].mixed.parcel;
    const artel__comm *comm = artel__group_comm(session->group, replica->index);
    int count = 0, before = -1;
    if (!is_root(replica)) parcel[count++] = (artel__comm_parcel){.peer = 0, .data = data, .bytes = bytes};
    for (int r = 1; r < session->ranks && is_root(replica); r++) {
        int task = firsts ? artel__mesh_task_of(session->cluster, r) : r;
        if (firsts && r < session->replicas) continue; /* of this task */
        if (!firsts || task != before)
            parcel[count++] = (artel__comm_parcel){.peer = r, .sends = true, .data = data, .bytes = bytes};
        before = task;
    }
    int32_t number = session->mode[replica->computing].objective->graph.nodes + FIRST_COLLECTIVE + collective;
    number += replica->mode[replica->computing].gathers;
    return count ? comm->ops->exchange(comm->self, step, number, parcel, count) : ARTEL_OK;
}

artel_status artel__mixed_share_kept(artel__replica *replica, artel__mode m, const artel__step *step)
{
    artel__mixed_room *room = &replica->mode[m].mixed;
    const artel__graph *graph = &replica->session->mode[m].objective->graph;
    size_t bytes = all_kept_bytes(graph);
    uint8_t *at = (uint8_t *)room->kept;
    if (!room->kept || bytes == 0) return ARTEL_OK;
    for (int i = 0; i < graph->kept_count && is_root(replica); i++) {
        const artel__value *value = &graph->value[graph->kept[i]];
        size_t one = kept_bytes(graph, i);
        if (one)
            memcpy(at, artel__execution_read(replica->mode[m].run, i),
                   (size_t)artel_shape_count(&value->shape) * artel_dtype_size(value->dtype));
        at += one;
    }
    return give(replica, step, 0, room->kept, bytes, false);
}

/* -- variables -- */

artel_status artel__mixed_update(artel__replica *replica, const artel__step *step)
{
    artel__session *session = replica->session;
    artel__mixed_room *room = &replica->mode[ARTEL__MODE_TRAIN].mixed;
    artel__variable_range all = artel__all_of(&session->variables);
    size_t bytes = artel__image_bytes(&session->variables, all);
    if (replica->index > 0) return ARTEL_OK; /* it takes over what the first replica of its process has */
    if (!is_root(replica)) {
        ARTEL_TRY(give(replica, step, 1, room->image, bytes, true));
        artel__state_restore(replica->state, all, room->image);
        replica->applied = true;
        return ARTEL_OK;
    }
    artel__execution_apply(replica->mode[ARTEL__MODE_TRAIN].run, step);
    if (session->ranks == 1) {
        replica->applied = true;
        return ARTEL_OK;
    }
    ARTEL_TRY(artel__state_bring(replica->state));
    artel__state_image(replica->state, all, room->image);
    replica->applied = true; /* who does not get it copies it from those that have it */
    if (give(replica, step, 1, room->image, bytes, true) < 0) artel__group_cancel(session->group);
    return ARTEL_OK;
}
