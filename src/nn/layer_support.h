/* SPDX-License-Identifier: Apache-2.0 */
/* What the layer families share: settings that are records, weights with their parts, inputs, axes. */
#ifndef ARTEL_NN_LAYER_SUPPORT_H
#define ARTEL_NN_LAYER_SUPPORT_H

#include <stddef.h>

#include "nn/layer.h"

/* Rows of option tables. A PART is read from the record by the layer itself; it only appears here as known. */
#define ARTEL__PART(name, help)                                  \
    {                                                            \
        name, help, ARTEL__OPTION_IGNORED, 0, "null", 0, 0, NULL \
    }
#define ARTEL__WEIGHT_PARTS(weight)                                                  \
    ARTEL__PART(weight "_initializer", "initialiser: a name or a record"),           \
        ARTEL__PART(weight "_regularizer", "regulariser: a name, a record or null"), \
        ARTEL__PART(weight "_constraint", "constraint: a name, a record or null")
#define ARTEL__OPTIONS_END                                     \
    {                                                          \
        NULL, NULL, ARTEL__OPTION_IGNORED, 0, NULL, 0, 0, NULL \
    }

/* data_format: 0 channels_last, 1 channels_first. */
extern const char *const artel__channel_orders[];
#define ARTEL__DATA_FORMAT(type)                                                                           \
    {                                                                                                      \
        "data_format", "channels_last or channels_first", ARTEL__OPTION_ENUM, offsetof(type, data_format), \
            "channels_last", 0, 0, artel__channel_orders                                                   \
    }

/* The value of a key of the layer's config; NULL when absent or null. */
json_t *artel__layer_setting(const artel__layer *layer, const char *key);
artel_status artel__layer_activation(artel__layer *layer, const char *key, artel__activation_config *out);

/* The parts of one weight: `weight`_initializer (absent: `fallback`), _regularizer, _constraint. */
typedef struct artel__weight_parts {
    artel__initializer initializer;
    artel__regularizer regularizer;
    artel__constraint_config constraint;
    bool matrix_fans; /* see artel__weight */
} artel__weight_parts;
artel_status artel__layer_weight_parts(artel__layer *layer, const char *weight, const char *fallback,
                                       artel__weight_parts *out);
/* As artel__layer_add_weight; the status in place of the index. */
artel_status artel__layer_declare(artel__layer *layer, const char *name, const artel_shape *shape, int64_t rows,
                                  bool trainable, const artel__weight_parts *parts);

/* Fails unless the call has one tensor whose row has least .. most axes. */
/* The record of the layer that the setting "layer" of a wrapper holds. */
artel_status artel__layer_inside(const artel__layer *layer, json_t **record);
artel_status artel__layer_check_input(const artel__layer *layer, const artel__call *call, int least, int most);
/* One integer stands for `rank` equal ones; every one is least .. 2^31 - 1. */
artel_status artel__layer_spread(const artel__layer *layer, const char *key, artel__ints *list, int rank,
                                 int64_t least);

void artel__call_return(artel__call *call, artel__value_id value);
bool artel__layer_always(const artel__layer *layer, bool training); /* true */
/* Anything but float32 is converted. */
/* Whether the operation of keras.ops of this class computes in float64 (layer_ops_float64.c). */
bool artel__raw_has_float64(const char *class_name);
artel__value_id artel__as_float(artel__graph *graph, artel__value_id x); /* float32, or what graph->real says */
/* A GLOBAL constant of many numbers, copied: float32, or what graph->real says. */
artel__value_id artel__constant_numbers(artel__graph *graph, const artel_shape *shape, const double *number);
/* A list of numbers, nested to any depth, or Keras' record of an array ("__numpy__", "__tensor__"): a GLOBAL float32
 * constant. ARTEL__NO_VALUE when it is neither. */
artel__value_id artel__constant_json(artel__graph *graph, json_t *json);
/* The same as numbers in the arena; false when it is neither. */
bool artel__numbers_json(artel__arena *arena, json_t *json, artel_shape *shape, const float **numbers);
bool artel__exact_numbers_json(artel__arena *arena, json_t *json, artel_shape *shape, const double **numbers);

/* The axes in the bit set moved behind the others, in order; permutation receives what artel__axes_back undoes. */
artel__value_id artel__axes_last(artel__graph *graph, artel__value_id x, uint32_t axes, int *permutation);
artel__value_id artel__axes_back(artel__graph *graph, artel__value_id x, const int *permutation);
int artel__bit_count(uint32_t bits);
/* The channels of [c][...] moved behind the other axes when data_format is channels_first, and back: kernels know
 * channels_last. */
artel__value_id artel__channels_last(artel__graph *graph, artel__value_id x, int data_format);
artel__value_id artel__channels_back(artel__graph *graph, artel__value_id x, int data_format);

/* x [...][m][k] and y [...][n][k] to [...][m][n], leading axes broadcast: out = sum over k of x * y. Meant for small
 * matrices: the products are kept before they are summed, and more than 2^26 of them in a row are refused. */
artel__value_id artel__row_products(artel__graph *graph, artel__value_id x, artel__value_id y);

/* `axis` as Keras writes it, an integer or a list, as a bit set of row axes; `fallback` when the key is absent. */
artel_status artel__layer_axes(const artel__layer *layer, json_t *axis, int fallback, int rank, uint32_t *out);

#endif
