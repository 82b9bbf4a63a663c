/* SPDX-License-Identifier: Apache-2.0 */
/* A platform: the plug-in's client and devices, and arrays on them. */
#include <stdlib.h>
#include <string.h>

#include "device/platform_impl.h"
#include "graph/hlo.h"

artel_status artel__platform_await(artel__platform *platform, PJRT_Event *event, const char *where, const char *what)
{
    PJRT_Event_Await_Args await = {.struct_size = PJRT_Event_Await_Args_STRUCT_SIZE, .event = event};
    PJRT_Event_Destroy_Args destroy = {.struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE, .event = event};
    artel_status status = artel__platform_check(platform, platform->api->PJRT_Event_Await(&await), where, what);
    artel__pjrt_error ignored;
    artel__pjrt_failed(platform->api, platform->api->PJRT_Event_Destroy(&destroy), &ignored);
    return status;
}

/* -- opening -- */

/* Functions without which nothing can be computed; the rest is asked for where it is used. */
static artel_status check_table(const artel__platform *p)
{
    const PJRT_Api *api = p->api;
    if (ARTEL__PJRT_HAS(api, PJRT_Client_Compile) && ARTEL__PJRT_HAS(api, PJRT_Client_BufferFromHostBuffer) &&
        ARTEL__PJRT_HAS(api, PJRT_Buffer_ToHostBuffer) && ARTEL__PJRT_HAS(api, PJRT_Buffer_Dimensions) &&
        ARTEL__PJRT_HAS(api, PJRT_LoadedExecutable_Execute) &&
        ARTEL__PJRT_HAS(api, PJRT_LoadedExecutable_GetExecutable) && ARTEL__PJRT_HAS(api, PJRT_Executable_NumOutputs) &&
        ARTEL__PJRT_HAS(api, PJRT_Event_Await) && ARTEL__PJRT_HAS(api, PJRT_Buffer_Destroy))
        return ARTEL_OK;
    return artel__fail(p->ctx, ARTEL_ERROR_UNSUPPORTED, p->plugin.path, "update the plug-in",
                       "the plug-in lacks functions to compile and launch programs");
}

static artel_status open_client(artel__platform *p, const artel__client_options *options)
{
    artel__pjrt_error error;
    p->api = artel__pjrt_load(p->plugin.path, &error);
    if (p->api) ARTEL_TRY(check_table(p));
    if (p->api) p->client = artel__pjrt_client(p->api, p->plugin.kind, options, &error);
    if (!p->client)
        return artel__fail(p->ctx, ARTEL_ERROR_UNSUPPORTED, p->plugin.path, "see artel devices",
                           "the plug-in cannot be used: %.400s", error.text);
    PJRT_Client_AddressableDevices_Args list = {.struct_size = PJRT_Client_AddressableDevices_Args_STRUCT_SIZE,
                                                .client = p->client};
    ARTEL_TRY(
        artel__platform_check(p, p->api->PJRT_Client_AddressableDevices(&list), p->plugin.path, "list its devices"));
    p->device = list.addressable_devices;
    p->devices = (int)list.num_addressable_devices;
    if (p->devices > 0) return ARTEL_OK;
    return artel__fail(p->ctx, ARTEL_ERROR_UNSUPPORTED, p->plugin.path, "see artel devices",
                       "the plug-in has no device here");
}

static artel_status open_platform(artel__platform *p, const artel__plugin *plugin, const artel__client_options *options)
{
    p->plugin =
        (artel__plugin){artel__arena_strdup(&p->arena, plugin->kind), artel__arena_strdup(&p->arena, plugin->path)};
    ARTEL_TRY(artel__arena_status(&p->arena));
    ARTEL_TRY(artel__plugin_ask(&p->arena, &p->plugin, options, &p->facts));
    ARTEL_TRY(open_client(p, options));
    return artel__program_keep_init(p);
}

artel_status artel__platform_open(artel_context *ctx, const artel__plugin *plugin, const artel__client_options *options,
                                  artel__platform **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__platform), "device", &block));
    artel__platform *p = block;
    p->ctx = ctx;
    artel__arena_init(&p->arena, ctx);
    pthread_mutex_init(&p->crowd.lock, NULL);
    artel_status status = open_platform(p, plugin, options);
    if (status == ARTEL_OK)
        *out = p;
    else
        artel__platform_close(p);
    return status;
}

void artel__platform_close(artel__platform *platform)
{
    if (!platform) return;
    artel__program_keep_fini(platform);
    artel__program_crowd_fini(platform);
    artel__platform_close_target(platform);
    if (platform->client) artel__pjrt_client_destroy(platform->api, platform->client);
    artel__arena_fini(&platform->arena);
    artel__free(platform->ctx, platform);
}

