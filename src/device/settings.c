/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that the environment says of devices. Who reads one takes the default for what is none; so that nobody trusts
 * in a bound that is not there, it is refused first. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "device/plugin.h"

static const struct {
    const char *name;
    int64_t least, most;
} settings[] = {
    {"ARTEL_PROGRAM_CACHE_MB", 0, INT64_C(1) << 30},
    {"ARTEL_DEVICE_MEMORY_MB", 1, (INT64_C(1) << 30) - 1},
    {"ARTEL_PJRT_SECONDS", 1, 3600},
    {"ARTEL_COMPILE_NOTE_SECONDS", 0, 86400},
};

artel_status artel__device_settings_check(artel_context *ctx)
{
    for (size_t i = 0; i < ARTEL__COUNT(settings); i++) {
        const char *given = getenv(settings[i].name);
        int64_t number;
        bool good =
            !given || (artel__parse_int64(given, &number) && number >= settings[i].least && number <= settings[i].most);
        if (good) continue;
        return artel__fail(ctx, ARTEL_ERROR_INVALID, settings[i].name, "give such a number, or unset it",
                           "\"%.40s\" is no number from %" PRId64 " to %" PRId64, given, settings[i].least,
                           settings[i].most);
    }
    return ARTEL_OK;
}
