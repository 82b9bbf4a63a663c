/* SPDX-License-Identifier: Apache-2.0 */
/* What --explain says of a session: arithmetic, graph and plan of each mode, and what crosses replicas. */
#include "train/session_impl.h"

static const char *const mode_names[] = {"training", "evaluation", "prediction", "tokens of training",
                                         "tokens of evaluation"};

static void explain_exchange(const artel__session *session, int number, const artel__exchange *exchange,
                             artel__text *out)
{
    artel__text_printf(out, "  %d ", number);
    if (exchange->folds)
        artel__text_printf(out, "%sall-reduce of %d folds, %lld bytes: ", exchange->background ? "begin " : "",
                           exchange->folds, (long long)exchange->bytes);
    if (exchange->folds) artel__group_dump_sum(session->group, exchange->bytes, exchange->background, out);
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
    for (int m = 0; m < ARTEL__MODE_COUNT; m++) {
        if (session->mode[m].plan) artel__text_printf(out, "a step of %s:\n", mode_names[m]);
        for (int i = 0; session->mode[m].plan && artel__executable_exchange(session->mode[m].plan, i, &exchange); i++)
            explain_exchange(session, i, &exchange, out);
    }
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
        if (!session->mode[m].plan) continue;
        const artel__objective *o = session->mode[m].objective;
        if (o->recomputes) {
            artel__text_printf(out, "# %s recomputation\n", mode_names[m]);
            artel__recompute_dump(&o->graph, &o->recompute, out);
        }
        artel__text_printf(out, "# %s graph\n", mode_names[m]);
        artel__graph_dump(&o->graph, out);
        if (session->devices)
            artel__text_printf(out, "# %s plan, %s\n", mode_names[m], session->device->name);
        else
            artel__text_printf(out, "# %s plan\n", mode_names[m]);
        artel__executable_dump(session->mode[m].plan, out);
    }
    if (session->group && session->ranks > 1) explain_collectives(session, out);
}
