/* SPDX-License-Identifier: Apache-2.0 */
/* STFTSpectrogram and MelSpectrogram: signals as frequencies over time.
 *
 * STFTSpectrogram: frames of each channel by two matrices, cosines and sines under a window, which are variables and
 * train; then what `mode` says. MelSpectrogram: the transform of keras.ops.stft (layer_ops_fourier.c), its size to a
 * power, in bands, in decibels; top_db counts from the largest number of the whole batch, as in Keras. After
 * keras/src/layers/preprocessing/stft_spectrogram.py, mel_spectrogram.py.
 */
#include <string.h>

#include "nn/layer_ops_formula.h"
#include "nn/spectrum.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

#define EPSILON 1e-7
#define MOST_PLACES 16384

typedef struct stft_config {
    int64_t frame_length, frame_step, fft_length;
    int mode, padding, data_format;
    bool periodic, expand_dims;
} stft_config;

enum {
    MODE_LOG,
    MODE_MAGNITUDE,
    MODE_PSD,
    MODE_REAL,
    MODE_IMAG,
    MODE_ANGLE,
    MODE_STFT
};
static const char *const stft_modes[] = {"log", "magnitude", "psd", "real", "imag", "angle", "stft", NULL};
static const char *const paddings[] = {"valid", "same", NULL};

#define STFT(field) offsetof(stft_config, field)
static const artel__option stft_options[] = {
    {"mode", "what is made of a frequency", ARTEL__OPTION_ENUM, STFT(mode), "log", 0, 0, stft_modes},
    {"frame_length", "samples of a frame", ARTEL__OPTION_INT, STFT(frame_length), "256", 1, MOST_PLACES, NULL},
    {"frame_step", "samples from one frame to the next; null: half a frame", ARTEL__OPTION_INT, STFT(frame_step),
     "null", 1, MOST_PLACES, NULL},
    {"fft_length", "period of the lowest frequency; null: the next power of two", ARTEL__OPTION_INT, STFT(fft_length),
     "null", 1, MOST_PLACES, NULL},
    ARTEL__PART("window", "a name, an array or null"),
    ARTEL__PART("scaling", "density, spectrum or null"),
    {"periodic", "the window's period is one more", ARTEL__OPTION_BOOL, STFT(periodic), "false", 0, 0, NULL},
    {"padding", "valid or same", ARTEL__OPTION_ENUM, STFT(padding), "valid", 0, 0, paddings},
    {"expand_dims", "channels keep an axis", ARTEL__OPTION_BOOL, STFT(expand_dims), "false", 0, 0, NULL},
    ARTEL__DATA_FORMAT(stft_config),
    ARTEL__OPTIONS_END,
};

static artel_status configure_stft(artel__layer *layer)
{
    stft_config *c = layer->config;
    if (c->frame_step < 1) c->frame_step = c->frame_length / 2;
    if (c->frame_step < 1) c->frame_step = 1;
    if (c->fft_length < 1) {
        for (c->fft_length = 1; c->fft_length < c->frame_length;) c->fft_length *= 2;
    }
    if (c->fft_length < c->frame_length || c->frame_step > c->frame_length)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "use frame_step <= frame_length <= fft_length",
                                 "frame_length, frame_step and fft_length do not fit one another");
    return ARTEL_OK;
}

/* NULL in `out` when there is none. */
static artel_status read_window(artel__layer *layer, int64_t length, double **out)
{
    const stft_config *c = layer->config;
    json_t *config = json_object_get(layer->record, "config"), *given = json_object_get(config, "window");
    const char *name = given ? json_string_value(given) : "hann";
    artel_shape shape;
    const float *numbers;
    *out = NULL;
    if (given && json_is_null(given)) return ARTEL_OK;
    double *window = artel__arena_alloc(layer->arena, (size_t)length, sizeof *window);
    if (!window) return ARTEL_ERROR_NO_MEMORY;
    *out = window;
    if (name)
        return artel__spectrum_window(name, c->periodic, length, window)
                   ? ARTEL_OK
                   : artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED,
                                       "use hann, hamming, blackman, nuttall, blackmanharris, flattop, boxcar",
                                       "the window \"%s\" is not supported", name);
    if (!artel__numbers_json(layer->arena, given, &shape, &numbers) || shape.rank != 1 || shape.dim[0] != length)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "give as many numbers as a frame has samples",
                                 "its window does not fit");
    for (int64_t i = 0; i < length; i++) window[i] = (double)numbers[i];
    return ARTEL_OK;
}

