/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and opening a part. Installed: artel/ beside the library, or in the library folder of the program's prefix
 * (ARTEL_FROM_PROGRAM, from the build); build tree: the same folder or two above. What another user could have put
 * there is passed over. */
#include "base/part.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/file.h"

/* Absolute path of the program; where /proc is not mounted, by the name that it was started with. */
static bool find_program(char out[PATH_MAX])
{
    if (realpath("/proc/self/exe", out) != NULL) return true;
    unsigned long started = getauxval(AT_EXECFN);
    return started != 0 && realpath((const char *)started, out) != NULL;
}

/* Absolute path of the program or library that holds this function; false when unknown. */
static bool find_own(char out[PATH_MAX])
{
    Dl_info info;
    /* Through an object pointer: ISO C has no cast from functions. */
    void (*self)(artel__part *) = artel__part_close;
    void *address;
    memcpy(&address, &self, sizeof address);
    if (dladdr(address, &info) == 0 || info.dli_fname == NULL) return false;
    if (strchr(info.dli_fname, '/') == NULL) return find_program(out); /* the program itself, found through PATH */
    return realpath(info.dli_fname, out) != NULL;
}

/* Around the file `own`, whose owner is trusted with it. */
static bool find_near(const char *own, const char *name, int access_mode, char out[PATH_MAX])
{
    static const char *const places[] = {"",    "artel/", ARTEL_FROM_PROGRAM, "../lib/artel/", "../../lib/artel/",
                                         "../", "../../"};
    int folder = (int)(strrchr(own, '/') - own) + 1;
    for (size_t i = 0; i < ARTEL__COUNT(places); i++) {
        int length = snprintf(out, PATH_MAX, "%.*s%s%s", folder, own, places[i], name);
        if (length > 0 && length < PATH_MAX && access(out, access_mode) == 0 && artel__may_trust(out, own)) return true;
    }
    return false;
}

bool artel__find_companion(const char *name, int access_mode, char out[PATH_MAX])
{
    char own[PATH_MAX];
    if (find_own(own) && find_near(own, name, access_mode, out)) return true;
    return find_program(own) && find_near(own, name, access_mode, out);
}

static void *find_library(const char *library)
{
    char path[PATH_MAX];
    const char *given = getenv("ARTEL_PART_DIR"); /* whoever sets it answers for the folder */
    if (given != NULL && given[0] != '\0') {
        int length = snprintf(path, sizeof path, "%s/%s", given, library);
        if (length < 0 || (size_t)length >= sizeof path || access(path, R_OK) != 0) return NULL;
    } else if (!artel__find_companion(library, R_OK, path))
        return NULL;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

artel_status artel__part_open(artel_context *ctx, const artel__part_request *request, artel__part *out)
{
    void *handle = find_library(request->file);
    if (handle == NULL) {
        const char *why = dlerror();
        char advice[256];
        snprintf(advice, sizeof advice, "install %s and build again, or set ARTEL_PART_DIR to its folder",
                 request->packages);
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, request->file, advice,
                           "the part that %s cannot be opened (%s)", request->purpose,
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
