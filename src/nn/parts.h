/* SPDX-License-Identifier: Apache-2.0 */
/* The small parts that layers are configured with: activations, initialisers, regularisers, constraints.
 *
 * Each is read from what Keras writes: a name ("relu"), a record {"class_name", "config"}, or null. Tables with options
 * as data; unknown names offer the nearest. All structs live in the arena given.
 */
#ifndef ARTEL_NN_PARTS_H
#define ARTEL_NN_PARTS_H

#include "base/json.h"
#include "base/option.h"
#include "graph/graph.h"

/* -- activations (activation.c) -- */
typedef struct artel__activation_def artel__activation_def;
typedef struct artel__activation_config {
    const artel__activation_def *def; /* NULL: linear */
    float parameter[3];
    double exact[3]; /* the same, not rounded: for float64 */
} artel__activation_config;

/* `json` NULL or JSON null: linear. `where` names the layer. */
artel_status artel__activation_read(artel__arena *arena, const char *where, json_t *json,
                                    artel__activation_config *out);
bool artel__activation_is_relu(const artel__activation_config *activation); /* plain ReLU: products fuse it */
bool artel__activation_is_linear(const artel__activation_config *activation);
const char *artel__activation_name(const artel__activation_config *activation);
/* The artel__unary that computes it, with `parameter`, or -1 when it runs along an axis (softmax, glu). */
int artel__activation_unary(const artel__activation_config *activation);
artel__value_id artel__activation_apply(artel__graph *graph, const artel__activation_config *activation,
                                        artel__value_id x);

/* -- initialisers (initializer.c): formulas after keras/src/initializers, numbers from base/rng.h -- */
typedef struct artel__initializer_def artel__initializer_def;
typedef struct artel__initializer {
    const artel__initializer_def *def; /* NULL: zeros */
    void *config;
} artel__initializer;
artel_status artel__initializer_read(artel__arena *arena, const char *where, json_t *json, artel__initializer *out);
/* Fills `out` (float32, plain row-major) with a pure function of (seed, ordinal of the variable in the model, shape).
 * Fans are computed as Keras' compute_fans does. An initialiser that has a seed of its own in its record uses that. */
artel_status artel__initializer_fill(artel_context *ctx, const artel__initializer *initializer, uint64_t seed,
                                     uint32_t ordinal, const artel_shape *shape, float *out);

/* Numbers of the caller's, row-major, which live as long as the arena: one for each element. */
artel_status artel__initializer_numbers(artel__arena *arena, const float *numbers, int64_t count,
                                        artel__initializer *out);

/* Makes the second quarter ones: the bias of an LSTM's forget gate (unit_forget_bias). */
void artel__initializer_forget_bias(artel__initializer *initializer);
/* Says which axes variance scaling counts as inputs and outputs, unless its record names them: Keras' EinsumDense. */
void artel__initializer_take_axes(artel__initializer *initializer, const artel__ints *inputs,
                                  const artel__ints *outputs);

/* -- regularisers (regularizer.c) -- */
typedef struct artel__regularizer {
    double l1, l2;     /* penalty l1 * sum |w| + l2 * sum w^2 */
    double orthogonal; /* factor of the mean |cosine| between two rows of a matrix */
    bool columns;      /* between two columns */
} artel__regularizer;
static inline bool artel__regularizer_is_none(const artel__regularizer *r)
{
    return r->l1 == 0 && r->l2 == 0 && r->orthogonal == 0;
}
artel_status artel__regularizer_read(artel__arena *arena, const char *where, json_t *json, artel__regularizer *out);
/* The penalty of a variable, GLOBAL float64 [1]; of a variable that the regulariser does not fit the graph fails. */
artel__value_id artel__regularizer_penalty(artel__graph *graph, const artel__regularizer *regularizer,
                                           artel__value_id variable);
/* The gradient of a variable, of its form, with that of the penalty; `gradient` none: of the penalty alone. */
artel__value_id artel__regularizer_gradient(artel__graph *graph, const artel__regularizer *regularizer,
                                            artel__value_id gradient, artel__value_id variable);

/* -- constraints (constraint.c) -- */
typedef struct artel__constraint_def artel__constraint_def;
typedef struct artel__constraint_config {
    const artel__constraint_def *def; /* NULL: none */
    void *config;
} artel__constraint_config;
artel_status artel__constraint_read(artel__arena *arena, const char *where, json_t *json,
                                    artel__constraint_config *out);
/* Adds the projection of a variable as an APPLY node. */
void artel__constraint_apply(artel__graph *graph, const artel__constraint_config *constraint, artel__value_id variable);

#endif
