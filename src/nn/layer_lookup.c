/* SPDX-License-Identifier: Apache-2.0 */
/* IntegerLookup and StringLookup: places in a vocabulary. After keras/src/layers/preprocessing/index_lookup.py.
 *
 * The vocabulary stands in the layer's config: there it was given, or there it was put from the file beside the model
 * in which Keras keeps what adapt() has found (keras/assets.c). It may begin with the special terms (mask, unknown
 * ones) or not, all of them or none, as in Keras.
 */
#include "nn/layer_lookup.h"

#include <stdio.h>
#include <string.h>

/* -- the vocabulary -- */

typedef struct terms {
    artel__string *word;
    int64_t *integer;
    int64_t count;
} terms;

static artel_status read_terms(const artel__layer *layer, bool strings, json_t *list, terms *out)
{
    out->count = (int64_t)json_array_size(list);
    size_t room = (size_t)out->count + 1;
    if (strings)
        out->word = artel__arena_alloc(layer->arena, room, sizeof *out->word);
    else
        out->integer = artel__arena_alloc(layer->arena, room, sizeof *out->integer);
    ARTEL_TRY(artel__arena_status(layer->arena));
    for (int64_t i = 0; i < out->count; i++) {
        json_t *term = json_array_get(list, (size_t)i);
        if (strings && json_is_string(term))
            out->word[i] = (artel__string){json_string_value(term), json_string_length(term)};
        else if (strings || !artel__json_integer(term, &out->integer[i]))
            return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "save the model again with Keras",
                                     "term %lld of its vocabulary is no %s", (long long)i,
                                     strings ? "string" : "integer");
    }
    return ARTEL_OK;
}

static bool is_term(const terms *t, int64_t i, const artel__string *word, int64_t integer)
{
    if (!t->word) return t->integer[i] == integer;
    return t->word[i].length == word->length &&
           (word->length == 0 || memcmp(t->word[i].bytes, word->bytes, word->length) == 0);
}

/* Special terms in front: the mask where it has a place, then that for unknown terms as often as there are places. */
static int64_t count_special(const artel__lookup *s, const terms *t)
{
    int64_t special = s->first_oov + s->oov;
    if (special > t->count) return 0;
    for (int64_t i = 0; i < special; i++) {
        bool mask = i < s->first_oov;
        if (!is_term(t, i, mask ? &s->mask_word : &s->oov_word, mask ? s->mask_integer : s->oov_integer)) return 0;
    }
    return special;
}

static artel_status make_table(const artel__layer *layer, artel__lookup *s, terms *t, int64_t special)
{
    artel__table *table = artel__arena_alloc(layer->arena, 1, sizeof *table);
    int64_t repeated = -1;
    if (!table) return ARTEL_ERROR_NO_MEMORY;
    if (t->word)
        ARTEL_TRY(artel__table_words(layer->arena, t->word + special, t->count - special, table, &repeated));
    else
        ARTEL_TRY(artel__table_integers(layer->arena, t->integer + special, t->count - special, table, &repeated));
    s->table = table;
    if (repeated >= 0)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "give every term once",
                                 "term %lld of its vocabulary is there twice", (long long)(repeated + special));
    bool mask = s->masked && (t->word ? artel__table_find_word(table, s->mask_word.bytes, s->mask_word.length)
                                      : artel__table_find_integer(table, s->mask_integer)) >= 0;
    if (mask)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "leave all special terms out, or put all of them in front",
                                 "its mask_token is a term of its vocabulary");
    return ARTEL_OK;
}

/* -- tf_idf -- */

/* Weights by place: as they are given where the special terms have some, else those have the mean; zeros behind the
 * vocabulary. */
