/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that are read row by row: csv: with stream=yes (csv.c opens both kinds). */
#ifndef ARTEL_DATA_CSV_STREAM_H
#define ARTEL_DATA_CSV_STREAM_H

#include "data/source.h"

extern const artel__data_format artel__data_csv_stream;

/* Makes the source one of that format. */
artel_status artel__csv_stream_open(artel__source *source, char delimiter);

#endif
