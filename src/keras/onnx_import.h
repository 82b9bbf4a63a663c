/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX import: a graph as a Functional model of Keras' layers.
 *
 * Each node becomes a layer or two by a row of artel__onnx_imports, written through the builder; weights are remembered
 * by the name that Keras gives the variable ("conv_3/kernel") and stored when the model is made. ONNX keeps channels
 * behind the batch, Keras behind everything: a value is held as one or the other (`last`), and a Permute is written
 * only where a node wants the other one. So the two transposes that exporters of Keras put around each convolution cost
 * nothing. Recurrent nodes have time or direction in front of the batch: where ONNX has the batch is remembered
 * (`batch`), for tensors have it in front, and an axis of one place, or two axes that lie one in the other, are not
 * written as a Reshape before a node asks for them (`loose`).
 */
#ifndef ARTEL_KERAS_ONNX_IMPORT_H
#define ARTEL_KERAS_ONNX_IMPORT_H

#include "artel/build.h"
#include "base/text.h"
#include "keras/model.h"
#include "keras/onnx_read.h"

/* A value of the graph that is computed. */
typedef struct artel__onnx_held {
    artel_tensor tensor;
    artel_shape shape; /* of a row, in ONNX' order; -1: open */
    int batch;         /* which of ONNX' axes is the batch; what has another than 0 is never `last` */
    artel_shape lies;  /* of the tensor's rows, where `loose`: the same numbers in the same order */
    bool loose;
    bool last;     /* the tensor has the first of these axes behind the others */
    bool positive; /* never below 0 */
    bool whole;    /* integers */
    const struct artel__onnx_final *final;
} artel__onnx_held;

/* The last step of the sequence `of`, which the layer that made it gives as well: the step 0 or -1, in rows of `units`.
 */
typedef struct artel__onnx_final {
    artel_tensor of, tensor;
    int64_t step, units;
} artel__onnx_final;

/* Among integers that are reckoned of shapes: the size of the batch, and what is not known. */
#define ARTEL__ONNX_BATCH (INT64_MIN + 0x5a5a)
#define ARTEL__ONNX_OPEN (INT64_MIN + 0x5a5b)

typedef struct artel__onnx_import {
    artel__onnx_file file;
    artel__arena *arena;
    artel_builder *builder;
    artel__onnx_held *held;
    int count;
    artel__names by_name, uses; /* of values: where they are held; how many nodes read them */
    artel__names zeros,
        behind;     /* of values: that are zeros; that have the batch as second axis, as a recurrent node wants it */
    int layers, at; /* for names; the node being read */
    struct artel__onnx_weight {
        const char *name;
        const float *data;
        int64_t count;
    } * weight;
    int weights, room;
} artel__onnx_import;

typedef struct artel__onnx_import_row {
    const char *type;
    artel_status (*read)(artel__onnx_import *m, const artel__onnx_operator *node);
} artel__onnx_import_row;
extern const artel__onnx_import_row artel__onnx_imports_images[], artel__onnx_imports_plain[],
    artel__onnx_imports_shapes[], artel__onnx_imports_views[], artel__onnx_imports_recurrent[],
    artel__onnx_imports_sizes[]; /* end with NULL */

artel_status artel__keras_load_onnx(artel_context *ctx, const char *path, artel_model **out);

/* -- for the rows -- */
artel_status artel__onnx_import_refuse(artel__onnx_import *m, const artel__onnx_operator *node, const char *what);
/* The value that is input k, which has to be computed and not a constant. */
artel_status artel__onnx_take(artel__onnx_import *m, const artel__onnx_operator *node, int k, artel__onnx_held *out);
/* The same, wherever its batch is and however it lies: for nodes that treat each number alone, or look at neither. */
artel_status artel__onnx_take_any(artel__onnx_import *m, const artel__onnx_operator *node, int k,
                                  artel__onnx_held *out);