static artel_status declare_waves(artel__layer *layer, const char *name, bool sine)
{
    const stft_config *c = layer->config;
    int64_t frequencies = c->fft_length / 2 + 1;
    json_t *config = json_object_get(layer->record, "config"), *given = json_object_get(config, "scaling");
    const char *scaling = given ? json_string_value(given) : "density";
    double *window;
    ARTEL_TRY(read_window(layer, c->frame_length, &window));
    if (scaling && strcmp(scaling, "density") != 0 && strcmp(scaling, "spectrum") != 0)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "use density, spectrum or null",
                                 "the scaling \"%s\" is none", scaling);
    float *waves = artel__arena_alloc(layer->arena, (size_t)(c->frame_length * frequencies), sizeof *waves);
    if (!waves) return ARTEL_ERROR_NO_MEMORY;
    artel__spectrum_waves(sine, window,
                          !scaling                          ? ARTEL__SPECTRUM_NONE
                          : strcmp(scaling, "density") == 0 ? ARTEL__SPECTRUM_DENSITY
                                                            : ARTEL__SPECTRUM_SUM,
                          c->frame_length, frequencies, waves);
    artel__weight_parts parts = {0};
    artel_shape shape = artel__shape(3, c->frame_length, (int64_t)1, frequencies);
    ARTEL_TRY(artel__initializer_numbers(layer->arena, waves, c->frame_length * frequencies, &parts.initializer));
    return artel__layer_declare(layer, name, &shape, c->frame_length, true, &parts);
}

static artel_status build_stft(artel__layer *layer, const artel__call *call)
{
    const stft_config *c = layer->config;
    ARTEL_TRY(artel__layer_check_input(layer, call, 2, 2));
    if (c->mode != MODE_IMAG) ARTEL_TRY(declare_waves(layer, "real_kernel", false));
    return c->mode != MODE_REAL ? declare_waves(layer, "imag_kernel", true) : ARTEL_OK;
}

/* [channels][frames][samples of a frame] of x [channels][samples]. */
static artel_status frames_of(artel__layer *layer, artel__graph *graph, artel__value_id *x)
{
    const stft_config *c = layer->config;
    int64_t samples = graph->value[*x].shape.dim[1], length = c->frame_length;
    if (c->padding == 1) {
        int64_t frames = (samples + c->frame_step - 1) / c->frame_step,
                missing = (frames - 1) * c->frame_step + length - samples;
        int64_t before[] = {0, missing > 0 ? missing / 2 : 0}, after[] = {0, missing > 0 ? missing - missing / 2 : 0};
        if (missing > 0) *x = artel__op_pad(graph, *x, before, after, 0);
        samples += missing > 0 ? missing : 0;
    }
    if (samples < length)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "use a shorter frame or padding \"same\"",
                                 "a frame is longer than the signal");
    *x = artel__raw_frames(graph, *x, length, c->frame_step);
    return graph->status;
}

static artel__value_id waves_of(artel__layer *layer, artel__graph *graph, artel__value_id x, int n)
{
    const stft_config *c = layer->config;
    artel_shape columns = artel__shape(1, c->fft_length / 2 + 1);
    return artel__op_product(graph, x, artel__layer_weight(layer, graph, n), ARTEL__NO_VALUE, 1, &columns,
                             ARTEL__FUSED_NONE);
}

static artel__value_id at_least(artel__graph *graph, artel__value_id x, double least)
{
    return binary(graph, ARTEL__BINARY_MAX, x, number(graph, least));
}

/* All frequencies but the first and the last count twice. */
static artel__value_id doubled(artel__graph *graph, artel__value_id x, int64_t frequencies)
{
    artel_shape line = artel__shape(1, frequencies);
    double *factor = artel__arena_alloc(graph->arena, (size_t)frequencies, sizeof *factor);
    if (!factor) return ARTEL__NO_VALUE;
    for (int64_t f = 0; f < frequencies; f++) factor[f] = f == 0 || f == frequencies - 1 ? 1 : 2;
    return binary(graph, ARTEL__BINARY_MUL, x, artel__constant_numbers(graph, &line, factor));
}

