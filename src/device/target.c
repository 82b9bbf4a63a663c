/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling for devices that are not here: whether the real compilers take a model's programs, and what they would
 * need.
 *
 * A plug-in makes a topology from a description: of a GPU its figures in protobuf's text form, of TPUs a name. What it
 * compiles is good for nothing else; of a GPU, kernels that are measured are left open.
 */
#include <string.h>

#include "device/platform_impl.h"

typedef struct known_target {
    const char *name, *kind, *facts; /* facts NULL: the name says all */
} known_target;

static const known_target targets[] = {
    {"h100", "cuda",
     "gpu_device_info { threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152 "
     "shared_memory_per_core: 233472 "
     "threads_per_core_limit: 2048 core_count: 132 fpus_per_core: 128 block_dim_limit_x: 2147483647 block_dim_limit_y: "
     "65535 "
     "block_dim_limit_z: 65535 memory_bandwidth: 3352320000000 l2_cache_size: 52428800 clock_rate_ghz: 1.98 "
     "device_memory_size: 84942979072 shared_memory_per_block_optin: 232448 cuda_compute_capability { major: 9 "
     "feature_extension: ACCELERATED_FEATURES } registers_per_core_limit: 65536 registers_per_block_limit: 65536 } "
     "platform_name: \"CUDA\" dnn_version_info { major: 9 minor: 10 patch: 0 } runtime_version { major: 12 minor: 9 "
     "patch: 0 } "
     "device_description_str: \"NVIDIA H100 80GB HBM3\""},
};

static PJRT_NamedValue text_option(const char *name, const char *value)
{
    return (PJRT_NamedValue){.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                             .name = name,
                             .name_size = strlen(name),
                             .type = PJRT_NamedValue_kString,
                             .string_value = value,
                             .value_size = strlen(value)};
}

static const known_target *find(const char *name, const char *kind)
{
    for (size_t i = 0; i < ARTEL__COUNT(targets); i++) {
        if (strcmp(targets[i].name, name) == 0 && strcmp(targets[i].kind, kind) == 0) return &targets[i];
    }
    return NULL;
}

static artel_status describe(artel__platform *p, const char *name)
{
    p->facts = (artel__plugin_facts){.major = p->api->pjrt_api_version.major_version,
                                     .minor = p->api->pjrt_api_version.minor_version,
                                     .platform = p->plugin.kind,
                                     .version = "",
                                     .devices = 1};
    p->facts.device = artel__arena_alloc(&p->arena, 1, sizeof *p->facts.device);
    ARTEL_TRY(artel__arena_status(&p->arena));
    p->facts.device[0] = (artel__device_facts){.id = artel__arena_printf(&p->arena, "%s:0", p->plugin.kind),
                                               .name = artel__arena_printf(&p->arena, "%s, not here", name),
                                               .memory = -1};
    p->devices = 1;
    return artel__arena_status(&p->arena);
}

static artel_status open_target(artel__platform *p, const artel__plugin *plugin, const char *name)
{
    artel__pjrt_error error;
    const known_target *known = find(name, plugin->kind);
    p->plugin =
        (artel__plugin){artel__arena_strdup(&p->arena, plugin->kind), artel__arena_strdup(&p->arena, plugin->path)};
    ARTEL_TRY(artel__arena_status(&p->arena));
    if (!known && (strcmp(plugin->kind, "tpu") != 0 || !strchr(name, ':')))
        return artel__fail(p->ctx, ARTEL_ERROR_INVALID, "device target",
                           "use h100 with .device cuda, or a topology such as v5e:2x2 with .device tpu",
                           "\"%.60s\" is no target of a plug-in for %s", name, plugin->kind);
    p->api = artel__pjrt_load(plugin->path, &error);
    if (!p->api)
        return artel__fail(p->ctx, ARTEL_ERROR_UNSUPPORTED, plugin->path, "see artel devices",
                           "the plug-in cannot be used: %.400s", error.text);
    if (!ARTEL__PJRT_HAS(p->api, PJRT_TopologyDescription_Create) || !ARTEL__PJRT_HAS(p->api, PJRT_Compile))
        return artel__fail(p->ctx, ARTEL_ERROR_UNSUPPORTED, plugin->path, "update the plug-in",
                           "the plug-in compiles for its own devices alone");
    PJRT_NamedValue option[] = {text_option("target_config", known ? known->facts : ""),
                                text_option("topology", "1x1x8")};
    PJRT_TopologyDescription_Create_Args args = {.struct_size = PJRT_TopologyDescription_Create_Args_STRUCT_SIZE,
                                                 .topology_name = name,
                                                 .topology_name_size = strlen(name),
                                                 .create_options = known ? option : NULL,
                                                 .num_options = known ? ARTEL__COUNT(option) : 0};
    ARTEL_TRY(artel__platform_check(p, p->api->PJRT_TopologyDescription_Create(&args), name, "describe this device"));
    p->target = args.topology;
    ARTEL_TRY(describe(p, name));
    return artel__program_keep_init(p);
}

artel_status artel__platform_open_target(artel_context *ctx, const artel__plugin *plugin, const char *target,
                                         artel__platform **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__platform), "device", &block));
    artel__platform *p = block;
    p->ctx = ctx;
    artel__arena_init(&p->arena, ctx);
    pthread_mutex_init(&p->crowd.lock, NULL);
    artel_status status = open_target(p, plugin, target);
    if (status == ARTEL_OK)
        *out = p;
    else
        artel__platform_close(p);
    return status;
}
