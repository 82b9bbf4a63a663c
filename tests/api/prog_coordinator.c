/* SPDX-License-Identifier: Apache-2.0 */
/* A coordinator's promises, one after another, in one job (PS10-PS21): every task runs this program; the chief checks,
 * and ends with 1 after the first promise that is broken.
 *
 *   artel launch --chief -n 3 --ps 2 --restarts 9 --program prog_coordinator -- FOLDER CASES [OPTIMIZER [PARTITIONER
 * [COPIES]]]
 *
 * Tasks write their process numbers into the folder, so that the chief may kill them. */
#include <string.h>

#include "help_chief.h"
#include "help_promises.h"

static void open_coordinator(const char *cases)
{
    artel_coordinator_options o = ARTEL_COORDINATOR_OPTIONS_INIT;
    artel_coordinator *second;
    if (strchr(cases, '1')) o.in_flight = 1;
    if (strchr(cases, 'q')) o.queue = 3;
    if (strchr(cases, 'p') || strchr(cases, 'h')) o.patience = 1;
    if (strchr(cases, 'y') || strchr(cases, 'z')) o.start_delay = 1000;
    if (strchr(cases, 'z')) o.start_delay_most = 0.5;
    check(artel_coordinator_open(job.strategy, &o, &job.coordinator) == ARTEL_OK, "open");
    check(artel_coordinator_open(job.strategy, &o, &second) == ARTEL_ERROR_INVALID, "two coordinators");
    check(artel_coordinator_serve(job.strategy) == ARTEL_ERROR_INVALID, "the chief does not serve");
    check(artel_coordinator_go_back(job.coordinator) == ARTEL_ERROR_INVALID, "nothing was kept");
}

static void be_chief(const char *cases, const char *rule)
{
    float value;
    check(artel_variable_read(job.counter, &value, 1) == ARTEL_ERROR_INVALID, "no coordinator");
    promise_nothing_is_run_unscheduled();
    open_coordinator(cases);
    if (strchr(cases, 'r')) promise_runs_closures();
    if (strchr(cases, 'o')) promise_brings_outputs();
    if (strchr(cases, 'a')) promise_assigns();
    if (strchr(cases, 'e')) promise_raises_once();
    if (strchr(cases, 'd')) promise_drops_what_waits();
    if (strchr(cases, 'g')) promise_gives_data();
    if (strchr(cases, 'v')) promise_keeps_values_of_workers();
    if (strchr(cases, 'b')) promise_has_the_bits(rule, strchr(cases, 'j'));
    if (strchr(cases, 'j')) promise_loses_no_server(3);
    if (strchr(cases, 'K')) promise_loses_no_server(40);
    if (strchr(cases, 'D')) promise_takes_back_a_stale_server();
    if (strchr(cases, 'm')) promise_moves_rows(rule, strchr(cases, 'j'));
    if (strchr(cases, 'w')) promise_survives_workers();
    if (strchr(cases, 'k')) promise_survives_a_storm(60);
    if (strchr(cases, 's')) promise_survives_servers();
    if (strchr(cases, 'f')) promise_runs_where_it_is_scheduled();
    if (strchr(cases, 'l')) promise_keeps_nothing_void();
    if (strchr(cases, 't')) promise_keeps_all_or_nothing();
    if (strchr(cases, 'i')) promise_says_what_is_not_raised();
    if (strchr(cases, 'u')) promise_bears_a_pause();
    if (strchr(cases, 'y') || strchr(cases, 'z')) promise_begins_in_turn(strchr(cases, 'z'));
    if (strchr(cases, 'c')) promise_resumes();
    if (strchr(cases, 'C')) promise_hears_what_was_lost();
    if (strchr(cases, 'x')) { /* the chief is gone */
        chief_many(1);
        chief_join();
        printf("all promises kept: x\n");
        fflush(stdout);
        _Exit(0);
    }
    if (strchr(cases, 'h'))
        promise_outlasts_a_stuck_worker();
    else if (strchr(cases, 'p'))
        promise_gives_up_on_a_server();
    else if (strchr(cases, 'n'))
        promise_gives_up_on_all();
    else if (!strchr(cases, 'i'))
        chief_many(50); /* those that wait are dropped */
    if (!strchr(cases, 'n')) check(artel_coordinator_close(job.coordinator) == ARTEL_OK, "close");
    printf("all promises kept: %s\n", cases);
}

int main(int argc, char **argv)
{
    artel_context_options logged = ARTEL_CONTEXT_OPTIONS_INIT;
    artel_cluster_options co = ARTEL_CLUSTER_OPTIONS_INIT;
    artel_strategy_options so = ARTEL_STRATEGY_OPTIONS_INIT;
    const char *rule = argc > 3 ? argv[3] : "adam";
    logged.log = chief_say;
    if (argc > 2 && strchr(argv[2], 'm')) logged.log_level = ARTEL_LOG_DEBUG; /* what has travelled */
    if (argc < 3 || artel_context_create(&logged, &job.ctx) < 0) return 2;
    job.folder = argv[1];
    co.parameter_servers = true;
    if (strchr(argv[2], 'n')) co.wait_for_cluster = 0.5;
    if (strchr(argv[2], 'x')) co.wait_for_cluster = 20;
    if (strpbrk(argv[2], "tuyz")) co.suspect_after = 60; /* who is stopped is not lost */
    if (strchr(argv[2], 'D')) co.suspect_after = 2;
    if (strchr(argv[2], 'h')) {
        static char released[512];
        co.collective_timeout = 12;
        snprintf(released, sizeof released, "%s/released", job.folder);
        job.awaits = released;
    }
    check(artel_cluster_open(job.ctx, &co, &job.cluster) == ARTEL_OK, "cluster");
    chief_tell_process();
    so.strategy = "parameter-server";
    so.batch_size = COORDINATOR_BATCH;
    so.seed = 3;
    so.cluster = job.cluster;
    so.threads = 1;
    so.device = chief_device();
    if (argc > 4) so.ps_partitioner = argv[4];
    if (argc > 5) so.ps_copies = atoi(argv[5]);
    check(artel_strategy_create(job.ctx, &so, &job.strategy) == ARTEL_OK, "strategy");
    coordinator_declare(rule);
    if (strchr(argv[2], 'm')) promise_declares_rows(rule);
    artel_status status = ARTEL_OK;
    if (artel_cluster_writes(job.cluster))
        be_chief(argv[2], rule);
    else
        status = artel_coordinator_serve(job.strategy);
    check(status == ARTEL_OK, "serve");
    artel_strategy_destroy(job.strategy);
    artel_model_destroy(job.model);
    if (strchr(argv[2], 'm')) promise_forgets_rows();
    status = artel_cluster_finish(job.cluster, status);
    artel_cluster_close(job.cluster);
    artel_context_destroy(job.ctx);
    return status < 0;
}
