/* SPDX-License-Identifier: Apache-2.0 */
/* audio:DIR#length=N: WAV files in a folder for each class, as keras.utils.audio_dataset_from_directory reads them.
 *
 * Rows are float32 [length, channels] in -1..1: samples of 16 bits are divided by 32768 as tf.audio.decode_wav does,
 * those of 8, 24 and 32 bits by the like, floats are taken as they are. Longer files are cut, shorter ones filled with
 * silence. Format: RIFF, with the chunks `fmt ` (PCM 1, float 3, extensible 0xFFFE) and `data`; others are passed over.
 */
#include <string.h>

#include "base/bytes.h"
#include "data/audio.h"
#include "data/folders.h"

const char *const artel__sound_endings[] = {".wav", NULL};

static const char *read_format(const uint8_t *at, uint64_t size, artel__wav *out)
{
    if (size < 16) return "its format is cut off";
    int kind = (int)artel__bytes_get(at, 2);
    if (kind == 0xfffe && size >= 26) kind = (int)artel__bytes_get(at + 24, 2);
    out->channels = (int)artel__bytes_get(at + 2, 2);
    out->rate = (int64_t)artel__bytes_get(at + 4, 4);
    out->bits = (int)artel__bytes_get(at + 14, 2);
    out->is_float = kind == 3;
    bool known = kind == 1 ? out->bits == 8 || out->bits == 16 || out->bits == 24 || out->bits == 32
                           : kind == 3 && out->bits == 32;
    if (!known) return "neither PCM of 8, 16, 24 or 32 bits nor float32; convert it with sox or ffmpeg";
    return out->channels < 1 || out->channels > 64 ? "it has no possible number of channels" : NULL;
}

const char *artel__wav_open(const uint8_t *bytes, size_t size, artel__wav *out)
{
    memset(out, 0, sizeof *out);
    if (size < 12 || memcmp(bytes, "RIFF", 4) != 0 || memcmp(bytes + 8, "WAVE", 4) != 0) return "not a WAV file";
    for (size_t at = 12; size - at >= 8;) {
        const uint8_t *chunk = bytes + at;
        uint64_t length = artel__bytes_get(chunk + 4, 4), room = size - at - 8;
        bool is_data = memcmp(chunk, "data", 4) == 0;
        if (is_data && length == 0xffffffff) length = room; /* written to a pipe */
        if (length > room) return "it is cut off";
        if (memcmp(chunk, "fmt ", 4) == 0) {
            const char *why = read_format(chunk + 8, length, out);
            if (why != NULL) return why;
        }
        if (is_data) {
            if (out->channels == 0) return "its data comes before its format";
            out->samples = chunk + 8;
            out->count = (int64_t)(length / ((uint64_t)out->channels * (uint64_t)out->bits / 8));
            return NULL;
        }
        uint64_t step = 8 + length + (length & 1);
        if (step > size - at) break;
        at += (size_t)step;
    }
    return "it holds no samples";
}

