/* SPDX-License-Identifier: Apache-2.0 */
/* npy: NumPy's array files; `npy:X[,Y[,W]]`.
 *
 * Format: numpy/lib/format.py, versions 1.0 to 3.0: a magic, two version bytes, the length of the header (two bytes, or
 * four from 2.0 on), a Python dictionary {'descr', 'fortran_order', 'shape'} as text, the values. The dictionary is
 * read by a small parser that knows this one shape and nothing else of Python. Values that are native and row-major are
 * used where they lie; the others are copied once into that form. Object arrays hold pickles, which are programs: they
 * are refused, as are records, dates and complex numbers. Strings of bytes (S) and of code points (U) become text for
 * inputs of strings.
 */
#include <ctype.h>
#include <string.h>

#include "base/foreign.h"
#include "base/utf8.h"
#include "data/source.h"

typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_blanks(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r')) c->at++;
}

static bool take(cursor *c, char wanted)
{
    skip_blanks(c);
    if (c->at >= c->end || *c->at != wanted) return false;
    c->at++;
    return true;
}

/* A quoted string without escapes. */
static bool take_string(cursor *c, char *out, size_t size)
{
    skip_blanks(c);
    if (c->at >= c->end || (*c->at != '\'' && *c->at != '"')) return false;
    char quote = *c->at++;
    size_t length = 0;
    while (c->at < c->end && *c->at != quote) {
        if (*c->at == '\\' || length + 1 >= size) return false;
        out[length++] = *c->at++;
    }
    out[length] = '\0';
    return take(c, quote);
}

static bool take_word(cursor *c, const char *word)
{
    skip_blanks(c);
    size_t length = strlen(word);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0) return false;
    c->at += length;
    return true;
}

static bool take_extent(cursor *c, int64_t *out)
{
    skip_blanks(c);
    if (c->at >= c->end || !isdigit((unsigned char)*c->at)) return false;
    int64_t value = 0;
    while (c->at < c->end && isdigit((unsigned char)*c->at)) {
        if (value > (INT64_MAX - 9) / 10) return false;
        value = value * 10 + (*c->at++ - '0');
    }
    if (c->at < c->end && *c->at == 'L') c->at++; /* Python 2 wrote long integers so */
    *out = value;
    return true;
}

static bool take_shape(cursor *c, artel_shape *out)
{
    out->rank = 0;
    if (!take(c, '(')) return false;
    while (!take(c, ')')) {
        if (out->rank == ARTEL_MAX_RANK || !take_extent(c, &out->dim[out->rank])) return false;
        out->rank++;
        if (!take(c, ',')) return take(c, ')');
    }
    return true;
}

/* Steps over a bracketed value of any content, as the descr of a record array. */
static bool skip_list(cursor *c)
{
    int depth = 0;
    while (c->at < c->end) {
        char character = *c->at++;
        if (character == '[' || character == '(') depth++;
        if ((character == ']' || character == ')') && --depth == 0) return true;
    }
    return false;
}

typedef struct dictionary {
    char descr[64]; /* "[" for a record */
    bool fortran;
    artel_shape shape;
} dictionary;

static bool take_dictionary(cursor *c, dictionary *out)
{
    unsigned seen = 0;
    if (!take(c, '{')) return false;
    while (!take(c, '}')) {
        char key[32];
        if (!take_string(c, key, sizeof key) || !take(c, ':')) return false;
        if (strcmp(key, "descr") == 0 && !(seen & 1)) {
            seen |= 1;
            skip_blanks(c);
            if (c->at < c->end && *c->at == '[') {
                strcpy(out->descr, "[");
                if (!skip_list(c)) return false;
            } else if (!take_string(c, out->descr, sizeof out->descr)) {
                return false;
            }
        } else if (strcmp(key, "fortran_order") == 0 && !(seen & 2)) {
            seen |= 2;
            out->fortran = take_word(c, "True");
            if (!out->fortran && !take_word(c, "False")) return false;
        } else if (strcmp(key, "shape") == 0 && !(seen & 4)) {
            seen |= 4;
            if (!take_shape(c, &out->shape)) return false;
        } else {
            return false;
        }
        if (!take(c, ',')) return take(c, '}') && seen == 7;
    }
    return seen == 7;
}

/* "S12" or "U12": so many bytes or code points for each string. */
static bool read_width(const char *descr, artel__npy_header *out)
{
    int64_t width;
    if (!artel__parse_int64(descr + 2, &width) || width < 0 || width > INT32_MAX) return false;
    out->points = descr[1] == 'U';
    out->width = (size_t)width * (out->points ? 4 : 1);
    out->refusal = "it holds strings, and the model takes numbers here";
    return true;
}

