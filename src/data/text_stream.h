/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of compressed text (text.c opens both kinds). */
#ifndef ARTEL_DATA_TEXT_STREAM_H
#define ARTEL_DATA_TEXT_STREAM_H

#include "data/source.h"

/* The rows of arrays whose `item` is how many tokens behind a window's first they begin. */
extern const artel__data_format artel__data_text_stream;

typedef struct artel__text_opened {
    int64_t tokens;
    int32_t kinds; /* different characters; 256 of bytes */
} artel__text_opened;

/* Goes through the files of the source, whose blobs are open, and makes the source one of that format. Errors: CORRUPT
 * for what is no UTF-8, where characters are wanted. */
artel_status artel__text_stream_open(artel__source *source, artel__text_opened *out);

#endif
