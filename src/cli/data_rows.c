/* SPDX-License-Identifier: Apache-2.0 */
/* The rows that an action of artel data goes through. */
#include "cli/data.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "data/source.h"

const char *artel__data_specification(artel__invocation *call, const char *text)
{
    return artel__cli_is_specification(text) ? text : artel__arena_printf(&call->arena, "tfrecord:%s", text);
}

artel_status artel__data_open_rows(artel__invocation *call, const char *text, bool texts, artel__data_opened *out)
{
    memset(out, 0, sizeof *out);
    if (!artel__cli_is_specification(text)) {
        static const char *const others[] = {".npz", ".npy", ".csv", ".keras", ".h5", ".json"};
        for (size_t i = 0; i < ARTEL__COUNT(others); i++)
            if (artel__ends_with(text, others[i])) ARTEL_TRY(artel__cli_check_data(call, "SPEC", text));
        ARTEL_TRY(artel__data_refuse_foreign(call->ctx, text));
        if (artel__is_directory(text)) return artel__cli_check_data(call, "SPEC", text);
    }
    text = artel__data_specification(call, text);
    if (!text) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel_data_open(call->ctx, text, &out->data));
    artel_status status = artel__rows_open(out->data, &call->arena, texts, &out->rows);
    if (status == ARTEL_OK) status = artel__alloc(call->ctx, out->rows.row_bytes + 1, text, &out->row);
    if (status < 0) artel__data_close_rows(call, out);
    return status;
}

void artel__data_close_rows(artel__invocation *call, artel__data_opened *opened)
{
    artel__free(call->ctx, opened->row);
    artel_data_destroy(opened->data);
    memset(opened, 0, sizeof *opened);
}
