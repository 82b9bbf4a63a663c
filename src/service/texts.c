/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of text, written and read one by one. What comes from the network points nowhere before it is checked. */
#include "service/texts.h"

#include <string.h>

#include "base/bytes.h"

#define GUESS ((size_t)240) /* bytes of a text, in a plan */

/* Cells of text in a column. */
static int64_t cells_of(const artel__rows_column *column)
{
    return column->dtype == ARTEL_DTYPE_STRING ? column->elements : 0;
}

bool artel__service_has_texts(const artel__service_dataset *dataset)
{
    for (int c = 0; c < dataset->column_count; c++)
        if (cells_of(&dataset->columns[c]) > 0) return true;
    return false;
}

size_t artel__service_row_guess(const artel__service_dataset *dataset)
{
    size_t bytes = dataset->row_bytes;
    for (int c = 0; c < dataset->column_count; c++) bytes += (size_t)cells_of(&dataset->columns[c]) * GUESS;
    return bytes;
}

size_t artel__service_texts_bytes(const artel__service_dataset *dataset, const uint8_t *rows, int64_t count)
{
    size_t all = 0;
    for (int64_t row = 0; row < count; row++, rows += dataset->row_bytes) {
        for (int c = 0; c < dataset->column_count; c++) {
            const artel__string *text = (const artel__string *)(const void *)(rows + dataset->columns[c].at);
            for (int64_t i = 0; i < cells_of(&dataset->columns[c]); i++) {
                if (text[i].length > ARTEL__SERVICE_TEXTS_MOST - all) return ARTEL__SERVICE_TEXTS_MOST + 1;
                all += text[i].length;
            }
        }
    }
    return all;
}

/* The cells of one column of a row; the place behind its last text. */
static size_t pack_column(const artel__rows_column *column, uint8_t *row, uint8_t *texts, size_t place)
{
    for (int64_t i = 0; i < cells_of(column); i++) {
        uint8_t *cell = row + column->at + (size_t)i * sizeof(artel__string);
        artel__string text;
        memcpy(&text, cell, sizeof text);
        if (text.length > 0) memcpy(texts + place, text.bytes, text.length);
        artel__bytes_put(artel__bytes_put(cell, place, 8), text.length, 8);
        place += text.length;
    }
    return place;
}

void artel__service_texts_pack(const artel__service_dataset *dataset, uint8_t *rows, int64_t count)
{
    uint8_t *texts = rows + (size_t)count * dataset->row_bytes;
    size_t place = 0;
    for (int64_t row = 0; row < count; row++)
        for (int c = 0; c < dataset->column_count; c++)
            place = pack_column(&dataset->columns[c], rows + (size_t)row * dataset->row_bytes, texts, place);
}

bool artel__service_texts_fit(const artel__service_dataset *dataset, const uint8_t *rows, int64_t count, size_t size)
{
    size_t place = 0;
    for (int64_t row = 0; row < count; row++, rows += dataset->row_bytes) {
        for (int c = 0; c < dataset->column_count; c++) {
            const uint8_t *cell = rows + dataset->columns[c].at;
            for (int64_t i = 0; i < cells_of(&dataset->columns[c]); i++, cell += sizeof(artel__string)) {
                uint64_t length = artel__bytes_get(cell + 8, 8);
                if (artel__bytes_get(cell, 8) != place || length > size - place) return false;
                place += (size_t)length;
            }
        }
    }
    return place == size;
}

artel_status artel__service_texts_hand_on(const artel__service_dataset *dataset, artel__texts *own, uint8_t *row)
{
    for (int c = 0; c < dataset->column_count; c++) {
        artel__string *text = (artel__string *)(void *)(row + dataset->columns[c].at);
        for (int64_t i = 0; i < cells_of(&dataset->columns[c]); i++)
            ARTEL_TRY(artel__texts_take(own, dataset->name, text[i].bytes, text[i].length, &text[i]));
    }
    return ARTEL_OK;
}

artel_status artel__service_texts_unpack(const artel__service_dataset *dataset, artel__texts *kept, uint8_t *row,
                                         const uint8_t *texts, size_t size, size_t *place)
{
    for (int c = 0; c < dataset->column_count; c++) {
        for (int64_t i = 0; i < cells_of(&dataset->columns[c]); i++) {
            uint8_t *cell = row + dataset->columns[c].at + (size_t)i * sizeof(artel__string);
            uint64_t length = artel__bytes_get(cell + 8, 8);
            artel__string text;
            if (artel__bytes_get(cell, 8) != *place || *place > size || length > size - *place)
                return ARTEL_ERROR_INVALID;
            ARTEL_TRY(artel__texts_take(kept, dataset->name, (const char *)texts + *place, (size_t)length, &text));
            memcpy(cell, &text, sizeof text);
            *place += (size_t)length;
        }
    }
    return ARTEL_OK;
}
