/* SPDX-License-Identifier: Apache-2.0 */
/* What Keras' model.summary() says about a model, as rows; how they look is the observe room's matter. */
#ifndef ARTEL_KERAS_SUMMARY_H
#define ARTEL_KERAS_SUMMARY_H

#include "keras/model.h"

typedef struct artel__layer_row {
    const char *name, *class_name;
    const char *output_shape; /* "(None, 10)", "[(None, 4), (None, 4)]" */
    const char *connected_to; /* "dense[0][0], add[0][0]"; "" for inputs */
    int64_t params;
    bool has_weights, trainable;
    int depth; /* inside nested models, with `expand` */
} artel__layer_row;

typedef struct artel__model_summary {
    artel__arena arena; /* holds everything */
    const char *name;
    artel__layer_row *row;
    int rows;
    bool connections; /* the model is no plain chain */
    int64_t trainable, frozen;
    double trainable_bytes, frozen_bytes;
    int64_t optimizer; /* elements of the saved optimizer's variables; 0: none */
    double optimizer_bytes;
} artel__model_summary;

/* `expand`: the layers of nested models follow them (their shapes "?"; Keras' expand_nested). */
artel_status artel__keras_summary(const artel_model *model, bool expand, artel__model_summary *out);
void artel__keras_summary_fini(artel__model_summary *summary);

/* A shape with a stand-in for each open axis: another one in pass 1 than in pass 0. */
artel_shape artel__keras_fill_open(const artel_shape *shape, int pass);

#endif
