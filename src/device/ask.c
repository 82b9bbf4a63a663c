/* SPDX-License-Identifier: Apache-2.0 */
/* First contact with a plug-in, in a child: whatever it does there (abort, hang, install handlers, print) stays there.
 *
 * The child writes lines of "word rest" into a pipe, the last of them "done", and its own standard error into another
 * one, whose last line is told when it dies. With its last line it has said all: a plug-in may have started processes
 * that hold both pipes, so the child leads a group, which ends as a whole. Nothing but the child opens the library
 * here.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "device/pjrt.h"
#include "device/plugin.h"

enum {
    LIMIT_SECONDS = 10,
    LOOK_MS = 50, /* how often it is seen whether the child lives */
    MOST_DEVICES = 256,
    MOST_SAID = 256 << 10 /* a line for each device, and more */
};

static int64_t limit_seconds(void)
{
    int64_t seconds;
    const char *given = getenv("ARTEL_PJRT_SECONDS");
    return given && artel__parse_int64(given, &seconds) && seconds > 0 && seconds <= 3600 ? seconds : LIMIT_SECONDS;
}

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

/* Each device has its line, for lines are counted to number them. */
static void say_kind(int fd, const PJRT_Api *api, PJRT_Device *device)
{
    static const char unknown[] = "a device without a description";
    artel__pjrt_error error;
    PJRT_Device_GetDescription_Args get = {.struct_size = PJRT_Device_GetDescription_Args_STRUCT_SIZE,
                                           .device = device};
    PJRT_DeviceDescription_Kind_Args kind = {.struct_size = PJRT_DeviceDescription_Kind_Args_STRUCT_SIZE};
    bool known = !artel__pjrt_failed(api, api->PJRT_Device_GetDescription(&get), &error);
    kind.device_description = get.device_description;
    if (known && !artel__pjrt_failed(api, api->PJRT_DeviceDescription_Kind(&kind), &error))
        say(fd, "device", kind.device_kind, kind.device_kind_size);
    else
        say(fd, "device", unknown, strlen(unknown));
}

static void say_device(int fd, const PJRT_Api *api, PJRT_Device *device)
{
    artel__pjrt_error error;
    say_kind(fd, api, device);
    if (!ARTEL__PJRT_HAS(api, PJRT_Device_MemoryStats)) return;
    PJRT_Device_MemoryStats_Args memory = {.struct_size = PJRT_Device_MemoryStats_Args_STRUCT_SIZE, .device = device};
    bool told = !artel__pjrt_failed(api, api->PJRT_Device_MemoryStats(&memory), &error);
    if (told && memory.bytes_limit_is_set) say_number(fd, "memory", memory.bytes_limit);
}

static void say_client(int fd, const PJRT_Api *api, PJRT_Client *client)
{
    artel__pjrt_error error;
    PJRT_Client_PlatformName_Args name = {.struct_size = PJRT_Client_PlatformName_Args_STRUCT_SIZE, .client = client};
    PJRT_Client_PlatformVersion_Args version = {.struct_size = PJRT_Client_PlatformVersion_Args_STRUCT_SIZE,
                                                .client = client};
    PJRT_Client_AddressableDevices_Args devices = {.struct_size = PJRT_Client_AddressableDevices_Args_STRUCT_SIZE,
                                                   .client = client};
    if (!artel__pjrt_failed(api, api->PJRT_Client_PlatformName(&name), &error))
        say(fd, "platform", name.platform_name, name.platform_name_size);
    if (!artel__pjrt_failed(api, api->PJRT_Client_PlatformVersion(&version), &error))
        say(fd, "version", version.platform_version, version.platform_version_size);
    if (artel__pjrt_failed(api, api->PJRT_Client_AddressableDevices(&devices), &error)) {
        say(fd, "error", error.text, strlen(error.text));
        return;
    }
    for (size_t i = 0; i < devices.num_addressable_devices && i < MOST_DEVICES; i++)
        say_device(fd, api, devices.addressable_devices[i]);
}

