/* SPDX-License-Identifier: Apache-2.0 */
/* Reading names of devices and opening them. */
#include "device/select.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "device/joint.h"
#include "device/platform_impl.h"

enum {
    MOST_NAMED = ARTEL__MAX_MIXED,
    XLA_DEVICES = 8 /* of XLA's CPU, always: it cuts long sums by their number */
};

/* What a request names. */
typedef struct wanted {
    char kind[16]; /* "" for the cores */
    int device[MOST_NAMED];
    int count; /* of those; 0: all of the kind */
    int names;
    bool core[MOST_NAMED]; /* by name: the cores */
    int share[MOST_NAMED]; /* by name: "*7"; 1 */
    int cores;
    bool shared; /* some name has said so */
    bool automatic;
} wanted;

static artel_status refuse(artel_context *ctx, const char *name)
{
    return artel__fail(ctx, ARTEL_ERROR_INVALID, "device",
                       "use cpu, gpu, cuda:0, rocm, oneapi, tpu, cpu:xla, or several: gpu:0,gpu:1",
                       "\"%.60s\" names no device", name);
}

/* What stands before TensorFlow's names of a task's devices: "/job:worker/replica:0/task:1". Each task has the list for
 * itself, so it says nothing more. Cut into pieces. */
static bool is_task(char *text)
{
    for (char *field = text, *next; field; field = next) {
        int64_t number;
        next = strchr(field, '/');
        if (next) *next++ = '\0';
        bool job = strncmp(field, "job:", 4) == 0 && field[4] && !strchr(field + 4, ':');
        const char *digits = strncmp(field, "task:", 5) == 0      ? field + 5
                             : strncmp(field, "replica:", 8) == 0 ? field + 8
                                                                  : NULL;
        bool numbered = digits && artel__parse_int64(digits, &number) && number >= 0;
        if (*field && !job && !numbered) return false;
    }
    return true;
}

/* Behind a kind's colon: -1 for "*", any. */
static bool read_number(const char *text, int64_t *out)
{
    *out = -1;
    if (!text || strcmp(text, "*") == 0) return true;
    return artel__parse_int64(text, out) && *out >= 0 && *out <= 4095;
}

/* A share behind a name, "cuda:0*7", is cut off; the star of "GPU:*" is a number. False: it is none. */
static bool read_share(char *name, wanted *out)
{
    char *star = strrchr(name, '*');
    int64_t share = 1;
    if (star && (star == name || star[-1] == ':')) star = NULL;
    if (star && (!artel__parse_int64(star + 1, &share) || share < 1 || share > ARTEL__MAX_SHARE)) return false;
    if (star) *star = '\0';
    out->shared = out->shared || star;
    out->share[out->names] = (int)share;
    return true;
}

/* One name of the list: "gpu", "cuda:1", "/job:worker/task:1/device:GPU:0". */
static artel_status read_one(artel_context *ctx, const char *text, size_t length, wanted *out)
{
    static const char *const kinds[] = {"gpu", "cuda", "rocm", "oneapi", "tpu"};
    char name[80], *colon;
    int64_t number = -1;
    if (out->names == MOST_NAMED)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "device", "name fewer", "a list names more than %d devices",
                           MOST_NAMED);
    if (length >= sizeof name) return refuse(ctx, text);
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    if (!read_share(name, out)) return refuse(ctx, text);
    char *slash = strrchr(name, '/'), *bare = slash ? slash + 1 : name;
    if (slash) *slash = '\0';
    if (slash && !is_task(name)) return refuse(ctx, text);
    if (strncasecmp(bare, "device:", 7) == 0) bare += 7;
    colon = strchr(bare, ':');
    if (colon) *colon = '\0';
    for (char *c = bare; *c; c++) *c = (char)tolower((unsigned char)*c);
    bool xla = strcmp(bare, "cpu") == 0 && colon && strncmp(colon + 1, "xla", 3) == 0 && strchr(":", colon[4]);
    if (xla) colon = colon[4] ? colon + 4 : NULL;
    bool automatic = strcmp(bare, "auto") == 0 && !colon;
    if (!read_number(colon ? colon + 1 : NULL, &number)) return refuse(ctx, text);
    out->automatic = out->automatic || automatic;
    bool cores = !xla && strcmp(bare, "cpu") == 0;
    if (cores) out->core[out->names] = true;
    out->cores += cores;
    if (automatic || cores) return ARTEL_OK;
    bool known = xla;
    for (size_t i = 0; i < ARTEL__COUNT(kinds); i++) known = known || strcmp(bare, kinds[i]) == 0;
    if (!known) return refuse(ctx, text);
    if (out->kind[0] && strcmp(out->kind, bare) != 0)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "device", "name devices of one kind", "%s and %s in one list",
                           out->kind, bare);
    snprintf(out->kind, sizeof out->kind, "%.15s", bare);
    if (number >= 0) out->device[out->count++] = (int)number;
    return ARTEL_OK;
}

