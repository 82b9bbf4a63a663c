/* SPDX-License-Identifier: Apache-2.0 */
/* An optimizer of a program's own: SGD's formulas by hand, m = momentum m - rate g; w += m. */
#ifndef TESTS_API_HELP_BALL_H
#define TESTS_API_HELP_BALL_H

#include "artel/extend.h"

extern const artel_optimizer_definition ball; /* "mine>HeavyBall", with "momentum" */

#endif
