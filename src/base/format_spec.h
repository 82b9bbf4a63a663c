/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as Python's str.format() writes them: "02d", ">6.2f", "+.1%". */
#ifndef ARTEL_BASE_FORMAT_SPEC_H
#define ARTEL_BASE_FORMAT_SPEC_H

#include "base/text.h"

/* Appends `value` by a format specification of `length` bytes, as a Python int when `whole`, else as a float. False,
 * and nothing is appended, where Python raises an error; and for what no file name needs: type c, # of floats, a fill
 * that is not ASCII, separators of thousands beside zeros in front, width or precision of three digits and more. */
bool artel__format_number(artel__text *out, const char *spec, size_t length, double value, bool whole);

#endif