static artel_status read_weights(artel__layer *layer, artel__lookup *s, const terms *t, int64_t special)
{
    json_t *list = artel__layer_setting(layer, "idf_weights");
    int64_t given = (int64_t)json_array_size(list), front = special > 0 ? 0 : s->first_oov + s->oov;
    float *weights = artel__arena_alloc(layer->arena, (size_t)(s->encoding.depth + front + given) + 1, sizeof *weights);
    double sum = 0, number;
    if (!weights) return ARTEL_ERROR_NO_MEMORY;
    if (given != t->count)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID,
                                 "adapt the layer before saving, or give a weight for each term",
                                 "it has %lld idf_weights for %lld terms", (long long)given, (long long)t->count);
    for (int64_t i = 0; i < given; i++) {
        if (!artel__json_number(json_array_get(list, (size_t)i), &number))
            return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "use numbers",
                                     "an element of idf_weights is no number");
        weights[front + i] = (float)number;
        sum += number;
    }
    for (int64_t i = 0; i < front; i++) weights[i] = (float)(sum / (double)given);
    artel__layer_constant *constant = artel__arena_alloc(layer->arena, 1, sizeof *constant);
    if (!constant) return ARTEL_ERROR_NO_MEMORY;
    *constant = (artel__layer_constant){"idf_weights", NULL, weights, s->encoding.depth};
    if (strcmp(layer->def->class_name, "TextVectorization") == 0) constant->child = "_lookup_layer";
    layer->constant = constant;
    s->encoding.weights = weights;
    return ARTEL_OK;
}

artel_status artel__layer_vocabulary(artel__layer *layer, const artel__lookup_config *config, bool strings,
                                     artel__lookup *out)
{
    json_t *list = artel__layer_setting(layer, "vocabulary");
    terms t = {.count = 0};
    uint32_t allowed = config->invert ? ARTEL__MODES_INT : ~0u;
    ARTEL_TRY(artel__layer_encoding(layer, config->mode, allowed, ARTEL_DTYPE_INT32, &out->encoding));
    out->inverse = config->invert;
    out->first_oov = out->masked && out->encoding.mode == ARTEL__ENCODE_INT;
    int64_t front = out->first_oov + out->oov;
    bool never_adapted =
        !list && (config->size == 0 || config->size == front) && out->encoding.mode == ARTEL__ENCODE_INT;
    if (never_adapted)
        artel__log(layer->arena->ctx, ARTEL_LOG_WARNING,
                   "layer \"%s\" (%s) has no vocabulary: all terms are unknown to it", layer->name,
                   layer->def->class_name);
    if (!json_is_array(list) && !never_adapted)
        return artel__layer_fail(
            layer, ARTEL_ERROR_INVALID, "adapt it, and save the model as .keras, which holds the vocabulary",
            list ? "its vocabulary lies in a file outside the model" : "its vocabulary is not known");
    ARTEL_TRY(read_terms(layer, strings, list, &t));
    int64_t special = count_special(out, &t), places = front + t.count - special;
    ARTEL_TRY(make_table(layer, out, &t, special));
    if (config->max_tokens > 0 && places > config->max_tokens)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "enlarge max_tokens",
                                 "its vocabulary needs %lld places, max_tokens are %lld", (long long)places,
                                 (long long)config->max_tokens);
    if (config->pad && config->max_tokens <= 0)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "set max_tokens",
                                 "pad_to_max_tokens goes with max_tokens");
    out->encoding.depth = config->pad ? config->max_tokens : places;
    return out->encoding.mode == ARTEL__ENCODE_TF_IDF ? read_weights(layer, out, &t, special) : ARTEL_OK;
}

/* -- the layers -- */

#define SHARED_OPTIONS                                                                                                \
    {"num_oov_indices",                                                                                               \
     "places for unknown terms",                                                                                      \
     ARTEL__OPTION_INT,                                                                                               \
     offsetof(artel__lookup_config, oov),                                                                             \
     "1",                                                                                                             \
     0,                                                                                                               \
     INT32_MAX,                                                                                                       \
     NULL},                                                                                                           \
        {"invert", "from places to terms", ARTEL__OPTION_BOOL, offsetof(artel__lookup_config, invert), "false", 0, 0, \
         NULL},                                                                                                       \
        ARTEL__PART("mask_token", "a term that is padding"),                                                          \
        ARTEL__PART("oov_token", "the term for unknown ones, backwards"),                                             \
        ARTEL__PART("oov_method", "floormod or farmhash"),                                                            \
        ARTEL__PART("salt", "null, or the key of the hash of unknown terms")

