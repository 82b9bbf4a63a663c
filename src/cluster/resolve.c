/* SPDX-License-Identifier: Apache-2.0 */
/* Which launcher started this process: the order of the resolvers, and what they share.
 *
 * The order goes from what was said on purpose to what happens to be in the environment: a file that was named,
 * TF_CONFIG, a Job with a service, torchrun, MPI, Slurm. A launcher inside another one (mpirun or torchrun in a Slurm
 * allocation) is the one that started this process, so it goes first; only when MPI counts the same tasks as the Slurm
 * step are they the same thing (srun --mpi), and then Slurm answers, for it names the hosts.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/resolver.h"

/* First match wins. MPI stands before Slurm and stands back by itself (resolve_mpi.c). */
static const artel__resolver *const resolvers[] = {
    &artel__resolver_file,     &artel__resolver_tf_config, &artel__resolver_kubernetes,
    &artel__resolver_torchrun, &artel__resolver_mpi,       &artel__resolver_slurm,
};

const char *const *artel__resolver_names(void)
{
    static const char *const names[] = {"auto", "file",  "tf-config", "kubernetes", "torchrun",
                                        "mpi",  "slurm", "none",      NULL};
    return names;
}

const char *artel__process_environment(void *user, const char *name)
{
    (void)user;
    return getenv(name);
}

/* -- what resolvers share -- */

static const char *look_up(artel__environment_fn *environment, void *user, const char *name)
{
    const char *value = environment(user, name);
    return value && value[0] ? value : NULL;
}

const char *artel__resolver_get(const artel__resolver_input *in, const char *name)
{
    return look_up(in->environment, in->user, name);
}

const char *artel__resolver_first(const artel__resolver_input *in, const char *const *names, const char **out_value)
{
    for (; *names; names++) {
        const char *value = artel__resolver_get(in, *names);
        if (!value) continue;
        *out_value = value;
        return *names;
    }
    *out_value = NULL;
    return NULL;
}

artel_status artel__resolver_int(const artel__resolver_input *in, const artel__resolver_number *wanted, int64_t *out)
{
    const char *text = artel__resolver_get(in, wanted->name);
    int64_t value;
    if (!text)
        return artel__fail(in->ctx, ARTEL_ERROR_INVALID, wanted->name,
                           "start the program with its launcher, or set .resolver none", "the variable is not set");
    if (!artel__parse_int64(text, &value) || value < wanted->least || value > wanted->most)
        return artel__fail(in->ctx, ARTEL_ERROR_INVALID, wanted->name, "the launcher sets it; do not change it",
                           "the value does not fit (found %.40s, expected a whole number from %lld to %lld)", text,
                           (long long)wanted->least, (long long)wanted->most);
    *out = value;
    return ARTEL_OK;
}

artel_status artel__resolver_set_given_task(artel__cluster *out, const char *text)
{
    artel__task task;
    if (!artel__task_parse(text, &task))
        return artel__fail(out->arena.ctx, ARTEL_ERROR_INVALID, ".task",
                           "write TYPE:INDEX; the types are chief, worker, ps, evaluator",
                           "this is no task (found %.60s, expected a form like worker:1)", text);
    artel__cluster_set_self(out, task.type, task.index);
    return ARTEL_OK;
}

artel_status artel__resolver_add_unknown(artel__cluster *out, int64_t rank, int64_t count)
{
    for (int64_t i = 0; i < count; i++) ARTEL_TRY(artel__cluster_add(out, ARTEL__TASK_WORKER, i, NULL));
    artel__cluster_set_self(out, ARTEL__TASK_WORKER, (int32_t)rank);
    return ARTEL_OK;
}

artel_status artel__resolver_set_rendezvous(artel__cluster *out, const char *from, const char *text, int port)
{
    artel_context *ctx = out->arena.ctx;
    artel__host_port address;
    const char *whole = text, *wrong;
    bool closed = text[0] == '[' && artel__ends_with(text, "]"),
         bare = closed || !strchr(text, ':') ||
                (text[0] != '[' && strchr(text, ':') != strrchr(text, ':') && !artel__starts_with(text, "grpc:"));
    if (bare && port > 0)
        whole = closed ? artel__arena_printf(&out->arena, "%s:%d", text, port)
                       : artel__host_port_format(&out->arena, text, port);
    ARTEL_TRY(artel__arena_status(&out->arena));
    wrong = artel__host_port_parse(whole, &address);
    if (wrong)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, from, "name the host of rank 0, and a port that is free there",
                           "this is no address: %s (found \"%.100s\")", wrong, text);
    out->rendezvous = artel__host_port_format(&out->arena, address.host, address.port);
    return artel__arena_status(&out->arena);
}

/* -- resolving -- */

static artel_status complete_number(artel__resolver_input *in, const char *name, int most, int *field)
{
    const artel__resolver_number wanted = {name, 1, most};
    int64_t value;
    const char *text = *field ? NULL : artel__resolver_get(in, name);
    if (!text || artel__starts_with(text, "tcp://")) return ARTEL_OK; /* Kubernetes' ARTEL_PORT of a service "artel" */
    ARTEL_TRY(artel__resolver_int(in, &wanted, &value));
    *field = (int)value;
    return ARTEL_OK;
}

