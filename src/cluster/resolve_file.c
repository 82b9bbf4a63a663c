/* SPDX-License-Identifier: Apache-2.0 */
/* A static file: the same on every host, for machines without a launcher.
 *
 * Either JSON (the first character is '{'): TF_CONFIG's form, or just its cluster object; or lines
 *
 *     # workers, in the order of their indices; a port that is missing is counted up from --port on each host
 *     node1:8888
 *     node2
 *     ps node3:9000
 *     evaluator node3
 *
 * Which task this is: --task or ARTEL_TASK, else the file's own "task", else the one task whose host is this host
 * (its whole name, its name up to the first dot, localhost and 127.0.0.1).
 */
#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json_written.h"
#include "cluster/resolver.h"

#define MAX_FILE ((size_t)64 << 20)

static bool applies(const artel__resolver_input *in)
{
    return in->options.file != NULL;
}

/* -- lines -- */

static artel_status refuse_line(const artel__cluster *out, int line, const char *what, const char *found)
{
    return artel__fail(out->arena.ctx, ARTEL_ERROR_INVALID, out->where,
                       "write one task a line: [chief|worker|ps|evaluator] HOST[:PORT]",
                       "line %d: %s (found \"%.100s\")", line, what, found);
}

/* A host without a port: the first port that no earlier task of that host took. Linear in the tasks: such files are
 * written by hand, and refused beyond MAX_PORTLESS lines. */
#define MAX_PORTLESS 4096
static artel_status complete_port(const artel__resolver_input *in, artel__cluster *out, const char *host,
                                  const char **address)
{
    int port = in->options.port;
    *address = artel__arena_printf(&out->arena, "%s:%d", host, port);
    ARTEL_TRY(artel__arena_status(&out->arena));
    if (out->tasks >= MAX_PORTLESS)
        return artel__fail(in->ctx, ARTEL_ERROR_INVALID, out->where, "write host:port",
                           "more than %d lines, and one without a port", MAX_PORTLESS);
    size_t prefix = (size_t)(strrchr(*address, ':') - *address) + 1;
    for (int i = 0; i < out->tasks; i++)
        if (strncmp(out->task[i].address, *address, prefix) == 0) port++;
    *address = artel__arena_printf(&out->arena, "%s:%d", host, port);
    return artel__arena_status(&out->arena);
}

static artel_status add_line(const artel__resolver_input *in, artel__cluster *out, char *line, int number)
{
    artel__task_type type = ARTEL__TASK_WORKER;
    char *rest = NULL, *word = strtok_r(line, " \t\r", &rest), *second = strtok_r(NULL, " \t\r", &rest);
    if (!word) return ARTEL_OK;
    if (second && !artel__task_type_find(word, &type)) return refuse_line(out, number, "an unknown task type", word);
    if (strtok_r(NULL, " \t\r", &rest)) return refuse_line(out, number, "too many words", second);
    const char *address = second ? second : word;
    bool closed = address[0] == '[' && artel__ends_with(address, "]"); /* an IPv6 address without a port */
    if (closed || !strchr(address, ':')) ARTEL_TRY(complete_port(in, out, address, &address));
    return artel__cluster_add(out, type, out->count[type], address);
}

static artel_status read_lines(const artel__resolver_input *in, artel__cluster *out, char *text)
{
    char *rest = text;
    int number = 0;
    while (rest) {
        char *line = strsep(&rest, "\n");
        line[strcspn(line, "#")] = '\0';
        number++;
        for (const char *c = line; *c; c++)
            if (!isprint((unsigned char)*c) && !isspace((unsigned char)*c))
                return refuse_line(out, number, "not a text file", "");
        ARTEL_TRY(add_line(in, out, line, number));
    }
    if (out->tasks == 0)
        return artel__fail(in->ctx, ARTEL_ERROR_INVALID, out->where, "write one task a line: HOST:PORT",
                           "there are no tasks");
    return ARTEL_OK;
}

/* -- JSON -- */

static artel_status read_json(artel__cluster *out, const char *text, size_t size, bool *out_has_task)
{
    json_t *config = NULL;
    ARTEL_TRY(artel__json_load_written(out->arena.ctx, out->where, text, size, &config));
    const json_t *jobs = json_object_get(config, "cluster"), *task = json_object_get(config, "task");
    if (!jobs && !task) jobs = config;
    artel_status status = ARTEL_OK;
    if (!json_is_object(jobs))
        status = artel__fail(out->arena.ctx, ARTEL_ERROR_INVALID, out->where,
                             "write {\"cluster\": {\"worker\": [\"host:port\", ...]}}",
                             "the cluster is not an object from task types to addresses");
    if (status == ARTEL_OK) status = artel__resolver_add_jobs(out, jobs);
    if (status == ARTEL_OK && task) status = artel__resolver_set_task(out, task);
    json_decref(config);
    *out_has_task = task != NULL;
    return status;
}

/* -- which task this is -- */

static bool same_host(const char *host, const char *name)
{
    size_t length = strcspn(name, ".");
    return strcmp(host, name) == 0 || (strlen(host) == length && strncmp(host, name, length) == 0) ||
           strcmp(host, "localhost") == 0 || strcmp(host, "127.0.0.1") == 0;
}

static artel_status find_self(const artel__resolver_input *in, artel__cluster *out)
{
    char name[256] = "";
    artel__host_port address;
    int found = 0;
    if (in->options.hostname)
        strncat(name, in->options.hostname, sizeof name - 1);
    else if (gethostname(name, sizeof name - 1) != 0)
        return artel__fail_errno(in->ctx, out->where, "ask for this host's name");
    for (int i = 0; i < out->tasks; i++) {
        const artel__task *task = &out->task[i];
        if (artel__host_port_parse(task->address, &address) || !same_host(address.host, name)) continue;
        artel__cluster_set_self(out, task->type, task->index);
        found++;
    }
    if (found == 1) return ARTEL_OK;
    return artel__fail(
        in->ctx, ARTEL_ERROR_INVALID, out->where, "say which task this is: .task worker:0, or ARTEL_TASK",
        "%d of its %d tasks are on this host, %s", found, out->tasks, name[0] ? name : "which has no name");
}

static artel_status resolve(const artel__resolver_input *in, artel__cluster *out)
{
    const char *path = in->options.file;
    char *text = NULL;
    size_t size;
    bool has_task = false;
    ARTEL_TRY(artel__cluster_init(in->ctx, out, "file", path ? path : ".file"));
    if (!path)
        return artel__fail(in->ctx, ARTEL_ERROR_INVALID, ".file", "name the file that describes the cluster",
                           "it is not given");
    ARTEL_TRY(artel__read_file(in->ctx, path, MAX_FILE, &text, &size));
    bool json = text[strspn(text, " \t\r\n")] == '{';
    artel_status status = json ? read_json(out, text, size, &has_task) : read_lines(in, out, text);
    artel__free(in->ctx, text);
    ARTEL_TRY(status);
    if (in->options.task) return artel__resolver_set_given_task(out, in->options.task);
    return has_task ? ARTEL_OK : find_self(in, out);
}

const artel__resolver artel__resolver_file = {"file", applies, resolve};
