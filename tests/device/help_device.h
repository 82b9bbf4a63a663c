/* SPDX-License-Identifier: Apache-2.0 */
/* XLA's plug-in for the CPU, as the tests' virtual environment brings it. */
#ifndef TESTS_DEVICE_HELP_DEVICE_H
#define TESTS_DEVICE_HELP_DEVICE_H

#include "device/device.h"

/* NULL: it is not there, which is said; the test then ends with 77. */
const artel__plugin *device_cpu(artel__arena *arena);

#endif
