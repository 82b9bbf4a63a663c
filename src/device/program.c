/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: compiled once for all devices of a platform, stored, loaded, launched.
 *
 * Options go as the bytes of a CompileOptionsProto: one replica, one partition, portable (a launch names its device),
 * or as many replicas as the program has, with their devices; and flags by name. Names of flags come and go between
 * plug-ins; one that a plug-in does not know is left out with a note. The flags are those without which a device's bits
 * would differ from launch to launch, and, where kernels are not measured, from one compilation to the next.
 */
#include <stdio.h>
#include <string.h>

#include "device/platform_impl.h"

/* -- options -- */

/* When a flag is given. Deterministic operations have XLA take the first kernel that will do, so where kernels are
 * measured only those are left out whose sums have no order of their own. */
typedef enum flag_use {
    ALWAYS,
    WHERE_FIXED,
    WHERE_MEASURED,
    WHERE_ORDERED
} flag_use;

typedef struct flag {
    const char *kind; /* of plug-in; "": all */
    const char *name;
    int field; /* of OptionOverrideProto: 2 bool, 3 int64 */
    int value;
    flag_use use;
} flag;

static const flag flags[] = {
    {"", "xla_allow_excess_precision", 2, 0, ALWAYS}, /* 16-bit roundings stay */
    {"cuda", "xla_gpu_deterministic_ops", 2, 1, WHERE_FIXED},
    {"cuda", "xla_gpu_autotune_level", 3, 0, WHERE_FIXED},
    {"cuda", "xla_gpu_exclude_nondeterministic_ops", 2, 1, WHERE_MEASURED},
    {"cuda", "xla_gpu_enable_triton_gemm", 2, 0, WHERE_ORDERED}, /* else it may have none that is left */
    {"rocm", "xla_gpu_deterministic_ops", 2, 1, WHERE_FIXED},
    {"rocm", "xla_gpu_autotune_level", 3, 0, WHERE_FIXED},
    {"rocm", "xla_gpu_exclude_nondeterministic_ops", 2, 1, WHERE_MEASURED},
    {"cpu", "xla_cpu_enable_fast_min_max", 2, 0, ALWAYS}, /* of a number and NaN it may take the number */
};

static void put_number(artel__text *out, uint64_t number)
{
    for (; number > 127; number >>= 7) artel__text_append_bytes(out, &(char){(char)(number | 128)}, 1);
    artel__text_append_bytes(out, &(char){(char)number}, 1);
}

/* Fields 1 to 15: all there are here. */
static void put_int(artel__text *out, int field, uint64_t number)
{
    put_number(out, (uint64_t)field << 3);
    put_number(out, number);
}

static void put_bytes(artel__text *out, int field, const void *bytes, size_t length)
{
    put_number(out, (uint64_t)field << 3 | 2);
    put_number(out, length);
    artel__text_append_bytes(out, bytes, length);
}

static void put_text(artel__text *out, int field, const artel__text *text)
{
    put_bytes(out, field, text->data, text->length);
}

/* Of the plug-in's own numbers, which are not those of its list. */
static uint64_t id_of(const artel__platform *p, int device)
{
    artel__pjrt_error ignored;
    PJRT_Device_GetDescription_Args get = {.struct_size = PJRT_Device_GetDescription_Args_STRUCT_SIZE,
                                           .device = p->target ? NULL : p->device[device]};
    PJRT_DeviceDescription_Id_Args id = {.struct_size = PJRT_DeviceDescription_Id_Args_STRUCT_SIZE};
    if (p->target || artel__pjrt_failed(p->api, p->api->PJRT_Device_GetDescription(&get), &ignored))
        return (uint64_t)device;
    id.device_description = get.device_description;
    return artel__pjrt_failed(p->api, p->api->PJRT_DeviceDescription_Id(&id), &ignored) ? (uint64_t)device
                                                                                        : (uint64_t)id.id;
}

/* ExecutableBuildOptionsProto: num_replicas 4, num_partitions 5, device_assignment 9 {replica_count 1,
 * computation_count 2, computation_devices 3 {replica_device_ids 1}}. */
