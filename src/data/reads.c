/* SPDX-License-Identifier: Apache-2.0 */
/* Which files a specification reads: asked before something is written, so that nothing overwrites its own data.
 *
 * Nothing is opened but pipelines' files, whose sources are asked in turn; files are told apart by device and inode,
 * those of folders by where they really lie. What cannot be read is read by nobody: whoever opens the data says what is
 * wrong with it.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "data/folders.h"
#include "data/remote.h"
#include "data/source.h"

#define DEEPEST 40 /* of what a pipeline's file nests */

typedef struct question {
    artel_context *ctx;
    artel__arena *arena;
    struct stat file;
    char path[PATH_MAX]; /* where it really lies */
    int depth;
} question;

static bool is_it(const question *q, const char *path)
{
    struct stat other;
    return stat(path, &other) == 0 && other.st_dev == q->file.st_dev && other.st_ino == q->file.st_ino;
}

/* `pattern`: the name of a file, or one with stars. */
static bool takes_in(const question *q, const char *pattern)
{
    artel__paths found;
    bool same = is_it(q, pattern);
    if (same || artel__is_remote(pattern) || artel__glob(q->ctx, pattern, &found) < 0) return same;
    for (size_t i = 0; i < found.count && !same; i++) same = is_it(q, found.items[i]);
    artel__paths_fini(&found);
    return same;
}

/* Somewhere below the folder, with one of those endings. */
static bool lies_in(const question *q, const char *folder, const char *const *endings)
{
    char whole[PATH_MAX];
    const char *dot = strrchr(q->path, '.');
    bool ends = false;
    for (int i = 0; dot && endings && endings[i] && !ends; i++) ends = strcasecmp(dot, endings[i]) == 0;
    if (!ends || !artel__is_directory(folder) || !realpath(folder, whole)) return false;
    size_t length = strlen(whole);
    bool inside = strncmp(q->path, whole, length) == 0 && (length == 1 || q->path[length] == '/');
    return inside;
}

/* NAME, NAME@16, NAME@*: its shards, and what lies beside them. */
static bool is_beside(const question *q, const char *name)
{
    const char *at = strrchr(name, '@');
    size_t length = at && at[1 + strspn(at + 1, "0123456789*")] == '\0' ? (size_t)(at - name) : strlen(name);
    const char *shards = artel__arena_printf(q->arena, "%.*s-[0-9]*-of-[0-9]*", (int)length, name);
    const char *features = artel__arena_printf(q->arena, "%.*s.features.json", (int)length, name);
    bool whole = artel__file_exists(name); /* then it is no set */
    return shards && features && ((!whole && takes_in(q, shards)) || is_it(q, features));
}

static bool reads(question *q, const char *specification);

/* The files of a stage: of `cache` and `snapshot`. */
static bool keeps(const question *q, const json_t *stage)
{
    static const char *const kept[] = {".snapshot", NULL};
    const char *file = json_string_value(json_object_get(stage, "file")),
               *folder = json_string_value(json_object_get(stage, "folder"));
    return (file && is_it(q, file)) || (folder && lies_in(q, folder, kept));
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
    if (artel__is_remote(path) || artel__data_load_json(q->ctx, path, false, &value) < 0) return false;
    bool found = pipeline_reads(q, value);
    json_decref(value);
    return found;
}

static bool part_reads(question *q, const artel__data_part *part, const artel__data_options *options)
{
    char **files;
    int count;
    bool found = options->features && is_it(q, options->features);
    bool lines = part->format == &artel__data_jsonl; /* of which some name images */
    const char *const *endings = part->format == &artel__data_audio             ? artel__sound_endings
                                 : lines || part->format == &artel__data_images ? artel__image_endings
                                                                                : NULL;
    if (artel__data_files_parse(q->arena, part->target, &files, &count) < 0) return found;
    for (int i = 0; i < count && !found; i++) {
        char folder[4096];
        found = takes_in(q, files[i]) || is_beside(q, files[i]) || lies_in(q, files[i], endings);
        if (!found && lines && artel__folder_of(files[i], folder, sizeof folder)) found = lies_in(q, folder, endings);
        if (!found && part->format == &artel__data_pipeline) found = pipeline_file_reads(q, files[i]);
    }
    return found;
}

static bool reads(question *q, const char *specification)
{
    artel__data_spec spec;
    bool found = false;
    if (artel__data_spec_parse(q->arena, specification, &spec) < 0) return false;
    for (int p = 0; p < spec.part_count && !found; p++) found = part_reads(q, &spec.parts[p], &spec.options);
    return found;
}

bool artel__data_reads(artel_context *ctx, const char *specification, const char *path)
{
    artel__arena arena;
    question q = {.ctx = ctx, .arena = &arena};
    if (stat(path, &q.file) != 0 || !S_ISREG(q.file.st_mode)) return false;
    artel__arena_init(&arena, ctx);
    bool found = realpath(path, q.path) && reads(&q, specification);
    artel__arena_fini(&arena);
    artel__operation_begin(ctx); /* whoever opens the data says what is wrong with it */
    return found;
}
