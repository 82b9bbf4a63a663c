/* SPDX-License-Identifier: Apache-2.0 */
/* Weight regularisers: L1, L2 and both, as keras.regularizers writes them. */
#include <string.h>

#include "nn/parts.h"
#include "nn/record.h"

typedef struct regularizer_def {
    const char *class_name;
    const char *names[3];
    const artel__option *options;
} regularizer_def;

#define FACTOR(key, fallback)                                                                                            \
    {                                                                                                                    \
#key, "a number, not negative", ARTEL__OPTION_FLOAT, offsetof(artel__regularizer, key), fallback, 0, 1e300, NULL \
    }
#define END          \
    {                \
        .name = NULL \
    }

static const artel__option l1_options[] = {FACTOR(l1, "0.01"), END};
static const artel__option l2_options[] = {FACTOR(l2, "0.01"), END};
static const artel__option both_options[] = {FACTOR(l1, "0.0"), FACTOR(l2, "0.0"), END};

static const regularizer_def table[] = {
    {"L1", {"l1"}, l1_options},
    {"L2", {"l2"}, l2_options},
    {"L1L2", {"l1l2", "l1_l2"}, both_options},
};

static const char *const names[] = {"L1", "L2", "L1L2", "l1", "l2", "l1_l2", NULL};

artel_status artel__regularizer_read(artel__arena *arena, const char *where, json_t *json, artel__regularizer *out)
{
    *out = (artel__regularizer){0};
    if (!json || json_is_null(json)) return ARTEL_OK;
    artel__record record;
    ARTEL_TRY(artel__record_parse(arena->ctx, where, "regulariser", json, &record));
    for (size_t i = 0; i < ARTEL__COUNT(table); i++) {
        if (strcmp(table[i].class_name, record.name) == 0 || artel__name_in(record.name, table[i].names))
            return artel__record_options(arena, where, table[i].options, record.config, out);
    }
    return artel__record_unknown(arena->ctx, where, "regulariser", record.name, names, "docs/initializers.md");
}
