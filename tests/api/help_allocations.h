/* SPDX-License-Identifier: Apache-2.0 */
/* Work whose allocations fail, each of them once. */
#ifndef TESTS_API_HELP_ALLOCATIONS_H
#define TESTS_API_HELP_ALLOCATIONS_H

#include "api/help_api.h"

/* Does the work in one context over and over, until it succeeds: the n-th time its n-th allocation fails, with a status
 * and a record that say so. It has to make more than `least` of them. */
void api_fail_each_allocation(artel_status (*work)(artel_context *ctx), uint64_t least);

#endif
