/* SPDX-License-Identifier: Apache-2.0 */
/* What a plug-in is told, on a table of the test's own: options that it does not know are left out one by one, and
 * arrays are asked for in the order of this machine. No plug-in is opened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "device/platform_impl.h"

struct PJRT_Error {
    const char *text;
};

static struct {
    artel_context *ctx;
    int compiled; /* how often it was tried */
    char unknown[64];
    int64_t order[8];
    size_t rank;
} t;

static const int64_t extents[] = {2, 3, 4};

static void error_message(PJRT_Error_Message_Args *args)
{
    args->message = args->error->text;
    args->message_size = strlen(args->error->text);
}

static PJRT_Error *error_code(PJRT_Error_GetCode_Args *args)
{
    args->code = PJRT_Error_Code_INVALID_ARGUMENT;
    return NULL;
}

static void error_destroy(PJRT_Error_Destroy_Args *args)
{
    free(args->error);
}

static PJRT_Error *refuse(const char *text)
{
    PJRT_Error *error = malloc(sizeof *error);
    error->text = text;
    return error;
}

/* Knows all options but one. */
static PJRT_Error *compile(PJRT_Client_Compile_Args *args)
{
    static char text[128];
    t.compiled++;
    if (t.unknown[0] && memmem(args->compile_options, args->compile_options_size, t.unknown, strlen(t.unknown))) {
        snprintf(text, sizeof text, "No such compile option: '%s'", t.unknown);
        return refuse(text);
    }
    args->executable = (PJRT_LoadedExecutable *)(void *)0x1;
    return NULL;
}

static PJRT_Error *get_executable(PJRT_LoadedExecutable_GetExecutable_Args *args)
{
    args->executable = (PJRT_Executable *)(void *)0x2;
    return NULL;
}

static PJRT_Error *count_results(PJRT_Executable_NumOutputs_Args *args)
{
    args->num_outputs = 1;
    return NULL;
}

static PJRT_Error *destroy_loaded(PJRT_LoadedExecutable_Destroy_Args *args)
{
    (void)args;
    return NULL;
}

static PJRT_Error *destroy_executable(PJRT_Executable_Destroy_Args *args)
{
    (void)args;
    return NULL;
}

static PJRT_Error *dimensions(PJRT_Buffer_Dimensions_Args *args)
{
    args->dims = extents;
    args->num_dims = t.rank;
    return NULL;
}

static PJRT_Error *give(PJRT_Buffer_ToHostBuffer_Args *args)
{
    const PJRT_Buffer_MemoryLayout *layout = args->host_layout;
    if (!layout) return refuse("in the order of the device");
    if (layout->type != PJRT_Buffer_MemoryLayout_Type_Tiled || layout->tiled.num_tiles)
        return refuse("tiles, or strides");
    if (layout->tiled.minor_to_major_size != t.rank) return refuse("another rank");
    memcpy(t.order, layout->tiled.minor_to_major, t.rank * sizeof t.order[0]);
    args->dst_size = sizeof(float);
    return NULL;
}

static PJRT_Error *await(PJRT_Event_Await_Args *args)
{
    (void)args;
    return NULL;
}

static PJRT_Error *destroy_event(PJRT_Event_Destroy_Args *args)
{
    (void)args;
    return NULL;
}

static const PJRT_Api api = {.struct_size = PJRT_Api_STRUCT_SIZE,
                             .PJRT_Error_Message = error_message,
                             .PJRT_Error_GetCode = error_code,
                             .PJRT_Error_Destroy = error_destroy,
                             .PJRT_Client_Compile = compile,
                             .PJRT_LoadedExecutable_GetExecutable = get_executable,
                             .PJRT_LoadedExecutable_Destroy = destroy_loaded,
                             .PJRT_Executable_NumOutputs = count_results,
                             .PJRT_Executable_Destroy = destroy_executable,
                             .PJRT_Buffer_Dimensions = dimensions,
                             .PJRT_Buffer_ToHostBuffer = give,
                             .PJRT_Event_Await = await,
                             .PJRT_Event_Destroy = destroy_event};

static artel__platform platform_of(const char *kind)
{
    return (artel__platform){.ctx = t.ctx, .plugin = {kind, "xla_plugin.so"}, .api = &api};
}

/* `tries`: how often it takes to compile; 0: it is refused. */
static void compiles(const char *kind, const char *unknown, int tries)
{
    artel__platform platform = platform_of(kind);
    artel__program *program;
    t.compiled = 0;
    snprintf(t.unknown, sizeof t.unknown, "%s", unknown);
    artel_status status = artel__program_compile(
        &platform, &(artel__program_source){.name = "test", .text = "module", .length = 6}, &program);
    assert_int_equal(status, tries ? ARTEL_OK : ARTEL_ERROR_UNSUPPORTED);
    if (tries) assert_int_equal(t.compiled, tries);
    if (tries) artel__program_release(program);
    artel__operation_begin(t.ctx);
}

static void test_options(void **state)
{
    (void)state;
    static const char *const kinds[] = {"cuda", "rocm"};
    for (int i = 0; i < 2; i++) {
        compiles(kinds[i], "", 1);
        compiles(kinds[i], "xla_allow_excess_precision", 2);
        compiles(kinds[i], "xla_gpu_deterministic_ops", 2);
        compiles(kinds[i], "xla_gpu_autotune_level", 2);
    }
    compiles("cuda", "xla_gpu_enable_triton_gemm", 2);
    compiles("cpu", "xla_gpu_deterministic_ops", 1); /* it is not told to others */
    compiles("cpu", "\x20\x01", 0);                  /* no flag: nothing can be left out */
}

static void test_row_major(void **state)
{
    (void)state;
    artel__platform platform = platform_of("tpu");
    float host;
    for (t.rank = 0; t.rank <= 3; t.rank++) {
        if (artel__buffer_get(&platform, NULL, &host, sizeof host) < 0)
            fail_msg("%s", artel_context_error(t.ctx)->what);
        for (size_t i = 0; i < t.rank; i++) assert_int_equal(t.order[i], t.rank - 1 - i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_options), cmocka_unit_test(test_row_major)};
    if (artel_context_create(NULL, &t.ctx) < 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    artel_context_destroy(t.ctx);
    return failed;
}
