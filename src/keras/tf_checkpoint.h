/* SPDX-License-Identifier: Apache-2.0 */
/* TensorFlow's checkpoints (V2: tf.train.Checkpoint, tf.compat.v1.train.Saver) and the variables of a SavedModel:
 * arrays by name.
 *
 * PREFIX.index is a table (tf_table.h) from keys to records {dtype, shape, shard, offset, size, checksum};
 * PREFIX.data-00000-of-00001 ... hold the bytes. Checkpoints of objects have the key _CHECKPOINTABLE_OBJECT_GRAPH, a
 * message that says what the variable behind each other key is called: with Keras that is the variable's path,
 * "dense/kernel". Without it the keys are the names. Formats: tensorflow/core/protobuf/tensor_bundle.proto,
 * trackable_object_graph.proto.
 */
#ifndef ARTEL_KERAS_TF_CHECKPOINT_H
#define ARTEL_KERAS_TF_CHECKPOINT_H

#include "base/file.h"
#include "base/names.h"
#include "keras/variables.h"

typedef struct artel__tf_tensor {
    const char *key;
    int type;    /* TensorFlow's DataType */
    bool sliced; /* cut into parts, of which each has a key of its own */
    artel_shape shape;
    int shard;
    uint64_t offset, size;
    uint32_t checksum;
} artel__tf_tensor;

typedef struct artel__tf_checkpoint {
    artel__arena arena;
    const char *prefix;
    artel__mapping index, *shard;
    int shards;
    artel__tf_tensor *tensor;
    int count, capacity;
    artel__names by_key, by_name;
} artel__tf_checkpoint;

/* What a path means: the prefix itself, its .index file, a folder with TensorFlow's file "checkpoint" (the newest in
 * it), a SavedModel. NULL in *out: none of these. */
artel_status artel__tf_checkpoint_find(artel__arena *arena, const char *path, const char **out);
/* Errors: NOT_FOUND, CORRUPT, UNSUPPORTED. Closed also after a failure. */
artel_status artel__tf_checkpoint_open(artel_context *ctx, const char *prefix, artel__tf_checkpoint *out);
void artel__tf_checkpoint_close(artel__tf_checkpoint *checkpoint);
/* The array that a name stands for, checked; its name is NULL when there is none. */
artel_status artel__tf_checkpoint_array(artel__tf_checkpoint *checkpoint, const char *name, artel__keras_array *out);

/* Weights of a model by the names that Keras gives its variables. What the checkpoint has besides is passed over. */
artel_status artel__tf_checkpoint_load(artel_model *model, const char *path);

#endif
