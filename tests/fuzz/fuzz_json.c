/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: any bytes as JSON. What can be read can be written, and the text written reads back to the same text.
 * long form: 200
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "fuzz/help_fuzz.h"

static char *rewrite(artel_context *ctx, const char *text, size_t size)
{
    json_t *value;
    char *out = NULL;
    if (artel__json_load(ctx, "fuzz", text, size, &value) < 0) return NULL;
    if (artel__json_dump_string(ctx, value, 0, &out) < 0) abort();
    json_decref(value);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    artel_context *ctx;
    if (artel_context_create(NULL, &ctx) < 0) return 0;
    char *once = rewrite(ctx, (const char *)data, size);
    if (once) {
        char *twice = rewrite(ctx, once, strlen(once));
        if (!twice || strcmp(once, twice) != 0) abort();
        artel__free(ctx, twice);
    }
    artel__free(ctx, once);
    artel_context_destroy(ctx);
    return 0;
}

size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room)
{
    static const char *const text[] = {"{\"a\": [1, -2.5e3, true, null, \"x\\u00e9\"], \"b\": {\"c\": []}}", "[[[[[[1]]]]], 0.1, 1e308]",
                                       "\"\\ud83d\\ude00\""};
    return artel_fuzz_text(text, sizeof text / sizeof *text, number, out, room);
}
