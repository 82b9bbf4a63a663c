/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of a launcher: one thread, one poll(2) over everything that can happen.
 *
 * Each round starts at most one task, so that output and signals are served while hundreds start. A task's end is
 * noticed by its pidfd; what it left running in its group is asked to end and has LEFTOVER to do so, in which output
 * that is still in the pipes is read; then the group is killed and the job is told. A reader that does not read fills
 * the outlet, and streams are read no further: tasks wait in write(2), the launcher never does.
 */
#include "launch/attend.h"
#include "launch/launch.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "launch/ask.h"
#include "launch/job.h"
#include "launch/output.h"

#define MS ((int64_t)1000000)
#define LEFTOVER (2000 * MS)   /* for what a task left running in its group */
#define DISMISSAL (10000 * MS) /* for who serves to end when nobody trains */
#define REMINDER (5000 * MS)   /* between notes that say who is waited for */
#define RETRY (100 * MS)
#define ASK_AGAIN (200 * MS) /* whether the job has begun */
#define ASK_LATE (5000 * MS) /* whether who still runs waits for those who have ended */
#define BLIND (20 * MS)      /* between looks where there is no pidfd */
#define PIECE ((size_t)64 << 10)
#define FILLINGS 4 /* times PIECE: more than a pipe holds */
#define WRITES 32  /* of an outlet in one round */

typedef struct slot {
    artel__process process;
    artel__launch_stream stream[2]; /* stdout, stderr */
    bool stirred;                   /* its pidfd says that it ended */
    bool noticed;                   /* its end was; at `ended_at` */
    int64_t ended_at;
    int64_t deadline; /* noticed: for its output; dismissed: for its end; else 0 */
    int64_t silent;   /* on another machine, which has not answered: when that is said next; else 0 */
} slot;

/* Who a descriptor of the poll set belongs to. */
typedef struct owner {
    int slot;  /* or one of these */
    int which; /* 0 stdout, 1 stderr, 2 its end */
} owner;
enum {
    OWNER_CONTROL = -1,
    OWNER_OUT = -2,
    OWNER_ERR = -3
};

typedef struct runner {
    artel__launch *launch;
    const artel__launch_run_options *options;
    artel__launch_job job;
    slot *slot;
    artel__outlet out, err;
    int control;
    artel__launch_inquiry inquiry;
    artel__status_request *request; /* of the inquiry */
    int64_t ask_at;
    bool begun;       /* the job has, as far as anybody had to ask */
    int64_t reminder; /* when the next is due; 0: none */
    bool left;        /* told to wait no more */
    struct pollfd *set;
    owner *owner;
    int watched;
    char *piece; /* PIECE bytes */
} runner;

/* -- notes -- */

static void note(runner *r, const char *kind, const char *format, ...) ARTEL__PRINTF(3, 4);
static void note(runner *r, const char *kind, const char *format, ...)
{
    va_list args;
    if (r->err.broken) return;
    va_start(args, format);
    artel__text_printf(&r->err.text, "artel: %s: ", kind);
    artel__text_vprintf(&r->err.text, format, args);
    artel__text_append(&r->err.text, "\n");
    va_end(args);
}

static void describe_end(const artel__launch_member *member, char *out, size_t size)
{
    const char *name = member->signal ? sigabbrev_np(member->signal) : NULL;
    if (member->signal)
        snprintf(out, size, "was ended by signal %d%s%s%s", member->signal, name ? " (SIG" : "", name ? name : "",
                 name ? ")" : "");
    else
        snprintf(out, size, "ended with exit code %d", member->code);
}

static void note_end(runner *r, int i, bool again)
{
    const artel__launch_member *member = &r->job.member[i];
    char how[96];
    if ((!member->signal && !member->code) || (member->told && (member->signal || member->code > 128))) return;
    describe_end(member, how, sizeof how);
    if (again)
        note(r, "warning", "%s %s; it is started again (%d of %d)", r->launch->task[i].label, how, member->restarts,
             r->job.restarts);
    else
        note(r, "warning", "%s %s", r->launch->task[i].label, how);
}

