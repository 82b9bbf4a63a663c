/* SPDX-License-Identifier: Apache-2.0 */
/* What a plug-in's failure means, and what to do about it: by its code and by words of its text, the first row that
 * fits. */
#include <string.h>

#include "device/platform_impl.h"

enum {
    ANY_CODE = -1
};

typedef struct meaning {
    int code;         /* of the plug-in */
    const char *word; /* of its text; "": any */
    artel_status status;
    const char *what; /* before what was tried, and the text */
    const char *advice;
} meaning;

#define LOST                                                                                                        \
    ARTEL_ERROR_RUN, "the device is lost: it cannot",                                                               \
        "see its state (nvidia-smi, dmesg), then start again: .resume with .checkpoint_dir, on another .device if " \
        "need be"
#define LIBRARIES                                                                                         \
    ARTEL_ERROR_UNSUPPORTED, "a library of the device is missing or does not fit, so the plug-in cannot", \
        "install the nvidia-* packages of the plug-in's with-cuda extra beside it (docs/devices.md)"

static const meaning meanings[] = {
    {PJRT_Error_Code_RESOURCE_EXHAUSTED, "", ARTEL_ERROR_NO_MEMORY, "the device has no memory to",
     "use a smaller .batch_size, more .shards, or .recompute"},
    {ANY_CODE, "CUDA_ERROR_OUT_OF_MEMORY", ARTEL_ERROR_NO_MEMORY, "the device has no memory to",
     "use a smaller .batch_size, more .shards, or .recompute; see who else uses it: nvidia-smi"},
    {ANY_CODE, "driver version is insufficient", ARTEL_ERROR_UNSUPPORTED,
     "the driver is older than the plug-in, which cannot",
     "update the driver, or take a plug-in for an older CUDA (jax-cuda12-pjrt)"},
    {ANY_CODE, "DNN library", LIBRARIES},
    {ANY_CODE, "libcudnn", LIBRARIES},
    {ANY_CODE, "ptxas", LIBRARIES},
    {ANY_CODE, "libdevice", LIBRARIES},
    {ANY_CODE, "nvlink", LIBRARIES},
    {ANY_CODE, "CUBLAS_STATUS_NOT_INITIALIZED", LIBRARIES},
    {ANY_CODE, "CUDA_ERROR_ECC_UNCORRECTABLE", LOST},
    {ANY_CODE, "CUDA_ERROR_LAUNCH_FAILED", LOST},
    {ANY_CODE, "CUDA_ERROR_ILLEGAL", LOST},
    {ANY_CODE, "CUDA_ERROR_HARDWARE", LOST},
    {ANY_CODE, "CUDA_ERROR_DEVICE", LOST},
    {ANY_CODE, "CUDA_ERROR_CONTEXT_IS_DESTROYED", LOST},
    {ANY_CODE, "hipError", LOST},
    {ANY_CODE, "is lost", LOST},
    {PJRT_Error_Code_UNAVAILABLE, "", LOST},
    {PJRT_Error_Code_DATA_LOSS, "", LOST},
    {PJRT_Error_Code_ABORTED, "", LOST},
    {PJRT_Error_Code_INVALID_ARGUMENT, "", ARTEL_ERROR_UNSUPPORTED, "the plug-in cannot",
     "update the plug-in, or take another version of it"},
    {PJRT_Error_Code_UNIMPLEMENTED, "", ARTEL_ERROR_UNSUPPORTED, "the plug-in cannot",
     "update the plug-in, or take another version of it"},
    {ANY_CODE, "", ARTEL_ERROR_RUN, "the plug-in cannot", "update the plug-in, or take another version of it"},
};

artel_status artel__platform_failed(artel__platform *platform, const artel__pjrt_error *said, const char *where,
                                    const char *what)
{
    const meaning *m = meanings;
    while ((m->code != ANY_CODE && m->code != said->code) || !strstr(said->text, m->word)) m++;
    return artel__fail(platform->ctx, m->status, where, m->advice, "%s %s: %.400s", m->what, what, said->text);
}

artel_status artel__platform_check(artel__platform *platform, PJRT_Error *error, const char *where, const char *what)
{
    artel__pjrt_error said;
    if (!artel__pjrt_failed(platform->api, error, &said)) return ARTEL_OK;
    return artel__platform_failed(platform, &said, where, what);
}
