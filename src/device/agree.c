/* SPDX-License-Identifier: Apache-2.0 */
/* One executable for all tasks, where the plug-in chooses kernels by measuring.
 *
 * Before the first step with so many rows, every replica lists the programs that any replica needs for them (the same
 * everywhere) and says which its process has. Who has a program gives it to those who lack it, the replica of the
 * lowest rank first; what nobody has, rank 0 makes. So a program that was in use goes on, whoever comes and goes.
 * Everything travels as maxima of 64-bit words, which is what replicas have between them: whoever has nothing to say
 * gives the smallest word.
 */
#include <string.h>

#include "device/execution_impl.h"
#include "device/platform_impl.h"

enum {
    FIRST_COLLECTIVE = 1 << 20, /* behind those of the graph, of predictions and of the search for what is not finite */
    PIECE = 1 << 17             /* words at once */
};

typedef struct talk {
    artel__device_execution *e;
    const artel__step *step;
    artel__arena arena;
    artel__step_program **program;
    int count;
    int32_t calls;
    int64_t *holder; /* by program: its rank */
    bool *lacking;   /* by program: some process has it not */
    int64_t *length; /* in bytes, of those that somebody lacks */
} talk;

/* The largest of every word over all ranks, in place. */
static artel_status take_largest(talk *t, int64_t *word, int64_t count)
{
    const artel__comm *comm = t->e->comm;
    int nodes = t->step->fold->nodes;
    void *block;
    ARTEL_TRY(artel__alloc(t->e->ctx, (size_t)(nodes * count) * sizeof *word, "device", &block));
    int64_t *in = block;
    memcpy(in, word, (size_t)count * sizeof *word);
    for (int64_t i = count; i < nodes * count; i++) in[i] = INT64_MIN;
    artel__comm_segment segment = {
        .kind = ARTEL__COLLECTIVE_MAX, .dtype = ARTEL_DTYPE_INT64, .count = count, .in = in, .out = word};
    artel_status status = comm->ops->all_reduce(comm->self, t->step, FIRST_COLLECTIVE + t->calls++, &segment, 1);
    artel__free(t->e->ctx, block);
    return status;
}

static bool is_here(const talk *t, int i)
{
    return artel__program_known(artel__step_platform(t->e), t->program[i]->key) != NULL;
}

/* Who has what: of the lowest rank. */
static artel_status find_holders(talk *t)
{
    const artel__comm *comm = t->e->comm;
    int64_t *word = artel__arena_alloc(&t->arena, 2 * (size_t)t->count, sizeof *word);
    ARTEL_TRY(artel__arena_status(&t->arena));
    for (int i = 0; i < t->count; i++) {
        bool here = is_here(t, i);
        word[2 * i] = here ? comm->size - comm->rank : 0;
        word[2 * i + 1] = !here;
    }
    ARTEL_TRY(take_largest(t, word, 2 * (int64_t)t->count));
    for (int i = 0; i < t->count; i++) {
        t->holder[i] = word[2 * i] ? comm->size - word[2 * i] : 0;
        t->lacking[i] = word[2 * i + 1];
    }
    return ARTEL_OK;
}

static bool gives(const talk *t, int i)
{
    return t->lacking[i] && t->holder[i] == t->e->comm->rank;
}

/* What this rank gives: made, where nobody has it. */
static artel_status make_own(talk *t)
{
    artel__step_program **mine = artel__arena_alloc(&t->arena, (size_t)t->count + 1, sizeof(artel__step_program *));
    int count = 0;
    ARTEL_TRY(artel__arena_status(&t->arena));
    for (int i = 0; i < t->count; i++) {
        if (gives(t, i)) mine[count++] = t->program[i];
    }
    return artel__step_programs_compile(t->e->x, mine, count);
}

static artel_status bytes_of(talk *t, int i, const artel__text **out)
{
    return artel__program_bytes(artel__program_known(artel__step_platform(t->e), t->program[i]->key), out);
}

static artel_status share_lengths(talk *t)
{
    const artel__text *bytes;
    for (int i = 0; i < t->count; i++) {
        if (!gives(t, i)) continue;
        ARTEL_TRY(bytes_of(t, i, &bytes));
        t->length[i] = (int64_t)bytes->length;
    }
    return take_largest(t, t->length, t->count);
}

