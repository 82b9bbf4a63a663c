/* SPDX-License-Identifier: Apache-2.0 */
/* Where plug-ins lie. Packages of PyPI put them at fixed places below site-packages; the folder of the user is what
 * `pip install --target ~/.local/share/artel/pjrt` fills, so it is laid out in the same way. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "device/plugin.h"

typedef struct known {
    const char *kind;
    const char *pattern; /* below site-packages; a folder whose name begins with what stands before '*' */
    const char *file;
} known;

static const known places[] = {
    {"cuda", "jax_plugins/xla_cuda*", "xla_cuda_plugin.so"},
    {"rocm", "jax_plugins/xla_rocm*", "xla_rocm_plugin.so"},
    {"oneapi", "jax_plugins/xla_oneapi*", "xla_oneapi_plugin.so"},
    {"tpu", "libtpu", "libtpu.so"},
    {"cpu", "lammps_jax_pjrt_cpu", "pjrt_c_api_cpu_plugin.so"},
    {"cpu", "fastatomstruct_xla_cpu", "libpjrt_cpu.so"},
    {"cpu", "xla_plugins/xla_cpu_pjrt", "xla_cpu_pjrt.so"},
};

typedef struct search {
    artel__arena *arena;
    artel__plugin_list *list;
    artel__text looked;
} search;

static const char *kind_of(const char *path)
{
    static const char *const kinds[] = {"cuda", "rocm", "oneapi", "tpu", "cpu"};
    const char *file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    for (size_t i = 0; i < ARTEL__COUNT(kinds); i++) {
        if (strstr(file, kinds[i])) return kinds[i];
    }
    return "?";
}

const char *artel__device_word(const char *kind)
{
    return strcmp(kind, "cpu") == 0 ? "cpu:xla" : kind;
}

const char *artel__plugin_source(const char *kind)
{
    if (strcmp(kind, "cpu") == 0) return "pip install lammps-jax-pjrt-cpu, or name a plug-in's file";
    if (strcmp(kind, "tpu") == 0)
        return "pip install --target ~/.local/share/artel/pjrt libtpu on the host of a TPU, or name a plug-in's file";
    if (strcmp(kind, "rocm") == 0)
        return "pip install --target ~/.local/share/artel/pjrt jax-rocm7-pjrt where ROCm is installed, or name a "
               "plug-in's file";
    if (strcmp(kind, "oneapi") == 0)
        return "pip install --target ~/.local/share/artel/pjrt jax-oneapi-pjrt where oneAPI is installed, or name a "
               "plug-in's file";
    return "pip install --target ~/.local/share/artel/pjrt jax-cuda12-pjrt and NVIDIA's libraries (docs/devices.md), "
           "or name a plug-in's file";
}

bool artel__device_is_card(const char *kind)
{
    return strcmp(kind, "cuda") == 0 || strcmp(kind, "rocm") == 0;
}

static artel_status add(search *s, const char *kind, const char *path)
{
    artel__plugin_list *list = s->list;
    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->item[i].path, path) == 0) return ARTEL_OK;
    }
    if (list->count == list->capacity) {
        int capacity = list->capacity ? 2 * list->capacity : 8;
        artel__plugin *wider = artel__arena_alloc(s->arena, (size_t)capacity, sizeof *wider);
        if (!wider) return ARTEL_ERROR_NO_MEMORY;
        if (list->count) memcpy(wider, list->item, (size_t)list->count * sizeof *wider);
        list->item = wider;
        list->capacity = capacity;
    }
    list->item[list->count++] = (artel__plugin){kind, artel__arena_strdup(s->arena, path)};
    return artel__arena_status(s->arena);
}

/* What was found and not named must be of nobody else: it is code. */
static artel_status try_file(search *s, const known *k, const char *folder)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", folder, k->file);
    if (length < 0 || (size_t)length >= sizeof path || access(path, R_OK) != 0) return ARTEL_OK;
    if (artel__may_trust(path, NULL)) return add(s, k->kind, path);
    artel__log(s->arena->ctx, ARTEL_LOG_WARNING,
               "%s is left out: others could have put it there; whoever trusts it names it", path);
    return ARTEL_OK;
}

