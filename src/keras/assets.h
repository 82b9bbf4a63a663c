/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabularies in `.keras` files; see assets.c. */
#ifndef ARTEL_KERAS_ASSETS_H
#define ARTEL_KERAS_ASSETS_H

#include "base/json.h"
#include "base/text.h"
#include "base/zip.h"
#include "keras/h5.h"
#include "nn/model.h"

/* Puts the vocabularies of a file, and weights of terms from its weights tree, into the configs of the layers of its
 * record. */
artel_status artel__keras_attach_assets(artel__zip *zip, const char *path, json_t *record,
                                        const artel__h5_node *weights);

#endif
