/* SPDX-License-Identifier: Apache-2.0 */
/* artel cert: the cluster's authority and the certificates of its tasks. */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/action.h"
#include "cluster/resolver.h"
#include "net/cert.h"

#define AUTHORITY_DAYS 3650
#define TASK_DAYS 365

typedef struct cert_options {
    const char *job, *hosts;
    int64_t days;
    int key;
    bool force;
    const artel__cert_maker *maker; /* no option: open while an action runs */
} cert_options;

static const char *const key_names[] = {"p256", "ed25519", NULL};

static const artel__option options[] = {
    {"job", "init: the cluster's name, part of every certificate", ARTEL__OPTION_STRING, offsetof(cert_options, job),
     "cluster", 0, 0, NULL},
    {"hosts", "issue: host names and addresses that the task has, too: node1,10.0.0.1", ARTEL__OPTION_STRING,
     offsetof(cert_options, hosts), "null", 0, 0, NULL},
    {"days", "validity; null: 3650 for an authority, 365 for a task", ARTEL__OPTION_INT, offsetof(cert_options, days),
     "null", 1, 36500, NULL},
    {"key", "init, issue: p256 or ed25519", ARTEL__OPTION_ENUM, offsetof(cert_options, key), "p256", 0, 0, key_names},
    {"force", "issue: replace certificates that exist, with new keys", ARTEL__OPTION_BOOL,
     offsetof(cert_options, force), "false", 0, 0, NULL},
    {.name = NULL},
};

static const artel__cert_maker *maker_of(const artel__invocation *call)
{
    return ((const cert_options *)call->options)->maker;
}

static const char *format_day(int64_t when, char *out, size_t size)
{
    time_t seconds = (time_t)when;
    struct tm parts;
    if (!gmtime_r(&seconds, &parts) || strftime(out, size, "%Y-%m-%d %H:%M UTC", &parts) == 0) snprintf(out, size, "?");
    return out;
}

/* The names after DIR, lists such as worker-[0-3] written out. */
static artel_status read_names(artel__invocation *call, artel__hostlist *out)
{
    artel__text text;
    artel__text_init(&text, call->ctx);
    for (int i = 2; i < call->arguments; i++) artel__text_printf(&text, "%s%s", i > 2 ? "," : "", call->argument[i]);
    artel_status status = artel__text_status(&text);
    if (status == ARTEL_OK) status = artel__hostlist_expand(&call->arena, "NAME", text.data, out);
    artel__text_fini(&text);
    return status;
}

static artel_status split_hosts(artel__invocation *call, artel__cert_request *request)
{
    const cert_options *o = call->options;
    if (!o->hosts) return ARTEL_OK;
    char *rest = artel__arena_strdup(&call->arena, o->hosts);
    const char **hosts = artel__arena_alloc(&call->arena, strlen(o->hosts) + 1, sizeof *hosts);
    ARTEL_TRY(artel__arena_status(&call->arena));
    while (rest) hosts[request->hosts++] = strsep(&rest, ",");
    request->host = hosts;
    return ARTEL_OK;
}

/* Peers compare names: a host called like another task would let this one pass for it. */
static artel_status check_hosts(artel__invocation *call, const artel__cert_request *request)
{
    artel__task task;
    for (int i = 0; i < request->hosts; i++) {
        if (!artel__task_parse(request->host[i], &task) || strcmp(request->host[i], request->name) == 0) continue;
        return artel__fail(call->ctx, ARTEL_ERROR_INVALID, "--hosts", "name the host by its whole name or its address",
                           "%s is the name of another task, and %s would pass for it", request->host[i], request->name);
    }
    return ARTEL_OK;
}

static artel__cert_request make_request(const artel__invocation *call, int days)
{
    const cert_options *o = call->options;
    return (artel__cert_request){
        .job = o->job,
        .days = o->days > 0 ? (int)o->days : days,
        .kind = o->key == 1 ? ARTEL__CERT_ED25519 : ARTEL__CERT_P256,
        .force = o->force,
    };
}

/* -- actions; argument 0 is the action, 1 the folder -- */

