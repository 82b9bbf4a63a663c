/* SPDX-License-Identifier: Apache-2.0 */
/* artel status and artel drain: asking a task of a running job, from anywhere; health probes. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/cluster.h"
#include "cluster/cluster.h"
#include "cluster/listen.h"
#include "cluster/status.h"

typedef struct status_options {
    const char *resolver, *file, *task, *service, *bind, *cert_dir, *name, *timeout, *stuck_after;
    int64_t workers, port;
    int require;
    bool insecure_network;
    const char *json; /* as in fit, so that ARTEL_JSON may stand in the environment of both */
} status_options;

#define AT(field) offsetof(status_options, field)
static const char *const json_words[] = {"all", NULL};

#define SHARED_OPTIONS                                                                                                 \
    {"cert-dir",                                                                                                       \
     "folder with a certificate of the job's authority, from artel cert",                                              \
     ARTEL__OPTION_STRING,                                                                                             \
     AT(cert_dir),                                                                                                     \
     "null",                                                                                                           \
     0,                                                                                                                \
     0,                                                                                                                \
     NULL},                                                                                                            \
        {"name",                                                                                                       \
         "whose certificate of --cert-dir; null: the folder's own, else operator",                                     \
         ARTEL__OPTION_STRING,                                                                                         \
         AT(name),                                                                                                     \
         "null",                                                                                                       \
         0,                                                                                                            \
         0,                                                                                                            \
         NULL},                                                                                                        \
        {"insecure-network",                                                                                           \
         "allow plaintext beyond this machine",                                                                        \
         ARTEL__OPTION_BOOL,                                                                                           \
         AT(insecure_network),                                                                                         \
         "false",                                                                                                      \
         0,                                                                                                            \
         0,                                                                                                            \
         NULL},                                                                                                        \
        {"timeout", "how long to wait for the answer", ARTEL__OPTION_STRING, AT(timeout), "5s", 0, 0, NULL},           \
        {"json", "print the answer as one JSON object", ARTEL__OPTION_STRING, AT(json), "null", 0, 0, json_words},     \
        {"resolver",                                                                                                   \
         "without ADDR: who describes the cluster, as in fit",                                                         \
         ARTEL__OPTION_STRING,                                                                                         \
         AT(resolver),                                                                                                 \
         "auto",                                                                                                       \
         0,                                                                                                            \
         0,                                                                                                            \
         NULL},                                                                                                        \
        {"cluster-file",                                                                                               \
         "without ADDR: a description of the cluster, as in fit",                                                      \
         ARTEL__OPTION_STRING,                                                                                         \
         AT(file),                                                                                                     \
         "null",                                                                                                       \
         0,                                                                                                            \
         0,                                                                                                            \
         NULL},                                                                                                        \
        {"task", "without ADDR: which task this is, as in fit", ARTEL__OPTION_STRING, AT(task), "null", 0, 0, NULL},   \
        {"service",                                                                                                    \
         "without ADDR: the headless service of an indexed Job",                                                       \
         ARTEL__OPTION_STRING,                                                                                         \
         AT(service),                                                                                                  \
         "null",                                                                                                       \
         0,                                                                                                            \
         0,                                                                                                            \
         NULL},                                                                                                        \
        {"workers",                                                                                                    \
         "without ADDR: completions of an indexed Job",                                                                \
         ARTEL__OPTION_INT,                                                                                            \
         AT(workers),                                                                                                  \
         "null",                                                                                                       \
         1,                                                                                                            \
         ARTEL__CLUSTER_MAX_TASKS,                                                                                     \
         NULL},                                                                                                        \
        {"port",                                                                                                       \
         "without ADDR: first port where launchers name hosts only; null: 8888",                                       \
         ARTEL__OPTION_INT,                                                                                            \
         AT(port),                                                                                                     \
         "null",                                                                                                       \
         1,                                                                                                            \
         65535,                                                                                                        \
         NULL},                                                                                                        \
    {                                                                                                                  \
        "bind", "without ADDR: where this task listens, as in fit", ARTEL__OPTION_STRING, AT(bind), "null", 0, 0, NULL \
    }

enum {
    REQUIRE_ANSWER,
    REQUIRE_RUNNING
};
static const char *const requirements[] = {"answer", "running", NULL};

static const artel__option status_table[] = {
    SHARED_OPTIONS,
    {"require", "for exit code 0: answer (it answers, its job has not failed), running (it trains with the others)",
     ARTEL__OPTION_ENUM, AT(require), "answer", 0, 0, requirements},
    {"stuck-after", "exit code 2 when the task does the same part of the same step for longer: 30min",
     ARTEL__OPTION_STRING, AT(stuck_after), "null", 0, 0, NULL},
    {.name = NULL},
};

