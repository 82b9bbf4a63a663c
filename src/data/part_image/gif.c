/* SPDX-License-Identifier: Apache-2.0 */
/* GIF: the first picture of a file, 87a or 89a, interlaced or not.
 *
 * Format: CompuServe, "Graphics Interchange Format, version 89a"; its LZW codes are 3 to 12 bits, a code standing for
 * an earlier one and one more byte. What the picture leaves free of the screen, and its transparent pixels, are black,
 * as in TensorFlow's decode_gif.
 */
#include <stdio.h>
#include <string.h>

#include "data/part_image/part.h"

enum {
    MOST_CODES = 4096,
    MOST_DRAWN = 2731,     /* pixels of a byte: a code of 12 bits stands for 4096 at most */
    MOST_FREE = 16,        /* times the picture, of its screen */
    SMALL_SCREEN = 1 << 18 /* pixels, which may be as free as can be */
};

typedef struct cursor {
    const uint8_t *at, *end;
} cursor;

typedef struct picture {
    int64_t screen_width, screen_height, left, top, width, height;
    const uint8_t *palette;
    int palette_count, transparent; /* -1: none */
    int interlaced;
    cursor data;
} picture;

static int refuse(artel__image_why *why, const char *text)
{
    snprintf(why->text, sizeof why->text, "GIF: %s", text);
    return -1;
}

static int word(const uint8_t *at)
{
    return at[0] | at[1] << 8;
}

/* Goes over the blocks of an extension. */
static int skip_blocks(cursor *c)
{
    while (c->at < c->end) {
        size_t size = *c->at++;
        if (size == 0) return 0;
        if ((size_t)(c->end - c->at) < size) return -1;
        c->at += size;
    }
    return -1;
}

static int read_palette(cursor *c, int flags, const uint8_t **out, int *count)
{
    *count = flags & 128 ? 2 << (flags & 7) : 0;
    if (c->end - c->at < 3 * *count) return -1;
    if (*count > 0) *out = c->at;
    c->at += 3 * *count;
    return 0;
}

/* Up to the first picture. */
static int find_picture(cursor *c, picture *p)
{
    while (c->at < c->end) {
        int kind = *c->at++;
        if (kind == 0x2c) return 0;
        if (kind != 0x21 || c->end - c->at < 1) return -1;
        int label = *c->at++;
        if (label == 0xf9 && c->end - c->at >= 5 && (c->at[1] & 1)) p->transparent = c->at[4];
        if (skip_blocks(c) != 0) return -1;
    }
    return -1;
}

static int read_head(const artel__image_input *input, picture *p, artel__image_why *why)
{
    cursor c = {input->bytes, input->bytes + input->size};
    memset(p, 0, sizeof *p);
    p->transparent = -1;
    if (input->size < 13) return refuse(why, "the image is cut off");
    p->screen_width = word(c.at + 6);
    p->screen_height = word(c.at + 8);
    int flags = c.at[10];
    c.at += 13;
    if (read_palette(&c, flags, &p->palette, &p->palette_count) != 0 || find_picture(&c, p) != 0 || c.end - c.at < 9)
        return refuse(why, "there is no whole picture in it");
    p->left = word(c.at);
    p->top = word(c.at + 2);
    p->width = word(c.at + 4);
    p->height = word(c.at + 6);
    flags = c.at[8];
    c.at += 9;
    p->interlaced = flags & 64;
    int own = 0;
    if (read_palette(&c, flags, &p->palette, &own) != 0) return refuse(why, "the palette is cut off");
    if (own > 0) p->palette_count = own;
    if (p->palette_count == 0) return refuse(why, "there is no palette");
    if (p->left + p->width > p->screen_width || p->top + p->height > p->screen_height || p->width < 1 || p->height < 1)
        return refuse(why, "the picture lies outside the screen");
    p->data = c;
    return 0;
}

/* Memory is taken for the whole screen: the file must be long enough for its picture, and the picture large enough for
 * the screen. */
static int is_believed(const picture *p, artel__image_why *why)
{
    int64_t screen = p->screen_width * p->screen_height, drawn = p->width * p->height;
    if (drawn / MOST_DRAWN > p->data.end - p->data.at) return refuse(why, "the image is cut off");
    if (screen <= SMALL_SCREEN || screen / MOST_FREE <= drawn) return 0;
    snprintf(why->text, sizeof why->text, "GIF: a screen of %lld x %lld pixels for a picture of %lld x %lld",
             (long long)p->screen_height, (long long)p->screen_width, (long long)p->height, (long long)p->width);
    return -1;
}

int artel__gif_measure(const artel__image_input *input, int64_t *out_height, int64_t *out_width, artel__image_why *why)
{
    picture p;
    if (read_head(input, &p, why) != 0 || is_believed(&p, why) != 0) return -1;
    *out_height = p.screen_height;
    *out_width = p.screen_width;
    return 0;
}

