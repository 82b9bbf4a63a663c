/* SPDX-License-Identifier: Apache-2.0 */
/* artel data make, split: any data into shards of records.
 *
 * Records are copied as they are; images keep their encoded bytes; columns of a table stand side by side as x and y;
 * other arrays become one feature each: float32 as numbers, integers as int64, wide floats and bytes as they lie in
 * memory, texts as strings. What is written is a function of the rows, the seed and the options.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/text.h"
#include "cli/data.h"
#include "data/record_write.h"
#include "data/texts.h"

#define SHARD_BYTES ((double)(128 << 20))
#define TEXT_BYTES ((size_t)1 << 20) /* of rows that have been written */

/* A feature to be written and the columns that it is made of. */
typedef struct part {
    const char *name;
    int first, count; /* in `order`, of one dtype once converted */
} part;

typedef struct maker {
    artel__invocation *call;
    const artel__data_command *options;
    artel__data_opened opened;
    artel__features features; /* as many as parts */
    part *parts;
    int *order;   /* columns, part by part */
    int *fetched; /* those of them that are read as values, not as the file holds them */
    void **into;  /* where each of those lies in the row */
    int fetches;
    const uint64_t *rows; /* numbers of rows in the order of writing; NULL: as they are */
    void *values;         /* a row of a part in its written dtype */
    artel__text fields, record;
} maker;

/* ---- what becomes of the columns ---- */

static artel_dtype written_dtype(const artel__rows_column *column)
{
    switch (column->dtype) {
    case ARTEL_DTYPE_FLOAT32:
    case ARTEL_DTYPE_FLOAT16:
    case ARTEL_DTYPE_BFLOAT16: return ARTEL_DTYPE_FLOAT32;
    case ARTEL_DTYPE_FLOAT64:
    case ARTEL_DTYPE_STRING:
    case ARTEL_DTYPE_UINT64: return column->dtype;
    case ARTEL_DTYPE_UINT8: return column->row.rank > 0 ? ARTEL_DTYPE_UINT8 : ARTEL_DTYPE_INT64;
    default: return ARTEL_DTYPE_INT64;
    }
}

static void describe_feature(artel__feature *f, const artel__rows_column *column, const char *name)
{
    artel_dtype dtype = written_dtype(column);
    *f = (artel__feature){.name = name, .array = name, .role = column->role, .dtype = dtype, .row = column->row};
    f->kind = dtype == ARTEL_DTYPE_FLOAT32 ? ARTEL__FEATURE_FLOAT32
              : dtype == ARTEL_DTYPE_INT64 ? ARTEL__FEATURE_INT64
                                           : ARTEL__FEATURE_BYTES;
    if (f->kind == ARTEL__FEATURE_BYTES)
        f->decode = dtype == ARTEL_DTYPE_STRING ? ARTEL__DECODE_STRING : ARTEL__DECODE_RAW;
    if (!column->has_encoded) return;
    f->kind = ARTEL__FEATURE_BYTES;
    f->decode = ARTEL__DECODE_IMAGE;
    f->row = (artel_shape){3, {-1, -1, -1}};
}

static void add_part(maker *m, const char *name, int first, int count)
{
    m->parts[m->features.count] = (part){name, first, count};
    describe_feature(&m->features.item[m->features.count++], &m->opened.rows.columns[m->order[first]], name);
}

/* `name`, or where a column of text has it "name_1", ...: a record holds a feature of each name once. */
static const char *free_name(maker *m, const char *name)
{
    const artel__rows *rows = &m->opened.rows;
    const char *out = name;
    for (int i = 0, tried = 0; out && i < rows->column_count; i++) {
        if (rows->columns[i].dtype != ARTEL_DTYPE_STRING || strcmp(rows->columns[i].name, out) != 0) continue;
        out = artel__arena_printf(&m->call->arena, "%s_%d", name, ++tried);
        i = -1;
    }
    if (out != name && out)
        artel__log(m->call->ctx, ARTEL_LOG_NOTE, "%s: numbers are written as '%s': a column of text is called '%s'",
                   m->options->output, out, name);
    return out;
}

