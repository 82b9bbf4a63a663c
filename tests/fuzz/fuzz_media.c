/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 600 */
/* libFuzzer: any bytes as a GIF or BMP image and as a WAV file. Pixels go into a block of just their size, samples into
 * a short one.
 */
#include <stdlib.h>
#include <string.h>

#include "data/audio.h"
#include "data/part_image/part.h"
#include "fuzz/help_fuzz.h"

typedef int measure_fn(const artel__image_input *input, int64_t *out_height, int64_t *out_width, artel__image_why *why);
typedef int decode_fn(const artel__image_input *input, uint8_t *out, artel__image_why *why);

static void decode_image(const uint8_t *data, size_t size, measure_fn *measure, decode_fn *decode)
{
    static const int channels[] = {1, 3, 4};
    for (int i = 0; i < 3; i++) {
        artel__image_input input = {.bytes = data, .size = size, .channels = channels[i]};
        artel__image_why why = {""};
        int64_t height, width;
        if (measure(&input, &height, &width, &why) != 0 || height * width > 1 << 18) {
            if (strlen(why.text) >= sizeof why.text) abort();
            return;
        }
        uint8_t *out = malloc((size_t)(height * width * channels[i]));
        if (out != NULL) decode(&input, out, &why);
        free(out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    artel__wav wav;
    decode_image(data, size, artel__gif_measure, artel__gif_decode);
    decode_image(data, size, artel__bmp_measure, artel__bmp_decode);
    if (artel__wav_open(data, size, &wav) == NULL) {
        float *out = malloc(2 * 64 * sizeof *out);
        if (out != NULL) artel__wav_read(&wav, out, 64, 2);
        free(out);
    }
    return 0;
}

size_t artel_fuzz_seed(unsigned number, uint8_t *out, size_t room)
{
    /* 3 x 2 pixels of four colours, with a comment and a transparent colour */
    static const uint8_t gif[] = {'G', 'I', 'F', '8', '9', 'a',  3,    0, 2,    0,    0x81, 0,    0,    0,
                                  0,   0,   255, 0,   0,   0,    255,  0, 0,    0,    255,  0x21, 0xf9, 4,
                                  1,   0,   0,   2,   0,   0x21, 0xfe, 1, 'a',  0,    0x2c, 0,    0,    0,
                                  0,   3,   0,   2,   0,   0x40, 2,    3, 0x44, 0x34, 0x05, 0,    0x3b};
    /* 2 x 2 pixels of 1 bit */
    static const uint8_t bmp[] = {'B', 'M', 70, 0, 0,   0,   0,   0, 0,    0, 62, 0, 0,    0, 40, 0, 0, 0,
                                  2,   0,   0,  0, 2,   0,   0,   0, 1,    0, 1,  0, 0,    0, 0,  0, 0, 0,
                                  0,   0,   0,  0, 0,   0,   0,   0, 0,    0, 2,  0, 0,    0, 0,  0, 0, 0,
                                  0,   0,   0,  0, 255, 255, 255, 0, 0x80, 0, 0,  0, 0x40, 0, 0,  0};
    /* two samples of two channels of 16 bits, behind another chunk */
    static const uint8_t wav[] = {'R', 'I', 'F', 'F', 0,   0,   0,   0,   'W',  'A',  'V', 'E', 'f', 'm',  't', ' ',
                                  16,  0,   0,   0,   1,   0,   2,   0,   0x40, 0x1f, 0,   0,   0,   0x7d, 0,   0,
                                  4,   0,   16,  0,   'L', 'I', 'S', 'T', 3,    0,    0,   0,   'a', 'b',  'c', 0,
                                  'd', 'a', 't', 'a', 8,   0,   0,   0,   1,    2,    3,   4,   5,   6,    7,   8};
    static const struct {
        const uint8_t *bytes;
        size_t size;
    } seeds[] = {{gif, sizeof gif}, {bmp, sizeof bmp}, {wav, sizeof wav}};
    if (number >= 3 || room < seeds[number].size) return 0;
    memcpy(out, seeds[number].bytes, seeds[number].size);
    return seeds[number].size;
}
