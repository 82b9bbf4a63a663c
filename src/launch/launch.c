/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a launched cluster: tasks, ports, certificates, environments.
 *
 * On this machine all addresses are on 127.0.0.1, and all ports are bound before any is used, so no two are the same;
 * on others they are counted from one on. A task of another machine is a process here, too: the near end of attend.h.
 * Certificates lie in a folder that only this user can enter, in memory where the system offers that; the authority's
 * key is deleted as soon as all are issued, so nobody can be admitted later.
 */
#include "launch/launch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "net/cert.h"

#define HOST "127.0.0.1"
#define CERT_DAYS 365

/* -- tasks and ports -- */

/* A socket on a free port, which it keeps. */
static artel_status reserve_port(artel__launch *launch, artel__launch_task *task)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int on = 1;
    task->port = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (task->port < 0 || setsockopt(task->port, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(task->port, (const struct sockaddr *)&address, sizeof address) != 0 ||
        getsockname(task->port, (struct sockaddr *)&address, &size) != 0)
        return artel__fail_errno(launch->ctx, task->label, "reserve a port on " HOST " for");
    task->task.address = artel__host_port_format(&launch->arena, HOST, ntohs(address.sin_port));
    return artel__arena_status(&launch->arena);
}

/* How many of the tasks so far are on a machine. */
static int count_tasks(const artel__launch *launch, int host)
{
    int count = 0;
    for (int i = 0; i < launch->tasks; i++) count += launch->task[i].host == host;
    return count;
}

/* Machines take turns; "user@" is the shell's alone. */
static artel_status take_host(artel__launch *launch, artel__launch_task *task)
{
    const artel__launch_wish *wish = &launch->wish;
    int host = (int)(task - launch->task) % wish->hosts, before = count_tasks(launch, host);
    const char *name = wish->host[host], *at = strrchr(name, '@');
    if (wish->port + before > 65535)
        return artel__fail(launch->ctx, ARTEL_ERROR_INVALID, ".port", "give a lower one", "%s has no port %d", name,
                           wish->port + before);
    task->host = host;
    task->task.address = artel__host_port_format(&launch->arena, at ? at + 1 : name, wish->port + before);
    return artel__arena_status(&launch->arena);
}

static artel_status add_task(artel__launch *launch, artel__task_type type, int index)
{
    artel__launch_task *task = &launch->task[launch->tasks];
    const char *name = artel__task_type_name(type);
    *task = (artel__launch_task){.task = {.type = type, .index = index}, .port = -1, .host = -1};
    task->label = artel__arena_printf(&launch->arena, "%s %d", name, index);
    task->name = artel__arena_printf(&launch->arena, "%s:%d", name, index);
    ARTEL_TRY(artel__arena_status(&launch->arena));
    if (launch->wish.hosts) ARTEL_TRY(take_host(launch, task));
    launch->tasks++;
    if (type == ARTEL__TASK_EVALUATOR) return ARTEL_OK;
    if (!launch->wish.hosts) ARTEL_TRY(reserve_port(launch, task));
    return artel__cluster_add(&launch->cluster, type, index, task->task.address);
}

static artel_status add_tasks(artel__launch *launch)
{
    const artel__launch_wish *wish = &launch->wish;
    const struct {
        artel__task_type type;
        int count;
    } groups[] = {
        {ARTEL__TASK_CHIEF, wish->chief},
        {ARTEL__TASK_WORKER, wish->workers - wish->chief},
        {ARTEL__TASK_PS, wish->ps},
        {ARTEL__TASK_EVALUATOR, wish->evaluator},
    };
    int64_t count = (int64_t)wish->workers + wish->ps + wish->evaluator;
    if (count > ARTEL__LAUNCH_MAX_TASKS)
        return artel__fail(launch->ctx, ARTEL_ERROR_INVALID, "-n", "start some on other machines",
                           "%lld tasks are more than %d", (long long)count, ARTEL__LAUNCH_MAX_TASKS);
    launch->task = artel__arena_alloc(&launch->arena, (size_t)count, sizeof *launch->task);
    ARTEL_TRY(artel__arena_status(&launch->arena));
    for (size_t g = 0; g < ARTEL__COUNT(groups); g++)
        for (int i = 0; i < groups[g].count; i++) ARTEL_TRY(add_task(launch, groups[g].type, i));
    artel__cluster_set_self(&launch->cluster, launch->task[0].task.type, 0);
    return artel__cluster_seal(&launch->cluster);
}