/* Of a list with processors and devices: each is named. */
static artel_status check_mixed(artel_context *ctx, const artel__device_request *request, const wanted *w)
{
    if (!request->mixed)
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, "device",
                           request->mixable
                               ? "name one kind, or devices of one kind by number, or give .allow_mixed_arithmetic"
                               : "name one kind, or devices of one kind by number",
                           "processors and devices, or all devices and some, do not compute together");
    if (w->count + w->cores == w->names && w->count > 0) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, "device", "name each device by its number: cpu,cuda:0",
                       "beside processors devices are named one by one");
}

/* How much of a name of a list stands before its blanks, as behind the commas of Python's lists. */
static size_t without_blanks(const char *text, size_t length)
{
    while (length > 0 && text[length - 1] == ' ') length--;
    return length;
}

static artel_status read_names(artel_context *ctx, const artel__device_request *request, wanted *out)
{
    const char *text = request->device;
    *out = (wanted){.count = 0};
    while (text && *text) {
        text += out->names ? strspn(text, " ") : 0;
        size_t length = strcspn(text, ",");
        ARTEL_TRY(read_one(ctx, text, without_blanks(text, length), out));
        out->names++;
        if (strcmp(text + length, ",") == 0) return refuse(ctx, text);
        text += length + (text[length] == ',');
    }
    if (out->cores > 0 && out->cores < out->names && !out->automatic) {
        ARTEL_TRY(check_mixed(ctx, request, out));
    } else if (out->shared)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "device", "leave the shares out",
                           "shares (\"%.60s\") are for processors beside devices; devices of one kind have equal ones",
                           request->device);
    else if (out->cores > 1 && out->cores == out->names)
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, "device", "leave it out, and give .replicas",
                           "a list of processors alone: replicas share all of them");
    else if (out->names > 1 && out->count != out->names)
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, "device", "name one kind, or devices of one kind by number",
                           "processors and devices, or all devices and some, do not compute together");
    for (int i = 0; i < out->count; i++) {
        for (int k = 0; k < i; k++) {
            if (out->device[i] == out->device[k])
                return artel__fail(ctx, ARTEL_ERROR_INVALID, "device",
                                   "name it once; .replicas says how many replicas share the devices",
                                   "%s:%d is named twice", artel__device_word(out->kind), out->device[i]);
        }
    }
    return ARTEL_OK;
}

/* `tell`: that a device is here whose plug-in is not. */
static artel_status read_wanted(artel_context *ctx, const artel__device_request *request, bool tell, wanted *out)
{
    const char *kind;
    ARTEL_TRY(read_names(ctx, request, out));
    if (!out->automatic || out->names > 1 || request->target) return ARTEL_OK;
    ARTEL_TRY(artel__device_auto(ctx, request->plugin, tell, &kind));
    snprintf(out->kind, sizeof out->kind, "%s", kind);
    return ARTEL_OK;
}

static bool is_of_kind(const char *kind, const char *wanted_kind)
{
    if (strcmp(wanted_kind, "gpu") == 0) return artel__device_is_card(kind) || strcmp(kind, "oneapi") == 0;
    return strcmp(kind, wanted_kind) == 0;
}

static artel_status find_plugin(artel__device_set *set, const artel__device_request *request, const wanted *w,
                                const artel__plugin **out)
{
    artel__plugin_list list;
    ARTEL_TRY(artel__plugins_find(&set->arena, request->plugin, &list));
    for (int i = 0; i < list.count; i++) {
        *out = &list.item[i];
        if (request->plugin || is_of_kind(list.item[i].kind, w->kind)) return ARTEL_OK;
    }
    return artel__fail(set->ctx, ARTEL_ERROR_NOT_FOUND, "device", artel__plugin_source(w->kind),
                       "%s: no PJRT plug-in was found (looked in %.300s)", artel__device_word(w->kind), list.looked);
}

