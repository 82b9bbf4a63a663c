/* SPDX-License-Identifier: Apache-2.0 */
/* See help_pattern.h. Nothing here looks for errors: the other has accepted the pattern. One file, over 400 lines:
 * to be held against the files of src/text it is best read from the first to the last. */
#include "fuzz/help_pattern.h"

#include <ctype.h>
#include <string.h>

#include "base/utf8.h"

enum {
    TREES = 512,
    NODES = 1000,
    PLACES = 97,
    SLOTS = 2 * ARTEL__PATTERN_GROUPS
};

typedef enum kind {
    EMPTY,
    SET,
    ASSERTION,
    SEQUENCE,
    ALTERNATIVES,
    GROUP,
    REPETITION,
    SPLIT,
    SAVE,
    MATCH
} kind;

typedef struct tree {
    kind kind;
    int a, b;        /* parts; of a group b is its number */
    int least, most; /* -1: without end */
    bool lazy, fold, all, lines, quoted;
    size_t at; /* of a set or an assertion: its first byte in the pattern */
} tree;

typedef struct node {
    kind kind;
    int tree;        /* of a set or an assertion */
    int next, other; /* what follows, and what else; of a save `other` is the slot */
} node;

typedef struct job {
    int node; /* -1: the slot is `place` again */
    int slot;
    size_t place;
} job;

struct naive_pattern {
    const char *text;
    size_t length, at;
    tree flags; /* the flags of what is read next */
    int groups, trees, nodes, first;
    tree tree[TREES];
    node node[NODES];
    const char *in;
    size_t in_length, slot[SLOTS];
    bool tried[NODES * PLACES];
    job job[NODES * PLACES + 2];
};

/* -- characters -- */

static char byte(const naive_pattern *n, size_t at)
{
    return at < n->length ? n->text[at] : 0;
}

static int32_t character(const naive_pattern *n, size_t *at)
{
    size_t width;
    int32_t code = artel__utf8_take(n->text + *at, n->length - *at, &width);
    *at += width;
    return code;
}

static int32_t number(const naive_pattern *n, size_t *at, int base, size_t most)
{
    int32_t value = 0;
    for (size_t end = *at + most; *at < end && isxdigit((unsigned char)byte(n, *at)); ++*at) {
        char c = byte(n, *at);
        int digit = isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
        if (digit >= base) break;
        value = value * base + digit;
    }
    return value;
}

/* A character, also by an escape. */
static int32_t one(const naive_pattern *n, size_t *at)
{
    if (byte(n, *at) != '\\') return character(n, at);
    char c = byte(n, ++*at);
    if (c >= '0' && c <= '7') return number(n, at, 8, 3);
    if (c != 'x' && !isalpha((unsigned char)c)) return character(n, at);
    ++*at;
    switch (c) {
    case 'a': return '\a';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'v': return '\v';
    default: break;
    }
    if (byte(n, *at) != '{') return number(n, at, 16, 2);
    ++*at;
    int32_t code = number(n, at, 16, n->length);
    ++*at;
    return code;
}

/* The characters that are `code` without regard to case, from it on; 0: no more. */
static int32_t alike(int32_t code, bool fold, int i)
{
    int32_t small = code == 0x212A ? 'k' : code == 0x17F ? 's' : code < 0x80 ? tolower(code) : 0;
    if (i == 0) return code;
    if (!fold || small < 'a' || small > 'z' || i > 3) return -1;
    return i == 1 ? small : i == 2 ? small - 32 : small == 'k' ? 0x212A : small == 's' ? 0x17F : -1;
}

static bool between(int32_t code, bool fold, int32_t low, int32_t high)
{
    for (int i = 0; alike(code, fold, i) >= 0; i++)
        if (low <= alike(code, fold, i) && alike(code, fold, i) <= high) return true;
    return false;
}

static bool is_of(int c, const char *name, size_t length)
{
    static const struct {
        const char *name;
        int (*is)(int);
    } classes[] = {{"d", isdigit},     {"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank},
                   {"cntrl", iscntrl}, {"digit", isdigit}, {"graph", isgraph}, {"lower", islower},
                   {"print", isprint}, {"punct", ispunct}, {"space", isspace}, {"upper", isupper},
                   {"s", isspace},     {"w", isalnum},     {"word", isalnum},  {"xdigit", isxdigit}};
    if (c > 0x7F) return false;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (strlen(classes[i].name) != length || memcmp(classes[i].name, name, length) != 0) continue;
        if (*name == 's' && length == 1 && c == '\v') return false;
        return classes[i].is(c) != 0 || (*name == 'w' && c == '_');
    }
    return true; /* [:ascii:] */
}

