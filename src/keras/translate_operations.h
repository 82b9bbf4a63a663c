/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of TensorFlow between the layers of a model of Keras 2, and the operations of Keras 3 that they are. */
#ifndef ARTEL_KERAS_TRANSLATE_OPERATIONS_H
#define ARTEL_KERAS_TRANSLATE_OPERATIONS_H

#define ARTEL__KERAS_MOST_ARGUMENTS 3

typedef struct artel__keras_operation {
    const char *function; /* of TensorFlow, as `function` in the record says */
    const char *module, *class_name;
    const char *argument[ARTEL__KERAS_MOST_ARGUMENTS];   /* in order */
    const char *setting[ARTEL__KERAS_MOST_ARGUMENTS][2]; /* name there, name in Keras 3's config */
    const char *given; /* JSON: settings of Keras 3 that a setting above may replace */
    const char *idle;  /* JSON: arguments that change nothing with these values */
} artel__keras_operation;

/* NULL: there is none here. */
const artel__keras_operation *artel__keras_find_operation(const char *function);

#endif
