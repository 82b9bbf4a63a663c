/* SPDX-License-Identifier: Apache-2.0 */
/* The version, which include/artel/version.h holds for everybody: CMake reads it there, too. */
#include "artel/version.h"

int artel_version(const char **text)
{
    if (text) *text = ARTEL_VERSION_STRING;
    return ARTEL_VERSION_NUMBER;
}