/* Lets the tensor have the rows that ONNX sees. */
artel_status artel__onnx_settle(artel__onnx_import *m, artel__onnx_held *value);
/* Constant input k, or NULL. */
const artel__onnx_numbers *artel__onnx_fixed(const artel__onnx_import *m, const artel__onnx_operator *node, int k);
/* Input k that may be absent (*out is NULL then) and otherwise has to be constant floats, one at least. */
artel_status artel__onnx_optional(artel__onnx_import *m, const artel__onnx_operator *node, int k,
                                  const artel__onnx_numbers **out);
/* Integers that older versions have as an attribute and newer ones as constant input k. At most `room`; how many there
 * are, -1: none. */
int artel__onnx_list_of(const artel__onnx_import *m, const artel__onnx_operator *node, const char *name, int k,
                        int64_t *out, int room);
/* The same with channels behind, or in ONNX' order. */
artel_status artel__onnx_to_last(artel__onnx_import *m, artel__onnx_held *value);
artel_status artel__onnx_to_plain(artel__onnx_import *m, artel__onnx_held *value);
/* A Permute of the tensor's axes (of a row, from 0). */
artel_status artel__onnx_permute(artel__onnx_import *m, artel__onnx_held *value, const int *dims);
/* Which axis of the tensor (of a row, from 0) ONNX' axis of a row is. */
int artel__onnx_axis_in(const artel__onnx_held *value, int axis);
/* A layer over tensors; `config` are members of its config behind the name ("\"units\": 3"); *name is what it is
 * called. */
artel_status artel__onnx_layer(artel__onnx_import *m, const char *class_name, const artel_tensor *tensors, int count,
                               const char *config, artel_tensor *out, const char **name);
/* The same over one value, in place. */
artel_status artel__onnx_over(artel__onnx_import *m, artel__onnx_held *value, const char *class_name, const char **name,
                              const char *format, ...) ARTEL__PRINTF(5, 6);
/* Numbers of the variable NAME/VARIABLE; kept until the model is made. */
artel_status artel__onnx_weight_is(artel__onnx_import *m, const char *layer, const char *variable, const float *data,
                                   int64_t count);
/* Output k is this from here on. */
artel_status artel__onnx_give(artel__onnx_import *m, const char *name, const artel__onnx_held *value);
float *artel__onnx_floats(artel__onnx_import *m, int64_t count);

/* -- views: the batch elsewhere than in front, rows that lie otherwise (onnx_import_views.c) -- */
/* Sees the same numbers as rows of another shape. */
void artel__onnx_see(artel__onnx_held *value, const artel_shape *to);
/* Which axis of a row (from 0) an axis of ONNX is, which may count from the end; -1: the batch, -2: none. */
int artel__onnx_row_axis(const artel__onnx_held *value, int64_t axis);
artel_status artel__onnx_view_transpose(artel__onnx_import *m, const artel__onnx_operator *node,
                                        artel__onnx_held *value);
artel_status artel__onnx_view_reshape(artel__onnx_import *m, const artel__onnx_operator *node, artel__onnx_held *value,
                                      const artel__onnx_numbers *shape);
artel_status artel__onnx_view_concat(artel__onnx_import *m, const artel__onnx_operator *node);
/* `count` places of an axis of a row. */
artel_status artel__onnx_cut(artel__onnx_import *m, const artel__onnx_operator *node, artel__onnx_held *value, int axis,
                             int64_t from, int64_t count);
/* The other way round along an axis of a row. */
artel_status artel__onnx_flip(artel__onnx_import *m, artel__onnx_held *value, int axis);
artel_status artel__onnx_select(artel__onnx_import *m, const artel__onnx_operator *node,
                                const artel__onnx_numbers *index);

/* -- sizes (onnx_import_sizes.c) -- */
/* Where the node reckons with constants and shapes alone, or makes zeros, its outputs are set and *done. */
artel_status artel__onnx_reckon(artel__onnx_import *m, const artel__onnx_operator *node, bool *done);
bool artel__onnx_is_zero(const artel__onnx_import *m, const artel__onnx_operator *node, int k);
/* Fills `behind`. */
artel_status artel__onnx_find_batches(artel__onnx_import *m);

#endif
