/* SPDX-License-Identifier: Apache-2.0 */
/* The near end, at the launcher; the far end is attend_far.c. */
#include "launch/attend.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "launch/process.h"
#include "net/cert.h"

/* -- the order -- */

static artel_status add_file(artel_context *ctx, json_t *object, const char *name, const char *path)
{
    artel__mapping file;
    ARTEL_TRY(artel__map_file(ctx, path, &file));
    json_t *text = json_stringn((const char *)file.bytes, file.size);
    artel__unmap_file(&file);
    if (text && json_object_set_new(object, name, text) == 0) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, path, "name a certificate in PEM form", "the file is no text");
}

/* The certificate of this task ("worker:1"), which the launcher has made or was given. */
static artel_status add_certificate(artel__arena *arena, const artel__attend_order *order, json_t *object)
{
    const char *task = artel__environment_find(order->environment, "ARTEL_TASK");
    const char *folder = artel__environment_find(order->environment, "ARTEL_CERT_DIR");
    artel__tls_files files;
    if (!folder || !folder[0]) return ARTEL_OK;
    char *name = artel__arena_strdup(arena, task ? task : "");
    ARTEL_TRY(artel__arena_status(arena));
    for (char *c = name; *c; c++)
        if (*c == ':') *c = '-';
    ARTEL_TRY(artel__cert_locate(arena, folder, name, &files));
    json_t *certificate = json_object();
    if (json_object_set_new(object, "certificate", certificate) < 0)
        return artel__fail_memory(arena->ctx, "certificate", 64);
    ARTEL_TRY(add_file(arena->ctx, certificate, "tls.crt", files.certificate));
    ARTEL_TRY(add_file(arena->ctx, certificate, "tls.key", files.key));
    return add_file(arena->ctx, certificate, "ca.crt", files.authority);
}

static bool is_handed_on(const char *entry)
{
    return strncmp(entry, "TF_CONFIG=", 10) == 0 ||
           (strncmp(entry, "ARTEL_", 6) == 0 && strncmp(entry, "ARTEL_CERT_DIR=", 15) != 0);
}

/* False when it is no UTF-8, which JSON cannot hold. */
static bool append(json_t *list, const char *text)
{
    return json_array_append_new(list, json_string(text)) == 0;
}

static artel_status write_order(artel__arena *arena, const artel__attend_order *order, json_t **out)
{
    char *directory = getcwd(NULL, 0);
    if (!directory) return artel__fail_errno(arena->ctx, "launch", "find the working directory of");
    json_t *words = json_array(), *variables = json_array();
    bool whole = true;
    for (const char *const *word = order->words; *word; word++) whole = append(words, *word) && whole;
    for (const char *const *entry = order->environment; *entry; entry++)
        whole = (!is_handed_on(*entry) || append(variables, *entry)) && whole;
    *out = json_pack("{s:s, s:o, s:s, s:o, s:i}", "artel", ARTEL_VERSION, "words", words, "directory", directory,
                     "variables", variables, "share", order->share);
    free(directory);
    if (whole && *out) return add_certificate(arena, order, *out);
    return artel__fail(arena->ctx, ARTEL_ERROR_INVALID, order->host, "use names in UTF-8",
                       "the command, the directory or a variable ARTEL_ cannot be handed on");
}

/* -- the shell -- */

/* ssh, its options, the host, and what its shell is to run; the first as a path. */
static artel_status shell_words(artel__arena *arena, const artel__attend_order *order, const char ***out)
{
    char *all = artel__arena_strdup(arena, order->shell), *rest = NULL, *path = artel__arena_alloc(arena, 1, 4096);
    const char **words = artel__arena_alloc(arena, strlen(order->shell) / 2 + 4, sizeof *words);
    artel__text command;
    int count = 0;
    ARTEL_TRY(artel__arena_status(arena));
    for (char *word = strtok_r(all, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) words[count++] = word;
    if (count == 0)
        return artel__fail(arena->ctx, ARTEL_ERROR_INVALID, ".shell", "give for example: ssh", "the value is empty");
    ARTEL_TRY(artel__process_find(arena->ctx, words[0], getenv("PATH"), path, 4096));
    words[0] = path;
    words[count++] = order->host;
    artel__text_init(&command, arena->ctx);
    artel__text_append_quoted(&command, order->artel);
    artel__text_append(&command, " attend");
    words[count++] = artel__arena_strdup(arena, command.data);
    artel_status status = artel__text_status(&command);
    artel__text_fini(&command);
    *out = words;
    return status < 0 ? status : artel__arena_status(arena);
}

/* What the far end does not read any more is no failure of ours: its exit code says what happened. */
static void write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t done = write(fd, bytes, count);
        if (done < 0 && errno != EINTR) return;
        bytes += done > 0 ? done : 0;
        count -= done > 0 ? (size_t)done : 0;
    }
}

static int pass_signals_on(artel__process *shell, int signals, int out)
{
    while (!artel__process_ended(shell)) {
        struct signalfd_siginfo info;
        struct pollfd ready[] = {{.fd = signals, .events = POLLIN}, {.fd = shell->watch, .events = POLLIN}};
        poll(ready, 2, shell->watch < 0 ? 20 : -1);
        if (!(ready[0].revents & POLLIN) || read(signals, &info, sizeof info) != (ssize_t)sizeof info) continue;
        char number = (char)info.ssi_signo;
        write_all(out, &number, 1);
    }
    return artel__process_code(shell);
}

static artel_status run_shell(artel__arena *arena, const artel__attend_order *order, const char *text, int signals,
                              int *out_code)
{
    int ends[2];
    const char **words = NULL;
    artel__process shell;
    ARTEL_TRY(shell_words(arena, order, &words));
    if (pipe2(ends, O_CLOEXEC) != 0) return artel__fail_errno(arena->ctx, order->host, "make a pipe");
    const artel__process_request request = {
        .where = order->host, .words = words, .environment = order->environment, .input = ends[0], .same_output = true};
    artel_status status = artel__process_start(arena->ctx, &request, &shell);
    close(ends[0]);
    if (status == ARTEL_OK) {
        write_all(ends[1], text, strlen(text) + 1);
        *out_code = pass_signals_on(&shell, signals, ends[1]);
        artel__process_reap(&shell, NULL);
    }
    close(ends[1]);
    return status;
}

artel_status artel__attend_near(artel_context *ctx, const artel__attend_order *order, int signals, int *out_code)
{
    artel__arena arena;
    json_t *object = NULL;
    char *text = NULL;
    artel__arena_init(&arena, ctx);
    artel_status status = write_order(&arena, order, &object);
    if (status == ARTEL_OK) status = artel__json_dump_string(ctx, object, ARTEL__JSON_COMPACT, &text);
    if (status == ARTEL_OK) status = run_shell(&arena, order, text, signals, out_code);
    artel__free(ctx, text);
    json_decref(object);
    artel__arena_fini(&arena);
    return status;
}
