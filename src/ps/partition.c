/* SPDX-License-Identifier: Apache-2.0 */
/* How many pieces a variable is cut into, and where they begin: TensorFlow's partitioners and its division rule. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ps/part.h"

/* -- reading -- */

/* A number with the suffix K, M or G; moves *text behind it. -1: none. */
static int64_t take_number(const char **text)
{
    char *end;
    errno = 0;
    if (**text < '0' || **text > '9') return -1;
    long long value = strtoll(*text, &end, 10);
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (errno || value > INT64_MAX >> shift) return -1;
    *text = end + (shift > 0);
    return (int64_t)value << shift;
}

/* What follows "min" or "max": up to two numbers behind colons. */
static bool take_rest(const char *text, int64_t out[2])
{
    for (int i = 0; i < 2 && *text; i++) {
        if (*text++ != ':') return false;
        out[i] = take_number(&text);
        if (out[i] < 1) return false;
    }
    return *text == 0;
}

static bool begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

artel_status artel__partition_read(artel_context *ctx, const char *text, int servers, artel__partition_rule *out)
{
    int64_t number[2] = {0, 0};
    bool good = false;
    artel__partition_rule rule = {ARTEL__PARTITION_NONE, 0, 0};
    if (strcmp(text, "none") == 0) {
        good = true;
    } else if (begins(text, "fixed:")) {
        good = take_rest(text + 5, number) && !number[1];
        rule = (artel__partition_rule){ARTEL__PARTITION_FIXED, 0, number[0]};
    } else if (begins(text, "min") || strcmp(text, "auto") == 0) {
        good = text[0] == 'a' || take_rest(text + 3, number);
        rule = (artel__partition_rule){ARTEL__PARTITION_MIN, number[0] ? number[0] : ARTEL__PARTITION_MIN_BYTES,
                                       number[1] ? number[1] : servers};
    } else if (begins(text, "max:")) {
        good = take_rest(text + 3, number);
        rule = (artel__partition_rule){ARTEL__PARTITION_MAX, number[0], number[1]};
    }
    if (!good)
        return artel__fail(
            ctx, ARTEL_ERROR_INVALID, ".ps_partitioner",
            "give none, auto, fixed:N, min, min:BYTES, min:BYTES:N, max:BYTES or max:BYTES:N, with numbers of "
            "at least 1; K, M and G "
            "stand for 1024, its square and its cube",
            "not a partitioner: %s", text);
    *out = rule;
    return ARTEL_OK;
}

/* -- cutting -- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

int64_t artel__partition_count(const artel__partition_rule *rule, const int64_t *shape, int rank, int64_t element_bytes)
{
    if (rank < 1 || shape[0] < 1 || rule->kind == ARTEL__PARTITION_NONE) return 1;
    int64_t row_bytes = element_bytes, bytes, pieces = 1;
    for (int i = 1; i < rank; i++)
        if (__builtin_mul_overflow(row_bytes, shape[i], &row_bytes)) row_bytes = INT64_MAX;
    if (__builtin_mul_overflow(row_bytes, shape[0], &bytes)) bytes = INT64_MAX;
    switch (rule->kind) {
    case ARTEL__PARTITION_FIXED: pieces = rule->shards; break;
    case ARTEL__PARTITION_MIN: pieces = least(rule->shards, divide_up(bytes, rule->bytes)); break;
    default: {
        int64_t rows = row_bytes > 0 ? rule->bytes / row_bytes : shape[0]; /* that fit a piece; one at least */
        pieces = divide_up(shape[0], rows > 1 ? rows : 1);
        if (rule->shards > 0) pieces = least(pieces, rule->shards);
    }
    }
    pieces = least(pieces, shape[0]);
    return pieces > 1 ? pieces : 1;
}

int64_t artel__partition_offset(int64_t rows, int64_t pieces, int64_t piece)
{
    int64_t each = rows / pieces, longer = rows % pieces;
    return piece * each + least(piece, longer);
}

int64_t artel__partition_find(int64_t rows, int64_t pieces, int64_t row)
{
    int64_t each = rows / pieces, longer = rows % pieces, in_longer = longer * (each + 1);
    return row < in_longer ? row / (each + 1) : longer + (row - in_longer) / each;
}
