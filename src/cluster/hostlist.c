/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's compressed lists: "r[0-1]n[08-11],login" and "3(x2),1".
 *
 * A host expression is a row of pieces, each a word or a list in brackets; it stands for every combination, in the
 * order in which `scontrol show hostnames` prints them: the last list runs fastest, then the first, the second, and so
 * on. Text after a list, and lists within lists, Slurm refuses and this reads. The text is read once into pieces (with
 * the count of each list), the product of the counts is checked against the limit, and only then are names made, so a
 * short text cannot ask for much memory. Nothing recurses deeper than MAX_DEPTH.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cluster/resolver.h"

#define MAX_DEPTH 8
#define MAX_PIECES 16
#define MAX_DIGITS 12
#define MAX_NAME ARTEL__HOST_MAX

/* A run of numbers first..last of a width, zero-padded. */
typedef struct range {
    int64_t first, last;
    int width;
    int64_t before; /* values of the list's earlier ranges */
} range;

typedef struct piece {
    const char *word; /* of `length` bytes, or NULL for a list */
    int length;
    range *ranges;
    int count, capacity;
    int64_t total; /* values the list stands for */
} piece;

typedef struct parser {
    artel__arena *arena;
    const char *where, *text, *at;
    int64_t hosts; /* of all expressions so far */
} parser;

static artel_status refuse(const parser *p, const char *what)
{
    return artel__fail(p->arena->ctx, ARTEL_ERROR_INVALID, p->where,
                       "write lists as in n[1-3,07]; what a launcher has set, do not change",
                       "%s at byte %lld of \"%.100s\"", what, (long long)(p->at - p->text), p->text);
}

static artel_status refuse_size(const parser *p)
{
    return artel__fail(p->arena->ctx, ARTEL_ERROR_INVALID, p->where, "name fewer",
                       "the list stands for more than %d names", ARTEL__CLUSTER_MAX_TASKS);
}

static bool read_digits(parser *p, int64_t *out, int *width)
{
    int64_t value = 0;
    int digits = 0;
    for (; isdigit((unsigned char)*p->at); p->at++) {
        if (++digits > MAX_DIGITS) return false;
        value = 10 * value + (*p->at - '0');
    }
    *out = value;
    *width = digits;
    return digits > 0;
}

static artel_status add_range(parser *p, piece *list, range item)
{
    if (list->count == list->capacity) {
        int capacity = list->capacity ? 2 * list->capacity : 4;
        range *grown = artel__arena_alloc(p->arena, (size_t)capacity, sizeof *grown);
        ARTEL_TRY(artel__arena_status(p->arena));
        if (list->count) memcpy(grown, list->ranges, (size_t)list->count * sizeof *grown);
        list->ranges = grown;
        list->capacity = capacity;
    }
    item.before = list->total;
    list->ranges[list->count++] = item;
    list->total += item.last - item.first + 1;
    return list->total > ARTEL__CLUSTER_MAX_TASKS ? refuse_size(p) : ARTEL_OK;
}

static artel_status read_range(parser *p, piece *list)
{
    range item = {0};
    int width;
    if (!read_digits(p, &item.first, &item.width)) return refuse(p, "a number of at most 12 digits is expected");
    item.last = item.first;
    if (*p->at == '-') {
        p->at++;
        if (!read_digits(p, &item.last, &width)) return refuse(p, "a number of at most 12 digits is expected");
        if (item.last < item.first) return refuse(p, "a range runs backwards");
    }
    return add_range(p, list, item);
}

/* After '[', up to and with ']'. */
static artel_status read_list(parser *p, piece *list, int depth)
{
    if (depth > MAX_DEPTH) return refuse(p, "brackets are nested too deeply");
    for (;;) {
        if (*p->at == '[') {
            p->at++;
            ARTEL_TRY(read_list(p, list, depth + 1));
        } else {
            ARTEL_TRY(read_range(p, list));
        }
        if (*p->at == ']') break;
        if (*p->at != ',')
            return refuse(p, *p->at ? "a comma or a closing bracket is expected" : "a closing bracket is missing");
        p->at++;
    }
    p->at++;
    return ARTEL_OK;
}

static bool ends_word(char c)
{
    return c == '\0' || c == ',' || c == '[' || c == ']';
}

/* One expression, up to a comma or the end. */
static artel_status read_pieces(parser *p, piece *pieces, int *count, int64_t *total)
{
    *count = 0;
    *total = 1;
    while (*p->at && *p->at != ',') {
        piece *next = &pieces[*count];
        if (*count == MAX_PIECES) return refuse(p, "a name has too many brackets");
        memset(next, 0, sizeof *next);
        next->total = 1;
        if (*p->at == ']') return refuse(p, "a closing bracket has no opening one");
        if (*p->at == '[') {
            p->at++;
            next->total = 0;
            ARTEL_TRY(read_list(p, next, 1));
        } else {
            next->word = p->at;
            while (!ends_word(*p->at)) p->at++;
            next->length = p->at - next->word > MAX_NAME ? MAX_NAME + 1 : (int)(p->at - next->word);
        }
        *total *= next->total; /* both at most MAX_TASKS: no overflow */
        if (*total > ARTEL__CLUSTER_MAX_TASKS) return refuse_size(p);
        ++*count;
    }
    return *count ? ARTEL_OK : refuse(p, "a host name is missing");
}

