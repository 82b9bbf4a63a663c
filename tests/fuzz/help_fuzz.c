/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target without libFuzzer: every seed, every seed cut at every length, then seeds with random changes
 * until the time is over. So the targets run in every build, under every sanitizer, with every compiler.
 *
 *   fuzz_<x> [SECONDS [SEED]]    a second with seed 1; with ARTEL_LONG 215 seconds with a seed of the clock, so that
 * all make an hour fuzz_<x> FILE                that input alone, as a failure has written it fuzz_<x> --seeds FOLDER
 * writes the seeds there, a file each
 *
 * On a failure the input goes to fuzz_<x>.input in the working directory. Coverage guides nothing here: scripts/fuzz
 * does that.
 */
#include "fuzz/help_fuzz.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum {
    MOST = 8192,
    SEEDS = 64
};

typedef struct input {
    uint8_t bytes[MOST];
    size_t size;
} input;

static input seed_input[SEEDS], current;
static unsigned seeds;
static uint64_t state;
static char failure[64];

/* Of the sanitizers' run time, which is not there in other builds: called before they end the process. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void keep(void)
{
    int fd = open(failure, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ssize_t n = fd >= 0 ? write(fd, current.bytes, current.size) : 0;
    n = write(STDERR_FILENO, "the input is in ", 16) + n;
    n = write(STDERR_FILENO, failure, strlen(failure)) + n;
    n = write(STDERR_FILENO, "\n", 1) + n;
}

static void keep_and_end(int number)
{
    keep();
    signal(number, SIG_DFL);
    raise(number);
}

static void keep_failures(const char *program)
{
    const char *name = strrchr(program, '/');
    snprintf(failure, sizeof failure, "%.50s.input", name ? name + 1 : program);
    signal(SIGABRT, keep_and_end);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(keep);
    else
        signal(SIGSEGV, keep_and_end);
}

/* Of a copy of the right size, so that a sanitizer sees what is read behind it. */
static void run(void)
{
    uint8_t *copy = malloc(current.size ? current.size : 1);
    if (!copy) exit(1);
    memcpy(copy, current.bytes, current.size);
    LLVMFuzzerTestOneInput(copy, current.size);
    free(copy);
}

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return below ? (state >> 11) % below : 0;
}

static void insert(size_t at, const uint8_t *bytes, size_t n)
{
    if (n > MOST - current.size) n = MOST - current.size;
    memmove(current.bytes + at + n, current.bytes + at, current.size - at);
    memmove(current.bytes + at, bytes, n);
    current.size += n;
}

static void change(void)
{
    static const uint8_t odd[] = {0, 1, 0x7f, 0x80, 0xff, 0xfe, 0x40, 0x20};
    size_t at = draw(current.size + 1), n = draw(16) + 1;
    uint8_t some[16];
    for (size_t i = 0; i < sizeof some; i++) some[i] = (uint8_t)draw(256);
    const input *other = &seed_input[draw(seeds)];
    size_t from = draw(other->size);
    switch (draw(6)) {
    case 0:
        if (at < current.size) current.bytes[at] ^= (uint8_t)(1u << draw(8));
        break;
    case 1:
        if (at < current.size) current.bytes[at] = odd[draw(sizeof odd)];
        break;
    case 2: insert(at, some, n); break;
    case 3:
        if (n > current.size - at) n = current.size - at;
        memmove(current.bytes + at, current.bytes + at + n, current.size - at - n);
        current.size -= n;
        break;
    case 4: insert(at, other->bytes + from, draw(other->size - from + 1)); break;
    default:
        for (size_t i = at; i < current.size && i < at + n; i++) current.bytes[i] = some[i - at];
        break;
    }
}

static void cut_everywhere(void)
{
    for (unsigned s = 0; s < seeds; s++) {
        size_t pace = seed_input[s].size / 256 + 1;
        current = seed_input[s];
        for (;; current.size = current.size > pace ? current.size - pace : 0) {
            run();
            if (current.size == 0) break;
        }
    }
}

static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    current.size = fread(current.bytes, 1, MOST, file);
    fclose(file);
    run();
    return 0;
}

static int write_seeds(const char *folder)
{
    char path[512];
    for (unsigned s = 0; s < seeds; s++) {
        snprintf(path, sizeof path, "%s/seed-%u", folder, s);
        FILE *file = fopen(path, "wb");
        bool good = file && fwrite(seed_input[s].bytes, 1, seed_input[s].size, file) == seed_input[s].size;
        if (!file || fclose(file) != 0 || !good) {
            perror(path);
            return 1;
        }
    }
    return seeds ? 0 : 1;
}

static void read_seeds(void)
{
    while (seeds < SEEDS && (seed_input[seeds].size = artel_fuzz_seed(seeds, seed_input[seeds].bytes, MOST)) > 0)
        seeds++;
}

int main(int count, char **argument)
{
    if (count == 3 && strcmp(argument[1], "--seeds") == 0) {
        read_seeds();
        return write_seeds(argument[2]);
    }
    const char *wish = getenv("ARTEL_LONG");
    bool numbers = count > 1 && strspn(argument[1], "0123456789.") == strlen(argument[1]),
         patient = wish && wish[0] && wish[0] != '0';
    if (count > 1 && !numbers) return replay(argument[1]);
    double seconds = numbers ? strtod(argument[1], NULL) : patient ? 215 : 1;
    state = count > 2 ? strtoull(argument[2], NULL, 10) : patient ? (uint64_t)artel__now_ns() | 1 : 1;
    keep_failures(argument[0]);
    printf("seed %llu, %g s\n", (unsigned long long)state, seconds);
    fflush(stdout);
    read_seeds();
    cut_everywhere();
    int64_t until = artel__now_ns() + (int64_t)(seconds * 1e9);
    unsigned long long runs = 0;
    clock_t begun = clock();
    for (; artel__now_ns() < until; runs++) {
        current = seed_input[draw(seeds)];
        for (uint64_t i = draw(6) + 1; i > 0; i--) change();
        run();
    }
    double busy = (double)(clock() - begun) / CLOCKS_PER_SEC;
    printf("%u seeds, %llu executions, %.0f a second of processor time\n", seeds, runs,
           busy > 0 ? (double)runs / busy : 0);
    return seeds ? 0 : 1;
}
