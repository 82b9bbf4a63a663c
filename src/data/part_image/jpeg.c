/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG by libjpeg, with the settings of TensorFlow's decode_image: fast integer DCT, smooth upsampling of chroma. Fewer
 * pixels come from the low frequencies of each block, so that what is left out is not transformed.
 *
 * libjpeg reports fatal errors by calling error_exit, which must not return: it jumps back to the function that
 * started the decoder, which keeps nothing else to release. A data stream that ends early is a warning to libjpeg (it
 * fills up with grey); here it is an error, as it is in TensorFlow.
 */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
/* jpeglib.h first: jerror.h needs it */
#include <jerror.h>

#include "data/part_image/part.h"

typedef struct decoder {
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr errors;
    jmp_buf failed;
    struct jpeg_progress_mgr progress;
    int scan;      /* the last one that was counted */
    uint64_t work; /* blocks that scans have gone over */
    artel__image_why *why;
} decoder;

/* Scans of an image, each of which goes over all of it: a file of a few kilobytes could hold thousands. libjpeg-turbo's
 * own tools have the option -maxscans for that; its fuzzers, and Pillow's and browsers' images (ten or so), stay far
 * below. A scan takes time for each block and need not take a byte for it, so all scans together may go over as many
 * blocks as MOST_PASSES over the whole image would, or FREE_BLOCKS, some tenths of a second. */
enum {
    MOST_SCANS = 500,
    MOST_PASSES = 40,
    FREE_BLOCKS = 1 << 24
};

static void fail(j_common_ptr info)
{
    decoder *d = info->client_data;
    char text[JMSG_LENGTH_MAX];
    info->err->format_message(info, text);
    snprintf(d->why->text, sizeof d->why->text, "%.*s", (int)sizeof d->why->text - 1, text);
    longjmp(d->failed, 1);
}

static void warn(j_common_ptr info, int level)
{
    int code = info->err->msg_code;
    if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER)) fail(info);
}

static void silent(j_common_ptr info)
{
    (void)info;
}

static uint64_t blocks_of(const jpeg_component_info *component)
{
    return (uint64_t)component->width_in_blocks * component->height_in_blocks;
}

/* Adds up what the scan that has begun will take. */
static void check_scans(j_common_ptr info)
{
    decoder *d = info->client_data;
    uint64_t whole = 0;
    if (d->info.input_scan_number == d->scan) return;
    d->scan = d->info.input_scan_number;
    for (int i = 0; i < d->info.num_components; i++) whole += blocks_of(&d->info.comp_info[i]);
    for (int i = 0; i < d->info.comps_in_scan; i++) d->work += blocks_of(d->info.cur_comp_info[i]);
    if (d->scan <= MOST_SCANS && (d->work <= FREE_BLOCKS || d->work <= MOST_PASSES * whole)) return;
    if (d->scan > MOST_SCANS)
        snprintf(d->why->text, sizeof d->why->text, "more than %d scans", MOST_SCANS);
    else
        snprintf(d->why->text, sizeof d->why->text, "%d scans of %u x %u pixels take too long", d->scan,
                 d->info.image_height, d->info.image_width);
    longjmp(d->failed, 1);
}

static void prepare(decoder *d, artel__image_why *why)
{
    memset(d, 0, sizeof *d);
    d->why = why;
    d->info.err = jpeg_std_error(&d->errors);
    d->info.client_data = d;
    d->errors.error_exit = fail;
    d->errors.emit_message = warn;
    d->errors.output_message = silent;
}

/* By what the extents are divided: the most that leaves as many pixels as are wanted. */
static unsigned ratio_of(const decoder *d, const artel__image_input *input)
{
    unsigned ratio = 1;
    if (input->least_height < 1 || input->least_width < 1) return 1;
    while (ratio < 8 && d->info.image_height >= 2 * ratio * (uint64_t)input->least_height &&
           d->info.image_width >= 2 * ratio * (uint64_t)input->least_width)
        ratio *= 2;
    return ratio;
}

/* This and the readers below may jump; whoever calls them has set the target. */
static void start(decoder *d, const artel__image_input *input)
{
    jpeg_create_decompress(&d->info);
    d->progress.progress_monitor = check_scans;
    d->info.progress = &d->progress;
    jpeg_mem_src(&d->info, input->bytes, (unsigned long)input->size);
    jpeg_read_header(&d->info, TRUE);
    d->info.scale_num = 1;
    d->info.scale_denom = ratio_of(d, input);
}

