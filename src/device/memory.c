/* SPDX-License-Identifier: Apache-2.0 */
/* What a step needs of a device's memory, by the compiler's own figures, before it is made.
 *
 * At a stage there are the variables, the values that later stages read, and what the stage's program needs besides its
 * arguments: results and scratch. The most of all stages is a lower bound: other modes and the plug-in need theirs. So
 * what is refused could not have been computed. Batches that are sent ahead take what is left, or are not sent.
 */
#include <stdlib.h>
#include <string.h>

#include "device/executable.h"
#include "device/platform_impl.h"

/* Of a replica at least. */
static int64_t least_shards(const artel__device_executable *x)
{
    const int32_t *start = x->options.start;
    int64_t least = x->options.shards;
    if (!start) return x->options.shards / x->options.replicas;
    for (int r = 0; r < x->options.replicas; r++) {
        if (start[r + 1] - start[r] < least) least = start[r + 1] - start[r];
    }
    return least;
}

static int64_t bytes_of(const artel__device_executable *x, artel__value_id id)
{
    const artel__value *value = &x->graph->value[id];
    int64_t rows = 1, batch = x->options.batch_size, replicas = x->options.replicas;
    if (value->domain == ARTEL__DOMAIN_BATCH) rows = batch;
    if (value->domain == ARTEL__DOMAIN_ROW)
        rows = x->options.start ? batch * least_shards(x) / x->options.shards : batch / replicas;
    if (value->domain == ARTEL__DOMAIN_NODES) rows = least_shards(x);
    return rows * artel_shape_count(&value->shape) * (int64_t)artel_dtype_size(value->dtype);
}

static bool takes(const artel__cut_program *program, artel__value_id id)
{
    for (int i = 0; i < program->ins; i++) {
        if (program->in[i] == id) return true;
    }
    return false;
}

static bool is_computed_with(const artel__device_executable *x, artel__value_id id)
{
    for (int s = 0; s < x->cut.stages; s++) {
        if (takes(&x->cut.stage[s].common, id) || takes(&x->cut.stage[s].rows, id)) return true;
    }
    return false;
}

/* All of them, or, where they stay in this machine's memory, those that are sent: to be computed with, and behind that
 * (`last`) to be updated. */
static int64_t variable_bytes(const artel__device_executable *x, bool last)
{
    int64_t bytes = 0;
    for (int i = 0; i < x->graph->values; i++) {
        if (x->graph->value[i].variable < 0) continue;
        bool there = !x->options.common || is_computed_with(x, i) || (last && takes(&x->cut.apply, i));
        bytes += there ? bytes_of(x, i) : 0;
    }
    return bytes;
}

/* By stage: what later stages read, and comes from here or from before. */
static void add_lives(const artel__device_executable *x, int64_t *live)
{
    const artel__graph *graph = x->graph;
    for (int s = 0; s < x->cut.stages; s++) {
        const artel__cut_program *part[] = {&x->cut.stage[s].common, &x->cut.stage[s].rows};
        for (int k = 0; k < 2; k++) {
            for (int i = 0; i < part[k]->outs; i++) {
                for (int at = s + 1; at <= x->last[part[k]->out[i]]; at++) live[at] += bytes_of(x, part[k]->out[i]);
            }
        }
        for (int i = 0; i < x->cut.stage[s].collectives; i++) {
            artel__value_id id = graph->node[x->cut.stage[s].collective[i]].output[0];
            for (int at = s + 1; at <= x->last[id]; at++) live[at] += bytes_of(x, id);
        }
    }
    for (int i = 0; i < graph->inputs; i++) {
        for (int at = 0; at <= x->last[graph->input[i]]; at++) live[at] += bytes_of(x, graph->input[i]);
    }
}

static int64_t input_bytes(const artel__device_executable *x)
{
    int64_t bytes = 0;
    for (int i = 0; i < x->graph->inputs; i++) bytes += bytes_of(x, x->graph->input[i]);
    return bytes;
}

void artel__step_memory_read(const artel__device_executable *x, artel__step_memory *out)
{
    void *block;
    int stages = x->cut.stages + 1; /* the last is APPLY */
    int64_t variables = variable_bytes(x, false), updated = variable_bytes(x, true);
    *out = (artel__step_memory){.variables = updated, .batch = input_bytes(x)};
    if (artel__calloc(x->ctx, 2 * (size_t)stages, sizeof(int64_t), "device", &block) < 0) return;
    int64_t *live = block, *beside = live + stages;
    add_lives(x, live);
    for (const artel__step_program *p = x->first; p; p = p->next) {
        artel__program_memory memory;
        int at = p->part == ARTEL__PART_APPLY ? x->cut.stages : p->stage;
        if (!p->program) continue;
        artel__program_memory_read(p->program, &memory);
        if (memory.scratch < 0) continue;
        int64_t extra = memory.results - memory.shared + memory.scratch;
        out->known = true;
        beside[at] = beside[at] < extra ? extra : beside[at];
    }
    for (int s = 0; s < stages; s++) {
        int64_t held = s < x->cut.stages ? variables : updated, here = held + live[s] + beside[s];
        if (here <= out->most) continue;
        *out = (artel__step_memory){out->known, held, live[s], beside[s], here, out->batch};
    }
    artel__free(x->ctx, block);
}

