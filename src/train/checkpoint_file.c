/* SPDX-License-Identifier: Apache-2.0 */
/* Writing, finding and reading the files of a checkpoint.
 *
 * state.safetensors: variables of the model under their paths in Keras' weights tree with dots for slashes, slots as
 * optimizer.<number in the file order>, weights kept by callback i as callback.<i>.<path>. Folders are written under
 * another name and renamed (checkpoint_folder.c); a folder without a manifest, or whose hash does not fit, does not
 * count.
 */
#include "train/checkpoint_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "train/callbacks.h"
#include "train/fit_impl.h"
#include "train/left.h"

json_t *artel__hex_real(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return json_sprintf("%016llx", (unsigned long long)bits);
}

double artel__real_of_hex(const json_t *json)
{
    const char *text = json_string_value(json);
    uint64_t bits = text ? strtoull(text, NULL, 16) : 0;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* -- the image -- */

typedef struct lister {
    artel_context *ctx;
    artel__checkpoint_image *image;
    size_t offset;
    const char *prefix;
    artel_status status;
} lister;

artel_status artel__checkpoint_name(artel_context *ctx, const char *prefix, const char *path, char **out)
{
    artel__text text;
    artel__text_init(&text, ctx);
    artel__text_printf(&text, "%s%s", prefix, path);
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] == '/') text.data[i] = '.';
    }
    artel_status status = artel__text_status(&text);
    if (status == ARTEL_OK) status = artel__strdup(ctx, text.data, out);
    artel__text_fini(&text);
    return status;
}

static artel_status add_entry(lister *l, int variable, const char *name)
{
    void *wider = l->image->entry;
    ARTEL_TRY(artel__realloc(l->ctx, (size_t)(l->image->entries + 1) * sizeof *l->image->entry, "checkpoint", &wider));
    l->image->entry = wider;
    char *copy;
    ARTEL_TRY(artel__checkpoint_name(l->ctx, l->prefix, name, &copy));
    l->image->entry[l->image->entries++] = (artel__checkpoint_entry){copy, variable, l->offset};
    return ARTEL_OK;
}

static artel_status list_variable(void *user, const artel__model_variable *variable)
{
    return add_entry(user, variable->variable->index, variable->path);
}

/* Names and places of all tensors of this run, in the order of the file. */
static artel_status list_entries(artel__fit *fit, artel__checkpoint_image *image)
{
    const artel__optimizer_slots *slots = artel__session_slots(fit->session);
    const artel__variables *all = artel__state_variables(artel__session_state(fit->session));
    lister l = {.ctx = fit->ctx, .image = image, .prefix = ""};
    ARTEL_TRY(artel__model_visit(fit->model->nn, list_variable, &l));
    for (int i = 0, n = 0; i < all->count; i++) {
        char name[32];
        if (all->item[i].kind != ARTEL__VARIABLE_ROW_STATE)
            continue; /* in no file of Keras, but a run depends on them */
        snprintf(name, sizeof name, "rows.%d", n++);
        ARTEL_TRY(add_entry(&l, i, name));
    }
    for (int i = 0; i < slots->file_count; i++) {
        char name[32];
        snprintf(name, sizeof name, "optimizer.%d", i);
        ARTEL_TRY(add_entry(&l, slots->file_order[i], name));
    }
    l.offset = artel__image_bytes(all, artel__all_of(all));
    for (int i = 0; i < fit->callbacks.count; i++) {
        char prefix[48];
        if (!fit->callbacks.list[i].weights) continue;
        snprintf(prefix, sizeof prefix, "callback.%d.", i);
        l.prefix = prefix;
        ARTEL_TRY(artel__model_visit(fit->model->nn, list_variable, &l));
        l.offset += artel__image_bytes(fit->model->nn->variables, artel__all_of(fit->model->nn->variables));
    }
    return ARTEL_OK;
}

static void clear_entries(artel_context *ctx, artel__checkpoint_image *image)
{
    for (int i = 0; i < image->entries; i++) artel__free(ctx, image->entry[i].name);
    image->entries = 0;
}

void artel__checkpoint_image_fini(artel_context *ctx, artel__checkpoint_image *image)
{
    clear_entries(ctx, image);
    artel__free(ctx, image->entry);
    artel__free(ctx, image->bytes);
    artel__free(ctx, image->manifest);
    *image = (artel__checkpoint_image){.step = 0};
}