static void say_all(int fd, const artel__plugin *plugin, const artel__client_options *options)
{
    artel__pjrt_error error;
    artel__client_options growing = *options;
    setenv("TF_CPP_MIN_LOG_LEVEL", "2", 0); /* XLA's own chatter */
    setenv("TPU_SKIP_MDS_QUERY", "1", 0);   /* on a foreign host libtpu would ask a metadata server */
    const PJRT_Api *api = artel__pjrt_load(plugin->path, &error);
    if (!api) {
        say(fd, "error", error.text, strlen(error.text));
        return;
    }
    say_number(fd, "major", api->pjrt_api_version.major_version);
    say_number(fd, "minor", api->pjrt_api_version.minor_version);
    growing.at_once = false;
    PJRT_Client *client = artel__pjrt_client(api, plugin->kind, &growing, &error);
    if (!client)
        say(fd, "error", error.text, strlen(error.text));
    else
        say_client(
            fd, api,
            client); /* the process ends with it: some plug-ins wait for their threads when they are taken down */
}

/* Ends with whoever has asked, whatever ends that; has nothing to read. */
static _Noreturn void run_child(pid_t parent, int pipes[2][2], const artel__plugin *plugin,
                                const artel__client_options *options)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    int null = open("/dev/null", O_RDONLY);
    if (null > 0) dup2(null, STDIN_FILENO);
    dup2(pipes[1][1], STDERR_FILENO);
    dup2(pipes[1][1], STDOUT_FILENO);
    say_all(pipes[0][1], plugin, options);
    say(pipes[0][1], "done", "",
        0); /* the process ends with it: some plug-ins wait for their threads when they are taken down */
    _exit(0);
}

/* -- in the parent -- */

typedef struct said {
    char *text;
    size_t length;
} said;

/* Of too much the end counts. */
static void take(said *heard, const char *block, size_t length)
{
    if (heard->length + length > MOST_SAID) {
        size_t lost = heard->length + length - MOST_SAID;
        memmove(heard->text, heard->text + lost, heard->length - lost);
        heard->length -= lost;
    }
    memcpy(heard->text + heard->length, block, length);
    heard->length += length;
}

/* Whether the last line is the child's last one. */
static bool has_said_all(const said *heard)
{
    static const char last[] = "\ndone \n";
    size_t length = strlen(last);
    return heard->length >= length && memcmp(heard->text + heard->length - length, last, length) == 0;
}

/* It is not yet waited for: its number stands for its group until that is gone. */
static bool has_ended(pid_t child)
{
    siginfo_t about = {.si_pid = 0};
    return waitid(P_PID, (id_t)child, &about, WEXITED | WNOHANG | WNOWAIT) == 0 && about.si_pid == child;
}

/* What a pipe has brought; false at its end. */
static bool hear(int from, said *heard)
{
    char block[4096];
    ssize_t n = read(from, block, sizeof block);
    if (n > 0) take(heard, block, (size_t)n);
    return n > 0 || (n < 0 && errno == EINTR);
}

