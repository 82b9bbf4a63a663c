/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the part of encrypted streams. Nothing here knows OpenSSL; a program that speaks no TLS never loads it. */
#include "net/tls.h"

artel_status artel__tls_open(artel_context *ctx, const artel__tls_files *files, artel__tls *out)
{
    static const artel__part_request request = {
        "libartel-tls.so", ARTEL__TLS_STREAM_SYMBOL, ARTEL__TLS_STREAM_VERSION, "encrypts the network", "libssl-dev",
    };
    artel__tls tls = {.identity = NULL};
    ARTEL_TRY(artel__part_open(ctx, &request, &tls.library));
    tls.part = tls.library.table;
    artel__net_why why = {""};
    if (tls.part->identity_create(files, &tls.identity, &why) < 0) {
        artel__part_close(&tls.library);
        return artel__fail(ctx, ARTEL_ERROR_INVALID, files->certificate, "make certificates with artel cert",
                           "cannot be used: %s", why.text);
    }
    *out = tls;
    return ARTEL_OK;
}

void artel__tls_close(artel__tls *tls)
{
    if (!tls->part) return;
    tls->part->identity_destroy(tls->identity);
    artel__part_close(&tls->library);
    *tls = (artel__tls){.identity = NULL};
}
