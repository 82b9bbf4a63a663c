/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions (text/pattern.h) on arrays of strings, as tf.strings.regex_full_match and regex_replace. words.c
 * has their table. */
#include "base/utf8.h"
#include "text/pattern.h"
#include "text/words.h"

/* Once for each match that is looked for: of a long text there may be many, and each takes as long as the text. */
static artel_status go_on(const artel__string_call *c)
{
    if (!artel__cancelled(c->ctx)) return ARTEL_OK;
    return artel__fail(c->ctx, ARTEL_ERROR_CANCELLED, c->operation->name, "call artel_context_clear to go on",
                       "cancelled");
}

static artel_status create(const artel__string_call *c, artel__pattern **out)
{
    const artel_string *text = &c->settings->pattern;
    if (!text->bytes) return artel__string_wrong(c, "give a regular expression", "the setting 'pattern' is missing");
    return artel__pattern_create(c->ctx, c->operation->name, text->bytes, text->length, out);
}

artel_status artel__string_infer_match(const artel__string_call *c, artel_dtype *dtype, artel_shape *shape)
{
    artel__pattern *pattern;
    ARTEL_TRY(create(c, &pattern));
    artel__pattern_destroy(c->ctx, pattern);
    *dtype = ARTEL_DTYPE_BOOL;
    *shape = c->in[0].shape;
    return ARTEL_OK;
}

artel_status artel__string_full_match(const artel__string_call *c)
{
    artel__pattern *pattern;
    void *block;
    ARTEL_TRY(create(c, &pattern));
    artel_status status = artel__string_like(c, ARTEL_DTYPE_BOOL, &block);
    for (int64_t i = 0; i < c->in[0].count && status == ARTEL_OK; i++) {
        artel_string s = artel__string_in(c, 0)[i];
        status = go_on(c);
        if (status == ARTEL_OK) ((uint8_t *)block)[i] = artel__pattern_matches(pattern, s.bytes, s.length);
    }
    artel__pattern_destroy(c->ctx, pattern);
    return status;
}

/* -- replacing -- */

/* A backslash and a digit are a group, two backslashes one; anything else behind one is wrong. */
static artel_status check_rewrite(const artel__string_call *c, int groups)
{
    artel_string s = c->settings->rewrite;
    if (!s.bytes) return artel__string_wrong(c, "say what comes instead", "the setting 'rewrite' is missing");
    for (size_t i = 0; i < s.length; i++) {
        if (s.bytes[i] != '\\') continue;
        char next = ++i < s.length ? s.bytes[i] : 0;
        if (next != '\\' && (next < '0' || next > '9'))
            return artel__string_wrong(c, "write \\0 to \\9 for groups, \\\\ for a backslash",
                                       "'rewrite' has a backslash before something else");
        if (next != '\\' && next - '0' > groups)
            return artel__string_wrong(c, "write more parentheses into the pattern",
                                       "'rewrite' has a group that the pattern has not");
    }
    return ARTEL_OK;
}

artel_status artel__string_infer_replace(const artel__string_call *c, artel_dtype *dtype, artel_shape *shape)
{
    artel__pattern *pattern;
    ARTEL_TRY(create(c, &pattern));
    artel_status status = check_rewrite(c, artel__pattern_groups(pattern));
    artel__pattern_destroy(c->ctx, pattern);
    *dtype = ARTEL_DTYPE_STRING;
    *shape = c->in[0].shape;
    return status;
}

static void write_match(const artel__string_call *c, const char *text, const artel__match *match,
                        artel__string_writer *to)
{
    artel_string s = c->settings->rewrite;
    for (size_t i = 0; i < s.length; i++) {
        const char *from = s.bytes + i;
        size_t length = 1;
        if (*from == '\\') {
            char next = s.bytes[++i];
            int group = next - '0';
            if (next != '\\') {
                if (match->end[group] == SIZE_MAX) continue;
                from = text + match->begin[group];
                length = match->end[group] - match->begin[group];
            }
        }
        artel__string_write(to, from, length);
    }
}

/* As RE2::GlobalReplace: no empty match where the last one ended. */
static artel_status replace(const artel__string_call *c, artel__pattern *pattern, const artel_string *s,
                            artel__string_writer *to)
{
    artel__match match;
    const char *text = s->length ? s->bytes : "";
    size_t at = 0, last = SIZE_MAX;
    while (at <= s->length) {
        ARTEL_TRY(go_on(c));
        if (!artel__pattern_find(pattern, text, s->length, at, &match)) break;
        size_t width = match.begin[0] - at;
        bool skip = match.begin[0] == last && match.end[0] == last;
        if (skip && at == s->length) break;
        if (skip) (void)artel__utf8_take(text + at, s->length - at, &width);
        artel__string_write(to, text + at, width);
        at += width;
        if (skip) continue;
        write_match(c, text, &match, to);
        at = last = match.end[0];
        if (c->settings->first) break;
    }
    artel__string_write(to, text + at, s->length - at);
    return ARTEL_OK;
}

artel_status artel__string_replace(const artel__string_call *c)
{
    artel__pattern *pattern;
    artel__string_writer writer;
    int64_t count = c->in[0].count;
    ARTEL_TRY(create(c, &pattern));
    artel_status status = check_rewrite(c, artel__pattern_groups(pattern));
    if (status == ARTEL_OK) status = artel__string_begin(c->ctx, count, &writer);
    if (status == ARTEL_OK) {
        for (int64_t i = 0; i < count && status == ARTEL_OK; i++) {
            status = replace(c, pattern, &artel__string_in(c, 0)[i], &writer);
            artel__string_next(&writer);
        }
        status = artel__string_end(&writer, c, &c->in[0].shape, status);
    }
    artel__pattern_destroy(c->ctx, pattern);
    return status;
}