/* Names the tasks that are waited for. */
static void remind(runner *r, int64_t now)
{
    artel__text names;
    int count = 0;
    r->reminder = now + REMINDER;
    artel__text_init(&names, r->launch->ctx);
    for (int i = 0; i < r->launch->tasks; i++) {
        if (r->slot[i].process.pid == 0) continue;
        if (++count <= 8) artel__text_printf(&names, "%s%s", count > 1 ? ", " : "", r->launch->task[i].label);
    }
    if (count > 8) artel__text_printf(&names, " and %d more", count - 8);
    if (count)
        note(r, "note", "waiting for %s to end%s", names.data,
             r->job.signals == 1  ? "; one more signal kills"
             : r->job.signals > 1 ? "; one more signal leaves them"
                                  : "");
    artel__text_fini(&names);
}

/* Names the machines that a remote shell has not reached, once each. */
static void name_silent(runner *r, int64_t now)
{
    for (int i = 0; i < r->launch->tasks; i++) {
        slot *s = &r->slot[i];
        if (s->stream[1].greeted || s->noticed || s->process.pid == 0) s->silent = 0;
        if (s->silent == 0 || now < s->silent) continue;
        s->silent = now + REMINDER;
        bool first = true; /* of its machine */
        for (int k = 0; k < i; k++)
            first = first && (r->slot[k].silent == 0 || r->launch->task[k].host != r->launch->task[i].host);
        if (first)
            note(r, "note",
                 "no answer from %s yet, where %s is to run: the remote shell is connecting, or asks for something",
                 r->launch->wish.host[r->launch->task[i].host], r->launch->task[i].label);
    }
}

/* -- starting and ending -- */

static void open_streams(runner *r, int i)
{
    const artel__launch_task *task = &r->launch->task[i];
    slot *s = &r->slot[i];
    for (int k = 0; k < 2; k++) {
        artel__launch_stream *stream = &s->stream[k];
        *stream = (artel__launch_stream){
            .label = task->label,
            .name = task->name,
            .colour = i,
            .json = r->options->json && k == 0,
            .out = k == 0 ? &r->out : &r->err,
            .rest = &r->err,
            .greeting = k == 1 && task->host >= 0 ? ARTEL__ATTEND_GREETING : NULL,
        };
        artel__launch_stream_init(stream, r->launch->ctx);
    }
    s->stirred = s->noticed = false;
    s->deadline = 0;
    s->silent = task->host >= 0 ? artel__now_ns() + REMINDER : 0;
}

static void close_streams(slot *s)
{
    for (int k = 0; k < 2; k++) {
        artel__launch_stream_end(&s->stream[k]);
        artel__launch_stream_fini(&s->stream[k]);
    }
}

/* The first start of a task must succeed; a failed restart is an end with code 127. */
static artel_status start(runner *r, int i)
{
    const artel__launch_task *task = &r->launch->task[i];
    const artel__process_request request = {
        .where = task->label,
        .words = task->words,
        .environment = task->environment,
        .core = task->core,
        .cores = task->cores,
        .guard = r->launch->guard.pid > 0 ? &r->launch->guard : NULL,
        .in_child = r->options->in_child,
        .user = r->options->user,
    };
    artel_status status = artel__process_start(r->launch->ctx, &request, &r->slot[i].process);
    int64_t now = artel__now_ns();
    if (status == ARTEL_OK) {
        open_streams(r, i);
        artel__launch_job_started(&r->job, i, now);
    } else if (r->job.member[i].restarts > 0) {
        const artel_error *error = artel_context_error(r->launch->ctx);
        note(r, "error", "%s: %s: %s", task->label, error->where, error->what);
        artel__operation_begin(r->launch->ctx);
        artel__launch_job_started(&r->job, i, now);
        note_end(r, i, artel__launch_job_ended(&r->job, i, 127 << 8, now));
        return ARTEL_OK;
    }
    return status;
}

