/* SPDX-License-Identifier: Apache-2.0 */
/* Names of elements: results that are lists, such as a score by class, go through logs as "f1_score[0]", "f1_score[1]"
 * and on, so that whatever keeps or sends numbers by name need not know of lists. Who shows or writes them joins them
 * again. */
#ifndef ARTEL_BASE_LISTED_H
#define ARTEL_BASE_LISTED_H

#include <stdint.h>
#include <string.h>

/* The length of the list's name and the element's number; of any other name its length and -1. */
static inline size_t artel__list_element(const char *name, int64_t *out_number)
{
    size_t length = strlen(name), digits = length > 0 ? length - 1 : 0;
    *out_number = -1;
    if (length < 4 || name[length - 1] != ']') return length;
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') digits--;
    if (digits < 2 || name[digits - 1] != '[' || digits == length - 1 || length - digits > 10) return length;
    *out_number = 0;
    for (size_t i = digits; i + 1 < length; i++) *out_number = *out_number * 10 + (name[i] - '0');
    return digits - 1;
}

#endif
