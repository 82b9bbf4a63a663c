/* SPDX-License-Identifier: Apache-2.0 */
/* What --device auto takes: devices whose files are here and whose plug-in was found, else the cores. Nothing is opened
 * for it. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/plugin.h"

typedef struct device_file {
    const char *kind, *file; /* below /dev */
    const char *packages;    /* what has its plug-in; NULL: the file may also be that of something else */
} device_file;

static const device_file files[] = {
    {"cuda", "nvidia0", "jax-cuda12-pjrt and NVIDIA's libraries (docs/devices.md)"},
    {"rocm", "kfd", "jax-rocm7-pjrt"},
    {"tpu", "accel0", "libtpu"},
    {"tpu", "vfio/0", NULL},
};

static bool is_here(const device_file *f, char *path, size_t size)
{
    const char *folder = getenv("ARTEL_DEVICE_FILES");
    snprintf(path, size, "%s/%s", folder && folder[0] ? folder : "/dev", f->file);
    return access(path, F_OK) == 0;
}

static bool has_plugin(const artel__plugin_list *list, const char *kind)
{
    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->item[i].kind, kind) == 0) return true;
    }
    return false;
}

artel_status artel__device_auto(artel_context *ctx, const char *named, bool tell, const char **out)
{
    char path[PATH_MAX];
    artel__arena arena;
    artel__plugin_list list = {.item = NULL};
    const device_file *lacking = NULL;
    *out = "";
    artel__arena_init(&arena, ctx);
    artel_status status = ARTEL_OK;
    bool searched = false;
    for (size_t i = 0; i < ARTEL__COUNT(files) && status == ARTEL_OK && !(*out)[0]; i++) {
        if (!is_here(&files[i], path, sizeof path)) continue;
        if (!searched) status = artel__plugins_find(&arena, named, &list);
        searched = true;
        if (status == ARTEL_OK && has_plugin(&list, files[i].kind))
            *out = files[i].kind;
        else if (!lacking && files[i].packages)
            lacking = &files[i];
    }
    if (status == ARTEL_OK && tell && lacking && !(*out)[0] && is_here(lacking, path, sizeof path))
        artel__log(ctx, ARTEL_LOG_NOTE,
                   "%s is here, and no plug-in for it: pip install --target ~/.local/share/artel/pjrt %s; the "
                   "processors compute",
                   path, lacking->packages);
    artel__arena_fini(&arena);
    return status;
}
