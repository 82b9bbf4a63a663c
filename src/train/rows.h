/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of tables in messages (ps/rows.h), of a division: behind the entries of a part (part.h). */
#ifndef ARTEL_TRAIN_ROWS_H
#define ARTEL_TRAIN_ROWS_H

#include "ps/rows.h"
#include "train/part.h"

/* The pieces at `server`, in `arena`. */
artel_status artel__row_list_make(artel__arena *arena, const artel__division *division, int server,
                                  artel__row_list *out);

/* Worker: what of the tokens, and rows, that `mode` has kept in the session's last step lies at the server. `rows`:
 * with the gradient. */
void artel__row_list_look(artel__row_list *list, const artel__division *division, artel__session *session,
                          artel__mode mode, bool rows);
#endif
