/* SPDX-License-Identifier: Apache-2.0 */
/* Names of places: "/job:worker/task:1/device:CPU:0", whole or in part, as TensorFlow writes them (DeviceSpec). */
#ifndef ARTEL_FUNCTION_DEVICE_NAME_H
#define ARTEL_FUNCTION_DEVICE_NAME_H

#include "base/context.h"

enum {
    ARTEL__DEVICE_TEXT = 192 /* of a name in its whole form */
};

typedef struct artel__device_name {
    char job[64];             /* "": any */
    char type[32];            /* "CPU"; "": any */
    int replica, task, index; /* -1: any */
} artel__device_name;

/* ARTEL_ERROR_INVALID: it is none, or has two device types. */
artel_status artel__device_name_read(artel_context *ctx, const char *text, artel__device_name *out);
/* What `inner` says goes before what `outer` says, field by field. */
artel__device_name artel__device_name_merge(const artel__device_name *outer, const artel__device_name *inner);
/* The form in which equal ones are equal; "" of one that says nothing. */
void artel__device_name_write(const artel__device_name *name, char out[ARTEL__DEVICE_TEXT]);
/* Whether a task is among those that the name means. */
bool artel__device_name_means(const artel__device_name *name, const artel__device_name *task);

#endif