int64_t artel__platform_free_bytes(const artel__platform *platform, int device)
{
    const PJRT_Api *api = platform->api;
    const char *given = getenv("ARTEL_DEVICE_MEMORY_MB");
    int64_t megabytes, left = -1;
    artel__pjrt_error ignored;
    PJRT_Device_MemoryStats_Args args = {.struct_size = PJRT_Device_MemoryStats_Args_STRUCT_SIZE,
                                         .device = platform->target ? NULL : platform->device[device]};
    if (platform->target) return -1;
    if (ARTEL__PJRT_HAS(api, PJRT_Device_MemoryStats) &&
        !artel__pjrt_failed(api, api->PJRT_Device_MemoryStats(&args), &ignored) && args.bytes_limit_is_set)
        left = args.bytes_limit - args.bytes_in_use;
    if (given && artel__parse_int64(given, &megabytes) && megabytes > 0 && megabytes < INT64_C(1) << 30 &&
        (left < 0 || left > megabytes << 20))
        left = megabytes << 20;
    return left;
}

/* -- arrays -- */

static const PJRT_Buffer_Type types[] = {
    [ARTEL_DTYPE_FLOAT32] = PJRT_Buffer_Type_F32, [ARTEL_DTYPE_FLOAT64] = PJRT_Buffer_Type_F64,
    [ARTEL_DTYPE_FLOAT16] = PJRT_Buffer_Type_F16, [ARTEL_DTYPE_BFLOAT16] = PJRT_Buffer_Type_BF16,
    [ARTEL_DTYPE_INT8] = PJRT_Buffer_Type_S8,     [ARTEL_DTYPE_INT16] = PJRT_Buffer_Type_S16,
    [ARTEL_DTYPE_INT32] = PJRT_Buffer_Type_S32,   [ARTEL_DTYPE_INT64] = PJRT_Buffer_Type_S64,
    [ARTEL_DTYPE_UINT8] = PJRT_Buffer_Type_U8,    [ARTEL_DTYPE_UINT16] = PJRT_Buffer_Type_U16,
    [ARTEL_DTYPE_UINT32] = PJRT_Buffer_Type_U32,  [ARTEL_DTYPE_UINT64] = PJRT_Buffer_Type_U64,
    [ARTEL_DTYPE_BOOL] = PJRT_Buffer_Type_PRED,
};

static const char *device_id(const artel__platform *p, int device)
{
    return device >= 0 && device < p->facts.devices ? p->facts.device[device].id : p->plugin.kind;
}

static artel_status send(artel__platform *platform, int device, artel_dtype dtype, const artel_shape *shape,
                         const void *host, PJRT_HostBufferSemantics semantics, artel__copy **copy, artel__buffer **out)
{
    PJRT_Client_BufferFromHostBuffer_Args args = {.struct_size = PJRT_Client_BufferFromHostBuffer_Args_STRUCT_SIZE,
                                                  .client = platform->client,
                                                  .data = host,
                                                  .dims = shape->dim,
                                                  .num_dims = (size_t)shape->rank,
                                                  .host_buffer_semantics = semantics};
    if (device < 0 || device >= platform->devices || (size_t)dtype >= ARTEL__COUNT(types))
        return artel__fail(platform->ctx, ARTEL_ERROR_INTERNAL, device_id(platform, device), "",
                           "an array for no device, or of no type");
    args.type = types[dtype];
    args.device = platform->device[device];
    PJRT_Error *error = platform->api->PJRT_Client_BufferFromHostBuffer(&args);
    ARTEL_TRY(artel__platform_check(platform, error, device_id(platform, device), "take an array"));
    *copy = args.done_with_host_buffer;
    *out = args.buffer;
    return ARTEL_OK;
}

artel_status artel__buffer_put(artel__platform *platform, int device, artel_dtype dtype, const artel_shape *shape,
                               const void *host, artel__buffer **out)
{
    artel__copy *copy;
    artel__buffer *buffer;
    ARTEL_TRY(
        send(platform, device, dtype, shape, host, PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, &copy, &buffer));
    artel_status status = artel__platform_await(platform, copy, device_id(platform, device), "take an array");
    if (status == ARTEL_OK)
        *out = buffer;
    else
        artel__buffer_release(platform, buffer);
    return status;
}

artel_status artel__buffer_put_begin(artel__platform *platform, int device, artel_dtype dtype, const artel_shape *shape,
                                     const void *host, artel__copy **copy, artel__buffer **out)
{
    return send(platform, device, dtype, shape, host, PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes, copy,
                out);
}

/* The last axis is the fastest in this machine's memory: asked for nothing, a plug-in copies an array in the order of
 * the device. */