/* All columns of a role as one feature: int64 when all are whole numbers, else float32, as a model would be fed. */
static artel_status add_table_part(maker *m, const char *name, artel_data_role role, int *at)
{
    const artel__rows *rows = &m->opened.rows;
    int first = *at;
    bool whole = true;
    for (int i = 0; i < rows->column_count; i++) {
        if (rows->columns[i].role != role || rows->columns[i].dtype == ARTEL_DTYPE_STRING) continue;
        whole = whole && rows->columns[i].dtype == ARTEL_DTYPE_INT64;
        m->order[(*at)++] = i;
    }
    if (*at == first) return ARTEL_OK;
    name = free_name(m, name);
    if (!name) return ARTEL_ERROR_NO_MEMORY;
    add_part(m, name, first, *at - first);
    artel__feature *f = &m->features.item[m->features.count - 1];
    f->kind = whole ? ARTEL__FEATURE_INT64 : ARTEL__FEATURE_FLOAT32;
    f->dtype = whole ? ARTEL_DTYPE_INT64 : ARTEL_DTYPE_FLOAT32;
    f->decode = ARTEL__DECODE_NONE;
    f->row = role == ARTEL_DATA_ROLE_INPUT || *at - first > 1 ? (artel_shape){1, {*at - first}} : (artel_shape){0, {0}};
    f->role = role;
    return ARTEL_OK;
}

/* Of two features of one name, whoever reads the records would find one. */
static artel_status check_names(const maker *m)
{
    for (int p = 1; p < m->features.count; p++) {
        for (int other = 0; other < p; other++) {
            if (strcmp(m->parts[p].name, m->parts[other].name) != 0) continue;
            return artel__fail(m->call->ctx, ARTEL_ERROR_INVALID, m->opened.data->specification,
                               "rename one of them where they come from", "two columns are called '%s'",
                               m->parts[p].name);
        }
    }
    return ARTEL_OK;
}

/* The columns that a row is read for, together. */
static void plan_fetches(maker *m)
{
    for (int p = 0; p < m->features.count; p++) {
        for (int i = 0; i < m->parts[p].count && m->features.item[p].decode != ARTEL__DECODE_IMAGE; i++) {
            int column = m->order[m->parts[p].first + i];
            m->fetched[m->fetches] = column;
            m->into[m->fetches++] = (uint8_t *)m->opened.row + m->opened.rows.columns[column].at;
        }
    }
}

static artel_status plan_parts(maker *m)
{
    const artel__rows *rows = &m->opened.rows;
    artel__arena *arena = &m->call->arena;
    const artel__source *source = &m->opened.data->sources[0];
    size_t most = 8, count = (size_t)rows->column_count;
    int at = 0;
    if (rows->has_records) {
        m->features = *artel__tfrecord_features(source);
        return ARTEL_OK;
    }
    m->features.where = m->options->output;
    m->features.item = artel__arena_alloc(arena, count, sizeof *m->features.item);
    m->parts = artel__arena_alloc(arena, count, sizeof *m->parts);
    m->order = artel__arena_alloc(arena, count, sizeof *m->order);
    m->fetched = artel__arena_alloc(arena, count, sizeof *m->fetched);
    m->into = artel__arena_alloc(arena, count, sizeof *m->into);
    ARTEL_TRY(artel__arena_status(arena));
    if (source->format->table) {
        ARTEL_TRY(add_table_part(m, "x", ARTEL_DATA_ROLE_INPUT, &at));
        ARTEL_TRY(add_table_part(m, "y", ARTEL_DATA_ROLE_TARGET, &at));
    }
    for (int i = 0; i < rows->column_count; i++) {
        if (source->format->table && rows->columns[i].dtype != ARTEL_DTYPE_STRING) continue;
        m->order[at] = i;
        add_part(m, rows->columns[i].name, at++, 1);
    }
    ARTEL_TRY(check_names(m));
    plan_fetches(m);
    for (int i = 0; i < rows->column_count; i++)
        most += (size_t)rows->columns[i].elements * artel__cell_size(ARTEL_DTYPE_STRING);
    return artel__alloc(m->call->ctx, most, "a row", &m->values);
}

/* ---- writing ---- */

/* The columns of a part in the row that was read, converted, one after another; how many elements. */
static int64_t gather(maker *m, int p)
{
    const artel__feature *f = &m->features.item[p];
    uint8_t *out = m->values;
    int64_t elements = 0;
    for (int i = 0; i < m->parts[p].count; i++) {
        const artel__rows_column *c = &m->opened.rows.columns[m->order[m->parts[p].first + i]];
        const uint8_t *value = (const uint8_t *)m->opened.row + c->at;
        if (f->decode == ARTEL__DECODE_STRING) {
            memcpy(out, value, c->bytes);
            return c->elements;
        }
        artel__convert(c->dtype, value, f->dtype, out + (size_t)elements * artel_dtype_size(f->dtype), c->elements);
        elements += c->elements;
    }
    return elements;
}

