/* SPDX-License-Identifier: Apache-2.0 */
/* Windows, waves and mel bands. See the header. After keras/src/initializers/constant_initializers.py (STFT) and
 * keras/src/layers/preprocessing/mel_spectrogram.py; the windows are sums of cosines with the coefficients of the
 * literature. */
#include "nn/spectrum.h"

#include <stddef.h>
#include <string.h>

#include "base/scalar_math.h"

/* w(t) = a0 - a1 cos(2 pi t) + a2 cos(4 pi t) - ..., t from 0 to 1. */
static const struct {
    const char *name;
    double a[5];
} windows[] = {
    {"hann", {0.5, 0.5}},
    {"hamming", {0.54, 0.46}},
    {"blackman", {0.42, 0.5, 0.08}},
    {"nuttall", {0.3635819, 0.4891775, 0.1365995, 0.0106411}},
    {"blackmanharris", {0.35875, 0.48829, 0.14128, 0.01168}},
    {"flattop", {0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368}},
    {"boxcar", {1}},
};

bool artel__spectrum_window(const char *name, bool periodic, int64_t length, double *out)
{
    size_t row = 0;
    while (row < sizeof windows / sizeof *windows && strcmp(windows[row].name, name) != 0) row++;
    if (row == sizeof windows / sizeof *windows) return false;
    int64_t period = periodic ? length : length - 1;
    for (int64_t i = 0; i < length; i++) {
        double sum = 0;
        for (int k = 0; k < 5; k++) {
            double sin_of, cos_of = 1;
            if (period > 0) artel__sincos_turns64((double)(k * i % period) / (double)period, &sin_of, &cos_of);
            sum += (k % 2 ? -1 : 1) * windows[row].a[k] * cos_of;
        }
        out[i] = length == 1 ? 1 : sum;
    }
    return true;
}

void artel__spectrum_waves(bool sine, const double *window, artel__spectrum_scaling scaling, int64_t length,
                           int64_t frequencies, float *out)
{
    int64_t period = frequencies > 1 ? 2 * (frequencies - 1) : 1;
    double size = 0;
    for (int64_t i = 0; window && i < length; i++)
        size += scaling == ARTEL__SPECTRUM_DENSITY ? window[i] * window[i] : window[i] < 0 ? -window[i] : window[i];
    if (!window || scaling == ARTEL__SPECTRUM_NONE) size = 1;
    if (window && scaling == ARTEL__SPECTRUM_DENSITY) size = artel__sqrt64(size);
    for (int64_t i = 0; i < length * frequencies; i++) {
        int64_t time = i / frequencies, f = i % frequencies;
        double sin_of, cos_of;
        artel__sincos_turns64((double)(time * f % period) / (double)period, &sin_of, &cos_of);
        out[i] = (float)((sine ? -sin_of : cos_of) * (window ? window[time] : 1) / size);
    }
}

static double mel_of(double hertz)
{
    return 1127.0 * artel__log64(1 + hertz / 700.0);
}

void artel__spectrum_mel(double rate, double lowest, double highest, int64_t frequencies, int64_t bands, double *out)
{
    double low = mel_of(lowest), step = (mel_of(highest) - low) / (double)(bands + 1);
    for (int64_t i = 0; i < frequencies * bands; i++) {
        int64_t f = i / bands, band = i % bands;
        double at = mel_of(rate / 2 * (double)f / (double)(frequencies > 1 ? frequencies - 1 : 1)) - low;
        double rises = at / step - (double)band, falls = (double)band + 2 - at / step;
        double least = rises < falls ? rises : falls;
        out[i] = f == 0 || least < 0 ? 0 : least;
    }
}
