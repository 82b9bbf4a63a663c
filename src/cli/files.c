/* SPDX-License-Identifier: Apache-2.0 */
/* Files named on the command line, looked at before work begins: a run of hours must not end in a name that cannot be
 * written, and a name that is almost right is answered with the right one. */
#include <string.h>
#include <sys/stat.h>

#include "artel/data.h"
#include "artel/extend.h"
#include "base/budget.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "data/remote.h"
#include "data/source.h"
#include "observe/stream.h"

artel_status artel__cli_check_target(artel__invocation *call, const char *path)
{
    char buffer[4096];
    const char *folder = artel__folder_of(path, buffer, sizeof buffer);
    ARTEL_TRY(artel__check_target(call->ctx, path));
    if (folder && !artel__is_directory(folder))
        return artel__fail(call->ctx, ARTEL_ERROR_NOT_FOUND, path, "create the directory first",
                           "the directory %s does not exist", folder);
    return artel__probe_output(call->ctx, path);
}

artel_status artel__cli_check_apart(artel__invocation *call, const char *option, const char *path, const char *data)
{
    bool reads = false;
    if (data) ARTEL_TRY(artel__data_reads(call->ctx, data, path, &reads));
    if (!reads) return ARTEL_OK;
    return artel__fail(call->ctx, ARTEL_ERROR_INVALID, path, "name another file to write",
                       "%s would overwrite a file that the data is read from", option);
}

