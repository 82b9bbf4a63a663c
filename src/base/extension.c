/* SPDX-License-Identifier: Apache-2.0 */
/* A list: programs add a handful. */
#include "base/extension.h"

#include <string.h>

#include "base/context_impl.h"

struct artel__extension {
    const char *kind; /* a constant */
    char *name;
    void *definition;
    struct artel__extension *next;
};

/* Without the package in front. */
static const char *plain_name(const char *name)
{
    const char *end = strrchr(name, '>');
    return end ? end + 1 : name;
}

static bool matches(const char *stored, const char *asked)
{
    bool both = strchr(stored, '>') && strchr(asked, '>');
    return both ? strcmp(stored, asked) == 0 : strcmp(plain_name(stored), plain_name(asked)) == 0;
}

const void *artel__extension_find(const artel_context *ctx, const char *kind, const char *name)
{
    for (const struct artel__extension *e = name ? ctx->extension : NULL; e; e = e->next) {
        if (strcmp(e->kind, kind) == 0 && matches(e->name, name)) return e->definition;
    }
    return NULL;
}

artel_status artel__extension_add(artel_context *ctx, const char *kind, const char *name, void *definition)
{
    void *block = NULL;
    char *copy = NULL;
    artel_status status = ARTEL_OK;
    if (artel__extension_find(ctx, kind, name))
        status = artel__fail(ctx, ARTEL_ERROR_INVALID, name, "add it once, under a name of its own",
                             "there is a %s of this name", kind);
    if (status == ARTEL_OK) status = artel__alloc(ctx, sizeof(struct artel__extension), "extension", &block);
    if (status == ARTEL_OK) status = artel__strdup(ctx, name, &copy);
    if (status < 0) {
        artel__free(ctx, block);
        artel__free(ctx, definition);
        return status;
    }
    struct artel__extension *added = block;
    *added = (struct artel__extension){kind, copy, definition, ctx->extension};
    ctx->extension = added;
    return ARTEL_OK;
}

void artel__extensions_fini(artel_context *ctx)
{
    while (ctx->extension) {
        struct artel__extension *first = ctx->extension;
        ctx->extension = first->next;
        artel__free(ctx, first->name);
        artel__free(ctx, first->definition);
        artel__free(ctx, first);
    }
}
