/* SPDX-License-Identifier: Apache-2.0 */
/* One loop over the port and the connections; what is said and answered. */
#include "service/dispatcher.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/listener.h"
#include "service/estimate.h"
#include "service/journal.h"
#include "service/line.h"

#define SILENT_NS INT64_C(15000000000) /* a worker says something every two seconds */

enum {
    CALLERS = 4096,
    ANSWERS = 16 /* that one caller may leave unread */
};

typedef struct served {
    const char *name, *spec;
    json_t *description; /* of the first worker that had it, or of the journal; NULL: not known yet */
} served;

typedef struct caller {
    artel__line line;
    bool works, ready, closing;
    char address[ARTEL__NET_ADDRESS_TEXT]; /* of a worker, where clients reach it */
    json_t *here;                          /* by dataset's name */
    json_int_t computed, found;            /* elements, by its last beat */
    json_t *rates;                         /* elements a second that it can do, by dataset's name; NULL: not said */
} caller;

typedef struct dispatcher {
    artel_context *ctx;
    const artel__dispatcher_options *options;
    artel__service_site site;
    artel__listener *listener;
    artel__journal journal;
    served *served;
    artel__arena arena;
    caller caller[CALLERS];
    struct pollfd ready[CALLERS + 1];
    int callers;
    artel__service_estimate estimate;
    int64_t questions, lost; /* workers */
} dispatcher;

static served *find_served(dispatcher *d, const char *name)
{
    if (name && !name[0] && d->options->datasets == 1) return &d->served[0];
    for (int i = 0; name && i < d->options->datasets; i++)
        if (strcmp(d->served[i].name, name) == 0) return &d->served[i];
    return NULL;
}

/* -- answers -- */

/* What is quoted came by network, and may be cut within a character: what is no UTF-8 is nothing that JSON can say. */
static artel_status refuse(caller *c, const char *format, const char *a, const char *b)
{
    char why[400], clean[400];
    int length = snprintf(why, sizeof why, "%s", format);
    if (length > 0 && (a[0] || b[0]))
        snprintf(why + length, sizeof why - (size_t)length, ": %.150s%s%.150s", a, b[0] ? "; " : "", b);
    c->closing = true;
    artel__clean(why, strlen(why), clean, sizeof clean);
    return artel__line_say(&c->line, json_pack("{s:s, s:s}", "say", "refused", "why", clean));
}

static artel_status answer_work(dispatcher *d, caller *c, const json_t *word)
{
    const char *address = json_string_value(json_object_get(word, "address"));
    const char *version = json_string_value(json_object_get(word, "version"));
    artel__net_address parsed;
    if (!address || strlen(address) >= sizeof c->address || !artel__net_address_parse(address, &parsed))
        return refuse(c, "a worker says where it is reached by numbers, 10.0.0.2:5051", "", "");
    if (!version || strcmp(version, ARTEL_VERSION) != 0)
        return refuse(c, "have the same artel on all hosts; here it is " ARTEL_VERSION,
                      version ? version : "another one", "");
    json_t *list = json_array();
    for (int i = 0; i < d->options->datasets; i++)
        artel__service_list_add(&list,
                                json_pack("{s:s, s:s, s:s}", "name", d->served[i].name, "spec", d->served[i].spec,
                                          "policy", artel__service_policies[d->options->policy]));
    c->works = true;
    snprintf(c->address, sizeof c->address, "%s", address);
    return artel__line_say(&c->line, json_pack("{s:s, s:o}", "say", "datasets", "datasets", list));
}

/* Keeps the first description of a dataset; *other: a dataset of which this one is another. */
static artel_status keep_descriptions(dispatcher *d, const json_t *word, const char **other)
{
    size_t i;
    json_t *value;
    json_array_foreach(json_object_get(word, "datasets"), i, value)
    {
        served *s = find_served(d, json_string_value(json_object_get(value, "name")));
        if (!s) continue;
        if (s->description && !json_equal(s->description, value)) *other = s->name;
        if (s->description) continue;
        ARTEL_TRY(artel__journal_add(&d->journal, json_pack("{s:s, s:O}", "spec", s->spec, "dataset", value)));
        s->description = json_incref(value);
    }
    return ARTEL_OK;
}