/* -- cores -- */

/* The numbers of the cores this process may run on, in the arena. */
static int list_cores(artel__launch *launch, int **out)
{
    cpu_set_t set[8];
    int count = 0;
    memset(set, 0, sizeof set);
    if (sched_getaffinity(0, sizeof set, set) != 0) return 0;
    int *core = artel__arena_alloc(&launch->arena, (size_t)CPU_COUNT_S(sizeof set, set) + 1, sizeof *core);
    if (!core) return 0;
    for (size_t i = 0; i < 8 * (size_t)CPU_SETSIZE; i++)
        if (CPU_ISSET_S(i, sizeof set, set)) core[count++] = (int)i;
    *out = core;
    return count;
}

/* Task i gets the cores from i * threads on, beginning anew when there are no more. */
static artel_status share_cores(artel__launch *launch)
{
    const artel__launch_wish *wish = &launch->wish;
    int share = wish->cores / launch->tasks;
    launch->threads = wish->threads > 0 ? wish->threads : share > 0 ? share : 1;
    if (!wish->pin) return ARTEL_OK;
    int *all = NULL, count = list_cores(launch, &all);
    int size = launch->threads < count ? launch->threads : count;
    for (int i = 0; i < launch->tasks && count > 0; i++) {
        int *core = artel__arena_alloc(&launch->arena, (size_t)size, sizeof *core);
        ARTEL_TRY(artel__arena_status(&launch->arena));
        for (int k = 0; k < size; k++) core[k] = all[((int64_t)i * size + k) % count];
        launch->task[i].core = core;
        launch->task[i].cores = size;
    }
    return artel__arena_status(&launch->arena);
}

artel_status artel__launch_open(artel_context *ctx, const artel__launch_wish *wish, artel__launch *out)
{
    artel__launch launch = {.ctx = ctx, .wish = *wish, .guard = {.fd = -1}};
    ARTEL_TRY(artel__cluster_init(ctx, &launch.cluster, "launch", "artel launch"));
    artel__arena_init(&launch.arena, ctx);
    artel_status status = add_tasks(&launch);
    if (status == ARTEL_OK) status = share_cores(&launch);
    if (status < 0)
        artel__launch_close(&launch);
    else
        *out = launch;
    return status;
}

void artel__launch_close(artel__launch *launch)
{
    if (!launch->ctx) return;
    for (int i = 0; i < launch->tasks; i++)
        if (launch->task[i].port >= 0) close(launch->task[i].port);
    artel__guard_destroy(&launch->guard);
    if (launch->folder) artel__remove_tree(launch->ctx, launch->folder); /* the guard has done so, if it lived */
    artel__cluster_fini(&launch->cluster);
    artel__arena_fini(&launch->arena);
    *launch = (artel__launch){0};
}

/* -- certificates -- */

static const char *cert_name(artel__launch *launch, const artel__launch_task *task)
{
    return artel__arena_printf(&launch->arena, "%s-%d", artel__task_type_name(task->task.type), (int)task->task.index);
}

/* Guard and folder, in memory where the system offers that. */
static artel_status make_folder(artel__launch *launch)
{
    const char *wanted[] = {artel__environment_find(launch->wish.environment, "XDG_RUNTIME_DIR"), "/dev/shm",
                            artel__environment_find(launch->wish.environment, "TMPDIR"), "/tmp"};
    const char *places[ARTEL__COUNT(wanted) + 1];
    int count = 0;
    for (size_t i = 0; i < ARTEL__COUNT(wanted); i++)
        if (wanted[i] && wanted[i][0] == '/') places[count++] = wanted[i];
    places[count] = NULL;
    ARTEL_TRY(artel__guard_create(launch->ctx, places, &launch->guard));
    launch->folder = artel__arena_strdup(&launch->arena, launch->guard.folder);
    return artel__arena_status(&launch->arena);
}

