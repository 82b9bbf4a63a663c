/* SPDX-License-Identifier: Apache-2.0 */
/* What a session is made of, as other files of this room ask for it. Nothing here makes or changes a session but the
 * flag that ends its runs. */
#include "base/hash.h"
#include "train/left.h"
#include "train/session_impl.h"

void artel__session_broadcast(artel__session *session)
{
    for (int r = 1; r < session->replicas && !session->common; r++)
        artel__session_copy_drawn(session, session->replica[r].state, session->replica[0].state,
                                  session->variables.count);
}

const artel__objective *artel__session_objective(const artel__session *session, artel__mode mode)
{
    return session->mode[mode].objective;
}

const artel__executable *artel__session_plan(const artel__session *session, artel__mode mode)
{
    return session->mode[mode].plan;
}

int artel__session_nodes(const artel__session *session, artel__mode mode)
{
    int most = 0;
    for (int k = 0; k < artel__session_variants(session, mode); k++) {
        int nodes = artel__session_variant(session, mode, k)->objective->graph.nodes;
        most = nodes > most ? nodes : most;
    }
    return most;
}

bool artel__session_programs(const artel__session *session, char out[65])
{
    artel__sha256 all;
    int lengths = artel__session_variants(session, ARTEL__MODE_TRAIN);
    artel__sha256_init(&all);
    for (int k = 0; k < lengths; k++) {
        const artel__executable *plan = artel__session_variant(session, ARTEL__MODE_TRAIN, k)->plan;
        if (!plan || session->mixed_tasks || !artel__executable_programs(plan, out)) return false;
        artel__sha256_update(&all, out, 64);
    }
    if (lengths > 1) artel__sha256_hex(&all, out);
    return true;
}

void artel__session_summary(const artel__session *session, artel__mode mode, artel__text *out)
{
    for (int k = 0; k < artel__session_variants(session, mode); k++)
        artel__executable_summary(artel__session_variant(session, mode, k)->plan, out);
}

bool artel__session_program_counts(const artel__session *session, int *compiled, int *found)
{
    artel__program_counts counts;
    if (!session->devices) return false;
    artel__program_counts_read(session->devices->platform, &counts);
    *compiled = counts.compiled;
    *found = counts.found;
    return true;
}

artel__state *artel__session_state(artel__session *session)
{
    return session->replica[0].state;
}

const artel__optimizer_slots *artel__session_slots(const artel__session *session)
{
    return &session->slots;
}

bool artel__session_is_cache(const artel__session *session)
{
    return session->options.cache;
}

const artel__model *artel__session_network(const artel__session *session)
{
    return session->options.model->nn;
}

const artel__optimizer *artel__session_optimizer(const artel__session *session)
{
    return &session->options.settings->optimizer;
}

void *artel__session_kept_in(artel__session *session, artel__mode mode, int n)
{
    return (void *)(uintptr_t)artel__execution_read(session->replica[0].mode[mode].run, n);
}

void *artel__session_kept(artel__session *session, int n)
{
    return artel__session_kept_in(session, ARTEL__MODE_TRAIN, n);
}

void artel__session_hold_rows(artel__session *session, const artel__held_rows *held)
{
    session->held = held;
}

void artel__session_stop_when(artel__session *session, const atomic_bool *stop)
{
    for (int r = 0; r < session->replicas; r++) {
        for (int m = 0; m < ARTEL__MODE_COUNT; m++) {
            if (session->replica[r].mode[m].run) artel__execution_stop_when(session->replica[r].mode[m].run, stop);
            for (int k = 0; k < session->buckets[m].count; k++) {
                artel__execution *run = session->replica[r].bucket[m][k].run;
                if (run) artel__execution_stop_when(run, stop);
            }
        }
    }
}

int64_t artel__session_iteration(const artel__session *session)
{
    return session->iteration;
}

const char *artel__session_strategy(const artel__session *session)
{
    return session->strategy.name;
}

int artel__session_replicas(const artel__session *session)
{
    return session->replicas;
}

int artel__session_ranks(const artel__session *session)
{
    return session->ranks;
}

artel_cluster *artel__session_cluster(const artel__session *session)
{
    return session->cluster;
}

int artel__session_threads(const artel__session *session)
{
    return session->strategy.threads;
}

const char *artel__session_all_reduce(const artel__session *session)
{
    return session->strategy.all_reduce ? session->strategy.all_reduce->name : "auto";
}

int32_t artel__session_shards(const artel__session *session)
{
    return session->options.shards;
}

artel_status artel__session_profile(artel__session *session)
{
    for (int i = 0; i < session->replicas; i++) {
        artel__prefetch *prefetch = session->replica[i].mode[ARTEL__MODE_TRAIN].prefetch;
        if (prefetch) artel__prefetch_count(prefetch);
    }
    for (int k = 0; k < session->buckets[ARTEL__MODE_TRAIN].count; k++) {
        artel__execution *run = session->replica[0].bucket[ARTEL__MODE_TRAIN][k].run; /* NULL: it is chosen */
        if (run) ARTEL_TRY(artel__execution_profile(run));
    }
    return artel__execution_profile(session->replica[0].mode[ARTEL__MODE_TRAIN].run);
}

const artel__node_time *artel__session_times(const artel__session *session, int64_t *rows)
{
    *rows = session->replica[0].fold.rows;
    return artel__execution_times(session->replica[0].mode[ARTEL__MODE_TRAIN].run);
}

int64_t artel__session_input_time(const artel__session *session, int64_t *begin_ns, bool *ahead)
{
    const artel__replica *replica = &session->replica[0];
    *begin_ns = replica->fetch_begin_ns;
    *ahead = replica->mode[ARTEL__MODE_TRAIN].prefetch || replica->mode[ARTEL__MODE_TRAIN].most_nexts;
    return replica->fetch_ns;
}

int64_t artel__session_reading_time(artel__session *session)
{
    int64_t spent = 0;
    for (int i = 0; i < session->replicas; i++) {
        artel__prefetch *prefetch = session->replica[i].mode[ARTEL__MODE_TRAIN].prefetch;
        if (prefetch) spent += artel__prefetch_spent(prefetch);
    }
    return spent;
}

int32_t artel__session_first_shard(const artel__session *session, int rank)
{
    const int32_t *start = artel__session_runs(session);
    return start ? start[rank] : artel__replica_first_shard(session->options.shards, session->ranks, rank);
}

const int32_t *artel__session_runs(const artel__session *session)
{
    bool own = session->devices && session->devices->mixture.count && !session->cluster;
    return own ? session->devices->mixture.start : NULL;
}
