/* SPDX-License-Identifier: Apache-2.0 */
/* Which files a specification reads: asked before something is written, so that nothing overwrites its own data.
 *
 * Nothing is opened but pipelines' files, whose sources are asked in turn, and folders; files are told apart by device
 * and inode, so links lead to what they name, and images that lines of JSON name by where they really lie. What cannot
 * be read is read by nobody: whoever opens the data says what is wrong with it.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "data/folders.h"
#include "data/remote.h"
#include "data/source.h"

#define DEEPEST 40        /* of what a pipeline's file nests */
#define DEEPEST_FOLDER 17 /* of a folder of classes, with what is below it */

typedef struct question {
    artel_context *ctx;
    artel__arena *arena;
    struct stat file;
    char path[PATH_MAX]; /* where it really lies */
    int depth;
    artel_status status; /* NO_MEMORY: there is no answer */
} question;

/* Whether it went well. What cannot be read is read by nobody, and whoever opens the data says what is wrong with it:
 * nothing of it stays in the context, where a later failure would be taken for it. */
static bool asked(question *q, artel_status status)
{
    if (status == ARTEL_ERROR_NO_MEMORY)
        q->status = status;
    else if (status < 0 && q->status == ARTEL_OK)
        artel__operation_begin(q->ctx);
    return status >= 0;
}

static bool is_it(const question *q, const char *path)
{
    struct stat other;
    return stat(path, &other) == 0 && other.st_dev == q->file.st_dev && other.st_ino == q->file.st_ino;
}

/* `pattern`: the name of a file, or one with stars. */
static bool takes_in(question *q, const char *pattern)
{
    artel__paths found;
    bool same = is_it(q, pattern);
    if (same || artel__is_remote(pattern) || !asked(q, artel__glob(q->ctx, pattern, &found))) return same;
    for (size_t i = 0; i < found.count && !same; i++) same = is_it(q, found.items[i]);
    artel__paths_fini(&found);
    return same;
}

static bool ends_in(const char *name, const char *const *endings)
{
    const char *dot = strrchr(name, '.');
    for (int i = 0; dot && endings[i]; i++) {
        if (strcasecmp(dot, endings[i]) == 0) return true;
    }
    return false;
}

/* Somewhere below the folder, with one of those endings. */
static bool lies_in(const question *q, const char *folder, const char *const *endings)
{
    char whole[PATH_MAX];
    if (!ends_in(q->path, endings) || !artel__is_directory(folder) || !realpath(folder, whole)) return false;
    size_t length = strlen(whole);
    return strncmp(q->path, whole, length) == 0 && (length == 1 || q->path[length] == '/');
}

/* Whether a file of the folder, or of those below it, is it by a name with one of those endings. `depth`: folders above
 * this one; links that lead back up end where the listing of the data ends, too. */
static bool holds(question *q, const char *folder, const char *const *endings, int depth)
{
    artel__paths found;
    char path[PATH_MAX];
    bool same = false;
    if (depth > DEEPEST_FOLDER || !artel__is_directory(folder)) return false;
    if (!asked(q, artel__list_directory(q->ctx, folder, &found))) return false;
    for (size_t i = 0; i < found.count && !same; i++) {
        struct stat other;
        int length = snprintf(path, sizeof path, "%s/%s", folder, found.items[i]);
        if (length >= (int)sizeof path || stat(path, &other) != 0) continue;
        if (S_ISDIR(other.st_mode))
            same = holds(q, path, endings, depth + 1);
        else
            same = other.st_dev == q->file.st_dev && other.st_ino == q->file.st_ino && ends_in(path, endings);
    }
    artel__paths_fini(&found);
    return same;
}

/* A specification of features, and the vocabularies that it names. */
static bool features_read(question *q, const char *path)
{
    json_t *value, *feature;
    const char *name;
    bool found = is_it(q, path);
    if (found || artel__is_remote(path) || !asked(q, artel__data_load_json(q->ctx, path, true, &value))) return found;
    json_object_foreach(value, name, feature)
    {
        const char *words = json_string_value(json_object_get(feature, "vocabulary"));
        found = found || (words && is_it(q, words));
    }
    json_decref(value);
    return found;
}