static bool of_class(int32_t code, bool fold, const char *name, size_t length)
{
    for (int i = 0; alike(code, fold, i) >= 0; i++)
        if (is_of(alike(code, fold, i), name, length)) return true;
    return false;
}

/* \d and such: is there one, and is the character of it? */
static bool letter_class(const naive_pattern *n, size_t *at, int32_t code, bool fold, bool *in)
{
    char c = byte(n, *at + 1), small = (char)tolower((unsigned char)c);
    if (byte(n, *at) != '\\' || !c || !strchr("dsw", small)) return false;
    *at += 2;
    *in |= of_class(code, fold, &small, 1) == (c == small);
    return true;
}

static const char *name_end(const naive_pattern *n, size_t at)
{
    if (byte(n, at) != '[' || byte(n, at + 1) != ':') return NULL;
    for (size_t i = at + 2; i + 1 < n->length; i++)
        if (n->text[i] == ':' && n->text[i + 1] == ']') return n->text + i;
    return NULL;
}

/* Is the character in the brackets at *at, which are passed? */
static bool brackets(const naive_pattern *n, size_t *at, int32_t code, bool fold)
{
    bool in = false, negated = byte(n, ++*at) == '^';
    *at += negated;
    for (size_t begin = *at; byte(n, *at) != ']' || *at == begin;) {
        const char *end = name_end(n, *at);
        if (end) {
            bool none = byte(n, *at + 2) == '^';
            const char *name = n->text + *at + 2 + none;
            in |= of_class(code, fold, name, (size_t)(end - name)) != none;
            *at = (size_t)(end - n->text) + 2;
        } else if (!letter_class(n, at, code, fold, &in)) {
            int32_t low = one(n, at), high = low;
            if (byte(n, *at) == '-' && byte(n, *at + 1) != ']') {
                ++*at;
                high = one(n, at);
            }
            in |= between(code, fold, low, high);
        }
    }
    ++*at;
    return in != negated;
}

/* Is the character in the set at *at, which is passed? */
static bool takes(const naive_pattern *n, const tree *set, size_t *at, int32_t code)
{
    bool in = false;
    if (!set->quoted && byte(n, *at) == '[') return brackets(n, at, code, set->fold);
    if (!set->quoted && byte(n, *at) == '.') {
        ++*at;
        return set->all || code != '\n';
    }
    if (!set->quoted && letter_class(n, at, code, set->fold, &in)) return in;
    int32_t only = set->quoted ? character(n, at) : one(n, at);
    return between(code, set->fold, only, only);
}

/* -- reading -- */

/* A tree with the flags of now; the first is what there is no more room for. */
static int plant(naive_pattern *n, kind is, int a, int b)
{
    if (n->trees == TREES) return 0;
    tree *t = &n->tree[n->trees];
    *t = n->flags;
    t->kind = is;
    t->a = a;
    t->b = b;
    t->at = n->at;
    return n->trees++;
}

static int alternatives(naive_pattern *n);

/* Behind "(?": flags up to ':' or ')'. */
static void read_flags(naive_pattern *n)
{
    bool on = true;
    for (char c; c = byte(n, n->at), c != ':' && c != ')'; n->at++) {
        if (c == '-') on = false;
        if (c == 'i') n->flags.fold = on;
        if (c == 's') n->flags.all = on;
        if (c == 'm') n->flags.lines = on;
        if (c == 'U') n->flags.lazy = on;
    }
}

/* -1: flags alone. */
static int group(naive_pattern *n)
{
    tree before = n->flags;
    int own = 0;
    n->at++;
    if (byte(n, n->at) != '?') {
        own = ++n->groups;
    } else if (byte(n, n->at + 1) == 'P' || byte(n, n->at + 1) == '<') {
        own = ++n->groups;
        while (byte(n, n->at++) != '>') continue;
    } else {
        n->at++;
        read_flags(n);
        if (byte(n, n->at++) == ')') return -1;
    }
    int inside = alternatives(n);
    n->at++;
    n->flags = before;
    return own ? plant(n, GROUP, inside, own) : inside;
}

