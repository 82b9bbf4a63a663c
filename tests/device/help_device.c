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
