/* SPDX-License-Identifier: Apache-2.0 */
/* Reading patterns: by descent, straight into steps. What repeats is copied or wrapped where it ends, which relative
 * steps make simple. Escapes and classes are in pattern_atom.c. See pattern.h. */
#include <string.h>

#include "text/pattern_parse.h"

/* -- steps -- */

static artel__pattern_step *steps_of(const artel__pattern_reader *r)
{
    return r->pattern->steps.block;
}

bool artel__pattern_emit(artel__pattern_reader *r, artel__pattern_step_kind kind, int32_t a, int32_t b)
{
    if (r->pattern->steps.count >= ARTEL__PATTERN_STEPS)
        return artel__pattern_wrong(r, ARTEL_ERROR_INVALID, r->at, "it is too large");
    artel__pattern_step *step = artel__grow(r->ctx, &r->pattern->steps, sizeof *step);
    if (!step) return artel__pattern_memory(r);
    *step = (artel__pattern_step){kind, a, b};
    return true;
}

/* Before what begins at `start`. */
static bool insert(artel__pattern_reader *r, int32_t start, artel__pattern_step step)
{
    if (!artel__pattern_emit(r, step.kind, step.a, step.b)) return false;
    artel__pattern_step *steps = steps_of(r);
    memmove(&steps[start + 1], &steps[start], (size_t)(r->pattern->steps.count - 1 - start) * sizeof *steps);
    steps[start] = step;
    return true;
}

/* A copy of `count` steps behind the last. */
static bool copy(artel__pattern_reader *r, int32_t start, int32_t count)
{
    for (int32_t i = start; i < start + count; i++) {
        artel__pattern_step step = steps_of(r)[i];
        if (!artel__pattern_emit(r, step.kind, step.a, step.b)) return false;
    }
    return true;
}

/* -- repetition -- */

typedef struct repetition {
    int32_t least, most; /* -1: without end */
    bool lazy;
} repetition;

static artel__pattern_step choice(const repetition *by, int32_t on, int32_t past)
{
    return (artel__pattern_step){ARTEL__STEP_SPLIT, by->lazy ? past : on, by->lazy ? on : past};
}

/* The last `length` steps once more, as often as there is a match. */
static bool again(artel__pattern_reader *r, const repetition *by, int32_t length)
{
    artel__pattern_step back = choice(by, -length, 1);
    return artel__pattern_emit(r, back.kind, back.a, back.b);
}

/* x{0,} is (x{1,})?, so that an x without characters is tried once, as in RE2. */
static bool repeat(artel__pattern_reader *r, int32_t start, const repetition *by)
{
    int32_t length = r->pattern->steps.count - start, body = start, first = -1;
    if (by->most == 0) {
        r->pattern->steps.count = start;
        return true;
    }
    for (int32_t i = 1; i < by->least; i++)
        if (!copy(r, start, length)) return false;
    if (by->most < 0) {
        if (!again(r, by, length)) return false;
        return by->least > 0 || insert(r, start, choice(by, 1, length + 2));
    }
    int32_t optional = by->most - by->least, done = 0;
    if (by->least == 0) { /* what is there already is the first of them */
        if (!insert(r, start, choice(by, 1, 0))) return false;
        first = start;
        body++;
        done++;
    }
    for (; done < optional; done++) {
        if (first < 0) first = r->pattern->steps.count;
        if (!artel__pattern_emit(r, ARTEL__STEP_SPLIT, 0, 0) || !copy(r, body, length)) return false;
    }
    for (int32_t i = 0; i < optional; i++) {
        int32_t at = first + i * (length + 1);
        steps_of(r)[at] = choice(by, 1, r->pattern->steps.count - at);
    }
    return true;
}

/* Digits without a zero before others; -1: none, or too many to repeat. */
static int32_t read_count(const artel__pattern_reader *r, size_t *at)
{
    int32_t value = 0;
    size_t begin = *at;
    for (; *at < r->length && r->text[*at] >= '0' && r->text[*at] <= '9'; ++*at)
        if (value <= ARTEL__PATTERN_REPEATS) value = value * 10 + (r->text[*at] - '0');
    if (*at == begin || (*at > begin + 1 && r->text[begin] == '0')) return -1;
    return value;
}

/* {n}, {n,}, {n,m}; false: the brace is a character. */
static bool read_braces(const artel__pattern_reader *r, size_t *at, repetition *out)
{
    size_t next = *at + 1;
    out->least = out->most = read_count(r, &next);
    if (out->least < 0) return false;
    if (next < r->length && r->text[next] == ',') {
        bool open = ++next < r->length && r->text[next] == '}';
        out->most = open ? -1 : read_count(r, &next);
        if (!open && out->most < 0) return false;
    }
    if (next >= r->length || r->text[next] != '}') return false;
    *at = next + 1;
    return true;
}

