/* SPDX-License-Identifier: Apache-2.0 */
/* C's atomics for CUDA C++: only kernel/fault_slot.h asks for them, and here nothing is reported. */
#ifndef OWN_BITS_STDATOMIC_H
#define OWN_BITS_STDATOMIC_H

#define _Atomic
typedef unsigned atomic_uint;
#define atomic_load(at) (*(at))
#define atomic_store(at, value) (*(at) = (value))
#define atomic_compare_exchange_weak(at, expected, value) (*(at) = (value), true)

#endif
