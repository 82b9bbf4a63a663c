/* SPDX-License-Identifier: Apache-2.0 */
/* The program: finds the subcommand, parses, runs, prints the error once, maps it to an exit code. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/fields.h"

#define COMMAND(name) extern const artel__command artel__command_##name;
#include "cli/commands.list"
#undef COMMAND

const artel__command *const artel__commands[] = {
#define COMMAND(name) &artel__command_##name,
#include "cli/commands.list"
#undef COMMAND
    NULL,
};

/* Names of the contract that this version does not have, so that the answer is more than "unknown". */
static const char *const later_commands[] = {"plan", "simulate", "top", "dashboard", NULL};

/* Other programs' words for the same thing. */
static const struct {
    const char *word, *command;
} synonyms[] = {{"train", "fit"},      {"test", "evaluate"},        {"eval", "evaluate"}, {"validate", "evaluate"},
                {"infer", "predict"},  {"info", "inspect"},         {"show", "inspect"},  {"digest", "inspect"},
                {"export", "convert"}, {"run", "launch"},           {"stop", "drain"},    {"doctor", "check"},
                {"gpus", "devices"},   {"list-devices", "devices"}, {"certs", "cert"}};

/* -- signals and notes: state of the program, not of the library -- */

static artel_context *volatile signal_context;
static volatile sig_atomic_t interrupts, hung_up;
static artel__cli_pause_fn *pause_fn;
static void *pause_user;

static void on_signal(int number)
{
    if (number == SIGINT && interrupts++) _exit(130);
    if (number == SIGHUP) hung_up = 1;
    artel_context_preempt(signal_context); /* saves where there is a --checkpoint-dir; a pass over data just ends */
}

static void on_cancel(int number)
{
    if (number == SIGINT && interrupts++) _exit(130);
    if (number == SIGHUP) hung_up = 1;
    artel_context_cancel(signal_context);
}

/* SIGHUP is the end of the terminal, unless nohup has it ignored; SIGUSR1 and SIGUSR2 are what schedulers send before
 * the time is over (Slurm's --signal=USR1@90). */
static void catch_ends(const struct sigaction *action)
{
    struct sigaction before;
    sigaction(SIGTERM, action, NULL);
    sigaction(SIGINT, action, NULL);
    sigaction(SIGUSR1, action, NULL);
    sigaction(SIGUSR2, action, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(SIGHUP, action, NULL);
}

void artel__cli_cancel_by_signals(artel_context *ctx)
{
    struct sigaction action = {.sa_handler = on_cancel};
    signal_context = ctx;
    sigemptyset(&action.sa_mask);
    catch_ends(&action);
}

void artel__cli_catch_signals(artel_context *ctx)
{
    struct sigaction action = {.sa_handler = on_signal};
    signal_context = ctx;
    sigemptyset(&action.sa_mask);
    catch_ends(&action);
}

static char abort_text[400];
static pid_t abort_pid;

/* The signal ends the process once this returns: whoever started it is to see that it died. */
static void on_abort(int number)
{
    bool own = getpid() == abort_pid; /* else a child that tries a plug-in, whose parent has a line for it */
    ssize_t ignored = own ? write(STDERR_FILENO, abort_text, strlen(abort_text)) : 0;
    (void)ignored;
    signal(number, SIG_DFL);
    raise(number);
}

void artel__cli_catch_abort(const char *device)
{
    if (strcmp(device, "cpu") == 0) return;
    snprintf(
        abort_text, sizeof abort_text,
        "artel: --device %.60s: the process was ended by signal 6, as a plug-in does that finds a fault of its own; "
        "what it said stands above: try another version of it; fit goes on from its newest checkpoint\n",
        device);
    abort_pid = getpid();
    signal(SIGABRT, on_abort);
}

bool artel__cli_interrupted(void)
{
    return interrupts > 0;
}

bool artel__cli_hung_up(void)
{
    return hung_up > 0;
}

void artel__cli_before_notes(artel__cli_pause_fn *pause, void *user)
{
    pause_fn = pause;
    pause_user = user;
}

/* One write. Messages quote files and what came by network: a terminal must not take a part of them for a command. */
static void print_line(const char *const *parts, size_t count)
{
    char line[4096], part[4096];
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        artel__cli_name_options(parts[i], part, sizeof part);
        length += artel__clean(part, strlen(part), line + length, sizeof line - 1 - length);
    }
    line[length++] = '\n';
    line[length] = 0;
    fputs(line, stderr);
}

static void print_note(void *user, artel_log_level level, const char *message)
{
    static const char *const names[] = {"error", "warning", "note", "debug"};
    (void)user;
    if (pause_fn) pause_fn(pause_user);
    const char *const parts[] = {"artel: ", names[level], ": ", message};
    print_line(parts, ARTEL__COUNT(parts));
}

/* -- running -- */

static void print_error(const artel_error *error)
{
    if (pause_fn) pause_fn(pause_user);
    const char *const parts[] = {
        "artel: ", error->where, error->where[0] ? ": " : "", error->what, error->advice[0] ? "; " : "", error->advice};
    print_line(parts, ARTEL__COUNT(parts));
}

const artel__command *artel__cli_find_command(const char *name)
{
    for (const artel__command *const *command = artel__commands; *command; command++) {
        if (strcmp((*command)->name, name) == 0) return *command;
    }
    return NULL;
}

