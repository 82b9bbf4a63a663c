/* SPDX-License-Identifier: Apache-2.0 */
/* Building the HDF5 trees that Keras writes. All nodes live in the arena; data are borrowed from it and from the model.
 */
#ifndef ARTEL_KERAS_SAVE_H
#define ARTEL_KERAS_SAVE_H

#include "keras/variables.h"

/* The version of Keras whose files are written, byte for byte where its own version does not show. */
#define ARTEL__KERAS_VERSION "3.15.1"
/* Output depends on the model alone, so that equal models give equal files: like the members of a zip that Python
 * writes, every file was saved at the beginning of DOS time. Keras does not read the date. */
#define ARTEL__KERAS_DATE "1980-01-01@00:00:00"

/* model.weights.h5: vars of the model, a group for each layer, the optimizer. NULL with a status when memory is out. */
artel_status artel__keras_build_tree(const artel_model *model, artel__arena *arena, artel__h5_node **out);
/* A legacy whole-model file. */
artel_status artel__keras_build_legacy(const artel_model *model, artel__arena *arena, artel__h5_node **out);

/* The record of the model with its compile settings: a new reference, NULL when memory is out. The learning rate is
 * that of the optimizer's state. */
json_t *artel__keras_full_record(const artel_model *model);
/* The compile settings as they stand; a new reference, NULL when there are none or memory is out. */
json_t *artel__keras_compile_record(const artel_model *model);
/* "adam": the name of the optimizer; never NULL. */
const char *artel__keras_optimizer_name(const artel_model *model);

#endif
