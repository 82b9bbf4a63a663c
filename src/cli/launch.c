/* SPDX-License-Identifier: Apache-2.0 */
/* artel launch: a cluster of processes on this machine, or on several.
 *
 * What is started, watched and decided lies in launch/. Here are the options, the command that each task
 * runs, and the state of this process that a library may not touch: signals, the limit of descriptors, the terminal.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/text.h"
#include "base/threads.h"
#include "cli/cli.h"
#include "launch/launch.h"
#include "ps/majority.h"

typedef struct launch_options {
    int64_t workers, ps, restarts, threads, port;
    bool chief, evaluator, pin, insecure_network, dry_run;
    const char *program, *cert_dir, *json, *hosts, *shell, *remote_artel;
} launch_options;

#define AT(field) offsetof(launch_options, field)
static const char *const json_words[] = {"all", NULL};
static const artel__option options[] = {
    {"workers", "how many workers, the chief among them when there is one", ARTEL__OPTION_INT, AT(workers), "null", 1,
     ARTEL__LAUNCH_MAX_TASKS, NULL},
    {"chief", "one of the workers is the chief", ARTEL__OPTION_BOOL, AT(chief), "false", 0, 0, NULL},
    {"ps", "parameter servers beside them; with --strategy parameter-server a chief, too", ARTEL__OPTION_INT, AT(ps),
     "0", 0, ARTEL__LAUNCH_MAX_TASKS, NULL},
    {"evaluator", "an evaluator beside them", ARTEL__OPTION_BOOL, AT(evaluator), "false", 0, 0, NULL},
    {"restarts", "how often each task is started again when it died", ARTEL__OPTION_INT, AT(restarts), "0", 0, 1e9,
     NULL},
    {"threads", "compute threads of each task; 0: the cores allowed to this process, divided among the tasks",
     ARTEL__OPTION_INT, AT(threads), "0", 0, 4096, NULL},
    {"hosts", "run the tasks on these machines, in turn: node1,node2; default: on this one", ARTEL__OPTION_STRING,
     AT(hosts), "null", 0, 0, NULL},
    {"port", "with --hosts: the port of each machine's first task; the next task has the next", ARTEL__OPTION_INT,
     AT(port), "2222", 1, 65535, NULL},
    {"shell", "with --hosts: how to run a command there", ARTEL__OPTION_STRING, AT(shell), "\"ssh -o BatchMode=yes\"",
     0, 0, NULL},
    {"remote-artel", "with --hosts: this program, there; default: the same path as here", ARTEL__OPTION_STRING,
     AT(remote_artel), "null", 0, 0, NULL},
    {"pin", "each task runs on cores of its own, as far as there are enough", ARTEL__OPTION_BOOL, AT(pin), "false", 0,
     0, NULL},
    {"program", "start this program with the arguments instead of artel", ARTEL__OPTION_STRING, AT(program), "null", 0,
     0, NULL},
    {"cert-dir", "the tasks' certificates, as artel cert makes them; else new ones are made for the run",
     ARTEL__OPTION_STRING, AT(cert_dir), "null", 0, 0, NULL},
    {"insecure-network", "no certificates: the tasks talk in plaintext", ARTEL__OPTION_BOOL, AT(insecure_network),
     "false", 0, 0, NULL},
    {"json", "pass the tasks' JSON events on to stdout, each with its task; what else they print goes to stderr",
     ARTEL__OPTION_STRING, AT(json), "null", 0, 0, json_words},
    {"dry-run", "print what would be started, end", ARTEL__OPTION_BOOL, AT(dry_run), "false", 0, 0, NULL},
    {.name = NULL},
};

/* -- this process: a pipe that signals are written to, and what children must not inherit -- */

static volatile int signal_pipe = -1;

static void on_signal(int number)
{
    int before = errno;
    unsigned char byte = (unsigned char)number;
    ssize_t done = write(signal_pipe, &byte, 1);
    (void)done; /* full: there are signals enough in it */
    errno = before;
}

typedef struct process_state {
    int pipe[2];
    struct rlimit files;
} process_state;

static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGUSR1, SIGUSR2};

/* A child needs four descriptors of ours. */
static void raise_limit(process_state *state, int tasks)
{
    if (getrlimit(RLIMIT_NOFILE, &state->files) != 0) {
        state->files.rlim_cur = 0;
        return;
    }
    struct rlimit wanted = state->files;
    rlim_t needed = 100 + 5 * (rlim_t)tasks;
    if (wanted.rlim_cur >= needed) return;
    wanted.rlim_cur = needed < wanted.rlim_max ? needed : wanted.rlim_max;
    setrlimit(RLIMIT_NOFILE, &wanted);
}

