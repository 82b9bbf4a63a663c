/* SPDX-License-Identifier: Apache-2.0 */
/* Stages of an input pipeline: what stands between a source and the rows that a model is fed.
 *
 * A stage offers elements by number. An element is a row of every column; asking for one column computes that one only.
 * Every stage is a pure function of its inputs, its settings and the number of the element, so any thread, replica or
 * host may ask for any element at any time, and the position in a pipeline is one number. Random stages draw by the
 * number of the element (base/rng.h) and, where they change values and not the order, by the pass over the data, which
 * the thread that asks sets beforehand.
 *
 * Life: artel__pipeline_build() from JSON -> any number of artel__stage_at() -> artel__stage_close() of the last.
 * Stages live in the arena given; what they hold besides is released by closing. Thread-safe once built.
 */
#ifndef ARTEL_DATA_STAGE_H
#define ARTEL_DATA_STAGE_H

#include <math.h>

#include "artel/pipeline.h"
#include "base/json.h"
#include "base/rng.h"
#include "data/features.h"
#include "data/rows.h"

typedef struct artel__stage artel__stage;

/* What a pipeline is built from. */
typedef struct artel__pipeline_recipe {
    json_t *value; /* what a pipeline file holds */
    int workers; /* 0: one pipeline; else those of all workers, concatenated: in each, a shard stage with "hint" is that
                    worker's part */
    const artel_pipeline_function *functions; /* of `map` */
    int function_count;
} artel__pipeline_recipe;

typedef struct artel__stage_column {
    const char *name;
    artel_data_role role;
    artel_dtype dtype;
    artel_shape row;
    int64_t elements;
    size_t bytes;
    bool pixels;
    bool draws;                /* its values differ from pass to pass */
    int deep;                  /* stages that stand on one another for a value of it */
    const artel__stage *maker; /* within a run of stages on single columns: the last that made its values, or NULL */
} artel__stage_column;

/* The row of the column that a stage changes or looks at, first in its table; its settings begin with `const char
 * *column`. */
#define ARTEL__STAGE_COLUMN(help)                                 \
    {                                                             \
        "column", help, ARTEL__OPTION_STRING, 0, NULL, 0, 0, NULL \
    }

/* One of several columns of an element that are asked for together. */
typedef struct artel__stage_want {
    int column;
    void *out;
} artel__stage_want;

enum {
    ARTEL__STAGE_TOGETHER = 64
};

typedef struct artel__stage_ops {
    const char *name;
    const artel__option
        *options; /* of stages on one column they begin with ARTEL__STAGE_COLUMN: `target` is set before opening */
    size_t options_size;
    bool joins; /* stands at the head, on a list of inputs */
    bool draws; /* of stages on one column: at random, anew in each pass */
    bool texts; /* of stages on one column: it may hold text */

    /* The file whose content its elements follow from beside sources and settings, in the stage's arena; *path stays
     * NULL: there is none. The setting `file` names it by a string, which then does not count. Once, before opening.
     * NULL: stages of its kind have none. */
    artel_status (*find_file)(const artel__stage *stage, const char **path);
    const char *file;
    /* Sets columns and count from the inputs, which are open; they have been copied from the first one. */
    artel_status (*open)(artel__stage *stage);
    /* For stages that choose and order: which element of which input element `index` is. */
    artel_status (*locate)(const artel__stage *stage, int64_t index, int *input, int64_t *at);
    /* For stages that change one column (stage->target): its value from that of the input. */
    artel_status (*map)(const artel__stage *stage, int64_t index, const void *in, void *out);
    /* For all others: a column of an element, and its hash. */
    artel_status (*at)(const artel__stage *stage, int column, int64_t index, void *out);
    /* With `at`: several columns of an element, at most ARTEL__STAGE_TOGETHER, for which the inputs are asked together
     * (NULL: `at` is called for one after another). */
    artel_status (*at_some)(const artel__stage *stage, const artel__stage_want *wants, int count, int64_t index);
    artel_status (*hash)(const artel__stage *stage, int column, int64_t index, uint64_t *out);
    /* With `at`: its elements are made of the inputs' elements of the same number, in so far as they are not kept here
     * (NULL: all are made). Others with `at` say nothing of what they ask for. */
    bool same_number;
    /* With `at`, where columns are those of the input by other numbers: which one (NULL: they are not). */
    int (*which)(const artel__stage *stage, int column);
    bool (*keeps)(const artel__stage *stage, int64_t index);
    void (*close)(artel__stage *stage);
} artel__stage_ops;

