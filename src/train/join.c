/* SPDX-License-Identifier: Apache-2.0 */
/* A session among the tasks of a cluster: taking seats, and what all must agree about.
 *
 * Tasks compare facts when they form: the identity of the run and the options that decide which steps follow one
 * another (epochs, validation, callbacks). So a difference is named before the first step, and no task waits in a
 * collective that the others never enter. Ownership of shards follows from the seat alone; a new seat between two steps
 * changes no bit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "train/deal.h"
#include "train/divide.h"
#include "train/identity.h"
#include "train/mixed.h"
#include "train/servers.h"
#include "train/session_impl.h"

#define FINISHED_PATIENCE_NS INT64_C(5000000000) /* for others, of a task that finds its run finished */

/* -- sessions -- */

static artel_status choose_all_reduce(artel__session *session, const artel__mesh_seat *seat)
{
    int host[ARTEL__MAX_SHARDS];
    artel__mesh_hosts(session->cluster, seat->ranks, host);
    return artel__group_choose(session->group, session->strategy.all_reduce, host);
}

artel_status artel__session_seat(artel__session *session, const artel__mesh_seat *seat)
{
    artel__session_unseat(session);
    ARTEL_TRY(
        artel__group_create_seated(session->ctx, session->replicas, session->options.shards, seat, &session->group));
    ARTEL_TRY(choose_all_reduce(session, seat));
    session->seat = *seat;
    session->first = seat->first;
    session->ranks = seat->ranks;
    artel__session_take_record(session, seat);
    ARTEL_TRY(artel__mixed_seated(session));
    for (int m = 0; m < ARTEL__MODE_COUNT; m++) {
        if (session->mode[m].objective) ARTEL_TRY(artel__session_place(session, (artel__mode)m));
    }
    return ARTEL_OK;
}

void artel__session_unseat(artel__session *session)
{
    artel__session_release(session);
    artel__group_destroy(session->group);
    session->group = NULL;
    session->seat = (artel__mesh_seat){.ranks = 0};
}

uint64_t artel__session_hash(const artel__session *session)
{
    return artel__state_hash(session->replica[0].state, artel__all_of(&session->variables));
}

/* -- facts -- */

typedef struct facts {
    char text[ARTEL__FACTS_MAX + 1];
    size_t length;
} facts;

/* Values are shortened to what tells them apart; what is long is hashed. */
static artel_status add_fact(artel_context *ctx, facts *f, const char *name, const char *value)
{
    char hash[65];
    if (strlen(value) > 32 && !(strlen(value) == 64 && strspn(value, "0123456789abcdef") == 64)) {
        artel__sha256 sha;
        artel__sha256_init(&sha);
        artel__sha256_update(&sha, value, strlen(value));
        artel__sha256_hex(&sha, hash);
        value = hash;
    }
    int written = snprintf(f->text + f->length, sizeof f->text - f->length, "%s=%.32s\n", name, value);
    if (written < 0 || f->length + (size_t)written >= sizeof f->text)
        return artel__fail(ctx, ARTEL_ERROR_INTERNAL, "cluster", "please report this",
                           "the facts of this run are too long");
    f->length += (size_t)written;
    return ARTEL_OK;
}

static artel_status add_number(artel_context *ctx, facts *f, const char *name, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return add_fact(ctx, f, name, text);
}

static artel_status add_identity(artel_context *ctx, facts *f, const json_t *identity)
{
    const char *key;
    json_t *value;
    char number[32];
    json_object_foreach((json_t *)(uintptr_t)identity, key, value)
    {
        snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
        const char *text = json_is_string(value)    ? json_string_value(value)
                           : json_is_boolean(value) ? (json_is_true(value) ? "yes" : "no")
                                                    : number;
        ARTEL_TRY(add_fact(ctx, f, key, text));
    }
    return ARTEL_OK;
}

/* What is agreed is no fact yet: the record of each generation states it. */
static void write_products(const artel__fit *fit, char out[64])
{
    snprintf(out, 64, "artel-1 bfloat16 %s", artel__session_asked_arithmetic(fit->session));
}

/* Of processors without the instruction set, which changes no bit; of a device the platform can be read, the rest is a
 * hash. */