/* {n,m}; false: a character. */
static bool counts(naive_pattern *n, int *least, int *most)
{
    size_t at = n->at + 1, begin = at;
    *least = *most = number(n, &at, 10, 5);
    if (at == begin || (byte(n, begin) == '0' && at > begin + 1)) return false;
    if (byte(n, at) == ',') {
        begin = ++at;
        *most = number(n, &at, 10, 5);
        if (byte(n, begin) == '0' && at > begin + 1) return false;
        if (at == begin) *most = -1;
    }
    if (byte(n, at) != '}') return false;
    n->at = at + 1;
    return true;
}

/* What an operator here makes of the last atom. */
static int repeated(naive_pattern *n, int last)
{
    int least = 0, most = -1;
    char c = byte(n, n->at);
    if (c == '{' && n->at < n->length) {
        if (!counts(n, &least, &most)) return last;
    } else if (c == '*' || c == '+' || c == '?') {
        n->at++;
        least = c == '+';
        most = c == '?' ? 1 : -1;
    } else {
        return last;
    }
    int made = plant(n, REPETITION, last, 0);
    n->tree[made].least = least;
    n->tree[made].most = most;
    if (byte(n, n->at) == '?') {
        n->at++;
        n->tree[made].lazy = !n->tree[made].lazy;
    }
    return made;
}

static int set(naive_pattern *n)
{
    int made = plant(n, SET, 0, 0);
    (void)takes(n, &n->tree[made], &n->at, 0);
    return made;
}

/* *before: what is before the last atom, which is returned. */
static int quoted(naive_pattern *n, int *before, int last)
{
    n->flags.quoted = true;
    for (n->at += 2; n->at < n->length && (byte(n, n->at) != '\\' || byte(n, n->at + 1) != 'E');) {
        *before = plant(n, SEQUENCE, *before, last);
        last = set(n);
    }
    n->flags.quoted = false;
    n->at += n->at < n->length ? 2 : 0;
    return last;
}

static int sequence(naive_pattern *n)
{
    int before = plant(n, EMPTY, 0, 0), last = before;
    while (n->at < n->length && byte(n, n->at) != '|' && byte(n, n->at) != ')') {
        char c = byte(n, n->at), next = byte(n, n->at + 1);
        int made = -1;
        if (c == '\\' && next == 'Q') {
            last = quoted(n, &before, last);
        } else if (c == '(') {
            made = group(n);
        } else if (c == '^' || c == '$' || (c == '\\' && next && strchr("AzbB", next))) {
            made = plant(n, ASSERTION, 0, 0);
            n->at += c == '\\' ? 2 : 1;
        } else {
            made = set(n);
        }
        if (made >= 0) {
            before = plant(n, SEQUENCE, before, last);
            last = made;
        }
        last = repeated(n, last);
    }
    return plant(n, SEQUENCE, before, last);
}

static int alternatives(naive_pattern *n)
{
    int made = sequence(n);
    while (n->at < n->length && byte(n, n->at) == '|') {
        n->at++;
        int next = sequence(n);
        made = plant(n, ALTERNATIVES, made, next);
    }
    return made;
}

/* -- linking -- */

static int make(naive_pattern *n, kind is, int of, int next, int other)
{
    if (n->nodes == NODES) return 0;
    n->node[n->nodes] = (node){is, of, next, other};
    return n->nodes++;
}

static int split(naive_pattern *n, const tree *by, int on, int past)
{
    return by->lazy ? make(n, SPLIT, 0, past, on) : make(n, SPLIT, 0, on, past);
}

static int link_to(naive_pattern *n, int which, int next);

/* x{2,} is xx+, x* is (x+)?, x{1,3} is x(x(x)?)?. */
static int link_repetition(naive_pattern *n, const tree *t, int next)
{
    int entry = next, least = t->least;
    if (t->most < 0) {
        int loop = split(n, t, 0, next);
        entry = link_to(n, t->a, loop);
        *(t->lazy ? &n->node[loop].other : &n->node[loop].next) = entry;
        if (least == 0) return split(n, t, entry, next);
        least--;
    }
    for (int i = t->least; i < t->most; i++) entry = split(n, t, link_to(n, t->a, entry), next);
    for (; least > 0; least--) entry = link_to(n, t->a, entry);
    return entry;
}