/* Options that were not given come from the environment. The strings are copied: a lookup may reuse its buffer. */
static artel_status complete(artel__resolver_input *in, artel__arena *arena)
{
    artel__cluster_options *o = &in->options;
    const struct {
        const char *name;
        const char **field;
    } words[] = {
        {"ARTEL_RESOLVER", &o->resolver},     {"ARTEL_CLUSTER_FILE", &o->file}, {"ARTEL_TASK", &o->task},
        {"ARTEL_RENDEZVOUS", &o->rendezvous}, {"ARTEL_SERVICE", &o->service},
    };
    for (size_t i = 0; i < ARTEL__COUNT(words); i++) {
        const char *value = *words[i].field ? NULL : artel__resolver_get(in, words[i].name);
        if (value) *words[i].field = artel__arena_strdup(arena, value);
    }
    ARTEL_TRY(artel__arena_status(arena));
    ARTEL_TRY(complete_number(in, "ARTEL_WORKERS", ARTEL__CLUSTER_MAX_TASKS, &o->workers));
    ARTEL_TRY(complete_number(in, "ARTEL_PORT", 65535, &o->port));
    if (o->port == 0) o->port = ARTEL__CLUSTER_PORT;
    return ARTEL_OK;
}

static artel_status choose(const artel__resolver_input *in, const artel__resolver **out)
{
    const char *name = in->options.resolver ? in->options.resolver : "auto";
    bool automatic = strcmp(name, "auto") == 0;
    *out = NULL;
    if (strcmp(name, "none") == 0) return ARTEL_OK;
    for (size_t i = 0; i < ARTEL__COUNT(resolvers); i++) {
        bool chosen = automatic ? resolvers[i]->applies(in) : strcmp(resolvers[i]->name, name) == 0;
        if (!chosen) continue;
        *out = resolvers[i];
        return ARTEL_OK;
    }
    if (automatic) return ARTEL_OK;
    char advice[128] = "they are auto, file, tf-config, kubernetes, torchrun, mpi, slurm, none";
    const char *near = artel__nearest_name(name, artel__resolver_names());
    if (near) snprintf(advice, sizeof advice, "did you mean %s?", near);
    return artel__fail(in->ctx, ARTEL_ERROR_INVALID, ".resolver", advice, "there is no resolver %.40s", name);
}

/* Surroundings that look like a cluster and are none by the rules: said, so that nobody trains n times by mistake. The
 * pods of an indexed Job may well be runs that know nothing of one another, unless it was said that they train
 * together. */
static artel_status explain_alone(const artel__resolver_input *in)
{
    int64_t tasks = 0;
    const char *value = artel__resolver_get(in, "SLURM_NTASKS");
    if (value && artel__parse_int64(value, &tasks) && tasks > 1)
        artel__log(in->ctx, ARTEL_LOG_NOTE,
                   "this is a Slurm job of %lld tasks, but not one of them: it runs alone; start it with srun",
                   (long long)tasks);
    if (!artel__resolver_get(in, "JOB_COMPLETION_INDEX")) return ARTEL_OK;
    static const char *const advice = "set ARTEL_SERVICE and ARTEL_WORKERS to make the Job's pods one cluster";
    if (in->options.together)
        return artel__fail(
            in->ctx, ARTEL_ERROR_UNSUPPORTED, "JOB_COMPLETION_INDEX", advice,
            "this is one pod of an indexed Job, and nothing says who the others are: each would work alone");
    artel__log(in->ctx, ARTEL_LOG_NOTE, "this pod of an indexed Job runs alone; %s", advice);
    return ARTEL_OK;
}

static artel_status resolve_alone(const artel__resolver_input *in, artel__cluster *out)
{
    if (!in->options.resolver || strcmp(in->options.resolver, "none") != 0) {
        ARTEL_TRY(artel__resolver_refuse_unread(in));
        ARTEL_TRY(explain_alone(in));
    }
    ARTEL_TRY(artel__cluster_init(in->ctx, out, "none", "no launcher"));
    artel__cluster_set_self(out, ARTEL__TASK_WORKER, 0);
    return artel__cluster_add(out, ARTEL__TASK_WORKER, 0, NULL);
}

/* A launcher that leaves the task open; files and TF_CONFIG read --task themselves. */
static artel_status refuse_task(const artel__resolver_input *in, const artel__resolver *resolver)
{
    if (!in->options.task || resolver == &artel__resolver_file || resolver == &artel__resolver_tf_config)
        return ARTEL_OK;
    return artel__fail(
        in->ctx, ARTEL_ERROR_INVALID, ".task", "leave it out, or name the cluster in TF_CONFIG or with .file",
        resolver ? "the task is already known from %s" : "no cluster is described%s", resolver ? resolver->name : "");
}

artel_status artel__cluster_resolve(artel_context *ctx, artel__environment_fn *environment, void *user,
                                    const artel__cluster_options *options, artel__cluster *out)
{
    const artel__resolver *resolver = NULL;
    artel__resolver_input in = {.ctx = ctx, .environment = environment, .user = user};
    artel__cluster cluster = {.where = NULL};
    artel__arena arena;
    if (options) in.options = *options;
    artel__arena_init(&arena, ctx);
    artel_status status = complete(&in, &arena);
    if (status == ARTEL_OK) status = choose(&in, &resolver);
    if (status == ARTEL_OK) status = refuse_task(&in, resolver);
    if (status == ARTEL_OK) status = resolver ? resolver->resolve(&in, &cluster) : resolve_alone(&in, &cluster);
    if (status == ARTEL_OK) status = artel__cluster_seal(&cluster);
    artel__arena_fini(&arena);
    if (status < 0) {
        artel__cluster_fini(&cluster);
        return status;
    }
    *out = cluster;
    return ARTEL_OK;
}
