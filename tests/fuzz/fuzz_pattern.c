/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 600 */
/* libFuzzer: a line of bytes as a regular expression, the rest as the text that it is looked for in. What is one match
 * as a whole is found at the beginning, and places of groups lie in the match's text.
 */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "fuzz/help_fuzz.h"
#include "text/pattern_impl.h"

enum {
    MOST = 96,         /* bytes of each */
    MOST_STEPS = 20000 /* larger ones are made, and not run */
};

/* A copy that is UTF-8. */
static size_t take(const uint8_t *data, size_t size, char out[MOST])
{
    size_t length = size < MOST ? size : MOST;
    if (length > 0) memcpy(out, data, length);
    if (artel__utf8_valid(out, length) < length) {
        for (size_t i = 0; i < length; i++) out[i] &= 0x7F;
    }
    return length;
}

static void look(artel__pattern *p, const char *text, size_t length)
{
    artel__match match;
    bool whole = artel__pattern_matches(p, text, length), found = artel__pattern_find(p, text, length, 0, &match);
    if (whole && (!found || match.begin[0] != 0)) abort();
    for (int g = 0; found && g < ARTEL__PATTERN_GROUPS; g++) {
        bool none = match.begin[g] == SIZE_MAX || match.end[g] == SIZE_MAX;
        if (!none && (match.begin[g] > match.end[g] || match.begin[g] < match.begin[0] || match.end[g] > match.end[0]))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    artel_context *ctx;
    artel__pattern *p;
    char pattern[MOST], text[MOST];
    const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
    size_t first = line ? (size_t)(line - data) : size, rest = line ? first + 1 : size;
    size_t length = take(data + rest, size - rest, text);
    if (artel_context_create(NULL, &ctx) < 0) return 0;
    if (artel__pattern_create(ctx, "fuzz", pattern, take(data, first, pattern), &p) == ARTEL_OK) {
        if (p->steps.count <= MOST_STEPS) look(p, text, length);
        artel__pattern_destroy(ctx, p);
    }
    artel_context_destroy(ctx);
    return 0;
}

size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room)
{
    static const char *const seeds[] = {
        "(a|ab)(c|bcd)(d*)\nabcd", "(?i:k+?)*|[[:alpha:]-z]{2,3}\\b\nKelvin k\xE2\x84\xAA zz",
        "^(?P<x>[^\\d\\n]+)$|\\Qa.b\\E\\x{e9}(?sm-U)\na.b\xC3\xA9", "((a{30}){3}|(|b)*)\\B.\naaab"};
    return artel_fuzz_text(seeds, sizeof seeds / sizeof *seeds, number, out, room);
}
