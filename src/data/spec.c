/* SPDX-License-Identifier: Apache-2.0 */
/* Data specifications: `format:target[#options][+format:target[#options]]...`.
 *
 * A `+` joins only where the name of a format and a colon follow, so that file names may contain one. Options are
 * separated by `&`, or by a comma where the name of an option and an equals sign follow (`scale=1/127.5,shift=-1`);
 * a piece without an equals sign is the list of array names. Options hold for all joined parts; giving one twice with
 * two values is an error, since half of the data would be read another way than the rest.
 *
 * File names may hold `#`, `&` and commas too: what exists by its very name is that file, and only the rest is syntax.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "data/data.h"
#include "data/source.h"

#define WHERE "specification" /* in messages about the text itself */

static const char *const interpolations[] = {"bilinear", "nearest", NULL};
static const char *const decodes[] = {"exact", "scaled", NULL};
static const char *const token_kinds[] = {"chars", "bytes", NULL};
static const char *const headers[] = {"auto", "yes", "no", NULL};

static const artel__option options_table[] = {
    {"scale", "multiply by A/B or a number, in float32", ARTEL__OPTION_STRING,
     offsetof(artel__data_options, scale_text), "null", 0, 0, NULL},
    {"shift", "add this number after scaling", ARTEL__OPTION_STRING, offsetof(artel__data_options, shift_text), "null",
     0, 0, NULL},
    {"size", "height and width of images, HxW", ARTEL__OPTION_STRING, offsetof(artel__data_options, size_text), "null",
     0, 0, NULL},
    {"channels", "channels of images: 1, 3 or 4", ARTEL__OPTION_INT, offsetof(artel__data_options, channels), "0", 0, 4,
     NULL},
    {"interpolation", "how images are resized", ARTEL__OPTION_ENUM, offsetof(artel__data_options, interpolation),
     "bilinear", 0, 0, interpolations},
    {"decode", "'scaled': a JPEG far larger than 'size' is decoded at 1/2, 1/4 or 1/8 of it", ARTEL__OPTION_ENUM,
     offsetof(artel__data_options, decode), "exact", 0, 0, decodes},
    {"label", "columns that are targets", ARTEL__OPTION_STRING, offsetof(artel__data_options, label), "null", 0, 0,
     NULL},
    {"columns", "columns that are inputs; all others are left out", ARTEL__OPTION_STRING,
     offsetof(artel__data_options, columns), "null", 0, 0, NULL},
    {"header", "whether the first line names the columns", ARTEL__OPTION_ENUM, offsetof(artel__data_options, header),
     "auto", 0, 0, headers},
    {"delimiter", "the character between fields, or 'tab'", ARTEL__OPTION_STRING,
     offsetof(artel__data_options, delimiter), "null", 0, 0, NULL},
    {"missing", "the number that stands for an empty field", ARTEL__OPTION_STRING,
     offsetof(artel__data_options, missing), "null", 0, 0, NULL},
    {"names", "arrays to use: inputs, outputs, sample_weight", ARTEL__OPTION_STRING,
     offsetof(artel__data_options, names), "null", 0, 0, NULL},
    {"stream", "read a table row by row instead of at once", ARTEL__OPTION_BOOL, offsetof(artel__data_options, stream),
     "false", 0, 0, NULL},
    {"types", "A:int,B:float: where the first records mislead", ARTEL__OPTION_STRING,
     offsetof(artel__data_options, types), "null", 0, 0, NULL},
    {"defaults", "A:0,B:1.5: what stands for empty fields of these columns", ARTEL__OPTION_STRING,
     offsetof(artel__data_options, defaults), "null", 0, 0, NULL},
    {"features", "a file that says what records hold", ARTEL__OPTION_STRING, offsetof(artel__data_options, features),
     "null", 0, 0, NULL},
    {"skip-errors", "leave out up to so many damaged records", ARTEL__OPTION_INT,
     offsetof(artel__data_options, skip_errors), "0", 0, 9e15, NULL},
    {"layout", "what a record of fixed size holds: y:uint8,x:float32:28x28", ARTEL__OPTION_STRING,
     offsetof(artel__data_options, layout), "null", 0, 0, NULL},
    {"file-header", "bytes in front of the first record of a file", ARTEL__OPTION_INT,
     offsetof(artel__data_options, file_header), "0", 0, 1e15, NULL},
    {"file-footer", "bytes behind the last record of a file", ARTEL__OPTION_INT,
     offsetof(artel__data_options, file_footer), "0", 0, 1e15, NULL},
    {"length", "tokens of a window of text, samples of a sound", ARTEL__OPTION_INT,
     offsetof(artel__data_options, length), "0", 0, 1 << 30, NULL},
    {"step", "tokens from one window to the next; length unless given", ARTEL__OPTION_INT,
     offsetof(artel__data_options, step), "0", 0, 1 << 30, NULL},
    {"cert-dir", "of a data service: folder with a certificate of its authority", ARTEL__OPTION_STRING,
     offsetof(artel__data_options, cert_dir), "null", 0, 0, NULL},
    {"cert-name", "whose certificate of cert-dir", ARTEL__OPTION_STRING, offsetof(artel__data_options, cert_name),
     "null", 0, 0, NULL},
    {"insecure-network", "ask a data service in plaintext beyond this machine", ARTEL__OPTION_BOOL,
     offsetof(artel__data_options, insecure_network), "false", 0, 0, NULL},
    {"wait", "seconds to wait for a data service, 0: 60", ARTEL__OPTION_INT, offsetof(artel__data_options, wait), "0",
     0, 1e8, NULL},
    {"consumers", "how many clients of a data service share its elements out, in rounds", ARTEL__OPTION_INT,
     offsetof(artel__data_options, consumers), "0", 0, 1 << 20, NULL},
    {"consumer", "which of them this is, from 0", ARTEL__OPTION_INT, offsetof(artel__data_options, consumer), "0", 0,
     1 << 20, NULL},
    {"tokens", "what text is cut into", ARTEL__OPTION_ENUM, offsetof(artel__data_options, tokens), "chars", 0, 0,
     token_kinds},
    {NULL, NULL, ARTEL__OPTION_BOOL, 0, NULL, 0, 0, NULL},
};

