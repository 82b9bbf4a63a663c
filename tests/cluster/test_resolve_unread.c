/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers that nobody reads: one process of several is refused by name, where it can be told; else it is alone, and a
 * note says what was not read. */
#include "cluster/help_resolve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static const resolve_case unread[] = {
    {{"RANK=1", "WORLD_SIZE=4"}, "! RANK: one process of 4", {0}},
    {{"RANK=0", "WORLD_SIZE=1"}, "none 0/1 -", {0}},
    {{"RANK=3"}, "none 0/1 -", {0}}, /* of what is not said, and many a script has such a variable */
    {{"WORLD_SIZE=4"}, "none 0/1 -", {0}},
    {{"SM_CURRENT_HOST=algo-1", "SM_HOSTS=[\"algo-1\",\"algo-2\"]"}, "! SM_CURRENT_HOST: of 2 of SageMaker", {0}},
    {{"SM_CURRENT_HOST=algo-1", "SM_HOSTS=[\"algo-1\"]"}, "none 0/1 -", {0}},
    {{"MV2_COMM_WORLD_RANK=0", "MV2_COMM_WORLD_SIZE=2"}, "! MV2_COMM_WORLD_RANK: MVAPICH", {0}},
    {{"PMIX_RANK=0"}, "! PMIX_RANK: one process of PMIx", {0}},
    {{"PALS_RANKID=0"}, "! PALS_RANKID: PALS", {0}},
    {{"PALS_RANKID=0", "PALS_SIZE=1"}, "none 0/1 -", {0}},
    {{"FLUX_TASK_RANK=5", "FLUX_JOB_SIZE=8"}, "! FLUX_TASK_RANK: of 8 of Flux", {0}},
    {{"TPU_WORKER_ID=1", "TPU_WORKER_HOSTNAMES=10.0.0.1,10.0.0.2"}, "! TPU_WORKER_ID: of 2 of a TPU pod", {0}},
    {{"TPU_WORKER_ID=0", "TPU_WORKER_HOSTNAMES=localhost"}, "none 0/1 -", {0}},
    {{"FLUX_TASK_RANK=5", "FLUX_JOB_SIZE=8"}, "none 0/1 -", {.resolver = "none"}},
    {{"FLUX_TASK_RANK=0", "FLUX_JOB_SIZE=2", "TF_CONFIG={" TWO "," TASK("worker", "1") "}"}, "tf-config 1/2 b:1", {0}},
    {{"MV2_COMM_WORLD_RANK=1"}, "! MV2_COMM_WORLD_RANK: MVAPICH", {0}}, /* there is a number 0, too */
    {{"MV2_COMM_WORLD_RANK=0"}, "! MV2_COMM_WORLD_RANK: MVAPICH", {0}}, /* it always says how many */
    {{"FLUX_TASK_RANK=0"}, "! FLUX_TASK_RANK: Flux", {0}},
    {{"FLUX_TASK_RANK=0", "FLUX_JOB_SIZE=1"}, "none 0/1 -", {0}},
    {{"OMPI_COMM_WORLD_RANK=0"}, "! OMPI_COMM_WORLD_RANK: MPI", {0}},
    {{"PMI_RANK=0"}, "! PMI_RANK: MPI", {0}},
    {{"MVP_COMM_WORLD_RANK=1", "MVP_COMM_WORLD_SIZE=2"}, "! MVP_COMM_WORLD_RANK: of 2 of MVAPICH", {0}},
    {{"PET_NODE_RANK=1", "PET_NNODES=2"}, "! PET_NODE_RANK: of 2 of Kubeflow", {0}},
    {{"PET_NODE_RANK=0", "PET_NNODES=1"}, "none 0/1 -", {0}},
    {{"PROCESS_ID=1", "NUM_PROCESSES=2"}, "! PROCESS_ID: of 2 of a launcher of JAX", {0}},
    {{"PROCESS_ID=4711"}, "none 0/1 -", {0}},
    {{"LWS_WORKER_INDEX=0", "LWS_GROUP_SIZE=4"}, "! LWS_WORKER_INDEX: of 4 of a LeaderWorkerSet", {0}},
    {{"MEGASCALE_SLICE_ID=0", "MEGASCALE_NUM_SLICES=2"}, "! MEGASCALE_SLICE_ID: of 2 of slices", {0}},
    {{"TPU_WORKER_ID=0"}, "none 0/1 -", {0}},
    {{"TPU_WORKER_ID=3"}, "! TPU_WORKER_ID: one process of a TPU pod", {0}},
    {{"AWS_BATCH_JOB_NODE_INDEX=0", "AWS_BATCH_JOB_NUM_NODES=2"}, "! AWS_BATCH_JOB_NODE_INDEX: of 2 of AWS Batch", {0}},
    {{"AWS_BATCH_JOB_NODE_INDEX=0", "AWS_BATCH_JOB_NUM_NODES=1"}, "none 0/1 -", {0}},
    {{"VC_TASK_INDEX=1", "VC_WORKER_NUM=3"}, "! VC_TASK_INDEX: of 3 of Volcano", {0}},
    {{"PADDLE_TRAINER_ID=1", "PADDLE_TRAINERS_NUM=4"}, "! PADDLE_TRAINER_ID: of 4 of Paddle", {0}},
    {{"DMLC_WORKER_ID=2"}, "! DMLC_WORKER_ID: DMLC", {0}},
    {{"PMIX_RANK=0", OMPI("0", "1")}, "mpi 0/1 -", {0}},
    {{"JOB_COMPLETION_INDEX=0"}, "! JOB_COMPLETION_INDEX: one pod", {.together = true}},
    {{"JOB_COMPLETION_INDEX=0"}, "none 0/1 -", {.together = true, .resolver = "none"}},
};

static void test_unread(void **state)
{
    resolve_run(*state, unread, ARTEL__COUNT(unread));
}

/* -- notes -- */

static void keep_note(void *user, artel_log_level level, const char *message)
{
    assert_int_equal(level, ARTEL_LOG_NOTE);
    snprintf(user, 512, "%s", message);
}

static void test_notes(void **state)
{
    static const resolve_case noted[] = {
        {{"SLURM_JOB_ID=7", "SLURM_NTASKS=4", "SLURM_PROCID=0"}, "Slurm job of 4 tasks", {0}},
        {{"JOB_COMPLETION_INDEX=2"}, "indexed Job runs alone", {0}},
        {{"SLURM_JOB_ID=7", "SLURM_NTASKS=1", "SLURM_PROCID=0"}, "", {0}},
        {{"SLURM_NTASKS=4"}, "", {.resolver = "none"}},
        {{NULL}, "", {0}},
    };
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(noted); i++) {
        char note[512] = "", found[2048];
        artel_context *ctx;
        artel_context_options options = ARTEL_CONTEXT_OPTIONS_INIT;
        options.log = keep_note;
        options.log_user = note;
        assert_int_equal(artel_context_create(&options, &ctx), ARTEL_OK);
        resolve_answer(ctx, &noted[i], found, sizeof found);
        assert_string_equal(found, "none 0/1 -");
        if (noted[i].expected[0] ? !strstr(note, noted[i].expected) : note[0]) fail_msg("case %zu: %s", i, note);
        artel_context_destroy(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_unread, resolve_set_up, resolve_tear_down),
        cmocka_unit_test(test_notes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