/* One known place below a folder of packages. */
static artel_status try_place(search *s, const known *k, const char *packages)
{
    char folder[PATH_MAX];
    artel__paths names;
    const char *star = strchr(k->pattern, '*'), *slash = strrchr(k->pattern, '/');
    if (!star) {
        int length = snprintf(folder, sizeof folder, "%s/%s", packages, k->pattern);
        return length > 0 && (size_t)length < sizeof folder ? try_file(s, k, folder) : ARTEL_OK;
    }
    int length = snprintf(folder, sizeof folder, "%s/%.*s", packages, (int)(slash - k->pattern), k->pattern);
    if (length < 0 || (size_t)length >= sizeof folder || !artel__is_directory(folder)) return ARTEL_OK;
    ARTEL_TRY(artel__list_directory(s->arena->ctx, folder, &names));
    artel_status status = ARTEL_OK;
    for (size_t i = names.count; i-- > 0 && status == ARTEL_OK;) { /* of several versions the later first */
        char below[PATH_MAX];
        if (strncmp(names.items[i], slash + 1, (size_t)(star - slash - 1)) != 0) continue;
        length = snprintf(below, sizeof below, "%s/%s", folder, names.items[i]);
        if (length > 0 && (size_t)length < sizeof below) status = try_file(s, k, below);
    }
    artel__paths_fini(&names);
    return status;
}

static artel_status try_packages(search *s, const char *packages)
{
    if (!artel__is_directory(packages)) return ARTEL_OK;
    artel__text_printf(&s->looked, "%s%s", s->looked.length ? ", " : "", packages);
    for (size_t i = 0; i < ARTEL__COUNT(places); i++) ARTEL_TRY(try_place(s, &places[i], packages));
    return ARTEL_OK;
}

/* ROOT/lib/python3.X/BELOW for each X that is there. */
static artel_status try_pythons(search *s, const char *root, const char *below)
{
    char lib[PATH_MAX], packages[PATH_MAX];
    artel__paths names;
    int length = snprintf(lib, sizeof lib, "%s/lib", root);
    if (length < 0 || (size_t)length >= sizeof lib || !artel__is_directory(lib)) return ARTEL_OK;
    ARTEL_TRY(artel__list_directory(s->arena->ctx, lib, &names));
    artel_status status = ARTEL_OK;
    for (size_t i = 0; i < names.count && status == ARTEL_OK; i++) {
        if (strncmp(names.items[i], "python3", 7) != 0) continue;
        length = snprintf(packages, sizeof packages, "%s/%s/%s", lib, names.items[i], below);
        if (length > 0 && (size_t)length < sizeof packages) status = try_packages(s, packages);
    }
    artel__paths_fini(&names);
    return status;
}

static artel_status try_everywhere(search *s)
{
    char folder[PATH_MAX];
    const char *home = getenv("HOME"), *data = getenv("XDG_DATA_HOME"), *environment = getenv("VIRTUAL_ENV");
    bool moved = data && data[0], at_home = home && home[0];
    if (moved || at_home) {
        snprintf(folder, sizeof folder, "%s/%s", moved ? data : home, moved ? "artel/pjrt" : ".local/share/artel/pjrt");
        ARTEL_TRY(try_packages(s, folder));
    }
    if (environment && environment[0]) ARTEL_TRY(try_pythons(s, environment, "site-packages"));
    if (at_home) {
        snprintf(folder, sizeof folder, "%s/.local", home);
        ARTEL_TRY(try_pythons(s, folder, "site-packages"));
    }
    ARTEL_TRY(try_pythons(s, "/usr/local", "dist-packages"));
    ARTEL_TRY(try_pythons(s, "/usr/local", "site-packages"));
    return try_pythons(s, "/usr", "dist-packages");
}

/* A file that the user named, on the command line or in the environment. */
static artel_status add_named(search *s, const char *path, const char *by, const char *kind)
{
    char whole[PATH_MAX]; /* the loader searches elsewhere for names without a slash */
    if (access(path, R_OK) == 0 && realpath(path, whole)) return add(s, kind ? kind : kind_of(path), whole);
    return artel__fail(s->arena->ctx, ARTEL_ERROR_NOT_FOUND, path,
                       "name the plug-in's file, xla_cuda_plugin.so for example", "there is no such plug-in (%s)", by);
}

static artel_status find(search *s, const char *named)
{
    const char *plugin = getenv("ARTEL_PJRT_PLUGIN"), *tpu = getenv("TPU_LIBRARY_PATH");
    if (named) return add_named(s, named, "plugin", NULL);
    if (plugin && plugin[0]) return add_named(s, plugin, "ARTEL_PJRT_PLUGIN", NULL);
    if (tpu && tpu[0]) ARTEL_TRY(add_named(s, tpu, "TPU_LIBRARY_PATH", "tpu"));
    return try_everywhere(s);
}

artel_status artel__plugins_find(artel__arena *arena, const char *named, artel__plugin_list *out)
{
    search s = {.arena = arena, .list = out};
    *out = (artel__plugin_list){.item = NULL};
    artel__text_init(&s.looked, arena->ctx);
    artel_status status = find(&s, named);
    if (status == ARTEL_OK) status = artel__text_status(&s.looked);
    out->looked =
        status == ARTEL_OK ? artel__arena_strdup(arena, s.looked.length ? s.looked.data : "no folder of packages") : "";
    artel__text_fini(&s.looked);
    return status < 0 ? status : artel__arena_status(arena);
}
