/* SPDX-License-Identifier: Apache-2.0 */
/* What comes out of the view machine: actions, lines for the user, messages. The files that decide lie above this one.
 */
#include "cluster/holding_impl.h"

#include <stdio.h>

void artel__holding_act(artel__holding *h, const artel__holding_action *action)
{
    h->config.act(h->config.user, action);
}

void artel__holding_say(artel__holding *h, artel__holding_action_kind kind, uint32_t part, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(h->line, sizeof h->line, format, args);
    va_end(args);
    artel__holding_act(h, &(artel__holding_action){.kind = kind, .part = part, .text = h->line});
}

void artel__holding_send(artel__holding *h, uint32_t task, artel__holding_message *message)
{
    const artel__holding_config *c = &h->config;
    if (task == c->self || !h->peer[task].linked) return;
    message->task = (uint16_t)c->self;
    message->from = c->incarnation;
    message->to = h->peer[task].incarnation;
    message->known = h->known.ballot;
    size_t count = artel__holding_encode(message, c->tasks, c->parts, h->out);
    artel__holding_act(
        h, &(artel__holding_action){.kind = ARTEL__HOLDING_SEND, .task = task, .bytes = h->out, .count = count});
}

void artel__holding_tell(artel__holding *h, uint32_t task)
{
    if (!h->known.ballot.counter) return;
    artel__holding_send(
        h, task, &(artel__holding_message){.kind = ARTEL__HOLDING_TELL, .about = h->known.ballot, .view = &h->known});
}
