/* SPDX-License-Identifier: Apache-2.0 */
/* Python's spelling of floats, the numbers of the progress bar. Digits come from base/text.h and base/json.h. */
#include "observe/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/listed.h"

bool artel__logs_next(artel__logs logs, artel__log_group *group)
{
    int64_t number;
    size_t first = group->first + group->count, count = 1;
    if (first >= logs.count) return false;
    const char *name = logs.item[first].name;
    size_t length = artel__list_element(name, &number);
    for (; number >= 0 && first + count < logs.count; count++) {
        const char *next = logs.item[first + count].name;
        if (artel__list_element(next, &number) != length || number != (int64_t)count ||
            strncmp(name, next, length) != 0)
            break;
    }
    (void)artel__list_element(name, &number);
    *group = (artel__log_group){.first = first, .count = count, .list = number >= 0};
    snprintf(group->name, sizeof group->name, "%.*s", (int)length, name);
    return true;
}

const artel__log_value *artel__logs_find(artel__logs logs, const char *name)
{
    for (size_t i = 0; i < logs.count; i++) {
        if (strcmp(logs.item[i].name, name) == 0) return &logs.item[i];
    }
    return NULL;
}

char *artel__python_float(char buffer[ARTEL__PYTHON_FLOAT_SIZE], double value)
{
    return artel__format_double(buffer, ARTEL__PYTHON_FLOAT_SIZE, value);
}

void artel__put_json_float(artel__text *text, double value)
{
    char buffer[ARTEL__PYTHON_FLOAT_SIZE];
    artel__text_append(text, artel__json_format(buffer, sizeof buffer, value));
}

char *artel__progress_number(char *buffer, size_t size, double value, bool by_magnitude)
{
    if (isnan(value)) {
        snprintf(buffer, size, "nan");
    } else if (isinf(value)) {
        snprintf(buffer, size, value < 0 ? "-inf" : "inf");
    } else if ((by_magnitude ? fabs(value) : value) > 1e-3 && fabs(value) < 1e15) {
        snprintf(buffer, size, "%.4f", value);
    } else {
        snprintf(buffer, size, "%.4e", value);
    }
    return buffer;
}
