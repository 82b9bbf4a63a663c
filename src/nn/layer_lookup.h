/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabularies of layers, from their records: what IntegerLookup, StringLookup and TextVectorization share. */
#ifndef ARTEL_NN_LAYER_LOOKUP_H
#define ARTEL_NN_LAYER_LOOKUP_H

#include "nn/layer_category.h"

typedef struct artel__lookup_config {
    int64_t max_tokens, oov, size;
    bool invert, pad;
    int mode;
} artel__lookup_config;

/* The rows of the option table that all three have, for a struct that begins with artel__lookup_config. */
#define ARTEL__LOOKUP_OPTIONS                                                                  \
    {"max_tokens",                                                                             \
     "places at most",                                                                         \
     ARTEL__OPTION_INT,                                                                        \
     offsetof(artel__lookup_config, max_tokens),                                               \
     "null",                                                                                   \
     2,                                                                                        \
     INT32_MAX,                                                                                \
     NULL},                                                                                    \
        {"output_mode",                                                                        \
         "what is made of the places",                                                         \
         ARTEL__OPTION_ENUM,                                                                   \
         offsetof(artel__lookup_config, mode),                                                 \
         "int",                                                                                \
         0,                                                                                    \
         0,                                                                                    \
         artel__output_modes},                                                                 \
        {"pad_to_max_tokens",                                                                  \
         "whether vectors are max_tokens long",                                                \
         ARTEL__OPTION_BOOL,                                                                   \
         offsetof(artel__lookup_config, pad),                                                  \
         "false",                                                                              \
         0,                                                                                    \
         0,                                                                                    \
         NULL},                                                                                \
        {"vocabulary_size",                                                                    \
         "places with those of the mask and of unknown terms",                                 \
         ARTEL__OPTION_INT,                                                                    \
         offsetof(artel__lookup_config, size),                                                 \
         "null",                                                                               \
         0,                                                                                    \
         INT32_MAX,                                                                            \
         NULL},                                                                                \
        ARTEL__PART("vocabulary", "terms in order; null: those beside the model in its file"), \
        ARTEL__PART("idf_weights", "weights of the terms for tf_idf"),                         \
        ARTEL__PART("sparse", "accepted; results are dense"),                                  \
        ARTEL__PART("has_input_vocabulary", "accepted; not needed")

/* Fills the lookup from the settings and the vocabulary of the layer's record. oov, masks and the term for unknown ones
 * are set already. */
artel_status artel__layer_vocabulary(artel__layer *layer, const artel__lookup_config *config, bool strings,
                                     artel__lookup *out);

#endif