static bool are_described(artel_context *ctx, const json_t *word)
{
    artel__arena arena;
    artel__service_dataset dataset;
    size_t i;
    json_t *value;
    bool good = json_is_object(json_object_get(word, "here"));
    json_array_foreach(json_object_get(word, "datasets"), i, value)
    {
        artel__arena_init(&arena, ctx);
        good = good && artel__service_dataset_read(&arena, "worker", value, &dataset) == ARTEL_OK;
        artel__arena_fini(&arena);
    }
    if (!good) artel__operation_begin(ctx);
    return good;
}

/* Another worker of that address is the same one before its restart. */
static void drop_former(dispatcher *d, const caller *c)
{
    for (int i = 0; i < d->callers; i++) {
        caller *other = &d->caller[i];
        if (other != c && other->works && strcmp(other->address, c->address) == 0) other->closing = true;
    }
}

static artel_status answer_ready(dispatcher *d, caller *c, const json_t *word)
{
    const char *other = NULL;
    if (!c->works || !are_described(d->ctx, word)) return refuse(c, "a worker that nobody understands", "", "");
    ARTEL_TRY(keep_descriptions(d, word, &other));
    if (other)
        return refuse(c, "this worker has other data than the others (files, order or settings differ)", other,
                      "if all of it is to change, start the dispatcher with another journal");
    drop_former(d, c);
    json_decref(c->here);
    c->here = json_incref(json_object_get(word, "here"));
    c->ready = true;
    artel__log(d->ctx, ARTEL_LOG_NOTE, "worker %s at %s is ready", artel__connection_peer(c->line.connection)->task,
               c->address);
    return artel__line_say(&c->line, json_pack("{s:s}", "say", "welcome"));
}

static json_t *workers_of(const dispatcher *d, const char *dataset)
{
    json_t *list = json_array();
    for (int i = 0; i < d->callers; i++) {
        const caller *c = &d->caller[i];
        const char *here = json_string_value(json_object_get(c->here, dataset));
        if (!c->ready || c->closing || !here) continue;
        artel__service_list_add(&list, json_pack("{s:s, s:s, s:s}", "address", c->address, "task",
                                                 artel__connection_peer(c->line.connection)->task, "here", here));
    }
    return list;
}

static json_t *work_done(const dispatcher *d)
{
    json_t *list = json_array();
    for (int i = 0; i < d->callers; i++) {
        const caller *c = &d->caller[i];
        if (!c->ready || c->closing) continue;
        artel__service_list_add(&list, json_pack("{s:s, s:s, s:I, s:I}", "address", c->address, "task",
                                                 artel__connection_peer(c->line.connection)->task, "computed",
                                                 c->computed, "found", c->found));
    }
    return list;
}

static artel_status answer_beat(caller *c, const json_t *word)
{
    c->computed = json_integer_value(json_object_get(word, "computed"));
    c->found = json_integer_value(json_object_get(word, "found"));
    json_decref(c->rates);
    c->rates = json_incref(json_object_get(word, "rates"));
    return artel__line_say(&c->line, json_pack("{s:s}", "say", "beat"));
}

/* How many would do. NULL: too little is known, or no memory, which json_pack makes null of as well. */
static json_t *workers_needed(dispatcher *d, const served *s, size_t now)
{
    artel__service_estimate_begin(&d->estimate, (int)(s - d->served), artel__now_ns());
    for (int i = 0; i < d->callers; i++)
        if (d->caller[i].ready && !d->caller[i].closing)
            artel__service_estimate_add(&d->estimate, json_number_value(json_object_get(d->caller[i].rates, s->name)));
    int64_t needed = artel__service_estimate_end(&d->estimate, (int64_t)now);
    return needed > 0 ? json_integer(needed) : NULL;
}

