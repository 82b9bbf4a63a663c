/* SPDX-License-Identifier: Apache-2.0 */
/* In which order a run adds up products of two bfloat16 operands: in a chain, or in tiles as AMX does (kernel/tiles.h).
 *
 * Both give other last bits, so a run keeps to one of them. It is what --arithmetic says; else that of the checkpoint
 * which is continued; else, in a cluster, what the record of the generation states (cluster/membership.h), and alone
 * what this machine is made for. The cap of --isa is no reason: it changes no bit. Models that have no bfloat16 value
 * have nothing to decide, and say so as they always did.
 */
#include <stdio.h>
#include <string.h>

#include "train/session_impl.h"

static bool has_amx(void)
{
    return artel__isa_of_machine() == ARTEL__ISA_AMX;
}

const char *artel__session_device_class(const artel__session *session)
{
    return session->mixed_tasks ? "mixed among tasks" : session->devices ? session->devices->identity : NULL;
}

static void describe(artel__session *session)
{
    if (session->mixed_tasks && session->seat.ranks > 0) return; /* mixed.c has */
    if (session->devices) {
        snprintf(session->arithmetic, sizeof session->arithmetic, "%s", session->devices->identity);
        return;
    }
    const artel__session_products *p = &session->products;
    char class[64] = "float32";
    if (p->present)
        snprintf(class, sizeof class, "bfloat16 %s%s%s", p->decided ? artel__arithmetic_name(p->arithmetic) : "auto",
                 p->decided ? ": " : "", p->decided ? p->why : "");
    /* Kernels give the same bits in every instruction set, so it is no part of the class. */
    snprintf(session->arithmetic, sizeof session->arithmetic, "artel-1 %s (computed with %s)", class,
             artel__isa_name(artel__context_isa(session->ctx)));
}

artel_status artel__session_read_arithmetic(artel__session *session)
{
    artel__session_products *p = &session->products;
    const char *text = session->options.arithmetic;
    bool any = !text || !*text || strcmp(text, "auto") == 0;
    for (int a = ARTEL__ARITHMETIC_CHAIN; !any && a <= ARTEL__ARITHMETIC_TILES; a++) {
        if (strcmp(text, artel__arithmetic_name((artel__arithmetic)a)) != 0) continue;
        p->decided = p->asked = true;
        p->arithmetic = (artel__arithmetic)a;
        p->why = ".arithmetic";
    }
    describe(session);
    if (any || p->asked) return ARTEL_OK;
    return artel__fail(session->ctx, ARTEL_ERROR_INVALID, ".arithmetic", "give auto, chain or tiles",
                       "\"%.60s\" is not an arithmetic", text);
}

static void note_emulation(artel__session *session)
{
    artel__session_products *p = &session->products;
    if (p->noted || p->arithmetic != ARTEL__ARITHMETIC_TILES || has_amx()) return;
    p->noted = true;
    artel__log(session->ctx, ARTEL_LOG_NOTE,
               "products of bfloat16 are added in tiles (%s), which takes longer on this machine without AMX", p->why);
}

/* Takes effect with the next plans. */
static void decide(artel__session *session, artel__arithmetic arithmetic, const char *why)
{
    session->products.decided = true;
    session->products.arithmetic = arithmetic;
    session->products.why = why;
    describe(session);
    note_emulation(session);
    for (int m = 0; m < ARTEL__MODE_COUNT; m++) {
        for (int k = 0; k < artel__session_variants(session, (artel__mode)m); k++) {
            const artel__session_mode *mode = artel__session_variant(session, (artel__mode)m, k);
            if (mode->objective) mode->objective->graph.arithmetic = arithmetic;
        }
    }
}

static bool has_bfloat16(const artel__graph *graph)
{
    for (int i = 0; i < graph->values; i++) {
        if (graph->value[i].precision == ARTEL_DTYPE_BFLOAT16) return true;
    }
    return false;
}

/* Said, not refused: it may come from the environment. */
static void note_idle(artel__session *session)
{
    if (!session->products.asked || session->products.noted) return;
    session->products.noted = true;
    artel__log(session->ctx, ARTEL_LOG_NOTE,
               ".arithmetic does nothing: the model has no products of two bfloat16 operands");
}

void artel__session_find_products(artel__session *session, const artel__objective *objective)
{
    artel__session_products *p = &session->products;
    p->present = p->present || has_bfloat16(&objective->graph);
    if (!p->present) {
        note_idle(session);
        return;
    }
    bool amx = !session->cluster && !p->decided && has_amx();
    if (p->decided)
        decide(session, p->arithmetic, p->why);
    else if (!session->cluster)
        decide(session, amx ? ARTEL__ARITHMETIC_TILES : ARTEL__ARITHMETIC_CHAIN,
               amx ? "this machine has AMX" : "this machine has no AMX");
    describe(session);
}

void artel__session_take_record(artel__session *session, const artel__mesh_seat *seat)
{
    const artel__session_products *p = &session->products;
    if (!p->present) return;
    artel__arithmetic arithmetic = seat->arithmetic ? (artel__arithmetic)(seat->arithmetic - 1) : p->arithmetic;
    const char *why = seat->arithmetic != seat->best          ? "as the run began"
                      : arithmetic == ARTEL__ARITHMETIC_TILES ? "every member has AMX"
                      : has_amx()                             ? "not every member has AMX"
                                                              : "this machine has no AMX";
    if (!p->decided || p->arithmetic != arithmetic) decide(session, arithmetic, why);
}

bool artel__session_take_up_arithmetic(artel__session *session, artel__arithmetic arithmetic)
{
    bool same = session->products.decided && session->products.arithmetic == arithmetic;
    decide(session, arithmetic, "as in the checkpoint");
    return same;
}

/* -- what others ask -- */

bool artel__session_has_products(const artel__session *session)
{
    return session->products.present;
}

const char *artel__session_asked_arithmetic(const artel__session *session)
{
    return session->products.asked ? artel__arithmetic_name(session->products.arithmetic) : "auto";
}

bool artel__session_products_of(const artel__session *session, artel__arithmetic *out)
{
    if (session->products.decided) *out = session->products.arithmetic;
    return session->products.decided;
}

uint32_t artel__session_best_arithmetic(const artel__session *session)
{
    if (!session->products.present) return 0;
    return 1 + (has_amx() ? ARTEL__ARITHMETIC_TILES : ARTEL__ARITHMETIC_CHAIN);
}

const char *artel__session_arithmetic(const artel__session *session)
{
    return session->arithmetic;
}
