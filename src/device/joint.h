/* SPDX-License-Identifier: Apache-2.0 */
/* Sums that a plug-in makes itself (joint.c). */
#ifndef ARTEL_DEVICE_JOINT_H
#define ARTEL_DEVICE_JOINT_H

#include "device/device.h"

/* Has the plug-in add up a number on each of these devices, and looks at what comes out. False: it cannot, and why.
 * While nobody else uses the platform. */
bool artel__device_sums_try(artel__platform *platform, const int *device, int replicas, char why[256]);

#endif