static artel_status answer_open(dispatcher *d, caller *c, const json_t *word)
{
    const char *name = json_string_value(json_object_get(word, "dataset"));
    const served *s = find_served(d, name);
    d->questions++;
    if (!s) {
        char names[150] = "";
        for (int i = 0; i < d->options->datasets; i++) {
            size_t used = strlen(names);
            snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "it serves ", d->served[i].name);
        }
        return refuse(c, "no such dataset is served", name ? name : "", names);
    }
    const artel__service_demand demand = {.dataset = (int)(s - d->served),
                                          .client = json_integer_value(json_object_get(word, "client")),
                                          .rate = json_number_value(json_object_get(word, "demand")),
                                          .heard_ns = artel__now_ns()};
    artel__service_estimate_hear(&d->estimate, &demand);
    return artel__line_say(&c->line, json_pack("{s:s, s:O*, s:o}", "say", "dataset", "dataset", s->description,
                                               "workers", workers_of(d, s->name)));
}

static artel_status answer_status(dispatcher *d, caller *c)
{
    json_t *datasets = json_array();
    for (int i = 0; i < d->options->datasets; i++) {
        const served *s = &d->served[i];
        json_t *workers = workers_of(d, s->name), *needed = workers_needed(d, s, json_array_size(workers));
        artel__service_list_add(&datasets, json_pack("{s:s, s:s, s:O?, s:O?, s:o, s:o?}", "name", s->name, "spec",
                                                     s->spec, "rows", json_object_get(s->description, "rows"), "policy",
                                                     json_object_get(s->description, "policy"), "workers", workers,
                                                     "needed", needed));
    }
    return artel__line_say(&c->line,
                           json_pack("{s:s, s:s, s:i, s:o, s:o, s:I, s:I}", "say", "status", "artel", ARTEL_VERSION,
                                     "pid", (int)getpid(), "datasets", datasets, "workers", work_done(d), "questions",
                                     (json_int_t)d->questions, "lost_workers", (json_int_t)d->lost));
}

static artel_status answer(dispatcher *d, caller *c, const json_t *word)
{
    const char *say = json_string_value(json_object_get(word, "say"));
    if (!say) say = "";
    if (strcmp(say, "work") == 0) return answer_work(d, c, word);
    if (strcmp(say, "ready") == 0) return answer_ready(d, c, word);
    if (strcmp(say, "beat") == 0) return answer_beat(c, word);
    if (strcmp(say, "open") == 0) return answer_open(d, c, word);
    if (strcmp(say, "status") == 0) return answer_status(d, c);
    return refuse(c, "this is the dispatcher of a data service; it does not know the word", say, "");
}

/* -- callers -- */

static void dismiss(dispatcher *d, int i)
{
    caller *c = &d->caller[i];
    if (c->ready && !artel__cancelled(d->ctx)) {
        artel__log(d->ctx, ARTEL_LOG_NOTE, "worker %s at %s is gone", artel__connection_peer(c->line.connection)->task,
                   c->address);
        d->lost++;
    }
    artel__line_close(&c->line);
    json_decref(c->here);
    json_decref(c->rates);
    d->caller[i] = d->caller[--d->callers];
    memset(&d->caller[d->callers], 0, sizeof d->caller[0]);
}

static artel_status hear(dispatcher *d, caller *c)
{
    artel__line_kind kind;
    const uint8_t *bytes;
    size_t size;
    artel_status heard;
    while (!c->closing && (heard = artel__line_hear(&c->line, &kind, &bytes, &size)) != ARTEL_AGAIN) {
        json_t *word = NULL;
        bool reads = artel__line_waiting(&c->line) < ANSWERS;
        if (heard < 0 || !reads || kind != ARTEL__LINE_JSON ||
            artel__json_load(d->ctx, "caller", (const char *)bytes, size, &word) < 0) {
            artel__operation_begin(d->ctx);
            c->closing = true;
            break;
        }
        artel_status status = answer(d, c, word);
        json_decref(word);
        if (status < 0) return status;
    }
    return ARTEL_OK;
}

static artel_status move(dispatcher *d, int64_t now)
{
    for (int i = 0; i < d->callers;) {
        caller *c = &d->caller[i];
        bool gone = artel__line_progress(&c->line) == ARTEL__CONNECTION_LOST;
        ARTEL_TRY(hear(d, c));
        gone = gone || artel__line_progress(&c->line) == ARTEL__CONNECTION_LOST;
        if (c->closing && !c->line.first && !(artel__connection_events(c->line.connection) & POLLOUT)) gone = true;
        if (now - c->line.heard_ns > SILENT_NS) gone = true;
        if (gone)
            dismiss(d, i);
        else
            i++;
    }
    return ARTEL_OK;
}

