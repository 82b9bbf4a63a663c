/* SPDX-License-Identifier: Apache-2.0 */
/* Reading names of devices and opening them. */
#include "device/select.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "device/platform_impl.h"

enum {
    MOST_NAMED = 64,
    XLA_DEVICES = 8 /* of XLA's CPU, always: it cuts long sums by their number */
};

/* What a request names. */
typedef struct wanted {
    char kind[16]; /* "" for the cores */
    int device[MOST_NAMED];
    int count; /* of those; 0: all of the kind */
    int names;
} wanted;

static artel_status refuse(artel_context *ctx, const char *name)
{
    return artel__fail(ctx, ARTEL_ERROR_INVALID, "device", "use cpu, gpu, cuda:0, rocm, oneapi, tpu, cpu:xla, or several: gpu:0,gpu:1",
                       "\"%.60s\" names no device", name);
}

/* One name of the list: "gpu", "cuda:1", "/job:worker/task:1/device:GPU:0". */
static artel_status read_one(artel_context *ctx, const char *text, size_t length, wanted *out)
{
    static const char *const kinds[] = {"gpu", "cuda", "rocm", "oneapi", "tpu"};
    char name[80], *colon;
    int64_t number = -1;
    if (length >= sizeof name) return refuse(ctx, text);
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    char *slash = strrchr(name, '/'), *bare = slash ? slash + 1 : name;
    if (strncasecmp(bare, "device:", 7) == 0) bare += 7;
    colon = strchr(bare, ':');
    if (colon) *colon = '\0';
    for (char *c = bare; *c; c++) *c = (char)tolower((unsigned char)*c);
    if (strcmp(bare, "cpu") == 0 && colon && strcmp(colon + 1, "xla") == 0) {
        snprintf(out->kind, sizeof out->kind, "cpu");
        return ARTEL_OK;
    }
    if (strcmp(bare, "cpu") == 0 || strcmp(bare, "auto") == 0) return ARTEL_OK;
    bool known = false;
    for (size_t i = 0; i < ARTEL__COUNT(kinds); i++) known = known || strcmp(bare, kinds[i]) == 0;
    if (!known || (colon && (!artel__parse_int64(colon + 1, &number) || number < 0 || number > 4095))) return refuse(ctx, text);
    if (out->kind[0] && strcmp(out->kind, bare) != 0) return refuse(ctx, text);
    snprintf(out->kind, sizeof out->kind, "%.15s", bare);
    if (number >= 0 && out->count == MOST_NAMED) return refuse(ctx, text);
    if (number >= 0) out->device[out->count++] = (int)number;
    return ARTEL_OK;
}

static artel_status read_names(artel_context *ctx, const char *text, wanted *out)
{
    *out = (wanted){.count = 0};
    while (text && *text) {
        size_t length = strcspn(text, ",");
        ARTEL_TRY(read_one(ctx, text, length, out));
        out->names++;
        text += length + (text[length] == ',');
    }
    if (out->names > 1 && out->count != out->names)
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, "device", "name one kind, or devices of one kind by number",
                           "processors and devices, or all devices and some, do not compute together");
    for (int i = 0; i < out->count; i++) {
        if (out->device[i] != out->device[0] + i)
            return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, "device", "name devices that follow one another",
                               "devices have to be in order");
    }
    return ARTEL_OK;
}

static bool is_of_kind(const char *kind, const char *wanted_kind)
{
    if (strcmp(wanted_kind, "gpu") == 0) return strcmp(kind, "cuda") == 0 || strcmp(kind, "rocm") == 0 || strcmp(kind, "oneapi") == 0;
    return strcmp(kind, wanted_kind) == 0;
}

static artel_status find_plugin(artel__device_set *set, const artel__device_request *request, const wanted *w, const artel__plugin **out)
{
    artel__plugin_list list;
    ARTEL_TRY(artel__plugins_find(&set->arena, request->plugin, &list));
    for (int i = 0; i < list.count; i++) {
        *out = &list.item[i];
        if (request->plugin || is_of_kind(list.item[i].kind, w->kind)) return ARTEL_OK;
    }
    return artel__fail(
        set->ctx, ARTEL_ERROR_NOT_FOUND, "device",
        strcmp(w->kind, "cpu") == 0
            ? "pip install lammps-jax-pjrt-cpu, or name a plug-in's file"
            : "pip install --target ~/.local/share/artel/pjrt jax-cuda12-pjrt and NVIDIA's libraries (docs/devices.md), or name "
              "a plug-in's file",
        "%s: no PJRT plug-in was found (looked in %.300s)", w->kind, list.looked);
}

