/* SPDX-License-Identifier: Apache-2.0 */
/* What the layers of categories share: `output_mode` and what follows from it. */
#ifndef ARTEL_NN_LAYER_CATEGORY_H
#define ARTEL_NN_LAYER_CATEGORY_H

#include "nn/ahead.h"
#include "nn/layer_support.h"
#include "text/functions.h"

/* The names of artel__encoding_mode, and behind them the older ones. */
extern const char *const artel__output_modes[];

enum {
    ARTEL__MODES_INT = 1 << ARTEL__ENCODE_INT,
    ARTEL__MODES_ONE_HOT = 1 << ARTEL__ENCODE_ONE_HOT,
    ARTEL__MODES_COUNTS = 1 << ARTEL__ENCODE_MULTI_HOT | 1 << ARTEL__ENCODE_COUNT,
    ARTEL__MODES_TF_IDF = 1 << ARTEL__ENCODE_TF_IDF
};

/* Fills mode and dtype: `whole` for places, that of the layer for vectors. `allowed`: of ARTEL__MODES_*. */
artel_status artel__layer_encoding(const artel__layer *layer, int mode, uint32_t allowed, artel_dtype whole,
                                   artel__encoding *out);

/* One integer, or two: the key of a keyed hash. False for null; fails for anything else. */
artel_status artel__layer_salt(const artel__layer *layer, bool *salted, uint64_t salt[2]);

#endif