static artel_status enter(artel__invocation *call, int tasks, process_state *state)
{
    if (pipe2(state->pipe, O_CLOEXEC | O_NONBLOCK) != 0) return artel__fail_errno(call->ctx, "launch", "make a pipe");
    struct sigaction action = {
        .sa_handler = on_signal}; /* without SA_RESTART: a write that waits for its reader is interrupted */
    signal_pipe = state->pipe[1];
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ARTEL__COUNT(caught); i++) {
        struct sigaction before;
        bool ignored = sigaction(caught[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN;
        if (ignored && (caught[i] == SIGHUP || caught[i] == SIGTSTP)) continue; /* nohup stays in force */
        sigaction(caught[i], &action, NULL);
    }
    raise_limit(state, tasks);
    return ARTEL_OK;
}

static void leave(process_state *state)
{
    signal_pipe = -1; /* the handlers stay as long as the process: what comes now is too late to count */
    close(state->pipe[0]);
    close(state->pipe[1]);
}

/* After fork: as if the task had been started from a shell. Handlers end with exec by themselves. */
static void in_child(void *user)
{
    const process_state *state = user;
    signal(SIGPIPE, SIG_DFL); /* which main() ignores */
    signal(SIGXFSZ, SIG_DFL);
    if (state->files.rlim_cur) setrlimit(RLIMIT_NOFILE, &state->files);
}

/* Returns when the shell lets this process go on. */
static void stop_here(void *user)
{
    (void)user;
    raise(SIGSTOP);
}

static bool wants_colour(int fd)
{
    const char *terminal = getenv("TERM"), *none = getenv("NO_COLOR");
    return isatty(fd) && !(none && none[0]) && terminal && strcmp(terminal, "dumb") != 0;
}

/* -- the command of each task -- */

typedef struct program {
    const char *const *words;
    bool json;     /* lines that are JSON objects are events */
    bool verdicts; /* a subcommand whose codes 1 and 2 would be the same another time */
    bool together; /* and that makes its tasks one job: --strategy multi-worker, parameter-server */
    bool servers;  /* the latter */
    int needed;    /* to begin; 0: all */
} program;

static const artel__option *option_of(const artel__command *command, const char *name)
{
    return command->options ? artel__options_find(command->options, name) : NULL;
}

/* Whether the words hold --json of their own. */
static bool asks_for_json(const artel__invocation *call, int first)
{
    for (int i = first; i < call->arguments && strcmp(call->argument[i], "--") != 0; i++)
        if (strcmp(call->argument[i], "--json") == 0 || artel__starts_with(call->argument[i], "--json=")) return true;
    return false;
}

/* What the subcommand will itself take for the value of its option (`--name`), from these words or the environment; or
 * NULL. */
static const char *value_of(const artel__invocation *call, int first, const char *option, const char *variable)
{
    const char *value = getenv(variable);
    size_t length = strlen(option);
    for (int i = first; i < call->arguments && strcmp(call->argument[i], "--") != 0; i++) {
        const char *word = call->argument[i];
        if (artel__starts_with(word, option) && word[length] == '=') value = word + length + 1;
        if (strcmp(word, option) == 0 && i + 1 < call->arguments) value = call->argument[++i];
    }
    return value;
}

/* Whether the subcommand is to be one job of all tasks, and how many of them it needs to begin. */
static void read_strategy(const artel__invocation *call, int first, program *out)
{
    const char *strategy = value_of(call, first, "--strategy", "ARTEL_STRATEGY");
    const char *needed = value_of(call, first, "--min-workers", "ARTEL_MIN_WORKERS");
    int64_t count;
    out->servers = strategy && strcmp(strategy, "parameter-server") == 0;
    out->together = out->servers || (strategy && strcmp(strategy, "multi-worker") == 0);
    if (needed && artel__parse_int64(needed, &count) && count > 0 && count <= ARTEL__LAUNCH_MAX_TASKS)
        out->needed = (int)count;
}

/* This program's path, in the arena. */
static artel_status find_self(artel__invocation *call, const char **out)
{
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) return artel__fail_errno(call->ctx, "/proc/self/exe", "read the name of this program from");
    self[length] = '\0';
    *out = artel__arena_strdup(&call->arena, self);
    return artel__arena_status(&call->arena);
}