static const artel__option drain_table[] = {
    SHARED_OPTIONS,
    {.name = NULL},
};

/* -- whom to ask -- */

/* Where the task of this environment listens, reached from the same machine. NULL with ARTEL_OK: it opens no port. */
static artel_status find_self(artel__invocation *call, const char **out)
{
    const status_options *o = call->options;
    const artel__cluster_options wanted = {
        .resolver = artel__cli_given(call, "resolver") ? o->resolver : NULL,
        .file = o->file,
        .task = o->task,
        .service = o->service,
        .workers = (int)o->workers,
        .port = (int)o->port,
    };
    artel__cluster cluster;
    artel__host_port parts;
    *out = NULL;
    ARTEL_TRY(artel__cluster_resolve(call->ctx, artel__process_environment, NULL, &wanted, &cluster));
    const char *address = cluster.self_at >= 0 ? cluster.task[cluster.self_at].address : NULL;
    artel_status status = ARTEL_OK;
    bool serves =
        cluster.self_at >= 0 && cluster.task[cluster.self_at].type == ARTEL__TASK_PS; /* it listens, and has no rank */
    if (cluster.single || (cluster.rank < 0 && !serves))
        artel__log(call->ctx, ARTEL_LOG_NOTE,
                   "%s: this task works alone and opens no port; others are asked with: artel %s HOST:PORT",
                   strcmp(cluster.resolver, "none") == 0 ? "no cluster in the environment" : cluster.where,
                   call->command->name);
    else if (!address || artel__host_port_parse(address, &parts))
        status = artel__cli_usage(call, call->command->name,
                                  "%s does not say where this task listens; give its HOST:PORT", cluster.where);
    else {
        artel__net_address listening, reach;
        char text[ARTEL__NET_ADDRESS_TEXT];
        status = artel__listen_address(call->ctx, &parts, o->bind, parts.port, &listening);
        if (status == ARTEL_OK) artel__listen_reach(&listening, parts.port, &reach);
        if (status == ARTEL_OK) *out = artel__arena_strdup(&call->arena, artel__net_address_text(&reach, text));
        if (status == ARTEL_OK) status = artel__arena_status(&call->arena);
    }
    artel__cluster_fini(&cluster);
    return status;
}

static artel_status read_time(artel__invocation *call, const char *option, const char *text, double *out)
{
    *out = artel__cli_seconds(text);
    if (*out > 0) return ARTEL_OK;
    return artel__cli_usage(call, option, "the value is no time (found %.60s, expected for example 5s or 10min)", text);
}

/* *out stays NULL when there is nobody to ask. The caller owns it. */
static artel_status ask(artel__invocation *call, const char *question, json_t **out)
{
    const status_options *o = call->options;
    artel__status_request request = {
        .question = question, .cert_dir = o->cert_dir, .name = o->name, .insecure_network = o->insecure_network};
    artel__text answer;
    *out = NULL;
    ARTEL_TRY(read_time(call, "--timeout", o->timeout, &request.timeout));
    if (call->arguments)
        request.address = call->argument[0];
    else
        ARTEL_TRY(find_self(call, &request.address));
    if (!request.address) return ARTEL_OK;
    artel__text_init(&answer, call->ctx);
    artel_status status = artel__status_ask(call->ctx, &request, &answer);
    if (status == ARTEL_OK) status = artel__json_load(call->ctx, request.address, answer.data, answer.length, out);
    if (status == ARTEL_OK && !json_is_string(json_object_get(*out, "state"))) {
        const char *error = json_string_value(json_object_get(*out, "error"));
        status = artel__fail(call->ctx, ARTEL_ERROR_UNSUPPORTED, request.address, "use the artel that runs there",
                             "%.200s", error ? error : "an answer that this version does not understand");
    }
    char *line = NULL; /* written anew: one line, whatever the answer is made of */
    if (status == ARTEL_OK && o->json) status = artel__json_dump_string(call->ctx, *out, ARTEL__JSON_COMPACT, &line);
    if (line) artel__show(stdout, "%s\n", line);
    artel__free(call->ctx, line);
    artel__text_fini(&answer);
    if (status < 0) {
        json_decref(*out);
        *out = NULL;
    }
    return status;
}

/* -- showing: nothing that came by network is trusted to be fit for a terminal -- */

