/* SPDX-License-Identifier: Apache-2.0 */
/* The fold of one scalar over the tree of shards, for reference kernels, and the reference kernels themselves.
 *
 * artel__ref_fold is the definition read aloud: leaf + 0.0f at the shards, left + right above. The lists of the faster
 * kernels end with the objects declared here.
 */
#ifndef ARTEL_KERNEL_REF_PRODUCT_FOLD_H
#define ARTEL_KERNEL_REF_PRODUCT_FOLD_H

#include "kernel/fold.h"
#include "kernel/kernel.h"

/* The raw value of the shard that holds batch rows [begin, end), counted from the first owned row. */
typedef float artel__ref_leaf_fn(const void *user, int64_t begin, int64_t end);

float artel__ref_fold(const artel__fold_plan *fold, artel__fold_node node, artel__ref_leaf_fn *leaf, const void *user);

extern const artel__kernel artel__ref_product_forward, artel__ref_product_pack, artel__ref_product_weight_gradient;
extern const artel__kernel artel__ref_conv2d_forward, artel__ref_conv2d_data_gradient,
    artel__ref_conv2d_weight_gradient;
extern const artel__kernel artel__ref_depthwise_forward, artel__ref_depthwise_data_gradient,
    artel__ref_depthwise_weight_gradient;

#endif