/* Of a tree, with what follows it. */
static int link_to(naive_pattern *n, int which, int next)
{
    const tree *t = &n->tree[which];
    switch (t->kind) {
    case EMPTY: return next;
    case SEQUENCE: return link_to(n, t->a, link_to(n, t->b, next));
    case ALTERNATIVES: return make(n, SPLIT, 0, link_to(n, t->a, next), link_to(n, t->b, next));
    case REPETITION: return link_repetition(n, t, next);
    case GROUP: return make(n, SAVE, 0, link_to(n, t->a, make(n, SAVE, 0, next, 2 * t->b + 1)), 2 * t->b);
    default: return make(n, t->kind, which, next, 0);
    }
}

naive_pattern *naive_read(const char *text, size_t length)
{
    static naive_pattern one_at_a_time;
    naive_pattern *n = &one_at_a_time;
    n->text = text;
    n->length = length;
    n->at = 0;
    n->flags = (tree){.kind = EMPTY};
    n->groups = n->trees = n->nodes = 0;
    int all = alternatives(n), end = make(n, MATCH, 0, 0, 0);
    n->first = make(n, SAVE, 0, link_to(n, all, make(n, SAVE, 0, end, 1)), 0);
    return n->trees < TREES && n->nodes < NODES ? n : NULL;
}

/* -- matching -- */

static bool is_word(const naive_pattern *n, size_t at)
{
    return at < n->in_length && is_of((unsigned char)n->in[at], "w", 1);
}

static bool holds(const naive_pattern *n, const tree *t, size_t at)
{
    char c = byte(n, t->at);
    bool edge = (at > 0 && is_word(n, at - 1)) != is_word(n, at);
    if (c == '^') return at == 0 || (t->lines && n->in[at - 1] == '\n');
    if (c == '$') return at == n->in_length || (t->lines && n->in[at] == '\n');
    c = byte(n, t->at + 1);
    return c == 'A' ? at == 0 : c == 'z' ? at == n->in_length : edge == (c == 'b');
}

/* The jobs that a node leaves at a place, the best last; their number. */
static int step(naive_pattern *n, const node *of, size_t place, job *out)
{
    const tree *t = &n->tree[of->tree];
    size_t width = 0, at = t->at;
    switch (of->kind) {
    case SPLIT:
        out[0] = (job){of->other, 0, place};
        out[1] = (job){of->next, 0, place};
        return 2;
    case SAVE:
        out[0] = (job){.node = of->next, .place = place};
        if (of->other >= SLOTS) return 1;
        out[0] = (job){-1, of->other, n->slot[of->other]};
        out[1] = (job){.node = of->next, .place = place};
        n->slot[of->other] = place;
        return 2;
    case ASSERTION: out[0] = (job){of->next, 0, place}; return holds(n, t, place);
    default:
        if (place >= n->in_length) return 0;
        int32_t code = artel__utf8_take(n->in + place, n->in_length - place, &width);
        out[0] = (job){of->next, 0, place + width};
        return takes(n, t, &at, code);
    }
}

static bool try(naive_pattern *n, size_t from, bool whole)
{
    int left = 0;
    n->job[left++] = (job){n->first, 0, from};
    while (left > 0) {
        job now = n->job[--left];
        if (now.node < 0) {
            n->slot[now.slot] = now.place;
            continue;
        }
        bool *tried = &n->tried[now.node * PLACES + (int)now.place];
        if (*tried) continue;
        *tried = true;
        const node *at = &n->node[now.node];
        if (at->kind != MATCH)
            left += step(n, at, now.place, &n->job[left]);
        else if (!whole || now.place == n->in_length)
            return true;
    }
    return false;
}

static void begin(naive_pattern *n, const char *text, size_t length)
{
    n->in = text;
    n->in_length = length;
    memset(n->tried, 0, (size_t)n->nodes * PLACES * sizeof *n->tried);
    memset(n->slot, 0xFF, sizeof n->slot); /* SIZE_MAX */
}

bool naive_matches(naive_pattern *n, const char *text, size_t length)
{
    begin(n, text, length);
    return try(n, 0, true);
}

bool naive_find(naive_pattern *n, const char *text, size_t length, size_t from, artel__match *out)
{
    begin(n, text, length);
    for (size_t width; !try(n, from, false); from += width) {
        if (from >= length) return false;
        (void)artel__utf8_take(text + from, length - from, &width);
    }
    for (int g = 0; g < ARTEL__PATTERN_GROUPS; g++) {
        out->begin[g] = n->slot[2 * g];
        out->end[g] = n->slot[2 * g + 1];
    }
    return true;
}
