/* SPDX-License-Identifier: Apache-2.0 */
/* Control messages with all fields set. */
#include "help_message.h"

#include <string.h>

static uint64_t number(uint32_t variant, uint32_t place)
{
    uint64_t x = (variant + 1) * 0x9e3779b97f4a7c15u ^ (place + 1) * 0xbf58476d1ce4e5b9u;
    return (x ^ (x >> 31)) >> (variant * 7 + place * 3) % 64;
}

static uint32_t narrow(uint32_t variant, uint32_t place)
{
    return (uint32_t)number(variant, place);
}

artel__message help_message(uint32_t variant, artel__member member[HELP_MEMBERS])
{
    static const uint8_t bytes[] = "\0any bytes\xff\x80, and more of them";
    artel__message m = {
        .kind = 1 + variant % (ARTEL__MESSAGE_KINDS - 1),
        .task = narrow(variant, 1),
        .incarnation = number(variant, 2),
        .flags = narrow(variant, 3),
        .counter = narrow(variant, 4),
        .generation = {narrow(variant, 5), number(variant, 6)},
        .size = narrow(variant, 7),
        .lowest = narrow(variant, 8),
        .step = number(variant, 9),
        .phase = narrow(variant, 10),
        .phase_ms = narrow(variant, 11),
        .hash = number(variant, 12),
        .hash_step = number(variant, 13),
        .protocol = narrow(variant, 14),
        .life = number(variant, 15),
        .ping = number(variant, 16),
        .pong = number(variant, 17),
        .about = {narrow(variant, 18), number(variant, 19)},
        .reason = narrow(variant, 20),
        .subject = narrow(variant, 21),
        .purpose = narrow(variant, 22),
        .target = number(variant, 23),
        .replicas = narrow(variant, 24),
        .memory = number(variant, 25),
        .status = (int32_t)narrow(variant, 26),
        .cause_incarnation = number(variant, 27),
        .cause_step = number(variant, 28),
        .cause_phase = narrow(variant, 29),
        .sequence = narrow(variant, 30),
        .busy = narrow(variant, 31),
        .arithmetic = narrow(variant, 32),
        .best = narrow(variant, 33),
        .bits = {bytes, variant % 2},
        .facts = {bytes, variant % 20},
        .name = {bytes + 1, 5},
        .value = {bytes, 12},
        .text = {bytes + 1, variant % 3},
        .member = member,
        .members = variant % (HELP_MEMBERS + 1),
    };
    for (uint32_t i = 0; i < m.members; i++) {
        uint32_t k = 64 + 6 * i;
        member[i] = (artel__member){narrow(variant, k),     number(variant, k + 1), narrow(variant, k + 2),
                                    narrow(variant, k + 3), narrow(variant, k + 4), narrow(variant, k + 5)};
    }
    return m;
}

static bool same_bytes(artel__message_bytes a, artel__message_bytes b)
{
    return a.count == b.count && (!a.count || memcmp(a.data, b.data, a.count) == 0);
}

static bool same_member(const artel__member *a, const artel__member *b)
{
    return a->task == b->task && a->incarnation == b->incarnation && a->replicas == b->replicas &&
           a->shard == b->shard && a->shards == b->shards && a->donor == b->donor;
}

bool help_message_same(const artel__message *a, const artel__message *b)
{
    bool same = a->kind == b->kind && a->task == b->task && a->incarnation == b->incarnation && a->flags == b->flags &&
                a->counter == b->counter && artel__generation_same(a->generation, b->generation) &&
                a->size == b->size && a->lowest == b->lowest && a->step == b->step && a->phase == b->phase &&
                a->phase_ms == b->phase_ms;
    same = same && a->hash == b->hash && a->hash_step == b->hash_step && a->protocol == b->protocol &&
           a->life == b->life && a->ping == b->ping && a->pong == b->pong &&
           artel__generation_same(a->about, b->about) && a->reason == b->reason && a->subject == b->subject &&
           a->purpose == b->purpose && a->target == b->target && a->replicas == b->replicas;
    same = same && a->memory == b->memory && a->status == b->status && a->cause_incarnation == b->cause_incarnation &&
           a->cause_step == b->cause_step && a->cause_phase == b->cause_phase && a->sequence == b->sequence &&
           a->busy == b->busy && a->arithmetic == b->arithmetic && a->best == b->best;
    same = same && same_bytes(a->bits, b->bits) && same_bytes(a->facts, b->facts) && same_bytes(a->name, b->name) &&
           same_bytes(a->value, b->value) && same_bytes(a->text, b->text) && a->members == b->members;
    for (uint32_t i = 0; same && i < a->members; i++) same = same_member(&a->member[i], &b->member[i]);
    return same;
}