static const artel__option string_options[] = {
    ARTEL__LOOKUP_OPTIONS,
    SHARED_OPTIONS,
    ARTEL__PART("encoding", "accepted; concerns what Python is told of a vocabulary"),
    ARTEL__OPTIONS_END,
};

static const artel__option integer_options[] = {
    ARTEL__LOOKUP_OPTIONS,
    SHARED_OPTIONS,
    ARTEL__PART("vocabulary_dtype", "int64"),
    ARTEL__OPTIONS_END,
};

static artel_status read_word(const artel__layer *layer, const char *key, artel__string *out, bool *given)
{
    json_t *word = artel__layer_setting(layer, key);
    *given = word != NULL;
    *out = (artel__string){"", 0};
    if (!word) return ARTEL_OK;
    if (!json_is_string(word))
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "use a string", "its %s is no string", key);
    *out = (artel__string){json_string_value(word), json_string_length(word)};
    return ARTEL_OK;
}

static artel_status read_integer(const artel__layer *layer, const char *key, int64_t *out, bool *given)
{
    json_t *integer = artel__layer_setting(layer, key);
    *given = integer != NULL;
    if (!integer || artel__json_integer(integer, out)) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "use an integer", "its %s is no integer", key);
}

static artel_status configure_lookup(artel__layer *layer, bool strings, artel__lookup *own)
{
    const artel__lookup_config *c = layer->config;
    const char *method = json_string_value(artel__layer_setting(layer, "oov_method"));
    own->oov = c->oov;
    own->fingerprints = method && strcmp(method, "farmhash") == 0;
    if (method && !own->fingerprints && strcmp(method, "floormod") != 0)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "use floormod or farmhash",
                                 "the oov_method \"%s\" is not known", method);
    ARTEL_TRY(artel__layer_salt(layer, &own->salted, own->salt));
    return artel__layer_vocabulary(layer, c, strings, own);
}

static artel_status configure_string(artel__layer *layer)
{
    artel__lookup *own = layer->own = artel__arena_alloc(layer->arena, 1, sizeof *own);
    bool given;
    if (!own) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(read_word(layer, "mask_token", &own->mask_word, &own->masked));
    ARTEL_TRY(read_word(layer, "oov_token", &own->oov_word, &given));
    return configure_lookup(layer, true, own);
}

static artel_status configure_integer(artel__layer *layer)
{
    artel__lookup *own = layer->own = artel__arena_alloc(layer->arena, 1, sizeof *own);
    bool given;
    if (!own) return ARTEL_ERROR_NO_MEMORY;
    own->oov_integer = -1;
    ARTEL_TRY(read_integer(layer, "mask_token", &own->mask_integer, &own->masked));
    ARTEL_TRY(read_integer(layer, "oov_token", &own->oov_integer, &given));
    return configure_lookup(layer, false, own);
}

static artel_status call_lookup(artel__layer *layer, artel__call *call)
{
    ARTEL_TRY(artel__layer_check_input(layer, call, 0, ARTEL_MAX_RANK));
    return artel__call_row_function(layer, call, &artel__lookup_function, layer->own);
}

const artel__layer_def artel__layer_integer_lookup_def = {
    .class_name = "IntegerLookup",
    .doc = "Integers into places in a vocabulary, or back.",
    .config_size = sizeof(artel__lookup_config),
    .options = integer_options,
    .mask = ARTEL__MASK_STOP,
    .cast = ARTEL__CAST_RESULT,
    .configure = configure_integer,
    .call = call_lookup,
};

const artel__layer_def artel__layer_string_lookup_def = {
    .class_name = "StringLookup",
    .doc = "Strings into places in a vocabulary, or back.",
    .config_size = sizeof(artel__lookup_config),
    .options = string_options,
    .mask = ARTEL__MASK_STOP,
    .cast = ARTEL__CAST_RESULT,
    .strings = true,
    .configure = configure_string,
    .call = call_lookup,
};