static void print_text(const json_t *object, const char *name, int width)
{
    const char *text = json_string_value(json_object_get(object, name));
    int column = 0;
    for (; text && *text; text++, column++) putchar(isprint((unsigned char)*text) ? *text : '?');
    for (; column < width; column++) putchar(' ');
}

static long long number(const json_t *object, const char *name)
{
    return (long long)json_integer_value(json_object_get(object, name));
}

static bool flag(const json_t *object, const char *name)
{
    return json_is_true(json_object_get(object, name));
}

static void print_task(const json_t *task)
{
    artel__show(stdout, "  ");
    print_text(task, "task", 14);
    putchar(' ');
    print_text(task, "address", 22);
    artel__show(stdout, " %s",
                flag(task, "member")                         ? "member"
                : flag(task, "linked") || flag(task, "self") ? "there, no member"
                                                             : "missing");
    if (json_is_string(json_object_get(task, "phase"))) {
        artel__show(stdout, ", step %lld, ", number(task, "step"));
        print_text(task, "phase", 0);
        artel__show(stdout, " for %.1f s", (double)number(task, "phase_ms") * 1e-3);
        if (json_is_real(json_object_get(task, "busy")))
            artel__show(stdout, ", works %.0f%%", 100 * json_real_value(json_object_get(task, "busy")));
    }
    if (flag(task, "self"))
        artel__show(stdout, " (answers)");
    else if (flag(task, "linked"))
        artel__show(stdout, ", heard %.1f s ago", (double)number(task, "heard_ms") * 1e-3);
    else if (json_string_length(json_object_get(task, "why"))) {
        artel__show(stdout, ": ");
        print_text(task, "why", 0);
    }
    putchar('\n');
}

static void print_part(const json_t *part)
{
    artel__show(stdout, "  part %lld of %lld bytes: ", number(part, "part"), number(part, "bytes"));
    if (json_is_string(json_object_get(part, "role"))) {
        print_text(part, "role", 0);
    } else {
        print_text(part, "head", 0);
        if (json_is_string(json_object_get(part, "copy"))) {
            artel__show(stdout, ", copy ");
            print_text(part, "copy", 0);
        }
    }
    if (json_object_get(part, "updates")) artel__show(stdout, ", update %lld", number(part, "updates"));
    if (json_is_string(json_object_get(part, "waits_for"))) {
        artel__show(stdout, ", waits for ");
        print_text(part, "waits_for", 0);
    }
    putchar('\n');
}

static void print_servers(const json_t *servers)
{
    const json_t *part, *staleness = json_object_get(servers, "staleness"),
                        *traffic = json_object_get(servers, "traffic");
    size_t i;
    bool closures = flag(servers, "closures");
    if (closures)
        artel__show(stdout, "closures over parameter servers: %lld wait, %lld are out, %lld were given out again\n",
                    number(servers, "queue"), number(servers, "out"), number(servers, "again"));
    if (!closures && json_object_get(servers, "queue")) {
        artel__show(stdout, "parameter servers, ");
        print_text(servers, "consistency", 0);
        artel__show(stdout, ", placed by ");
        print_text(servers, "placement", 0);
        artel__show(stdout, ": %lld batches wait, %lld are out", number(servers, "queue"), number(servers, "out"));
        if (number(servers, "late")) artel__show(stdout, ", %lld gradients were late", number(servers, "late"));
        if (number(staleness, "updates"))
            artel__show(stdout, "; staleness of %lld updates: half at most %lld, 90 %% at most %lld, the most %lld",
                        number(staleness, "updates"), number(staleness, "p50"), number(staleness, "p90"),
                        number(staleness, "max"));
        if (json_is_string(json_object_get(servers, "arithmetic"))) {
            artel__show(stdout, "; ");
            print_text(servers, "arithmetic", 0);
        }
        if (traffic)
            artel__show(stdout, "; the fullest server had %.2f times the mean traffic, and since pieces moved %.2f",
                        json_number_value(json_object_get(traffic, "before")),
                        json_number_value(json_object_get(traffic, "after")));
        putchar('\n');
    }
    json_array_foreach(json_object_get(servers, "parts"), i, part) print_part(part);
}