static void put_build(artel__text *out, const artel__platform *p, const artel__program_source *source)
{
    artel__text build, assignment, devices;
    artel__text_init(&build, p->ctx);
    artel__text_init(&assignment, p->ctx);
    artel__text_init(&devices, p->ctx);
    put_int(&build, 4, source->device ? (uint64_t)source->replicas : 1);
    put_int(&build, 5, 1);
    for (int i = 0; source->device && i < source->replicas; i++) put_int(&devices, 1, id_of(p, source->device[i]));
    if (source->device) {
        put_int(&assignment, 1, (uint64_t)source->replicas);
        put_int(&assignment, 2, 1);
        put_text(&assignment, 3, &devices);
        put_text(&build, 9, &assignment);
    }
    put_text(out, 3, &build);
    artel__text_fini(&devices);
    artel__text_fini(&assignment);
    artel__text_fini(&build);
}

static bool applies(const flag *f, const char *kind)
{
    return !f->kind[0] || strcmp(f->kind, kind) == 0;
}

static bool is_used(const flag *f, const artel__platform *p)
{
    bool measured = p->measures || p->fast;
    return f->use == ALWAYS || (f->use == WHERE_FIXED && !measured) ||
           (f->use == WHERE_MEASURED && measured && !p->unordered) || (f->use == WHERE_ORDERED && !p->unordered);
}

void artel__program_options(const artel__platform *p, const artel__program_source *source, unsigned dropped,
                            artel__text *out)
{
    artel__text_clear(out);
    put_build(out, p, source);
    if (!source->device) put_int(out, 4, 1); /* compile_portable_executable */
    for (size_t i = 0; i < ARTEL__COUNT(flags); i++) {
        char entry[96];
        size_t length = strlen(flags[i].name);
        if (dropped >> i & 1 || !applies(&flags[i], p->plugin.kind) || !is_used(&flags[i], p)) continue;
        const char value[] = {2 << 3 | 2, 2, (char)(flags[i].field << 3), (char)flags[i].value};
        entry[0] = 1 << 3 | 2;
        entry[1] = (char)length;
        memcpy(entry + 2, flags[i].name, length);
        memcpy(entry + 2 + length, value, sizeof value);
        put_bytes(out, 7, entry, 2 + length + sizeof value);
    }
}

/* The flag of this kind of plug-in that a refusal is about; -1: none. */
static int refused_flag(const char *text, const char *kind)
{
    if (!strstr(text, "No such compile option")) return -1;
    for (size_t i = 0; i < ARTEL__COUNT(flags); i++) {
        if (applies(&flags[i], kind) && strstr(text, flags[i].name)) return (int)i;
    }
    return -1;
}

/* -- making -- */

/* Launches list devices in an order of the plug-in's own. */
static artel_status find_places(artel__program *g)
{
    const artel__platform *p = g->platform;
    PJRT_LoadedExecutable_AddressableDevices_Args list = {
        .struct_size = PJRT_LoadedExecutable_AddressableDevices_Args_STRUCT_SIZE, .executable = g->loaded};
    bool has = ARTEL__PJRT_HAS(p->api, PJRT_LoadedExecutable_AddressableDevices);
    if (has)
        ARTEL_TRY(artel__platform_check(g->platform, p->api->PJRT_LoadedExecutable_AddressableDevices(&list), g->name,
                                        "list a program's devices"));
    bool all = has && list.num_addressable_devices == (size_t)g->replicas;
    for (int i = 0; all && i < g->replicas; i++) {
        int r = 0;
        while (r < g->replicas && p->device[g->device[r]] != list.addressable_devices[i]) r++;
        g->place[i] = r;
        all = r < g->replicas;
        for (int k = 0; k < i; k++) all = all && g->place[k] != r; /* two on one device would overwrite each other */
    }
    if (all) return ARTEL_OK;
    return artel__fail(p->ctx, ARTEL_ERROR_UNSUPPORTED, g->name, "use one device",
                       "the plug-in does not run a program on the devices that it was compiled for");
}

