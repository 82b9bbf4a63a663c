/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of the environment that look like artel's and are read by nothing.
 *
 * An option that is mistyped is an error; a variable cannot be one, since others may call theirs ARTEL_SOMETHING. So
 * one that is nearly the name of an option, or of a variable that the library reads, gets a warning with that name, and
 * any other is left alone. tests/house/test_fields.sh looks for variables of the library that are not in the list.
 */
#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

extern char **environ;

/* Beside the options: without ARTEL_, as options are written. */
static const char *const others[] = {"cache-dir",     "compile-note-seconds", "device-files",    "device-memory-mb",
                                     "fetch-seconds", "hdf5-helper",          "library",         "part-dir",
                                     "pjrt-plugin",   "pjrt-seconds",         "program-cache-mb"};

/* "batch-size" of "ARTEL_BATCH_SIZE=64", and back. */
static bool option_name(const char *entry, char *out, size_t size)
{
    size_t length = strcspn(entry, "=");
    if (length < 6 || length - 6 >= size || strncmp(entry, "ARTEL_", 6) != 0) return false;
    for (size_t i = 6; i < length; i++) out[i - 6] = entry[i] == '_' ? '-' : (char)tolower((unsigned char)entry[i]);
    out[length - 6] = '\0';
    return true;
}

static void variable_name(const char *option, char *out, size_t size)
{
    size_t at = (size_t)snprintf(out, size, "ARTEL_");
    for (; *option && at + 1 < size; option++) out[at++] = *option == '-' ? '_' : (char)toupper((unsigned char)*option);
    out[at] = '\0';
}

/* Of all subcommands: one environment serves them all. */
static const char **list_names(artel__arena *arena)
{
    size_t count = ARTEL__COUNT(others);
    for (const artel__command *const *command = artel__commands; *command; command++)
        for (const artel__option *option = (*command)->options; option && option->name; option++) count++;
    const char **names = artel__arena_alloc(arena, count + 1, sizeof *names);
    if (!names) return NULL;
    memcpy(names, others, sizeof others);
    count = ARTEL__COUNT(others);
    for (const artel__command *const *command = artel__commands; *command; command++)
        for (const artel__option *option = (*command)->options; option && option->name; option++)
            names[count++] = option->name;
    return names;
}

static bool is_known(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0) return true;
    return false;
}

artel_status artel__cli_check_environment(artel__invocation *call)
{
    char name[64], meant[80];
    const char **names = list_names(&call->arena);
    if (!names) return artel__arena_status(&call->arena);
    for (char *const *entry = environ; entry && *entry; entry++) {
        if (!option_name(*entry, name, sizeof name) || strlen(name) < 4 || is_known(names, name)) continue;
        const char *near = artel__nearest_name(name, names);
        if (!near) continue;
        variable_name(near, meant, sizeof meant);
        artel__log(call->ctx, ARTEL_LOG_WARNING, "nothing reads %.*s of the environment; the nearest name is %s",
                   (int)strcspn(*entry, "="), *entry, meant);
    }
    return ARTEL_OK;
}