static artel_status encode_part(maker *m, int p, int64_t row)
{
    const artel__feature *f = &m->features.item[p];
    if (f->decode == ARTEL__DECODE_IMAGE) {
        artel__text_clear(&m->record);
        ARTEL_TRY(artel__rows_encoded(&m->opened.rows, m->order[m->parts[p].first], row, &m->record));
        artel__example_add_bytes(&m->fields, f->name, m->record.data, m->record.length);
        return ARTEL_OK;
    }
    int64_t elements = gather(m, p);
    if (f->kind == ARTEL__FEATURE_FLOAT32)
        artel__example_add_floats(&m->fields, f->name, m->values, elements);
    else if (f->kind == ARTEL__FEATURE_INT64)
        artel__example_add_ints(&m->fields, f->name, m->values, elements);
    else if (f->decode == ARTEL__DECODE_STRING)
        artel__example_add_strings(&m->fields, f->name, m->values, elements);
    else
        artel__example_add_bytes(&m->fields, f->name, m->values, (size_t)elements * artel_dtype_size(f->dtype));
    return ARTEL_OK;
}

/* The bytes of one record in m->record. */
static artel_status encode_row(maker *m, int64_t row)
{
    if (m->opened.rows.has_records) {
        artel__text_clear(&m->record);
        return artel__rows_encoded(&m->opened.rows, -1, row, &m->record);
    }
    artel__text_clear(&m->fields);
    ARTEL_TRY(artel__rows_fetch_some(&m->opened.rows, m->fetched, m->fetches, row, m->into));
    for (int p = 0; p < m->features.count; p++) ARTEL_TRY(encode_part(m, p, row));
    artel__text_clear(&m->record);
    artel__example_end(&m->fields, &m->record);
    return artel__text_status(&m->record);
}

static int64_t row_at(const maker *m, int64_t i)
{
    return m->rows ? (int64_t)m->rows[i] : i;
}

/* Rows [begin, end) of the order into one file. */
static artel_status write_shard(maker *m, const char *path, int64_t begin, int64_t end, char digest[65])
{
    artel__record_writer writer;
    artel_status status =
        artel__record_writer_open(m->call->ctx, path, (artel__record_compression)m->options->compression, &writer);
    int64_t told = begin; /* data of another machine, what comes next */
    artel__texts texts;   /* of the rows that were read last */
    artel__texts_init(&texts, m->call->ctx, 0);
    artel__texts *before = artel__texts_set_keeper(&texts);
    for (int64_t i = begin; i < end && status == ARTEL_OK; i++) {
        artel__texts_clear(&texts, TEXT_BYTES);
        status = artel__data_go_on(m->call->ctx, path);
        if (i >= told)
            told = i + artel__rows_expect(&m->opened.rows, m->rows ? (const int64_t *)m->rows + i : NULL, i, end - i);
        if (status == ARTEL_OK) status = encode_row(m, row_at(m, i));
        if (status == ARTEL_OK) status = artel__record_writer_add(&writer, m->record.data, m->record.length);
    }
    artel__texts_set_keeper(before);
    artel__texts_fini(&texts);
    if (status == ARTEL_OK) status = artel__record_writer_commit(&writer, m->options->index, digest);
    artel__record_writer_close(&writer);
    return status;
}

static artel_status write_features(maker *m, const char *base)
{
    json_t *value;
    char *path = artel__arena_printf(&m->call->arena, "%s.features.json", base);
    artel__text text;
    if (!path) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__features_write(m->call->ctx, &m->features, &value));
    artel__text_init(&text, m->call->ctx);
    artel_status status = artel__json_dump(value, ARTEL__JSON_INDENT, &text);
    json_decref(value);
    artel__text_append(&text, "\n");
    if (status == ARTEL_OK) status = artel__text_status(&text);
    if (status == ARTEL_OK) status = artel__write_file(m->call->ctx, path, text.data, text.length);
    artel__text_fini(&text);
    return status;
}

