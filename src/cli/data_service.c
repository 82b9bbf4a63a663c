/* SPDX-License-Identifier: Apache-2.0 */
/* artel data-service: dispatcher, worker, status. What they do is in src/service. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/action.h"
#include "cluster/listen.h"
#include "service/dispatcher.h"
#include "service/worker.h"

typedef struct service_options {
    const char *bind, *journal, *address, *cert_dir, *name, *cache, *json;
    int64_t port, threads;
    int policy;
    bool insecure_network;
} service_options;

#define AT(field) offsetof(service_options, field)
static const char *const json_words[] = {"all", NULL};
static const artel__option options[] = {
    {"port", "dispatcher, worker: where to listen; 0: a port that the system chooses", ARTEL__OPTION_INT, AT(port), "0",
     0, 65535, NULL},
    {"bind", "the address of this machine to listen at; null: 127.0.0.1 without certificates, else all",
     ARTEL__OPTION_STRING, AT(bind), "null", 0, 0, NULL},
    {"policy", "dispatcher: who computes an element: dynamic (who is free), data, file, off", ARTEL__OPTION_ENUM,
     AT(policy), "dynamic", 0, 0, artel__service_policies},
    {"journal", "dispatcher: a file that it goes on from when it was restarted", ARTEL__OPTION_STRING, AT(journal),
     "null", 0, 0, NULL},
    {"address", "worker: HOST:PORT in numbers, where clients reach it; null: as it reaches the dispatcher",
     ARTEL__OPTION_STRING, AT(address), "null", 0, 0, NULL},
    {"threads", "worker: threads that compute; 0: the cores allowed to this process", ARTEL__OPTION_INT, AT(threads),
     "0", 0, 256, NULL},
    {"cache", "worker: memory for elements that were computed, of each dataset: 512M, 4G", ARTEL__OPTION_STRING,
     AT(cache), "0", 0, 0, NULL},
    {"cert-dir", "folder with a certificate of the service's authority, from artel cert", ARTEL__OPTION_STRING,
     AT(cert_dir), "null", 0, 0, NULL},
    {"name", "whose certificate of --cert-dir; null: the folder's own", ARTEL__OPTION_STRING, AT(name), "null", 0, 0,
     NULL},
    {"insecure-network", "allow plaintext beyond this machine", ARTEL__OPTION_BOOL, AT(insecure_network), "false", 0, 0,
     NULL},
    {"json", "status: print the answer as one JSON object", ARTEL__OPTION_STRING, AT(json), "null", 0, 0, json_words},
    {.name = NULL},
};

static artel__service_access access_of(const service_options *o)
{
    return (artel__service_access){
        .cert_dir = o->cert_dir, .cert_name = o->name, .insecure_network = o->insecure_network};
}

static artel_status find_listen(artel__invocation *call, artel__net_address *out)
{
    const service_options *o = call->options;
    bool open = (o->cert_dir && o->cert_dir[0]) || o->insecure_network;
    artel__host_port known = {.port = (int)o->port};
    snprintf(known.host, sizeof known.host, "%s", open ? "0.0.0.0" : "127.0.0.1");
    return artel__listen_address(call->ctx, &known, o->bind, (int)o->port, out);
}

static void say_listening(void *user, const char *address)
{
    artel__show(stdout, "data service: the %s listens at %s\n", (const char *)user, address);
    fflush(stdout);
}

/* -- dispatcher -- */

/* "NAME=SPEC"; a SPEC alone is called "data". */
static artel_status split_dataset(artel__invocation *call, const char *word, const char **name, const char **spec)
{
    size_t length = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");
    bool named = length > 0 && length < 64 && word[length] == '=';
    *name = named ? artel__arena_printf(&call->arena, "%.*s", (int)length, word) : "data";
    *spec = named ? word + length + 1 : word;
    if (!artel__cli_is_specification(*spec))
        return artel__cli_usage(call, word, "what is served is NAME=SPEC, for example train=tfrecord:train@16");
    return artel__arena_status(&call->arena);
}

static artel_status run_dispatcher(artel__invocation *call)
{
    const service_options *o = call->options;
    int count = call->arguments - 1;
    const char **names = artel__arena_alloc(&call->arena, (size_t)count, sizeof *names);
    const char **specs = artel__arena_alloc(&call->arena, (size_t)count, sizeof *specs);
    artel__dispatcher_options d = {.access = access_of(o),
                                   .journal = o->journal,
                                   .policy = (artel__service_policy)o->policy,
                                   .listening = say_listening,
                                   .user = (char[]){"dispatcher"}};
    ARTEL_TRY(artel__arena_status(&call->arena));
    for (int i = 0; i < count; i++) {
        ARTEL_TRY(split_dataset(call, call->argument[i + 1], &names[i], &specs[i]));
        for (int k = 0; k < i; k++)
            if (strcmp(names[k], names[i]) == 0)
                return artel__cli_usage(call, call->argument[i + 1], "'%s' is there twice; name it: NAME=SPEC",
                                        names[i]);
    }
    ARTEL_TRY(find_listen(call, &d.listen));
    d.name = names;
    d.spec = specs;
    d.datasets = count;
    return artel__dispatcher_run(call->ctx, &d);
}

/* -- worker -- */

