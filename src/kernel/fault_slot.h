/* SPDX-License-Identifier: Apache-2.0 */
/* Where a kernel reports an index or a label that is out of range.
 *
 * The smallest row wins, so that the report does not depend on threads. `value` is what was found there; it is written
 * by the thread that lowered `row`, so with several faults at once it may belong to another faulty row.
 */
#ifndef ARTEL_KERNEL_FAULT_SLOT_H
#define ARTEL_KERNEL_FAULT_SLOT_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct artel__fault_slot {
    _Atomic int64_t *row;   /* INT64_MAX: none yet; NULL: faults are not reported */
    _Atomic int64_t *value; /* NULL: not wanted */
    int64_t first_row;      /* global index of the first row of this call */
} artel__fault_slot;

static inline void artel__fault_slot_report(const artel__fault_slot *slot, int64_t row, int64_t value)
{
    if (!slot->row) return;
    int64_t mine = slot->first_row + row, seen = atomic_load(slot->row);
    while (mine < seen) {
        if (!atomic_compare_exchange_weak(slot->row, &seen, mine)) continue;
        if (slot->value) atomic_store(slot->value, value);
        return;
    }
}

#endif
