/* SPDX-License-Identifier: Apache-2.0 */
/* The far end: a task on the machine it runs on. */
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "base/threads.h"
#include "launch/attend.h"
#include "launch/process.h"

#define MOST_ORDER ((size_t)8 << 20)

/* -- the order -- */

/* Up to the byte 0; what follows it stays in the pipe. */
static artel_status read_order(artel_context *ctx, int input, json_t **out)
{
    artel__text text;
    char c = 1;
    ssize_t got = 1;
    artel__text_init(&text, ctx);
    while (c && text.length < MOST_ORDER) {
        got = read(input, &c, 1);
        if (got == 0 || (got < 0 && errno != EINTR)) break;
        if (got == 1 && c) artel__text_append_bytes(&text, &c, 1);
    }
    artel_status status = artel__text_status(&text);
    if (status == ARTEL_OK && c)
        status = artel__fail(ctx, ARTEL_ERROR_INVALID, "attend", "start it with: artel launch --hosts A,B",
                             "standard input does not hold what to start");
    if (status == ARTEL_OK) status = artel__json_load(ctx, "attend", text.data, text.length, out);
    artel__text_fini(&text);
    return status;
}

static artel_status check_order(artel_context *ctx, const json_t *order)
{
    const char *version = json_string_value(json_object_get(order, "artel"));
    size_t i;
    json_t *value;
    if (!version || strcmp(version, ARTEL_VERSION) != 0)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "attend", "have the same artel on all hosts",
                           "this host has artel %s, the launcher %.40s", ARTEL_VERSION,
                           version ? version : "another one");
    bool whole =
        json_array_size(json_object_get(order, "words")) > 0 && json_is_string(json_object_get(order, "directory"));
    json_array_foreach(json_object_get(order, "words"), i, value) whole = whole && json_is_string(value);
    json_array_foreach(json_object_get(order, "variables"), i, value) whole = whole && json_is_string(value);
    if (whole) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, "attend", "start it with: artel launch --hosts A,B",
                       "the order lacks what to start");
}

/* -- the task -- */

static artel_status write_certificate(artel_context *ctx, const json_t *certificate, const char *folder)
{
    static const char *const names[] = {"tls.crt", "tls.key", "ca.crt"};
    char path[ARTEL__GUARD_FOLDER + 16];
    for (size_t i = 0; i < ARTEL__COUNT(names); i++) {
        const json_t *text = json_object_get(certificate, names[i]);
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        ARTEL_TRY(artel__write_private_file(ctx, path, json_string_value(text), json_string_length(text)));
    }
    return ARTEL_OK;
}

static bool has_variable(const json_t *variables, const char *name)
{
    size_t i, length = strlen(name);
    json_t *value;
    json_array_foreach(variables, i, value)
    {
        const char *entry = json_string_value(value);
        if (strncmp(entry, name, length) == 0 && entry[length] == '=') return true;
    }
    return false;
}

/* This machine's variables, those of the order above them. */
static artel_status make_environment(artel__arena *arena, const json_t *order, const char *const *own,
                                     const char *folder, const char *const **out)
{
    const json_t *variables = json_object_get(order, "variables");
    long long share = json_integer_value(json_object_get(order, "share"));
    size_t i, count = 0, room = json_array_size(variables) + 4;
    json_t *value;
    for (const char *const *entry = own; *entry; entry++) room++;
    const char **list = artel__arena_alloc(arena, room, sizeof *list);
    ARTEL_TRY(artel__arena_status(arena));
    json_array_foreach(variables, i, value) list[count++] = json_string_value(value);
    if (folder) list[count++] = artel__arena_printf(arena, "ARTEL_CERT_DIR=%s", folder);
    if (share > 0 && !has_variable(variables, "ARTEL_THREADS")) {
        long long threads = artel__usable_cores() / share;
        list[count++] = artel__arena_printf(arena, "ARTEL_THREADS=%lld", threads > 0 ? threads : 1);
    }
    for (; *own; own++)
        if (strncmp(*own, "ARTEL_", 6) != 0 && strncmp(*own, "TF_CONFIG=", 10) != 0) list[count++] = *own;
    *out = list;
    return artel__arena_status(arena);
}

static artel_status list_words(artel__arena *arena, const json_t *order, const char *const **out)
{
    const json_t *words = json_object_get(order, "words");
    const char **list = artel__arena_alloc(arena, json_array_size(words) + 1, sizeof *list);
    char *path = artel__arena_alloc(arena, 1, 4096);
    size_t i;
    json_t *value;
    ARTEL_TRY(artel__arena_status(arena));
    json_array_foreach(words, i, value) list[i] = json_string_value(value);
    ARTEL_TRY(artel__process_find(arena->ctx, list[0], getenv("PATH"), path, 4096));
    list[0] = path;
    *out = list;
    return ARTEL_OK;
}

/* Passes on what the near end writes until the task has ended; kills it when that is gone. */
static int attend(artel__process *task, int input)
{
    while (!artel__process_ended(task)) {
        unsigned char number[16];
        struct pollfd ready[] = {{.fd = input, .events = POLLIN}, {.fd = task->watch, .events = POLLIN}};
        poll(ready, 2, task->watch < 0 ? 20 : -1);
        if (!ready[0].revents) continue;
        ssize_t got = read(input, number, sizeof number);
        if (got < 0 && errno == EINTR) continue;
        for (ssize_t i = 0; i < got; i++) artel__process_signal(task, number[i]);
        if (got > 0) continue;
        artel__process_signal(task, SIGKILL);
        input = -1;
    }
    return artel__process_code(task);
}

static artel_status run_task(artel__arena *arena, const json_t *order, const artel__guard *guard,
                             const char *const *own, int input, int *out_code)
{
    artel_context *ctx = arena->ctx;
    const char *directory = json_string_value(json_object_get(order, "directory"));
    const json_t *certificate = json_object_get(order, "certificate");
    artel__process_request request = {.where = "attend", .guard = guard, .same_output = true};
    artel__process task;
    if (chdir(directory) != 0) return artel__fail_errno(ctx, directory, "enter on this host");
    if (certificate) ARTEL_TRY(write_certificate(ctx, certificate, guard->folder));
    ARTEL_TRY(make_environment(arena, order, own, certificate ? guard->folder : NULL, &request.environment));
    ARTEL_TRY(list_words(arena, order, &request.words));
    ARTEL_TRY(artel__process_start(ctx, &request, &task));
    *out_code = attend(&task, input);
    artel__process_reap(&task, guard);
    return ARTEL_OK;
}

artel_status artel__attend_far(artel_context *ctx, int input, const char *const *environment, int *out_code)
{
    const char *places[] = {"/dev/shm", "/tmp", NULL};
    artel__guard guard = {.fd = -1};
    artel__arena arena;
    json_t *order = NULL;
    ARTEL_TRY(read_order(ctx, input, &order));
    artel__arena_init(&arena, ctx);
    artel_status status = check_order(ctx, order);
    if (status == ARTEL_OK && write(STDERR_FILENO, ARTEL__ATTEND_GREETING "\n", sizeof ARTEL__ATTEND_GREETING) < 0)
        status = artel__fail_errno(ctx, "standard error", "write");
    if (status == ARTEL_OK) status = artel__guard_create(ctx, places, &guard);
    if (status == ARTEL_OK) status = run_task(&arena, order, &guard, environment, input, out_code);
    artel__guard_destroy(&guard);
    artel__arena_fini(&arena);
    json_decref(order);
    return status;
}