/* What `mode` makes of real and imaginary parts, [channels][frames][frequencies]. */
static artel__value_id combine(artel__graph *graph, const stft_config *c, artel__value_id real,
                               artel__value_id imaginary)
{
    if (c->mode == MODE_REAL) return real;
    if (c->mode == MODE_IMAG) return imaginary;
    if (c->mode == MODE_ANGLE) return artel__raw_arctan2(graph, imaginary, real);
    if (c->mode == MODE_STFT) return artel__op_concat(graph, (artel__value_id[]){real, imaginary}, 2, 2);
    artel__value_id squared = unary(graph, ARTEL__UNARY_SQUARE, imaginary),
                    power = artel__op_add(graph, unary(graph, ARTEL__UNARY_SQUARE, real), squared);
    if (c->mode == MODE_PSD) return doubled(graph, power, c->fft_length / 2 + 1);
    artel__value_id size = unary(graph, ARTEL__UNARY_SQRT, at_least(graph, power, EPSILON));
    return c->mode == MODE_MAGNITUDE ? size : unary(graph, ARTEL__UNARY_LOG, at_least(graph, size, EPSILON));
}

/* [channels][frames][frequencies] with the axes that the settings ask for. */
static artel__value_id arranged(artel__graph *graph, const stft_config *c, artel__value_id x)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape in = graph->value[x].shape;
    bool first = c->data_format == 1;
    if (c->expand_dims) return first ? x : artel__op_transpose(graph, x, (int[]){1, 2, 0});
    artel_shape out =
        artel__shape(2, first ? in.dim[0] * in.dim[2] : in.dim[1], first ? in.dim[1] : in.dim[0] * in.dim[2]);
    return artel__op_reshape(graph, artel__op_transpose(graph, x, first ? (int[]){0, 2, 1} : (int[]){1, 0, 2}), &out);
}

static artel_status call_stft(artel__layer *layer, artel__call *call)
{
    const stft_config *c = layer->config;
    artel__graph *graph = call->graph;
    artel__value_id real = ARTEL__NO_VALUE, imaginary = ARTEL__NO_VALUE;
    ARTEL_TRY(artel__layer_check_input(layer, call, 2, 2));
    artel__value_id x = artel__as_float(graph, call->in[0].value);
    if (c->data_format == 0) x = artel__op_transpose(graph, x, (int[]){1, 0});
    ARTEL_TRY(graph->status);
    ARTEL_TRY(frames_of(layer, graph, &x));
    if (c->mode != MODE_IMAG) real = waves_of(layer, graph, x, 0);
    if (c->mode != MODE_REAL) imaginary = waves_of(layer, graph, x, c->mode == MODE_IMAG ? 0 : 1);
    artel__call_return(call, arranged(graph, c, combine(graph, c, real, imaginary)));
    return graph->status;
}

const artel__layer_def artel__layer_stft_spectrogram_def = {
    .class_name = "STFTSpectrogram",
    .doc = "Frequencies of frames of a signal, by windows that train.",
    .config_size = sizeof(stft_config),
    .options = stft_options,
    .mask = ARTEL__MASK_STOP,
    .configure = configure_stft,
    .build = build_stft,
    .call = call_stft,
};

/* -- on the mel scale -- */

typedef struct mel_config {
    int64_t fft_length, sequence_stride, sequence_length, num_mel_bins;
    double sampling_rate, min_freq, max_freq, top_db, mag_exp, min_power, ref_power;
    bool power_to_db;
} mel_config;

#define MEL(field) offsetof(mel_config, field)
#define MEL_INT(name, fallback, least, help)                                          \
    {                                                                                 \
#name, help, ARTEL__OPTION_INT, MEL(name), fallback, least, MOST_PLACES, NULL \
    }
#define MEL_FLOAT(name, fallback, least, help)                                    \
    {                                                                             \
#name, help, ARTEL__OPTION_FLOAT, MEL(name), fallback, least, 1e300, NULL \
    }