/* The format whose name and a colon stand at `text`, or NULL. */
static const artel__data_format *format_at(const char *text)
{
    for (int i = 0; artel__data_formats[i] != NULL; i++) {
        size_t length = strlen(artel__data_formats[i]->name);
        if (strncmp(text, artel__data_formats[i]->name, length) == 0 && text[length] == ':')
            return artel__data_formats[i];
    }
    return NULL;
}

static const char *skip_blanks(const char *text)
{
    while (*text == ' ') text++;
    return text;
}

/* The `+` that begins the next part, or the end of the text. */
static const char *part_end(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '+' && format_at(skip_blanks(text + 1)) != NULL) return text;
    }
    return text;
}

/* The end of the option at `text`: an ampersand, a comma before another option, or the end. */
static const char *option_end(const char *text)
{
    for (; *text != '\0' && *text != '&'; text++) {
        if (*text != ',') continue;
        char name[32];
        size_t length = strcspn(text + 1, "=,&");
        if (length == 0 || length >= sizeof name || text[1 + length] != '=') continue;
        memcpy(name, text + 1, length);
        name[length] = '\0';
        if (artel__options_find(options_table, name) != NULL) return text;
    }
    return text;
}

static bool lists_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length) {
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
    }
    return false;
}

/* A specification being read. */
typedef struct parser {
    artel__arena *arena;
    artel__data_spec *spec;
    const char *given[ARTEL__COUNT(options_table)]; /* the text of each option, or NULL */
} parser;

static artel_status set_option(parser *p, const artel__data_format *format, const char *name, const char *value)
{
    const artel__option *option = artel__options_find(options_table, name);
    if (option == NULL || !lists_word(format->options, name)) {
        const char *accepted = format->options[0] != '\0' ? format->options : "none";
        return artel__fail(p->arena->ctx, ARTEL_ERROR_INVALID, format->syntax, "leave it out or check its spelling",
                           "no option '%s' here (%s takes: %s)", name, format->name, accepted);
    }
    const char **former = &p->given[option - options_table];
    if (*former != NULL && strcmp(*former, value) != 0) {
        return artel__fail(p->arena->ctx, ARTEL_ERROR_INVALID, WHERE,
                           "options hold for all joined parts; give each once", "'%s' is given as '%s' and as '%s'",
                           name, *former, value);
    }
    *former = value;
    return artel__options_set(p->arena, options_table, &p->spec->options, format->syntax, name, value);
}