static artel_status set_row_major(artel__platform *platform, artel__buffer *buffer, int64_t order[ARTEL__HLO_RANK],
                                  PJRT_Buffer_MemoryLayout *out)
{
    PJRT_Buffer_Dimensions_Args shape = {.struct_size = PJRT_Buffer_Dimensions_Args_STRUCT_SIZE, .buffer = buffer};
    const char *where = platform->plugin.kind;
    ARTEL_TRY(artel__platform_check(platform, platform->api->PJRT_Buffer_Dimensions(&shape), where,
                                    "say the shape of an array"));
    if (shape.num_dims > ARTEL__HLO_RANK)
        return artel__fail(platform->ctx, ARTEL_ERROR_INTERNAL, where, "", "an array has %zu axes", shape.num_dims);
    for (size_t i = 0; i < shape.num_dims; i++) order[i] = (int64_t)(shape.num_dims - 1 - i);
    *out = (PJRT_Buffer_MemoryLayout){.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
                                      .type = PJRT_Buffer_MemoryLayout_Type_Tiled};
    out->tiled = (PJRT_Buffer_MemoryLayout_Tiled){.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
                                                  .minor_to_major = order,
                                                  .minor_to_major_size = shape.num_dims};
    return ARTEL_OK;
}

artel_status artel__buffer_get_begin(artel__platform *platform, artel__buffer *buffer, void *host, size_t bytes,
                                     artel__copy **out)
{
    int64_t order[ARTEL__HLO_RANK];
    PJRT_Buffer_MemoryLayout layout;
    PJRT_Buffer_ToHostBuffer_Args args = {
        .struct_size = PJRT_Buffer_ToHostBuffer_Args_STRUCT_SIZE, .src = buffer, .host_layout = &layout};
    const char *where = platform->plugin.kind;
    ARTEL_TRY(set_row_major(platform, buffer, order, &layout));
    ARTEL_TRY(artel__platform_check(platform, platform->api->PJRT_Buffer_ToHostBuffer(&args), where,
                                    "say how large an array is"));
    if (args.dst_size != bytes)
        return artel__fail(platform->ctx, ARTEL_ERROR_INTERNAL, where, "", "an array has %zu bytes instead of %zu",
                           args.dst_size, bytes);
    args.dst = host;
    ARTEL_TRY(artel__platform_check(platform, platform->api->PJRT_Buffer_ToHostBuffer(&args), where, "give an array"));
    *out = args.event;
    return ARTEL_OK;
}

artel_status artel__copy_wait(artel__platform *platform, artel__copy *copy)
{
    return artel__platform_await(platform, copy, platform->plugin.kind, "compute or give an array");
}

artel_status artel__buffer_get(artel__platform *platform, artel__buffer *buffer, void *host, size_t bytes)
{
    artel__copy *copy;
    ARTEL_TRY(artel__buffer_get_begin(platform, buffer, host, bytes, &copy));
    return artel__copy_wait(platform, copy);
}

void artel__buffer_wait(artel__platform *platform, artel__buffer *buffer)
{
    PJRT_Buffer_ReadyEvent_Args args = {.struct_size = PJRT_Buffer_ReadyEvent_Args_STRUCT_SIZE, .buffer = buffer};
    artel__pjrt_error ignored;
    if (artel__pjrt_failed(platform->api, platform->api->PJRT_Buffer_ReadyEvent(&args), &ignored)) return;
    PJRT_Event_Await_Args await = {.struct_size = PJRT_Event_Await_Args_STRUCT_SIZE, .event = args.event};
    PJRT_Event_Destroy_Args destroy = {.struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE, .event = args.event};
    artel__pjrt_failed(platform->api, platform->api->PJRT_Event_Await(&await), &ignored);
    artel__pjrt_failed(platform->api, platform->api->PJRT_Event_Destroy(&destroy), &ignored);
}

artel_status artel__buffer_copy(artel__platform *platform, artel__buffer *buffer, int device, artel__buffer **out)
{
    PJRT_Buffer_CopyToDevice_Args args = {.struct_size = PJRT_Buffer_CopyToDevice_Args_STRUCT_SIZE, .buffer = buffer};
    if (device < 0 || device >= platform->devices || !ARTEL__PJRT_HAS(platform->api, PJRT_Buffer_CopyToDevice))
        return artel__fail(platform->ctx, ARTEL_ERROR_UNSUPPORTED, device_id(platform, device), "use one device",
                           "the plug-in cannot copy an array to this device");
    args.dst_device = platform->device[device];
    PJRT_Error *error = platform->api->PJRT_Buffer_CopyToDevice(&args);
    ARTEL_TRY(artel__platform_check(platform, error, device_id(platform, device), "copy an array"));
    *out = args.dst_buffer;
    return ARTEL_OK;
}

void artel__buffer_release(artel__platform *platform, artel__buffer *buffer)
{
    PJRT_Buffer_Destroy_Args args = {.struct_size = PJRT_Buffer_Destroy_Args_STRUCT_SIZE, .buffer = buffer};
    artel__pjrt_error ignored;
    if (buffer) artel__pjrt_failed(platform->api, platform->api->PJRT_Buffer_Destroy(&args), &ignored);
}