static void finish(runner *r, int i)
{
    slot *s = &r->slot[i];
    int status = s->process.status;
    close_streams(s);
    artel__process_reap(&s->process, r->launch->guard.pid > 0 ? &r->launch->guard : NULL);
    note_end(r, i, artel__launch_job_ended(&r->job, i, status, s->ended_at));
}

static void signal_all(runner *r, int number)
{
    for (int i = 0; i < r->launch->tasks; i++) {
        artel__process_signal(&r->slot[i].process, number);
        if (number == SIGTERM) artel__process_signal(&r->slot[i].process, SIGCONT); /* the stopped hear it, too */
    }
}

static void take_signal(runner *r, int number)
{
    switch (artel__launch_job_signal(&r->job, number)) {
    case ARTEL__LAUNCH_TERMINATE: signal_all(r, SIGTERM); break;
    case ARTEL__LAUNCH_KILL: signal_all(r, SIGKILL); break;
    default: r->left = true;
    }
    if (r->job.signals == 1)
        note(r, "note", "SIG%s: all tasks are told to end",
             number == SIGINT    ? "INT"
             : number == SIGHUP  ? "HUP"
             : number == SIGUSR1 ? "USR1"
             : number == SIGUSR2 ? "USR2"
                                 : "TERM");
    r->reminder = artel__now_ns() + REMINDER;
}

/* Ctrl-Z: the tasks are not in the terminal's group and have to be told. */
static void suspend(runner *r)
{
    if (!r->options->suspend) return;
    signal_all(r, SIGSTOP);
    r->options->suspend(r->options->user);
    signal_all(r, SIGCONT);
}

static void read_control(runner *r)
{
    unsigned char number[16];
    ssize_t got = read(r->control, number, sizeof number);
    if (got == 0) r->control = -1;
    for (ssize_t k = 0; k < got; k++) {
        if (number[k] == SIGTSTP)
            suspend(r);
        else
            take_signal(r, number[k]);
    }
}

static const char *without(const artel__launch_job *job)
{
    int lost = artel__launch_job_lost(job);
    if (lost == ARTEL__TASK_WORKER) return "no worker is left, and none is started again";
    if (lost == ARTEL__TASK_PS) return "too few parameter servers are left, and none is started again";
    return "the others have lost their chief";
}

/* Parameter servers and the evaluator, once nobody trains; who trains when the job is done. */
static void dismiss(runner *r, int64_t now)
{
    bool training = false, done = artel__launch_job_patience(&r->job, now) == 0;
    for (int i = 0; i < r->launch->tasks; i++) {
        slot *s = &r->slot[i];
        artel__launch_member *member = &r->job.member[i];
        artel__launch_dismissal dismissal = artel__launch_job_dismiss(&r->job, i, now);
        if (dismissal != ARTEL__LAUNCH_STAYS) {
            artel__process_signal(&s->process, SIGTERM);
            artel__process_signal(&s->process, SIGCONT); /* should it be stopped */
        }
        if (dismissal == ARTEL__LAUNCH_HURRIED && !s->noticed) s->deadline = now + DISMISSAL;
        if (dismissal == ARTEL__LAUNCH_ASKED)
            note(r, "note", "%s is told to end: %s", r->launch->task[i].label,
                 done ? "the others have finished the job" : without(&r->job));
        if (member->type <= ARTEL__TASK_WORKER && member->state != ARTEL__LAUNCH_ENDED && !member->dismissed)
            training = true;
    }
    if (!training && r->reminder == 0) r->reminder = now + REMINDER;
}

/* -- those who wait in vain -- */

static void ask(runner *r, int64_t now, int64_t pause)
{
    int count = 0;
    r->ask_at = now + pause;
    for (int i = 0; i < r->launch->tasks; i++) {
        bool trains = r->job.member[i].type == ARTEL__TASK_CHIEF || r->job.member[i].type == ARTEL__TASK_WORKER;
        if (!trains || r->job.member[i].state == ARTEL__LAUNCH_ENDED) continue;
        if (artel__launch_question(r->launch, i, &r->request[count++]) < 0) return;
    }
    artel__launch_ask_start(&r->inquiry, r->request, count);
}

