/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 600 */
/* libFuzzer: a line of bytes as a regular expression, the rest as the text that it is looked for in; behind a byte 1
 * both are made of pieces, so that most are well-formed. What is found, whether it is the whole, and the places of
 * groups are those of help_pattern.h, which reads the pattern again and tries one way after the other.
 */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "fuzz/help_fuzz.h"
#include "fuzz/help_pattern.h"
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

static const char *const pieces[] = {"a",
                                     "b",
                                     "a",
                                     "[^a]",
                                     ".",
                                     "\\b",
                                     "(?i)",
                                     "\\Qab\\E",
                                     "\\B",
                                     "$",
                                     "(?U)",
                                     "(",
                                     "(",
                                     "(?:",
                                     "(?i:",
                                     "|",
                                     ")",
                                     ")",
                                     /* from here on operators */ "*",
                                     "+",
                                     "?",
                                     "*?",
                                     "+?",
                                     "??",
                                     "{2}",
                                     "{0,2}",
                                     "{1,}?"};

enum {
    PIECES = sizeof pieces / sizeof *pieces,
    OPERATORS = 9
};

/* A byte, a piece; parentheses are closed, and no operator comes first. */
static size_t make_pattern(const uint8_t *data, size_t size, char out[MOST])
{
    size_t length = 0, open = 0;
    bool atom = false;
    for (size_t i = 0; i < size; i++) {
        size_t which = data[i] % PIECES;
        const char *piece = pieces[which];
        bool close = *piece == ')', operates = which >= PIECES - OPERATORS;
        if (length + strlen(piece) + open + 1 > MOST || (close && open == 0) || (operates && !atom)) continue;
        memcpy(out + length, piece, strlen(piece));
        length += strlen(piece);
        bool flags = strcmp(piece, "(?i)") == 0 || strcmp(piece, "(?U)") == 0, opens = *piece == '(' && !flags;
        open = open + opens - close;
        atom = flags ? atom : !operates && !opens && *piece != '|';
    }
    for (; open > 0; open--) out[length++] = ')';
    return length;
}

static size_t make_text(const uint8_t *data, size_t size, char out[MOST])
{
    size_t length = size < MOST ? size : MOST;
    for (size_t i = 0; i < length; i++) out[i] = "abaabA \n"[data[i] % 8];
    return length;
}

static bool same(const artel__match *a, const artel__match *b)
{
    return memcmp(a->begin, b->begin, sizeof a->begin) == 0 && memcmp(a->end, b->end, sizeof a->end) == 0;
}

static void look(artel__pattern *p, naive_pattern *naive, const char *text, size_t length)
{
    artel__match match, wanted;
    size_t middle = length / 2;
    while (middle > 0 && middle < length && ((unsigned char)text[middle] & 0xC0) == 0x80) middle--;
    bool whole = artel__pattern_matches(p, text, length);
    if (!naive) return;
    if (whole != naive_matches(naive, text, length)) abort();
    for (int i = 0; i < 2; i++) {
        size_t from = i ? middle : 0;
        bool found = artel__pattern_find(p, text, length, from, &match);
        if (found != naive_find(naive, text, length, from, &wanted)) abort();
        if (found && !same(&match, &wanted)) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    artel_context *ctx;
    artel__pattern *p;
    char pattern[MOST], text[MOST];
    bool made = size > 0 && data[0] == 1;
    data += made;
    size -= made;
    const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
    size_t first = line ? (size_t)(line - data) : size, rest = line ? first + 1 : size;
    size_t width = made ? make_pattern(data, first, pattern) : take(data, first, pattern);
    size_t length = made ? make_text(data + rest, size - rest, text) : take(data + rest, size - rest, text);
    if (artel_context_create(NULL, &ctx) < 0) return 0;
    if (artel__pattern_create(ctx, "fuzz", pattern, width, &p) == ARTEL_OK) {
        if (p->steps.count <= MOST_STEPS) look(p, naive_read(pattern, width), text, length);
        artel__pattern_destroy(ctx, p);
    }
    artel_context_destroy(ctx);
    return 0;
}

size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room)
{
    static const char *const seeds[] = {"(a|ab)(c|bcd)(d*)\nabcd",
                                        "(?i:k+?)*|[[:alpha:]-z]{2,3}\\b\nKelvin k\xE2\x84\xAA zz",
                                        "^(?P<x>[^\\d\\n]+)$|\\Qa.b\\E\\x{e9}(?sm-U)\na.b\xC3\xA9",
                                        "((a{30}){3}|(|b)*)\\B.\naaab",
                                        "a(?i)*|(\\Q\\\\\\E+[]\\w-]?\?)\\Q\\E{1,2}\nAa\\\\]b",
                                        "\1(ab|ba)*c?+3?(ac)qx\nababbaab",
                                        "\1kkrmsptabdzr{}|~\nhello world"};
    return artel_fuzz_text(seeds, sizeof seeds / sizeof *seeds, number, out, room);
}