static artel_status run_init(artel__invocation *call)
{
    const artel__cert_request request = make_request(call, AUTHORITY_DAYS);
    ARTEL_TRY(artel__cert_init(maker_of(call), call->argument[1], &request));
    artel__show(stdout, "%s/ca.crt: the authority of %s\n", call->argument[1], request.job);
    artel__show(stdout, "%s/ca.key: its key; keep it where certificates are made, and give it to no task\n",
                call->argument[1]);
    return ARTEL_OK;
}

static artel_status run_issue(artel__invocation *call)
{
    artel__hostlist names;
    artel__cert_request request = make_request(call, TASK_DAYS);
    ARTEL_TRY(read_names(call, &names));
    ARTEL_TRY(split_hosts(call, &request));
    for (int i = 0; i < names.count; i++) {
        request.name = names.host[i];
        ARTEL_TRY(check_hosts(call, &request));
        ARTEL_TRY(artel__cert_issue(maker_of(call), call->argument[1], &request));
        artel__show(stdout, "%s/%s: give this folder to %s as --cert-dir\n", call->argument[1], request.name,
                    request.name);
    }
    return ARTEL_OK;
}

static artel_status run_renew(artel__invocation *call)
{
    const artel__cert_request request = make_request(call, TASK_DAYS);
    artel__hostlist names;
    ARTEL_TRY(read_names(call, &names));
    for (int i = 0; i < names.count; i++) {
        ARTEL_TRY(artel__cert_renew(maker_of(call), call->argument[1], names.host[i], request.days));
        artel__show(stdout, "%s/%s: renewed for %d days\n", call->argument[1], names.host[i], request.days);
    }
    return ARTEL_OK;
}

static artel_status show_file(artel__invocation *call, const char *path)
{
    char day[64];
    artel__cert_info *info = artel__arena_alloc(&call->arena, 1, sizeof *info);
    ARTEL_TRY(artel__arena_status(&call->arena));
    ARTEL_TRY(artel__cert_read(maker_of(call), path, info));
    artel__show(stdout, "%s\n", path);
    artel__show(stdout, "  for          %s\n",
                info->authority ? "an authority"
                : info->name[0] ? info->name
                                : "no task of a cluster");
    artel__show(stdout, "  job          %s\n", info->job);
    artel__show(stdout, "  hosts        ");
    for (int i = 0; i < info->hosts; i++) artel__show(stdout, "%s%s", i ? ", " : "", info->host[i]);
    artel__show(stdout, "%s\n", info->hosts ? "" : "none");
    artel__show(stdout, "  subject      %s\n  issuer       %s\n", info->subject, info->issuer);
    artel__show(stdout, "  valid from   %s\n", format_day(info->not_before, day, sizeof day));
    double left = ((double)info->not_after - artel__wall_seconds()) / 86400;
    artel__show(stdout, "  valid until  %s (%s)\n", format_day(info->not_after, day, sizeof day),
                left > 0 ? "in time" : "expired");
    artel__show(stdout, "  key          %s\n  serial       %s\n  sha256       %s\n", info->key, info->serial,
                info->fingerprint);
    return ARTEL_OK;
}

static artel_status run_show(artel__invocation *call)
{
    for (int i = 1; i < call->arguments; i++) {
        const char *path = call->argument[i];
        if (artel__is_directory(path)) {
            path = artel__arena_printf(&call->arena, "%s/tls.crt", call->argument[i]);
            ARTEL_TRY(artel__arena_status(&call->arena));
            if (!artel__file_exists(path)) path = artel__arena_printf(&call->arena, "%s/ca.crt", call->argument[i]);
            ARTEL_TRY(artel__arena_status(&call->arena));
        }
        ARTEL_TRY(show_file(call, path));
    }
    return ARTEL_OK;
}