static void write_own(const artel__fit *fit, char out[64])
{
    const artel__device_set *devices = fit->session->devices;
    const char *class = devices ? devices->arithmetic : "artel-1 float32";
    if (devices)
        snprintf(out, 64, "%.*s %016llx", (int)strcspn(class, ",") < 15 ? (int)strcspn(class, ",") : 15, class,
                 (unsigned long long)artel__hash64(class, strlen(class)));
    else if (artel__session_has_products(fit->session))
        write_products(fit, out);
    else
        snprintf(out, 64, "%s", class);
}

/* With parameter servers: who computes nothing knows of devices no more than that they are there, which are the first
 * words of what workers say (cluster/membership_greet.c); and learns more from them. */
static artel_status add_workers(artel__fit *fit, facts *f)
{
    char own[64] = "pjrt";
    if (fit->role == ARTEL__ROLE_WORKER) write_own(fit, own);
    ARTEL_TRY(add_fact(fit->ctx, f, "version of artel", ARTEL_VERSION));
    ARTEL_TRY(add_fact(fit->ctx, f, "arithmetic", fit->job.mixed ? artel__fit_workers_class(fit) : own));
    return add_fact(fit->ctx, f, "own", own);
}

static artel_status add_version(artel__fit *fit, facts *f)
{
    char arithmetic[64], own[64];
    if (artel__fit_workers_class(fit)) return add_workers(fit, f);
    write_own(fit, own);
    bool mixed = fit->session->mixed_tasks;
    if (artel__session_has_products(fit->session))
        write_products(fit, arithmetic);
    else
        snprintf(arithmetic, sizeof arithmetic, "%s", mixed ? artel__session_device_class(fit->session) : own);
    ARTEL_TRY(add_fact(fit->ctx, f, "version of artel", ARTEL_VERSION));
    ARTEL_TRY(add_fact(fit->ctx, f, "arithmetic", arithmetic));
    return mixed ? add_fact(fit->ctx, f, "own", own) : ARTEL_OK;
}

/* What decides which steps follow one another, beside the identity. */
static artel_status add_course(artel__fit *fit, facts *f)
{
    const artel_fit_options *o = &fit->options;
    char recompute[32], divided[32];
    snprintf(recompute, sizeof recompute, "%.12g", o->recompute);
    ARTEL_TRY(add_number(fit->ctx, f, "epochs", o->epochs));
    ARTEL_TRY(add_number(fit->ctx, f, "validation steps", o->validation_steps));
    ARTEL_TRY(add_number(fit->ctx, f, "validation batch size", o->validation_batch_size));
    ARTEL_TRY(add_number(fit->ctx, f, "validation frequency", o->validation_frequency));
    if (o->validation_epochs) ARTEL_TRY(add_fact(fit->ctx, f, "validation epochs", o->validation_epochs));
    ARTEL_TRY(add_number(fit->ctx, f, "stop on NaN", o->stop_on_nan));
    ARTEL_TRY(add_number(fit->ctx, f, "audit of data", o->audit_data));
    ARTEL_TRY(add_fact(fit->ctx, f, "auto shard",
                       artel__divide_word(fit, divided) ? divided
                       : artel__deal_is_file(fit)       ? "file"
                                                        : "data"));
    ARTEL_TRY(add_fact(fit->ctx, f, "save every",
                       o->save_every ? o->save_every : "")); /* tasks compare what they have read then */
    ARTEL_TRY(add_fact(fit->ctx, f, "all-reduce",
                       artel__session_all_reduce(fit->session))); /* messages are another one's, bits not */
    ARTEL_TRY(
        add_fact(fit->ctx, f, "recompute", recompute)); /* changes no bit, but may change when folds are exchanged */
    if (fit->role != ARTEL__ROLE_NONE) {
        ARTEL_TRY(add_fact(fit->ctx, f, "consistency", o->consistency ? o->consistency : "async"));
        ARTEL_TRY(add_number(fit->ctx, f, "copies of parts", artel__service_copies(fit)));
        ARTEL_TRY(add_fact(fit->ctx, f, "partitioner", o->ps_partitioner ? o->ps_partitioner : "none"));
        ARTEL_TRY(add_fact(fit->ctx, f, "placement", o->ps_placement ? o->ps_placement : "traffic"));
        ARTEL_TRY(add_fact(fit->ctx, f, "loss of parts", o->ps_loss ? o->ps_loss : "checkpoint"));
    }
    return add_fact(fit->ctx, f, "callbacks", o->callbacks ? o->callbacks : "");
}