static artel_status issue_all(artel__launch *launch, const artel__cert_maker *maker)
{
    artel__cert_request request = {.job = "launch", .days = CERT_DAYS, .kind = ARTEL__CERT_P256};
    ARTEL_TRY(artel__cert_init(maker, launch->folder, &request));
    for (int i = 0; i < launch->tasks; i++) {
        request.name = cert_name(launch, &launch->task[i]);
        ARTEL_TRY(artel__arena_status(&launch->arena));
        ARTEL_TRY(artel__cert_issue(maker, launch->folder, &request));
    }
    const char *key = artel__arena_printf(&launch->arena, "%s/ca.key", launch->folder);
    ARTEL_TRY(artel__arena_status(&launch->arena));
    return unlink(key) == 0 ? ARTEL_OK : artel__fail_errno(launch->ctx, key, "remove");
}

static artel_status make_certificates(artel__launch *launch)
{
    artel__cert_maker maker;
    ARTEL_TRY(artel__cert_open(launch->ctx, &maker));
    artel_status status = make_folder(launch);
    if (status == ARTEL_OK) status = issue_all(launch, &maker);
    artel__cert_close(&maker);
    return status;
}

/* Those given by --cert-dir: each task has one, and it holds. */
static artel_status check_certificates(artel__launch *launch)
{
    artel__cert_maker maker;
    artel__tls_files files;
    ARTEL_TRY(artel__cert_open(launch->ctx, &maker));
    artel_status status = ARTEL_OK;
    for (int i = 0; i < launch->tasks && status == ARTEL_OK; i++) {
        const char *name = cert_name(launch, &launch->task[i]);
        status = artel__arena_status(&launch->arena);
        if (status == ARTEL_OK) status = artel__cert_locate(&launch->arena, launch->wish.cert_dir, name, &files);
        if (status == ARTEL_OK)
            status =
                artel__cert_verify(&maker, &files, (artel__cert_owner){.name = name}, (int64_t)artel__wall_seconds());
    }
    artel__cert_close(&maker);
    return status;
}

artel_status artel__launch_prepare(artel__launch *launch)
{
    const artel__launch_wish *wish = &launch->wish;
    if (wish->cert_dir && !wish->insecure) ARTEL_TRY(check_certificates(launch));
    if (wish->certified && !wish->cert_dir && !wish->insecure) return make_certificates(launch);
    return artel__guard_create(launch->ctx, NULL, &launch->guard);
}

/* -- what each task runs -- */

static const char *const taken_away[] = {
    "TF_CONFIG",     "ARTEL_TASK", "ARTEL_CLUSTER_FILE", "ARTEL_RESOLVER", "ARTEL_RENDEZVOUS",       "ARTEL_SERVICE",
    "ARTEL_WORKERS", "ARTEL_PORT", "ARTEL_THREADS",      "ARTEL_CERT_DIR", "ARTEL_INSECURE_NETWORK", NULL,
};

static bool is_taken_away(const char *entry)
{
    for (const char *const *name = taken_away; *name; name++) {
        size_t length = strlen(*name);
        if (strncmp(entry, *name, length) == 0 && entry[length] == '=') return true;
    }
    return false;
}

/* The variables that are the task's own, at `to`; returns how many. */
static int add_variables(artel__launch *launch, artel__launch_task *task, const char *tf_config, const char **to)
{
    artel__arena *arena = &launch->arena;
    const artel__launch_wish *wish = &launch->wish;
    const char *threads = artel__environment_find(launch->wish.environment, "ARTEL_THREADS");
    int count = 0;
    to[count++] = artel__arena_printf(arena, "TF_CONFIG=%s", tf_config);
    to[count++] = artel__arena_printf(arena, "ARTEL_TASK=%s", task->name);
    if (threads && wish->threads <= 0)
        to[count++] = artel__arena_printf(arena, "ARTEL_THREADS=%s", threads);
    else if (!wish->hosts || wish->threads > 0)
        to[count++] = artel__arena_printf(arena, "ARTEL_THREADS=%d", launch->threads);
    if (wish->insecure)
        to[count++] = artel__arena_strdup(arena, "ARTEL_INSECURE_NETWORK=true");
    else if (wish->cert_dir)
        to[count++] = artel__arena_printf(arena, "ARTEL_CERT_DIR=%s", wish->cert_dir);
    else if (launch->folder)
        to[count++] = artel__arena_printf(arena, "ARTEL_CERT_DIR=%s/%s", launch->folder, cert_name(launch, task));
    return count;
}