static void print_answer(const json_t *answer)
{
    const json_t *tasks = json_object_get(answer, "tasks"), *task;
    size_t i;
    artel__show(stdout, "job ");
    print_text(answer, "job", 0);
    artel__show(stdout, ": ");
    print_text(answer, "state", 0);
    artel__show(stdout, "%s, generation %lld with %lld of %lld tasks, step %lld\n",
                flag(answer, "leaving") ? " (asked to leave)" : "", number(answer, "generation"),
                number(answer, "members"), number(answer, "total"), number(answer, "step"));
    if (json_is_string(json_object_get(answer, "cause"))) {
        artel__show(stdout, "failed: ");
        print_text(answer, "cause", 0);
        putchar('\n');
    }
    json_array_foreach(tasks, i, task) print_task(task);
    if ((long long)json_array_size(tasks) < number(answer, "total"))
        artel__show(stdout, "  ... and %lld more\n", number(answer, "total") - (long long)json_array_size(tasks));
    print_servers(json_object_get(answer, "servers"));
}

/* -- judging -- */

static const json_t *find_self_entry(const json_t *answer)
{
    const json_t *task;
    size_t i;
    json_array_foreach(json_object_get(answer, "tasks"), i, task)
    {
        if (flag(task, "self")) return task;
    }
    return NULL;
}

/* NULL, or why the exit code is 2. */
static const char *judge(const artel__invocation *call, const json_t *answer, double stuck_after)
{
    const status_options *o = call->options;
    const json_t *self = find_self_entry(answer);
    if (json_is_string(json_object_get(answer, "cause"))) return "its job has failed";
    if (o->require == REQUIRE_RUNNING && !flag(answer, "running")) return "it does not train (yet)";
    if (stuck_after > 0 && self && flag(answer, "running") && (double)number(self, "phase_ms") * 1e-3 > stuck_after)
        return "it is stuck in one phase of a step";
    return NULL;
}

static artel_status run_status(artel__invocation *call)
{
    const status_options *o = call->options;
    json_t *answer;
    double stuck_after = 0;
    if (o->stuck_after) ARTEL_TRY(read_time(call, "--stuck-after", o->stuck_after, &stuck_after));
    ARTEL_TRY(ask(call, "status", &answer));
    if (!answer) return ARTEL_OK;
    if (!o->json) print_answer(answer);
    const char *why = judge(call, answer, stuck_after);
    artel_status status = ARTEL_OK;
    if (why) {
        const char *name = json_string_value(json_object_get(answer, "task"));
        status = artel__fail(call->ctx, ARTEL_ERROR_RUN, name ? name : "status", "see what it prints", "%s", why);
    }
    json_decref(answer);
    return status;
}

static artel_status run_drain(artel__invocation *call)
{
    const status_options *o = call->options;
    json_t *answer;
    ARTEL_TRY(ask(call, "drain", &answer));
    if (!answer) return artel__cli_usage(call, "drain", "nobody is there to be asked");
    if (!o->json) {
        print_text(answer, "task", 0);
        artel__show(stdout, ": will leave in order\n");
    }
    json_decref(answer);
    return ARTEL_OK;
}

const artel__command artel__command_status = {
    .name = "status",
    .summary = "ask a running task how it and its job are; health probes",
    .usage = "[HOST:PORT] [--json] [--require running] [options]",
    .more = "Asks the port that a task of a job listens at: whether it trains, who takes part, at which step everybody "
            "is. Without HOST:PORT\n"
            "it asks the task of its own environment (TF_CONFIG, Slurm, ...), as a probe inside a container does. Exit "
            "codes: 0 what --require "
            "says\nholds, and also for a task that works alone, which opens no port; 2 nobody answers, or it does not "
            "hold; 1 refused "
            "(certificate), usage.\nSee docs/deploy.md.\n",
    .examples = "  artel status 10.0.0.2:2222 --cert-dir certs\n  artel status node7:8888 --json\n"
                "  artel status --require running --stuck-after 30min\n",
    .options = status_table,
    .options_size = sizeof(status_options),
    .min_arguments = 0,
    .max_arguments = 1,
    .run = run_status,
};

const artel__command artel__command_drain = {
    .name = "drain",
    .summary = "ask a running task to leave its job in order",
    .usage = "[HOST:PORT] [options]",
    .more = "Does what SIGTERM on its host does, and returns when the task has been told. Without HOST:PORT it tells "
            "the task of its own "
            "environment.\nExit codes: 0 told; 2 nobody answers; 1 refused (certificate), usage.\n",
    .examples = "  artel drain 10.0.0.2:2222 --cert-dir certs\n  artel drain node7:8888\n",
    .options = drain_table,
    .options_size = sizeof(status_options),
    .min_arguments = 0,
    .max_arguments = 1,
    .run = run_drain,
};
