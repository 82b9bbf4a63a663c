/* SPDX-License-Identifier: Apache-2.0 */
/* XLA's plug-in for the CPU, as the tests' virtual environment brings it. */
#ifndef TESTS_DEVICE_HELP_DEVICE_H
#define TESTS_DEVICE_HELP_DEVICE_H

#include "device/device.h"

/* NULL: it is not there, which is said; the test then ends with 77. */
const artel__plugin *device_cpu(artel__arena *arena);
/* Opens it, with a context and an arena for it. 0, or the exit code of the test: 77, it is not there; 1, which is said.
 */
int device_open(int virtual_devices, artel_context **ctx, artel__arena *arena, artel__platform **out);
void device_close(artel_context *ctx, artel__arena *arena, artel__platform *platform);

#endif