static artel_status finish(artel__program *g)
{
    artel__platform *p = g->platform;
    PJRT_LoadedExecutable_GetExecutable_Args get = {.struct_size = PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE,
                                                    .loaded_executable = g->loaded};
    if (g->loaded) {
        ARTEL_TRY(
            artel__platform_check(p, p->api->PJRT_LoadedExecutable_GetExecutable(&get), g->name, "show a program"));
        g->executable = get.executable;
    }
    PJRT_Executable_NumOutputs_Args count = {.struct_size = PJRT_Executable_NumOutputs_Args_STRUCT_SIZE,
                                             .executable = g->executable};
    ARTEL_TRY(
        artel__platform_check(p, p->api->PJRT_Executable_NumOutputs(&count), g->name, "count a program's results"));
    g->results = (int)count.num_outputs;
    return g->device && g->loaded ? find_places(g) : ARTEL_OK;
}

/* The block has behind the program its devices, their order, and its name. */
static artel_status create(artel__platform *platform, const artel__program_source *source, artel__program **out)
{
    void *block;
    size_t length = strlen(source->name) + 1, devices = source->device ? (size_t)source->replicas : 0;
    ARTEL_TRY(artel__calloc(platform->ctx, 1, sizeof(artel__program) + 2 * devices * sizeof(int) + length, source->name,
                            &block));
    artel__program *g = block;
    int *device = (int *)(g + 1);
    if (devices) {
        g->device = memcpy(device, source->device, devices * sizeof(int));
        g->place = device + devices;
        g->replicas = source->replicas;
    }
    g->name = memcpy(device + 2 * devices, source->name, length);
    g->platform = platform;
    artel__text_init(&g->bytes, platform->ctx);
    *out = g;
    return ARTEL_OK;
}

static artel_status compile(artel__program *g, const artel__program_source *source, artel__text *options)
{
    artel__platform *p = g->platform;
    PJRT_Program program = {
        .struct_size = PJRT_Program_STRUCT_SIZE, .code_size = source->length, .format = "mlir", .format_size = 4};
    memcpy(&program.code, &source->text, sizeof program.code); /* it is not written to */
    for (unsigned dropped = 0;;) {
        artel__pjrt_error said;
        artel__program_options(p, source, dropped, options);
        ARTEL_TRY(artel__text_status(options));
        PJRT_Client_Compile_Args args = {.struct_size = PJRT_Client_Compile_Args_STRUCT_SIZE,
                                         .client = p->client,
                                         .program = &program,
                                         .compile_options = options->data,
                                         .compile_options_size = options->length};
        PJRT_Error *error = p->target ? artel__target_compile(p, &program, options, &g->executable)
                                      : p->api->PJRT_Client_Compile(&args);
        if (!error) {
            g->loaded = args.executable;
            return finish(g);
        }
        artel__pjrt_failed(p->api, error, &said);
        int lost = refused_flag(said.text, p->plugin.kind);
        if (said.code == PJRT_Error_Code_INTERNAL || said.code == PJRT_Error_Code_UNKNOWN)
            said.code = PJRT_Error_Code_INVALID_ARGUMENT; /* compilers refuse programs so, too */
        if (lost < 0 || dropped >> lost & 1) return artel__platform_failed(p, &said, g->name, "compile the program");
        artel__log(p->ctx, ARTEL_LOG_WARNING, "%s does not know %s: left out", p->plugin.path, flags[lost].name);
        dropped |= 1u << lost;
    }
}

artel_status artel__program_compile(artel__platform *platform, const artel__program_source *source,
                                    artel__program **out)
{
    artel__program *g;
    artel__text options;
    ARTEL_TRY(create(platform, source, &g));
    artel__text_init(&options, platform->ctx);
    artel_status status = compile(g, source, &options);
    artel__text_fini(&options);
    if (status == ARTEL_OK)
        *out = g;
    else
        artel__program_release(g);
    return status;
}

