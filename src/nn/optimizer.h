/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers and learning-rate schedules: read from Keras' records, names or command-line forms.
 *
 * An optimizer declares its slots in Keras' file order and adds the APPLY nodes of a step. Schedules are computed on
 * the host in double precision with artel's own functions and rounded to float32 once.
 */
#ifndef ARTEL_NN_OPTIMIZER_H
#define ARTEL_NN_OPTIMIZER_H

#include "nn/layer.h"
#include "op/embed.h"
#include "op/optimize.h"

typedef struct artel__schedule_def artel__schedule_def;
typedef struct artel__schedule {
    const artel__schedule_def *def; /* NULL: constant */
    void *config;
    double constant;
    json_t *record; /* as it came, borrowed; NULL for a constant */
    bool tabled;    /* an entry of a table: of another run it may be another one */
} artel__schedule;
/* A number, or a schedule's record. Besides Keras' schedules: "WarmUp"-like linear scaling and a table by replicas or
 * batch (docs/schedules.md). `replicas` and `batch_size` resolve these; 0: not known yet, every entry of a table is
 * checked and none holds. */
artel_status artel__schedule_read(artel__arena *arena, json_t *json, int replicas, int64_t batch_size,
                                  artel__schedule *out);
/* The rate of the step after `iteration` steps; the double of a float32. Keras' formulas in float32, operation by
 * operation. */
double artel__schedule_rate(const artel__schedule *schedule, int64_t iteration);
/* The record of a schedule with every setting filled in, in Keras' order; a new reference. A number gives itself. */
artel_status artel__schedule_complete(artel_context *ctx, json_t *json, json_t **out);
/* The short words of the command line, {"class_name": "cosine_decay", "config": {"initial": ..., "steps": ...}}, put
 * into Keras' own, in place. Records of other things are left alone. */
artel_status artel__schedule_spell_out(artel_context *ctx, json_t *record);

typedef struct artel__optimizer_def artel__optimizer_def;
typedef struct artel__optimizer {
    const artel__optimizer_def *def;
    artel__arena *arena;
    const char *name, *class_name;
    json_t *record;               /* Keras' record with every value filled in, as Keras writes it; own reference */
    artel__apply_options options; /* of kernel/optimize.h */
    artel__schedule schedule;
    double exact_rate; /* a constant rate as it was given */
    bool wide;         /* of a model with variables of float64: rates are not rounded to float32 */
    double weight_decay, clipnorm, clipvalue, global_clipnorm; /* 0: off */
    bool use_ema;
    double ema_momentum;
    int64_t ema_overwrite_frequency; /* 0: never */
    int64_t accumulation_steps;      /* gradient_accumulation_steps; 1: off */
    double loss_scale_factor;        /* 1: off */
    bool lazy_rows; /* a row of a table whose rows travel alone is stepped when a batch names it, and not otherwise */
    const void *matrix; /* settings of an optimizer that sees matrices (nn/optimizer_table.h), or NULL */
    bool scales_loss;   /* read from a LossScaleOptimizer; all else here is the inner optimizer's but for the record */
    double initial_scale;
    int64_t growth_steps; /* steps with finite gradients after which the scale doubles */
} artel__optimizer;

/* The record of a LossScaleOptimizer with Keras' defaults around `inner`; a new reference, NULL without memory. */
json_t *artel__optimizer_wrap(json_t *inner);
/* The record inside that of a LossScaleOptimizer, borrowed; NULL for all others. */
json_t *artel__optimizer_inner(json_t *record);
/* `json`: a record or a name. The record that comes out has the entry of a table that was chosen; with `replicas` 0,
 * before the run is known, the table itself. Errors: unknown optimizers and settings. */
artel_status artel__optimizer_read(artel__arena *arena, json_t *json, int replicas, int64_t batch_size,
                                   artel__optimizer *out);
/* Whether Keras has an optimizer of this class name, in any case; whether all optimizers have a setting of this name.
 */
bool artel__optimizer_is_keras(const char *class_name);
bool artel__optimizer_has_setting(const char *key);
/* For a model with variables of float64: a constant rate becomes what was given, in the record too. Errors:
 * UNSUPPORTED, an optimizer that does not step in float64. */
artel_status artel__optimizer_widen(artel__optimizer *optimizer);
/* A new constant rate, in the record too; for the rate found in a file, --learning-rate and callbacks. Replaces a
 * schedule. */
artel_status artel__optimizer_set_rate(artel__optimizer *optimizer, double rate);

/* The slots, declared once the model's variables exist: for trainable variable i of `count` the indices into
 * `variables`. file_order is their order in Keras' files, after iteration and learning_rate. Temporaries of a step are
 * in no file. */
typedef struct artel__optimizer_slots {
    int per_variable; /* ARTEL__APPLY_SLOTS */
    int *slot;        /* [count][per_variable], in the order of kernel/optimize.h; -1: the rule has no such slot */
    int *average;     /* [count]: use_ema's averages, which Keras writes over the variables when fit ends; NULL: none */
    int *sum;         /* [count]: gradients of the steps since the last update; NULL: none */
    int scale, steps; /* of a LossScaleOptimizer: dynamic_scale, and step_counter (int64); -1: none. First in
                         file_order: steps, scale */
    int product;      /* Nadam's u_product, a scalar; -1: none */
    int *file_order;  /* all slots in the order of Keras' files */
    double *initial;  /* by place in file_order: what every element starts from */
    int file_count;
    int count;
    const int *trainable; /* variable indices, Keras' order; borrowed */
} artel__optimizer_slots;
artel_status artel__optimizer_declare(const artel__optimizer *optimizer, artel__variables *variables,
                                      const int *trainable, int count, artel__optimizer_slots *out);
