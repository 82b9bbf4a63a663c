/* SPDX-License-Identifier: Apache-2.0 */
/* Closures of a coordinator in their lists, and how each of them ends: with the mutex held. */
#include "function/coordinator_impl.h"

void artel__closure_append(artel__closure_list *list, artel__closure *x)
{
    x->before = list->last;
    x->next = NULL;
    if (list->last)
        list->last->next = x;
    else
        list->first = x;
    list->last = x;
    list->count++;
}

void artel__closure_remove(artel__closure_list *list, artel__closure *x)
{
    if (x->before)
        x->before->next = x->next;
    else
        list->first = x->next;
    if (x->next)
        x->next->before = x->before;
    else
        list->last = x->before;
    list->count--;
}

void artel__remote_forget(artel_remote *r)
{
    artel_coordinator *c = r->coordinator;
    if (c && r->before) r->before->next = r->next;
    if (c && !r->before) c->remote = r->next;
    if (c && r->next) r->next->before = r->before;
    artel__free(r->ctx, r->values);
    artel__free(r->ctx, r);
}

void artel__closure_end(artel_coordinator *c, artel__closure *x, artel__closure_state state)
{
    artel_remote *r = x->remote;
    x->state = state;
    x->remote = NULL;
    if (r) {
        r->state = state;
        if (state == ARTEL__CLOSURE_DROPPED)
            r->error =
                (artel_error){.status = ARTEL_ERROR_CANCELLED,
                              .where = "closure",
                              .what = "it was dropped, for one before it had failed, or the coordinator was closed",
                              .advice = "schedule it again"};
        if (r->released) artel__remote_forget(r);
    }
    if (!x->leaving) artel__free(c->ctx, x);
}

void artel__coordinator_drop(artel_coordinator *c)
{
    while (c->waiting.first) {
        artel__closure *x = c->waiting.first;
        artel__closure_remove(&c->waiting, x);
        c->metrics.cancelled++;
        artel__closure_end(c, x, ARTEL__CLOSURE_DROPPED);
    }
    pthread_cond_broadcast(&c->changed);
}

void artel__coordinator_raise(artel_coordinator *c, const artel_error *error)
{
    if (!c->failed) c->error = *error;
    c->failed = true;
    artel__coordinator_drop(c);
}