/* Whether the tasks of a program were one job is known when some have ended well: the others then look for them in
 * vain. */
static void look_for_late(runner *r, int64_t now)
{
    unsigned answers;
    if (artel__launch_job_doubt(&r->job, now) != 0 || !artel__launch_ask_look(&r->inquiry, &answers)) return;
    if (!(answers & ~(unsigned)(ARTEL__LAUNCH_WAITS | ARTEL__LAUNCH_LOST)))
        artel__launch_job_join(&r->job);
    else if (now >= r->ask_at)
        ask(r, now, ASK_LATE);
}

/* Who waits for a task that will not come is told to end, once all say that they wait. */
static void look_for_missed(runner *r, int64_t now)
{
    unsigned answers;
    int missed = r->begun ? -1 : artel__launch_job_misses(&r->job);
    if (missed < 0 || !artel__launch_ask_look(&r->inquiry, &answers)) return;
    if (answers & (ARTEL__LAUNCH_BEGUN | ARTEL__LAUNCH_LOST)) {
        r->begun = true;
    } else if (!(answers & ARTEL__LAUNCH_UNKNOWN)) {
        artel__launch_job_abandon(&r->job, missed);
        signal_all(r, SIGTERM);
        for (int i = 0; i < r->launch->tasks; i++)
            if (!r->slot[i].noticed) r->slot[i].deadline = now + DISMISSAL;
        note(r, "note", "%s will not come, and the job cannot begin without it: the others are told to end",
             r->launch->task[missed].label);
    } else if (now >= r->ask_at) {
        ask(r, now, ASK_AGAIN);
    }
}

/* -- streams -- */

static int *stream_end(slot *s, int k)
{
    return k == 0 ? &s->process.out : &s->process.err;
}

static bool must_wait(const artel__launch_stream *stream)
{
    return artel__outlet_full(stream->out) || (stream->json && artel__outlet_full(stream->rest));
}

/* Reads once; closes the stream at its end. False when there was nothing. */
static bool read_stream(runner *r, slot *s, int k)
{
    int *fd = stream_end(s, k);
    if (*fd < 0 || must_wait(&s->stream[k])) return false;
    ssize_t got = read(*fd, r->piece, PIECE);
    if (got > 0) artel__launch_stream_take(&s->stream[k], r->piece, (size_t)got);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        artel__launch_stream_end(&s->stream[k]);
        close(*fd);
        *fd = -1;
    }
    return got > 0;
}

/* A task whose process has ended: its output first, for a while. */
static void look_after(runner *r, int i, int64_t now)
{
    slot *s = &r->slot[i];
    if (s->process.pid == 0) return;
    if (!s->noticed && (s->stirred || s->process.watch < 0) && artel__process_ended(&s->process)) {
        s->noticed = true;
        s->ended_at = now;
        s->deadline = now + LEFTOVER;
        for (int k = 0; k < 2 * FILLINGS; k++) read_stream(r, s, k % 2);
        if (s->process.out >= 0 || s->process.err >= 0) artel__process_signal(&s->process, SIGTERM);
    }
    if (!s->noticed) {
        if (s->deadline && now >= s->deadline) {
            artel__process_signal(&s->process, SIGKILL);
            s->deadline = 0;
        }
        return;
    }
    bool blocked = must_wait(&s->stream[0]) || must_wait(&s->stream[1]);
    if (now >= s->deadline && blocked) s->deadline = now + RETRY;
    if ((s->process.out < 0 && s->process.err < 0) || now >= s->deadline) finish(r, i);
}

/* -- the loop -- */

static void watch(runner *r, int fd, short events, int slot_index, int which)
{
    r->set[r->watched] = (struct pollfd){.fd = fd, .events = events};
    r->owner[r->watched++] = (owner){slot_index, which};
}