/* As many shards as asked for, else so many that none is over 128 MiB when all rows are like the first. */
static artel_status count_shards(maker *m, int64_t begin, int64_t count, int64_t *out)
{
    *out = m->options->shards;
    if (*out > 0 || count == 0) {
        if (*out < 1) *out = 1;
        return ARTEL_OK;
    }
    ARTEL_TRY(encode_row(m, row_at(m, begin)));
    *out = 1 + (int64_t)((double)m->record.length * (double)count / SHARD_BYTES);
    if (*out > 99999) *out = 99999;
    return ARTEL_OK;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *shard_name(maker *m, const char *base, int64_t shard, int64_t shards)
{
    return shards == 1 ? base : artel__arena_printf(&m->call->arena, "%s-%05d-of-%05d", base, (int)shard, (int)shards);
}

/* None of what is to be written is read. */
static artel_status check_shards(maker *m, const char *base, int64_t shards)
{
    static const char *const beside[] = {".sha256", ".features.json"};
    const char *data = artel__data_specification(m->call, m->call->argument[1]);
    if (!data) return ARTEL_ERROR_NO_MEMORY;
    for (int64_t s = 0; s < shards; s++) {
        const char *path = shard_name(m, base, s, shards);
        if (!path) return ARTEL_ERROR_NO_MEMORY;
        ARTEL_TRY(artel__cli_check_apart(m->call, "--output", path, data));
    }
    for (size_t i = 0; i < ARTEL__COUNT(beside); i++) {
        const char *path = artel__arena_printf(&m->call->arena, "%s%s", base, beside[i]);
        if (!path) return ARTEL_ERROR_NO_MEMORY;
        ARTEL_TRY(artel__cli_check_apart(m->call, "--output", path, data));
    }
    return ARTEL_OK;
}

/* Rows [begin, begin + count) of the order as a set of shards. */
static artel_status write_set(maker *m, const char *base, int64_t begin, int64_t count)
{
    artel__arena *arena = &m->call->arena;
    artel__text sums;
    char digest[65];
    int64_t shards;
    ARTEL_TRY(count_shards(m, begin, count, &shards));
    artel_status status = check_shards(m, base, shards);
    artel__text_init(&sums, m->call->ctx);
    for (int64_t s = 0; s < shards && status == ARTEL_OK; s++) {
        const char *path = shard_name(m, base, s, shards);
        status = path ? write_shard(m, path, begin + s * count / shards, begin + (s + 1) * count / shards, digest)
                      : ARTEL_ERROR_NO_MEMORY;
        if (status == ARTEL_OK) artel__text_printf(&sums, "%s  %s\n", digest, file_name(path));
    }
    char *path = artel__arena_printf(arena, "%s.sha256", base);
    if (status == ARTEL_OK) status = path ? artel__text_status(&sums) : ARTEL_ERROR_NO_MEMORY;
    if (status == ARTEL_OK) status = artel__write_file(m->call->ctx, path, sums.data, sums.length);
    artel__text_fini(&sums);
    if (status == ARTEL_OK) status = write_features(m, base);
    if (status == ARTEL_OK)
        artel__show(stdout, "%s: %lld records in %lld files\n", base, (long long)count, (long long)shards);
    return status;
}

static artel_status open_maker(artel__invocation *call, maker *m)
{
    memset(m, 0, sizeof *m);
    m->call = call;
    m->options = call->options;
    if (!m->options->output) return artel__cli_usage(call, "--output", "the name of the files to write is missing");
    ARTEL_TRY(artel__cli_check_target(call, m->options->output));
    ARTEL_TRY(artel__data_open_rows(call, call->argument[1], true, &m->opened));
    artel__text_init(&m->fields, call->ctx);
    artel__text_init(&m->record, call->ctx);
    return plan_parts(m);
}

static void close_maker(maker *m)
{
    artel__text_fini(&m->fields);
    artel__text_fini(&m->record);
    artel__free(m->call->ctx, m->values);
    artel__free(m->call->ctx, (void *)(uintptr_t)m->rows);
    artel__data_close_rows(m->call, &m->opened);
}

/* A random order where one is asked for. */
static artel_status choose_order(maker *m, bool random)
{
    void *rows;
    if (!random) return ARTEL_OK;
    ARTEL_TRY(
        artel__alloc(m->call->ctx, (size_t)(m->opened.rows.count + 1) * sizeof(uint64_t), "the order of rows", &rows));
    artel__rng_permutation((uint64_t)m->options->seed, ARTEL__STREAM_SHUFFLE, 0, (uint64_t)m->opened.rows.count, rows);
    m->rows = rows;
    return ARTEL_OK;
}

artel_status artel__data_make(artel__invocation *call)
{
    const artel__data_command *o = call->options;
    const char *data = artel__data_specification(call, call->argument[1]);
    maker m;
    if (!data) return ARTEL_ERROR_NO_MEMORY;
    if (o->output) ARTEL_TRY(artel__cli_check_apart(call, "--output", o->output, data));
    artel_status status = open_maker(call, &m);
    if (status == ARTEL_OK) status = choose_order(&m, m.options->shuffle);
    if (status == ARTEL_OK) status = write_set(&m, m.options->output, 0, m.opened.rows.count);
    if (m.call && m.opened.data) close_maker(&m);
    return status;
}

/* ---- split ---- */

/* NAME-train.tfrecord of NAME.tfrecord, NAME-train of NAME. */
static const char *part_name(maker *m, const char *name)
{
    const char *base = m->options->output, *ending = ".tfrecord";
    if (!artel__ends_with(base, ending)) return artel__arena_printf(&m->call->arena, "%s-%s", base, name);
    return artel__arena_printf(&m->call->arena, "%.*s-%s%s", (int)(strlen(base) - strlen(ending)), base, name, ending);
}

/* A part of the rows: its files and where it ends. */
typedef struct share {
    const char *base;
    int64_t end;
} share;

/* All parts, before any is written. */
static artel_status plan_shares(maker *m, char **fractions, int count, char **names, share *out)
{
    static const char *const usual[] = {"train", "validation", "test"};
    double reached = 0;
    for (int i = 0; i < count; i++) {
        double fraction;
        if (!artel__parse_double(fractions[i], &fraction) || !(fraction > 0 && fraction <= 1) ||
            reached + fraction > 1 + 1e-9)
            return artel__cli_usage(m->call, "--fractions", "'%s' is no part of the rows (parts add up to 1 at most)",
                                    fractions[i]);
        reached += fraction;
        char number[16];
        snprintf(number, sizeof number, "part%d", i);
        out[i] = (share){.base = part_name(m, names ? names[i] : i < 3 ? usual[i] : number)};
        if (!out[i].base) return ARTEL_ERROR_NO_MEMORY;
        out[i].end = (int64_t)((double)m->opened.rows.count * reached + 0.5);
        if (out[i].end > m->opened.rows.count) out[i].end = m->opened.rows.count;
        for (int earlier = 0; earlier < i; earlier++)
            if (strcmp(out[earlier].base, out[i].base) == 0)
                return artel__cli_usage(m->call, "--names", "'%s' is there twice", names[i]);
    }
    return ARTEL_OK;
}

static artel_status write_shares(maker *m, char **fractions, int count, char **names)
{
    share *shares = artel__arena_alloc(&m->call->arena, (size_t)count, sizeof *shares);
    if (!shares) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(plan_shares(m, fractions, count, names, shares));
    for (int i = 0; i < count; i++) {
        int64_t begin = i > 0 ? shares[i - 1].end : 0;
        ARTEL_TRY(write_set(m, shares[i].base, begin, shares[i].end - begin));
    }
    return ARTEL_OK;
}

artel_status artel__data_split(artel__invocation *call)
{
    maker m;
    char **fractions, **names = NULL;
    int count, named = 0;
    artel_status status = open_maker(call, &m);
    bool sorted = status == ARTEL_OK && m.opened.data->sources[0].sorted_by_class;
    if (status == ARTEL_OK) status = choose_order(&m, m.options->shuffle || sorted);
    if (sorted) artel__log(call->ctx, ARTEL_LOG_NOTE, "%s: sorted by class, so rows are shuffled", call->argument[1]);
    if (status == ARTEL_OK) status = artel__data_list_parse(&call->arena, m.options->fractions, &fractions, &count);
    if (status == ARTEL_OK && m.options->names)
        status = artel__data_list_parse(&call->arena, m.options->names, &names, &named);
    if (status == ARTEL_OK && names && named != count)
        status = artel__cli_usage(call, "--names", "%d names for %d parts", named, count);
    if (status == ARTEL_OK) status = write_shares(&m, fractions, count, names);
    if (m.call && m.opened.data) close_maker(&m);
    return status;
}
