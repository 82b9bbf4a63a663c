/* SPDX-License-Identifier: Apache-2.0 */
/* Programs by key: made once, kept by the platform, in the folder of the run, and in the user's cache.
 *
 * A plug-in is known by its platform, its version in its own words, and its file: length, first and last bytes, which
 * hold the build id. A program that was loaded is the executable that was stored, with the kernels that were chosen
 * then.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "device/platform_impl.h"

enum {
    END_BYTES = 64 << 10 /* of a plug-in's file, at either end */
};

/* -- keys -- */

static void add_ends(artel__sha256 *hash, const char *path)
{
    struct stat about;
    char block[4096];
    FILE *file = fopen(path, "rb");
    if (!file) return;
    if (fstat(fileno(file), &about) == 0) {
        int64_t size = about.st_size;
        artel__sha256_update(hash, &size, sizeof size);
        for (int end = 0; end < 2; end++) {
            if (end && size > END_BYTES) fseek(file, -(long)END_BYTES, SEEK_END);
            for (size_t n, left = END_BYTES; left > 0 && (n = fread(block, 1, sizeof block, file)) > 0;
                 left -= n < left ? n : left)
                artel__sha256_update(hash, block, n);
        }
    }
    fclose(file);
}

/* With its length, so that two texts in a row are no third. */
static void add_text(artel__sha256 *hash, const char *text, size_t length)
{
    uint64_t count = length;
    artel__sha256_update(hash, &count, sizeof count);
    artel__sha256_update(hash, text, length);
}

static void add_word(artel__sha256 *hash, const char *word)
{
    add_text(hash, word ? word : "", word ? strlen(word) : 0);
}

static void identify_plugin(artel__platform *p)
{
    artel__sha256 hash;
    const char *flags = getenv("XLA_FLAGS");
    artel__sha256_init(&hash);
    add_word(&hash, p->facts.platform);
    add_word(&hash, p->facts.version);
    add_ends(&hash, p->plugin.path);
    if (flags && *flags) add_word(&hash, flags); /* what XLA reads from there changes what it compiles */
    artel__sha256_final(&hash, p->keep.plugin);
}

void artel__program_key(artel__platform *platform, const artel__program_source *source, uint8_t out[ARTEL__PROGRAM_KEY])
{
    artel__sha256 hash;
    artel__text options;
    artel__text_init(&options, platform->ctx);
    artel__program_options(platform, source, 0, &options);
    artel__sha256_init(&hash);
    artel__sha256_update(&hash, platform->keep.plugin, sizeof platform->keep.plugin);
    add_word(&hash, platform->facts.devices ? platform->facts.device[0].name : "");
    add_text(&hash, options.data, options.length);
    add_text(&hash, source->text, source->length);
    artel__sha256_final(&hash, out);
    artel__text_fini(&options);
}

/* -- the platform's -- */

static artel__program *find(const artel__program_keep *keep, const uint8_t key[ARTEL__PROGRAM_KEY])
{
    for (artel__program *g = keep->first; g; g = g->next) {
        if (memcmp(g->key, key, sizeof g->key) == 0) return g;
    }
    return NULL;
}

artel__program *artel__program_known(artel__platform *platform, const uint8_t key[ARTEL__PROGRAM_KEY])
{
    pthread_mutex_lock(&platform->keep.lock);
    artel__program *g = find(&platform->keep, key);
    pthread_mutex_unlock(&platform->keep.lock);
    return g;
}

/* Of two threads that have made the same one the first counts. */
static artel__program *add(artel__program *g, const uint8_t key[ARTEL__PROGRAM_KEY], bool compiled, bool *first)
{
    artel__program_keep *keep = &g->platform->keep;
    pthread_mutex_lock(&keep->lock);
    artel__program *there = find(keep, key);
    *first = !there;
    if (!there) {
        memcpy(g->key, key, sizeof g->key);
        g->next = keep->first;
        keep->first = g;
        keep->counts.compiled += compiled;
        keep->counts.found += !compiled;
    }
    pthread_mutex_unlock(&keep->lock);
    if (there) artel__program_release(g);
    return there ? there : g;
}