/* `text` is writable and ends where the options of this part end. */
static artel_status parse_options(parser *p, const artel__data_format *format, char *text)
{
    while (*text != '\0') {
        char *end = text + (option_end(text) - text);
        bool last = *end == '\0';
        *end = '\0';
        char *equals = strchr(text, '=');
        if (equals != NULL) *equals = '\0';
        ARTEL_TRY(equals != NULL ? set_option(p, format, text, equals + 1) : set_option(p, format, "names", text));
        text = last ? end : end + 1;
    }
    return ARTEL_OK;
}

#define FROM_HDF5                                                                                         \
    "python -c 'import h5py, numpy as n; f = h5py.File(\"in.h5\"); n.savez(\"out.npz\", x=f[\"x\"][()], " \
    "y=f[\"y\"][()])', "                                                                                  \
    "then npz:out.npz"
#define FROM_PICKLE                                                                                            \
    "load it in Python, where it may run code, and save its arrays: numpy.savez(\"out.npz\", x=x, y=y); then " \
    "npz:out.npz"

/* Formats that are not read, and how to convert them. */
static const struct foreign {
    const char *name, *ending, *advice;
} foreign[] = {
    {"parquet", ".parquet",
     "python -c 'import pandas as p; p.read_parquet(\"in.parquet\").to_csv(\"out.csv\", index=False)', then "
     "csv:out.csv"},
    {"feather", ".feather",
     "python -c 'import pandas as p; p.read_feather(\"in.feather\").to_csv(\"out.csv\", index=False)', then "
     "csv:out.csv"},
    {"orc", ".orc",
     "python -c 'import pandas as p; p.read_orc(\"in.orc\").to_csv(\"out.csv\", index=False)', then csv:out.csv"},
    {"avro", ".avro", "fastavro in.avro > out.jsonl, then jsonl:out.jsonl"},
    {"arrow", ".arrow",
     "python -c 'import pandas as p; p.read_feather(\"in.arrow\").to_csv(\"out.csv\", index=False)', then csv:out.csv"},
    {"hdf5", ".hdf5", FROM_HDF5},
    {"h5", ".he5", FROM_HDF5},
    {"pickle", ".pickle", FROM_PICKLE},
    {"pkl", ".pkl", FROM_PICKLE},
    {"zip", ".zip",
     "unpack it: unzip FILE; then images:DIR, csv:GLOB or what it holds (archives of numpy.savez are npz:FILE)"},
    {"sqlite", ".sqlite", "sqlite3 -header -csv FILE 'select * from TABLE' > out.csv, then csv:out.csv"},
    {"torch", ".pt",
     "load it with torch.load, save its tensors with numpy.savez(FILE, x=x.numpy(), y=y.numpy()), then npz:FILE"},
    {"recordio", ".rec", "write its records with tf.io.TFRecordWriter, then tfrecord:FILE"},
    {"lmdb", ".mdb", "write its values with tf.io.TFRecordWriter, then tfrecord:FILE"},
    {"webdataset", ".tar",
     "unpack it into a folder for each class, then images:DIR; or write records with tf.io.TFRecordWriter"},
    {"tar", ".tgz", "unpack it: tar xf FILE; then images:DIR, csv:GLOB or what it holds"},
    {"tar", ".tar.gz", "unpack it: tar xf FILE; then images:DIR, csv:GLOB or what it holds"},
    {"mat", ".mat", "load it with scipy.io.loadmat and save its arrays with numpy.savez, then npz:FILE"},
    {"xlsx", ".xlsx", "save it as CSV, then csv:FILE"},
    {"xls", ".xls", "save it as CSV, then csv:FILE"},
};

artel_status artel__data_refuse_foreign(artel_context *ctx, const char *text)
{
    for (size_t i = 0; i < ARTEL__COUNT(foreign); i++) {
        size_t length = strlen(foreign[i].name);
        bool named = strncmp(text, foreign[i].name, length) == 0 && text[length] == ':';
        if (named || artel__ends_with(text, foreign[i].ending))
            return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, text, foreign[i].advice, "files of %s are not read",
                               foreign[i].name);
    }
    return ARTEL_OK;
}