static void watch_ends(runner *r)
{
    r->watched = 0;
    if (r->control >= 0) watch(r, r->control, POLLIN, OWNER_CONTROL, 0);
    if (artel__outlet_pending(&r->out)) watch(r, r->out.fd, POLLOUT, OWNER_OUT, 0);
    if (artel__outlet_pending(&r->err)) watch(r, r->err.fd, POLLOUT, OWNER_ERR, 0);
}

static void watch_tasks(runner *r)
{
    for (int i = 0; i < r->launch->tasks; i++) {
        slot *s = &r->slot[i];
        if (s->process.pid == 0) continue;
        if (!s->noticed && s->process.watch >= 0) watch(r, s->process.watch, POLLIN, i, 2);
        for (int k = 0; k < 2; k++)
            if (*stream_end(s, k) >= 0 && !must_wait(&s->stream[k])) watch(r, *stream_end(s, k), POLLIN, i, k);
    }
}

static void shorten(int64_t *wait, int64_t other)
{
    if (other < 0) other = 0;
    if (*wait < 0 || other < *wait) *wait = other;
}

/* Milliseconds until something is due by the clock, or -1. */
static int time_left(const runner *r, int64_t now)
{
    int64_t wait = -1, due;
    if (artel__launch_job_next(&r->job, now, &due) >= 0) return 0;
    if (due >= 0) shorten(&wait, due);
    for (int i = 0; i < r->launch->tasks; i++) {
        const slot *s = &r->slot[i];
        if (s->process.pid == 0) continue;
        if (s->deadline) shorten(&wait, s->deadline - now);
        if (s->silent && !s->stream[1].greeted) shorten(&wait, s->silent - now);
        if (!s->noticed && s->process.watch < 0) shorten(&wait, BLIND);
    }
    int64_t doubt = artel__launch_job_doubt(&r->job, now);
    if (doubt > 0) shorten(&wait, doubt);
    if (doubt == 0 || (!r->begun && artel__launch_job_misses(&r->job) >= 0))
        shorten(&wait, r->inquiry.running ? BLIND : r->ask_at - now);
    if (r->reminder) shorten(&wait, r->reminder - now);
    int64_t patience = artel__launch_job_patience(&r->job, now);
    if (patience >= 0) shorten(&wait, patience);
    if (wait < 0) return -1;
    wait = (wait + MS - 1) / MS;
    return wait < INT_MAX ? (int)wait : INT_MAX;
}

static void write_outlet(artel__outlet *outlet)
{
    struct pollfd ready = {.fd = outlet->fd, .events = POLLOUT};
    for (int k = 0; k < WRITES; k++) {
        artel__outlet_write(outlet);
        if (!artel__outlet_pending(outlet) || poll(&ready, 1, 0) <= 0) return;
    }
}

static void serve(runner *r)
{
    for (int k = 0; k < r->watched; k++) {
        if (r->set[k].revents == 0) continue;
        const owner *who = &r->owner[k];
        if (who->slot == OWNER_CONTROL)
            read_control(r);
        else if (who->slot == OWNER_OUT)
            write_outlet(&r->out);
        else if (who->slot == OWNER_ERR)
            write_outlet(&r->err);
        else if (who->which == 2)
            r->slot[who->slot].stirred = true;
        else
            read_stream(r, &r->slot[who->slot], who->which);
    }
}

/* One thing after another until all tasks have ended. */
static artel_status run_tasks(runner *r)
{
    while (!r->left && !artel__launch_job_over(&r->job)) {
        int64_t now = artel__now_ns(), wait;
        watch_ends(r);
        watch_tasks(r);
        poll(r->set, (nfds_t)r->watched, time_left(r, now));
        serve(r);
        now = artel__now_ns();
        for (int i = 0; i < r->launch->tasks; i++) look_after(r, i, now);
        dismiss(r, now);
        look_for_missed(r, now);
        look_for_late(r, now);
        if (r->reminder && now >= r->reminder) remind(r, now);
        name_silent(r, now);
        int next = artel__launch_job_next(&r->job, now, &wait);
        if (next >= 0) ARTEL_TRY(start(r, next));
    }
    return ARTEL_OK;
}