static artel_status parse_bytes(artel__invocation *call, const char *text, uint64_t *out)
{
    static const char units[] = "KMGT";
    char number[32];
    int64_t value = 0;
    size_t length = strlen(text);
    const char *unit = length > 1 ? strchr(units, text[length - 1]) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    snprintf(number, sizeof number, "%.*s", (int)(unit ? length - 1 : length), text);
    if (length >= sizeof number || !artel__parse_int64(number, &value) || value < 0 ||
        value > (INT64_C(1) << 50) >> shift)
        return artel__cli_usage(call, "--cache",
                                "the value is no number of bytes (found %.40s, expected for example 512M)", text);
    *out = (uint64_t)value << shift;
    return ARTEL_OK;
}

static artel_status run_worker(artel__invocation *call)
{
    const service_options *o = call->options;
    artel__worker_options w = {.dispatcher = call->argument[1],
                               .address = o->address,
                               .access = access_of(o),
                               .threads = (int)o->threads,
                               .ready = say_listening,
                               .user = (char[]){"worker"}};
    ARTEL_TRY(parse_bytes(call, o->cache, &w.cache_bytes));
    ARTEL_TRY(find_listen(call, &w.listen));
    return artel__worker_run(call->ctx, &w);
}

/* -- status -- */

static const char *word_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "?";
}

static const char *needed_text(const json_t *dataset, char *out, size_t size)
{
    const json_t *needed = json_object_get(dataset, "needed");
    if (!json_is_integer(needed)) return "";
    snprintf(out, size, ", %lld would keep those who train from waiting", (long long)json_integer_value(needed));
    return out;
}

static void print_status(const json_t *answer)
{
    char text[96];
    size_t i;
    json_t *dataset, *worker;
    json_array_foreach(json_object_get(answer, "datasets"), i, dataset)
    {
        const json_t *rows = json_object_get(dataset, "rows"), *workers = json_object_get(dataset, "workers");
        artel__show(stdout, "%s: %s, ", word_of(dataset, "name"), word_of(dataset, "spec"));
        if (json_is_integer(rows))
            artel__show(stdout, "%lld rows, policy %s, %zu workers%s\n", (long long)json_integer_value(rows),
                        word_of(dataset, "policy"), json_array_size(workers), needed_text(dataset, text, sizeof text));
        else
            artel__show(stdout, "no worker has opened it yet\n");
    }
    json_array_foreach(json_object_get(answer, "workers"), i, worker)
    {
        artel__show(stdout, "  worker %s at %s: %lld elements computed, %lld found in its cache\n",
                    word_of(worker, "task"), word_of(worker, "address"),
                    (long long)json_integer_value(json_object_get(worker, "computed")),
                    (long long)json_integer_value(json_object_get(worker, "found")));
    }
}

static artel_status run_status(artel__invocation *call)
{
    const service_options *o = call->options;
    const artel__service_access access = access_of(o);
    artel__service_site site;
    json_t *answer = NULL;
    char *line = NULL;
    ARTEL_TRY(artel__service_site_open(call->ctx, &access, "operator", true, &site));
    artel_status status =
        artel__service_ask(&site, call->argument[1], json_pack("{s:s}", "say", "status"), INT64_C(5000000000), &answer);
    artel__service_site_close(&site);
    if (status < 0) return status;
    if (o->json) status = artel__json_dump_string(call->ctx, answer, ARTEL__JSON_COMPACT, &line);
    if (line)
        artel__show(stdout, "%s\n", line);
    else if (status == ARTEL_OK)
        print_status(answer);
    artel__free(call->ctx, line);
    json_decref(answer);
    return status;
}

/* -- the command -- */

static const artel__action actions[] = {
    {"dispatcher", 2, 1000, "dispatcher [NAME=]SPEC... --port P", run_dispatcher},
    {"worker", 2, 2, "worker HOST:PORT", run_worker},
    {"status", 2, 2, "status HOST:PORT", run_status},
    {.name = NULL},
};

static artel_status run_data_service(artel__invocation *call)
{
    const artel__action *action;
    artel__cli_cancel_by_signals(call->ctx);
    ARTEL_TRY(artel__action_find(call, actions, &action));
    return action->run(call);
}

const artel__command artel__command_data_service = {
    .name = "data-service",
    .summary = "run a pipeline on other machines, for those that train",
    .usage = "dispatcher [NAME=]SPEC... --port P | worker HOST:PORT | status HOST:PORT",
    .more = "A dispatcher knows what is served and which workers there are; workers open the data, each on its own "
            "machine, and compute "
            "elements;\nwhoever trains names --data service:HOST:PORT/NAME, with the dispatcher's address. Order, bits "
            "and checkpoints are "
            "those of the same data\nread at home. Workers may come, go and die; a dispatcher with --journal may be "
            "restarted. Ctrl-C or "
            "SIGTERM ends either.\nSee docs/data-service.md.\n",
    .examples = "  artel data-service dispatcher train=pipeline:train.json --port 5050 --journal service.journal "
                "--cert-dir certs/dispatcher\n"
                "  artel data-service worker node0:5050 --port 5051 --cache 4G --cert-dir certs/w1\n"
                "  artel data-service status node0:5050 --cert-dir certs/operator\n"
                "  artel fit model.keras --data service:node0:5050/train#cert-dir=certs/trainer --epochs 5\n",
    .options = options,
    .options_size = sizeof(service_options),
    .min_arguments = 1,
    .max_arguments = 1000,
    .run = run_data_service,
};
