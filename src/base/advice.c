/* SPDX-License-Identifier: Apache-2.0 */
/* Puts advice together. */
#include "base/advice.h"

#include <stdio.h>

#include "base/text.h"

void artel__advise_name(const char *word, const char *const *names, char *advice, size_t size)
{
    const char *near = artel__nearest_name(word, names);
    int length = near ? snprintf(advice, size, "did you mean %s?", near) : snprintf(advice, size, "use ");
    for (int i = 0; !near && names[i] && length >= 0 && (size_t)length < size; i++) {
        const char *before = i == 0 ? "" : names[i + 1] ? ", " : " or ";
        length += snprintf(advice + length, size - (size_t)length, "%s%s", before, names[i]);
    }
}