/* Each block of 8 x 8 of the first component has a bit of its own at least, two where it is coded at once (its mean,
 * its end): fewer are an image that is cut off, and its extents are not believed. Arithmetic coding has no such bound,
 * but images of one colour alone stay below a quarter of a bit. */
static int is_too_short(const decoder *d, const artel__image_input *input)
{
    uint64_t blocks = blocks_of(&d->info.comp_info[0]);
    uint64_t bits = d->info.arith_code ? blocks / 4 : d->info.progressive_mode ? blocks : 2 * blocks;
    if (bits / 8 <= input->size) return 0;
    snprintf(d->why->text, sizeof d->why->text, "cut off: %zu bytes cannot be a JPEG image of %u x %u pixels",
             input->size, d->info.image_height, d->info.image_width);
    return 1;
}

int artel__jpeg_measure(const artel__image_input *input, int64_t *out_height, int64_t *out_width, artel__image_why *why)
{
    decoder d;
    prepare(&d, why);
    if (setjmp(d.failed) != 0) {
        jpeg_destroy_decompress(&d.info);
        return -1;
    }
    start(&d, input);
    int64_t ratio = (int64_t)d.info.scale_denom;
    *out_height = ((int64_t)d.info.image_height + ratio - 1) / ratio;
    *out_width = ((int64_t)d.info.image_width + ratio - 1) / ratio;
    int result = is_too_short(&d, input) ? -1 : 0;
    jpeg_destroy_decompress(&d.info);
    return result;
}

static void read_pixels(decoder *d, const artel__image_input *input, uint8_t *out)
{
    d->info.out_color_space = input->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    d->info.dct_method = JDCT_IFAST;
    d->info.do_fancy_upsampling = TRUE;
    jpeg_start_decompress(&d->info);
    size_t row_bytes = (size_t)d->info.output_width * (size_t)input->channels;
    while (d->info.output_scanline < d->info.output_height) {
        JSAMPROW row = out + (size_t)d->info.output_scanline * row_bytes;
        jpeg_read_scanlines(&d->info, &row, 1);
    }
    jpeg_finish_decompress(&d->info);
}

/* libjpeg has no way from CMYK to RGB: this is TensorFlow's, for the inverted form that Adobe writes and for the plain
 * one. */
static void read_cmyk(decoder *d, uint8_t *out)
{
    d->info.out_color_space = JCS_CMYK;
    d->info.dct_method = JDCT_IFAST;
    jpeg_start_decompress(&d->info);
    size_t width = d->info.output_width;
    JSAMPARRAY line = d->info.mem->alloc_sarray((j_common_ptr)&d->info, JPOOL_IMAGE, (JDIMENSION)(width * 4), 1);
    while (d->info.output_scanline < d->info.output_height) {
        uint8_t *to = out + (size_t)d->info.output_scanline * width * 3;
        jpeg_read_scanlines(&d->info, line, 1);
        for (size_t x = 0; x < width; x++) {
            const JSAMPLE *from = line[0] + 4 * x;
            int black = from[3];
            for (size_t c = 0; c < 3; c++) {
                int ink = from[c];
                to[3 * x + c] =
                    (uint8_t)(d->info.saw_Adobe_marker ? black * ink / 255 : (255 - black) * (255 - ink) / 255);
            }
        }
    }
    jpeg_finish_decompress(&d->info);
}

int artel__jpeg_decode(const artel__image_input *input, uint8_t *out, artel__image_why *why)
{
    decoder d;
    if (input->channels == 4) {
        snprintf(why->text, sizeof why->text, "a JPEG image has no alpha channel (4 channels are wanted; use 1 or 3)");
        return -1;
    }
    prepare(&d, why);
    if (setjmp(d.failed) != 0) {
        jpeg_destroy_decompress(&d.info);
        return -1;
    }
    start(&d, input);
    int cmyk = d.info.jpeg_color_space == JCS_CMYK || d.info.jpeg_color_space == JCS_YCCK;
    if (cmyk && input->channels == 3)
        read_cmyk(&d, out);
    else
        read_pixels(&d, input, out);
    jpeg_destroy_decompress(&d.info);
    return 0;
}
