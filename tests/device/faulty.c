/* SPDX-License-Identifier: Apache-2.0 */
/* The plug-in that FAULTY_PLUGIN names, but for one call of one kind: the FAULTY_AT-th call of FAULTY_CALL (compile,
 * launch, put, get, await) fails with the code FAULTY_CODE and the text FAULTY_TEXT. Of put, those are counted that
 * send at least FAULTY_LEAST elements. With FAULTY_ON=1 all calls from there on do, as those of a device that is lost;
 * with FAULTY_ABORT=1 that call ends the process; with FAULTY_STOP=1 it asks it to end (SIGTERM), and goes on. Where
 * FAULTY_OPTIONS names a file, each client's options are written there, and the plug-in, which may not know them, is
 * given none. Where FAULTY_TRACE does, each array of float32 that is sent ("put ELEMENTS"), each that is read ("get")
 * and each launch ("launch") gets a line, in their order. With FAULTY_SILENT=1 it says nothing of its programs' memory.
 */
#include <pjrt/pjrt_c_api.h>

#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const PJRT_Api *real;
static PJRT_Api table;
static char own; /* its address is the error's */
static atomic_int calls;

static const char *text(void)
{
    return getenv("FAULTY_TEXT");
}

static PJRT_Error *fault(const char *call)
{
    const char *wanted = getenv("FAULTY_CALL");
    if (!wanted || strcmp(wanted, call) != 0) return NULL;
    int n = atomic_fetch_add(&calls, 1) + 1, at = atoi(getenv("FAULTY_AT"));
    if (n == at && getenv("FAULTY_ABORT")) {
        fprintf(stderr, "F0000 Check failed: id < count\n");
        abort();
    }
    if (getenv("FAULTY_STOP")) {
        if (n == at) raise(SIGTERM);
        return NULL;
    }
    return n == at || (n > at && getenv("FAULTY_ON")) ? (PJRT_Error *)(void *)&own : NULL;
}

static void message(PJRT_Error_Message_Args *args)
{
    if ((const void *)args->error != &own) {
        real->PJRT_Error_Message(args);
        return;
    }
    args->message = text();
    args->message_size = strlen(text());
}

static PJRT_Error *code(PJRT_Error_GetCode_Args *args)
{
    if ((const void *)args->error != &own) return real->PJRT_Error_GetCode(args);
    args->code = (PJRT_Error_Code)atoi(getenv("FAULTY_CODE"));
    return NULL;
}

static void destroy(PJRT_Error_Destroy_Args *args)
{
    if ((const void *)args->error != &own) real->PJRT_Error_Destroy(args);
}

static PJRT_Error *create(PJRT_Client_Create_Args *args)
{
    const char *path = getenv("FAULTY_OPTIONS");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return real->PJRT_Client_Create(args);
    for (size_t i = 0; i < args->num_options; i++) {
        const PJRT_NamedValue *o = &args->create_options[i];
        fprintf(file, "%.*s=", (int)o->name_size, o->name);
        if (o->type == PJRT_NamedValue_kBool) fprintf(file, "%s ", o->bool_value ? "true" : "false");
        if (o->type == PJRT_NamedValue_kFloat) fprintf(file, "%g ", (double)o->float_value);
    }
    fprintf(file, "\n");
    fclose(file);
    args->num_options = 0;
    return real->PJRT_Client_Create(args);
}

static PJRT_Error *compile(PJRT_Client_Compile_Args *args)
{
    PJRT_Error *error = fault("compile");
    return error ? error : real->PJRT_Client_Compile(args);
}

static long long elements_of(const PJRT_Client_BufferFromHostBuffer_Args *array)
{
    long long elements = 1;
    for (size_t i = 0; i < array->num_dims; i++) elements *= array->dims[i];
    return elements;
}

static void trace(const char *what, const PJRT_Client_BufferFromHostBuffer_Args *array)
{
    const char *path = getenv("FAULTY_TRACE");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    if (!array)
        fprintf(file, "%s\n", what);
    else if (array->type == PJRT_Buffer_Type_F32)
        fprintf(file, "%s %lld\n", what, elements_of(array));
    fclose(file);
}

static PJRT_Error *launch(PJRT_LoadedExecutable_Execute_Args *args)
{
    trace("launch", NULL);
    PJRT_Error *error = fault("launch");
    return error ? error : real->PJRT_LoadedExecutable_Execute(args);
}

static PJRT_Error *put(PJRT_Client_BufferFromHostBuffer_Args *args)
{
    const char *least = getenv("FAULTY_LEAST");
    trace("put", args);
    PJRT_Error *error = least && elements_of(args) < atoll(least) ? NULL : fault("put");
    return error ? error : real->PJRT_Client_BufferFromHostBuffer(args);
}

static PJRT_Error *get(PJRT_Buffer_ToHostBuffer_Args *args)
{
    if (args->dst) trace("get", NULL);
    PJRT_Error *error = args->dst ? fault("get") : NULL;
    return error ? error : real->PJRT_Buffer_ToHostBuffer(args);
}

/* What was waited for has come, and is said to have failed. */
static PJRT_Error *await(PJRT_Event_Await_Args *args)
{
    PJRT_Error *error = real->PJRT_Event_Await(args), *own_error = error ? NULL : fault("await");
    return error ? error : own_error;
}

const PJRT_Api *GetPjrtApi(void);
const PJRT_Api *GetPjrtApi(void)
{
    const PJRT_Api *(*entry)(void);
    void *library = dlopen(getenv("FAULTY_PLUGIN"), RTLD_NOW | RTLD_LOCAL),
         *address = library ? dlsym(library, "GetPjrtApi") : NULL;
    if (!address) return NULL;
    memcpy(&entry, &address, sizeof entry);
    real = entry();
    size_t size = real->struct_size < sizeof table ? real->struct_size : sizeof table;
    memcpy(&table, real, size);
    table.struct_size = size;
    table.PJRT_Error_Message = message;
    table.PJRT_Error_GetCode = code;
    table.PJRT_Error_Destroy = destroy;
    table.PJRT_Client_Create = create;
    table.PJRT_Client_Compile = compile;
    table.PJRT_LoadedExecutable_Execute = launch;
    table.PJRT_Client_BufferFromHostBuffer = put;
    table.PJRT_Buffer_ToHostBuffer = get;
    table.PJRT_Event_Await = await;
    if (getenv("FAULTY_SILENT")) table.PJRT_Executable_GetCompiledMemoryStats = NULL;
    return &table;
}
