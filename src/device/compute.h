/* SPDX-License-Identifier: Apache-2.0 */
/* Devices behind plug-ins through the interface of exec/device.h: `self` is an artel__device_place. */
#ifndef ARTEL_DEVICE_COMPUTE_H
#define ARTEL_DEVICE_COMPUTE_H

#include "device/executable.h"

extern const artel__device_ops artel__pjrt_device_ops;

#endif