artel_status artel__program_store(artel__program *program, artel__text *out)
{
    artel__platform *p = program->platform;
    PJRT_Executable_Serialize_Args args = {.struct_size = PJRT_Executable_Serialize_Args_STRUCT_SIZE,
                                           .executable = program->executable};
    if (!ARTEL__PJRT_HAS(p->api, PJRT_Executable_Serialize))
        return artel__fail(p->ctx, ARTEL_ERROR_UNSUPPORTED, program->name, "update the plug-in",
                           "the plug-in cannot store programs");
    ARTEL_TRY(artel__platform_check(p, p->api->PJRT_Executable_Serialize(&args), program->name, "store a program"));
    artel__text_append_bytes(out, args.serialized_bytes, args.serialized_bytes_size);
    args.serialized_executable_deleter(args.serialized_executable);
    return artel__text_status(out);
}

artel_status artel__program_adopt(artel__platform *platform, const artel__program_source *source,
                                  PJRT_LoadedExecutable *loaded, artel__program **out)
{
    artel__program *g;
    artel_status status = create(platform, source, &g);
    if (status < 0) {
        PJRT_LoadedExecutable_Destroy_Args destroy = {.struct_size = PJRT_LoadedExecutable_Destroy_Args_STRUCT_SIZE,
                                                      .executable = loaded};
        artel__pjrt_error ignored;
        artel__pjrt_failed(platform->api, platform->api->PJRT_LoadedExecutable_Destroy(&destroy), &ignored);
        return status;
    }
    g->loaded = loaded;
    status = finish(g);
    if (status == ARTEL_OK)
        *out = g;
    else
        artel__program_release(g);
    return status;
}

artel_status artel__program_load(artel__platform *p, const char *name, const void *bytes, size_t length,
                                 artel__program **out)
{
    PJRT_Executable_DeserializeAndLoad_Args args = {.struct_size = PJRT_Executable_DeserializeAndLoad_Args_STRUCT_SIZE,
                                                    .client = p->client,
                                                    .serialized_executable = bytes,
                                                    .serialized_executable_size = length};
    if (!ARTEL__PJRT_HAS(p->api, PJRT_Executable_DeserializeAndLoad))
        return artel__fail(p->ctx, ARTEL_ERROR_UNSUPPORTED, name, "use .device_kernels fixed",
                           "the plug-in cannot load stored programs");
    ARTEL_TRY(
        artel__platform_check(p, p->api->PJRT_Executable_DeserializeAndLoad(&args), name, "load a stored program"));
    return artel__program_adopt(p, &(artel__program_source){.name = name}, args.loaded_executable, out);
}

void artel__program_release(artel__program *program)
{
    if (!program) return;
    const PJRT_Api *api = program->platform->api;
    artel__pjrt_error ignored;
    PJRT_Executable_Destroy_Args executable = {.struct_size = PJRT_Executable_Destroy_Args_STRUCT_SIZE,
                                               .executable = program->executable};
    PJRT_LoadedExecutable_Destroy_Args loaded = {.struct_size = PJRT_LoadedExecutable_Destroy_Args_STRUCT_SIZE,
                                                 .executable = program->loaded};
    if (program->executable) artel__pjrt_failed(api, api->PJRT_Executable_Destroy(&executable), &ignored);
    if (program->loaded) artel__pjrt_failed(api, api->PJRT_LoadedExecutable_Destroy(&loaded), &ignored);
    artel__text_fini(&program->bytes);
    artel__free(program->platform->ctx, program);
}

/* -- using -- */

int artel__program_results(const artel__program *program)
{
    return program->results;
}

void artel__program_memory_read(const artel__program *program, artel__program_memory *out)
{
    const PJRT_Api *api = program->platform->api;
    PJRT_Executable_GetCompiledMemoryStats_Args args = {
        .struct_size = PJRT_Executable_GetCompiledMemoryStats_Args_STRUCT_SIZE, .executable = program->executable};
    artel__pjrt_error ignored;
    *out = (artel__program_memory){-1, -1, -1, -1};
    if (!ARTEL__PJRT_HAS(api, PJRT_Executable_GetCompiledMemoryStats) ||
        artel__pjrt_failed(api, api->PJRT_Executable_GetCompiledMemoryStats(&args), &ignored))
        return;
    *out = (artel__program_memory){args.argument_size_in_bytes, args.output_size_in_bytes, args.alias_size_in_bytes,
                                   args.temp_size_in_bytes};
}

