/* SPDX-License-Identifier: Apache-2.0 */
/* What TensorBoard's page "Graphs" shows of a model: its layers, and the operations that they are here. */
#ifndef ARTEL_CLI_BOARD_GRAPH_H
#define ARTEL_CLI_BOARD_GRAPH_H

#include "keras/model.h"
#include "observe/tensorboard.h"

artel_status artel__board_write_graph(const artel_model *model, artel__tensorboard *board);

#endif