/* Of who keeps no state but computes the loss: the scale and the count alone, in no file. Nothing without them. */
artel_status artel__optimizer_declare_scale(const artel__optimizer *optimizer, artel__variables *variables,
                                            artel__optimizer_slots *out);
/* The bytes in files that a trainable variable's slots take. */
uint64_t artel__optimizer_slot_bytes(const artel__optimizer *optimizer, const artel__variable *of);
/* The elements in memory, of four bytes, of the k-th slot that a float32 variable has; 0: it has none. */
int64_t artel__optimizer_slot_count(const artel__optimizer *optimizer, const artel__variable *of, int k);
/* The value that a slot (an index into `variables`) starts with: 0 for most, the initial accumulator of Adagrad and
 * Ftrl, 1 for Nadam's product. */
double artel__optimizer_slot_start(const artel__optimizer *optimizer, const artel__optimizer_slots *slots, int slot);
/* The variable as which a slot starts, or -1. */
int artel__optimizer_slot_source(const artel__optimizer *optimizer, const artel__optimizer_slots *slots, int slot);
/* The GLOBAL float32 scalar that the loss is multiplied with, of a LossScaleOptimizer or loss_scale_factor;
 * ARTEL__NO_VALUE: by nothing. */
artel__value_id artel__optimizer_scale(const artel__optimizer *optimizer, artel__graph *graph,
                                       const artel__optimizer_slots *slots);
/* With the gradients of the loss multiplied with `scale`: divides them by it if `divide` is set; else the step itself
 * does. For a LossScaleOptimizer their squared norm, before, becomes the graph's gate. Nothing without a scale. */
artel_status artel__optimizer_unscale(artel__graph *graph, const artel__optimizer_slots *slots, artel__value_id scale,
                                      artel__value_id *gradient, bool divide);
/* Whether anything is done with the gradients that wants them as they are, and not those of the scaled loss: clipping,
 * accumulation. */
bool artel__optimizer_wants_unscaled(const artel__optimizer *optimizer);
/* For who steps elsewhere: what clipping by norm needs, float64 [1] for each gradient or none; the squares (or
 * sizes) of an embedding's gradient that the rule wants, or none; that gradient clipped by value, or none where the
 * step clips. Where gradients of several steps are added up there are none of these: whoever has the sums makes them.
 */
artel_status artel__optimizer_norms(const artel__optimizer *optimizer, artel__graph *graph,
                                    const artel__optimizer_slots *slots, const artel__value_id *gradient,
                                    artel__value_id *norm);
artel__occurrence artel__optimizer_reads(const artel__optimizer *optimizer); /* which of them; ITSELF: none */
artel__value_id artel__optimizer_squares(const artel__optimizer *optimizer, artel__graph *graph,
                                         artel__value_id gradient);
artel__value_id artel__optimizer_clip_table(const artel__optimizer *optimizer, artel__graph *graph,
                                            artel__value_id gradient);
/* Why the step on a variable wants all of it and of its gradient in one place (a constant text); NULL: runs of elements
 * may be stepped apart from one another. */
const char *artel__optimizer_reads_whole(const artel__optimizer *optimizer, const artel__variable *variable);
/* Whether it clips by the norm of each gradient, or of all. */
bool artel__optimizer_clips_by_norm(const artel__optimizer *optimizer);
/* Why variables cannot be stepped apart from one another, the gradients being made elsewhere: a number wants all of
 * them; NULL: they can. */
const char *artel__optimizer_reads_all(const artel__optimizer *optimizer);
/* The rows of the gradient of `table`, where they may take its place and the rule's state lies row by row: NULL; else
 * why not (a constant text). */
const char *artel__optimizer_rows(const artel__optimizer *optimizer, artel__graph *graph, const artel__variable *table,
                                  artel__value_id gradient, artel__embedding_rows *out);
/* Whether a row of a table changes although its gradient is 0. */
bool artel__optimizer_changes_other_rows(const artel__optimizer *optimizer);
/* Whether the rule keeps its k-th slot from step to step; Nadam's product. */
bool artel__optimizer_has_slot(const artel__optimizer *optimizer, int k);
bool artel__optimizer_has_product(const artel__optimizer *optimizer);
/* For who clips by the norm of all gradients and has some: the squared norm, float64 [1], of each gradient that is
 * stepped with; of several steps what their sum is then. Nothing is written. */
artel_status artel__optimizer_preview_norms(const artel__optimizer *optimizer, artel__graph *graph,
                                            const artel__optimizer_slots *slots, const artel__value_id *gradient,
                                            artel__value_id *norm);
/* The step alone, of gradients that come from elsewhere with what the three above have made of them; with gradients of
 * several steps, their sums and what clipping needs of these. With a gate the step is passed over where that is not
 * finite, and the loss scale follows it. */
typedef struct artel__optimizer_input {
    const artel__value_id *gradient; /* of each variable; may be none */
    const artel__value_id *norm;     /* NULL: made here. Of sums they are, but for the norm of all together */
    const artel__value_id *squares;  /* NULL: as the gradients say themselves */
    const bool *clipped;             /* NULL: none */
    const artel__embedding_rows
        *rows; /* NULL: none; else whose token is a value: gradient and squares are rows, all others stay */
} artel__optimizer_input;
artel_status artel__optimizer_step(const artel__optimizer *optimizer, artel__graph *graph,
                                   const artel__optimizer_slots *slots, const artel__optimizer_input *in);
/* Adds accumulation, clipping, weight decay, the update and averages for all variables. gradient[i] may be none: left
 * alone. `scale`: what the gradients are still to be divided by, or none. */
artel_status artel__optimizer_add(const artel__optimizer *optimizer, artel__graph *graph,
                                  const artel__optimizer_slots *slots, const artel__value_id *gradient,
                                  artel__value_id scale);

#endif
