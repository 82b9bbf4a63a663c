/* SPDX-License-Identifier: Apache-2.0 */
/* artel version: build, machine, what the defaults mean here. */
#include <string.h>

#include "base/text.h"
#include "base/threads.h"
#include "cli/cli.h"
#include "device/plugin.h"
#include "strategy/strategy.h"
#include "train/session.h"

/* By name: none is opened. */
static artel_status print_plugins(artel__invocation *call)
{
    artel__plugin_list list;
    artel__arena arena;
    artel__arena_init(&arena, call->ctx);
    artel_status status = artel__plugins_find(&arena, NULL, &list);
    for (int i = 0; i < list.count && status == ARTEL_OK; i++)
        artel__show(stdout, "--device %-11s %s%s (artel devices opens it)\n", list.item[i].kind, list.item[i].path,
                    strcmp(list.item[i].kind, "cpu") == 0 ? ", as cpu:xla" : "");
    if (status == ARTEL_OK && list.count == 0)
        printf("--device             cpu: no plug-in was found (docs/devices.md)\n");
    artel__arena_fini(&arena);
    return status;
}

static artel_status run_version(artel__invocation *call)
{
    artel__strategy_request request = {.shards = 8, .batch_size = 32};
    static const char *const strategies[] = {"auto", "mirrored"};
    artel__strategy_plan plan[2];
    for (int i = 0; i < 2; i++) ARTEL_TRY(artel__strategy_make_plan(call->ctx, strategies[i], &request, &plan[i]));
    printf("artel %s\n", ARTEL_VERSION);
    printf("compiler             %s\n", __VERSION__);
    printf("instruction set      %s (changes no bit; --isa caps it)\n", artel__isa_name(artel__context_isa(call->ctx)));
    printf("arithmetic class     artel-1 float32\n");
    bool amx = artel__isa_of_machine() == ARTEL__ISA_AMX;
    printf("--arithmetic         %s AMX (products of two bfloat16 operands)\n",
           amx ? "tiles: this machine has" : "chain: this machine has no");
    printf("--threads            %d, the cores allowed to this process\n", artel__usable_cores());
    for (int i = 0; i < 2; i++)
        printf("--strategy %-9s %s, %d replica%s, %d thread%s\n", strategies[i], plan[i].name, plan[i].replicas,
               plan[i].replicas == 1 ? "" : "s", plan[i].threads, plan[i].threads == 1 ? "" : "s");
    printf("--shards             %d for a batch of 32, %d for 512, %d for 8192\n", artel__default_shards(32),
           artel__default_shards(512), artel__default_shards(8192));
    return print_plugins(call);
}

const artel__command artel__command_version = {
    .name = "version",
    .summary = "build, instruction set, what the defaults mean on this machine",
    .usage = "[--help]",
    .examples = "  artel version\n",
    .run = run_version,
};
