/* SPDX-License-Identifier: Apache-2.0 */
/* artel devices: what of this machine could compute: its processors, and the devices of PJRT plug-ins. */
#include <jansson.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "base/threads.h"
#include "cli/cli.h"
#include "device/plugin.h"

typedef struct devices_options {
    const char *plugin;
    bool json;
    int64_t test_devices;
} devices_options;

#define AT(field) offsetof(devices_options, field)
static const artel__option options[] = {
    {"plugin", "a plug-in's file, and no other; else those that are found", ARTEL__OPTION_STRING, AT(plugin), "null", 0,
     0, NULL},
    {"test-devices", "how many devices XLA's plug-in for the CPU pretends to have, in runs 8; 0: its default",
     ARTEL__OPTION_INT, AT(test_devices), "8", 0, 64, NULL},
    {"json", "one JSON object on stdout", ARTEL__OPTION_BOOL, AT(json), "false", 0, 0, NULL},
    {.name = NULL},
};

/* What was found, or went wrong, with one plug-in. */
typedef struct answer {
    artel__plugin_facts facts;
    artel_error error; /* status 0: none */
} answer;

static void ask_all(artel__invocation *call, const artel__plugin_list *list, answer *out)
{
    const devices_options *o = call->options;
    artel__client_options client = {.virtual_devices = (int)o->test_devices};
    for (int i = 0; i < list->count; i++) {
        out[i].error.status = ARTEL_OK;
        if (artel__plugin_ask(&call->arena, &list->item[i], &client, &out[i].facts) == ARTEL_OK) continue;
        out[i].error = *artel_context_error(call->ctx);
        artel__operation_begin(call->ctx);
    }
}

static void print_memory(int64_t bytes)
{
    if (bytes < 0)
        artel__show(stdout, "%10s", "-");
    else
        artel__show(stdout, "%7.1f GB", (double)bytes * 1e-9);
}

static void print_table(const artel__invocation *call, const artel__plugin_list *list, const answer *a)
{
    artel__show(stdout, "%-10s %10s  %s\n", "device", "memory", "what it is");
    artel__show(stdout, "%-10s %10s  %d core%s, %s\n", "cpu", "-", artel__usable_cores(),
                artel__usable_cores() == 1 ? "" : "s", artel__isa_name(artel__context_isa(call->ctx)));
    for (int i = 0; i < list->count; i++) {
        for (int k = 0; k < a[i].facts.devices && a[i].error.status == ARTEL_OK; k++) {
            const artel__device_facts *d = &a[i].facts.device[k];
            artel__show(stdout, "%-10s ", d->id);
            print_memory(d->memory);
            artel__show(stdout, "  %s, by %s (PJRT %d.%d)\n", d->name, list->item[i].path, a[i].facts.major,
                        a[i].facts.minor);
        }
    }
    for (int i = 0; i < list->count; i++) {
        if (a[i].error.status == ARTEL_OK) continue;
        artel__show(stderr, "artel: note: %s: %s; %s\n", list->item[i].path, a[i].error.what, a[i].error.advice);
    }
    if (list->count) return;
    artel__show(stderr,
                "artel: note: no PJRT plug-in was found (looked in %s); for NVIDIA: pip install --target "
                "~/.local/share/artel/pjrt "
                "jax-cuda12-pjrt 'nvidia-cudnn-cu12>=9.8,<10' nvidia-cublas-cu12 nvidia-cuda-runtime-cu12 "
                "nvidia-cuda-cupti-cu12; or "
                "--plugin FILE\n",
                list->looked);
}

/* NULL: no memory. */
static json_t *plugin_object(const artel__plugin *plugin, const answer *a)
{
    json_t *devices = json_array();
    bool whole = devices != NULL;
    for (int k = 0; k < a->facts.devices && a->error.status == ARTEL_OK; k++) {
        const artel__device_facts *d = &a->facts.device[k];
        json_t *memory = d->memory < 0 ? json_null() : json_integer(d->memory);
        whole = whole && json_array_append_new(devices, json_pack("{s:s, s:s, s:o}", "id", d->id, "name", d->name,
                                                                  "memory_bytes", memory)) == 0;
    }
    json_t *more = a->error.status < 0 ? json_pack("{s:s, s:s}", "what", a->error.what, "advice", a->error.advice)
                                       : json_sprintf("%d.%d", a->facts.major, a->facts.minor);
    json_t *object = json_pack("{s:s, s:s, s:o, s:o}", "path", plugin->path, "kind", plugin->kind, "devices", devices,
                               a->error.status < 0 ? "error" : "api", more);
    if (whole) return object;
    json_decref(object);
    return NULL;
}

static artel_status print_json(artel__invocation *call, const artel__plugin_list *list, const answer *a)
{
    json_t *plugins = json_array();
    bool whole = plugins != NULL;
    for (int i = 0; i < list->count; i++)
        whole = whole && json_array_append_new(plugins, plugin_object(&list->item[i], &a[i])) == 0;
    json_t *root = json_pack("{s:{s:i, s:s}, s:o}", "cpu", "cores", artel__usable_cores(), "instruction_set",
                             artel__isa_name(artel__context_isa(call->ctx)), "plugins", plugins);
    artel__text text;
    artel__text_init(&text, call->ctx);
    artel_status status =
        root && whole ? artel__json_dump(root, ARTEL__JSON_UTF8, &text) : artel__fail_memory(call->ctx, "devices", 0);
    if (status == ARTEL_OK) artel__show(stdout, "%s\n", text.data);
    artel__text_fini(&text);
    json_decref(root);
    return status;
}

static artel_status run_devices(artel__invocation *call)
{
    const devices_options *o = call->options;
    artel__plugin_list list;
    ARTEL_TRY(artel__device_settings_check(call->ctx));
    ARTEL_TRY(artel__plugins_find(&call->arena, o->plugin, &list));
    answer *a = artel__arena_alloc(&call->arena, (size_t)list.count + 1, sizeof *a);
    if (!a) return ARTEL_ERROR_NO_MEMORY;
    ask_all(call, &list, a);
    if (o->plugin && a[0].error.status < 0) /* who names one wants that one */
        return artel__fail(call->ctx, a[0].error.status, a[0].error.where, a[0].error.advice, "%s", a[0].error.what);
    if (o->json) return print_json(call, &list, a);
    print_table(call, &list, a);
    return ARTEL_OK;
}

const artel__command artel__command_devices = {
    .name = "devices",
    .summary = "processors, and the devices of PJRT plug-ins",
    .usage = "[--plugin FILE] [--json]",
    .more = "GPUs and TPUs are driven by plug-ins that speak PJRT, as JAX's packages bring them. Each is opened in a "
            "process of its own "
            "for at\n"
            "most ten seconds. See docs/devices.md.\n",
    .examples = "  artel devices\n"
                "  artel devices --plugin "
                "/opt/venv/lib/python3.11/site-packages/jax_plugins/xla_cuda12/xla_cuda_plugin.so --json\n",
    .options = options,
    .options_size = sizeof(devices_options),
    .run = run_devices,
};
