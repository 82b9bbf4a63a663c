/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 600 */
/* libFuzzer: any bytes as a JPEG or PNG image, by libartel-image.so: whole and at a part of its size, in every number
 * of channels. Pixels go into a block of just their size. Where the part was not built there is nothing to try.
 */
#include <stdlib.h>
#include <string.h>

#include "data/image_part.h"
#include "fuzz/help_fuzz.h"

enum {
    MOST_PIXELS = 1 << 18
};

/* The leak checker of clang 14 fails at the end of a process that has loaded libjpeg so; data.images looks for leaks.
 */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}

/* Opened by the first input; the process ends with it. */
static const artel__image_part *part(void)
{
    static artel__image_library library;
    static artel_context *ctx;
    if (ctx == NULL && artel_context_create(NULL, &ctx) == ARTEL_OK) {
        if (artel__image_library_open(ctx, &library) < 0) artel_context_clear(ctx);
    }
    return library.part;
}

static void decode(const uint8_t *data, size_t size, int channels, int64_t least)
{
    const artel__image_input input = {
        .bytes = data, .size = size, .channels = channels, .least_height = least, .least_width = least};
    artel__image_why why = {""};
    int64_t height, width;
    if (part()->measure(&input, &height, &width, &why) != 0) {
        if (why.text[0] == '\0' || strlen(why.text) >= sizeof why.text) abort();
        return;
    }
    if (height < 1 || width < 1) abort();
    if (height * width > MOST_PIXELS) return;
    uint8_t *out = malloc((size_t)(height * width * channels));
    if (out != NULL) part()->decode(&input, out, &why);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int channels[] = {1, 3, 4};
    if (part() == NULL) return 0;
    for (int i = 0; i < 3; i++) {
        decode(data, size, channels[i], 0);
        decode(data, size, channels[i], 3);
    }
    return 0;
}

size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room)
{
    /* 18 x 17 pixels in three components, and 5 x 4 grey ones */
    static const uint8_t jpeg[] = {
        255, 216, 255, 224, 0,   16,  74,  70,  73,  70,  0,   1,   1,   0,   0,   1,   0,   1,   0,   0,   255,
        219, 0,   67,  0,   160, 110, 120, 140, 120, 100, 160, 140, 130, 140, 180, 170, 160, 190, 240, 255, 255,
        240, 220, 220, 240, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 219, 0,   67,  1,   170, 180, 180, 240, 210, 240, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 192, 0,   17,  8,   0,   17,  0,   18,  3,
        1,   34,  0,   2,   17,  1,   3,   17,  1,   255, 196, 0,   22,  0,   1,   1,   1,   0,   0,   0,   0,
        0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   2,   3,   255, 196, 0,   29,  16,  1,   0,   1,   4,
        3,   1,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   18,  1,   2,   81,  161, 19,  129, 209,
        240, 255, 196, 0,   20,  1,   1,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
        0,   0,   255, 196, 0,   20,  17,  1,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
        0,   0,   0,   255, 218, 0,   12,  3,   1,   0,   2,   17,  3,   17,  0,   63,  0,   136, 16,  105, 59,
        51,  170, 248, 78,  204, 234, 190, 2,   32,  43,  146, 220, 87,  238, 192, 102, 0,   0,   3,   255, 217,
    };
    static const uint8_t png[] = {
        137, 80,  78,  71,  13,  10, 26,  10,  0,   0,   0,  13,  73,  72,  68,  82,  0,  0,  0,   5,
        0,   0,   0,   4,   8,   0,  0,   0,   0,   99,  88, 170, 156, 0,   0,   0,   22, 73, 68,  65,
        84,  120, 156, 99,  100, 96, 100, 100, 100, 100, 20, 98,  100, 100, 100, 100, 65, 34, 1,   3,
        148, 0,   81,  207, 217, 34, 202, 0,   0,   0,   0,  73,  69,  78,  68,  174, 66, 96, 130,
    };
    if (number >= 2) return 0;
    const uint8_t *seed = number == 0 ? jpeg : png;
    size_t size = number == 0 ? sizeof jpeg : sizeof png;
    if (room < size) return 0;
    memcpy(out, seed, size);
    return size;
}
