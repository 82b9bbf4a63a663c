/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a plan and of a run, shared by the files of this room only. */
#ifndef ARTEL_EXEC_CPU_PLAN_IMPL_H
#define ARTEL_EXEC_CPU_PLAN_IMPL_H

#include "exec/cpu/plan.h"
#include "exec/state_impl.h"
#include "kernel/narrow.h"

#define ARTEL__OFFSET_EXTERNAL ((size_t)-1) /* variables and fed inputs: not in the arena of the run */

/* What happens to collectives. */
enum {
    ARTEL__ACTION_EXCHANGE = -1, /* carried out, waited for */
    ARTEL__ACTION_BEGIN = -2,    /* begun; nodes that follow do not need the results */
    ARTEL__ACTION_FINISH = -3,   /* all that has been begun is waited for; the range holds them, and others */
    ARTEL__ACTION_POST = -4, /* an exchange whose waiting is an action of its own: the next AWAIT, of the same range */
    ARTEL__ACTION_AWAIT = -5
};

/* One step of the schedule: a node, or the collectives [first, first + count) of plan->collective at once. */
typedef struct artel__action {
    int32_t node; /* or one of ARTEL__ACTION_... */
    int32_t first, count;
} artel__action;

typedef struct artel__node_plan {
    const artel__kernel *kernel; /* NULL: view or collective */
    const artel__op_exec *exec;  /* of the node's operation; never NULL */
    bool view;
    bool divided; /* its tasks are shared out among replicas with common variables */
    bool lazy;    /* a collective whose only reader adds up, piece by piece, what it needs */
    int32_t step; /* of a gradient that is put off: the step that is taken on each part of it at once; 0: none */
    int64_t cost; /* operations of a full batch: decides whether other threads are woken */
} artel__node_plan;

struct artel__plan {
    artel_context *ctx;
    artel__arena arena;
    const artel__graph *graph;
    artel__plan_options options;
    artel__fold_plan *fold; /* of a full batch, by replica */
    int64_t max_rows;       /* the most rows a replica gets */
    int32_t max_nodes;      /* the most fold nodes a replica gets */
    artel__node_plan *node;
    artel__action *action;
    int actions, apply_action; /* the first action of the apply phase */
    int32_t *collective;       /* node indices in order */
    int collectives;
    const artel__kernel *narrow; /* rounds to 16-bit types */
    int32_t *root;               /* by value: the value whose buffer it shares (itself mostly) */
    size_t *offset;              /* by value: into one of the run's blocks, or ARTEL__OFFSET_EXTERNAL */
    bool *lent;                  /* by value: it lies in the block that can be lent */
    size_t *bytes;               /* by value */
    bool *half;                  /* by value: stored as bfloat16; NULL until that is known, as none is */
    bool *raw;                   /* by value: weights that their readers round; likewise */
    size_t block_bytes, lent_bytes, scratch_bytes;
    size_t plain_bytes; /* staged: the largest exchange of what lies in panels, in its plain form */
};

struct artel__run {
    artel_context *ctx;
    const artel__plan *plan;
    artel__state *state;
    artel__pool *pool;
    const artel__comm *comm;
    uint8_t *block, *lent; /* `lent`: memory that other processes of the host can be handed (base/lend.h) */
    uint8_t *plain;        /* for plan->plain_bytes; NULL: none are needed */
    uint8_t *scratch;
    size_t scratch_bytes, scratch_total; /* of one thread, of all */
    int64_t scratch_batch;               /* the last short batch that the scratch was measured for */
    void **pointer;                      /* by value */
    artel__comm_segment *segment;
    artel__fault fault;
    int32_t abandon_at;
    bool in_flight;          /* collectives have been begun and not waited for */
    bool posted;             /* so has one that nodes of the pass need */
    const atomic_bool *stop; /* NULL, or set by whoever wants the step to be abandoned */
    artel__nonfinite *scan;  /* set: look at every output */
    const artel__run **peer; /* with common variables: the runs of all replicas by rank; NULL otherwise */
    int peers;
    const void **blocks; /* by rank: what is being added up */
    artel__node_time *time;
};

/* What a value is a view of, through views of views: itself mostly. Of ARTEL__NO_VALUE that. As soon as kernels are
 * chosen; not of values whose node was pruned, which name another one. */
artel__value_id artel__plan_source(const artel__plan *plan, artel__value_id value);
/* Who does what in the APPLY phase of replicas with common variables; exec/cpu/common.c. */
artel_status artel__plan_divide(artel__plan *plan);
/* Whether the first replica alone does this node; for a run of another one, which must not even look at its inputs. */
bool artel__run_leaves(const artel__run *run, int32_t node);
/* The run's part of a node's tasks: all of them, unless the node is divided. */
void artel__run_share(const artel__run *run, int32_t node, int64_t tasks, int64_t *first, int64_t *count);
/* The collective that the node is to carry out itself; NULL: none. */
const artel__node *artel__plan_lazy_input(const artel__plan *plan, int32_t node);
/* Lets exchanges go on behind work that does not need them; exec/cpu/overlap.c. */
void artel__plan_overlap(artel__plan *plan);
/* The schedule of a staged plan, and its exchange of a stage, whose segments are there but for their form;
 * exec/cpu/staged.c. */
artel_status artel__plan_stages(artel__plan *plan);
artel_status artel__run_exchange_stage(artel__run *run, const artel__action *action, const artel__step *step);
/* Finds gradients that need not be written, because a step can follow each part of them at once; exec/cpu/follow.c. */
artel_status artel__plan_follow(artel__plan *plan);
/* Whether a node is such a gradient, which is computed in the APPLY phase in the place of its step, or a view of what
 * it computes. */
bool artel__plan_puts_off(const artel__plan *plan, int32_t node);
/* The gradient whose parts step `node` follows; -1: none. */
int32_t artel__plan_followed(const artel__plan *plan, int32_t node);
/* Finds the values that are stored as bfloat16, once kernels are chosen; exec/cpu/storage.c. */
artel_status artel__plan_store(artel__plan *plan);
/* Finds the weights that are rounded by who reads them, then; exec/cpu/raw.c. */
artel_status artel__plan_round_late(artel__plan *plan);
/* Gives every value its place; exec/cpu/memory.c. */
artel_status artel__plan_memory(artel__plan *plan);
size_t artel__plan_value_bytes(const artel__plan *plan, artel__value_id id);
/* Fills the arguments of a node for a run (or, with run NULL, for choosing a kernel at full size). */
void artel__plan_args(const artel__plan *plan, const artel__run *run, int32_t node, const artel__step *step, void **in,
                      void **out, artel__run_args *args);
/* The kernel's parameters as replica `rank` would fill them for a full batch. */
void artel__plan_params(const artel__plan *plan, int32_t node, int rank, void *params);
/* Looks for a non-finite element in a node's outputs; exec/cpu/nonfinite.c. */
bool artel__scan_node(const artel__run *run, int32_t node, const artel__step *step, artel__nonfinite *out);

#endif
