/* SPDX-License-Identifier: Apache-2.0 */
/* What tasks say about parameter servers to `artel status`: JSON made a few times a second, and handed to the mesh. */
#include "ps/tell.h"

#include <inttypes.h>

#include "base/clock.h"

#define PAUSE_NS INT64_C(200000000)

bool artel__tell_due(artel__telling *t)
{
    int64_t now = artel__now_ns();
    if (t->when && now - t->when < PAUSE_NS) return false;
    t->when = now;
    return true;
}

void artel__tell_begin(artel__telling *t, artel_context *ctx)
{
    artel__text_init(&t->text, ctx);
    artel__text_append(&t->text, "{");
}

void artel__tell_parts(artel__telling *t)
{
    artel__text_append(&t->text, "\"parts\": [");
    t->parts = 0;
}

void artel__tell_part(artel__telling *t, const artel__told_part *p)
{
    if (t->parts++) artel__text_append(&t->text, ", ");
    artel__text_printf(&t->text, "{\"part\": %d, \"bytes\": %" PRId64, p->part, p->bytes);
    if (p->role) artel__text_printf(&t->text, ", \"role\": \"%s\"", p->role);
    if (p->head >= 0) artel__text_printf(&t->text, ", \"head\": \"ps:%d\"", p->head);
    for (int k = 0; k < p->copies; k++)
        artel__text_printf(&t->text, "%sps:%d", k ? ", " : ", \"copy\": \"", p->copy[k]);
    if (p->copies) artel__text_append(&t->text, "\"");
    if (p->updates >= 0) artel__text_printf(&t->text, ", \"updates\": %" PRId64, p->updates);
    if (p->waits) {
        artel__text_append(&t->text, ", \"waits_for\": ");
        artel__text_append_json(&t->text, p->waits);
    }
    artel__text_append(&t->text, "}");
}

void artel__tell_end(artel__telling *t, artel_cluster *cluster)
{
    artel__text_append(&t->text, "]}");
    artel__mesh_tell(cluster, artel__text_status(&t->text) == ARTEL_OK ? t->text.data : NULL);
    artel__text_fini(&t->text);
}