/* Sets dtype, swapped and refusal from "<f4". False when it is no descr at all. */
static bool read_descr(const char *descr, artel__npy_header *out)
{
    static const struct {
        const char *code;
        artel_dtype dtype;
    } table[] = {{"f4", ARTEL_DTYPE_FLOAT32}, {"f8", ARTEL_DTYPE_FLOAT64}, {"f2", ARTEL_DTYPE_FLOAT16},
                 {"i1", ARTEL_DTYPE_INT8},    {"i2", ARTEL_DTYPE_INT16},   {"i4", ARTEL_DTYPE_INT32},
                 {"i8", ARTEL_DTYPE_INT64},   {"u1", ARTEL_DTYPE_UINT8},   {"u2", ARTEL_DTYPE_UINT16},
                 {"u4", ARTEL_DTYPE_UINT32},  {"u8", ARTEL_DTYPE_UINT64},  {"b1", ARTEL_DTYPE_BOOL}};
    out->refusal = NULL;
    out->swapped = descr[0] == '>';
    if (descr[0] == '[') {
        out->refusal = "it is a record array; save its fields as arrays of their own";
        return true;
    }
    if (strchr("<>|=", descr[0]) == NULL || descr[0] == '\0') return false;
    for (size_t i = 0; i < ARTEL__COUNT(table); i++) {
        if (strcmp(descr + 1, table[i].code) != 0) continue;
        out->dtype = table[i].dtype;
        return true;
    }
    out->dtype = ARTEL_DTYPE_STRING;
    switch (descr[1]) {
    case 'S':
    case 'U': return read_width(descr, out);
    case 'O':
        out->refusal = "it is an object array (a pickle, which could run code); save it with a numeric dtype";
        return true;
    case 'c': out->refusal = "it holds complex numbers"; return true;
    case 'f': out->refusal = "it holds long doubles; save it as float64"; return true;
    case 'M':
    case 'm': out->refusal = "it holds dates or durations; save it as int64"; return true;
    case 'V': out->refusal = "its dtype is opaque (bfloat16 has no npy form; save it as float32)"; return true;
    default: return false;
    }
}

static artel_status npy_corrupt(artel_context *ctx, const char *where, const char *what)
{
    return artel__fail(ctx, ARTEL_ERROR_CORRUPT, where, "write the array again with numpy.save", "%s", what);
}

/* The text of the dictionary; *out_end is the offset behind it. */
static artel_status find_dictionary(artel_context *ctx, const artel__npy_input *in, cursor *out, size_t *out_end)
{
    const uint8_t *bytes = in->bytes;
    if (in->size < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0) {
        bool begins = in->size >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0;
        if (!begins) ARTEL_TRY(artel__check_foreign(ctx, in->where, bytes, in->size));
        return npy_corrupt(ctx, in->where, "not a npy array: it does not begin with \\x93NUMPY");
    }
    if (bytes[6] < 1 || bytes[6] > 3) {
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, in->where, "write it again with numpy.save",
                           "npy version %d.%d (1.0 to 3.0 are known)", bytes[6], bytes[7]);
    }
    size_t offset = bytes[6] == 1 ? 10 : 12;
    if (in->size < offset) return npy_corrupt(ctx, in->where, "the header is cut off");
    size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] > 1) length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (length > in->size - offset) {
        return artel__fail(ctx, ARTEL_ERROR_CORRUPT, in->where, "write the array again with numpy.save",
                           "the header has %zu bytes (expected %zu)", in->size - offset, length);
    }
    out->at = (const char *)bytes + offset;
    out->end = out->at + length;
    *out_end = offset + length;
    return ARTEL_OK;
}

artel_status artel__npy_parse(artel_context *ctx, const artel__npy_input *in, artel__npy_header *out)
{
    cursor c = {NULL, NULL};
    dictionary dict = {.descr = ""};
    char text[128];
    out->data_bytes = out->width = 0;
    ARTEL_TRY(find_dictionary(ctx, in, &c, &out->data_offset));
    if (!take_dictionary(&c, &dict)) {
        return npy_corrupt(ctx, in->where,
                           "the header is not a dictionary of descr, fortran_order and a shape of at most 8 axes");
    }
    if (!read_descr(dict.descr, out)) {
        return artel__fail(ctx, ARTEL_ERROR_CORRUPT, in->where, "write the array again with numpy.save",
                           "unknown dtype '%s'", dict.descr);
    }
    out->fortran = dict.fortran;
    out->shape = dict.shape;
    if (out->refusal != NULL && out->width == 0) return ARTEL_OK;
    int64_t count = artel_shape_count(&out->shape);
    size_t size = out->width > 0 ? out->width : artel_dtype_size(out->dtype);
    if (count < 0 || count > INT64_MAX / 16 / (int64_t)size) return npy_corrupt(ctx, in->where, "the shape overflows");
    out->data_bytes = (size_t)count * size;
    if (in->total == UINT64_MAX) return ARTEL_OK;
    if (out->data_offset > in->total || in->total - out->data_offset != out->data_bytes) {
        return artel__fail(ctx, ARTEL_ERROR_CORRUPT, in->where, "fetch or write the file again",
                           "%llu bytes (expected %zu for %s %s)", (unsigned long long)in->total,
                           out->data_offset + out->data_bytes, artel_dtype_name(out->dtype),
                           artel__shape_text(&out->shape, false, text, sizeof text));
    }
    return ARTEL_OK;
}

