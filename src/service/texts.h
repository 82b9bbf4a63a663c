/* SPDX-License-Identifier: Apache-2.0 */
/* Texts on their way: in a row's block (data/rows.h) a text is an artel__string, which points into the memory of who
 * read it. In an answer the texts of all its rows lie one behind another behind the rows, and a text's cell holds
 * {u64 place, u64 length} there.
 */
#ifndef ARTEL_SERVICE_TEXTS_H
#define ARTEL_SERVICE_TEXTS_H

#include "data/texts.h"
#include "service/dataset.h"

#define ARTEL__SERVICE_TEXTS_MOST ((size_t)1 << 30) /* bytes of the texts of an answer */

bool artel__service_has_texts(const artel__service_dataset *dataset);
/* About what a row takes in an answer: how long texts are is not known beforehand. */
size_t artel__service_row_guess(const artel__service_dataset *dataset);
/* Bytes of the texts of `count` rows, one behind another; above ARTEL__SERVICE_TEXTS_MOST when they are too long. */
size_t artel__service_texts_bytes(const artel__service_dataset *dataset, const uint8_t *rows, int64_t count);
/* Puts the texts of the rows behind them, and their places into the rows. */
void artel__service_texts_pack(const artel__service_dataset *dataset, uint8_t *rows, int64_t count);
/* Whether the texts of an answer's rows lie one behind another, each where its cell says, and fill `size` bytes: so no
 * byte is taken twice, and what is kept is no more than what came. */
bool artel__service_texts_fit(const artel__service_dataset *dataset, const uint8_t *rows, int64_t count, size_t size);
/* Takes the texts of a row in memory for whoever reads it now (data/texts.h). Errors: NO_MEMORY. */
artel_status artel__service_texts_hand_on(const artel__service_dataset *dataset, artel__texts *own, uint8_t *row);
/* The way back, of one row of an answer after another: its cells become texts that are kept. *place: where the next
 * text lies, 0 at first, so that no byte is taken twice and what is kept is no more than what came. Errors: INVALID,
 * not recorded (a text lies elsewhere or outside of the answer); NO_MEMORY. */
artel_status artel__service_texts_unpack(const artel__service_dataset *dataset, artel__texts *kept, uint8_t *row,
                                         const uint8_t *texts, size_t size, size_t *place);

#endif