artel_status artel__checkpoint_image_take(artel__fit *fit, json_t *manifest, artel__checkpoint_image *image)
{
    const artel__state *state = artel__session_state(fit->session);
    const artel__variables *own = fit->model->nn->variables, *all = artel__state_variables(state);
    size_t weights = artel__image_bytes(own, artel__all_of(own)), at = artel__image_bytes(all, artel__all_of(all)),
           size = at;
    for (int i = 0; i < fit->callbacks.count; i++) size += fit->callbacks.list[i].weights ? weights : 0;
    ARTEL_TRY(artel__state_bring(state));
    ARTEL_TRY(artel__session_complete(fit->session));
    clear_entries(fit->ctx, image);
    ARTEL_TRY(list_entries(fit, image));
    void *bytes = image->bytes;
    if (size > image->size) ARTEL_TRY(artel__realloc(fit->ctx, size, "checkpoint", &bytes));
    image->bytes = bytes;
    image->size = size > image->size ? size : image->size;
    artel__state_image(state, artel__all_of(all), image->bytes);
    for (int i = 0; i < fit->callbacks.count; i++) {
        if (!fit->callbacks.list[i].weights) continue;
        memcpy(image->bytes + at, fit->callbacks.list[i].weights, weights);
        at += weights;
    }
    artel__free(fit->ctx, image->manifest);
    image->manifest = NULL;
    image->variables = *all;
    image->step = fit->at.step;
    return artel__json_dump_string(fit->ctx, manifest, ARTEL__JSON_PYTHON, &image->manifest);
}

/* -- writing -- */

static size_t entry_bytes(const artel__checkpoint_image *image, int i)
{
    const artel__variable *variable = &image->variables.item[image->entry[i].variable];
    return (size_t)artel_shape_count(&variable->shape) * artel_dtype_size(variable->dtype);
}

static const char *const dtypes[] = {"F32", "F64", "F16", "BF16", "I8",  "I16", "I32",
                                     "I64", "U8",  "U16", "U32",  "U64", "BOOL"}; /* by artel_dtype */

static void header_text(const artel__checkpoint_image *image, artel__text *out)
{
    size_t at = 0;
    artel__text_append(out, "{");
    for (int i = 0; i < image->entries; i++) {
        const artel__variable *variable = &image->variables.item[image->entry[i].variable];
        artel__text_append(out, i ? ", " : "");
        artel__text_append_json(out, image->entry[i].name);
        artel__text_printf(out, ": {\"dtype\": \"%s\", \"shape\": [", dtypes[variable->dtype]);
        for (int d = 0; d < variable->shape.rank; d++)
            artel__text_printf(out, "%s%lld", d ? ", " : "", (long long)variable->shape.dim[d]);
        artel__text_printf(out, "], \"data_offsets\": [%zu, %zu]}", at, at + entry_bytes(image, i));
        at += entry_bytes(image, i);
    }
    artel__text_append(out, "}");
    artel__text_pad(out, 0, 8);
}

typedef struct hashed_output {
    artel__output file;
    artel__sha256 hash;
} hashed_output;

static artel_status put(hashed_output *out, const void *bytes, size_t count)
{
    artel__sha256_update(&out->hash, bytes, count);
    return artel__output_write(&out->file, bytes, count);
}

static artel_status put_tensors(artel_context *ctx, const artel__checkpoint_image *image, hashed_output *out)
{
    size_t most = 64;
    void *plain;
    for (int i = 0; i < image->entries; i++) most = entry_bytes(image, i) > most ? entry_bytes(image, i) : most;
    ARTEL_TRY(artel__alloc(ctx, most, "checkpoint", &plain));
    artel_status status = ARTEL_OK;
    for (int i = 0; i < image->entries && status == ARTEL_OK; i++) {
        artel__image_fetch(&image->variables, image->bytes + image->entry[i].offset, image->entry[i].variable, plain);
        status = put(out, plain, entry_bytes(image, i));
    }
    artel__free(ctx, plain);
    return status;
}