/* What both pipes bring until the child has said all or has ended; false when the time is over. */
static bool listen_to(const int *from, pid_t child, said *heard)
{
    int64_t until = artel__now_ns() + limit_seconds() * 1000000000;
    bool open[2] = {true, true};
    while (!has_said_all(&heard[0])) {
        struct pollfd set[2] = {{open[0] ? from[0] : -1, POLLIN, 0}, {open[1] ? from[1] : -1, POLLIN, 0}};
        bool ended = has_ended(child);
        if (artel__now_ns() >= until) return false;
        int ready = poll(set, 2, ended ? 0 : open[0] || open[1] ? LOOK_MS : 1);
        if (ready < 0 && errno != EINTR) return false;
        if (ended && ready == 0) return true; /* others may hold the pipes */
        for (int i = 0; i < 2 && ready > 0; i++) {
            if (set[i].revents) open[i] = hear(from[i], &heard[i]);
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
    bool gpu = artel__device_is_card(plugin->kind);
    if (strstr(error, "another kind of processor")) return "install the plug-in that was made for this one";
    if (strstr(error, "is cut off")) return "install it again";
    if (strstr(error, "cannot open shared object") && strcmp(plugin->kind, "rocm") == 0)
        return "install ROCm's libraries, which it stands on";
    if (strstr(error, "cannot open shared object") && strcmp(plugin->kind, "oneapi") == 0)
        return "install oneAPI's libraries, which it stands on";
    if (strstr(error, "cannot open shared object"))
        return "install the libraries it stands on beside it: pip install --target ~/.local/share/artel/pjrt with the "
               "nvidia-* packages of "
               "the plug-in's with-cuda extra";
    if (strstr(error, "lockfile")) return "end the process that has the TPU, or remove the file if none has it";
    if (strstr(error, "driver version is insufficient"))
        return "update the driver, or take a plug-in for an older CUDA (jax-cuda12-pjrt)";
    if (strstr(error, "No visible GPU") || strstr(error, "CUDA_ERROR") || (gpu && strstr(error, "NOT_FOUND")))
        return "see whether the driver is loaded: nvidia-smi";
    if (strstr(error, "TPU initialization") || strcmp(plugin->kind, "tpu") == 0)
        return "run it where a TPU is attached";
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
    for (char *line = strtok_r(heard->text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        ARTEL_TRY(take_line(r, line));
    const char *word = artel__device_word(r->plugin->kind);
    for (int i = 0; i < f->devices; i++) f->device[i].id = artel__arena_printf(r->arena, "%s:%d", word, i);
    return artel__arena_status(r->arena);
}

static artel_status judge(const reading *r, bool in_time, int status, const said *errors)
{
    artel_context *ctx = r->arena->ctx;
    const char *path = r->plugin->path;
    if (!in_time)
        return artel__fail(ctx, ARTEL_ERROR_RUN, path, "name another plug-in; artel itself is fine",
                           "the plug-in says nothing within %d s", (int)limit_seconds());
    if (!r->done && WIFSIGNALED(status))
        return artel__fail(ctx, ARTEL_ERROR_RUN, path, "name another plug-in, or update it; artel itself is fine",
                           "the plug-in ended its process by signal %d%s%.200s", WTERMSIG(status),
                           errors->length ? ": " : "", errors->length ? last_line(errors) : "");
    if (r->error)
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, path, advice_for(r->plugin, r->error),
                           "the plug-in cannot be used: %.300s", r->error);
    if (!r->done)
        return artel__fail(ctx, ARTEL_ERROR_RUN, path, "name another plug-in, or update it; artel itself is fine",
                           "the plug-in ended its process with code %d%s%.200s", WEXITSTATUS(status),
                           errors->length ? ": " : "", errors->length ? last_line(errors) : "");
    return ARTEL_OK;
}

/* Ends of pipes stay above 2, where the child's standard ones are put; what is closed here may be any of those. */
static bool move_up(int *fd)
{
    if (*fd > 2) return true;
    int moved = fcntl(*fd, F_DUPFD_CLOEXEC, 3);
    if (moved < 0) return false;
    close(*fd);
    *fd = moved;
    return true;
}

static artel_status start(artel_context *ctx, int pipes[2][2])
{
    for (int i = 0; i < 2; i++) {
        if (pipe2(pipes[i], O_CLOEXEC) != 0 || !move_up(&pipes[i][0]) || !move_up(&pipes[i][1]))
            return artel__fail_errno(ctx, "plug-in", "open a pipe to a process for it");
    }
    return ARTEL_OK;
}

static void end(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static artel_status ask(artel__arena *arena, const artel__plugin *plugin, const artel__client_options *options,
                        int pipes[2][2], reading *r)
{
    said heard[2] = {{artel__arena_alloc(arena, 1, MOST_SAID + 1), 0},
                     {artel__arena_alloc(arena, 1, MOST_SAID + 1), 0}};
    ARTEL_TRY(artel__arena_status(arena));
    ARTEL_TRY(start(arena->ctx, pipes));
    pid_t parent = getpid(), child = fork();
    if (child < 0) return artel__fail_errno(arena->ctx, "plug-in", "start a process for it");
    if (child == 0) run_child(parent, pipes, plugin, options);
    setpgid(child, child); /* whoever comes first */
    end(&pipes[0][1]);
    end(&pipes[1][1]);
    bool in_time = listen_to((int[]){pipes[0][0], pipes[1][0]}, child, heard);
    int status = 0;
    kill(-child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    ARTEL_TRY(read_facts(r, &heard[0]));
    return judge(r, in_time, status, &heard[1]);
}

artel_status artel__plugin_ask(artel__arena *arena, const artel__plugin *plugin, const artel__client_options *options,
                               artel__plugin_facts *out)
{
    int pipes[2][2] = {{-1, -1}, {-1, -1}};
    artel__plugin_facts facts = {.platform = ""};
    reading r = {.arena = arena, .plugin = plugin, .facts = &facts};
    artel_status status = ask(arena, plugin, options, pipes, &r);
    for (int i = 0; i < 2; i++) {
        end(&pipes[i][0]);
        end(&pipes[i][1]);
    }
    if (status == ARTEL_OK) *out = facts;
    return status;
}