/* artel's own subcommand: this very program, with --json handed down. `artel` as the first word is understood. */
static artel_status artel_words(artel__invocation *call, const char **words, program *out)
{
    const launch_options *o = call->options;
    const char *self;
    int first = 0, count = 0;
    const char *slash = strrchr(call->argument[0], '/');
    bool named = strcmp(slash ? slash + 1 : call->argument[0], "artel") == 0;
    ARTEL_TRY(find_self(call, &self));
    words[count++] = slash ? call->argument[0] : o->hosts && o->remote_artel ? o->remote_artel : self;
    if (named) first = 1;
    if (first >= call->arguments) return artel__cli_usage(call, "launch", "what to start is missing: fit MODEL ...");
    const artel__command *command = artel__cli_find_command(call->argument[first]);
    if (!command || (slash && !named))
        return artel__cli_usage(call, call->argument[first],
                                "no subcommand of artel; other programs are started with --program %s",
                                call->argument[first]);
    words[count++] = call->argument[first++];
    const artel__option *option = option_of(command, "json");
    out->json = o->json || (option && asks_for_json(call, first));
    out->verdicts = option_of(command, "strategy") != NULL;
    if (out->verdicts) read_strategy(call, first, out);
    if (o->json && option)
        words[count++] =
            option->type == ARTEL__OPTION_STRING ? artel__arena_printf(&call->arena, "--json=%s", o->json) : "--json";
    for (int i = first; i < call->arguments; i++) words[count++] = call->argument[i];
    return artel__arena_status(&call->arena);
}

static artel_status program_words(artel__invocation *call, const char **words, program *out)
{
    const launch_options *o = call->options;
    char *path = artel__arena_alloc(&call->arena, 1, 4096);
    ARTEL_TRY(artel__arena_status(&call->arena));
    if (!o->hosts) ARTEL_TRY(artel__process_find(call->ctx, o->program, getenv("PATH"), path, 4096));
    words[0] = o->hosts ? o->program : path;
    for (int i = 0; i < call->arguments; i++) words[i + 1] = call->argument[i];
    out->json = o->json != NULL;
    return ARTEL_OK;
}

static artel_status make_words(artel__invocation *call, program *out)
{
    const launch_options *o = call->options;
    const char **words = artel__arena_alloc(&call->arena, (size_t)call->arguments + 4, sizeof *words);
    ARTEL_TRY(artel__arena_status(&call->arena));
    if (!o->program && call->arguments == 0)
        return artel__cli_usage(call, "launch", "what to start is missing; usage: artel launch %s",
                                call->command->usage);
    ARTEL_TRY(o->program ? program_words(call, words, out) : artel_words(call, words, out));
    out->words = words;
    return ARTEL_OK;
}

/* -- running -- */

static artel_status print_plan(artel__launch *launch, const char *const *words)
{
    artel__text text;
    ARTEL_TRY(artel__launch_set_program(launch, words));
    artel__text_init(&text, launch->ctx);
    artel__launch_describe(launch, &text);
    artel_status status = artel__text_status(&text);
    if (status == ARTEL_OK) printf("%s", text.data);
    artel__text_fini(&text);
    return status;
}

/* Without the part that makes certificates the tasks still may talk on this machine. */
static artel_status prepare(artel__invocation *call, artel__launch *launch)
{
    artel_status status = artel__launch_prepare(launch);
    if (status != ARTEL_ERROR_UNSUPPORTED || launch->wish.cert_dir) return status;
    artel__log(call->ctx, ARTEL_LOG_NOTE, "no certificates (%s): the tasks talk in plaintext, on this machine only",
               artel_context_error(call->ctx)->what);
    artel__operation_begin(call->ctx);
    launch->wish.certified = false;
    return artel__launch_prepare(launch);
}

static artel_status start(artel__invocation *call, artel__launch *launch, const program *what)
{
    const launch_options *o = call->options;
    process_state state;
    ARTEL_TRY(enter(call, launch->tasks, &state));
    artel_status status = prepare(call, launch);
    if (status == ARTEL_OK) status = artel__launch_set_program(launch, what->words);
    const artel__launch_run_options run = {
        .restarts = o->restarts > 1000000000 ? 1000000000 : (int)o->restarts,
        .together = what->together,
        .verdicts = what->verdicts,
        .needed = what->needed,
        .served_to_begin = what->servers ? artel__majority_fresh((int)o->ps) : 0,
        .served_to_go_on = what->servers ? artel__majority_beside((int)o->ps) : 0,
        .json = what->json,
        .control = state.pipe[0],
        .out = STDOUT_FILENO,
        .err = STDERR_FILENO,
        .colour = {wants_colour(STDOUT_FILENO), wants_colour(STDERR_FILENO)},
        .in_child = in_child,
        .suspend = stop_here,
        .user = &state,
    };
    if (status == ARTEL_OK) status = artel__launch_run(launch, &run, &call->exit_code);
    leave(&state);
    return status;
}

