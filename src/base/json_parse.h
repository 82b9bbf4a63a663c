/* SPDX-License-Identifier: Apache-2.0 */
/* The parser behind artel__json_load. jansson's loses characters of long words, and says nothing, when memory for them is out. */
#ifndef ARTEL_BASE_JSON_PARSE_H
#define ARTEL_BASE_JSON_PARSE_H

#include <jansson.h>

typedef enum artel__json_answer {
    ARTEL__JSON_READ,
    ARTEL__JSON_MALFORMED,
    ARTEL__JSON_NO_MEMORY
} artel__json_answer;

/* Reads one value, with white space around it. Numbers have passed the scan of json.c: they fit. The depth of nesting is bounded by the
 * caller. Of what is malformed only that is said. */
artel__json_answer artel__json_parse(const char *text, size_t size, json_t **out);

#endif