/* Of a file that need not be there yet. */
static bool is_same_file(const char *a, const char *b)
{
    char buffers[2][4096];
    struct stat one, two;
    if (stat(a, &one) == 0 && stat(b, &two) == 0) return one.st_dev == two.st_dev && one.st_ino == two.st_ino;
    const char *slash_a = strrchr(a, '/'), *slash_b = strrchr(b, '/');
    if (strcmp(slash_a ? slash_a + 1 : a, slash_b ? slash_b + 1 : b) != 0) return false;
    const char *folder_a = artel__folder_of(a, buffers[0], sizeof buffers[0]);
    const char *folder_b = artel__folder_of(b, buffers[1], sizeof buffers[1]);
    return folder_a && folder_b && stat(folder_a, &one) == 0 && stat(folder_b, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

artel_status artel__cli_check_two(artel__invocation *call, const char *option, const char *path, const char *other,
                                  const char *other_path)
{
    struct stat info;
    bool special = path && stat(path, &info) == 0 && !S_ISREG(info.st_mode); /* /dev/null takes everything */
    if (!path || !other_path || special || !is_same_file(path, other_path)) return ARTEL_OK;
    return artel__fail(call->ctx, ARTEL_ERROR_INVALID, path, "name another file to write", "%s would overwrite %s%s",
                       option, other[0] == '-' ? "what is written by " : "", other);
}

artel_status artel__cli_check_log(artel__invocation *call, const char *path)
{
    struct stat info;
    artel__stream stream;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return artel__cli_check_target(call, path);
    ARTEL_TRY(artel__stream_open(call->ctx, path, ARTEL__STREAM_APPEND, &stream));
    return artel__stream_close(&stream);
}

bool artel__cli_is_specification(const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789");
    return length > 1 && text[length] == ':' && !artel__file_exists(text) && !artel__is_directory(text);
}

/* The name in the folder of `path` that is nearest to its own, or NULL. Lives in the invocation's arena. */
static const char *nearest_file(artel__invocation *call, const char *path)
{
    char buffer[4096];
    artel__paths names;
    const char *slash = strrchr(path, '/');
    const char *folder = artel__folder_of(path, buffer, sizeof buffer);
    if (!folder || artel__list_directory(call->ctx, folder, &names) < 0) return NULL;
    const char **list = artel__arena_alloc(&call->arena, names.count + 1, sizeof *list);
    const char *near = NULL;
    for (size_t i = 0; list && i < names.count; i++) list[i] = names.items[i];
    const char *name = slash ? slash + 1 : path;
    if (list) near = artel__nearest_name(name, list);
    if (near && strcmp(near, name) == 0) near = NULL; /* it is there, but leads nowhere */
    if (near)
        near = slash ? artel__arena_printf(&call->arena, "%.*s%s", (int)(slash - path) + 1, path, near)
                     : artel__arena_strdup(&call->arena, near);
    artel__paths_fini(&names);
    return near;
}

/* What looks like another source than a file; `data` may also be fetched. */
static artel_status check_is_file(artel__invocation *call, const char *path, bool data)
{
    static const char *const schemes[] = {"http://", "https://", "ftp://", "s3://", "gs://", "hdfs://", "file://"};
    if (data && artel__is_remote(path)) return ARTEL_OK;
    if (strcmp(path, "-") == 0 && !artel__file_exists(path))
        return artel__fail(call->ctx, ARTEL_ERROR_UNSUPPORTED, "-", "write it to a file and name that",
                           "standard input cannot be read: files are read in any order, and more than once");
    for (size_t i = 0; i < ARTEL__COUNT(schemes); i++) {
        if (artel__starts_with(path, schemes[i]))
            return artel__fail(call->ctx, ARTEL_ERROR_UNSUPPORTED, path,
                               "fetch it first (curl -O), or mount it, and name the file",
                               data ? "such addresses are not read, only files, http://, https:// and s3://"
                                    : "addresses are not read, only files");
    }
    return ARTEL_OK;
}

artel_status artel__cli_check_source(artel__invocation *call, const char *path)
{
    ARTEL_TRY(check_is_file(call, path, false));
    if (artel__cli_is_specification(path))
        return artel__fail(call->ctx, ARTEL_ERROR_INVALID, path, "name the model's file here, and data with --data",
                           "this names data (found FORMAT:WHAT, expected a file)");
    if (artel__file_exists(path) || artel__is_directory(path)) return ARTEL_OK;
    const char *index =
        artel__arena_printf(&call->arena, "%s.index", path); /* of a TensorFlow checkpoint that begins so */
    if (index && artel__file_exists(index)) return ARTEL_OK;
    const char *near = nearest_file(call, path);
    artel__operation_begin(call->ctx);
    if (!near) return ARTEL_OK; /* whoever opens it says why it cannot */
    char advice[4200];
    snprintf(advice, sizeof advice, "did you mean %s?", near);
    return artel__fail(call->ctx, ARTEL_ERROR_NOT_FOUND, path, advice, "there is no such file");
}

/* Formats whose target is one file or folder by its own name; others have patterns, shards, numbers. */
static bool names_a_file(const char *text)
{
    static const char *const formats[] = {"npz:", "npy:", "csv:", "idx:", "jsonl:", "text:", "images:", "audio:"};
    for (size_t i = 0; i < ARTEL__COUNT(formats); i++) {
        if (artel__starts_with(text, formats[i])) return true;
    }
    return false;
}

/* Settings behind another sign than #, as addresses and lists have them: csv:rows.csv,label=y. */
static artel_status check_settings(artel__invocation *call, const char *text)
{
    const char *path = artel__cli_is_specification(text) ? strchr(text, ':') + 1 : text;
    size_t length = strcspn(path, ",?&;");
    const char *file = artel__arena_printf(&call->arena, "%.*s", (int)length, path);
    bool meant = names_a_file(text) && path[length] && strchr(path + length, '=') && !strchr(path, '#');
    if (!meant || !file || artel__file_exists(path) || !artel__file_exists(file)) return ARTEL_OK;
    char advice[4400];
    snprintf(advice, sizeof advice, "write '%.*s#%s'; docs/data.md lists them", (int)(path + length - text), text,
             path + length + 1);
    return artel__fail(call->ctx, ARTEL_ERROR_INVALID, text, advice, "settings of data stand behind #");
}

/* A pattern where one file is read by its name. */
static artel_status check_pattern(artel__invocation *call, const char *text)
{
    const char *path = strchr(text, ':') ? strchr(text, ':') + 1 : text;
    bool one = artel__starts_with(text, "npz:") || artel__starts_with(text, "npy:") || artel__starts_with(text, "idx:");
    if (!one || !strpbrk(path, "*?") || strpbrk(path, "#,+") || artel__is_remote(path) || artel__file_exists(path))
        return ARTEL_OK;
    return artel__fail(call->ctx, ARTEL_ERROR_UNSUPPORTED, text,
                       "name each file, several with + in between: npz:a.npz+npz:b.npz",
                       "patterns are no names of such files");
}

/* A specification of one file that is not there: what lies near it. Whatever else there is to say is said by who opens
 * it. */
static artel_status check_target(artel__invocation *call, const char *text)
{
    ARTEL_TRY(check_settings(call, text));
    ARTEL_TRY(check_pattern(call, text));
    if (!artel__cli_is_specification(text) || strpbrk(text, "*?[,+#")) return ARTEL_OK;
    const char *path = strchr(text, ':') + 1;
    ARTEL_TRY(check_is_file(call, path, true));
    if (!names_a_file(text) || artel__is_remote(path) || artel__file_exists(path) || artel__is_directory(path))
        return ARTEL_OK;
    const char *near = nearest_file(call, path);
    artel__operation_begin(call->ctx);
    if (!near) return ARTEL_OK;
    char advice[4200];
    snprintf(advice, sizeof advice, "did you mean %.*s:%s?", (int)(path - text) - 1, text, near);
    return artel__fail(call->ctx, ARTEL_ERROR_NOT_FOUND, path, advice, "there is no such file");
}

/* How files are read whose names end so; NULL: as models. */
static const struct {
    const char *ending, *form;
} forms[] = {{".npz", "npz:%s"},
             {".npy", "npy:X.npy,%s"},
             {".csv", "csv:%s#label=COLUMN"},
             {".tfrecord", "tfrecord:%s"},
             {".jsonl", "jsonl:%s#label=NAME"},
             {".txt", "text:%s#length=100"},
             {".keras", NULL},
             {".h5", NULL},
             {".json", NULL}};

/* Whether a file of JSON is no pipeline: those have a source, stages or a join, and models a class. */
static bool may_be_model(artel__invocation *call, const char *path)
{
    static const char *const keys[] = {"from", "stages", "concatenate", "zip", "interleave", "sample"};
    json_t *root = NULL;
    if (artel__json_load_file(call->ctx, path, &root) < 0) artel__operation_begin(call->ctx);
    bool pipeline = false;
    for (size_t i = 0; i < ARTEL__COUNT(keys); i++) pipeline = pipeline || json_object_get(root, keys[i]);
    pipeline = pipeline && !json_object_get(root, "class_name");
    json_decref(root);
    return !pipeline;
}

artel_status artel__cli_check_bare_data(artel__invocation *call, const char *option, const char *path, bool models)
{
    for (size_t i = 0; i < ARTEL__COUNT(forms); i++) {
        if ((models || forms[i].form) && artel__ends_with(path, forms[i].ending))
            return artel__cli_check_data(call, option, path);
    }
    return ARTEL_OK;
}

artel_status artel__cli_check_data(artel__invocation *call, const char *option, const char *text)
{
    bool folder = artel__is_directory(text);
    double part;
    ARTEL_TRY(check_is_file(call, text, true));
    if (strcmp(option, "--validation") == 0 && artel__parse_double(text, &part) && part > 0 && part < 1)
        return artel__fail(call->ctx, ARTEL_ERROR_INVALID, text, "a part of the training data is --validation-split",
                           "this is a number (found after --validation, expected data)");
    if (artel__is_remote(text))
        return artel__fail(call->ctx, ARTEL_ERROR_INVALID, text,
                           "write FORMAT: in front of the address, npz:https://... for example",
                           "the format is missing (found an address, expected FORMAT:WHAT)");
    if (!folder && !artel__file_exists(text)) return check_target(call, text);
    if (!folder) ARTEL_TRY(artel__data_refuse_foreign(call->ctx, text));
    char form[4200], advice[4400];
    snprintf(form, sizeof form, folder ? "images:%s" : "FORMAT:%s", text);
    for (size_t i = 0; i < ARTEL__COUNT(forms) && !folder; i++) {
        if (!artel__ends_with(text, forms[i].ending)) continue;
        const char *shape = forms[i].form;
        if (!shape && artel__ends_with(text, ".json") && !may_be_model(call, text)) shape = "pipeline:%s";
        if (!shape)
            return artel__fail(call->ctx, ARTEL_ERROR_INVALID, text,
                               "name the model first and data with --data FORMAT:WHAT; arrays in HDF5: write them with "
                               "numpy.savez, then npz:FILE",
                               "this looks like a model (found after %s, expected data)", option);
        snprintf(form, sizeof form, "%.*s%s%s", (int)(strstr(shape, "%s") - shape), shape, text,
                 strstr(shape, "%s") + 2);
    }
    snprintf(advice, sizeof advice, "write %s '%s'; docs/data.md lists the formats", option, form);
    return artel__fail(call->ctx, ARTEL_ERROR_INVALID, text, advice,
                       "the format is missing (found a %s, expected FORMAT:WHAT)", folder ? "directory" : "file");
}

artel_status artel__cli_set_data_memory(artel__invocation *call, const char *text)
{
    uint64_t bytes;
    if (!artel__budget_parse(text, &bytes))
        return artel__fail(call->ctx, ARTEL_ERROR_INVALID, "--data-memory",
                           "write bytes or --data-memory 512M, 4G, auto", "'%s' is no amount of memory", text);
    return artel_data_set_memory(call->ctx, bytes);
}

artel_status artel__cli_check_skips(artel__invocation *call, const char *data, int64_t skip_errors, bool skips)
{
    if (skip_errors == 0 || skips) return ARTEL_OK;
    return artel__fail(call->ctx, ARTEL_ERROR_INVALID, data, "leave --skip-errors out",
                       "no rows of such data can be left out: it is used as it lies in memory or in its files");
}

static artel_status load_extensions(artel__invocation *call)
{
    const artel__option *option = artel__options_find(call->command->options, "extensions");
    const char *list = option ? *(const char *const *)((const char *)call->options + option->offset) : NULL;
    while (list && *list) {
        size_t length = strcspn(list, ",");
        char *path = artel__arena_printf(&call->arena, "%.*s", (int)length, list);
        if (!path) return ARTEL_ERROR_NO_MEMORY;
        ARTEL_TRY(artel_context_load_extension(call->ctx, path));
        list += length + (list[length] == ',');
    }
    return ARTEL_OK;
}

artel_status artel__cli_expect_model(artel__invocation *call, const char *path)
{
    ARTEL_TRY(artel__cli_check_source(call, path));
    return load_extensions(call);
}

artel_status artel__cli_load_model(artel__invocation *call, const char *path, artel_model **out)
{
    ARTEL_TRY(artel__cli_expect_model(call, path));
    return artel_model_load(call->ctx, path, out);
}

artel_status artel__cli_load_with_policy(artel__invocation *call, const char *path, const char *policy,
                                         artel_model **out)
{
    if (!policy) return artel__cli_load_model(call, path, out);
    ARTEL_TRY(artel__cli_expect_model(call, path));
    return artel_model_load_with_policy(call->ctx, path, policy, out);
}