/* The words between commas of --hosts, in the arena. */
static artel_status list_hosts(artel__invocation *call, artel__launch_wish *wish)
{
    const launch_options *o = call->options;
    char *all = artel__arena_strdup(&call->arena, o->hosts), *rest = NULL;
    const char **list = artel__arena_alloc(&call->arena, strlen(o->hosts) / 2 + 1, sizeof *list);
    ARTEL_TRY(artel__arena_status(&call->arena));
    for (char *word = strtok_r(all, ", ", &rest); word; word = strtok_r(NULL, ", ", &rest)) {
        if (word[0] == '-') return artel__cli_usage(call, "--hosts", "'%.60s' is no name of a host", word);
        list[wish->hosts++] = word;
    }
    if (wish->hosts == 0)
        return artel__cli_usage(call, "--hosts", "no host is named (expected for example node1,node2)");
    if (o->pin)
        return artel__cli_usage(call, "--pin",
                                "the cores of other machines are not given out from here; leave out --pin");
    wish->host = list;
    wish->port = (int)o->port;
    wish->shell = o->shell;
    ARTEL_TRY(find_self(call, &wish->self));
    wish->artel = o->remote_artel ? o->remote_artel : wish->self;
    if (!artel__cli_given(call, "workers")) wish->workers = wish->hosts;
    return ARTEL_OK;
}

/* A task of a launcher that starts tasks itself: the certificate in its environment is that of the task it is. */
static bool certificate_is_own(const launch_options *o)
{
    const char *folder = getenv("ARTEL_CERT_DIR");
    return o->cert_dir && folder && strcmp(folder, o->cert_dir) == 0 && getenv("ARTEL_TASK") && getenv("TF_CONFIG");
}

static artel_status run_launch(artel__invocation *call)
{
    const launch_options *o = call->options;
    program what = {0};
    if (!artel__cli_given(call, "workers") && !o->hosts)
        return artel__cli_usage(call, "-n", "how many workers is missing: -n 3");
    ARTEL_TRY(make_words(call, &what));
    artel__launch_wish wish = {
        .workers = (int)o->workers,
        .ps = (int)o->ps,
        .chief = o->chief || (o->ps > 0 && what.servers), /* who serves wants somebody to coordinate */
        .evaluator = o->evaluator,
        .cores = artel__usable_cores(),
        .threads = (int)o->threads,
        .pin = o->pin,
        .insecure = o->insecure_network,
        .cert_dir = certificate_is_own(o) ? NULL : o->cert_dir,
        .environment = (const char *const *)environ,
    };
    if (o->hosts) ARTEL_TRY(list_hosts(call, &wish));
    wish.workers += wish.chief && !o->chief; /* one that only coordinates */
    wish.certified = wish.workers + wish.ps + wish.evaluator > 1;
    artel__launch launch;
    ARTEL_TRY(artel__launch_open(call->ctx, &wish, &launch));
    artel_status status = o->dry_run ? print_plan(&launch, what.words) : start(call, &launch, &what);
    artel__launch_close(&launch);
    return status;
}

const artel__command artel__command_launch = {
    .name = "launch",
    .summary = "start a cluster of processes on this machine, or on several",
    .usage = "-n WORKERS [--hosts A,B] [--chief] [--ps P] [--evaluator] [options] [--] fit ... | --program FILE [--] "
             "[ARGUMENT...]",
    .more = "Starts the tasks, each with TF_CONFIG and a certificate of its own, and marks each line that they print "
            "with their name. Options\n"
            "of launch stand before the subcommand; what follows belongs to it. Ctrl-C and SIGTERM tell all tasks to "
            "end, a second one kills\n"
            "them; none outlives the launcher. The exit code is 0 when the job ended well, although tasks died and "
            "were survived; else that "
            "of\n"
            "the task that failed first by itself; 130 after Ctrl-C, 143 after SIGTERM. With --hosts the tasks run on "
            "other machines, through "
            "a\n"
            "remote shell, in the directory of this name there. See docs/cluster.md.\n",
    .examples =
        "  artel launch -n 3 fit model.keras --strategy multi-worker --data npz:train.npz --output trained.keras\n"
        "  artel launch -n 4 --chief --restarts 2 --json -- fit model.keras --strategy multi-worker --data "
        "npz:train.npz\n"
        "  artel launch --hosts node1,node2 fit model.keras --strategy multi-worker --data npz:train.npz --output "
        "trained.keras\n"
        "  artel launch -n 2 --ps 1 fit model.keras --strategy parameter-server --data npz:train.npz --output "
        "trained.keras\n"
        "  artel launch -n 2 check --cluster\n  artel launch -n 2 --ps 1 --program ./train.sh -- --epochs 5\n",
    .options = options,
    .options_size = sizeof(launch_options),
    .min_arguments = 0,
    .max_arguments = 1000000,
    .letter = "n=workers",
    .passes_on = true,
    .run = run_launch,
};
