/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a function, and what each replica has to run it with: made at the first run, given up when the ranks
 * change. */
#include "function/function_impl.h"

static int64_t rows_of_replica(const artel_function *f, int index)
{
    int64_t shards = f->strategy->options.shards, owned = artel__strategy_first_shard(f->strategy, index + 1) -
                                                          artel__strategy_first_shard(f->strategy, index);
    return (owned * f->strategy->options.batch_size + shards - 1) / shards;
}

/* Among several tasks every rank gets the rows of all; the first replica's go to the caller. */
static artel_status open_gathers(artel_function *f, artel__function_replica *replica)
{
    artel_strategy *s = f->strategy;
    replica->gathered = artel__arena_alloc(&f->place, (size_t)f->results + 1, sizeof *replica->gathered);
    replica->gathered_bytes = artel__arena_alloc(&f->place, (size_t)f->results + 1, sizeof *replica->gathered_bytes);
    ARTEL_TRY(artel__arena_status(&f->place));
    for (int i = 0; i < f->results; i++) {
        const artel__value *value = &f->graph.value[f->graph.kept[f->result[i].kept]];
        if (value->domain != ARTEL__DOMAIN_ROW) continue;
        size_t bytes = (size_t)(value->storage * s->options.batch_size) * artel_dtype_size(value->dtype) + 64;
        ARTEL_TRY(artel__alloc_aligned(s->ctx, bytes, "outputs", &replica->gathered[i]));
        replica->gathered_bytes[i] = bytes;
    }
    return ARTEL_OK;
}

static artel_status open_replica(artel_function *f, int index)
{
    artel_strategy *s = f->strategy;
    artel__function_replica *replica = &f->replica[index];
    int64_t rows = rows_of_replica(f, index);
    replica->buffer = artel__arena_alloc(&f->place, (size_t)f->fed + 1, sizeof *replica->buffer);
    replica->bytes = artel__arena_alloc(&f->place, (size_t)f->fed + 1, sizeof *replica->bytes);
    replica->start = artel__arena_alloc(&f->place, (size_t)s->options.shards + 1, sizeof *replica->start);
    replica->step = artel__arena_alloc(&f->place, (size_t)f->applies + 1, sizeof *replica->step);
    ARTEL_TRY(artel__arena_status(&f->place));
    for (int i = 0; i < f->fed; i++) {
        const artel__function_argument *a = &f->argument[i];
        size_t bytes =
            (size_t)artel_shape_count(&a->shape) * (size_t)(a->shared ? 1 : rows) * artel_dtype_size(a->dtype) + 64;
        ARTEL_TRY(artel__alloc_aligned(s->ctx, bytes, a->name, &replica->buffer[i]));
        replica->bytes[i] = bytes;
    }
    artel__execution_options options = {.state = s->state[index],
                                        .pool = s->pool[index],
                                        .comm = s->group ? artel__group_comm(s->group, index) : NULL,
                                        .index = index};
    if (s->ranks > s->plan.replicas && index > 0) ARTEL_TRY(open_gathers(f, replica));
    ARTEL_TRY(artel__execution_create(f->plan, &options, &replica->run));
    if (!artel__mesh_is_single(s->options.cluster)) /* members that come or go end what is under way */
        artel__execution_stop_when(replica->run, artel__mesh_stop_flag(s->options.cluster));
    return ARTEL_OK;
}

static artel_status join_replicas(artel_function *f)
{
    artel_strategy *s = f->strategy;
    artel__execution **all = artel__arena_alloc(&f->place, (size_t)s->plan.replicas, sizeof *all);
    if (!all) return ARTEL_ERROR_NO_MEMORY;
    for (int r = 0; r < s->plan.replicas; r++) all[r] = f->replica[r].run;
    return artel__execution_join(all, s->plan.replicas);
}

void artel__function_unplace(artel_function *f)
{
    artel_strategy *s = f->strategy;
    for (int r = 0; f->replica && r < s->plan.replicas; r++) {
        artel__function_replica *replica = &f->replica[r];
        artel__execution_destroy(replica->run);
        for (int i = 0; replica->bytes && i < f->fed; i++) {
            if (replica->bytes[i]) artel__free_aligned(s->ctx, replica->buffer[i], replica->bytes[i]);
        }
        for (int i = 0; replica->gathered_bytes && i < f->results; i++) {
            if (replica->gathered_bytes[i])
                artel__free_aligned(s->ctx, replica->gathered[i], replica->gathered_bytes[i]);
        }
    }
    artel__texts_close(f);
    artel__tables_close(f);
    artel__executable_destroy(f->plan);
    artel__arena_fini(&f->place);
    artel__arena_init(&f->place, s->ctx);
    f->replica = NULL;
    f->plan = NULL;
}

static artel_status make_plan(artel_function *f)
{
    artel_strategy *s = f->strategy;
    artel__plan_options options = {.batch_size = s->options.batch_size,
                                   .shards = (int32_t)s->options.shards,
                                   .replicas = s->ranks,
                                   .start = artel__strategy_runs(s),
                                   .isa = artel__context_isa(s->ctx),
                                   .common = s->common,
                                   .lends = s->group && artel__group_lends(s->group),
                                   .across = s->ranks > s->plan.replicas,
                                   .device_sums = true,
                                   .here = s->plan.replicas};
    const artel__device *device = s->devices ? &s->devices->device : &artel__cpu;
    ARTEL_TRY(artel__compile(s->ctx, device, &f->graph, &options, &f->plan));
    f->replica = artel__arena_alloc(&f->place, (size_t)s->plan.replicas, sizeof *f->replica);
    if (!f->replica) return ARTEL_ERROR_NO_MEMORY;
    for (int r = 0; r < s->plan.replicas; r++) ARTEL_TRY(open_replica(f, r));
    ARTEL_TRY(artel__texts_open(f));
    return s->common ? join_replicas(f) : ARTEL_OK;
}

artel_status artel__function_open(artel_function *f)
{
    if (f->replica) return ARTEL_OK;
    ARTEL_TRY(artel__strategy_open(f->strategy));
    artel_status status = make_plan(f);
    if (status < 0) artel__function_unplace(f);
    return status;
}

void artel__function_destroy(artel_function *f)
{
    artel_context *ctx = f->strategy->ctx;
    artel__function_unplace(f);
    artel__texts_end(f);
    artel__arena_fini(&f->place);
    artel__text_fini(&f->text);
    artel__arena_fini(&f->arena);
    artel__free(ctx, f);
}