void artel__program_counts_read(artel__platform *platform, artel__program_counts *out)
{
    pthread_mutex_lock(&platform->keep.lock);
    *out = platform->keep.counts;
    pthread_mutex_unlock(&platform->keep.lock);
}

/* -- bytes -- */

bool artel__programs_can_be_kept(const artel__platform *p)
{
    return !p->target && ARTEL__PJRT_HAS(p->api, PJRT_Executable_Serialize) &&
           ARTEL__PJRT_HAS(p->api, PJRT_Executable_DeserializeAndLoad);
}

/* Told once: the run goes on without. */
static void tell_lost(artel__platform *p, const char *what, const char *why)
{
    pthread_mutex_lock(&p->keep.lock);
    bool told = p->keep.lost;
    p->keep.lost = true;
    pthread_mutex_unlock(&p->keep.lock);
    if (!told)
        artel__log(p->ctx, ARTEL_LOG_WARNING, "%s: compiled programs cannot be %s: %.200s", p->plugin.path, what, why);
}

/* Its bytes, without a failure where the plug-in has none. */
static bool serialize(artel__program *g, artel__text *out)
{
    artel__platform *p = g->platform;
    artel__pjrt_error said;
    PJRT_Executable_Serialize_Args args = {.struct_size = PJRT_Executable_Serialize_Args_STRUCT_SIZE,
                                           .executable = g->executable};
    if (!artel__programs_can_be_kept(p)) return false;
    if (artel__pjrt_failed(p->api, p->api->PJRT_Executable_Serialize(&args), &said)) {
        tell_lost(p, "stored", said.text);
        return false;
    }
    artel__text_append_bytes(out, args.serialized_bytes, args.serialized_bytes_size);
    args.serialized_executable_deleter(args.serialized_executable);
    return out->length > 0 && artel__text_status(out) == ARTEL_OK;
}

/* Bytes that are known are hashed, and stay where others may ask for them. */
static void take_bytes(artel__program *g, const artel__text *bytes)
{
    artel__sha256 hash;
    artel__sha256_init(&hash);
    artel__sha256_update(&hash, bytes->data, bytes->length);
    artel__sha256_final(&hash, g->hash);
    if (g->platform->measures) artel__text_append_bytes(&g->bytes, bytes->data, bytes->length);
}

const uint8_t *artel__program_hash(const artel__program *program)
{
    return program->hash;
}

artel_status artel__program_bytes(artel__program *program, const artel__text **out)
{
    *out = &program->bytes;
    if (program->bytes.length == 0) ARTEL_TRY(artel__program_store(program, &program->bytes));
    return artel__text_status(&program->bytes);
}

/* -- obtaining -- */

/* NULL: the bytes are of no use. */
static artel__program *try_load(artel__platform *p, const artel__program_source *source, const artel__text *bytes)
{
    artel__program *g;
    artel__pjrt_error said;
    PJRT_Executable_DeserializeAndLoad_Args args = {.struct_size = PJRT_Executable_DeserializeAndLoad_Args_STRUCT_SIZE,
                                                    .client = p->client,
                                                    .serialized_executable = bytes->data,
                                                    .serialized_executable_size = bytes->length};
    if (p->keep.lost || !artel__programs_can_be_kept(p)) return NULL;
    if (artel__pjrt_failed(p->api, p->api->PJRT_Executable_DeserializeAndLoad(&args), &said)) {
        tell_lost(p, "loaded", said.text);
        return NULL;
    }
    return artel__program_adopt(p, source, args.loaded_executable, &g) == ARTEL_OK ? g : NULL;
}

/* In a folder: loaded, and kept in the others, too. */
static artel__program *find_in_folders(artel__platform *p, const artel__program_source *source,
                                       const uint8_t key[ARTEL__PROGRAM_KEY], artel__text *bytes)
{
    bool of_run = artel__program_folder_read(&p->keep.run, key, bytes);
    if (!of_run && !artel__program_folder_read(&p->keep.cache, key, bytes)) return NULL;
    artel__program *g = try_load(p, source, bytes);
    if (!g) return NULL;
    take_bytes(g, bytes);
    artel__program_folder_write(of_run ? &p->keep.cache : &p->keep.run, key, bytes->data, bytes->length);
    return g;
}

