/* SPDX-License-Identifier: Apache-2.0 */
/* What reading and building trees share: appending nodes and attributes. Names are taken, not copied; a NULL name
 * (memory was out) gives NULL. */
#ifndef ARTEL_KERAS_H5_TREE_H
#define ARTEL_KERAS_H5_TREE_H

#include "keras/h5.h"

/* Appends to `parent`, which may be NULL for a root. */
artel__h5_node *artel__h5_node_add(artel__arena *arena, artel__h5_node *parent, char *name, bool is_dataset);
artel__h5_attribute *artel__h5_attribute_add(artel__arena *arena, artel__h5_node *node, char *name);

/* Turns the helper's answer into a tree; also used by the fuzzer, hence apart from the process. `file` has image and
 * reply. */
artel_status artel__h5_parse(artel__arena *arena, const char *where, artel__h5_file *file);

#endif
