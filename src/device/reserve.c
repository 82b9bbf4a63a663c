/* SPDX-License-Identifier: Apache-2.0 */
/* What a plug-in may take of a card's memory, in words: "grow", as it is needed, up to the plug-in's own bound (of
 * XLA's: three quarters of the card); "grow:0.4", as it is needed, two fifths of the card at the most; "0.9", that much
 * at once. TensorFlow calls them allow_growth and per_process_gpu_memory_fraction; PJRT's plug-ins for CUDA and ROCm
 * "preallocate" and "memory_fraction". Others have no such options, and one that does not know an option may end its
 * process: so those are refused.
 */
#include <string.h>

#include "base/text.h"
#include "device/plugin.h"

artel_status artel__device_memory_read(artel_context *ctx, const char *text, const char *kind,
                                       artel__client_options *out)
{
    static const char where[] = "device memory";
    if (!text || strcmp(text, "grow") == 0) return ARTEL_OK;
    bool grows = strncmp(text, "grow:", 5) == 0;
    double fraction;
    if (!artel__parse_double(grows ? text + 5 : text, &fraction) || !(fraction > 0 && fraction <= 1))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, where, "use grow, grow:0.4 or 0.9",
                           "\"%.40s\" is no part of a card's memory", text);
    if (!artel__device_is_card(kind))
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, where, "leave it out",
                           "only plug-ins for CUDA and ROCm can be told what to take of a card, and this one is for %s",
                           artel__device_word(kind));
    out->memory = fraction;
    out->at_once = !grows;
    return ARTEL_OK;
}