/* An operator of repetition at `r->at`, which is passed; false: there is none. */
static bool read_repetition(artel__pattern_reader *r, repetition *out)
{
    char c = r->at < r->length ? r->text[r->at] : 0;
    if (c == '{') {
        if (!read_braces(r, &r->at, out)) return false;
    } else if (c == '*' || c == '+' || c == '?') {
        *out = (repetition){.least = c == '+', .most = c == '?' ? 1 : -1};
        r->at++;
    } else {
        return false;
    }
    bool asked = r->at < r->length && r->text[r->at] == '?';
    r->at += asked;
    out->lazy = asked != r->flags.lazy;
    return true;
}

static bool read_repetitions(artel__pattern_reader *r, int32_t start, bool atom, int32_t *repeats)
{
    repetition by, next;
    size_t at = r->at;
    if (!read_repetition(r, &by)) return true;
    if (!atom) return artel__pattern_wrong(r, ARTEL_ERROR_INVALID, at, "there is nothing to repeat");
    if (by.least > ARTEL__PATTERN_REPEATS || by.most > ARTEL__PATTERN_REPEATS || (by.most >= 0 && by.most < by.least))
        return artel__pattern_wrong(r, ARTEL_ERROR_INVALID, at, "nothing is repeated so often");
    int32_t times = by.most > by.least ? by.most : by.least;
    if (times > 1) *repeats *= times;
    if (*repeats > ARTEL__PATTERN_REPEATS)
        return artel__pattern_wrong(r, ARTEL_ERROR_INVALID, at, "repetitions in one another are over 1000");
    if (!repeat(r, start, &by)) return false;
    at = r->at;
    return !read_repetition(r, &next) || artel__pattern_wrong(r, ARTEL_ERROR_INVALID, at, "it is repeated twice");
}

/* -- groups -- */

static bool read_alternatives(artel__pattern_reader *r, int32_t *repeats);

static bool is_name(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!artel__pattern_is_word(text[i])) return false;
    }
    return length > 0;
}

static bool read_name(artel__pattern_reader *r, size_t begin)
{
    const char *end = memchr(r->text + begin, '>', r->length - begin);
    size_t length = end ? (size_t)(end - r->text) - begin : 0;
    if (!is_name(r->text + begin, length))
        return artel__pattern_wrong(r, ARTEL_ERROR_INVALID, r->at, "a group has no name");
    r->at = begin + length + 1;
    return true;
}

/* (?i-s:  or (?i): the flags; *group: a group begins behind them. */
static bool read_flags(artel__pattern_reader *r, bool *group)
{
    size_t begin = r->at;
    bool on = true, saw = false;
    artel__pattern_flags flags = r->flags;
    for (r->at += 2; r->at < r->length; r->at++) {
        char c = r->text[r->at];
        bool *flag = c == 'i'   ? &flags.fold
                     : c == 'm' ? &flags.lines
                     : c == 's' ? &flags.dot_all
                     : c == 'U' ? &flags.lazy
                                : NULL;
        if (flag) {
            *flag = on;
            saw = true;
        } else if (c == '-' && on) {
            on = saw = false;
        } else if ((c == ':' || c == ')') && (on || saw)) {
            *group = c == ':';
            r->flags = flags;
            r->at++;
            return true;
        } else {
            break;
        }
    }
    return artel__pattern_wrong(r, ARTEL_ERROR_INVALID, begin, "no group begins like this");
}

static bool read_rest_of_group(artel__pattern_reader *r, size_t begin, int number, int32_t *repeats)
{
    if (++r->depth > ARTEL__PATTERN_DEPTH)
        return artel__pattern_wrong(r, ARTEL_ERROR_INVALID, begin, "groups are too deep in one another");
    if (number && !artel__pattern_emit(r, ARTEL__STEP_SAVE, 2 * number, 0)) return false;
    if (!read_alternatives(r, repeats)) return false;
    if (number && !artel__pattern_emit(r, ARTEL__STEP_SAVE, 2 * number + 1, 0)) return false;
    if (r->at >= r->length) return artel__pattern_wrong(r, ARTEL_ERROR_INVALID, begin, "a parenthesis is not closed");
    r->at++;
    r->depth--;
    return true;
}

/* At "(": *atom: it is one, not flags alone. */
static bool read_group(artel__pattern_reader *r, bool *atom, int32_t *repeats)
{
    size_t begin = r->at;
    int number = 0;
    artel__pattern_flags flags = r->flags;
    bool special = begin + 1 < r->length && r->text[begin + 1] == '?';
    size_t name = begin + (begin + 2 < r->length && r->text[begin + 2] == 'P' ? 3 : 2);
    if (special && name < r->length && r->text[name] == '<') {
        if (!read_name(r, name + 1)) return false;
        number = ++r->pattern->groups;
    } else if (special) {
        if (!read_flags(r, atom)) return false;
        if (!*atom) return true;
    } else {
        r->at++;
        number = ++r->pattern->groups;
    }
    *atom = true;
    bool fine = read_rest_of_group(r, begin, number, repeats);
    r->flags = flags;
    return fine;
}

/* What an operator repeats is the last atom, also across flags and empty quotes, as in RE2: a(?i)* is a*(?i), and
 * a*(?i)? is no operator twice. */
