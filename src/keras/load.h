/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of file a model or its weights come from, told apart by content, and the readers of each.
 *
 * A reader fills a state of its own and hands it over only when everything was read, so that a failed load leaves the
 * model as it was.
 */
#ifndef ARTEL_KERAS_LOAD_H
#define ARTEL_KERAS_LOAD_H

#include "keras/variables.h"

typedef enum artel__keras_kind {
    ARTEL__KERAS_ARCHIVE, /* .keras: zip or directory */
    ARTEL__KERAS_LEGACY,  /* whole-model .h5, or legacy weights .h5 */
    ARTEL__KERAS_WEIGHTS, /* .weights.h5 */
    ARTEL__KERAS_JSON,    /* text of to_json() */
    ARTEL__KERAS_SAFETENSORS,
    ARTEL__KERAS_TF_CHECKPOINT, /* tf_checkpoint.h */
    ARTEL__KERAS_ONNX
} artel__keras_kind;

/* What a file is: HDF5 files are ARTEL__KERAS_WEIGHTS until they are read. CORRUPT when it is none of these. */
artel_status artel__keras_sniff(artel_context *ctx, const char *path, artel__keras_kind *out);
/* Whether an HDF5 file is of the legacy kind. */
bool artel__keras_is_legacy(const artel__h5_node *root);

/* Weights from the tree of a weights file, by Keras' rules: groups that the model does not have are passed over, a
 * missing variable or another shape is an error. The optimizer's variables too, unless NULL. */
artel_status artel__keras_load_tree(artel_model *model, const char *where, const artel__h5_node *root,
                                    artel__saved_optimizer *optimizer);
/* Weights in the order of the layers that have some (legacy_h5_format.py). `group` holds layer_names. */
artel_status artel__keras_load_layers(artel_model *model, const char *where, const artel__h5_node *group);
/* The same, and the optimizer's state taken up when the tree has any, as Keras' load_weights of a compiled model does.
 */
artel_status artel__keras_load_tree_weights(artel_model *model, const char *path, const artel__h5_node *root);
/* Weights from the files that a .weights.json names (load_shards.c). */
artel_status artel__keras_load_shards(artel_model *model, const char *path);
/* The strings of an attribute that may be split into name0, name1, ...; NULL-terminated in the arena; NULL when memory
 * is out. An attribute that is absent gives an empty list. */
const char *const *artel__keras_names(artel__arena *arena, const artel__h5_node *node, const char *name, size_t *count);

/* Weights from a safetensors file, names = paths of the weights tree with dots. */
artel_status artel__safetensors_load(artel_model *model, const char *path);
artel_status artel__safetensors_save(const artel_model *model, const char *path);

/* The weights archive member or file opened as a tree; `arena` and `file` are released by the caller. */
typedef struct artel__keras_archive {
    artel__arena arena;
    artel__h5_file weights;
    json_t *config;   /* of config.json; NULL when not asked for */
    json_t *metadata; /* of metadata.json; NULL when not asked for, not there, or no JSON */
} artel__keras_archive;
artel_status artel__keras_archive_open(artel_context *ctx, const char *path, bool with_config,
                                       artel__keras_archive *out);
/* Also valid on a zeroed struct. */
void artel__keras_archive_close(artel__keras_archive *archive);

#endif