static int64_t words_of(const talk *t, int i)
{
    return t->lacking[i] ? (t->length[i] + 7) / 8 : 0;
}

static artel_status share_bytes(talk *t, int64_t *word, int64_t words)
{
    const artel__text *bytes;
    for (int64_t i = 0; i < words; i++) word[i] = INT64_MIN;
    for (int64_t i = 0, at = 0; i < t->count; at += words_of(t, (int)i), i++) {
        if (!gives(t, (int)i)) continue;
        ARTEL_TRY(bytes_of(t, (int)i, &bytes));
        if (bytes->length) word[at + words_of(t, (int)i) - 1] = 0;
        memcpy(word + at, bytes->data, bytes->length);
    }
    for (int64_t at = 0; at < words; at += PIECE)
        ARTEL_TRY(take_largest(t, word + at, words - at < PIECE ? words - at : PIECE));
    return ARTEL_OK;
}

/* Replicas of one process take the same: the first of them loads it. */
static artel_status take_programs(talk *t, const int64_t *word)
{
    artel__device_executable *x = t->e->x;
    char name[96];
    artel_status status = ARTEL_OK;
    pthread_mutex_lock(&x->lock);
    for (int i = 0; i < t->count && status == ARTEL_OK; i++) {
        artel__step_program *p = t->program[i];
        artel__step_program_name(x, p, name, sizeof name);
        if (!p->program) p->program = artel__program_known(x->place->platform, p->key);
        if (!p->program)
            status = artel__program_bring(x->place->platform, name, p->key, word, (size_t)t->length[i], &p->program);
        word += words_of(t, i);
    }
    pthread_mutex_unlock(&x->lock);
    return status;
}

static artel_status exchange(talk *t)
{
    int64_t words = 0;
    void *block;
    ARTEL_TRY(find_holders(t));
    ARTEL_TRY(make_own(t));
    ARTEL_TRY(share_lengths(t));
    for (int i = 0; i < t->count; i++) words += words_of(t, i);
    ARTEL_TRY(artel__alloc(t->e->ctx, (size_t)(words + 1) * sizeof(int64_t), "device", &block));
    artel_status status = share_bytes(t, block, words);
    if (status == ARTEL_OK) status = take_programs(t, block);
    artel__free(t->e->ctx, block);
    return status;
}

static artel_status talk_over(talk *t)
{
    int most = artel__step_programs_most(t->e->x);
    t->program = artel__arena_alloc(&t->arena, (size_t)most, sizeof(artel__step_program *));
    t->holder = artel__arena_alloc(&t->arena, (size_t)most, sizeof *t->holder);
    t->lacking = artel__arena_alloc(&t->arena, (size_t)most, sizeof *t->lacking);
    t->length = artel__arena_alloc(&t->arena, (size_t)most, sizeof *t->length);
    ARTEL_TRY(artel__arena_status(&t->arena));
    ARTEL_TRY(artel__step_programs_list(t->e->x, t->step->fold->batch, t->e->scan != NULL, t->program, &t->count));
    return t->count ? exchange(t) : ARTEL_OK;
}

static bool is_agreed(const artel__device_execution *e, int64_t batch, bool scan)
{
    for (int i = 0; i < e->agreed_count; i++) {
        if (e->agreed[i].batch == batch && e->agreed[i].scan == scan) return true;
    }
    return false;
}

artel_status artel__step_agree(artel__device_execution *e, const artel__step *step)
{
    bool scan = e->scan != NULL, alone = !e->comm || e->comm->size == 1;
    if (alone || !artel__step_programs_are_shared(e->x) || is_agreed(e, step->fold->batch, scan)) return ARTEL_OK;
    talk t = {.e = e, .step = step};
    artel__arena_init(&t.arena, e->ctx);
    artel_status status = talk_over(&t);
    artel__arena_fini(&t.arena);
    ARTEL_TRY(status);
    void *list = e->agreed;
    ARTEL_TRY(artel__realloc(e->ctx, (size_t)(e->agreed_count + 1) * sizeof *e->agreed, "device", &list));
    e->agreed = list;
    e->agreed[e->agreed_count++] = (artel__agreed_batch){step->fold->batch, scan};
    return ARTEL_OK;
}