struct artel__stage {
    const artel__stage_ops *ops;
    artel_context *ctx;
    artel__arena *arena;
    const char *where;   /* "FILE: stage 3 (shuffle)" */
    uint32_t ordinal;    /* in the pipeline: random stages of one seed differ */
    int workers, worker; /* of pipelines that each worker of a training has for itself: of how many, and whose it is;
                            else 1 and 0 */
    const artel__pipeline_recipe *recipe;
    uint8_t print[32];    /* of all that its elements follow from: sources, stages, settings */
    bool hinted;          /* it stands on a shard of its worker */
    bool identified;      /* it has a file: */
    uint8_t identity[32]; /* what that holds, hashed */
    void *options, *state;
    artel__stage **inputs;
    int input_count;
    artel__stage_column *columns;
    int column_count;
    int target; /* of stages on one column */
    /* Of those of them that change no numbers of elements: such stages one upon another are a run, and have one table
     * of columns, that of the uppermost. */
    const artel__stage *base;        /* what the run stands on; NULL: it is in none */
    const artel__stage *under;       /* the one before that made values of the target; NULL: none in the run */
    artel__stage_column given, made; /* the target in front of this stage and behind it, once it is open */
    bool is_open;
    bool frozen; /* its elements are those of the first pass for ever: the stage keeps values, or what follows from them
                  */
    int64_t count; /* -1: endless */
    int64_t
        reach; /* of an endless stage: elements whose numbers, and those of what they are made from, fit in 64 bits */
};

/* ---- use ---- */

/* Which pass over the data this thread asks for elements of, from here on; gives the one before. It is 0 until set. */
uint64_t artel__stage_set_pass(uint64_t pass);

/* One column of element `index` (below count). */
artel_status artel__stage_at(const artel__stage *stage, int column, int64_t index, void *out);
/* Several columns of an element: of a source that reads rows as a whole they are asked for together. */
artel_status artel__stage_at_some(const artel__stage *stage, const artel__stage_want *wants, int count, int64_t index);
/* A hash of what the element is made from in the sources. */
artel_status artel__stage_hash(const artel__stage *stage, int column, int64_t index, uint64_t *out);
/* That this thread asks for these elements next: of how many their sources have been told, at least 1 (stage_expect.c).
 */
int64_t artel__stage_expect(const artel__stage *stage, const int64_t *index, int64_t count);
bool artel__stage_is_far(const artel__stage *stage); /* some of it comes from other machines */
void artel__stage_close(artel__stage *stage);        /* and its inputs; NULL accepted */

/* A pass over the elements: the next number, saved and restored as it is. */
typedef struct artel__stage_position {
    int64_t next;
} artel__stage_position;

/* The next element (out[i]: column i, or NULL); *end when there is none. */
artel_status artel__stage_next(const artel__stage *stage, artel__stage_position *position, void *const *out, bool *end);

/* ---- building (pipeline.c) ---- */

/* From what a pipeline file holds. `hash` gets what identifies the pipeline: its stages and the fingerprints of its
 * sources. */
artel_status artel__pipeline_build(artel_context *ctx, artel__arena *arena, const char *where, json_t *value,
                                   artel__sha256 *hash, artel__stage **out);

artel_status artel__pipeline_build_recipe(artel_context *ctx, artel__arena *arena, const char *where,
                                          const artel__pipeline_recipe *recipe, artel__sha256 *hash,
                                          artel__stage **out);
/* Data from a recipe, of which nothing is borrowed (pipeline_source.c). */
artel_status artel__pipeline_data(artel_context *ctx, const artel__pipeline_recipe *recipe, artel_data **out);

/* ---- for stages ---- */

/* Of stages on one column: the column in front of it, and behind it as far as that is settled. */
static inline const artel__stage_column *artel__stage_given(const artel__stage *stage)
{
    return &stage->given;
}

static inline const artel__stage_column *artel__stage_made(const artel__stage *stage)
{
    return stage->is_open ? &stage->made : &stage->columns[stage->target];
}

#define ARTEL__STAGE_STACK 4096

/* Room for a value: on the stack when small. */
typedef struct artel__stage_scratch {
    uint64_t small[ARTEL__STAGE_STACK / 8];
    void *heap;
    void *bytes;
} artel__stage_scratch;

artel_status artel__stage_scratch_init(artel_context *ctx, size_t bytes, artel__stage_scratch *out);
void artel__stage_scratch_fini(artel_context *ctx, artel__stage_scratch *scratch);

/* For `hash` where a value is made of several: *sum, which begins with 0 or a number of the stage's, becomes a hash of
 * itself and of that column of that element. */
artel_status artel__stage_hash_add(const artel__stage *stage, int column, int64_t index, uint64_t *sum);
/* An `at` of stages that have `at_some`. */
artel_status artel__stage_at_one(const artel__stage *stage, int column, int64_t index, void *out);