static artel_status write_state(artel_context *ctx, const char *folder, const artel__checkpoint_image *image,
                                char hash[65])
{
    char path[4200];
    artel__text header;
    hashed_output out;
    snprintf(path, sizeof path, "%.4096s/state.safetensors", folder);
    artel__text_init(&header, ctx);
    header_text(image, &header);
    artel__sha256_init(&out.hash);
    artel_status status = artel__text_status(&header);
    if (status == ARTEL_OK) status = artel__output_open(ctx, path, &out.file);
    if (status < 0) {
        artel__text_fini(&header);
        return status;
    }
    uint64_t length = header.length;
    status = put(&out, &length, sizeof length);
    if (status == ARTEL_OK) status = put(&out, header.data, header.length);
    if (status == ARTEL_OK) status = put_tensors(ctx, image, &out);
    artel__text_fini(&header);
    if (status == ARTEL_OK)
        status = artel__output_commit(&out.file);
    else
        artel__output_abandon(&out.file);
    artel__sha256_hex(&out.hash, hash);
    return status;
}

static artel_status write_manifest(artel_context *ctx, const char *folder, const artel__checkpoint_image *image,
                                   const char *hash)
{
    char path[4200];
    artel__text text;
    snprintf(path, sizeof path, "%.4096s/manifest.json", folder);
    artel__text_init(&text, ctx);
    artel__text_append_bytes(&text, image->manifest, strlen(image->manifest) - 1); /* without the closing brace */
    artel__text_printf(&text, ", \"files\": {\"state.safetensors\": \"%s\"}}\n", hash);
    artel_status status = artel__text_status(&text);
    if (status == ARTEL_OK) status = artel__write_file(ctx, path, text.data, text.length);
    artel__text_fini(&text);
    return status;
}

artel_status artel__checkpoint_write(artel_context *ctx, const char *directory, const artel__checkpoint_image *image,
                                     int keep)
{
    char temporary[ARTEL__CHECKPOINT_PATH], hash[65];
    artel__checkpoint_temporary(directory, image->step, temporary);
    ARTEL_TRY(artel__remove_tree(ctx, temporary));
    ARTEL_TRY(artel__make_directory(ctx, temporary));
    artel_status status = write_state(ctx, temporary, image, hash);
    if (status == ARTEL_OK) status = write_manifest(ctx, temporary, image, hash);
    if (status == ARTEL_OK && image->gate) status = image->gate(image->gate_user);
    if (status == ARTEL_OK) status = artel__checkpoint_publish(ctx, directory, temporary, image->step);
    if (status != ARTEL_OK) {
        artel__remove_tree(ctx, temporary);
        return status;
    }
    return artel__checkpoint_thin(ctx, directory, keep > 0 ? keep : 1);
}

/* -- finding -- */

/* ARTEL_ERROR_CORRUPT without a record: it has another hash, or the manifest names none. */
static artel_status check_hash(artel_context *ctx, const char *folder, json_t *manifest)
{
    char path[4300], hex[65];
    const char *expected = json_string_value(json_object_get(json_object_get(manifest, "files"), "state.safetensors"));
    artel__mapping mapping;
    snprintf(path, sizeof path, "%.4096s/state.safetensors", folder);
    if (!expected) return ARTEL_ERROR_CORRUPT;
    ARTEL_TRY(artel__map_file(ctx, path, &mapping));
    artel__sha256 hash;
    artel__sha256_init(&hash);
    artel__sha256_update(&hash, mapping.bytes, mapping.size);
    artel__sha256_hex(&hash, hex);
    artel__unmap_file(&mapping);
    return strcmp(hex, expected) == 0 ? ARTEL_OK : ARTEL_ERROR_CORRUPT;
}

/* The manifest of a whole folder, or NULL; what is wrong with one that is not whole is only a note. What keeps from
 * looking (no memory, no more open files, no permission, a disk that fails) says nothing of the folder, and is an
 * error: an older one in its place would take work back. */
static artel_status whole_manifest(artel_context *ctx, const char *folder, json_t **out)
{
    char path[4300];
    snprintf(path, sizeof path, "%.4096s/manifest.json", folder);
    *out = NULL;
    artel_status status = artel__json_load_file(ctx, path, out);
    if (status == ARTEL_OK) status = check_hash(ctx, folder, *out);
    if (status == ARTEL_OK) return ARTEL_OK;
    json_decref(*out);
    *out = NULL;
    bool seen = status == ARTEL_ERROR_CORRUPT || status == ARTEL_ERROR_NOT_FOUND;
    if (!seen && !artel__file_missing(path)) return status; /* else removed while it was read */
    if (artel__is_directory(folder))                        /* still: its writer removes the oldest ones */
        artel__log(ctx, ARTEL_LOG_WARNING, "%s: not a whole checkpoint; an older one is looked for", folder);
    artel__operation_begin(ctx);
    return ARTEL_OK;
}

