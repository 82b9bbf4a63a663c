/* SPDX-License-Identifier: Apache-2.0 */
/* First contact with a plug-in, in a child: whatever it does there (abort, hang, install handlers, print) stays there.
 *
 * The child writes lines of "word rest" into a pipe, and its own standard error into another one, whose last line is told when it
 * dies. Nothing but the child opens the library here.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "device/pjrt.h"
#include "device/plugin.h"

#define LIMIT_NS INT64_C(10000000000)

enum {
    MOST_DEVICES = 256,
    MOST_SAID = 64 << 10
};

/* -- in the child -- */

static void say(int fd, const char *word, const char *text, size_t length)
{
    char line[700];
    int count = snprintf(line, sizeof line, "%s %.*s", word, (int)(length < 600 ? length : 600), text);
    for (int i = 0; i < count; i++) {
        if (line[i] == '\n') line[i] = ' ';
    }
    line[count++] = '\n';
    for (int at = 0; at < count;) {
        ssize_t n = write(fd, line + at, (size_t)(count - at));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return;
        at += (int)n;
    }
}

static void say_number(int fd, const char *word, int64_t number)
{
    char text[32];
    say(fd, word, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)number));
}

static void say_device(int fd, const PJRT_Api *api, PJRT_Device *device)
{
    artel__pjrt_error error;
    PJRT_Device_GetDescription_Args get = {.struct_size = PJRT_Device_GetDescription_Args_STRUCT_SIZE, .device = device};
    if (artel__pjrt_failed(api, api->PJRT_Device_GetDescription(&get), &error)) return;
    PJRT_DeviceDescription_Kind_Args kind = {.struct_size = PJRT_DeviceDescription_Kind_Args_STRUCT_SIZE,
                                             .device_description = get.device_description};
    if (artel__pjrt_failed(api, api->PJRT_DeviceDescription_Kind(&kind), &error)) return;
    say(fd, "device", kind.device_kind, kind.device_kind_size);
    if (!ARTEL__PJRT_HAS(api, PJRT_Device_MemoryStats)) return;
    PJRT_Device_MemoryStats_Args memory = {.struct_size = PJRT_Device_MemoryStats_Args_STRUCT_SIZE, .device = device};
    bool told = !artel__pjrt_failed(api, api->PJRT_Device_MemoryStats(&memory), &error);
    if (told && memory.bytes_limit_is_set) say_number(fd, "memory", memory.bytes_limit);
}

static void say_client(int fd, const PJRT_Api *api, PJRT_Client *client)
{
    artel__pjrt_error error;
    PJRT_Client_PlatformName_Args name = {.struct_size = PJRT_Client_PlatformName_Args_STRUCT_SIZE, .client = client};
    PJRT_Client_PlatformVersion_Args version = {.struct_size = PJRT_Client_PlatformVersion_Args_STRUCT_SIZE, .client = client};
    PJRT_Client_AddressableDevices_Args devices = {.struct_size = PJRT_Client_AddressableDevices_Args_STRUCT_SIZE, .client = client};
    if (!artel__pjrt_failed(api, api->PJRT_Client_PlatformName(&name), &error))
        say(fd, "platform", name.platform_name, name.platform_name_size);
    if (!artel__pjrt_failed(api, api->PJRT_Client_PlatformVersion(&version), &error))
        say(fd, "version", version.platform_version, version.platform_version_size);
    if (artel__pjrt_failed(api, api->PJRT_Client_AddressableDevices(&devices), &error)) {
        say(fd, "error", error.text, strlen(error.text));
        return;
    }
    for (size_t i = 0; i < devices.num_addressable_devices && i < MOST_DEVICES; i++) say_device(fd, api, devices.addressable_devices[i]);
    say(fd, "done", "", 0);
}