static bool read_sequence(artel__pattern_reader *r, int32_t *repeats)
{
    int32_t last = 0, inside = 1; /* where the last atom begins, and how often it repeats what is in it */
    bool any = false;
    while (r->at < r->length && r->text[r->at] != '|' && r->text[r->at] != ')') {
        bool atom = false;
        int32_t start = r->pattern->steps.count, own = 1;
        char c = r->text[r->at];
        size_t at = r->at;
        repetition none;
        if (c == '(') {
            if (!read_group(r, &atom, &own)) return false;
        } else if (read_repetition(r, &none)) {
            return artel__pattern_wrong(r, ARTEL_ERROR_INVALID, at, "there is nothing to repeat");
        } else {
            if (!artel__pattern_atom(r, &start, &atom)) return false;
        }
        if (atom) {
            last = start;
            inside = own;
            any = true;
        }
        if (!read_repetitions(r, last, any, &inside)) return false;
        if (inside > *repeats) *repeats = inside;
    }
    return true;
}

static bool read_alternatives(artel__pattern_reader *r, int32_t *repeats)
{
    int32_t jump = 0,
            start = r->pattern->steps.count; /* jump: the last of those to the end; each holds the one before */
    for (;;) {
        if (!read_sequence(r, repeats)) return false;
        if (r->at >= r->length || r->text[r->at] != '|') break;
        r->at++;
        if (!insert(r, start, (artel__pattern_step){ARTEL__STEP_SPLIT, 1, 0}) ||
            !artel__pattern_emit(r, ARTEL__STEP_JUMP, jump, 0))
            return false;
        int32_t end = r->pattern->steps.count;
        steps_of(r)[start].b = end - start;
        jump = end - 1;
        start = end;
    }
    while (jump > 0) {
        artel__pattern_step *step = &steps_of(r)[jump];
        int32_t before = step->a;
        step->a = r->pattern->steps.count - jump;
        jump = before;
    }
    return true;
}

static bool read_all(artel__pattern_reader *r)
{
    int32_t repeats = 1;
    if (!artel__pattern_emit(r, ARTEL__STEP_SAVE, 0, 0) || !read_alternatives(r, &repeats)) return false;
    if (r->at < r->length) return artel__pattern_wrong(r, ARTEL_ERROR_INVALID, r->at, "no parenthesis is open here");
    return artel__pattern_emit(r, ARTEL__STEP_SAVE, 1, 0) && artel__pattern_emit(r, ARTEL__STEP_MATCH, 0, 0);
}

/* -- patterns -- */

bool artel__pattern_wrong(artel__pattern_reader *r, artel_status status, size_t at, const char *what)
{
    r->status = artel__fail(r->ctx, status, r->where, "the syntax is that of RE2; docs/eager.md says what is not here",
                            "the pattern is wrong at byte %zu: %s", at, what);
    return false;
}

bool artel__pattern_memory(artel__pattern_reader *r)
{
    r->status = ARTEL_ERROR_NO_MEMORY;
    return false;
}

/* What its runs need. */
static artel_status make_threads(artel_context *ctx, artel__pattern *p)
{
    size_t steps = (size_t)p->steps.count;
    p->slots = 2 * (p->groups < ARTEL__PATTERN_GROUPS ? p->groups + 1 : ARTEL__PATTERN_GROUPS);
    size_t slots = steps * (size_t)p->slots * sizeof(size_t), marks = steps * sizeof(uint64_t);
    size_t todo = (2 * steps + 2) * sizeof(artel__todo);
    ARTEL_TRY(artel__calloc(ctx, 1, 2 * (slots + marks + steps * sizeof(int32_t)) + todo, "pattern", &p->memory));
    char *at = p->memory;
    p->todo = (artel__todo *)(void *)at;
    at += todo;
    for (int i = 0; i < 2; i++) {
        p->threads[i].slot = (size_t *)(void *)at;
        p->threads[i].mark = (uint64_t *)(void *)(at + slots);
        at += slots + marks;
    }
    for (int i = 0; i < 2; i++) p->threads[i].step = (int32_t *)(void *)at + (size_t)i * steps;
    return ARTEL_OK;
}

artel_status artel__pattern_create(artel_context *ctx, const char *where, const char *text, size_t length,
                                   artel__pattern **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__pattern), "pattern", &block));
    artel__pattern *p = block;
    artel__pattern_reader reader = {.ctx = ctx, .where = where, .pattern = p, .text = text, .length = length};
    artel_status status = read_all(&reader) ? make_threads(ctx, p) : reader.status;
    if (status < 0)
        artel__pattern_destroy(ctx, p);
    else
        *out = p;
    return status;
}

void artel__pattern_destroy(artel_context *ctx, artel__pattern *p)
{
    if (!p) return;
    artel__free(ctx, p->memory);
    artel__free(ctx, p->ranges.block);
    artel__free(ctx, p->steps.block);
    artel__free(ctx, p);
}

int artel__pattern_groups(const artel__pattern *p)
{
    return p->groups;
}