static float sample_at(const artel__wav *wav, int64_t i)
{
    const uint8_t *at = wav->samples + (size_t)i * (size_t)(wav->bits / 8);
    uint32_t bits = (uint32_t)artel__bytes_get(at, wav->bits / 8);
    float value;
    if (wav->bits == 8) return ((float)bits - 128.0f) / 128.0f;
    if (wav->is_float) {
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    int32_t whole = (int32_t)(bits << (32 - wav->bits)) / (1 << (32 - wav->bits));
    return (float)whole / (float)((uint32_t)1 << (wav->bits - 1));
}

void artel__wav_read(const artel__wav *wav, float *out, int64_t length, int channels)
{
    int64_t samples = wav->count < length ? wav->count : length;
    for (int64_t i = 0; i < samples; i++) {
        for (int c = 0; c < channels; c++) {
            int64_t from = c < wav->channels ? c : wav->channels - 1; /* one channel is heard on both sides */
            out[i * channels + c] = sample_at(wav, i * wav->channels + from);
        }
    }
    memset(out + samples * channels, 0, (size_t)((length - samples) * channels) * sizeof *out);
}

/* ---- the format ---- */

static artel_status bad_file(const artel__source *source, const char *path, const char *why)
{
    return artel__fail(source->ctx, ARTEL_ERROR_CORRUPT, path, "replace the file or move it out of the folder", "%s",
                       why);
}

static artel_status open_file(const artel__source *source, const char *path, artel__mapping *mapping, artel__wav *wav)
{
    ARTEL_TRY(artel__map_file(source->ctx, path, mapping));
    const char *why = artel__wav_open(mapping->bytes, mapping->size, wav);
    if (why == NULL) return ARTEL_OK;
    artel__unmap_file(mapping);
    return bad_file(source, path, why);
}

/* The first file, or with skip-errors the first that can be read. */
static artel_status open_first(const artel__source *source, const artel__folders *folders, artel__mapping *mapping,
                               artel__wav *wav)
{
    artel_status status = ARTEL_OK;
    for (int64_t i = 0; i < folders->count; i++) {
        status = open_file(source, folders->items[i]->path, mapping, wav);
        if (status == ARTEL_OK || source->skips == NULL || !artel__is_damage(status) || i + 1 == folders->count) break;
        artel__operation_begin(source->ctx); /* it is counted when it is read as a row */
    }
    return status;
}

/* Length and channels of the first file stand for those not given. */
static artel_status settle_row(artel__source *source, const artel__folders *folders, artel_shape *row)
{
    artel__mapping mapping;
    artel__wav wav;
    row->dim[0] = source->options.length;
    row->dim[1] = source->options.channels;
    if (row->dim[0] > 0 && row->dim[1] > 0) return ARTEL_OK;
    ARTEL_TRY(open_first(source, folders, &mapping, &wav));
    if (row->dim[0] == 0) row->dim[0] = wav.count;
    if (row->dim[1] == 0) row->dim[1] = wav.channels;
    artel__unmap_file(&mapping);
    if (row->dim[0] > 0) return ARTEL_OK;
    return bad_file(source, folders->items[0]->path, "it holds no samples; #length=N says how many there are to be");
}

static artel_status audio_open(artel__source *source)
{
    static const artel__source_array sound = {
        .name = "x", .role = ARTEL_DATA_ROLE_INPUT, .dtype = ARTEL_DTYPE_FLOAT32, .row = {2, {-1, -1}}};
    artel__folders *folders = artel__arena_alloc(&source->arena, 1, sizeof *folders);
    if (folders == NULL) return ARTEL_ERROR_NO_MEMORY;
    folders->endings = artel__sound_endings;
    folders->noun = "WAV files";
    source->state = folders;
    ARTEL_TRY(artel__folders_open(source, folders, &sound));
    return settle_row(source, folders, &source->arrays[0].row);
}

static artel_status audio_fetch(const artel__source *source, int array, const artel_shape *row_shape, int64_t row,
                                void *out)
{
    const artel__folder_file *item = ((const artel__folders *)source->state)->items[row];
    artel__mapping mapping;
    artel__wav wav;
    if (array == 1) {
        memcpy(out, &item->label, sizeof item->label);
        return ARTEL_OK;
    }
    ARTEL_TRY(open_file(source, item->path, &mapping, &wav));
    bool fits = wav.channels == row_shape->dim[1] || wav.channels == 1;
    if (fits) artel__wav_read(&wav, out, row_shape->dim[0], (int)row_shape->dim[1]);
    artel__unmap_file(&mapping);
    return fits ? ARTEL_OK
                : bad_file(source, item->path,
                           "it has another number of channels than the first file; #channels=N chooses");
}

static artel_status audio_hash_row(const artel__source *source, int array, int64_t row, uint64_t *out)
{
    return artel__folders_hash_row(source, source->state, array, row, out);
}

static artel_status audio_fingerprint(const artel__source *source, artel__sha256 *hash)
{
    return artel__folders_fingerprint(source, source->state, hash);
}

const artel__data_format artel__data_audio = {
    .name = "audio",
    .syntax = "audio:DIR#length=N",
    .options = "length channels scale shift skip-errors",
    .open = audio_open,
    .reads_ahead = true,
    .fetch_row = audio_fetch,
    .hash_row = audio_hash_row,
    .fingerprint = audio_fingerprint,
};
