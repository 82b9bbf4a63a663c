/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: compiled once for all devices of a platform, stored, loaded, launched.
 *
 * Options go as the bytes of a CompileOptionsProto: one replica, one partition, portable (a launch names its device),
 * and flags by name. Names of flags come and go between plug-ins; one that a plug-in does not know is left out with a
 * note. The flags are those without which a device's bits would differ from launch to launch, and, where kernels are
 * not measured, from one compilation to the next.
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

/* Fields 1 to 15 and lengths below 128: all there are here. */
static void put_bytes(artel__text *out, int field, const void *bytes, size_t length)
{
    const char head[] = {(char)(field << 3 | 2), (char)length};
    artel__text_append_bytes(out, head, sizeof head);
    artel__text_append_bytes(out, bytes, length);
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

void artel__program_options(const artel__platform *p, unsigned dropped, artel__text *out)
{
    static const char build[] = {0x20, 1, 0x28, 1}; /* num_replicas 1, num_partitions 1 */
    artel__text_clear(out);
    put_bytes(out, 3, build, sizeof build);
    artel__text_append_bytes(out, "\x20\x01", 2); /* compile_portable_executable */
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
    return ARTEL_OK;
}

static artel_status create(artel__platform *platform, const char *name, artel__program **out)
{
    void *block;
    size_t length = strlen(name) + 1;
    ARTEL_TRY(artel__calloc(platform->ctx, 1, sizeof(artel__program) + length, name, &block));
    artel__program *g = block;
    memcpy(g + 1, name, length);
    g->name = (const char *)(g + 1);
    g->platform = platform;
    artel__text_init(&g->bytes, platform->ctx);
    *out = g;
    return ARTEL_OK;
}

static artel_status compile(artel__program *g, const char *text, size_t length, artel__text *options)
{
    artel__platform *p = g->platform;
    PJRT_Program program = {
        .struct_size = PJRT_Program_STRUCT_SIZE, .code_size = length, .format = "mlir", .format_size = 4};
    memcpy(&program.code, &text, sizeof program.code); /* it is not written to */
    for (unsigned dropped = 0;;) {
        artel__pjrt_error said;
        artel__program_options(p, dropped, options);
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

artel_status artel__program_compile(artel__platform *platform, const char *name, const char *text, size_t length,
                                    artel__program **out)
{
    artel__program *g;
    artel__text options;
    ARTEL_TRY(create(platform, name, &g));
    artel__text_init(&options, platform->ctx);
    artel_status status = compile(g, text, length, &options);
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

artel_status artel__program_adopt(artel__platform *platform, const char *name, PJRT_LoadedExecutable *loaded,
                                  artel__program **out)
{
    artel__program *g;
    artel_status status = create(platform, name, &g);
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
    return artel__program_adopt(p, name, args.loaded_executable, out);
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
