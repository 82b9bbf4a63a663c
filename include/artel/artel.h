/* SPDX-License-Identifier: Apache-2.0 */
/* All of the library's headers. */
#ifndef ARTEL_ARTEL_H
#define ARTEL_ARTEL_H

#include "artel/build.h"
#include "artel/cluster.h"
#include "artel/communicator.h"
#include "artel/context.h"
#include "artel/control.h"
#include "artel/coordinator.h"
#include "artel/data.h"
#include "artel/eager.h"
#include "artel/estimator.h"
#include "artel/extend.h"
#include "artel/fit.h"
#include "artel/graph.h"
#include "artel/hooks.h"
#include "artel/model.h"
#include "artel/pipeline.h"
#include "artel/predictor.h"
#include "artel/saved.h"
#include "artel/scope.h"
#include "artel/session.h"
#include "artel/status.h"
#include "artel/strategy.h"
#include "artel/tensor.h"
#include "artel/text.h"
#include "artel/trainer.h"
#include "artel/values.h"
#include "artel/version.h"
#include "artel/watch.h"

#endif
