/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of groups and datasets in an arena: looking up and building.
 *
 * Children are lists in the order of the file. Lookups compare names one by one: the largest groups (the variables of
 * an optimizer) have some thousand members, and each is asked for once.
 */
#include <string.h>

#include "keras/h5_tree.h"

artel__h5_node *artel__h5_node_add(artel__arena *arena, artel__h5_node *parent, char *name, bool is_dataset)
{
    artel__h5_node *node = name ? artel__arena_alloc(arena, 1, sizeof *node) : NULL;
    if (!node) return NULL;
    node->name = name;
    node->is_dataset = is_dataset;
    if (!parent) return node;
    if (parent->last)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    parent->child_count++;
    return node;
}

artel__h5_attribute *artel__h5_attribute_add(artel__arena *arena, artel__h5_node *node, char *name)
{
    artel__h5_attribute *attribute = node && name ? artel__arena_alloc(arena, 1, sizeof *attribute) : NULL;
    if (!attribute) return NULL;
    attribute->name = name;
    if (node->last_attribute)
        node->last_attribute->next = attribute;
    else
        node->attributes = attribute;
    node->last_attribute = attribute;
    node->attribute_count++;
    return attribute;
}

bool artel__h5_is_h5(const void *bytes, size_t size)
{
    static const char signature[8] = "\x89HDF\r\n\x1a\n";
    for (size_t at = 0; at + sizeof signature <= size; at = at == 0 ? 512 : 2 * at)
        if (memcmp((const char *)bytes + at, signature, sizeof signature) == 0) return true;
    return false;
}

static const artel__h5_node *child_of_length(const artel__h5_node *node, const char *name, size_t length)
{
    for (const artel__h5_node *child = node->first; child; child = child->next)
        if (strncmp(child->name, name, length) == 0 && child->name[length] == '\0') return child;
    return NULL;
}

const artel__h5_node *artel__h5_child(const artel__h5_node *node, const char *name)
{
    return node ? child_of_length(node, name, strlen(name)) : NULL;
}

const artel__h5_node *artel__h5_find(const artel__h5_node *node, const char *path)
{
    for (;;) {
        while (*path == '/') path++;
        if (!node || *path == '\0') return node;
        size_t length = strcspn(path, "/");
        node = child_of_length(node, path, length);
        path += length;
    }
}

const artel__h5_attribute *artel__h5_attribute_find(const artel__h5_node *node, const char *name)
{
    if (!node) return NULL;
    for (const artel__h5_attribute *a = node->attributes; a; a = a->next)
        if (strcmp(a->name, name) == 0) return a;
    return NULL;
}

const char *artel__h5_attribute_text(const artel__h5_node *node, const char *name)
{
    const artel__h5_attribute *a = artel__h5_attribute_find(node, name);
    return a && a->kind == ARTEL__H5_STRINGS && a->count == 1 ? a->strings[0] : NULL;
}

artel__h5_node *artel__h5_root(artel__arena *arena)
{
    return artel__h5_node_add(arena, NULL, artel__arena_strdup(arena, "/"), false);
}

artel__h5_node *artel__h5_group(artel__arena *arena, artel__h5_node *parent, const char *name)
{
    return parent ? artel__h5_node_add(arena, parent, artel__arena_strdup(arena, name), false) : NULL;
}

artel__h5_node *artel__h5_groups(artel__arena *arena, artel__h5_node *parent, const char *path)
{
    while (parent) {
        while (*path == '/') path++;
        if (*path == '\0') break;
        size_t length = strcspn(path, "/");
        artel__h5_node *child = (artel__h5_node *)child_of_length(parent, path, length);
        if (!child)
            child = artel__h5_node_add(arena, parent, artel__arena_printf(arena, "%.*s", (int)length, path), false);
        parent = child && child->is_dataset ? NULL : child;
        path += length;
    }
    return parent;
}

artel__h5_node *artel__h5_dataset(artel__arena *arena, artel__h5_node *parent, const char *name, artel_dtype dtype,
                                  const artel_shape *shape, const void *data)
{
    artel__h5_node *node = parent ? artel__h5_node_add(arena, parent, artel__arena_strdup(arena, name), true) : NULL;
    if (!node) return NULL;
    int64_t count = artel_shape_count(shape);
    node->readable = true;
    node->dtype = dtype;
    node->shape = *shape;
    node->data = data;
    node->bytes = count > 0 ? (size_t)count * artel_dtype_size(dtype) : 0;
    if (dtype == ARTEL_DTYPE_BFLOAT16 && !artel__h5_set_text(arena, node, "dtype", "bfloat16")) return NULL;
    return node;
}

static bool set_strings(artel__arena *arena, artel__h5_node *node, const char *name, const char *const *values,
                        size_t count, bool scalar)
{
    artel__h5_attribute *a = artel__h5_attribute_add(arena, node, artel__arena_strdup(arena, name));
    const char **copy = a ? artel__arena_alloc(arena, count + 1, sizeof *copy) : NULL;
    if (!copy) return false;
    for (size_t i = 0; i < count; i++) copy[i] = artel__arena_strdup(arena, values[i]);
    a->kind = ARTEL__H5_STRINGS;
    a->scalar = scalar;
    a->count = count;
    a->strings = copy;
    return artel__arena_status(arena) >= 0;
}

bool artel__h5_set_text(artel__arena *arena, artel__h5_node *node, const char *name, const char *value)
{
    return set_strings(arena, node, name, &value, 1, true);
}

bool artel__h5_set_strings(artel__arena *arena, artel__h5_node *node, const char *name, const char *const *values,
                           size_t count)
{
    return set_strings(arena, node, name, values, count, false);
}

/* Eight bytes a value, of either kind. */
static bool set_numbers(artel__arena *arena, artel__h5_node *node, const char *name, const void *values, size_t count,
                        artel__h5_attribute kind)
{
    artel__h5_attribute *a = artel__h5_attribute_add(arena, node, artel__arena_strdup(arena, name));
    void *copy = a ? artel__arena_alloc(arena, count + 1, 8) : NULL;
    if (!copy) return false;
    if (count > 0) memcpy(copy, values, count * 8);
    a->kind = kind.kind;
    a->scalar = kind.scalar;
    a->count = count;
    a->ints = copy;
    return true;
}

bool artel__h5_set_ints(artel__arena *arena, artel__h5_node *node, const char *name, const int64_t *values,
                        size_t count, bool scalar)
{
    return set_numbers(arena, node, name, values, count,
                       (artel__h5_attribute){.kind = ARTEL__H5_INTS, .scalar = scalar});
}

bool artel__h5_set_doubles(artel__arena *arena, artel__h5_node *node, const char *name, const double *values,
                           size_t count, bool scalar)
{
    return set_numbers(arena, node, name, values, count,
                       (artel__h5_attribute){.kind = ARTEL__H5_DOUBLES, .scalar = scalar});
}
