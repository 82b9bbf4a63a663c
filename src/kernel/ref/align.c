/* SPDX-License-Identifier: Apache-2.0 */
/* Connectionist temporal classification, the reference. See kernel/align.h. */
#include "kernel/align.h"

#include <math.h>

#include "base/scalar_math.h"

/* One row, in scratch: states are blank, label, blank, ..., label, blank. */
typedef struct lattice {
    int64_t states, steps, classes;
    const int32_t *label;
    double *log_p;        /* [steps][classes] */
    double *alpha;        /* [steps][states]: of all ways to be there, the step's own class included */
    double *beta, *later; /* [states]: of all ways on from there, the step's own class left out */
    double *posterior;    /* [classes] */
} lattice;

static int64_t align_tasks(const void *params)
{
    return ((const artel__align *)params)->rows;
}

static int64_t most_states(const artel__align *p)
{
    return 2 * p->labels + 1;
}

static size_t align_scratch(const void *params)
{
    const artel__align *p = params;
    return (size_t)(p->steps * (p->classes + most_states(p)) + 2 * most_states(p) + p->classes) * sizeof(double) + 8;
}

static double log_add(double a, double b)
{
    double more = a > b ? a : b, less = a > b ? b : a;
    return less == -INFINITY ? more : more + artel__log64(1 + artel__exp64(less - more));
}

static int32_t class_of(const lattice *l, int64_t state)
{
    return state % 2 ? l->label[state / 2] : 0;
}

/* Whether a label may follow the one before it without a blank between. */
static bool may_skip(const lattice *l, int64_t state)
{
    return state >= 2 && state % 2 && l->label[state / 2] != l->label[state / 2 - 1];
}

static void normalise(lattice *l, const float *logits)
{
    for (int64_t t = 0; t < l->steps; t++) {
        const float *x = logits + t * l->classes;
        double most = (double)x[0], sum = 0;
        for (int64_t c = 1; c < l->classes; c++) most = (double)x[c] > most ? (double)x[c] : most;
        for (int64_t c = 0; c < l->classes; c++) sum += artel__exp64((double)x[c] - most);
        double shift = most + artel__log64(sum);
        for (int64_t c = 0; c < l->classes; c++) l->log_p[t * l->classes + c] = (double)x[c] - shift;
    }
}

/* Fills alpha; the logarithm of the probability of the list. */
static double go_forward(lattice *l)
{
    for (int64_t t = 0; t < l->steps; t++) {
        const double *before = l->alpha + (t - 1) * l->states;
        for (int64_t s = 0; s < l->states; s++) {
            double ways = t == 0 ? (s < 2 ? 0 : -INFINITY) : before[s];
            if (t > 0 && s >= 1) ways = log_add(ways, before[s - 1]);
            if (t > 0 && may_skip(l, s)) ways = log_add(ways, before[s - 2]);
            l->alpha[t * l->states + s] = ways + l->log_p[t * l->classes + class_of(l, s)];
        }
    }
    const double *last = l->alpha + (l->steps - 1) * l->states;
    return l->states > 1 ? log_add(last[l->states - 1], last[l->states - 2]) : last[0];
}

/* beta of the step in front of `t`. */
static void go_back(lattice *l, int64_t t)
{
    const double *log_p = l->log_p + t * l->classes;
    for (int64_t s = 0; s < l->states; s++) l->later[s] = l->beta[s] + log_p[class_of(l, s)];
    for (int64_t s = 0; s < l->states; s++) {
        double ways = l->later[s];
        if (s + 1 < l->states) ways = log_add(ways, l->later[s + 1]);
        if (s + 2 < l->states && may_skip(l, s + 2)) ways = log_add(ways, l->later[s + 2]);
        l->beta[s] = ways;
    }
}

/* d loss / d logits = softmax - the probability that the class is there, given the list. */
static void put_gradient(lattice *l, double log_z, float upstream, float *gradient)
{
    for (int64_t s = 0; s < l->states; s++) l->beta[s] = s >= l->states - 2 ? 0 : -INFINITY;
    for (int64_t t = l->steps - 1; t >= 0; t--) {
        for (int64_t c = 0; c < l->classes; c++) l->posterior[c] = 0;
        for (int64_t s = 0; s < l->states; s++) {
            double log_both = l->alpha[t * l->states + s] + l->beta[s];
            if (log_both > -INFINITY) l->posterior[class_of(l, s)] += artel__exp64(log_both - log_z);
        }
        for (int64_t c = 0; c < l->classes; c++)
            gradient[t * l->classes + c] =
                (float)((double)upstream * (artel__exp64(l->log_p[t * l->classes + c]) - l->posterior[c]));
        if (t > 0) go_back(l, t);
    }
}

/* How many labels the row has, or -1: one is no class. */
static int64_t count_labels(const artel__align *p, int64_t row)
{
    const int32_t *label = p->label + row * p->labels;
    int64_t count = 0;
    for (int64_t i = 0; i < p->labels; i++) {
        count += label[i] != 0;
        if (label[i] >= 0 && label[i] < p->classes) continue;
        artel__fault_slot_report(&p->fault, row, label[i]);
        return -1;
    }
    return count;
}

static void align_row(const artel__align *p, int64_t row, double *scratch)
{
    int64_t count = count_labels(p, row), size = p->steps * p->classes;
    lattice l = {
        .states = 2 * count + 1, .steps = p->steps, .classes = p->classes, .label = p->label + row * p->labels};
    l.log_p = scratch;
    l.alpha = l.log_p + size;
    l.beta = l.alpha + p->steps * most_states(p);
    l.later = l.beta + most_states(p);
    l.posterior = l.later + most_states(p);
    double log_z = -INFINITY;
    if (count >= 0) {
        normalise(&l, p->logits + row * size);
        log_z = go_forward(&l);
    }
    if (p->loss) p->loss[row] = (float)-log_z;
    if (!p->gradient) return;
    for (int64_t i = 0; i < size; i++) p->gradient[row * size + i] = 0;
    if (log_z > -INFINITY) put_gradient(&l, log_z, p->upstream[row], p->gradient + row * size);
}

static void align_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    for (int64_t row = begin; row < end; row++) align_row(params, row, scratch);
}

static const artel__kernel align = {.name = "ref align",
                                    .isa = ARTEL__ISA_BASELINE,
                                    .tasks = align_tasks,
                                    .scratch_bytes = align_scratch,
                                    .run = align_run};
const artel__kernel *const artel__align_kernels[] = {&align, NULL};
