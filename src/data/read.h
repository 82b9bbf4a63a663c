/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of a reader (artel/pipeline.h) by number, for the library's own threads. */
#ifndef ARTEL_DATA_READ_H
#define ARTEL_DATA_READ_H

#include "artel/pipeline.h"

/* An element of a pass, without a look at where the reader stands; begins no operation of the context. Thread-safe. */
artel_status artel__reader_fetch(const artel_reader *reader, int64_t pass, int64_t element, void *const *buffers);

#endif
