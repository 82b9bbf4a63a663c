/* SPDX-License-Identifier: Apache-2.0 */
/* Tables for spectra of signals: windows, waves under a window, bands on the mel scale. All are made in float64. */
#ifndef ARTEL_NN_SPECTRUM_H
#define ARTEL_NN_SPECTRUM_H

#include <stdbool.h>
#include <stdint.h>

typedef enum artel__spectrum_scaling {
    ARTEL__SPECTRUM_NONE,
    ARTEL__SPECTRUM_DENSITY, /* divided by the root of the sum of the window's squares */
    ARTEL__SPECTRUM_SUM      /* by the sum of its absolute values */
} artel__spectrum_scaling;

/* The window of that name as scipy.signal.get_window gives it; false when there is none of the name. */
bool artel__spectrum_window(const char *name, bool periodic, int64_t length, double *out);
/* cos or -sin of 2 pi time f / (2 (frequencies - 1)), [length][frequencies], by the window (NULL: none). */
void artel__spectrum_waves(bool sine, const double *window, artel__spectrum_scaling scaling, int64_t length,
                           int64_t frequencies, float *out);
/* Triangles over `frequencies` up to half the rate, [frequencies][bands], evenly spread on the mel scale between two
 * frequencies. */
void artel__spectrum_mel(double rate, double lowest, double highest, int64_t frequencies, int64_t bands, double *out);

#endif
