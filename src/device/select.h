/* SPDX-License-Identifier: Apache-2.0 */
/* Devices by the names that users give them. */
#ifndef ARTEL_DEVICE_SELECT_H
#define ARTEL_DEVICE_SELECT_H

#include "device/compute.h"

typedef struct artel__device_request {
    /* "auto", NULL, "cpu": the cores. "gpu", "cuda", "rocm", "oneapi", "tpu": all of that kind; "cuda:1", "gpu:0,gpu:1": these; "cpu:xla": XLA's
     * plug-in for the CPU. TensorFlow's "/gpu:0", "/job:worker/task:1/device:GPU:0" likewise. */
    const char *device;
    const char *plugin;    /* its file; NULL: searched */
    const char *precision; /* of float32 products: "float32" (NULL), "tf32": the device's fastest */
    /* "fixed" (NULL): the plug-in chooses kernels by their shapes alone; "measured": by measuring them when it compiles, so that another
     * process may have others, and other last bits. */
    const char *kernels;
} artel__device_request;

/* Devices of one platform, which behave alike. */
typedef struct artel__device_set {
    artel_context *ctx;
    artel__arena arena;
    artel__platform *platform;
    artel__place place;
    artel__device device;
    int count;
    /* The class of its arithmetic: "pjrt cuda, NVIDIA H100 80GB HBM3, 13000-8f3a2b11, float32": platform, kind of device, plug-in. */
    const char *arithmetic;
} artel__device_set;

/* Whether the request names devices, not the cores. Errors: INVALID, UNSUPPORTED. */
artel_status artel__devices_named(artel_context *ctx, const artel__device_request *request, bool *out);
/* NULL in *out: the cores. Errors, `where` "device": INVALID (no such name), NOT_FOUND (no plug-in), and those of artel__platform_open. */
artel_status artel__devices_open(artel_context *ctx, const artel__device_request *request, artel__device_set **out);
void artel__devices_close(artel__device_set *set); /* NULL: nothing; executables go first */

#endif
