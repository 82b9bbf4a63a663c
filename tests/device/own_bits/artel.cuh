/* SPDX-License-Identifier: Apache-2.0 */
/* artel's own headers, unmodified, as CUDA C++: every inline function of theirs for host and device. */
#ifndef OWN_BITS_ARTEL_CUH
#define OWN_BITS_ARTEL_CUH

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <emmintrin.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HD __host__ __device__

#define inline __inline__ __host__ __device__
#define __builtin_fmaf fmaf
extern "C" {
#include "base/rng.h"
#include "base/threads.h"
#include "kernel/binary_formula.h"
#include "kernel/conv.h"
#include "kernel/elementwise.h"
#include "kernel/fold_tree.h"
#include "kernel/loss_formula.h"
#include "kernel/moments.h"
#include "kernel/narrow_formula.h"
#include "kernel/noise_formula.h"
#include "kernel/norm_formula.h"
#include "kernel/optimize_formula.h"
#include "kernel/pool_window.h"
#include "kernel/product.h"
#include "kernel/reduce.h"
#include "kernel/seed.h"
#include "kernel/softmax.h"
#include "kernel/tiles.h"
#include "kernel/unary_formula.h"
}
#undef inline

#endif
