/* SPDX-License-Identifier: Apache-2.0 */
/* TextVectorization: texts into places of their tokens, or into vectors of counts.
 *
 * After keras/src/layers/preprocessing/text_vectorization.py. A text becomes as many places as output_sequence_length
 * says; without it Keras pads to the longest text of a batch, so that results depend on which rows come together: that
 * is refused.
 */
#include "nn/layer_lookup.h"

#include <string.h>

typedef struct text_config {
    artel__lookup_config lookup; /* first: its rows of the table say so */
    int64_t length;
} text_config;

static const artel__option text_options[] = {
    ARTEL__LOOKUP_OPTIONS,
    {"output_sequence_length", "places of a text", ARTEL__OPTION_INT, offsetof(text_config, length), "null", 1, 1 << 24,
     NULL},
    ARTEL__PART("standardize", "lower_and_strip_punctuation, lower, strip_punctuation or null"),
    ARTEL__PART("split", "whitespace, character or null"),
    ARTEL__PART("ngrams", "n: of one to n tokens; a list: of these widths"),
    ARTEL__PART("ragged", "must be false"),
    ARTEL__PART("encoding", "accepted; concerns what Python is told of a vocabulary"),
    ARTEL__OPTIONS_END,
};

/* A setting with a name or null; absent means `fallback`. NULL with *known false: it is something else, a function as a
 * rule. */
static const char *read_name(const artel__layer *layer, const char *key, const char *fallback, bool *known)
{
    json_t *value = json_object_get(json_object_get(layer->record, "config"), key);
    *known = !value || json_is_null(value) || json_is_string(value);
    return !value ? fallback : json_string_value(value);
}

static artel_status refuse(const artel__layer *layer, const char *key)
{
    return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "use one of the values of docs/layers-text.md",
                             "this value of the setting \"%s\" is not supported", key);
}

static artel_status read_standardize(const artel__layer *layer, artel__vectorize *own)
{
    bool known;
    const char *name = read_name(layer, "standardize", "lower_and_strip_punctuation", &known);
    bool both = name && strcmp(name, "lower_and_strip_punctuation") == 0;
    own->lower = both || (name && strcmp(name, "lower") == 0);
    own->strip = both || (name && strcmp(name, "strip_punctuation") == 0);
    return !known || (name && !own->lower && !own->strip) ? refuse(layer, "standardize") : ARTEL_OK;
}

static artel_status read_split(const artel__layer *layer, artel__vectorize *own)
{
    bool known;
    const char *name = read_name(layer, "split", "whitespace", &known);
    own->split = !name                             ? ARTEL__SPLIT_NONE
                 : strcmp(name, "whitespace") == 0 ? ARTEL__SPLIT_SPACES
                                                   : ARTEL__SPLIT_CHARACTERS;
    return !known || (own->split == ARTEL__SPLIT_CHARACTERS && strcmp(name, "character") != 0) ? refuse(layer, "split")
                                                                                               : ARTEL_OK;
}

static artel_status read_ngrams(const artel__layer *layer, artel__vectorize *own)
{
    json_t *value = artel__layer_setting(layer, "ngrams");
    int64_t most = 0;
    if (!value) return ARTEL_OK;
    bool list = json_is_array(value), fits = list || artel__json_integer(value, &most);
    int64_t count = list ? (int64_t)json_array_size(value) : most;
    if (!fits || count < 1 || count > ARTEL__NGRAM_WIDTHS) return refuse(layer, "ngrams");
    for (int64_t i = 0; i < count; i++) {
        own->width[i] = i + 1;
        if (list && !artel__json_integer(json_array_get(value, (size_t)i), &own->width[i]))
            return refuse(layer, "ngrams");
        if (own->width[i] < 1) return refuse(layer, "ngrams");
    }
    own->widths = (int)count;
    return ARTEL_OK;
}

static artel_status configure_text(artel__layer *layer)
{
    const text_config *c = layer->config;
    artel__vectorize *own = layer->own = artel__arena_alloc(layer->arena, 1, sizeof *own);
    if (!own) return ARTEL_ERROR_NO_MEMORY;
    if (json_is_true(artel__layer_setting(layer, "ragged")))
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "set output_sequence_length instead",
                                 "ragged results are not supported");
    ARTEL_TRY(read_standardize(layer, own));
    ARTEL_TRY(read_split(layer, own));
    ARTEL_TRY(read_ngrams(layer, own));
    own->length = c->length;
    own->lookup.oov = 1;
    own->lookup.masked = true;
    own->lookup.mask_word = (artel__string){"", 0};
    own->lookup.oov_word = (artel__string){"[UNK]", 5};
    ARTEL_TRY(artel__layer_vocabulary(layer, &c->lookup, true, &own->lookup));
    artel__encoding_mode mode = own->lookup.encoding.mode;
    if (mode == ARTEL__ENCODE_ONE_HOT) return refuse(layer, "output_mode");
    if (mode != ARTEL__ENCODE_INT && c->length > 0)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "leave it out",
                                 "output_sequence_length goes with output_mode \"int\"");
    if (mode == ARTEL__ENCODE_INT && c->length == 0 && own->split != ARTEL__SPLIT_NONE)
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "set it, so that a text gives the same in every batch",
                                 "without output_sequence_length texts are as long as the longest of their batch");
    return ARTEL_OK;
}

static artel_status call_text(artel__layer *layer, artel__call *call)
{
    ARTEL_TRY(artel__layer_check_input(layer, call, 0, ARTEL_MAX_RANK));
    return artel__call_row_function(layer, call, &artel__vectorize_function, layer->own);
}

const artel__layer_def artel__layer_text_vectorization_def = {
    .class_name = "TextVectorization",
    .doc = "Texts into places of their tokens in a vocabulary.",
    .config_size = sizeof(text_config),
    .options = text_options,
    .mask = ARTEL__MASK_STOP,
    .cast = ARTEL__CAST_RESULT,
    .strings = true,
    .configure = configure_text,
    .call = call_text,
};
