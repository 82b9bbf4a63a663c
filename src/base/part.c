/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and opening a part. Build tree: the same folder or two above; installed: ../lib/artel. */
#include "base/part.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of the program or library that holds this function, with a slash at the end; "" when unknown. */
static void own_folder(char *out, size_t size)
{
    Dl_info info;
    char resolved[4096];
    out[0] = '\0';
    /* Through an object pointer: ISO C has no cast from functions. */
    void (*self)(artel__part *) = artel__part_close;
    void *address;
    memcpy(&address, &self, sizeof address);
    if (dladdr(address, &info) == 0 || info.dli_fname == NULL) return;
    const char *file = info.dli_fname;
    if (strchr(file, '/') == NULL) file = "/proc/self/exe"; /* the program itself, found through PATH */
    if (realpath(file, resolved) == NULL) return;
    char *slash = strrchr(resolved, '/');
    if (slash == NULL || (size_t)(slash - resolved) + 2 > size) return;
    slash[1] = '\0';
    strcpy(out, resolved);
}

static void *try_folder(const char *folder, const char *below, const char *library)
{
    char path[4352];
    int length = snprintf(path, sizeof path, "%s%s%s", folder, below, library);
    if (length < 0 || (size_t)length >= sizeof path || access(path, R_OK) != 0) return NULL;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *find_library(const char *library)
{
    static const char *const places[] = {"", "artel/", "../", "../../", "../lib/artel/", "../../lib/artel/"};
    char folder[4096];
    const char *given = getenv("ARTEL_PART_DIR");
    if (given != NULL && given[0] != '\0') return try_folder(given, "/", library);
    own_folder(folder, sizeof folder);
    if (folder[0] == '\0') return NULL;
    for (size_t i = 0; i < ARTEL__COUNT(places); i++) {
        void *handle = try_folder(folder, places[i], library);
        if (handle != NULL) return handle;
    }
    return NULL;
}

artel_status artel__part_open(artel_context *ctx, const artel__part_request *request, artel__part *out)
{
    void *handle = find_library(request->file);
    if (handle == NULL) {
        const char *why = dlerror();
        char advice[256];
        snprintf(advice, sizeof advice, "install %s and build again, or set ARTEL_PART_DIR to its folder", request->packages);
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, request->file, advice, "the part that %s cannot be opened (%s)", request->purpose,
                           why != NULL ? why : "not found beside artel");
    }
    void *address = dlsym(handle, request->symbol);
    const void *(*entry)(void) = NULL;
    memcpy(&entry, &address, sizeof entry);
    const uint32_t *table = entry != NULL ? entry() : NULL;
    if (table == NULL || *table != request->version) {
        unsigned found = table != NULL ? (unsigned)*table : 0;
        dlclose(handle);
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, request->file, "build artel and its parts together",
                           "the part has version %u (expected %u)", found, (unsigned)request->version);
    }
    *out = (artel__part){.handle = handle, .table = table};
    return ARTEL_OK;
}

void artel__part_close(artel__part *part)
{
    if (part->handle != NULL) dlclose(part->handle);
    *part = (artel__part){.handle = NULL};
}
