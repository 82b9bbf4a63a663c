/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of integers as programs of devices; the formulas are those of text/hash.c.
 *
 * A text of up to 20 characters lies in three words of 64 bits, the first character in the lowest byte, zeros behind
 * the last. Digits come from the lowest: each is put in front of those there are. Forms for several lengths are all
 * computed, and the one that counts is selected; what the others read beside the text is not looked at.
 */
#include "op/lower_hash.h"

#define K0 0xc3a5c85c97cb3127u
#define K1 0xb492b66fbe98f273u
#define K2 0x9ae16a3b2f90404fu

enum {
    WORDS = 3,
    DIGITS = 19 /* of an int64, at most */
};

typedef artel__hlo_value word;

typedef struct mixer {
    artel__hlo *h;
    artel__hlo_type type; /* UINT64, of all elements */
} mixer;

typedef struct text {
    word at[WORDS], length;
} text;

static word number(const mixer *m, uint64_t n)
{
    return artel__hlo_integer(m->h, n, &m->type);
}

static word of(const mixer *m, const char *op, word a, word b)
{
    return artel__hlo_binary(m->h, op, a, b);
}

static word add(const mixer *m, word a, word b)
{
    return of(m, "add", a, b);
}

static word times(const mixer *m, word a, word b)
{
    return of(m, "multiply", a, b);
}

static word mixed(const mixer *m, word a, word b)
{
    return of(m, "xor", a, b);
}

static word plus(const mixer *m, word a, uint64_t n)
{
    return add(m, a, number(m, n));
}

static word by(const mixer *m, word a, uint64_t n)
{
    return times(m, a, number(m, n));
}

static word left(const mixer *m, word a, int bits)
{
    return of(m, "shift_left", a, number(m, (uint64_t)bits));
}

static word right(const mixer *m, word a, int bits)
{
    return of(m, "shift_right_logical", a, number(m, (uint64_t)bits));
}

static word rotate_right(const mixer *m, word a, int bits)
{
    return of(m, "or", right(m, a, bits), left(m, a, 64 - bits));
}

static word is(const mixer *m, const char *how, word a, uint64_t n)
{
    return artel__hlo_compare(m->h, how, a, number(m, n));
}

static word shift_mix(const mixer *m, word x)
{
    return mixed(m, x, right(m, x, 47));
}

/* -- the text of a number -- */

/* One character in front, where `here`. */
static void put_in_front(const mixer *m, text *t, word character, word here)
{
    for (int i = WORDS - 1; i >= 0; i--) {
        word low = i > 0 ? right(m, t->at[i - 1], 56) : character;
        t->at[i] = artel__hlo_select(m->h, here, of(m, "or", left(m, t->at[i], 8), low), t->at[i]);
    }
    t->length = artel__hlo_select(m->h, here, plus(m, t->length, 1), t->length);
}

static text digits_of(const mixer *m, word x)
{
    artel__hlo *h = m->h;
    word negative = artel__hlo_compare(h, "LT", x, artel__hlo_number(h, 0, x)), zero = number(m, 0);
    word bits = artel__hlo_convert(h, x, ARTEL_DTYPE_UINT64);
    word init[] = {artel__hlo_select(h, negative, of(m, "subtract", zero, bits), bits), zero, zero, zero, zero};
    const artel__hlo_type scalar = {.dtype = ARTEL_DTYPE_INT32};
    artel__hlo_loop loop;
    artel__hlo_loop_begin(h, artel__hlo_integer(h, DIGITS, &scalar), init, 2 + WORDS, &loop);
    word rest = loop.carried[0];
    text t = {{loop.carried[1], loop.carried[2], loop.carried[3]}, loop.carried[4]};
    word here = artel__hlo_binary(h, "or", is(m, "NE", rest, 0), is(m, "EQ", t.length, 0));
    put_in_front(m, &t, plus(m, of(m, "remainder", rest, number(m, 10)), '0'), here);
    word next[] = {of(m, "divide", rest, number(m, 10)), t.at[0], t.at[1], t.at[2], t.length};
    artel__hlo_loop_end(h, &loop, next);
    t = (text){{loop.carried[1], loop.carried[2], loop.carried[3]}, loop.carried[4]};
    put_in_front(m, &t, number(m, '-'), negative);
    return t;
}

/* The eight bytes from `first` on. */
static word fetch(const mixer *m, const text *t, word first)
{
    artel__hlo *h = m->h;
    word far = is(m, "GE", first, 8), low = artel__hlo_select(h, far, t->at[1], t->at[0]),
         high = artel__hlo_select(h, far, t->at[2], t->at[1]);
    word bits = left(m, of(m, "and", first, number(m, 7)), 3);
    word above = of(m, "shift_left", left(m, high, 1), of(m, "subtract", number(m, 63), bits));
    return of(m, "or", of(m, "shift_right_logical", low, bits), above);
}

static word fetch_end(const mixer *m, const text *t, uint64_t before)
{
    return fetch(m, t, of(m, "subtract", t->length, number(m, before)));
}

static word low_bits(const mixer *m, word a, int bits)
{
    return of(m, "and", a, number(m, UINT64_MAX >> (64 - bits)));
}

/* -- fingerprints -- */

static word mix_two(const mixer *m, word u, word v, word factor)
{
    word a = shift_mix(m, times(m, mixed(m, u, v), factor));
    return times(m, shift_mix(m, times(m, mixed(m, v, a), factor)), factor);
}