artel_status artel__checkpoint_newest(artel_context *ctx, const char *directory, int64_t *step)
{
    int64_t *steps;
    int count;
    *step = -1;
    if (artel__file_missing(directory)) return ARTEL_OK;
    ARTEL_TRY(artel__checkpoint_steps(ctx, directory, &steps, &count));
    if (count > 0) *step = steps[0];
    artel__free(ctx, steps);
    return ARTEL_OK;
}

artel_status artel__checkpoint_find(artel_context *ctx, const char *directory, char **folder, json_t **manifest)
{
    int64_t *steps;
    int count;
    *manifest = NULL;
    *folder = NULL;
    ARTEL_TRY(artel__checkpoint_steps(ctx, directory, &steps, &count));
    artel_status status = ARTEL_OK;
    for (int i = 0; i < count && !*manifest && status == ARTEL_OK; i++) {
        char path[4200];
        snprintf(path, sizeof path, "%s/ckpt-%lld", directory, (long long)steps[i]);
        status = whole_manifest(ctx, path, manifest);
        if (*manifest) status = artel__strdup(ctx, path, folder);
    }
    artel__free(ctx, steps);
    if (status == ARTEL_OK) return ARTEL_OK;
    json_decref(*manifest);
    *manifest = NULL;
    return status;
}

/* Of a checkpoint that is known already: only whether it is the last one may have changed. */
static artel_status read_manifest(artel_context *ctx, const char *directory, int64_t step, json_t **out)
{
    char path[4300];
    snprintf(path, sizeof path, "%s/ckpt-%lld/manifest.json", directory, (long long)step);
    artel_status status = artel__json_load_file(ctx, path, out);
    if (status == ARTEL_OK || !artel__file_missing(path)) return status;
    artel__operation_begin(ctx); /* it is being replaced */
    return ARTEL_OK;
}

/* A directory that is a checkpoint itself. */
static artel_status read_single(artel_context *ctx, const char *path, const char *directory, char **folder,
                                json_t **manifest)
{
    ARTEL_TRY(artel__json_load_file(ctx, path, manifest));
    artel_status status = check_hash(ctx, directory, *manifest);
    if (status == ARTEL_OK) status = artel__strdup(ctx, directory, folder);
    if (status == ARTEL_OK) return ARTEL_OK;
    json_decref(*manifest);
    *manifest = NULL;
    return status;
}

static artel_status read_newer(artel_context *ctx, const char *directory, int64_t newer_than, char **folder,
                               json_t **manifest)
{
    char path[4300];
    int64_t newest;
    snprintf(path, sizeof path, "%.4096s/manifest.json", directory);
    if (artel__file_exists(path)) return read_single(ctx, path, directory, folder, manifest);
    ARTEL_TRY(artel__checkpoint_newest(ctx, directory, &newest));
    if (newest < 0) return ARTEL_OK;
    return newest > newer_than ? artel__checkpoint_find(ctx, directory, folder, manifest)
                               : read_manifest(ctx, directory, newest, manifest);
}

artel_status artel__checkpoint_newer(artel_context *ctx, const char *directory, int64_t newer_than,
                                     artel_checkpoint_info *out, char **folder, json_t **manifest)
{
    *out = (artel_checkpoint_info){.step = -1};
    *folder = NULL;
    *manifest = NULL;
    artel_status status = read_newer(ctx, directory, newer_than, folder, manifest);
    if (!*manifest) return status;
    out->step = json_integer_value(json_object_get(*manifest, "step"));
    out->epoch = json_integer_value(json_object_get(*manifest, "epoch"));
    out->finished = json_is_true(json_object_get(*manifest, "finished"));
    return status;
}

/* -- reading -- */

static artel_status misfit(artel_context *ctx, const char *folder, const char *name)
{
    return artel__fail(ctx, ARTEL_ERROR_CORRUPT, folder, "give the model that the run trains, or .fresh to train anew",
                       "the tensor %s is missing or does not fit", name);
}

void artel__checkpoint_close(artel__checkpoint_tensors *tensors)
{
    json_decref(tensors->header);
    artel__unmap_file(&tensors->file);
    tensors->header = NULL;
}