/* One folder: a line on stdout, good or not. */
static artel_status verify_folder(artel__invocation *call, const char *name)
{
    const char *dir = call->argument[1];
    char day[64];
    artel__tls_files files;
    artel__cert_info *info = artel__arena_alloc(&call->arena, 1, sizeof *info);
    ARTEL_TRY(artel__arena_status(&call->arena));
    artel_status status = artel__cert_locate(&call->arena, dir, name, &files);
    if (status == ARTEL_OK)
        status = artel__cert_verify(maker_of(call), &files, (artel__cert_owner){.name = name},
                                    (int64_t)artel__wall_seconds());
    if (status == ARTEL_OK) status = artel__cert_read(maker_of(call), files.certificate, info);
    if (status < 0) {
        const artel_error *error = artel_context_error(call->ctx);
        artel__show(stdout, "%s: %s; %s\n", error->where, error->what, error->advice);
        artel__operation_begin(call->ctx);
        call->exit_code = 1;
        return ARTEL_OK;
    }
    artel__show(stdout, "%s: good until %s\n", files.certificate, format_day(info->not_after, day, sizeof day));
    return ARTEL_OK;
}

/* Every folder of an authority's folder that holds a certificate. */
static artel_status verify_all(artel__invocation *call)
{
    artel__paths names;
    int found = 0;
    ARTEL_TRY(artel__list_directory(call->ctx, call->argument[1], &names));
    artel_status status = ARTEL_OK;
    for (size_t i = 0; i < names.count && status == ARTEL_OK; i++) {
        const char *path = artel__arena_printf(&call->arena, "%s/%s/tls.crt", call->argument[1], names.items[i]);
        status = artel__arena_status(&call->arena);
        if (status < 0 || !artel__file_exists(path)) continue;
        status = verify_folder(call, names.items[i]);
        found++;
    }
    artel__paths_fini(&names);
    if (status == ARTEL_OK && found == 0)
        return artel__fail(call->ctx, ARTEL_ERROR_NOT_FOUND, call->argument[1],
                           "issue some with: artel cert issue DIR NAME", "there are no certificates");
    return status;
}

static artel_status run_verify(artel__invocation *call)
{
    artel__hostlist names;
    const char *own = artel__arena_printf(&call->arena, "%s/tls.crt", call->argument[1]);
    ARTEL_TRY(artel__arena_status(&call->arena));
    if (call->arguments == 2) return artel__file_exists(own) ? verify_folder(call, NULL) : verify_all(call);
    ARTEL_TRY(read_names(call, &names));
    for (int i = 0; i < names.count; i++) ARTEL_TRY(verify_folder(call, names.host[i]));
    return ARTEL_OK;
}

/* -- the command -- */

static const artel__action actions[] = {
    {"init", 2, 2, "init DIR", run_init},
    {"issue", 3, 1000, "issue DIR NAME...", run_issue},
    {"renew", 3, 1000, "renew DIR NAME...", run_renew},
    {"show", 2, 1000, "show FILE...", run_show},
    {"verify", 2, 1000, "verify DIR [NAME...]", run_verify},
    {.name = NULL},
};

static artel_status run_cert(artel__invocation *call)
{
    const artel__action *action;
    artel__cert_maker maker;
    ARTEL_TRY(artel__action_find(call, actions, &action));
    ARTEL_TRY(artel__cert_open(call->ctx, &maker));
    ((cert_options *)call->options)->maker = &maker;
    artel_status status = action->run(call);
    artel__cert_close(&maker);
    return status;
}

const artel__command artel__command_cert = {
    .name = "cert",
    .summary = "the cluster's authority and the certificates of its tasks",
    .usage = "init DIR | issue DIR NAME... | renew DIR NAME... | verify DIR [NAME...] | show FILE...",
    .more = "init makes DIR/ca.crt and DIR/ca.key. issue makes a folder DIR/NAME with tls.crt, tls.key and ca.crt, "
            "which the task NAME "
            "gets as\n"
            "--cert-dir; NAME is the task with its index: worker-0, chief-0, ps-3, evaluator-0; worker-[0-31] stands "
            "for 32 of them. renew "
            "keeps the\n"
            "key; verify looks at signature, dates, key and name, and ends with 1 when one does not hold. See "
            "docs/cluster-security.md.\n",
    .examples = "  artel cert init certs --job mnist\n  artel cert issue certs chief-0 'worker-[0-3]'\n  artel cert "
                "verify certs\n"
                "  artel cert show certs/worker-0/tls.crt\n  artel cert renew certs worker-0 --days 30\n",
    .options = options,
    .options_size = sizeof(cert_options),
    .min_arguments = 1,
    .max_arguments = 1000,
    .run = run_cert,
};