static void run_child(int fd, const artel__plugin *plugin, int virtual_devices)
{
    artel__pjrt_error error;
    setenv("TF_CPP_MIN_LOG_LEVEL", "2", 0); /* XLA's own chatter */
    setenv("TPU_SKIP_MDS_QUERY", "1", 0);   /* on a foreign host libtpu would ask a metadata server */
    const PJRT_Api *api = artel__pjrt_load(plugin->path, &error);
    if (!api) {
        say(fd, "error", error.text, strlen(error.text));
        return;
    }
    say_number(fd, "major", api->pjrt_api_version.major_version);
    say_number(fd, "minor", api->pjrt_api_version.minor_version);
    PJRT_Client *client = artel__pjrt_client(api, plugin->kind, virtual_devices, &error);
    if (!client)
        say(fd, "error", error.text, strlen(error.text));
    else
        say_client(fd, api, client); /* the process ends with it: some plug-ins wait for their threads when they are taken down */
}

/* -- in the parent -- */

typedef struct said {
    char *text;
    size_t length;
} said;

/* Everything both pipes bring until their ends; false when the time is over. */
static bool listen_to(const int *from, said *heard)
{
    int64_t until = artel__now_ns() + LIMIT_NS;
    bool open[2] = {true, true};
    while (open[0] || open[1]) {
        struct pollfd set[2] = {{open[0] ? from[0] : -1, POLLIN, 0}, {open[1] ? from[1] : -1, POLLIN, 0}};
        int64_t left = until - artel__now_ns();
        if (left <= 0) return false;
        if (poll(set, 2, (int)(left / 1000000) + 1) < 0 && errno != EINTR) return false;
        for (int i = 0; i < 2; i++) {
            char block[4096];
            if (!set[i].revents) continue;
            ssize_t n = read(from[i], block, sizeof block);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) open[i] = false;
            for (ssize_t k = 0; k < n; k++) {
                if (heard[i].length < MOST_SAID) heard[i].text[heard[i].length++] = block[k];
            }
        }
    }
    return true;
}

static const char *last_line(const said *heard)
{
    size_t end = heard->length;
    while (end > 0 && heard->text[end - 1] == '\n') end--;
    size_t begin = end;
    while (begin > 0 && heard->text[begin - 1] != '\n') begin--;
    heard->text[end] = '\0';
    return heard->text + begin;
}

static const char *advice_for(const artel__plugin *plugin, const char *error)
{
    bool gpu = strcmp(plugin->kind, "cuda") == 0 || strcmp(plugin->kind, "rocm") == 0;
    if (strstr(error, "cannot open shared object"))
        return "install the libraries it stands on beside it: pip install --target ~/.local/share/artel/pjrt with the nvidia-* packages of "
               "the plug-in's with-cuda extra";
    if (strstr(error, "No visible GPU") || strstr(error, "CUDA_ERROR") || (gpu && strstr(error, "NOT_FOUND")))
        return "see whether the driver is loaded: nvidia-smi";
    if (strstr(error, "TPU initialization") || strcmp(plugin->kind, "tpu") == 0) return "run it where a TPU is attached";
    return "name another plug-in, or update it";
}

typedef struct reading {
    artel__arena *arena;
    const artel__plugin *plugin;
    artel__plugin_facts *facts;
    const char *error;
    bool done;
} reading;

static artel_status take_line(reading *r, char *line)
{
    artel__plugin_facts *f = r->facts;
    char *rest = strchr(line, ' ');
    if (!rest) return ARTEL_OK;
    *rest++ = '\0';
    if (strcmp(line, "major") == 0) f->major = atoi(rest);
    if (strcmp(line, "minor") == 0) f->minor = atoi(rest);
    if (strcmp(line, "platform") == 0) f->platform = artel__arena_strdup(r->arena, rest);
    if (strcmp(line, "version") == 0) f->version = artel__arena_strdup(r->arena, rest);
    if (strcmp(line, "error") == 0) r->error = artel__arena_strdup(r->arena, rest);
    if (strcmp(line, "memory") == 0 && f->devices > 0) f->device[f->devices - 1].memory = strtoll(rest, NULL, 10);
    if (strcmp(line, "device") == 0 && f->devices < MOST_DEVICES)
        f->device[f->devices++] = (artel__device_facts){.name = artel__arena_strdup(r->arena, rest), .memory = -1};
    r->done = r->done || strcmp(line, "done") == 0;
    return artel__arena_status(r->arena);
}

