/* SPDX-License-Identifier: Apache-2.0 */
/* artel version: build, machine, what the defaults mean here. */
#include "base/text.h"
#include "base/threads.h"
#include "cli/cli.h"
#include "strategy/strategy.h"
#include "train/session.h"

static artel_status run_version(artel__invocation *call)
{
    artel__strategy_request request = {0, 0, 8, 32};
    artel__strategy_plan plan;
    ARTEL_TRY(artel__strategy_make_plan(call->ctx, "auto", &request, &plan));
    printf("artel %s\n", ARTEL_VERSION);
    printf("compiler             %s\n", __VERSION__);
    printf("instruction set      %s (changes no bit; --isa caps it)\n", artel__isa_name(artel__context_isa(call->ctx)));
    printf("arithmetic class     artel-1 float32\n");
    printf("cores                %d\n", artel__usable_cores());
    printf("--strategy auto      %s, %d replica%s, %d thread%s\n", plan.name, plan.replicas, plan.replicas == 1 ? "" : "s", plan.threads,
           plan.threads == 1 ? "" : "s");
    printf("--shards             %d for a batch of 32, %d for 512, %d for 8192\n", artel__default_shards(32), artel__default_shards(512),
           artel__default_shards(8192));
    return ARTEL_OK;
}

const artel__command artel__command_version = {
    .name = "version",
    .summary = "build, instruction set, what the defaults mean on this machine",
    .usage = "[--help]",
    .examples = "  artel version\n",
    .run = run_version,
};