static artel_status unknown_format(artel_context *ctx, const char *text)
{
    ARTEL_TRY(artel__data_refuse_foreign(ctx, text));
    char names[256] = "";
    for (int i = 0; artel__data_formats[i] != NULL; i++) {
        if (strcmp(artel__data_formats[i]->name, text) == 0)
            return artel__fail(ctx, ARTEL_ERROR_INVALID, text,
                               "docs/data.md says what stands there; synthetic:1000 makes rows",
                               "nothing stands behind the format (expected %s:WHAT)", text);
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "", artel__data_formats[i]->name);
    }
    return artel__fail(ctx, ARTEL_ERROR_INVALID, text, "write FORMAT:WHAT, for example npz:train.npz",
                       "no known format (%s) before a colon", names);
}

/* The end of the file name at `text`: the farthest comma or end up to which a file exists, else the next comma or end.
 */
static char *file_end(char *text)
{
    char *end = NULL;
    for (char *at = text; end == NULL || *at != '\0';) {
        at += strcspn(at, ",");
        char kept = *at;
        *at = '\0';
        bool exists = artel__file_exists(text);
        *at = kept;
        if (exists || end == NULL) end = at;
        if (kept != '\0') at++;
    }
    return end;
}

/* Whether `text` is the name of a file or folder, or a list of such names. */
static bool names_files(char *text)
{
    for (;;) {
        char *end = file_end(text), kept = *end;
        *end = '\0';
        bool exists = artel__file_exists(text);
        *end = kept;
        if (!exists || kept == '\0') return exists;
        text = end + 1;
    }
}

/* The `#` where options begin, or NULL: the last one behind names of files that exist, else the first. */
static char *options_begin(char *target)
{
    if (names_files(target)) return NULL;
    for (char *hash = target + strlen(target); hash > target; hash--) {
        if (*hash != '#') continue;
        *hash = '\0';
        bool files = names_files(target);
        *hash = '#';
        if (files) return hash;
    }
    return strchr(target, '#');
}

static artel_status parse_part(parser *p, char *text)
{
    artel_context *ctx = p->arena->ctx;
    artel__data_spec *spec = p->spec;
    artel__data_part *part = &spec->parts[spec->part_count];
    part->format = format_at(text);
    if (part->format == NULL) return unknown_format(ctx, text);
    if (spec->part_count > 0 && part->format != spec->parts[0].format) {
        return artel__fail(ctx, ARTEL_ERROR_INVALID, text, "join specifications of one format",
                           "%s cannot be joined to %s", part->format->name, spec->parts[0].format->name);
    }
    char *target = text + strlen(part->format->name) + 1;
    char *hash = options_begin(target);
    if (hash != NULL) {
        *hash = '\0';
        ARTEL_TRY(parse_options(p, part->format, hash + 1));
    }
    if (*target == '\0') {
        return artel__fail(ctx, ARTEL_ERROR_INVALID, part->format->syntax, "say what to read after the colon",
                           "nothing follows '%s:'", part->format->name);
    }
    part->target = target;
    spec->part_count++;
    return ARTEL_OK;
}

static bool parse_float(const char *text, float *out)
{
    double value;
    if (!artel__parse_double(text, &value) || !(value - value == 0)) return false;
    *out = (float)value;
    return true;
}

/* "A/B" or "A". */
static artel_status parse_scale(artel_context *ctx, artel__data_options *options)
{
    char text[64];
    options->scale_by = options->scale_over = 1;
    if (options->scale_text != NULL) {
        bool good = strlen(options->scale_text) < sizeof text;
        if (good) strcpy(text, options->scale_text);
        char *slash = good ? strchr(text, '/') : NULL;
        if (slash != NULL) {
            *slash = '\0';
            good = parse_float(slash + 1, &options->scale_over) && options->scale_over != 0;
        }
        if (!good || !parse_float(text, &options->scale_by)) {
            return artel__fail(ctx, ARTEL_ERROR_INVALID, "scale", "write scale=1/255",
                               "'%s' is not a number or a quotient of two", options->scale_text);
        }
        if (options->scale_by == 0)
            return artel__fail(ctx, ARTEL_ERROR_INVALID, "scale", "write scale=1/255, or leave it out",
                               "%s makes all values the same", options->scale_text);
        options->has_scale = true;
    }
    if (options->shift_text != NULL) {
        if (!parse_float(options->shift_text, &options->shift)) {
            return artel__fail(ctx, ARTEL_ERROR_INVALID, "shift", "write shift=-1", "'%s' is not a number",
                               options->shift_text);
        }
        options->has_shift = true;
    }
    return ARTEL_OK;
}