static unsigned long long short_hash(const char *text)
{
    return (unsigned long long)(artel__hash64(text, strlen(text)) & 0xffffffff);
}

/* Of the plug-in's version, which may be long, its hash; of what XLA reads from the environment, too, where it does. */
static artel_status describe(artel__device_set *set, const artel__device_facts *facts, const char *precision)
{
    const artel__plugin_facts *plugin = &set->platform->facts;
    const char *flags = getenv("XLA_FLAGS");
    artel__text text;
    artel__text_init(&text, set->ctx);
    artel__text_printf(&text, "pjrt %s, %s, plug-in %08llx, ", plugin->platform ? plugin->platform : "?", facts->name,
                       short_hash(plugin->version ? plugin->version : ""));
    if (flags && *flags) artel__text_printf(&text, "XLA_FLAGS %08llx, ", short_hash(flags));
    artel__text_append(&text, precision ? precision : "float32");
    const artel__platform *p = set->platform;
    if (p->fast || p->measures)
        artel__text_append(&text, p->unordered ? ", fastest" : p->fast ? ", fast" : ", kernels measured");
    set->arithmetic = artel__arena_strdup(&set->arena, text.data);
    artel_status status = artel__text_status(&text);
    artel__text_fini(&text);
    return status < 0 ? status : artel__arena_status(&set->arena);
}

bool artel__kernels_are_measured(const artel__device_request *request, const char *kind, bool stores)
{
    bool gpu = artel__device_is_card(kind);
    if (!request->kernels || strcmp(request->kernels, "auto") == 0) return gpu && stores && request->convolutions;
    return strcmp(request->kernels, "measured") == 0;
}

/* ARTEL__LAUNCHES_REPLICA + 1: there is no such way. */
static artel__launches find_launches(const char *name)
{
    static const char *const names[] = {"auto", "shard", "replica"};
    int i = 0;
    while (name && i <= ARTEL__LAUNCHES_REPLICA && strcmp(name, names[i]) != 0) i++;
    return (artel__launches)i;
}

/* The word, or nothing, where it is the default. */
static bool is(const char *given, const char *word)
{
    return !given || strcmp(given, word) == 0;
}

static bool is_fast(const artel__device_request *request)
{
    return !is(request->reduce, "exact");
}

/* The fast class has its kernels measured, and launches a step at once. */
static artel_status check_words(artel_context *ctx, const artel__device_request *r)
{
    if (!is(r->precision, "float32") && !is(r->precision, "tf32") && !is(r->precision, "bfloat16"))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "device precision", "use float32, tf32 or bfloat16",
                           "\"%.40s\" is not a precision of products", r->precision);
    if (!is(r->kernels, "auto") && !is(r->kernels, "fixed") && !is(r->kernels, "measured"))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "device kernels", "use auto, fixed or measured",
                           "\"%.40s\" is no way to choose kernels", r->kernels);
    if (find_launches(r->launches) > ARTEL__LAUNCHES_REPLICA)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "device launches", "use auto, shard or replica",
                           "\"%.40s\" is no way to launch", r->launches);
    if (!is(r->reduce, "exact") && !is(r->reduce, "fast") && !is(r->reduce, "fastest"))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "device reduce", "use exact, fast or fastest",
                           "\"%.40s\" is no way to sum", r->reduce);
    if (is_fast(r) && is(r->kernels, "fixed") && r->kernels)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "device kernels", "leave one of them out",
                           ".device_reduce %s takes the fastest kernels, and .device_kernels fixed no matter how fast",
                           r->reduce);
    return ARTEL_OK;
}

