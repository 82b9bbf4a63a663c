/* SPDX-License-Identifier: Apache-2.0 */
/* The algorithms by name, and the selection table: the first row that fits.
 *
 * Measured with bench/coll_bench.c between replicas of one process: merging everything everywhere saves a round (3 us
 * between two) and costs R times the reading, so it pays longest between two.
 */
#include "coll/select.h"

#include <string.h>

#include "base/advice.h"
#include "base/argument.h"
#include "base/extension.h"

#define ALL_REDUCE(name) extern const artel__all_reduce_def artel__all_reduce_##name;
#include "coll/algo/all_reduces.list"
#undef ALL_REDUCE

const artel__all_reduce_def *const artel__all_reduces[] = {
#define ALL_REDUCE(name) &artel__all_reduce_##name,
#include "coll/algo/all_reduces.list"
#undef ALL_REDUCE
    NULL,
};

enum {
    MOST_NAMES = 32,
    MOST_NAME = 128
};

/* -- by name -- */

static bool is_like(const char *like, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = like; at; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, name, length) == 0 && (at[length] == ' ' || at[length] == '\0')) return true;
    }
    return false;
}

static artel_status unknown(artel_context *ctx, const char *name)
{
    const char *names[MOST_NAMES + 2] = {"auto"};
    char advice[128];
    for (int i = 0; artel__all_reduces[i] && i < MOST_NAMES; i++) names[i + 1] = artel__all_reduces[i]->name;
    artel__advise_name(name, names, advice, sizeof advice);
    return artel__fail(ctx, ARTEL_ERROR_INVALID, "all_reduce", advice, "there is no all-reduce named \"%.60s\"", name);
}

/* The library's own of this name; NULL: there is none. */
static const artel__all_reduce_def *find_built_in(const char *name)
{
    for (const artel__all_reduce_def *const *at = artel__all_reduces; *at; at++) {
        if (strcmp((*at)->name, name) == 0 || is_like((*at)->like, name)) return *at;
    }
    return NULL;
}

static bool is_auto(const char *name)
{
    return strcmp(name, "auto") == 0 || strcmp(name, "AUTO") == 0;
}

artel_status artel__all_reduce_find(artel_context *ctx, const char *name, const artel__all_reduce_def **out)
{
    *out = NULL;
    if (!name || !*name || is_auto(name)) return ARTEL_OK;
    *out = find_built_in(name);
    if (!*out) *out = artel__extension_find(ctx, "all-reduce", name);
    return *out ? ARTEL_OK : unknown(ctx, name);
}

artel_status artel_context_add_all_reduce(artel_context *ctx, const artel_all_reduce_definition *definition)
{
    static const artel__range no_ranges[] = {{.name = NULL}};
    static const artel__options_kind kind = {"all-reduce definition", "set struct_size", sizeof *definition, no_ranges};
    artel_all_reduce_definition own = {.struct_size = sizeof own};
    void *block;
    ARTEL_TRY(artel__enter(ctx, __func__, "context definition", ctx, definition));
    ARTEL_TRY(artel__take_options(ctx, &kind, definition, &own));
    if (!own.list || !own.name || !own.name[0] || strlen(own.name) >= MOST_NAME)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, kind.where, "give it a name of less than 128 bytes and a list",
                           "it has no name, too long a one, or no list");
    if (is_auto(own.name) || find_built_in(own.name))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, own.name, "add it under a name of its own",
                           "there is an all-reduce of this name");
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__all_reduce_def) + strlen(own.name) + 1, "all-reduce", &block));
    artel__all_reduce_def *def = block;
    char *name = (char *)(def + 1);
    strcpy(name, own.name);
    own.name = name;
    *def = (artel__all_reduce_def){
        .name = name, .doc = "The program's own.", .ops = &artel__all_reduce_relay_ops, .route = own};
    return artel__extension_add(ctx, "all-reduce", name, def);
}

/* -- by size -- */

typedef struct row {
    int64_t most_bytes;
    int32_t most_ranks;
    artel__coll_algorithm algorithm;
} row;

static const row rows[] = {
    {131072, 2, ARTEL__COLL_REDUNDANT}, {16384, 4, ARTEL__COLL_REDUNDANT},          {4096, 8, ARTEL__COLL_REDUNDANT},
    {2048, 64, ARTEL__COLL_REDUNDANT},  {INT64_MAX, INT32_MAX, ARTEL__COLL_DIRECT},
};

artel__coll_algorithm artel__coll_select(int64_t bytes, int32_t ranks)
{
    const row *at = rows;
    while (bytes > at->most_bytes || ranks > at->most_ranks) at++;
    return at->algorithm;
}

const char *artel__coll_algorithm_name(artel__coll_algorithm algorithm)
{
    return algorithm == ARTEL__COLL_DIRECT ? "direct" : "redundant";
}

/* Up to how many bytes one round is taken; -1: never. */
static int64_t most_redundant(int32_t ranks)
{
    const row *at = rows;
    while (ranks > at->most_ranks) at++;
    return at->most_bytes < INT64_MAX ? at->most_bytes : -1;
}

void artel__coll_select_dump(int32_t ranks, artel__text *out)
{
    artel__text_printf(out, "chosen by size, between %d ranks: ", ranks);
    if (most_redundant(ranks) >= 0)
        artel__text_printf(out, "redundant up to %lld bytes (one round saves more than it sends), else ",
                           (long long)most_redundant(ranks));
    artel__text_append(out, "direct (fewest bytes)\n");
}

void artel__coll_select_explain(int64_t bytes, int32_t ranks, artel__text *out)
{
    artel__coll_algorithm chosen = artel__coll_select(bytes, ranks);
    artel__text_append(out, artel__coll_algorithm_name(chosen));
    if (chosen == ARTEL__COLL_REDUNDANT)
        artel__text_printf(out, ": one round, up to %lld bytes", (long long)most_redundant(ranks));
    else if (most_redundant(ranks) >= 0)
        artel__text_printf(out, ": fewest bytes, from %lld on", (long long)most_redundant(ranks) + 1);
    else
        artel__text_append(out, ": fewest bytes, always between so many");
}