/* Of the plug-in's version, which may be long, its hash. */
static artel_status describe(artel__device_set *set, const artel__device_facts *facts, const char *precision)
{
    const artel__plugin_facts *plugin = &set->platform->facts;
    const char *version = plugin->version ? plugin->version : "";
    artel__text text;
    artel__text_init(&text, set->ctx);
    artel__text_printf(&text, "pjrt %s, %s, plug-in %08llx, %s", plugin->platform ? plugin->platform : "?", facts->name,
                       (unsigned long long)(artel__hash64(version, strlen(version)) & 0xffffffff), precision ? precision : "float32");
    if (set->platform->measures) artel__text_append(&text, ", kernels measured");
    set->arithmetic = artel__arena_strdup(&set->arena, text.data);
    artel_status status = artel__text_status(&text);
    artel__text_fini(&text);
    return status < 0 ? status : artel__arena_status(&set->arena);
}

static artel_status open_set(artel__device_set *set, const artel__device_request *request, const wanted *w)
{
    const artel__plugin *plugin = NULL;
    int first = w->count ? w->device[0] : 0;
    ARTEL_TRY(find_plugin(set, request, w, &plugin));
    ARTEL_TRY(artel__platform_open(set->ctx, plugin, strcmp(plugin->kind, "cpu") == 0 ? XLA_DEVICES : 0, &set->platform));
    int all = set->platform->devices;
    set->count = w->count ? w->count : all;
    if (first + set->count > all || all == 0)
        return artel__fail(set->ctx, ARTEL_ERROR_NOT_FOUND, "device", "artel devices lists what there is", "%s has %d device%s", w->kind,
                           all, all == 1 ? "" : "s");
    const artel__device_facts *facts = &set->platform->facts.device[first];
    set->platform->measures = request->kernels && strcmp(request->kernels, "measured") == 0;
    ARTEL_TRY(describe(set, facts, request->precision));
    bool fast = request->precision && strcmp(request->precision, "float32") != 0;
    set->place = (artel__place){set->platform, first, set->count, fast ? "DEFAULT" : "HIGHEST", plugin->kind};
    set->device = (artel__device){.name = facts->id, .ops = &artel__pjrt_device_ops, .self = &set->place};
    return ARTEL_OK;
}

artel_status artel__devices_named(artel_context *ctx, const artel__device_request *request, bool *out)
{
    wanted w;
    ARTEL_TRY(read_names(ctx, request->device, &w));
    *out = w.kind[0] != '\0';
    return ARTEL_OK;
}

artel_status artel__devices_open(artel_context *ctx, const artel__device_request *request, artel__device_set **out)
{
    wanted w;
    void *block;
    *out = NULL;
    ARTEL_TRY(read_names(ctx, request->device, &w));
    if (request->precision && strcmp(request->precision, "float32") != 0 && strcmp(request->precision, "tf32") != 0)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "device precision", "use float32 or tf32", "\"%.40s\" is not a precision of products",
                           request->precision);
    if (request->kernels && strcmp(request->kernels, "fixed") != 0 && strcmp(request->kernels, "measured") != 0)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "device kernels", "use fixed or measured", "\"%.40s\" is no way to choose kernels",
                           request->kernels);
    if (!w.kind[0]) return ARTEL_OK;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__device_set), "device", &block));
    artel__device_set *set = block;
    set->ctx = ctx;
    artel__arena_init(&set->arena, ctx);
    artel_status status = open_set(set, request, &w);
    if (status == ARTEL_OK)
        *out = set;
    else
        artel__devices_close(set);
    return status;
}

void artel__devices_close(artel__device_set *set)
{
    if (!set) return;
    artel__platform_close(set->platform);
    artel__arena_fini(&set->arena);
    artel__free(set->ctx, set);
}