/* With parameter servers tasks hold different things, and no state goes from one to another as it does among equals:
 * nobody reads large tables that are not here. */
static artel__mesh_request request_of(artel__fit *fit, const char *told)
{
    artel__arithmetic arithmetic;
    if (fit->role != ARTEL__ROLE_NONE)
        return (artel__mesh_request){.facts = told,
                                     .replicas = 1,
                                     .shards = ARTEL__MAX_SHARDS,
                                     .saves_first = fit->role == ARTEL__ROLE_COORDINATOR};
    artel__mesh_request request = {.facts = told,
                                   .replicas = artel__session_replicas(fit->session),
                                   .shards = artel__session_shards(fit->session),
                                   .step = (uint64_t)fit->at.unit,
                                   .hash = artel__session_hash(fit->session),
                                   .best = artel__session_best_arithmetic(fit->session),
                                   .patience_ns = artel__checkpointer_finished(fit) ? FINISHED_PATIENCE_NS : 0};
    if (request.best && artel__session_products_of(fit->session, &arithmetic)) request.arithmetic = 1 + arithmetic;
    return request;
}

/* Asks the mesh for the others, with the state of the moment. */
static artel_status begin(artel__fit *fit, const char *told)
{
    artel__mesh_request request = request_of(fit, told);
    ARTEL_TRY(artel__mesh_begin(artel__fit_cluster(fit), &request));
    fit->job.begun = true;
    return ARTEL_OK;
}

artel_status artel__fit_join(artel__fit *fit)
{
    facts f = {.length = 0};
    json_t *identity;
    if (!artel__fit_cluster(fit)) return ARTEL_OK;
    ARTEL_TRY(artel__identity_make(fit, &identity));
    artel_status status = add_version(fit, &f);
    if (status == ARTEL_OK && fit->role != ARTEL__ROLE_NONE) /* before the identity, where it is named if it is lazy */
        status = add_fact(fit->ctx, &f, "embedding updates", fit->settings.optimizer.lazy_rows ? "lazy" : "exact");
    if (status == ARTEL_OK) status = add_identity(fit->ctx, &f, identity);
    if (status == ARTEL_OK) status = add_course(fit, &f);
    json_decref(identity);
    ARTEL_TRY(status);
    return begin(fit, f.text);
}

artel_status artel__pass_join(artel__fit *fit, artel__mode mode, const artel__feed *feed, int64_t steps)
{
    static const char *const names[] = {"fit", "evaluate", "predict"};
    facts f = {.length = 0};
    uint8_t bytes[32];
    char hex[65] = "";
    if (!artel__session_cluster(fit->session)) return ARTEL_OK;
    ARTEL_TRY(artel__feed_fingerprint(feed, bytes));
    for (int i = 0; i < 32; i++) snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    ARTEL_TRY(add_version(fit, &f));
    ARTEL_TRY(add_fact(fit->ctx, &f, "command", names[mode]));
    ARTEL_TRY(add_fact(fit->ctx, &f, "data", hex));
    if (fit->content.data[0]) ARTEL_TRY(add_fact(fit->ctx, &f, "data content", fit->content.data));
    ARTEL_TRY(add_number(fit->ctx, &f, "batch size", fit->input.batch_size));
    ARTEL_TRY(add_number(fit->ctx, &f, "steps", steps));
    ARTEL_TRY(add_number(fit->ctx, &f, "shards", artel__session_shards(fit->session)));
    ARTEL_TRY(add_fact(fit->ctx, &f, "all-reduce", artel__session_all_reduce(fit->session)));
    ARTEL_TRY(artel__identity_model(fit, hex));
    ARTEL_TRY(add_fact(fit->ctx, &f, "model", hex));
    return begin(fit, f.text);
}
