/* SPDX-License-Identifier: Apache-2.0 */
/* Loading a plug-in, and its client. */
#include "device/pjrt.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

bool artel__pjrt_failed(const PJRT_Api *api, PJRT_Error *error, artel__pjrt_error *out)
{
    out->code = 0;
    out->text[0] = '\0';
    if (!error) return false;
    PJRT_Error_Message_Args message = {.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE, .error = error};
    PJRT_Error_GetCode_Args code = {.struct_size = PJRT_Error_GetCode_Args_STRUCT_SIZE, .error = error};
    PJRT_Error_Destroy_Args destroy = {.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE, .error = error};
    api->PJRT_Error_Message(&message);
    PJRT_Error *worse = api->PJRT_Error_GetCode(&code);
    out->code = worse ? PJRT_Error_Code_UNKNOWN : (int)code.code;
    snprintf(out->text, sizeof out->text, "%.*s", (int)message.message_size, message.message);
    api->PJRT_Error_Destroy(&destroy);
    return true;
}

static const PJRT_Api *refuse(artel__pjrt_error *out, const char *format, const char *detail)
{
    out->code = PJRT_Error_Code_FAILED_PRECONDITION;
    snprintf(out->text, sizeof out->text, format, detail);
    return NULL;
}

const PJRT_Api *artel__pjrt_load(const char *path, artel__pjrt_error *out)
{
    char version[32];
    const PJRT_Api *(*entry)(void) = NULL;
    const char *why = artel__library_fault(path);
    void *library = why ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library && !why) why = dlerror();
    if (!library) return refuse(out, "it cannot be opened: %.400s", why ? why : "no reason is given");
    void *address = dlsym(library, "GetPjrtApi");
    memcpy(&entry, &address, sizeof entry);
    if (!entry) return refuse(out, "it is no PJRT plug-in: it has no %s", "GetPjrtApi");
    const PJRT_Api *api = entry();
    if (!api) return refuse(out, "%s gives nothing", "GetPjrtApi");
    snprintf(version, sizeof version, "%d.%d", api->pjrt_api_version.major_version,
             api->pjrt_api_version.minor_version);
    if (api->pjrt_api_version.major_version != PJRT_API_MAJOR ||
        api->pjrt_api_version.minor_version < ARTEL__PJRT_OLDEST_MINOR)
        return refuse(out, "its interface is %s (0.57 and later are understood)", version);
    if (ARTEL__PJRT_HAS(api, PJRT_Plugin_Initialize)) {
        PJRT_Plugin_Initialize_Args args = {.struct_size = PJRT_Plugin_Initialize_Args_STRUCT_SIZE};
        if (artel__pjrt_failed(api, api->PJRT_Plugin_Initialize(&args), out)) return NULL;
    }
    return api;
}

static PJRT_NamedValue option_int(const char *name, int64_t value)
{
    return (PJRT_NamedValue){.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                             .name = name,
                             .name_size = strlen(name),
                             .type = PJRT_NamedValue_kInt64,
                             .int64_value = value,
                             .value_size = 1};
}

static PJRT_NamedValue option_bool(const char *name, bool value)
{
    return (PJRT_NamedValue){.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                             .name = name,
                             .name_size = strlen(name),
                             .type = PJRT_NamedValue_kBool,
                             .bool_value = value,
                             .value_size = 1};
}

static PJRT_NamedValue option_float(const char *name, double value)
{
    return (PJRT_NamedValue){.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                             .name = name,
                             .name_size = strlen(name),
                             .type = PJRT_NamedValue_kFloat,
                             .float_value = (float)value,
                             .value_size = 1};
}

PJRT_Client *artel__pjrt_client(const PJRT_Api *api, const char *kind, const artel__client_options *options,
                                artel__pjrt_error *out)
{
    PJRT_NamedValue option[2];
    size_t count = 0;
    bool gpu = artel__device_is_card(kind);
    if (gpu) option[count++] = option_bool("preallocate", options->at_once); /* theirs: on, three quarters of a card */
    if (gpu && options->memory > 0) option[count++] = option_float("memory_fraction", options->memory);
    if (strcmp(kind, "cpu") == 0 && options->virtual_devices > 0)
        option[count++] = option_int("cpu_device_count", options->virtual_devices);
    PJRT_Client_Create_Args args = {.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE,
                                    .create_options = count ? option : NULL,
                                    .num_options = count};
    return artel__pjrt_failed(api, api->PJRT_Client_Create(&args), out) ? NULL : args.client;
}

void artel__pjrt_client_destroy(const PJRT_Api *api, PJRT_Client *client)
{
    PJRT_Client_Destroy_Args args = {.struct_size = PJRT_Client_Destroy_Args_STRUCT_SIZE, .client = client};
    artel__pjrt_error error;
    if (client) artel__pjrt_failed(api, api->PJRT_Client_Destroy(&args), &error);
}