void artel__npy_describe(const artel__npy_header *header, artel__source_array *out)
{
    out->refusal = header->refusal;
    if (header->shape.rank == 0 && header->refusal == NULL)
        out->refusal = "it is a single number without an axis of samples";
    out->dtype = header->dtype;
    out->count = header->shape.rank > 0 ? header->shape.dim[0] : 1;
    out->row.rank = header->shape.rank > 0 ? header->shape.rank - 1 : 0;
    memcpy(out->row.dim, header->shape.dim + 1, (size_t)out->row.rank * sizeof(int64_t));
    out->pixels = out->dtype == ARTEL_DTYPE_UINT8 && out->row.rank >= 2;
    out->text = header->width > 0 && header->shape.rank > 0;
}

static void copy_element(const uint8_t *from, uint8_t *to, size_t size, bool swap)
{
    for (size_t i = 0; i < size; i++) to[i] = from[swap ? size - 1 - i : i];
}

/* Copies values in Fortran order, foreign byte order or both into row-major native ones. */
static void rearrange(const artel__npy_header *header, const uint8_t *values, uint8_t *out)
{
    size_t size = header->width > 0 ? header->width : artel_dtype_size(header->dtype);
    int64_t count = artel_shape_count(&header->shape), stride[ARTEL_MAX_RANK], at[ARTEL_MAX_RANK] = {0}, offset = 0;
    int rank = header->shape.rank;
    int64_t step = 1;
    if (count <= 0) return;
    for (int i = 0; i < rank; i++) {
        int axis = header->fortran ? i : rank - 1 - i;
        stride[axis] = step;
        step *= header->shape.dim[axis];
    }
    for (int64_t i = 0; i < count; i++) {
        copy_element(values + (size_t)offset * size, out + (size_t)i * size, size,
                     header->swapped && header->width == 0);
        for (int axis = rank - 1; axis >= 0; axis--) {
            offset += stride[axis];
            if (++at[axis] < header->shape.dim[axis]) break;
            offset -= stride[axis] * header->shape.dim[axis];
            at[axis] = 0;
        }
    }
}

artel_status artel__npy_place(artel__source *source, const artel__npy_header *header, const uint8_t *values,
                              artel__source_array *out)
{
    size_t size = artel_dtype_size(header->dtype);
    bool fortran = header->fortran && header->shape.rank > 1;
    bool swapped = header->swapped && size > 1;
    if (fortran || swapped) {
        void *copy;
        ARTEL_TRY(artel__source_alloc(source, header->data_bytes, &copy));
        rearrange(header, values, copy);
        values = copy;
    }
    out->stride = (size_t)artel_shape_count(&out->row) * size;
    out->base = values;
    return ARTEL_OK;
}

/* -- strings -- */

/* The code point at `at`, which zeros behind the last one fill up. */
static uint32_t read_point(const uint8_t *at, bool swapped)
{
    uint32_t point = 0;
    for (int i = 0; i < 4; i++) point |= (uint32_t)at[swapped ? 3 - i : i] << (8 * i);
    return point;
}

/* UTF-8 of a code point; one that is none becomes a byte that no text holds, and is told of where it is fed. */
static size_t write_point(uint32_t point, char *out)
{
    if (point <= 0x10FFFF) return artel__utf8_put(point, out);
    out[0] = (char)0xFF;
    return 1;
}

static size_t trimmed(const uint8_t *at, size_t width, size_t unit)
{
    while (width > 0) {
        bool zero = true;
        for (size_t i = 0; i < unit; i++) zero = zero && at[width - 1 - i] == 0;
        if (!zero) break;
        width -= unit;
    }
    return width;
}

/* Strings of code points as UTF-8, in a block of their own, which has a byte for each byte of theirs. */
static artel_status decode_points(artel__source *source, const artel__npy_header *header, const uint8_t *values,
                                  artel__string *out)
{
    void *block;
    int64_t count = artel_shape_count(&header->shape);
    ARTEL_TRY(artel__source_alloc(source, header->data_bytes + 1, &block));
    char *at = block;
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *from = values + (size_t)i * header->width;
        size_t width = trimmed(from, header->width, 4);
        out[i].bytes = at;
        for (size_t k = 0; k < width; k += 4) at += write_point(read_point(from + k, header->swapped), at);
        out[i].length = (size_t)(at - out[i].bytes);
    }
    return ARTEL_OK;
}

