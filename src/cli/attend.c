/* SPDX-License-Identifier: Apache-2.0 */
/* artel attend: a task of a launcher on another machine, see launch/attend.h. */
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/cli.h"
#include "launch/attend.h"

typedef struct attend_options {
    const char *host, *shell, *artel;
    int64_t share;
} attend_options;

#define AT(field) offsetof(attend_options, field)
static const artel__option options[] = {
    {"host", "start the arguments there; without it: do what standard input says, here", ARTEL__OPTION_STRING, AT(host),
     "null", 0, 0, NULL},
    {"shell", "how to run a command there: words, before the host and the command", ARTEL__OPTION_STRING, AT(shell),
     "\"ssh -o BatchMode=yes\"", 0, 0, NULL},
    {"artel", "this program, there", ARTEL__OPTION_STRING, AT(artel), "\"artel\"", 0, 0, NULL},
    {"share", "tasks on that host, which divide its cores; 0: ARTEL_THREADS says how many threads", ARTEL__OPTION_INT,
     AT(share), "0", 0, 4096, NULL},
    {.name = NULL},
};

/* Signals that ask a task to end, as data; blocked here, while children begin with none blocked. */
static int take_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR1); /* of schedulers */
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

static artel_status run_attend(artel__invocation *call)
{
    const attend_options *o = call->options;
    if (!o->host) {
        if (call->arguments)
            return artel__cli_usage(call, call->argument[0], "where to start it is missing: --host HOST");
        return artel__attend_far(call->ctx, STDIN_FILENO, (const char *const *)environ, &call->exit_code);
    }
    if (!call->arguments) return artel__cli_usage(call, "attend", "what to start is missing");
    int signals = take_signals();
    if (signals < 0) return artel__fail_errno(call->ctx, "attend", "hear signals for");
    const artel__attend_order order = {.host = o->host,
                                       .shell = o->shell,
                                       .artel = o->artel,
                                       .share = (int)o->share,
                                       .words = call->argument,
                                       .environment = (const char *const *)environ};
    artel_status status = artel__attend_near(call->ctx, &order, signals, &call->exit_code);
    close(signals);
    return status;
}

const artel__command artel__command_attend = {
    .name = "attend",
    .summary = "run a task of a launcher on another host",
    .usage = "--host HOST [options] -- PROGRAM [ARGUMENT...]",
    .more = "What artel launch --hosts starts for each task. It runs itself there through a remote shell, hands over "
            "the command, TF_CONFIG,\n"
            "the ARTEL_ variables and the task's certificate, passes signals on, and ends with the task's exit code. "
            "When it is killed,\n"
            "or the connection is cut, the task is killed. See docs/cluster.md.\n",
    .examples = "  artel attend --host node1 -- /usr/bin/env\n",
    .options = options,
    .options_size = sizeof(attend_options),
    .min_arguments = 0,
    .max_arguments = 1000000,
    .passes_on = true,
    .run = run_attend,
};