/* Those that were named, in that order, or all. They behave alike, else no replica could stand for another one. */
static artel_status list_devices(artel__device_set *set, const wanted *w)
{
    const artel__platform *p = set->platform;
    set->count = w->count ? w->count : p->devices;
    set->numbered = w->count > 0;
    int *device = artel__arena_alloc(&set->arena, (size_t)set->count + 1, sizeof *device);
    ARTEL_TRY(artel__arena_status(&set->arena));
    for (int i = 0; i < set->count; i++) {
        device[i] = w->count ? w->device[i] : i;
        if (device[i] >= p->devices)
            return artel__fail(set->ctx, ARTEL_ERROR_NOT_FOUND, "device", "artel devices lists what there is",
                               "%s:%d is not here: %s has %d device%s", artel__device_word(w->kind), device[i],
                               artel__device_word(w->kind), p->devices, p->devices == 1 ? "" : "s");
        const artel__device_facts *one = &p->facts.device[device[i]], *first = &p->facts.device[device[0]];
        if (strcmp(one->name, first->name) != 0)
            return artel__fail(set->ctx, ARTEL_ERROR_UNSUPPORTED, "device", "name devices of one kind",
                               "%s is a %.80s, and %s a %.80s: their bits differ", first->id, first->name, one->id,
                               one->name);
    }
    set->place.device = device;
    return ARTEL_OK;
}

artel_status artel__devices_check_mixable(artel_context *ctx, const artel__device_request *request)
{
    if (is_fast(request))
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, "device reduce", "leave .device_reduce out",
                           "processors have no fast class, so they do not compute beside devices in one");
    if (is(request->precision, "float32")) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, "device precision", "leave .device_precision out",
                       "processors do not round factors of float32 to %s, so beside devices that do they do not "
                       "compute",
                       request->precision);
}

/* Processors beside the devices: their class says which replica is what. */
static artel_status mix(artel__device_set *set, const artel__device_request *request, const wanted *w)
{
    artel__mixture *m = &set->mixture;
    artel__text text;
    ARTEL_TRY(artel__devices_check_mixable(set->ctx, request));
    m->core = artel__arena_alloc(&set->arena, (size_t)w->names, sizeof *m->core);
    m->share = artel__arena_alloc(&set->arena, (size_t)w->names, sizeof *m->share);
    m->start = artel__arena_alloc(&set->arena, (size_t)w->names + 1, sizeof *m->start);
    ARTEL_TRY(artel__arena_status(&set->arena));
    artel__text_init(&text, set->ctx);
    artel__text_printf(&text, "mixed: %s; replicas", set->arithmetic);
    for (int i = 0, device = 0; i < w->names; i++) {
        m->core[i] = w->core[i];
        m->share[i] = w->share[i];
        artel__text_printf(&text, " %s", w->core[i] ? "cpu" : "");
        if (!w->core[i]) artel__text_append(&text, set->platform->facts.device[set->place.device[device++]].id);
        if (w->share[i] > 1) artel__text_printf(&text, "*%d", w->share[i]);
    }
    m->devices = set->device;
    m->count = w->names;
    set->place.cores = w->cores;
    set->device = (artel__device){.name = "mixed", .ops = &artel__mixed_device_ops, .self = m};
    set->arithmetic = artel__arena_strdup(&set->arena, text.data);
    artel_status status = artel__text_status(&text);
    artel__text_fini(&text);
    return status < 0 ? status : artel__arena_status(&set->arena);
}

static artel_status open_set(artel__device_set *set, const artel__device_request *request, const wanted *w)
{
    const artel__plugin *plugin = NULL;
    ARTEL_TRY(find_plugin(set, request, w, &plugin));
    artel__client_options options = {.virtual_devices = strcmp(plugin->kind, "cpu") == 0 ? XLA_DEVICES : 0};
    ARTEL_TRY(artel__device_memory_read(set->ctx, request->memory, plugin->kind, &options));
    if (request->target)
        ARTEL_TRY(artel__platform_open_target(set->ctx, plugin, request->target, &set->platform));
    else
        ARTEL_TRY(artel__platform_open(set->ctx, plugin, &options, &set->platform));
    ARTEL_TRY(list_devices(set, w));
    const artel__device_facts *facts = &set->platform->facts.device[set->place.device[0]];
    set->platform->fast = is_fast(request);
    set->unordered = set->platform->unordered = set->platform->fast && strcmp(request->reduce, "fastest") == 0;
    bool stores = artel__programs_can_be_kept(set->platform);
    set->platform->measures = set->platform->fast ? stores : artel__kernels_are_measured(request, plugin->kind, stores);
    if (set->platform->measures && request->programs)
        ARTEL_TRY(artel__programs_in(set->platform, request->programs, request->writes));
    ARTEL_TRY(describe(set, facts, request->precision));
    set->place = (artel__device_place){.platform = set->platform,
                                       .device = set->place.device,
                                       .count = set->count,
                                       .precision = is(request->precision, "float32") ? "HIGHEST" : "DEFAULT",
                                       .narrow = request->precision && strcmp(request->precision, "bfloat16") == 0,
                                       .kind = plugin->kind,
                                       .launches = find_launches(request->launches),
                                       .fast = set->platform->fast};
    set->device = (artel__device){.name = facts->id, .ops = &artel__pjrt_device_ops, .self = &set->place};
    if (w->cores) ARTEL_TRY(mix(set, request, w));
    set->identity = set->arithmetic;
    return ARTEL_OK;
}

