/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that one end hands to the other: see net/shared.h. What the other end says of its blocks is not trusted:
 * descriptors are looked at before they are mapped, places before they are read. */
#include <sys/mman.h>
#include <unistd.h>

#include "net/shared_impl.h"

/* -- the lender -- */

static bool has_been_handed(const artel__shared *s, uint64_t id)
{
    for (int i = 0; i < s->handeds; i++) {
        if (s->handed[i] == id) return true;
    }
    return false;
}

bool artel__shared_hand(artel__shared *s, const artel__lendable *block)
{
    if (has_been_handed(s, block->id)) return true;
    if (s->handeds == ARTEL__SHARED_BLOCKS || !artel__shared_send_descriptors(s->pass, block->id, &block->fd, 1))
        return false;
    s->handed[s->handeds++] = block->id;
    return true;
}

uint64_t artel__shared_next_freed(artel__shared *s)
{
    uint64_t frees = s->handeds > 0 ? artel__lendable_frees(s->ctx) : s->frees_seen;
    for (int i = 0; i < s->handeds && frees != s->frees_seen; i++) {
        uint64_t id = s->handed[i];
        if (artel__is_lendable(s->ctx, id)) continue;
        s->handed[i] = s->handed[--s->handeds];
        return id;
    }
    s->frees_seen = frees;
    return 0;
}

uint64_t artel__shared_recalls(const artel__shared *s)
{
    return atomic_load_explicit(&s->segment->side[s->side].recalls, memory_order_relaxed);
}

/* The count is there before anything is written to the memory. */
void artel__shared_recall(artel__shared *s)
{
    atomic_fetch_add(&s->segment->side[s->side].recalls, 1);
    atomic_thread_fence(memory_order_seq_cst);
}

/* -- the borrower -- */

/* Maps a block that has come and puts it into the list. */
static bool add_block(artel__shared *s, uint64_t id, int fd)
{
    void *block, *memory;
    size_t bytes;
    if (s->blocks == ARTEL__SHARED_BLOCKS || !artel__is_sealed_file(fd, &bytes)) return false;
    if (artel__calloc(s->ctx, 1, sizeof(artel__shared_block), "shared memory", &block) < 0) return false;
    memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (memory == MAP_FAILED) {
        artel__free(s->ctx, block);
        return false;
    }
    artel__shared_block *b = block;
    *b = (artel__shared_block){
        .next = s->block, .ctx = s->ctx, .owner = s, .id = id, .memory = memory, .bytes = bytes, .users = 1};
    s->block = b;
    s->blocks++;
    return true;
}

static artel__shared_block **find(artel__shared *s, uint64_t id)
{
    artel__shared_block **at = &s->block;
    while (*at && (*at)->id != id) at = &(*at)->next;
    return at;
}

artel__shared_block *artel__shared_borrow(artel__shared *s, uint64_t id)
{
    artel__shared_block *found = *find(s, id);
    while (!found) {
        uint64_t handed;
        int fd = -1;
        bool good = artel__shared_receive_descriptors(s->pass, &handed, &fd, 1) && !*find(s, handed) &&
                    add_block(s, handed, fd);
        if (fd >= 0) close(fd);
        if (!good) return NULL;
        found = *find(s, id);
    }
    found->users++;
    return found;
}

void artel__shared_drop(artel__shared_block *block)
{
    if (--block->users) return;
    munmap((void *)(uintptr_t)block->memory, block->bytes);
    artel__free(block->ctx, block);
}

bool artel__shared_is_from(const artel__shared_block *block, const artel__shared *s)
{
    return s && block->owner == s;
}

const uint8_t *artel__shared_at(const artel__shared_block *block, uint64_t offset, uint64_t bytes)
{
    return offset <= block->bytes && bytes <= block->bytes - offset ? block->memory + offset : NULL;
}

/* What was read was read before the count is. */
bool artel__shared_is_intact(const artel__shared_block *block, uint64_t recalls)
{
    const artel__shared *s = block->owner;
    atomic_thread_fence(memory_order_seq_cst);
    return s && atomic_load(&s->segment->side[1 - s->side].recalls) == recalls;
}

static void take_out(artel__shared *s, artel__shared_block **at)
{
    artel__shared_block *block = *at;
    *at = block->next;
    s->blocks--;
    block->owner = NULL;
    artel__shared_drop(block);
}

void artel__shared_forget(artel__shared *s, uint64_t id)
{
    artel__shared_block **at = find(s, id);
    if (*at) take_out(s, at);
}

void artel__shared_end_lending(artel__shared *s)
{
    while (s->block) take_out(s, &s->block);
}