/* Words to compare a column of text with: a string, or a list of them. */
artel_status artel__stage_words(const artel__stage *stage, json_t *value, artel__vocabulary *out);

/* Numbers that values of the stage's column are compared with, as NumPy compares an array with a Python number: those
 * of floats are of the column's dtype, whole numbers are held against whole ones exactly. */
typedef struct artel__stage_keys {
    artel_dtype dtype; /* of the column */
    double *numbers;
    int64_t *whole; /* the same where all are whole numbers, as the column's are; else NULL */
    size_t count;
} artel__stage_keys;

/* One value of the column. */
typedef struct artel__stage_value {
    double number;
    int64_t whole;
    bool beyond; /* above all that int64 holds */
} artel__stage_value;

/* A number, or a list of them; in the stage's arena. Errors: INVALID, not recorded (it is something else); NO_MEMORY.
 */
artel_status artel__stage_numbers(const artel__stage *stage, const json_t *value, artel__stage_keys *out);
artel__stage_value artel__stage_read_value(const artel__stage_keys *keys, const void *at);
/* Below 0, 0 or above 0 as the value is below the key, the same, or above; NaN where one of them is. */
static inline double artel__stage_compare(const artel__stage_keys *keys, size_t key, const artel__stage_value *value)
{
    if (keys->whole != NULL)
        return value->beyond ? 1 : (value->whole > keys->whole[key]) - (value->whole < keys->whole[key]);
    double number = value->number, with = keys->numbers[key], order = (number > with) - (number < with);
    return order == 0 && number != with ? NAN : order;
}

/* The column of that name of the first input; INVALID with the nearest name when there is none. */
artel_status artel__stage_find(const artel__stage *stage, const char *name, int *out);
/* Those of a list in JSON, at least one, each once; out[] has room for all columns of the first input. */
artel_status artel__stage_find_list(const artel__stage *stage, const char *text, int *out, int *count);
/* Sets shape and dtype of a column and what follows from them. INVALID when that overflows. */
artel_status artel__stage_set_column(artel__stage *stage, int column, artel_dtype dtype, const artel_shape *row);
/* A number as a column of this dtype holds it, in 16 bytes at most; of text 0, which is an empty string. INVALID: the
 * dtype holds no such number. */
artel_status artel__stage_filling(const artel__stage *stage, artel_dtype dtype, double value, void *out);
/* The elements that may be asked for: count, or the reach of an endless stage. */
int64_t artel__stage_span(const artel__stage *stage);
/* Sets the elements that may be asked for, of an endless stage too. INVALID when an endless one has none. */
artel_status artel__stage_set_span(artel__stage *stage, int64_t span);
/* Room for `count` numbers of elements, cleared, on the heap. */
artel_status artel__stage_order(const artel__stage *stage, int64_t count, uint64_t **out);
uint64_t artel__stage_pass(void);
/* Sets frozen where a column (-1: any) differs from pass to pass: for stages that look at values once. */
void artel__stage_freeze(artel__stage *stage, int column);
/* Random words of an element: a function of seed, stage, element and block alone. */
void artel__stage_draw(const artel__stage *stage, int64_t seed, int64_t index, uint64_t block, uint32_t out[4]);
artel_status artel__stage_wrong(const artel__stage *stage, const char *advice, const char *format, ...)
    ARTEL__PRINTF(3, 4);

extern const artel__stage_ops *const artel__stages[]; /* NULL-terminated; stages.c */

extern const artel__stage_ops artel__stage_take, artel__stage_skip, artel__stage_repeat, artel__stage_shard,
    artel__stage_shuffle, artel__stage_filter, artel__stage_concatenate, artel__stage_zip, artel__stage_interleave,
    artel__stage_sample, artel__stage_window, artel__stage_cache, artel__stage_snapshot, artel__stage_cast,
    artel__stage_scale, artel__stage_normalise, artel__stage_one_hot, artel__stage_reshape, artel__stage_lookup,
    artel__stage_map, artel__stage_select, artel__stage_rename, artel__stage_stack_columns,
    artel__stage_concatenate_columns, artel__stage_resize, artel__stage_crop, artel__stage_random_crop,
    artel__stage_random_flip, artel__stage_random_brightness, artel__stage_random_contrast, artel__stage_batch,
    artel__stage_unbatch, artel__stage_pad, artel__stage_bucket, artel__stage_source;
/* Of a bucket_by_sequence_length, as long as the stage is open; NULL: it is another one (stage_bucket.c). */
const artel__data_buckets *artel__stage_buckets(const artel__stage *stage);
/* Made by the room `function`, since data knows no graphs: the one stage that runs a function of the user's. Together
 * with the format of services (source.h) all that data names of later rooms (scripts/check-symbols). */
extern const artel__stage_ops artel__stage_function;

#endif