int artel__cli_unknown_command(const char *name)
{
    const char *names[64];
    int count = 0;
    for (const char *const *later = later_commands; *later; later++) {
        if (strcmp(*later, name) == 0) {
            artel__show(stderr,
                        "artel: %s: this subcommand is not in this version; see artel help for those that are\n", name);
            return 1;
        }
    }
    for (size_t i = 0; i < ARTEL__COUNT(synonyms); i++) {
        if (strcmp(synonyms[i].word, name) != 0) continue;
        artel__show(stderr, "artel: %s: unknown subcommand; the word for it is %s: artel help %s\n", name,
                    synonyms[i].command, synonyms[i].command);
        return 1;
    }
    while (artel__commands[count] && count < 62) {
        names[count] = artel__commands[count]->name;
        count++;
    }
    for (size_t i = 0; i < ARTEL__COUNT(synonyms) && count < 62; i++) names[count++] = synonyms[i].word;
    names[count] = NULL;
    const char *near = artel__nearest_name(name, names);
    if (name[0] == '-') {
        artel__show(stderr,
                    "artel: %s: options stand behind the subcommand: artel fit MODEL --data SPEC; see artel help\n",
                    name);
        return 1;
    }
    if (artel__file_exists(name) || artel__is_directory(name)) {
        artel__show(stderr,
                    "artel: %s: this is a file, not a subcommand; artel inspect FILE shows it; see artel help\n", name);
        return 1;
    }
    for (size_t i = 0; i < ARTEL__COUNT(synonyms); i++) {
        if (near == synonyms[i].word) near = synonyms[i].command;
    }
    artel__show(stderr, "artel: %s: unknown subcommand%s%s; see artel help\n", name, near ? "; the nearest is " : "",
                near ? near : "");
    return 1;
}

/* --isa is read before the context exists; the environment counts too. */
static const char *find_isa(int count, char **words)
{
    const char *isa = getenv("ARTEL_ISA");
    for (int i = 0; i < count; i++) {
        if (strncmp(words[i], "--isa=", 6) == 0)
            isa = words[i] + 6;
        else if (strcmp(words[i], "--isa") == 0 && i + 1 < count)
            isa = words[i + 1];
    }
    return isa ? isa : "auto";
}

/* What was printed must have arrived: an exit code of 0 says so. */
static int flush_results(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    if (code != 0) return code;
    struct pollfd reader = {.fd = STDOUT_FILENO, .events = POLLOUT};
    int ready = poll(&reader, 1, 0);
    bool closed = ready > 0 && (reader.revents & POLLERR); /* of a pipe */
    bool absent = ready > 0 && (reader.revents & POLLNVAL);
    fprintf(stderr, closed   ? "artel: standard output was closed before its end\n"
                    : absent ? "artel: standard output is not open; open it, or send it to a file\n"
                             : "artel: standard output: could not be written; free some space\n");
    return 2;
}

static int run_command(const artel__command *command, int count, char **words)
{
    artel_context_options options = ARTEL_CONTEXT_OPTIONS_INIT;
    options.log = print_note;
    options.isa = find_isa(command->passes_on ? 0 : count, words);
    artel_context *ctx;
    artel_status status = artel_context_create(&options, &ctx);
    if (status == ARTEL_ERROR_NO_MEMORY) {
        print_error(artel_context_error(NULL));
        return 2;
    }
    if (status < 0) {
        artel__show(
            stderr,
            "artel: --isa: \"%s\" is not an instruction set of this machine; use auto, baseline, avx2 or avx512\n",
            options.isa);
        return 1;
    }
    artel__invocation call = {.command = command, .ctx = ctx};
    artel__arena_init(&call.arena, ctx);
    status = artel__cli_parse(&call, count, words);
    if (status == ARTEL_OK && command->options) status = artel__cli_check_environment(&call);
    if (status == ARTEL_OK) status = command->run(&call);
    if (status < 0) print_error(artel_context_error(ctx));
    if (status == ARTEL_ERROR_CANCELLED && !interrupts) /* during a pass over data */
        call.exit_code = hung_up ? 129 : 143;
    int code = status < 0 ? call.exit_code ? call.exit_code : artel_status_exit_code(status) : call.exit_code;
    artel__arena_fini(&call.arena);
    artel__cli_before_notes(NULL, NULL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal_context = NULL; /* what comes now, by a handler that stays, is too late to count */
    artel_context_destroy(ctx);
    return flush_results(code);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    artel__cli_watch_files();
    setenv("TF_CPP_MIN_LOG_LEVEL", "2", 0); /* what plug-ins of devices have to say is in their errors */
    signal(SIGXFSZ, SIG_IGN);               /* a file size limit is a failed write with a message, as a full disk is */
    const char *name = argc > 1 ? argv[1] : "help";
    if (strcmp(name, "--version") == 0) name = "version";
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        bool manual = argc > 2 && strcmp(argv[2], "--man") == 0;
        const char *about = argc > 2 + manual ? argv[2 + manual] : NULL;
        const artel__command *command = about ? artel__cli_find_command(about) : NULL;
        if (about && !command) return artel__cli_unknown_command(about);
        if (command && manual)
            artel__cli_manual(command, stdout);
        else if (command)
            artel__cli_help(command, argc > 3 && strcmp(argv[3], "--all") == 0, stdout);
        else
            (manual ? artel__cli_manual_overview : artel__cli_overview)(argc > 1 ? stdout : stderr);
        return argc > 1 ? flush_results(0) : 1;
    }
    const artel__command *command = artel__cli_find_command(name);
    if (!command) return artel__cli_unknown_command(name);
    bool all = false;
    if (artel__cli_wants_help(command, argc - 2, argv + 2, &all)) {
        artel__cli_help(command, all, stdout);
        return flush_results(0);
    }
    artel__cli_keep_words(argc - 2, argv + 2);
    return run_command(command, argc - 2, argv + 2);
}