static word hash_to_3(const mixer *m, const text *t)
{
    word first = low_bits(m, t->at[0], 8), middle = low_bits(m, fetch(m, t, right(m, t->length, 1)), 8),
         last = low_bits(m, fetch_end(m, t, 1), 8);
    word y = add(m, first, left(m, middle, 8)), z = add(m, t->length, left(m, last, 2));
    return by(m, shift_mix(m, mixed(m, by(m, y, K2), by(m, z, K0))), K2);
}

static word hash_to_7(const mixer *m, const text *t, word factor)
{
    word front = left(m, low_bits(m, t->at[0], 32), 3);
    return mix_two(m, add(m, t->length, front), low_bits(m, fetch_end(m, t, 4), 32), factor);
}

static word hash_to_16(const mixer *m, const text *t, word factor)
{
    word a = plus(m, t->at[0], K2), b = fetch_end(m, t, 8);
    word c = add(m, times(m, rotate_right(m, b, 37), factor), a),
         d = times(m, add(m, rotate_right(m, a, 25), b), factor);
    return mix_two(m, c, d, factor);
}

static word hash_to_32(const mixer *m, const text *t, word factor)
{
    word a = by(m, t->at[0], K1), b = t->at[1], c = times(m, fetch_end(m, t, 8), factor),
         d = by(m, fetch_end(m, t, 16), K2);
    word u = add(m, add(m, rotate_right(m, add(m, a, b), 43), rotate_right(m, c, 30)), d),
         v = add(m, add(m, a, rotate_right(m, plus(m, b, K2), 18)), c);
    return mix_two(m, u, v, factor);
}

static word fingerprint(const mixer *m, const text *t)
{
    artel__hlo *h = m->h;
    word factor = plus(m, left(m, t->length, 1), K2);
    word hash = artel__hlo_select(h, is(m, "GE", t->length, 4), hash_to_7(m, t, factor), hash_to_3(m, t));
    hash = artel__hlo_select(h, is(m, "GE", t->length, 8), hash_to_16(m, t, factor), hash);
    return artel__hlo_select(h, is(m, "GT", t->length, 16), hash_to_32(m, t, factor), hash);
}

/* -- keyed hashes -- */

static void sip_rounds(const mixer *m, word v[4], int rounds)
{
    for (int i = 0; i < rounds; i++) {
        v[0] = add(m, v[0], v[1]);
        v[1] = mixed(m, rotate_right(m, v[1], 64 - 13), v[0]);
        v[0] = rotate_right(m, v[0], 32);
        v[2] = add(m, v[2], v[3]);
        v[3] = mixed(m, rotate_right(m, v[3], 64 - 16), v[2]);
        v[0] = add(m, v[0], v[3]);
        v[3] = mixed(m, rotate_right(m, v[3], 64 - 21), v[0]);
        v[2] = add(m, v[2], v[1]);
        v[1] = mixed(m, rotate_right(m, v[1], 64 - 17), v[2]);
        v[2] = rotate_right(m, v[2], 32);
    }
}

static word keyed_hash(const mixer *m, const text *t, const uint64_t key[2])
{
    const uint64_t begin[4] = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du, key[0] ^ 0x6c7967656e657261u,
                               key[1] ^ 0x7465646279746573u};
    word v[4], whole = right(m, t->length, 3), end = left(m, t->length, 56);
    for (int k = 0; k < 4; k++) v[k] = number(m, begin[k]);
    for (int i = 0; i < WORDS; i++) {
        word next[4] = {v[0], v[1], v[2], v[3]}, last = is(m, "EQ", whole, (uint64_t)i);
        word block = artel__hlo_select(m->h, last, of(m, "or", t->at[i], end), t->at[i]);
        next[3] = mixed(m, next[3], block);
        sip_rounds(m, next, 2);
        next[0] = mixed(m, next[0], block);
        word here = is(m, "GE", whole, (uint64_t)i);
        for (int k = 0; k < 4; k++) v[k] = artel__hlo_select(m->h, here, next[k], v[k]);
    }
    v[2] = mixed(m, v[2], number(m, 0xff));
    sip_rounds(m, v, 4);
    return mixed(m, mixed(m, v[0], v[1]), mixed(m, v[2], v[3]));
}

static mixer mixer_of(artel__hlo *h, artel__hlo_value like)
{
    mixer m = {h, *artel__hlo_type_of(h, like)};
    m.type.dtype = ARTEL_DTYPE_UINT64;
    return m;
}

artel__hlo_value artel__lower_hash_digits(artel__hlo *h, artel__hlo_value x, const uint64_t *key)
{
    mixer m = mixer_of(h, x);
    text t = digits_of(&m, x);
    return key ? keyed_hash(&m, &t, key) : fingerprint(&m, &t);
}

artel__hlo_value artel__lower_hash_chain(artel__hlo *h, artel__hlo_value first, artel__hlo_value second)
{
    const uint64_t factor = 0xc6a4a7935bd1e995u;
    mixer m = mixer_of(h, first);
    word result = mixed(&m, first, number(&m, factor));
    result = mixed(&m, result, by(&m, shift_mix(&m, by(&m, second, factor)), factor));
    result = by(&m, result, factor);
    return shift_mix(&m, by(&m, shift_mix(&m, result), factor));
}
