/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of the simulated processes. Each has a stack of its own, and runs when it is given its turn, until it gives it
 * back: as a context of one thread, which is a hundredth of the work of waking another. Sanitizers know threads only,
 * so there each is one, which sleeps while it has no turn. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "help_servers_impl.h"
#include "support/sanitized.h"

#if SUPPORT_SANITIZED

struct storm_turn {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool mine;
};

/* Gives the turn to the process, or back, and waits for it. */
static void hand(storm_turn *t, bool to_process)
{
    pthread_mutex_lock(&t->mutex);
    t->mine = to_process;
    pthread_cond_broadcast(&t->changed);
    while (t->mine == to_process) pthread_cond_wait(&t->changed, &t->mutex);
    pthread_mutex_unlock(&t->mutex);
}

static void *begin(void *user)
{
    process *p = user;
    storm_turn *t = p->turn;
    pthread_mutex_lock(&t->mutex);
    while (!t->mine) pthread_cond_wait(&t->changed, &t->mutex);
    pthread_mutex_unlock(&t->mutex);
    storm_live(p);
    pthread_mutex_lock(&t->mutex);
    p->state = PROCESS_OVER;
    t->mine = false;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->mutex);
    return NULL;
}

void storm_turn_create(process *p)
{
    p->turn = calloc(1, sizeof *p->turn);
    pthread_mutex_init(&p->turn->mutex, NULL);
    pthread_cond_init(&p->turn->changed, NULL);
    if (pthread_create(&p->turn->thread, NULL, begin, p) != 0) abort();
}

void storm_turn_give(process *p)
{
    hand(p->turn, true);
}

void storm_yield(process *p, process_state state)
{
    p->state = state;
    hand(p->turn, false);
}

void storm_turn_destroy(process *p)
{
    pthread_join(p->turn->thread, NULL);
    pthread_cond_destroy(&p->turn->changed);
    pthread_mutex_destroy(&p->turn->mutex);
    free(p->turn);
}

#else

#include <setjmp.h>
#include <ucontext.h>

enum {
    STACK = 1 << 20
};

/* From one stack to another by jumps, which spare the two system calls of swapcontext; a context only begins it. */
struct storm_turn {
    ucontext_t first;
    jmp_buf here, back;
    bool begun;
    void *stack;
};

/* A pointer comes as two numbers of the width that makecontext promises. */
static void begin(unsigned high, unsigned low)
{
    process *p = (process *)((uintptr_t)high << 32 | low);
    storm_live(p);
    p->state = PROCESS_OVER;
    _longjmp(p->turn->back, 1);
}

void storm_turn_create(process *p)
{
    storm_turn *t = p->turn = calloc(1, sizeof *p->turn);
    t->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (t->stack == MAP_FAILED || getcontext(&t->first) != 0) abort();
    t->first.uc_stack.ss_sp = t->stack;
    t->first.uc_stack.ss_size = STACK;
    makecontext(&t->first, (void (*)(void))begin, 2, (unsigned)((uintptr_t)p >> 32), (unsigned)(uintptr_t)p);
}

void storm_turn_give(process *p)
{
    storm_turn *t = p->turn;
    if (_setjmp(t->back) != 0) return;
    if (t->begun) _longjmp(t->here, 1);
    t->begun = true;
    setcontext(&t->first);
    abort();
}

void storm_yield(process *p, process_state state)
{
    p->state = state;
    if (_setjmp(p->turn->here) == 0) _longjmp(p->turn->back, 1);
}

void storm_turn_destroy(process *p)
{
    munmap(p->turn->stack, STACK);
    free(p->turn);
}

#endif
