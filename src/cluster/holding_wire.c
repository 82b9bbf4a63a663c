/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the view machine: a head, then a view and the states of parts when the flags say so. Little-endian.
 *
 *   head   kind 1, flags 1, task 2, from 8, to 8, about 4 + 8, known 4 + 8, subject 4, body's length 4
 *   view   ballot 4 + 8, start 4 + 8, origin 8, coordinator 2, tasks 2, parts 2, nothing 2; an incarnation of 8 a task;
 * a part: holders 1, 2 each state  1 a part What arrives may be anything: lengths are compared with what is there
 * before they are used, and chains are judged here, so that the machine reads sound views only.
 */
#include "base/bytes.h"
#include "cluster/holding_impl.h"

size_t artel__holding_bound(uint32_t tasks, uint32_t parts)
{
    return ARTEL__HOLDING_HEAD_BYTES + ARTEL__HOLDING_VIEW_BYTES + 8 * (size_t)tasks +
           (1 + 2 * ARTEL__HOLDING_COPIES) * (size_t)parts + parts;
}

static uint8_t *put_ballot(uint8_t *at, artel__generation_id id)
{
    return artel__bytes_put(artel__bytes_put(at, id.counter, 4), id.incarnation, 8);
}

static artel__generation_id take_ballot(const uint8_t **at)
{
    artel__generation_id id = {.counter = (uint32_t)artel__bytes_take(at, 4)};
    id.incarnation = artel__bytes_take(at, 8);
    return id;
}

static uint8_t *put_view(uint8_t *at, const artel__view *view, uint32_t tasks, uint32_t parts)
{
    at = put_ballot(at, view->ballot);
    at = put_ballot(at, view->start);
    at = artel__bytes_put(at, view->origin, 8);
    at = artel__bytes_put(at, view->coordinator, 2);
    at = artel__bytes_put(at, tasks, 2);
    at = artel__bytes_put(at, parts, 2);
    at = artel__bytes_put(at, 0, 2);
    for (uint32_t t = 0; t < tasks; t++) at = artel__bytes_put(at, view->member[t], 8);
    for (uint32_t p = 0; p < parts; p++) {
        *at++ = view->chain[p].holders;
        for (int i = 0; i < view->chain[p].holders; i++) at = artel__bytes_put(at, view->chain[p].task[i], 2);
    }
    return at;
}

size_t artel__holding_encode(const artel__holding_message *m, uint32_t tasks, uint32_t parts, uint8_t *out)
{
    uint8_t flags = (uint8_t)((m->flags & ARTEL__HOLDING_REMEMBERS) | (m->view ? ARTEL__HOLDING_HAS_VIEW : 0) |
                              (m->state ? ARTEL__HOLDING_HAS_STATE : 0));
    uint8_t *at = artel__bytes_put(out, m->kind, 1);
    at = artel__bytes_put(at, flags, 1);
    at = artel__bytes_put(at, m->task, 2);
    at = artel__bytes_put(at, m->from, 8);
    at = artel__bytes_put(at, m->to, 8);
    at = put_ballot(at, m->about);
    at = put_ballot(at, m->known);
    at = artel__bytes_put(at, m->subject, 4);
    uint8_t *length = at;
    at += 4;
    if (m->view) at = put_view(at, m->view, tasks, parts);
    for (uint32_t p = 0; p < parts && m->state; p++) *at++ = m->state[p];
    artel__bytes_put(length, (uint64_t)(at - length - 4), 4);
    return (size_t)(at - out);
}

static const char *take_chain(const uint8_t **at, const uint8_t *end, uint32_t tasks, artel__chain *chain)
{
    if (*at == end) return "a view that ends too early";
    *chain = (artel__chain){.holders = *(*at)++};
    if (!chain->holders || chain->holders > ARTEL__HOLDING_COPIES) return "a chain of a wrong length";
    if (end - *at < 2 * chain->holders) return "a view that ends too early";
    for (int i = 0; i < chain->holders; i++) {
        uint16_t task = (uint16_t)artel__bytes_take(at, 2);
        if (task >= tasks) return "a chain that names an unknown task";
        for (int k = 0; k < i; k++)
            if (chain->task[k] == task) return "a chain that names a task twice";
        chain->task[i] = task;
    }
    return NULL;
}

static const char *take_view(const uint8_t **at, const uint8_t *end, uint32_t tasks, uint32_t parts, artel__view *view)
{
    if (end - *at < ARTEL__HOLDING_VIEW_BYTES + 8 * (ptrdiff_t)tasks) return "a view that is too short";
    view->ballot = take_ballot(at);
    view->epoch = artel__ballot_epoch(view->ballot);
    view->start = take_ballot(at);
    view->origin = artel__bytes_take(at, 8);
    view->coordinator = (uint32_t)artel__bytes_take(at, 2);
    uint64_t its_tasks = artel__bytes_take(at, 2), its_parts = artel__bytes_take(at, 2);
    *at += 2;
    if (!view->ballot.counter || !view->start.counter) return "a view without a ballot";
    if (its_tasks != tasks || its_parts != parts || view->coordinator >= tasks) return "a view of another job";
    for (uint32_t t = 0; t < tasks; t++) view->member[t] = artel__bytes_take(at, 8);
    for (uint32_t p = 0; p < parts; p++) {
        const char *wrong = take_chain(at, end, tasks, &view->chain[p]);
        if (wrong) return wrong;
        for (int i = 0; i < view->chain[p].holders; i++)
            if (!view->member[view->chain[p].task[i]]) return "a chain that names a task which is no member";
    }
    return NULL;
}

const char *artel__holding_decode(const uint8_t *bytes, size_t count, uint32_t tasks, uint32_t parts,
                                  artel__holding_message *m)
{
    if (count < ARTEL__HOLDING_HEAD_BYTES) return "a message that is too short";
    const uint8_t *at = bytes, *end = bytes + count;
    m->kind = (uint8_t)artel__bytes_take(&at, 1);
    m->flags = (uint8_t)artel__bytes_take(&at, 1);
    m->task = (uint16_t)artel__bytes_take(&at, 2);
    m->from = artel__bytes_take(&at, 8);
    m->to = artel__bytes_take(&at, 8);
    m->about = take_ballot(&at);
    m->known = take_ballot(&at);
    m->subject = (uint32_t)artel__bytes_take(&at, 4);
    if (artel__bytes_take(&at, 4) != (uint64_t)(end - at)) return "a message of a wrong length";
    if (!m->kind || m->kind >= ARTEL__HOLDING_KINDS || m->task >= tasks || m->subject > tasks)
        return "a message of unknown kind";
    bool needs_view = m->kind == ARTEL__HOLDING_VIEW || m->kind == ARTEL__HOLDING_TELL;
    if (needs_view && !(m->flags & ARTEL__HOLDING_HAS_VIEW)) return "a message without its view";
    if (m->flags & ARTEL__HOLDING_HAS_VIEW) {
        const char *wrong = m->view ? take_view(&at, end, tasks, parts, m->view) : "a view that nobody wants";
        if (wrong) return wrong;
    }
    bool state = m->flags & ARTEL__HOLDING_HAS_STATE;
    if (m->kind == ARTEL__HOLDING_PROMISE && !state) return "a promise without what is held";
    if (state && (!m->state || (size_t)(end - at) != parts)) return "states of other parts";
    for (uint32_t p = 0; p < parts && state; p++) {
        m->state[p] = *at++;
        if (m->state[p] > ARTEL__HOLDING_LEVEL) return "an unknown state of a part";
    }
    return at == end ? NULL : "a message of a wrong length";
}