artel_status artel__devices_named(artel_context *ctx, const artel__device_request *request, bool *out)
{
    wanted w;
    ARTEL_TRY(read_wanted(ctx, request, false, &w));
    *out = w.kind[0] != '\0';
    return ARTEL_OK;
}

artel_status artel__devices_open(artel_context *ctx, const artel__device_request *request, artel__device_set **out)
{
    wanted w;
    void *block;
    *out = NULL;
    ARTEL_TRY(read_wanted(ctx, request, true, &w));
    ARTEL_TRY(check_words(ctx, request));
    if (!w.kind[0]) return ARTEL_OK;
    ARTEL_TRY(artel__device_settings_check(ctx));
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__device_set), "device", &block));
    artel__device_set *set = block;
    set->ctx = ctx;
    artel__arena_init(&set->arena, ctx);
    artel_status status = open_set(set, request, &w);
    if (status == ARTEL_OK)
        *out = set;
    else
        artel__devices_close(set);
    return status;
}

artel_status artel__devices_check_replicas(const artel__device_set *set, bool several)
{
    if (!set || !set->unordered || !several) return ARTEL_OK;
    return artel__fail(set->ctx, ARTEL_ERROR_INVALID, "device reduce", "use fast, or one replica: .strategy one-device",
                       "fastest gives other last bits at each launch, and replicas have to stay equal");
}

/* In a cluster the plug-in's part is that of a process, so every task has as many replicas. */
static artel_status take_sums(artel__device_set *set, const artel__device_sums *sums)
{
    set->place.sums = sums->replicas > 1 ? sums->replicas : 0;
    if (sums->among_tasks)
        set->identity = artel__arena_printf(&set->arena, "%s, sums within a process by the plug-in, %d replica%s each",
                                            set->arithmetic, sums->replicas, sums->replicas == 1 ? "" : "s");
    else if (sums->replicas > 1)
        set->identity =
            artel__arena_printf(&set->arena, "%s, sums of %d replicas by the plug-in", set->arithmetic, sums->replicas);
    return artel__arena_status(&set->arena);
}

artel_status artel__devices_sum(artel__device_set *set, const artel__device_sums *sums)
{
    char why[256];
    if (!set || !set->place.fast || sums->own || set->mixture.count || set->platform->target) return ARTEL_OK;
    if (sums->replicas < 2) return take_sums(set, sums);
    bool each = sums->replicas <= set->count && sums->replicas <= ARTEL__MAX_JOINT;
    if (!each) snprintf(why, sizeof why, "%d replicas share %d devices", sums->replicas, set->count);
    if (each && artel__device_sums_try(set->platform, set->place.device, sums->replicas, why))
        return take_sums(set, sums);
    artel__log(set->ctx, ARTEL_LOG_NOTE, "%s: sums of replicas are artel's and not the plug-in's: %s", set->device.name,
               why);
    return ARTEL_OK;
}

const char *artel__devices_promise(const artel__device_set *set)
{
    const artel__platform *p = set->platform;
    if (set->mixture.count) return "the same for this list of processors and devices, and for no other";
    if (p->unordered) return "none: sums have no order of their own, so the last ones may differ from launch to launch";
    if (p->fast && p->measures)
        return "those of this kind of device, this number of replicas, and these programs, which are kept; all else "
               "may change the last "
               "ones";
    if (p->fast)
        return "of this kind of device and this number of replicas; another compilation may change the last ones";
    if (p->measures) return "the same on any number of devices of this kind, with these programs, which are kept";
    return "the same on any number of devices of this kind, also when programs are compiled again";
}

void artel__devices_close(artel__device_set *set)
{
    if (!set) return;
    artel__platform_close(set->platform);
    artel__arena_fini(&set->arena);
    artel__free(set->ctx, set);
}
