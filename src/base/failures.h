/* SPDX-License-Identifier: Apache-2.0 */
/* For threads that work ahead of what is asked: what fails there may never be wanted, so no context may hear of it. */
#ifndef ARTEL_BASE_FAILURES_H
#define ARTEL_BASE_FAILURES_H

#include <stdbool.h>

/* While true, artel__fail on the calling thread returns its status and records nothing, and neither does it on the
 * threads of a pool for a job that is run meanwhile (threads.h). */
bool artel__failures_forget(bool forget); /* gives what it was */
bool artel__failures_forgotten(void);

#endif
