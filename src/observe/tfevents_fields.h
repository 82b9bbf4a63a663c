/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of the fields of event files, by message, for who writes them (tfevents.c) and who reads them
 * (tensorflow/core/util/event.proto, framework/summary.proto, tensor.proto, tensor_shape.proto, types.proto).
 */
#ifndef ARTEL_OBSERVE_TFEVENTS_FIELDS_H
#define ARTEL_OBSERVE_TFEVENTS_FIELDS_H

enum {
    ARTEL__EVENT_WALL_TIME = 1,
    ARTEL__EVENT_STEP = 2,
    ARTEL__EVENT_FILE_VERSION = 3,
    ARTEL__EVENT_GRAPH_DEF = 4,
    ARTEL__EVENT_SUMMARY = 5,
    ARTEL__EVENT_SOURCE_METADATA = 10
};
enum {
    ARTEL__SOURCE_WRITER = 1
};
enum {
    ARTEL__SUMMARY_VALUE = 1
};
enum {
    ARTEL__VALUE_TAG = 1,
    ARTEL__VALUE_SIMPLE = 2,
    ARTEL__VALUE_TENSOR = 8,
    ARTEL__VALUE_METADATA = 9
};
enum {
    ARTEL__METADATA_PLUGIN_DATA = 1
};
enum {
    ARTEL__PLUGIN_NAME = 1,
    ARTEL__PLUGIN_CONTENT = 2
};
enum {
    ARTEL__TENSOR_DTYPE = 1,
    ARTEL__TENSOR_SHAPE = 2,
    ARTEL__TENSOR_CONTENT = 4,
    ARTEL__TENSOR_FLOATS = 5,
    ARTEL__TENSOR_DOUBLES = 6,
    ARTEL__TENSOR_STRING = 8
};
enum {
    ARTEL__SHAPE_DIM = 2
};
enum {
    ARTEL__DIM_SIZE = 1
};
enum {
    ARTEL__DT_FLOAT = 1,
    ARTEL__DT_DOUBLE = 2,
    ARTEL__DT_STRING = 7
};

#endif