artel_status artel__npy_strings(artel__source *source, const artel__npy_header *header, const uint8_t *values,
                                const artel__string **out)
{
    int64_t count = artel_shape_count(&header->shape);
    void *block, *copy;
    ARTEL_TRY(artel__source_alloc(source, (size_t)count * sizeof(artel__string) + 1, &block));
    artel__string *strings = block;
    if (header->fortran && header->shape.rank > 1) {
        ARTEL_TRY(artel__source_alloc(source, header->data_bytes, &copy));
        rearrange(header, values, copy);
        values = copy;
    }
    if (header->points) ARTEL_TRY(decode_points(source, header, values, strings));
    for (int64_t i = 0; !header->points && i < count; i++) {
        const uint8_t *at = values + (size_t)i * header->width;
        strings[i] = (artel__string){(const char *)at, trimmed(at, header->width, 1)};
    }
    *out = strings;
    return ARTEL_OK;
}

typedef struct npy_file {
    artel__blob *blob;
    artel__npy_header header;
} npy_file;

static artel_status open_file(artel__source *source, const char *path, npy_file *file, artel__source_array *array)
{
    void *head = NULL;
    ARTEL_TRY(artel__blob_open(source, path, &file->blob));
    artel__npy_input input = {path, file->blob->bytes, file->blob->size, file->blob->size};
    artel_status status = ARTEL_OK;
    if (file->blob->gzip) { /* unfolded when a model uses it */
        ARTEL_TRY(artel__alloc(source->ctx, ARTEL__NPY_HEAD_BYTES, path, &head));
        input.bytes = head;
        input.total = UINT64_MAX;
        status = artel__blob_peek(source, file->blob, head, ARTEL__NPY_HEAD_BYTES, &input.size);
    }
    if (status == ARTEL_OK) status = artel__npy_parse(source->ctx, &input, &file->header);
    if (status == ARTEL_OK) artel__npy_describe(&file->header, array);
    artel__free(source->ctx, head);
    return status;
}

/* Makes the values available. */
static artel_status unfold(artel__source *source, const npy_file *file, const uint8_t **out)
{
    ARTEL_TRY(artel__blob_inflate(source, file->blob, file->header.data_offset + file->header.data_bytes));
    *out = file->blob->bytes + file->header.data_offset;
    return ARTEL_OK;
}

static artel_status npy_open(artel__source *source)
{
    static const char *const names[] = {"x", "y", "sample_weight"};
    static const artel_data_role roles[] = {ARTEL_DATA_ROLE_INPUT, ARTEL_DATA_ROLE_TARGET, ARTEL_DATA_ROLE_WEIGHT};
    char **paths;
    int count;
    ARTEL_TRY(artel__data_files_parse(&source->arena, source->target, &paths, &count));
    if (count < 1 || count > 3) {
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, source->target,
                           "write npy:X[,Y[,W]]; several inputs go into a npz file",
                           "npy takes one to three files, not %d", count);
    }
    npy_file *files = artel__arena_alloc(&source->arena, (size_t)count, sizeof *files);
    if (files == NULL) return ARTEL_ERROR_NO_MEMORY;
    source->state = files;
    ARTEL_TRY(artel__source_add_arrays(source, count));
    for (int i = 0; i < count; i++) {
        source->arrays[i].name = names[i];
        source->arrays[i].role = roles[i];
        ARTEL_TRY(open_file(source, paths[i], &files[i], &source->arrays[i]));
    }
    return ARTEL_OK;
}

static artel_status npy_load(artel__source *source, int index)
{
    const npy_file *file = &((const npy_file *)source->state)[index];
    artel__source_array *array = &source->arrays[index];
    const uint8_t *values = NULL;
    if (array->base != NULL) return ARTEL_OK;
    ARTEL_TRY(unfold(source, file, &values));
    return artel__npy_place(source, &file->header, values, array);
}

static artel_status npy_load_text(artel__source *source, int index, const artel__string **out)
{
    const npy_file *file = &((const npy_file *)source->state)[index];
    const uint8_t *values = NULL;
    ARTEL_TRY(unfold(source, file, &values));
    return artel__npy_strings(source, &file->header, values, out);
}

const artel__data_format artel__data_npy = {
    .name = "npy",
    .syntax = "npy:X[,Y[,W]]",
    .options = "scale shift",
    .open = npy_open,
    .load = npy_load,
    .load_text = npy_load_text,
};
