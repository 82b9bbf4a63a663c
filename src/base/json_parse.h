/* SPDX-License-Identifier: Apache-2.0 */
/* The parser behind artel__json_load. jansson's loses characters of long words, and says nothing, when memory for them
 * is out. */
#ifndef ARTEL_BASE_JSON_PARSE_H
#define ARTEL_BASE_JSON_PARSE_H

#include <stdbool.h>

#include <jansson.h>

typedef enum artel__json_answer {
    ARTEL__JSON_READ,
    ARTEL__JSON_MALFORMED,
    ARTEL__JSON_DOUBLED, /* a key stands twice in an object, and `once` forbids that */
    ARTEL__JSON_NO_MEMORY
} artel__json_answer;

/* Reads one value, with white space around it. Numbers have passed the scan of json.c: they fit. The depth of nesting
 * is bounded by the caller. Of what is malformed only that is said. `once`: of a key that stands twice not the last
 * counts: it is a mistake. */
artel__json_answer artel__json_parse(const char *text, size_t size, bool once, json_t **out);

#endif