artel_status artel__program_launch(artel__program *program, int device, artel__buffer *const *in, int count,
                                   artel__buffer **out)
{
    artel__platform *p = program->platform;
    if (device < 0 || device >= p->devices)
        return artel__fail(p->ctx, ARTEL_ERROR_INTERNAL, program->name, "", "a launch on device %d of %d", device,
                           p->devices);
    PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
    PJRT_LoadedExecutable_Execute_Args args = {.struct_size = PJRT_LoadedExecutable_Execute_Args_STRUCT_SIZE,
                                               .executable = program->loaded,
                                               .options = &options,
                                               .argument_lists = &in,
                                               .num_devices = 1,
                                               .num_args = (size_t)count,
                                               .output_lists = &out,
                                               .execute_device = p->device[device]};
    PJRT_Error *error = p->api->PJRT_LoadedExecutable_Execute(&args);
    if (!error) return ARTEL_OK;
    char what[96];
    snprintf(what, sizeof what, "launch a program on %.60s",
             device < p->facts.devices ? p->facts.device[device].id : "a device");
    return artel__platform_check(p, error, program->name, what);
}

/* What went wrong is the results', which say so. */
static void let_go(const artel__platform *p, PJRT_Event *event, bool wait)
{
    artel__pjrt_error ignored;
    PJRT_Event_Await_Args await = {.struct_size = PJRT_Event_Await_Args_STRUCT_SIZE, .event = event};
    PJRT_Event_Destroy_Args destroy = {.struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE, .event = event};
    if (!event) return;
    if (wait) artel__pjrt_failed(p->api, p->api->PJRT_Event_Await(&await), &ignored);
    artel__pjrt_failed(p->api, p->api->PJRT_Event_Destroy(&destroy), &ignored);
}

void artel__program_crowd_fini(artel__platform *platform)
{
    for (int i = 0; i < ARTEL__LAUNCHES_FOR_ALL; i++) let_go(platform, platform->crowd.done[i], true);
    pthread_mutex_destroy(&platform->crowd.lock);
}

/* Behind the launch that is the first of those under way. */
static artel_status launch_in_turn(artel__platform *p, PJRT_LoadedExecutable_Execute_Args *args, const char *name)
{
    artel__program_crowd *crowd = &p->crowd;
    pthread_mutex_lock(&crowd->lock);
    PJRT_Event **place = &crowd->done[crowd->next];
    let_go(p, *place, true);
    *place = NULL;
    artel_status status = artel__platform_check(p, p->api->PJRT_LoadedExecutable_Execute(args), name,
                                                "launch a program on several devices");
    if (status == ARTEL_OK) {
        *place = args->device_complete_events[0];
        crowd->next = (crowd->next + 1) % ARTEL__LAUNCHES_FOR_ALL;
    }
    pthread_mutex_unlock(&crowd->lock);
    for (size_t i = 1; status == ARTEL_OK && i < args->num_devices; i++)
        let_go(p, args->device_complete_events[i], false);
    return status;
}

artel_status artel__program_launch_all(artel__program *program, artel__buffer *const *const *in, int count,
                                       artel__buffer **const *out)
{
    artel__platform *p = program->platform;
    int n = program->replicas;
    void *block;
    ARTEL_TRY(artel__calloc(p->ctx, 3 * (size_t)n + 1, sizeof(void *), program->name, &block));
    artel__buffer *const **arguments = block;
    artel__buffer ***results = (artel__buffer ***)(arguments + n);
    PJRT_Event **done = (PJRT_Event **)(results + n);
    for (int i = 0; i < n; i++) {
        arguments[i] = in[program->place[i]];
        results[i] = out[program->place[i]];
    }
    PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
    PJRT_LoadedExecutable_Execute_Args args = {.struct_size = PJRT_LoadedExecutable_Execute_Args_STRUCT_SIZE,
                                               .executable = program->loaded,
                                               .options = &options,
                                               .argument_lists = arguments,
                                               .num_devices = (size_t)n,
                                               .num_args = (size_t)count,
                                               .output_lists = results,
                                               .device_complete_events = done};
    artel_status status = launch_in_turn(p, &args, program->name);
    artel__free(p->ctx, block);
    return status;
}
