/* SPDX-License-Identifier: Apache-2.0 */
/* A PJRT plug-in made for the tests: -DWAY_<way> chooses how it fails; without one it has two devices. Processes that
 * are to be seen or ended leave their number in plugin.pid. */
#include <pjrt/pjrt_c_api.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct PJRT_Error {
    int code;
    const char *text;
};

static void *const device_pointers[2] = {(void *)0x10, (void *)0x20};

static void error_message(PJRT_Error_Message_Args *args)
{
    args->message = args->error->text;
    args->message_size = strlen(args->error->text);
}

static PJRT_Error *error_code(PJRT_Error_GetCode_Args *args)
{
    args->code = (PJRT_Error_Code)args->error->code;
    return NULL;
}

static void error_destroy(PJRT_Error_Destroy_Args *args)
{
    free(args->error);
}

static PJRT_Error *fail(int code, const char *text)
{
    PJRT_Error *error = malloc(sizeof *error);
    *error = (PJRT_Error){code, text};
    return error;
}

/* Stays for a minute, with all that was opened. */
static void stay(void)
{
    FILE *file = fopen("plugin.pid", "w");
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
    sleep(60);
}

static PJRT_Error *initialize(PJRT_Plugin_Initialize_Args *args)
{
    (void)args;
#ifdef WAY_HANG
    stay();
#endif
#ifdef WAY_HELPER
    if (fork() == 0) {
        stay();
        _exit(0);
    }
#endif
#ifdef WAY_CHATTER
    for (int i = 0; i < 20000; i++) fprintf(stderr, "a line that nobody wants to read\n");
#endif
#ifdef WAY_ABORT
    fprintf(stderr, "first line\nterminate called after throwing an instance\n");
    abort();
#endif
#ifdef WAY_EXIT
    fprintf(stderr, "no licence was found\n");
    exit(3);
#endif
    return NULL;
}

static PJRT_Error *client_create(PJRT_Client_Create_Args *args)
{
#ifdef WAY_NO_DRIVER
    (void)args;
    return fail(9, "No visible GPU devices.");
#endif
#ifdef WAY_OLD_DRIVER
    return fail(13, "CUDA_ERROR_UNKNOWN: CUDA driver version is insufficient for CUDA runtime version");
#endif
    for (size_t i = 0; i < args->num_options; i++) { /* a card is not taken whole */
        if (strncmp(args->create_options[i].name, "preallocate", args->create_options[i].name_size) == 0 &&
            args->create_options[i].bool_value)
            return fail(3, "preallocate is on");
    }
    args->client = (PJRT_Client *)(void *)0x1;
    return NULL;
}

static PJRT_Error *platform_name(PJRT_Client_PlatformName_Args *args)
{
    args->platform_name = "cuda";
    args->platform_name_size = 4;
    return NULL;
}

static PJRT_Error *platform_version(PJRT_Client_PlatformVersion_Args *args)
{
    args->platform_version = "cuda 12090";
    args->platform_version_size = 10;
    return NULL;
}

static PJRT_Error *addressable(PJRT_Client_AddressableDevices_Args *args)
{
    args->addressable_devices = (PJRT_Device *const *)(const void *)device_pointers;
    args->num_addressable_devices = 2;
    return NULL;
}

static PJRT_Error *description(PJRT_Device_GetDescription_Args *args)
{
#ifdef WAY_NAMELESS
    if ((void *)args->device == device_pointers[0]) return fail(12, "no description");
#endif
    args->device_description = (PJRT_DeviceDescription *)(void *)args->device;
    return NULL;
}

static PJRT_Error *kind(PJRT_DeviceDescription_Kind_Args *args)
{
    args->device_kind = "A card\nof the tests";
    args->device_kind_size = strlen(args->device_kind);
    return NULL;
}

static PJRT_Error *memory(PJRT_Device_MemoryStats_Args *args)
{
    if ((void *)args->device == device_pointers[1]) return fail(12, "GetAllocatorStats is not supported");
    args->bytes_limit = 80000000000;
    args->bytes_limit_is_set = true;
    return NULL;
}

const PJRT_Api *GetPjrtApi(void);
const PJRT_Api *GetPjrtApi(void)
{
    static PJRT_Api api = {.struct_size = PJRT_Api_STRUCT_SIZE,
                           .pjrt_api_version = {.major_version = 0, .minor_version = 90},
                           .PJRT_Error_Message = error_message,
                           .PJRT_Error_GetCode = error_code,
                           .PJRT_Error_Destroy = error_destroy,
                           .PJRT_Plugin_Initialize = initialize,
                           .PJRT_Client_Create = client_create,
                           .PJRT_Client_PlatformName = platform_name,
                           .PJRT_Client_PlatformVersion = platform_version,
                           .PJRT_Client_AddressableDevices = addressable,
                           .PJRT_Device_GetDescription = description,
                           .PJRT_DeviceDescription_Kind = kind,
                           .PJRT_Device_MemoryStats = memory};
#ifdef WAY_OLD
    api.pjrt_api_version.minor_version = 42;
#endif
#ifdef WAY_SHORT
    api.struct_size = offsetof(PJRT_Api, PJRT_Device_MemoryStats); /* a plug-in from before there was such a function */
#endif
    return &api;
}