/* NAME, NAME@16, NAME@*: its shards, and what lies beside them. */
static bool is_beside(question *q, const char *name)
{
    const char *at = strrchr(name, '@');
    size_t length = at && at[1 + strspn(at + 1, "0123456789*")] == '\0' ? (size_t)(at - name) : strlen(name);
    const char *shards = artel__arena_printf(q->arena, "%.*s-[0-9]*-of-[0-9]*", (int)length, name);
    const char *features = artel__arena_printf(q->arena, "%.*s.features.json", (int)length, name);
    bool whole = artel__file_exists(name); /* then it is no set */
    return shards && features && ((!whole && takes_in(q, shards)) || features_read(q, features));
}

static bool reads(question *q, const char *specification);

/* The files of a stage: of `cache`, `function` and `snapshot`, and the words of `lookup`. */
static bool keeps(question *q, const json_t *stage)
{
    static const char *const kept[] = {".snapshot", NULL};
    const char *file = json_string_value(json_object_get(stage, "file")),
               *folder = json_string_value(json_object_get(stage, "folder"));
    const char *keys = json_string_value(json_object_get(stage, "keys"));
    return (file && is_it(q, file)) || (keys && is_it(q, keys)) || (folder && holds(q, folder, kept, DEEPEST_FOLDER));
}

static bool pipeline_reads(question *q, const json_t *value)
{
    const char *name;
    json_t *member;
    size_t i;
    bool found = false;
    if (q->depth == DEEPEST) return false;
    q->depth++;
    if (json_is_string(value)) found = reads(q, json_string_value(value));
    if (json_object_get(value, "stage")) found = keeps(q, value);
    json_array_foreach(value, i, member) found = found || pipeline_reads(q, member);
    if (!json_object_get(value, "stage"))
        json_object_foreach((json_t *)(uintptr_t)value, name, member) found = found || pipeline_reads(q, member);
    q->depth--;
    return found;
}

static bool pipeline_file_reads(question *q, const char *path)
{
    json_t *value;
    if (artel__is_remote(path) || !asked(q, artel__data_load_json(q->ctx, path, false, &value))) return false;
    bool found = pipeline_reads(q, value);
    json_decref(value);
    return found;
}

static bool part_reads(question *q, const artel__data_part *part, const artel__data_options *options)
{
    char **files;
    int count;
    bool found = options->features && features_read(q, options->features);
    bool lines = part->format == &artel__data_jsonl; /* of which some name images */
    bool images = part->format == &artel__data_images, audio = part->format == &artel__data_audio;
    const char *const *endings = audio ? artel__sound_endings : artel__image_endings;
    if (!asked(q, artel__data_files_parse(q->arena, part->target, &files, &count))) return found;
    for (int i = 0; i < count && !found; i++) {
        char folder[4096];
        found = takes_in(q, files[i]) || is_beside(q, files[i]);
        if (!found && (images || audio)) found = holds(q, files[i], endings, 0);
        if (!found && lines && artel__folder_of(files[i], folder, sizeof folder)) found = lies_in(q, folder, endings);
        if (!found && part->format == &artel__data_pipeline) found = pipeline_file_reads(q, files[i]);
    }
    return found;
}

static bool reads(question *q, const char *specification)
{
    artel__data_spec spec;
    bool found = false;
    if (!asked(q, artel__data_spec_parse(q->arena, specification, &spec))) return false;
    for (int p = 0; p < spec.part_count && !found; p++) found = part_reads(q, &spec.parts[p], &spec.options);
    return found;
}

artel_status artel__data_reads(artel_context *ctx, const char *specification, const char *path, bool *out)
{
    artel__arena arena;
    question q = {.ctx = ctx, .arena = &arena};
    *out = false;
    if (stat(path, &q.file) != 0 || !S_ISREG(q.file.st_mode)) return ARTEL_OK;
    artel__arena_init(&arena, ctx);
    *out = realpath(path, q.path) && reads(&q, specification);
    asked(&q, artel__arena_status(&arena));
    artel__arena_fini(&arena);
    if (!*out) return q.status;
    artel__operation_begin(ctx); /* the answer is there, whatever else could not be asked */
    return ARTEL_OK;
}