static artel_status set_environment(artel__launch *launch, artel__launch_task *task)
{
    size_t kept = 0;
    artel__text text;
    for (const char *const *entry = launch->wish.environment; entry && *entry; entry++) kept++;
    const char **variables = artel__arena_alloc(&launch->arena, kept + 8, sizeof *variables);
    ARTEL_TRY(artel__arena_status(&launch->arena));
    artel__text_init(&text, launch->ctx);
    artel_status status = artel__cluster_tf_config(&launch->cluster, &task->task, &text);
    if (status == ARTEL_OK) {
        int count = add_variables(launch, task, text.data, variables);
        for (const char *const *entry = launch->wish.environment; entry && *entry; entry++)
            if (!is_taken_away(*entry)) variables[count++] = *entry;
        task->environment = variables;
        status = artel__arena_status(&launch->arena);
    }
    artel__text_fini(&text);
    return status;
}

/* The near end of a task on another machine. */
static artel_status attend_words(artel__launch *launch, artel__launch_task *task, const char *const *words)
{
    const artel__launch_wish *wish = &launch->wish;
    artel__arena *arena = &launch->arena;
    size_t count = 0, given = 0;
    while (words[given]) given++;
    const char **list = artel__arena_alloc(arena, given + 8, sizeof *list);
    ARTEL_TRY(artel__arena_status(arena));
    list[count++] = wish->self;
    list[count++] = "attend";
    list[count++] = artel__arena_printf(arena, "--host=%s", wish->host[task->host]);
    list[count++] = artel__arena_printf(arena, "--shell=%s", wish->shell);
    list[count++] = artel__arena_printf(arena, "--artel=%s", wish->artel);
    list[count++] = artel__arena_printf(arena, "--share=%d", count_tasks(launch, task->host));
    list[count++] = "--";
    for (size_t i = 0; i < given; i++) list[count++] = words[i];
    task->words = list;
    return artel__arena_status(arena);
}

artel_status artel__launch_set_program(artel__launch *launch, const char *const *words)
{
    for (int i = 0; i < launch->tasks; i++) {
        launch->task[i].words = words;
        if (launch->wish.hosts) ARTEL_TRY(attend_words(launch, &launch->task[i], words));
        ARTEL_TRY(set_environment(launch, &launch->task[i]));
    }
    return ARTEL_OK;
}

artel_status artel__launch_question(artel__launch *launch, int i, artel__status_request *out)
{
    const artel__launch_wish *wish = &launch->wish;
    const artel__launch_task *task = &launch->task[i];
    const char *folder = wish->insecure ? NULL : wish->cert_dir ? wish->cert_dir : launch->folder;
    *out = (artel__status_request){.address = task->task.address,
                                   .question = "status",
                                   .cert_dir = folder,
                                   .name = folder ? cert_name(launch, task) : NULL,
                                   .insecure_network = wish->insecure,
                                   .timeout = 1};
    return artel__arena_status(&launch->arena);
}

void artel__launch_describe(const artel__launch *launch, artel__text *out)
{
    for (int i = 0; i < launch->tasks; i++) {
        const artel__launch_task *task = &launch->task[i];
        artel__text_printf(out, "# %s", task->label);
        for (int k = 0; k < task->cores; k++) artel__text_printf(out, "%s%d", k ? "," : ", on core ", task->core[k]);
        artel__text_append(out, "\n");
        for (const char *const *entry = task->environment; *entry && is_taken_away(*entry); entry++) {
            const char *value = strchr(*entry, '=') + 1;
            artel__text_printf(out, "%.*s", (int)(value - *entry), *entry);
            artel__text_append_quoted(out, value);
            artel__text_append(out, " ");
        }
        for (const char *const *word = task->words; *word; word++) {
            artel__text_append_quoted(out, *word);
            artel__text_append(out, word[1] ? " " : "\n");
        }
    }
}