artel_status artel__checkpoint_open(artel_context *ctx, const char *folder, artel__checkpoint_tensors *out)
{
    char path[4300];
    uint64_t length = 0;
    *out = (artel__checkpoint_tensors){.ctx = ctx, .folder = folder};
    snprintf(path, sizeof path, "%s/state.safetensors", folder);
    ARTEL_TRY(artel__map_file(ctx, path, &out->file));
    if (out->file.size >= sizeof length) memcpy(&length, out->file.bytes, sizeof length);
    artel_status status = ARTEL_OK;
    if (length == 0 || length > out->file.size - sizeof length) status = misfit(ctx, folder, "header");
    if (status == ARTEL_OK)
        status = artel__json_load(ctx, path, (const char *)out->file.bytes + sizeof length, length, &out->header);
    out->data = sizeof length + length;
    if (status < 0) artel__checkpoint_close(out);
    return status;
}

artel_status artel__checkpoint_tensor(const artel__checkpoint_tensors *tensors, const char *name, size_t bytes,
                                      const void **out)
{
    json_t *offsets = json_object_get(json_object_get(tensors->header, name), "data_offsets");
    int64_t begin = json_integer_value(json_array_get(offsets, 0)),
            end = json_integer_value(json_array_get(offsets, 1));
    bool fits = json_array_size(offsets) == 2 && begin >= 0 && end >= begin && (size_t)(end - begin) == bytes &&
                (size_t)end <= tensors->file.size - tensors->data;
    if (!fits) return misfit(tensors->ctx, tensors->folder, name);
    *out = tensors->file.bytes + tensors->data + begin;
    return ARTEL_OK;
}

bool artel__checkpoint_holds(const json_t *tensor, const artel__variable *v)
{
    const char *dtype = json_string_value(json_object_get(tensor, "dtype"));
    const json_t *shape = json_object_get(tensor, "shape");
    bool same = dtype && strcmp(dtype, dtypes[v->dtype]) == 0 && (int)json_array_size(shape) == v->shape.rank;
    for (int d = 0; same && d < v->shape.rank; d++)
        same = json_integer_value(json_array_get(shape, (size_t)d)) == v->shape.dim[d];
    return same;
}

artel_status artel__checkpoint_variable(const artel__checkpoint_tensors *tensors, const char *name,
                                        const artel__variable *v, const void **out)
{
    if (!artel__checkpoint_holds(json_object_get(tensors->header, name), v))
        return misfit(tensors->ctx, tensors->folder, name);
    return artel__checkpoint_tensor(tensors, name, artel__variable_bytes(v), out);
}

/* Where a tensor belongs: into the session's state, or into the weights of a callback, whose entries lie behind the
 * session's. */
static void put_back(const artel__fit *fit, const artel__checkpoint_entry *entry, const void *plain)
{
    artel__state *state = artel__session_state(fit->session);
    const artel__variables *own = fit->model->nn->variables, *all = artel__state_variables(state);
    size_t weights_end = artel__image_bytes(all, artel__all_of(all)),
           weights = artel__image_bytes(own, artel__all_of(own));
    if (entry->offset < weights_end) {
        artel__state_store(state, entry->variable, plain);
        return;
    }
    size_t nth = (entry->offset - weights_end) / (weights ? weights : 1);
    int callback = 0;
    for (; callback < fit->callbacks.count; callback++) {
        if (fit->callbacks.list[callback].weights && nth-- == 0) break;
    }
    artel__image_store(own, fit->callbacks.list[callback].weights, entry->variable, plain);
}

artel_status artel__checkpoint_read_state(artel__fit *fit, const char *folder)
{
    artel__checkpoint_tensors tensors;
    artel__checkpoint_image wanted = {.variables = *artel__state_variables(artel__session_state(fit->session))};
    ARTEL_TRY(artel__checkpoint_open(fit->ctx, folder, &tensors));
    artel_status status = list_entries(fit, &wanted);
    for (int i = 0; i < wanted.entries && status == ARTEL_OK; i++) {
        const artel__checkpoint_entry *entry = &wanted.entry[i];
        const void *plain;
        status = artel__checkpoint_tensor(&tensors, entry->name, entry_bytes(&wanted, i), &plain);
        if (status == ARTEL_OK) put_back(fit, entry, plain);
    }
    if (status == ARTEL_OK) artel__session_has_all(fit->session);
    artel__checkpoint_image_fini(fit->ctx, &wanted);
    artel__checkpoint_close(&tensors);
    return status;
}
