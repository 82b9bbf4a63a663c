/* SPDX-License-Identifier: Apache-2.0 */
/* What the chief does again and again. */
#include "help_chief.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

float chief_counted(void)
{
    float value = -1;
    check(artel_variable_read(job.counter, &value, 1) == ARTEL_OK, "read");
    return value;
}

void chief_schedule(artel_function *f, const artel_array *in, int inputs, artel_worker_data *data, artel_remote **out)
{
    check(artel_coordinator_schedule(job.coordinator, f, in, inputs, data, out) == ARTEL_OK, "schedule");
}

void chief_many(int count)
{
    for (int i = 0; i < count; i++) chief_schedule(job.count_up, NULL, 0, NULL, NULL);
}

void chief_join(void)
{
    check(artel_coordinator_join(job.coordinator) == ARTEL_OK, "join");
}

float chief_fetch_number(artel_remote *r)
{
    float value = -1;
    const artel_array out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = &value};
    check(artel_remote_fetch(r, &out, 1, NULL) == ARTEL_OK, "fetch");
    artel_remote_release(r);
    return value;
}

artel_coordinator_metrics chief_look(void)
{
    artel_coordinator_metrics m = {.struct_size = sizeof m};
    check(artel_coordinator_look(job.coordinator, &m) == ARTEL_OK, "look");
    return m;
}

void chief_name_file(char out[512], const char *type, int index)
{
    snprintf(out, 512, "%s/%s-%d", job.folder, type, index);
}

void chief_tell_process(void)
{
    char path[512], whole[520];
    chief_name_file(path, artel_cluster_role(job.cluster), artel_cluster_index(job.cluster));
    snprintf(whole, sizeof whole, "%s.new", path);
    FILE *file = fopen(whole, "w");
    check(file && fprintf(file, "%d", (int)getpid()) > 0 && fclose(file) == 0 && rename(whole, path) == 0, "%s", path);
}

int chief_process_of(const char *type, int index)
{
    char path[512];
    int process = 0;
    chief_name_file(path, type, index);
    FILE *file = fopen(path, "r");
    check(file && fscanf(file, "%d", &process) == 1 && fclose(file) == 0, "%s", path);
    return process;
}

void chief_kill(const char *type, int index)
{
    check(kill(chief_process_of(type, index), SIGKILL) == 0, "kill");
}

void chief_stop(const char *type, int index)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    char path[64], state = 0;
    int process = chief_process_of(type, index);
    check(kill(process, SIGSTOP) == 0, "signal");
    for (snprintf(path, sizeof path, "/proc/%d/stat", process); state != 'T'; nanosleep(&pause, NULL)) {
        FILE *file = fopen(path, "r");
        check(file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1 && fclose(file) == 0, "%s", path);
    }
}

void chief_end(const char *type, int index)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int process = chief_process_of(type, index);
    check(kill(process, SIGKILL) == 0, "kill");
    while (kill(process, 0) == 0) nanosleep(&pause, NULL);
}

void chief_await_servers(void)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    artel_remote *r;
    static int most = 2; /* a chief that begins waits for all */
    for (int here = 0; here < most; nanosleep(&pause, NULL)) {
        here = chief_look().servers;
        if (here > most) most = here;
    }
    const float zero[COORDINATOR_BATCH] = {0};
    const artel_array in = {ARTEL_DTYPE_FLOAT32, {1, {COORDINATOR_BATCH}}, (void *)(uintptr_t)zero};
    chief_schedule(job.caching, &in, 1, NULL, &r); /* it writes nothing */
    check(artel_remote_fetch(r, NULL, 0, NULL) == ARTEL_OK, "fetch");
    artel_remote_release(r);
}

const char *chief_device(void)
{
    return getenv("ARTEL_CLOSURE_DEVICE");
}

bool chief_agree(float far, float alone)
{
    return chief_device() ? fabsf(far - alone) <= 1e-4f * fabsf(alone) + 1e-6f : memcmp(&far, &alone, sizeof far) == 0;
}

void chief_check_model(artel_model *far, artel_model *alone, const char *rule)
{
    char ours[65], truth[65];
    check(artel_model_digest(far, ours) == ARTEL_OK && artel_model_digest(alone, truth) == ARTEL_OK, "digest");
    check(chief_device() || strcmp(ours, truth) == 0, "%s: %s, not %s", rule, ours, truth);
}

void chief_say(void *user, artel_log_level level, const char *text)
{
    (void)user;
    (void)level;
    fprintf(stderr, "%s\n", text);
}