/* Replicas that share a device. */
static int64_t replicas_of_device(const artel__device_executable *x)
{
    int devices = x->place->count;
    return x->options.across ? 1 : (x->options.replicas - x->place->cores + devices - 1) / devices;
}

/* Of all devices that compute; -1: one does not say. */
static int64_t least_free(const artel__device_place *place)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < place->count; i++) {
        int64_t free = artel__platform_free_bytes(place->platform, place->device[i]);
        least = free < least ? free : least;
    }
    return least;
}

bool artel__step_memory_suffices(const artel__device_executable *x)
{
    artel__step_memory memory;
    int64_t free = least_free(x->place);
    if (free < 0) return true;
    artel__step_memory_read(x, &memory);
    return !memory.known || memory.most * replicas_of_device(x) <= free;
}

artel_status artel__step_memory_check(artel__device_executable *x)
{
    artel__step_memory memory;
    int64_t free = least_free(x->place), each = replicas_of_device(x);
    int most = x->options.several ? 0 : ARTEL__SENT_AHEAD;
    x->ahead = most;
    if (free < 0) return ARTEL_OK;
    artel__step_memory_read(x, &memory);
    if (!memory.known) x->ahead = most > 0;
    if (!memory.known) return ARTEL_OK;
    while (x->ahead > 0 && (memory.most + x->ahead * memory.batch) * each > free) x->ahead--;
    if (memory.most * each <= free) return ARTEL_OK;
    double mega = 1.0 / (1 << 20);
    return artel__fail(
        x->ctx, ARTEL_ERROR_NO_MEMORY, "device", "use a smaller .batch_size, more .shards, .recompute, or more devices",
        "a step needs %.0f MB (variables %.0f, values between programs %.0f, programs %.0f%s), and the device has %.0f "
        "MB",
        (double)(memory.most * each) * mega, (double)memory.variables * mega, (double)memory.values * mega,
        (double)memory.programs * mega, each > 1 ? ", of each replica on it" : "", (double)free * mega);
}

void artel__step_program_name(const artel__device_executable *x, const artel__step_program *p, char *out, size_t size)
{
    static const char *const parts[] = {"common", "rows", "apply",      "combine",
                                        "group",  "step", "all-reduce", "replicas"};
    snprintf(out, size, "%s %s %d, %lld", x->graph->training ? "train" : "test", parts[p->part], p->stage,
             (long long)p->rows);
}

void artel__step_summary(const artel__device_executable *x, artel__text *out)
{
    artel__step_memory memory;
    int programs = 0;
    for (const artel__step_program *p = x->first; p; p = p->next) programs += p->program != NULL;
    artel__step_memory_read(x, &memory);
    artel__text_printf(out, "%d program%s; a step needs", programs, programs == 1 ? "" : "s");
    if (memory.known)
        artel__text_printf(out, " %lld bytes: variables %lld, values between programs %lld, programs %lld",
                           (long long)memory.most, (long long)memory.variables, (long long)memory.values,
                           (long long)memory.programs);
    else
        artel__text_printf(out, " variables of %lld bytes, and what the plug-in does not say",
                           (long long)memory.variables);
    artel__text_printf(out, "; ahead of it %d batch%s of %lld bytes\n", x->ahead, x->ahead == 1 ? "" : "es",
                       (long long)memory.batch);
}

void artel__step_programs_dump(const artel__device_executable *x, artel__text *out)
{
    char name[96];
    for (const artel__step_program *p = x->first; p; p = p->next) {
        artel__program_memory m;
        if (!p->program) continue;
        artel__step_program_name(x, p, name, sizeof name);
        artel__program_memory_read(p->program, &m);
        artel__text_printf(out, "program %s", name);
        if (m.scratch >= 0)
            artel__text_printf(out, ": arguments %lld, results %lld, in place %lld, scratch %lld bytes",
                               (long long)m.arguments, (long long)m.results, (long long)m.shared, (long long)m.scratch);
        artel__text_append(out, "\n");
    }
    artel__step_summary(x, out);
}