/* The k-th value of a list as text; returns its length. */
static int print_value(const piece *list, int64_t k, char *out, size_t size)
{
    int low = 0, high = list->count; /* the answer is in [low, high) */
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (list->ranges[middle].before <= k)
            low = middle;
        else
            high = middle;
    }
    const range *item = &list->ranges[low];
    return snprintf(out, size, "%0*lld", item->width, (long long)(item->first + k - item->before));
}

static artel_status make_name(parser *p, const piece *pieces, int count, int64_t which, const char **out)
{
    char name[MAX_NAME + 1], value[32];
    int64_t at[MAX_PIECES];
    int length = 0;
    int last = count - 1;
    while (last > 0 && pieces[last].word) last--;
    at[last] = which % pieces[last].total;
    which /= pieces[last].total;
    for (int i = 0; i < count; i++) {
        if (i == last) continue;
        at[i] = which % pieces[i].total;
        which /= pieces[i].total;
    }
    for (int i = 0; i < count; i++) {
        const char *text = pieces[i].word;
        int size = pieces[i].length;
        if (!text) {
            size = print_value(&pieces[i], at[i], value, sizeof value);
            text = value;
        }
        if (length + size > MAX_NAME) return refuse(p, "a host name is longer than 255 characters");
        memcpy(name + length, text, (size_t)size);
        length += size;
    }
    name[length] = '\0';
    *out = artel__arena_strdup(p->arena, name);
    return artel__arena_status(p->arena);
}

/* How many hosts the text names, without making them. */
static artel_status count_hosts(parser *p)
{
    piece pieces[MAX_PIECES];
    int count;
    int64_t total;
    for (;; p->at++) {
        ARTEL_TRY(read_pieces(p, pieces, &count, &total));
        p->hosts += total;
        if (p->hosts > ARTEL__CLUSTER_MAX_TASKS) return refuse_size(p);
        if (!*p->at) return ARTEL_OK;
    }
}

artel_status artel__hostlist_expand(artel__arena *arena, const char *where, const char *text, artel__hostlist *out)
{
    parser p = {.arena = arena, .where = where, .text = text, .at = text};
    piece pieces[MAX_PIECES];
    artel__hostlist hosts = {NULL, 0};
    int count;
    int64_t total;
    ARTEL_TRY(count_hosts(&p));
    hosts.host = artel__arena_alloc(arena, (size_t)p.hosts, sizeof *hosts.host);
    ARTEL_TRY(artel__arena_status(arena));
    for (p.at = text;; p.at++) {
        ARTEL_TRY(read_pieces(&p, pieces, &count, &total));
        for (int64_t i = 0; i < total; i++) ARTEL_TRY(make_name(&p, pieces, count, i, &hosts.host[hosts.count++]));
        if (!*p.at) break;
    }
    *out = hosts;
    return ARTEL_OK;
}

/* -- counts -- */

static artel_status read_count(parser *p, int64_t *value, int64_t *times)
{
    int width;
    *times = 1;
    if (!read_digits(p, value, &width)) return refuse(p, "a number is expected");
    if (artel__starts_with(p->at, "(x")) {
        p->at += 2;
        if (!read_digits(p, times, &width) || *p->at != ')')
            return refuse(p, "a number and a closing parenthesis are expected");
        p->at++;
    }
    if (*value < 1 || *value > ARTEL__CLUSTER_MAX_TASKS || *times < 1 || *times > ARTEL__CLUSTER_MAX_TASKS)
        return refuse(p, "a count is out of range");
    return *p->at == ',' || !*p->at ? ARTEL_OK : refuse(p, "a comma is expected");
}

artel_status artel__counts_expand(artel__arena *arena, const char *where, const char *text, artel__counts *out)
{
    parser p = {.arena = arena, .where = where, .text = text, .at = text};
    artel__counts counts = {NULL, 0, 0};
    int64_t value, times, nodes = 0;
    for (;; p.at++) {
        ARTEL_TRY(read_count(&p, &value, &times));
        nodes += times;
        counts.total += value * times;
        if (nodes > ARTEL__CLUSTER_MAX_TASKS || counts.total > ARTEL__CLUSTER_MAX_TASKS) return refuse_size(&p);
        if (!*p.at) break;
    }
    counts.item = artel__arena_alloc(arena, (size_t)nodes, sizeof *counts.item);
    ARTEL_TRY(artel__arena_status(arena));
    for (p.at = text;; p.at++) {
        ARTEL_TRY(read_count(&p, &value, &times));
        for (int64_t i = 0; i < times; i++) counts.item[counts.count++] = (int32_t)value;
        if (!*p.at) break;
    }
    *out = counts;
    return ARTEL_OK;
}