static artel_status make(artel__platform *p, const artel__program_source *source, const uint8_t key[ARTEL__PROGRAM_KEY],
                         artel__text *bytes, artel__program **out)
{
    artel__program *g;
    bool first;
    ARTEL_TRY(artel__program_compile(p, source, &g));
    artel__text_clear(bytes);
    bool stored = serialize(g, bytes);
    if (stored) take_bytes(g, bytes);
    *out = add(g, key, true, &first);
    if (!stored || !first) return ARTEL_OK;
    artel__program_folder_write(&p->keep.run, key, bytes->data, bytes->length);
    artel__program_folder_write(&p->keep.cache, key, bytes->data, bytes->length);
    return ARTEL_OK;
}

artel_status artel__program_obtain(artel__platform *platform, const artel__program_source *source, artel__program **out)
{
    uint8_t key[ARTEL__PROGRAM_KEY];
    artel__text bytes;
    bool first;
    artel__program_key(platform, source, key);
    *out = artel__program_known(platform, key);
    if (*out) return ARTEL_OK;
    artel__text_init(&bytes, platform->ctx);
    artel__program *g = find_in_folders(platform, source, key, &bytes);
    artel_status status = ARTEL_OK;
    if (g)
        *out = add(g, key, false, &first);
    else
        status = make(platform, source, key, &bytes, out);
    artel__text_fini(&bytes);
    return status;
}

artel_status artel__program_bring(artel__platform *platform, const char *name, const uint8_t key[ARTEL__PROGRAM_KEY],
                                  const void *bytes, size_t length, artel__program **out)
{
    artel__program *g;
    artel__text text;
    bool first;
    *out = artel__program_known(platform, key);
    if (*out) return ARTEL_OK;
    ARTEL_TRY(artel__program_load(platform, name, bytes, length, &g));
    artel__text_init(&text, platform->ctx);
    artel__text_append_bytes(&text, bytes, length);
    artel_status status = artel__text_status(&text);
    if (status == ARTEL_OK) {
        take_bytes(g, &text);
        *out = add(g, key, false, &first);
        artel__program_folder_write(&platform->keep.run, key, bytes, length); /* the cache is for what was made here */
    } else {
        artel__program_release(g);
    }
    artel__text_fini(&text);
    return status;
}

/* -- folders -- */

static artel_status open_cache(artel__platform *p)
{
    artel__program_folder *cache = &p->keep.cache;
    artel__text place;
    artel__text_init(&place, p->ctx);
    artel__program_cache_place(&place);
    artel_status status = artel__text_status(&place);
    if (status == ARTEL_OK && place.length) {
        *cache = (artel__program_folder){
            .ctx = p->ctx, .files = p->keep.files, .writes = true, .most_bytes = artel__program_cache_bytes()};
        cache->path = artel__arena_strdup(&p->arena, place.data);
        status = artel__arena_status(&p->arena);
    }
    artel__text_fini(&place);
    return status;
}

artel_status artel__program_keep_init(artel__platform *platform)
{
    pthread_mutex_init(&platform->keep.lock, NULL);
    ARTEL_TRY(artel_context_create(NULL, &platform->keep.files));
    identify_plugin(platform);
    return open_cache(platform);
}

artel_status artel__programs_in(artel__platform *platform, const char *path, bool writes)
{
    artel__program_folder *run = &platform->keep.run;
    *run = (artel__program_folder){.ctx = platform->ctx,
                                   .files = platform->keep.files,
                                   .writes = writes,
                                   .loss = "the run can be continued only if others come out the same"};
    run->path = artel__arena_strdup(&platform->arena, path);
    return artel__arena_status(&platform->arena);
}

void artel__program_keep_fini(artel__platform *platform)
{
    artel__program_keep *keep = &platform->keep;
    if (!keep->files) return;
    artel__program_folder_thin(&keep->cache);
    for (artel__program *g = keep->first, *next; g; g = next) {
        next = g->next;
        artel__program_release(g);
    }
    pthread_mutex_destroy(&keep->lock);
    artel_context_destroy(keep->files);
}