/* What is left goes out at the reader's pace; a signal ends that. */
static void flush(runner *r)
{
    while (!r->left && (artel__outlet_pending(&r->out) || artel__outlet_pending(&r->err))) {
        int before = r->job.signals;
        watch_ends(r);
        poll(r->set, (nfds_t)r->watched, -1);
        serve(r);
        if (r->job.signals > before) return;
    }
}

static int conclude(runner *r)
{
    int member, code = artel__launch_job_code(&r->job, &member);
    char how[96];
    if (member >= 0) describe_end(&r->job.member[member], how, sizeof how);
    if (member >= 0 && member == r->job.missed)
        note(r, "error",
             "the job failed before it began: %s %s; see what it printed, and start the job again: --restarts of "
             "launch starts "
             "such a task again, --min-workers of the job begins without it",
             r->launch->task[member].label, how);
    else if (member >= 0)
        note(r, "error", "the job failed: %s %s", r->launch->task[member].label, how);
    flush(r);
    if (r->err.broken) { /* nothing can be said through it any more */
        static const char lost[] = "artel: standard error: what the tasks said is lost, for memory or the place it "
                                   "goes to has run out; free some\n";
        ssize_t written = write(r->err.fd, lost, sizeof lost - 1);
        (void)written;
        return code ? code : 2;
    }
    if (code != 0 || !r->out.broken) return code;
    note(r, "standard output",
         r->out.closed ? "was closed before its end" : "could not be written to the end; free some space");
    flush(r);
    return 2;
}

static artel_status open_runner(artel__launch *launch, const artel__launch_run_options *o, runner *r)
{
    size_t tasks = (size_t)launch->tasks;
    *r = (runner){.launch = launch, .options = o, .control = o->control};
    r->job = (artel__launch_job){.members = launch->tasks,
                                 .restarts = o->restarts,
                                 .together = o->together,
                                 .verdicts = o->verdicts,
                                 .needed = o->needed,
                                 .served_to_begin = o->served_to_begin,
                                 .served_to_go_on = o->served_to_go_on};
    r->job.member = artel__arena_alloc(&launch->arena, tasks, sizeof *r->job.member);
    r->slot = artel__arena_alloc(&launch->arena, tasks, sizeof *r->slot);
    r->set = artel__arena_alloc(&launch->arena, 3 * tasks + 3, sizeof *r->set);
    r->owner = artel__arena_alloc(&launch->arena, 3 * tasks + 3, sizeof *r->owner);
    r->request = artel__arena_alloc(&launch->arena, tasks, sizeof *r->request);
    r->piece = artel__arena_alloc(&launch->arena, 1, PIECE);
    ARTEL_TRY(artel__arena_status(&launch->arena));
    for (int i = 0; i < launch->tasks; i++) {
        r->job.member[i].type = launch->task[i].task.type;
        r->slot[i].process = (artel__process){.watch = -1, .out = -1, .err = -1};
    }
    artel__launch_job_init(&r->job, artel__now_ns());
    artel__outlet_init(launch->ctx, o->out, o->colour[0], &r->out);
    artel__outlet_init(launch->ctx, o->err, o->colour[1], &r->err);
    return ARTEL_OK;
}

artel_status artel__launch_run(artel__launch *launch, const artel__launch_run_options *options, int *out_code)
{
    runner r;
    ARTEL_TRY(open_runner(launch, options, &r));
    artel_status status = run_tasks(&r);
    artel__launch_ask_fini(&r.inquiry);
    for (int i = 0; i < launch->tasks; i++) { /* after a failed start, or when told to leave */
        slot *s = &r.slot[i];
        if (s->process.pid == 0) continue;
        close_streams(s);
        if (r.left)
            artel__process_leave(&s->process);
        else
            artel__process_reap(&s->process, launch->guard.pid > 0 ? &launch->guard : NULL);
    }
    int code = status == ARTEL_OK ? conclude(&r) : 0;
    if (status == ARTEL_OK) *out_code = code;
    artel__outlet_fini(&r.out);
    artel__outlet_fini(&r.err);
    return status;
}
