/* SPDX-License-Identifier: Apache-2.0 */
/* What --explain says of a session: arithmetic, graph and plan of each mode, and what crosses replicas. */
#include <stdio.h>

#include "train/session_impl.h"

static const char *const mode_names[] = {"training", "evaluation", "prediction", "tokens of training",
                                         "tokens of evaluation"};

/* "training", or "training of rows up to 16" of a bucket. */
static const char *variant_name(const artel__session *session, int m, int k, char *buffer, size_t size)
{
    if (session->buckets[m].count == 0) return mode_names[m];
    const artel__data_buckets *buckets = artel__feed_buckets(artel__session_variant(session, (artel__mode)m, k)->feed);
    snprintf(buffer, size, "%s of rows up to %lld", mode_names[m], (long long)buckets->length[k]);
    return buffer;
}

static void explain_exchange(const artel__session *session, int number, const artel__exchange *exchange,
                             artel__text *out)
{
    artel__text_printf(out, "  %d ", number);
    if (exchange->folds)
        artel__text_printf(out, "%sall-reduce of %d folds, %lld bytes: ", exchange->background ? "begin " : "",
                           exchange->folds, (long long)exchange->bytes);
    if (exchange->folds && exchange->by_device) artel__text_append(out, "by the plug-in");
    if (exchange->folds && exchange->by_device && session->ranks > session->replicas)
        artel__text_append(out, " within a process; between them ");
    if (exchange->folds && (!exchange->by_device || session->ranks > session->replicas))
        artel__group_dump_sum(session->group, exchange->bytes, exchange->background, out);
    if (exchange->gathers)
        artel__text_printf(out, "%sall-gather of %d values", exchange->folds ? "; " : "", exchange->gathers);
    artel__text_append(out, "\n");
}

/* What crosses replicas in a step of each mode, which way and why. */
static void explain_collectives(const artel__session *session, artel__text *out)
{
    artel__exchange exchange;
    artel__text_append(out, "# collectives\n");
    artel__group_dump(session->group, out);
    for (int i = 0; i < ARTEL__MODE_COUNT; i++) {
        for (int k = 0; k < artel__session_variants(session, (artel__mode)i); k++) {
            const artel__executable *plan = artel__session_variant(session, (artel__mode)i, k)->plan;
            char name[96];
            if (plan) artel__text_printf(out, "a step of %s:\n", variant_name(session, i, k, name, sizeof name));
            for (int n = 0; plan && artel__executable_exchange(plan, n, &exchange); n++)
                explain_exchange(session, n, &exchange, out);
        }
    }
}

static void explain_mode(const artel__session *session, const artel__session_mode *mode, const char *name,
                         artel__text *out)
{
    const artel__objective *o = mode->objective;
    if (o->recomputes) {
        artel__text_printf(out, "# %s recomputation\n", name);
        artel__recompute_dump(&o->graph, &o->recompute, out);
    }
    artel__text_printf(out, "# %s graph\n", name);
    artel__graph_dump(&o->graph, out);
    if (session->devices)
        artel__text_printf(out, "# %s plan, %s\n", name, session->device->name);
    else
        artel__text_printf(out, "# %s plan\n", name);
    artel__executable_dump(mode->plan, out);
}

void artel__session_explain(const artel__session *session, artel__text *out)
{
    if (session->products.present || session->devices || session->mixed)
        artel__text_printf(out, "# arithmetic: %s\n", session->arithmetic);
    if (session->mixed_tasks)
        artel__text_append(out, "# bits: the same for these tasks in this order, and for no others\n");
    else if (session->devices)
        artel__text_printf(out, "# bits: %s\n", artel__devices_promise(session->devices));
    for (int m = 0; m < ARTEL__MODE_COUNT; m++) {
        for (int k = 0; k < artel__session_variants(session, (artel__mode)m); k++) {
            const artel__session_mode *mode = artel__session_variant(session, (artel__mode)m, k);
            char name[96];
            if (mode->plan) explain_mode(session, mode, variant_name(session, m, k, name, sizeof name), out);
        }
    }
    if (session->group && session->ranks > 1) explain_collectives(session, out);
}