static artel_status read_facts(reading *r, said *heard)
{
    artel__plugin_facts *f = r->facts;
    *f = (artel__plugin_facts){.platform = r->plugin->kind, .version = ""};
    f->device = artel__arena_alloc(r->arena, MOST_DEVICES, sizeof *f->device);
    ARTEL_TRY(artel__arena_status(r->arena));
    heard->text[heard->length] = '\0';
    char *rest = NULL;
    for (char *line = strtok_r(heard->text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) ARTEL_TRY(take_line(r, line));
    for (int i = 0; i < f->devices; i++) f->device[i].id = artel__arena_printf(r->arena, "%s:%d", r->plugin->kind, i);
    return artel__arena_status(r->arena);
}

static artel_status judge(const reading *r, bool in_time, int status, const said *errors)
{
    artel_context *ctx = r->arena->ctx;
    const char *path = r->plugin->path;
    if (!in_time)
        return artel__fail(ctx, ARTEL_ERROR_RUN, path, "name another plug-in; artel itself is fine", "the plug-in says nothing within %d s",
                           (int)(LIMIT_NS / 1000000000));
    if (WIFSIGNALED(status))
        return artel__fail(ctx, ARTEL_ERROR_RUN, path, "name another plug-in, or update it; artel itself is fine",
                           "the plug-in ended its process by signal %d%s%.200s", WTERMSIG(status), errors->length ? ": " : "",
                           errors->length ? last_line(errors) : "");
    if (r->error)
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, path, advice_for(r->plugin, r->error), "the plug-in cannot be used: %.300s",
                           r->error);
    if (!r->done)
        return artel__fail(ctx, ARTEL_ERROR_RUN, path, "name another plug-in, or update it; artel itself is fine",
                           "the plug-in ended its process with code %d%s%.200s", WEXITSTATUS(status), errors->length ? ": " : "",
                           errors->length ? last_line(errors) : "");
    return ARTEL_OK;
}

static artel_status start(artel_context *ctx, int pipes[2][2])
{
    for (int i = 0; i < 2; i++) pipes[i][0] = pipes[i][1] = -1;
    for (int i = 0; i < 2; i++) {
        if (pipe2(pipes[i], O_CLOEXEC) != 0) return artel__fail_errno(ctx, "plug-in", "open a pipe to a process for it");
    }
    return ARTEL_OK;
}

static void end(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static artel_status ask(artel__arena *arena, const artel__plugin *plugin, int virtual_devices, int pipes[2][2], reading *r)
{
    said heard[2] = {{artel__arena_alloc(arena, 1, MOST_SAID + 1), 0}, {artel__arena_alloc(arena, 1, MOST_SAID + 1), 0}};
    ARTEL_TRY(artel__arena_status(arena));
    ARTEL_TRY(start(arena->ctx, pipes));
    pid_t child = fork();
    if (child < 0) return artel__fail_errno(arena->ctx, "plug-in", "start a process for it");
    if (child == 0) {
        dup2(pipes[1][1], STDERR_FILENO);
        dup2(pipes[1][1], STDOUT_FILENO);
        run_child(pipes[0][1], plugin, virtual_devices);
        _exit(0);
    }
    end(&pipes[0][1]);
    end(&pipes[1][1]);
    bool in_time = listen_to((int[]){pipes[0][0], pipes[1][0]}, heard);
    if (!in_time) kill(child, SIGKILL);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    ARTEL_TRY(read_facts(r, &heard[0]));
    return judge(r, in_time, status, &heard[1]);
}

artel_status artel__plugin_ask(artel__arena *arena, const artel__plugin *plugin, int virtual_devices, artel__plugin_facts *out)
{
    int pipes[2][2] = {{-1, -1}, {-1, -1}};
    artel__plugin_facts facts = {.platform = ""};
    reading r = {.arena = arena, .plugin = plugin, .facts = &facts};
    artel_status status = ask(arena, plugin, virtual_devices, pipes, &r);
    for (int i = 0; i < 2; i++) {
        end(&pipes[i][0]);
        end(&pipes[i][1]);
    }
    if (status == ARTEL_OK) *out = facts;
    return status;
}