static void accept_all(dispatcher *d)
{
    artel__listener_progress(d->listener);
    for (artel__connection *c = artel__listener_take(d->listener); c; c = artel__listener_take(d->listener)) {
        if (d->callers == CALLERS || artel__connection_peer(c)->purpose != ARTEL__NET_CONTROL) {
            artel__connection_close(c);
            continue;
        }
        artel__line_open(&d->caller[d->callers++].line, d->ctx, c, ARTEL__LINE_JSON_MOST);
    }
}

static artel_status serve(dispatcher *d)
{
    while (!artel__cancelled(d->ctx)) {
        accept_all(d);
        ARTEL_TRY(move(d, artel__now_ns()));
        d->ready[0] = (struct pollfd){.fd = artel__listener_fd(d->listener), .events = POLLIN};
        for (int i = 0; i < d->callers; i++) {
            const artel__connection *c = d->caller[i].line.connection;
            d->ready[i + 1] = (struct pollfd){.fd = artel__connection_fd(c), .events = artel__connection_events(c)};
        }
        poll(d->ready, (nfds_t)d->callers + 1, 200);
    }
    return ARTEL_OK;
}

/* -- life -- */

static artel_status remember(void *user, const json_t *entry)
{
    dispatcher *d = user;
    json_t *dataset = json_object_get(entry, "dataset");
    const char *spec = json_string_value(json_object_get(entry, "spec")),
               *name = json_string_value(json_object_get(dataset, "name"));
    served *s = name && name[0] ? find_served(d, name) : NULL;
    if (!s) return ARTEL_OK; /* it is not served any more */
    if (!spec || strcmp(spec, s->spec) != 0)
        return artel__fail(d->ctx, ARTEL_ERROR_INVALID, d->options->journal,
                           "begin another journal, or serve it by another name",
                           "'%s' was %.200s when this journal was written", s->name, spec ? spec : "something else");
    json_decref(s->description);
    s->description = json_incref(dataset);
    return ARTEL_OK;
}

static artel_status open_all(dispatcher *d)
{
    const artel__dispatcher_options *o = d->options;
    char text[ARTEL__NET_ADDRESS_TEXT];
    d->served = artel__arena_alloc(&d->arena, (size_t)o->datasets, sizeof *d->served);
    ARTEL_TRY(artel__arena_status(&d->arena));
    for (int i = 0; i < o->datasets; i++) d->served[i] = (served){o->name[i], o->spec[i], NULL};
    for (int i = 0; i < o->datasets; i++) {
        ARTEL_TRY(artel__service_check_name(d->ctx, "the name of a dataset", o->name[i]));
        ARTEL_TRY(artel__service_check_name(d->ctx, "the specification", o->spec[i]));
    }
    ARTEL_TRY(artel__journal_open(d->ctx, o->journal, remember, d, &d->journal));
    ARTEL_TRY(artel__service_site_open(d->ctx, &o->access, "data-dispatcher", false, &d->site));
    const artel__listener_options listen = {.address = o->listen};
    ARTEL_TRY(artel__listener_create(&d->site.site, &listen, &d->listener));
    artel__net_address_text(&o->listen, text);
    char *colon = strrchr(text, ':');
    snprintf(colon, sizeof text - (size_t)(colon - text), ":%d", artel__listener_port(d->listener));
    if (o->listening) o->listening(o->user, text);
    return ARTEL_OK;
}

artel_status artel__dispatcher_run(artel_context *ctx, const artel__dispatcher_options *options)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(dispatcher), "dispatcher", &block));
    dispatcher *d = block;
    d->ctx = ctx;
    d->options = options;
    d->journal.fd = -1;
    artel__arena_init(&d->arena, ctx);
    artel_status status = open_all(d);
    if (status == ARTEL_OK) status = serve(d);
    while (d->callers > 0) dismiss(d, d->callers - 1);
    artel__listener_destroy(d->listener);
    artel__service_site_close(&d->site);
    artel__journal_close(&d->journal);
    for (int i = 0; d->served && i < options->datasets; i++) json_decref(d->served[i].description);
    artel__arena_fini(&d->arena);
    artel__free(ctx, d);
    return status;
}
