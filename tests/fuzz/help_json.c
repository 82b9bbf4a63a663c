/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON tree changed as an input says: two bytes make a change, which value in the order of the text, and what stands
 * in its place. */
#include <stdint.h>

#include "base/json.h"
#include "fuzz/help_fuzz.h"

enum {
    KINDS = 25,
    MOST = 8 /* changes */
};

static json_t *replacement(uint8_t which)
{
    static const json_int_t number[] = {-1, 0, 1, 2, 3, 7, 17, INT32_MAX, (json_int_t)1 << 53, INT64_MAX, INT64_MIN};
    static const char *const text[] = {"", "x", "0x1p+3", "nan", "-inf", "../../m.json"};
    const size_t numbers = sizeof number / sizeof *number, texts = sizeof text / sizeof *text;
    if (which < numbers) return json_integer(number[which]);
    if (which < numbers + texts) return json_string(text[which - numbers]);
    switch (which - numbers - texts) {
    case 0: return json_true();
    case 1: return json_false();
    case 2: return json_null();
    case 3: return json_array();
    case 4: return json_object();
    case 5: return json_pack("[i, s, n]", 1, "a");
    default: return json_real(0.5);
    }
}

/* Walks the values of a tree in their order and puts something else in the place of one. *at counts down to it. */
static void replace(json_t *tree, int *at, uint8_t which)
{
    const char *key;
    void *next;
    json_t *value;
    for (size_t i = 0; i < json_array_size(tree) && *at >= 0; i++) {
        if ((*at)-- == 0)
            json_array_set_new(tree, i, replacement(which));
        else
            replace(json_array_get(tree, i), at, which);
    }
    json_object_foreach_safe(tree, next, key, value)
    {
        if (*at < 0) return;
        if ((*at)-- == 0)
            json_object_set_new(tree, key, replacement(which));
        else
            replace(value, at, which);
    }
}

void artel_fuzz_change_json(json_t *tree, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i + 1 < size && i < 2 * (size_t)MOST; i += 2) {
        int at = data[i];
        replace(tree, &at, data[i + 1] % KINDS);
    }
}
