/* SPDX-License-Identifier: Apache-2.0 */
/* WAV files in memory. */
#ifndef ARTEL_DATA_AUDIO_H
#define ARTEL_DATA_AUDIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct artel__wav {
    const uint8_t *samples; /* interleaved */
    int64_t count;          /* samples of each channel */
    int64_t rate;
    int channels, bits;
    bool is_float;
} artel__wav;

/* NULL, or what is wrong with the file; `out` points into the bytes. */
const char *artel__wav_open(const uint8_t *bytes, size_t size, artel__wav *out);
/* The first `length` samples as [length][channels] in -1..1, silence behind the last; the last channel stands for those
 * it lacks. */
void artel__wav_read(const artel__wav *wav, float *out, int64_t length, int channels);

#endif