/* ---- LZW ---- */

typedef struct unpacker {
    cursor data;
    int left; /* bytes of the block at hand */
    uint32_t bits;
    int bit_count;
    uint16_t prefix[MOST_CODES];
    uint8_t last[MOST_CODES], first[MOST_CODES];
    uint8_t stack[MOST_CODES];
} unpacker;

/* The next code of `size` bits; -1 at the end of the data. */
static int next_code(unpacker *u, int size)
{
    while (u->bit_count < size) {
        if (u->left == 0) {
            if (u->data.at >= u->data.end || *u->data.at == 0) return -1;
            u->left = *u->data.at++;
        }
        if (u->data.at >= u->data.end) return -1;
        u->bits |= (uint32_t)*u->data.at++ << u->bit_count;
        u->bit_count += 8;
        u->left--;
    }
    int code = (int)(u->bits & ((1u << size) - 1));
    u->bits >>= size;
    u->bit_count -= size;
    return code;
}

/* Where rows of an interlaced picture go: every 8th from 0, every 8th from 4, every 4th from 2, every 2nd from 1. */
static int64_t row_of(const picture *p, int64_t i)
{
    if (!p->interlaced) return i;
    static const int from[] = {0, 4, 2, 1}, step[] = {8, 8, 4, 2};
    for (int k = 0; k < 4; k++) {
        int64_t rows = p->height > from[k] ? (p->height - from[k] + step[k] - 1) / step[k] : 0;
        if (i < rows) return from[k] + i * step[k];
        i -= rows;
    }
    return 0;
}

/* A picture being drawn. */
typedef struct canvas {
    const picture *picture;
    uint8_t *out;
    int channels;
    int64_t drawn;
} canvas;

static int is_full(const canvas *c)
{
    return c->drawn >= c->picture->width * c->picture->height;
}

static int draw(canvas *c, int index)
{
    const picture *p = c->picture;
    if (is_full(c)) return 0;
    int64_t y = row_of(p, c->drawn / p->width), x = c->drawn % p->width;
    c->drawn++;
    if (index == p->transparent) return 0;
    if (index >= p->palette_count) return -1;
    const uint8_t *colour = p->palette + 3 * index;
    artel__image_put(c->out + ((p->top + y) * p->screen_width + p->left + x) * c->channels, c->channels, colour[0],
                     colour[1], colour[2], 255);
    return 0;
}

/* Draws the string of a code. */
static int draw_code(unpacker *u, canvas *c, int code, int clear)
{
    int depth = 0;
    while (code > clear && depth < MOST_CODES) {
        u->stack[depth++] = u->last[code];
        code = u->prefix[code];
    }
    if (code >= clear) return -1;
    if (draw(c, code) != 0) return -1;
    while (depth > 0) {
        if (draw(c, u->stack[--depth]) != 0) return -1;
    }
    return 0;
}

static int unpack(unpacker *u, canvas *c, int smallest)
{
    int clear = 1 << smallest, next = clear + 2, size = smallest + 1, former = -1;
    for (int i = 0; i < clear; i++) u->first[i] = u->last[i] = (uint8_t)i;
    for (;;) {
        int code =
            is_full(c) ? -1 : next_code(u, size); /* what follows a whole picture is passed over, as everyone does */
        if (code < 0 || code == clear + 1) return 0;
        if (code == clear) {
            next = clear + 2;
            size = smallest + 1;
            former = -1;
            continue;
        }
        if (code > next || (code == next && former < 0) || (former < 0 && code >= clear)) return -1;
        if (former >= 0 && next < MOST_CODES) { /* the former string and the first byte of this one */
            u->prefix[next] = (uint16_t)former;
            u->first[next] = u->first[former];
            u->last[next] = code == next ? u->first[former] : u->first[code];
            next++;
            if (next == 1 << size && size < 12) size++;
        } else if (code == next) {
            return -1;
        }
        if (draw_code(u, c, code, clear) != 0) return -1;
        former = code;
    }
}

int artel__gif_decode(const artel__image_input *input, uint8_t *out, artel__image_why *why)
{
    picture p;
    if (read_head(input, &p, why) != 0) return -1;
    int64_t pixels = p.screen_width * p.screen_height;
    memset(out, 0, (size_t)(pixels * input->channels));
    for (int64_t i = 0; input->channels == 4 && i < pixels; i++) out[4 * i + 3] = 255;
    if (p.data.at >= p.data.end) return refuse(why, "the image is cut off");
    int smallest = *p.data.at++;
    if (smallest < 1 || smallest > 8) return refuse(why, "the codes have an impossible size");
    canvas c = {&p, out, input->channels, 0};
    unpacker u = {.data = p.data};
    if (unpack(&u, &c, smallest) != 0) return refuse(why, "the compressed data is damaged");
    return c.drawn == p.width * p.height ? 0 : refuse(why, "the image is cut off");
}
