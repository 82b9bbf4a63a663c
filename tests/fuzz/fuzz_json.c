/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 600 */
/* libFuzzer: any bytes as JSON. What can be read can be written, and the text written reads back to the same text; the
 * parser agrees with jansson's.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json_parse.h"
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

/* The parser takes what jansson's takes, and makes the same of it. */
static void compare(const char *text, size_t size)
{
    json_t *own = NULL, *other;
    size_t depth = 0;
    for (size_t i = 0; i < size; i++) depth += text[i] == '[' || text[i] == '{';
    if (depth > 500 || memchr(text, '\0', size)) return; /* jansson takes a NUL behind a number for the end */
    artel__json_answer answer = artel__json_parse(text, size, false, &own);
    other = json_loadb(text, size, JSON_DECODE_ANY, NULL);
    if (answer == ARTEL__JSON_NO_MEMORY || (answer == ARTEL__JSON_READ) != (other != NULL) ||
        (own && !json_equal(own, other)))
        abort();
    json_decref(own);
    json_decref(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    artel_context *ctx;
    compare((const char *)data, size);
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
    static const char *const text[] = {"{\"a\": [1, -2.5e3, true, null, \"x\\u00e9\"], \"b\": {\"c\": []}}",
                                       "[[[[[[1]]]]], 0.1, 1e308]", "\"\\ud83d\\ude00\"",
                                       "{\"a\": -0, \"a\": 1.5E+2, \"b\": [\"\\u0041\\n\\/\"]}",
                                       "[01, 1., 1e, -, \"\\x\", tru]"};
    return artel_fuzz_text(text, sizeof text / sizeof *text, number, out, room);
}