static artel_status parse_size(artel_context *ctx, artel__data_options *options)
{
    char text[64];
    if (options->size_text == NULL) return ARTEL_OK;
    char *cross = NULL;
    if (strlen(options->size_text) < sizeof text) {
        strcpy(text, options->size_text);
        cross = strchr(text, 'x');
    }
    if (cross != NULL) *cross = '\0';
    if (cross == NULL || !artel__parse_int64(text, &options->height) ||
        !artel__parse_int64(cross + 1, &options->width) || options->height < 1 || options->width < 1 ||
        options->height > 1 << 15 || options->width > 1 << 15) {
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "size", "write size=224x224 (height, width)",
                           "'%s' is not HxW with extents of 1 to %d", options->size_text, 1 << 15);
    }
    return ARTEL_OK;
}

/* Sounds have two, images do not. */
static artel_status check_channels(artel_context *ctx, const artel__data_spec *spec)
{
    if (spec->options.channels != 2 || spec->parts[0].format == &artel__data_audio) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, "channels",
                       "write channels=1 (grey), channels=3 (colour) or channels=4 (with alpha)",
                       "images have 1, 3 or 4 channels (found 2)");
}

artel_status artel__data_spec_parse(artel__arena *arena, const char *text, artel__data_spec *out)
{
    parser p = {.arena = arena, .spec = out};
    int parts = 1;
    for (const char *end = part_end(text); *end != '\0'; end = part_end(end + 1)) parts++;
    memset(out, 0, sizeof *out);
    ARTEL_TRY(artel__options_default(arena, options_table, &out->options));
    char *copy = artel__arena_strdup(arena, text);
    out->parts = artel__arena_alloc(arena, (size_t)parts, sizeof *out->parts);
    if (copy == NULL || out->parts == NULL) return ARTEL_ERROR_NO_MEMORY;
    while (out->part_count < parts) {
        char *end = copy + (part_end(copy) - copy);
        char *trimmed = end;
        while (trimmed > copy && trimmed[-1] == ' ') trimmed--;
        bool last = *end == '\0';
        *trimmed = '\0';
        ARTEL_TRY(parse_part(&p, copy));
        copy = last ? end : copy + (skip_blanks(end + 1) - copy);
    }
    ARTEL_TRY(parse_scale(arena->ctx, &out->options));
    ARTEL_TRY(parse_size(arena->ctx, &out->options));
    return check_channels(arena->ctx, out);
}

static char *name_end(char *text)
{
    return text + strcspn(text, ",");
}

static artel_status parse_list(artel__arena *arena, const char *text, char *(*item_end)(char *), char ***out,
                               int *out_count)
{
    int most = 1, count = 0;
    for (const char *at = text; *at != '\0'; at++) most += *at == ',';
    char **items = artel__arena_alloc(arena, (size_t)most, sizeof *items);
    char *copy = artel__arena_strdup(arena, text);
    if (items == NULL || copy == NULL) return ARTEL_ERROR_NO_MEMORY;
    for (bool more = true; more;) {
        items[count] = copy;
        copy = item_end(copy);
        more = *copy != '\0';
        if (more) *copy++ = '\0';
        if (items[count++][0] == '\0') {
            return artel__fail(arena->ctx, ARTEL_ERROR_INVALID, text, "separate names by single commas",
                               "an empty name stands in the list");
        }
    }
    *out = items;
    *out_count = count;
    return ARTEL_OK;
}

artel_status artel__data_list_parse(artel__arena *arena, const char *text, char ***out, int *out_count)
{
    return parse_list(arena, text, name_end, out, out_count);
}

artel_status artel__data_files_parse(artel__arena *arena, const char *text, char ***out, int *out_count)
{
    return parse_list(arena, text, file_end, out, out_count);
}
