/* SPDX-License-Identifier: Apache-2.0 */
#include "help_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const artel__plugin *device_cpu(artel__arena *arena)
{
    artel__plugin_list list;
    const char *kind = getenv("ARTEL_TEST_DEVICE"); /* by hand, where there is one: "cuda" */
    setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0);         /* what XLA has to say is in the errors too */
    if (artel__plugins_find(arena, NULL, &list) < 0) return NULL;
    for (int i = 0; i < list.count; i++) {
        if (strcmp(list.item[i].kind, kind ? kind : "cpu") == 0) return &list.item[i];
    }
    if (kind)
        printf("skipped: no plug-in for %s\n", kind);
    else
        printf("skipped: no lammps-jax-pjrt-cpu (tests/requirements.txt)\n");
    return NULL;
}

int device_open(int virtual_devices, artel_context **ctx, artel__arena *arena, artel__platform **out)
{
    if (artel_context_create(NULL, ctx) < 0) return 1;
    artel__arena_init(arena, *ctx);
    const artel__plugin *plugin = device_cpu(arena);
    int code = plugin ? 1 : 77;
    artel__client_options options = {.virtual_devices = virtual_devices};
    if (plugin && artel__platform_open(*ctx, plugin, &options, out) == ARTEL_OK) return 0;
    if (plugin) fprintf(stderr, "%s: %s\n", artel_context_error(*ctx)->where, artel_context_error(*ctx)->what);
    artel__arena_fini(arena);
    artel_context_destroy(*ctx);
    return code;
}

void device_close(artel_context *ctx, artel__arena *arena, artel__platform *platform)
{
    artel__platform_close(platform);
    artel__arena_fini(arena);
    artel_context_destroy(ctx);
}
