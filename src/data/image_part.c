/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and opens libartel-image.so.
 *
 * The search is by absolute paths around the file this code was loaded from, never by LD_LIBRARY_PATH or the current
 * folder, so that a folder of images cannot bring a library of its own. ARTEL_PART_DIR, when set, is the only place
 * looked at.
 */
#include "data/image_part.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libartel-image.so"

/* The folder of the program or library that holds this function, with a slash at the end; "" when unknown. */
static void own_folder(char *out, size_t size)
{
    Dl_info info;
    char resolved[4096];
    out[0] = '\0';
    /* Through an object pointer: ISO C has no cast from functions. */
    artel_status (*self)(artel_context *, artel__image_library *) = artel__image_library_open;
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

static void *try_folder(const char *folder, const char *below)
{
    char path[4352];
    int length = snprintf(path, sizeof path, "%s%s%s", folder, below, LIBRARY);
    if (length < 0 || (size_t)length >= sizeof path || access(path, R_OK) != 0) return NULL;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *find_library(void)
{
    static const char *const places[] = {"", "artel/", "../", "../../", "../lib/artel/", "../../lib/artel/"};
    char folder[4096];
    const char *given = getenv("ARTEL_PART_DIR");
    if (given != NULL && given[0] != '\0') return try_folder(given, "/");
    own_folder(folder, sizeof folder);
    if (folder[0] == '\0') return NULL;
    for (size_t i = 0; i < ARTEL__COUNT(places); i++) {
        void *handle = try_folder(folder, places[i]);
        if (handle != NULL) return handle;
    }
    return NULL;
}

artel_status artel__image_library_open(artel_context *ctx, artel__image_library *out)
{
    void *handle = find_library();
    if (handle == NULL) {
        const char *why = dlerror();
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, LIBRARY,
                           "install libjpeg-dev and libpng-dev and build again, or set ARTEL_PART_DIR to its folder",
                           "the part that decodes images cannot be opened (%s)", why != NULL ? why : "not found beside artel");
    }
    void *address = dlsym(handle, ARTEL__IMAGE_PART_SYMBOL);
    artel__image_part_fn *entry = NULL;
    memcpy(&entry, &address, sizeof entry);
    const artel__image_part *part = entry != NULL ? entry() : NULL;
    if (part == NULL || part->version != ARTEL__IMAGE_PART_VERSION) {
        dlclose(handle);
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, LIBRARY, "build artel and its parts together",
                           "the part has version %u (expected %u)", part != NULL ? part->version : 0, ARTEL__IMAGE_PART_VERSION);
    }
    out->handle = handle;
    out->part = part;
    return ARTEL_OK;
}

void artel__image_library_close(artel__image_library *library)
{
    if (library->handle != NULL) dlclose(library->handle);
    library->handle = NULL;
    library->part = NULL;
}