static const artel__option mel_options[] = {
    MEL_INT(fft_length, "2048", 1, "places of a transform"),
    MEL_INT(sequence_stride, "512", 1, "samples from one frame to the next"),
    MEL_INT(sequence_length, "null", 1, "samples of a frame; null: fft_length"),
    ARTEL__PART("window", "hann, hamming, an array or null"),
    MEL_FLOAT(sampling_rate, "16000", 1e-9, "samples in a second"),
    MEL_INT(num_mel_bins, "128", 1, "bands"),
    MEL_FLOAT(min_freq, "20.0", 0, "where the lowest band begins"),
    MEL_FLOAT(max_freq, "null", 0, "where the highest band ends; null: half the rate"),
    {"power_to_db", "in decibels", ARTEL__OPTION_BOOL, MEL(power_to_db), "true", 0, 0, NULL},
    MEL_FLOAT(top_db, "80.0", 0, "decibels below the largest at most"),
    MEL_FLOAT(mag_exp, "2.0", 0, "power of the size"),
    MEL_FLOAT(min_power, "1e-10", 1e-300, "what counts as silence"),
    MEL_FLOAT(ref_power, "1.0", -1e300, "what is 0 decibels"),
    ARTEL__OPTIONS_END,
};

static artel_status configure_mel(artel__layer *layer)
{
    mel_config *c = layer->config;
    if (c->sequence_length < 1) c->sequence_length = c->fft_length;
    if (c->max_freq <= 0) c->max_freq = (double)(int64_t)(c->sampling_rate / 2);
    if (c->fft_length < c->sequence_length || c->max_freq <= c->min_freq)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID,
                                 "use sequence_length <= fft_length and min_freq < max_freq",
                                 "its lengths or frequencies do not fit one another");
    return ARTEL_OK;
}

static artel__value_id log10_of(artel__graph *graph, artel__value_id x)
{
    return times(graph, unary(graph, ARTEL__UNARY_LOG, x), 0.43429448190325182765);
}

static artel__value_id in_decibels(artel__graph *graph, const mel_config *c, artel__value_id x)
{
    double reference = c->ref_power < 0 ? -c->ref_power : c->ref_power;
    if (reference < c->min_power) reference = c->min_power;
    x = times(graph, log10_of(graph, at_least(graph, x, c->min_power)), 10);
    artel__value_id zero = times(graph, log10_of(graph, number(graph, reference)), 10);
    x = binary(graph, ARTEL__BINARY_SUB, x, zero);
    uint32_t all = 3; /* frames and bands */
    artel__value_id most = artel__op_batch_max(graph, artel__op_reduce(graph, ARTEL__REDUCE_MAX, x, all, false));
    artel__value_id least = artel__op_affine(graph, most, 1, -c->top_db);
    return binary(graph, ARTEL__BINARY_MAX, x, least);
}

static artel_status call_mel(artel__layer *layer, artel__call *call)
{
    const mel_config *c = layer->config;
    artel__graph *graph = call->graph;
    artel__value_id real, imaginary, x;
    ARTEL_TRY(artel__layer_check_input(layer, call, 1, 1));
    x = artel__as_float(graph, call->in[0].value);
    artel__short_time how = {
        .length = c->sequence_length, .stride = c->sequence_stride, .places = c->fft_length, .centred = true};
    ARTEL_TRY(artel__raw_short_time(layer, call, x, &how, &real, &imaginary));
    artel__value_id squared = unary(graph, ARTEL__UNARY_SQUARE, imaginary);
    x = artel__op_add(graph, unary(graph, ARTEL__UNARY_SQUARE, real), squared);
    x = unary(graph, ARTEL__UNARY_SQRT, x);
    x = artel__op_unary_exact(graph, ARTEL__UNARY_POWER, (double[]){c->mag_exp, 0, 0}, x);
    artel_shape table = artel__shape(2, c->fft_length / 2 + 1, c->num_mel_bins);
    double *bands = artel__arena_alloc(graph->arena, (size_t)(table.dim[0] * table.dim[1]), sizeof *bands);
    if (!bands) return ARTEL_ERROR_NO_MEMORY;
    artel__spectrum_mel(c->sampling_rate, c->min_freq, c->max_freq, table.dim[0], c->num_mel_bins, bands);
    x = artel__raw_through(graph, x, artel__constant_numbers(graph, &table, bands));
    if (c->power_to_db) x = in_decibels(graph, c, x);
    artel__call_return(call, artel__op_transpose(graph, x, (int[]){1, 0}));
    return graph->status;
}

const artel__layer_def artel__layer_mel_spectrogram_def = {
    .class_name = "MelSpectrogram",
    .doc = "Frequencies of frames of a signal in bands of the mel scale.",
    .config_size = sizeof(mel_config),
    .options = mel_options,
    .mask = ARTEL__MASK_STOP,
    .cast = ARTEL__CAST_RESULT,
    .configure = configure_mel,
    .call = call_mel,
};
