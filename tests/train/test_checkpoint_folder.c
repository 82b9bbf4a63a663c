/* SPDX-License-Identifier: Apache-2.0 */
/* A checkpoint directory in which several processes are at work: whose half-written folders are swept, and one step
 * published by many at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/context.h"
#include "base/file.h"
#include "train/checkpoint_file.h"

static artel_context *ctx;
static char directory[] = "/tmp/artel-folders-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
    return mkdtemp(directory) ? artel_context_create(NULL, &ctx) : -1;
}

static int tear_down(void **state)
{
    (void)state;
    artel_status status = artel__remove_tree(ctx, directory);
    artel_context_destroy(ctx);
    return status;
}

static void make(const char *name, char path[ARTEL__CHECKPOINT_PATH])
{
    char file[ARTEL__CHECKPOINT_PATH + 8];
    snprintf(path, ARTEL__CHECKPOINT_PATH, "%s/%s", directory, name);
    assert_int_equal(artel__make_directory(ctx, path), ARTEL_OK);
    snprintf(file, sizeof file, "%s/state", path);
    assert_int_equal(artel__write_file(ctx, file, "abc", 3), ARTEL_OK);
}

static void make_for(const char *host, long pid, char path[ARTEL__CHECKPOINT_PATH])
{
    char name[200];
    snprintf(name, sizeof name, "tmp-ckpt-7.%s.%ld", host, pid);
    make(name, path);
}

static void make_old(const char *path)
{
    struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void test_only_what_the_dead_left_is_swept(void **state)
{
    char host[65] = "", alive[ARTEL__CHECKPOINT_PATH], dead[ARTEL__CHECKPOINT_PATH], own[ARTEL__CHECKPOINT_PATH];
    char far[ARTEL__CHECKPOINT_PATH], far_old[ARTEL__CHECKPOINT_PATH], odd[ARTEL__CHECKPOINT_PATH],
        whole[ARTEL__CHECKPOINT_PATH];
    (void)state;
    gethostname(host, sizeof host - 1);
    pid_t gone = fork();
    if (gone == 0) _exit(0);
    waitpid(gone, NULL, 0);
    make_for(host, getppid(), alive);
    make_old(alive);
    make_for(host, gone, dead);
    make_for(host, getpid(), own);
    make_old(own); /* of an earlier process with this number */
    make_for("far.example", gone, far);
    make_for("old.example", getppid(), far_old);
    make_old(far_old);
    make("tmp-ckpt-7.old", odd);
    make("ckpt-7", whole);
    assert_int_equal(artel__checkpoint_sweep(ctx, directory), ARTEL_OK);
    assert_true(artel__is_directory(alive) && artel__is_directory(far) && artel__is_directory(odd) &&
                artel__is_directory(whole));
    assert_false(artel__is_directory(dead) || artel__is_directory(own) || artel__is_directory(far_old));
}

static void test_the_newest_are_kept(void **state)
{
    static const char *const names[] = {"ckpt-5", "ckpt-30", "ckpt-200", "ckpt-9", "ckpt-x", "other"};
    char path[ARTEL__CHECKPOINT_PATH];
    int64_t *steps;
    int count;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) make(names[i], path);
    assert_int_equal(artel__checkpoint_thin(ctx, directory, 2), ARTEL_OK);
    assert_int_equal(artel__checkpoint_steps(ctx, directory, &steps, &count), ARTEL_OK);
    assert_true(count == 2 && steps[0] == 200 && steps[1] == 30);
    artel__free(ctx, steps);
    snprintf(path, sizeof path, "%s/other", directory);
    assert_true(artel__is_directory(path));
}

/* Whole checkpoints of steps 1 and 2. */
static void make_two(void)
{
    static const char manifest[] =
        "{\"step\": %d, \"files\": {\"state.safetensors\": "
        "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"}}"; /* SHA-256 of "abc" */
    for (int step = 1; step <= 2; step++) {
        char name[32], path[ARTEL__CHECKPOINT_PATH], file[ARTEL__CHECKPOINT_PATH + 32], text[256];
        snprintf(name, sizeof name, "ckpt-%d", step);
        make(name, path);
        snprintf(file, sizeof file, "%s/state.safetensors", path);
        assert_int_equal(artel__write_file(ctx, file, "abc", 3), ARTEL_OK);
        snprintf(file, sizeof file, "%s/manifest.json", path);
        snprintf(text, sizeof text, manifest, step);
        assert_int_equal(artel__write_file(ctx, file, text, strlen(text)), ARTEL_OK);
    }
}

/* An older checkpoint is not taken for want of memory: that would take work back. */
static void test_want_of_memory_is_told(void **state)
{
    artel_status status = ARTEL_ERROR_NO_MEMORY;
    (void)state;
    make_two();
    int64_t failures = 0;
    for (; status != ARTEL_OK; failures++) {
        char *folder;
        json_t *found;
        assert_in_range(failures, 0, 1000);
        artel__fail_allocation_after(ctx, failures + 1);
        status = artel__checkpoint_find(ctx, directory, &folder, &found);
        artel__fail_allocation_after(ctx, 0);
        if (status != ARTEL_OK) {
            assert_int_equal(status, ARTEL_ERROR_NO_MEMORY);
            assert_null(found);
            continue;
        }
        assert_int_equal(json_integer_value(json_object_get(found, "step")), 2);
        json_decref(found);
        artel__free(ctx, folder);
    }
    assert_true(failures > 4);
}

/* The step of what is found while the n-th call on a file fails; or the status. 0: there is none. */
static int64_t found_step(uint64_t n, int error)
{
    char *folder;
    json_t *found;
    artel__fail_file_after(ctx, n, error);
    artel_status status = artel__checkpoint_find(ctx, directory, &folder, &found);
    artel__fail_file_after(ctx, 0, 0);
    int64_t step = json_integer_value(json_object_get(found, "step"));
    if (status != ARTEL_OK) assert_null(found);
    json_decref(found);
    artel__free(ctx, folder);
    return status == ARTEL_OK ? step : status;
}

/* Nor because a file cannot be opened, looked at, read or mapped now. */
static void test_files_that_cannot_be_read_now_are_told(void **state)
{
    static const int error[] = {EMFILE, ENFILE, EIO, ESTALE, EACCES};
    (void)state;
    make_two();
    for (size_t i = 0; i < sizeof error / sizeof *error; i++) {
        uint64_t n = 1;
        for (int64_t got; (got = found_step(n, error[i])) != 2; n++) {
            assert_int_equal(got, error[i] == EACCES ? ARTEL_ERROR_INVALID : ARTEL_ERROR_IO);
            assert_non_null(strstr(artel_context_error(ctx)->where, "/ckpt-2/"));
            assert_in_range(n, 1, 100);
        }
        assert_true(n > 5);
    }
}

/* What another process removes, or has never finished, is no failure of this one. */
static void test_what_is_gone_is_passed_over(void **state)
{
    char path[ARTEL__CHECKPOINT_PATH];
    artel_checkpoint_info info;
    char *folder;
    json_t *manifest;
    (void)state;
    make_two();
    assert_int_equal(found_step(1, ENOENT), 1); /* between listing and opening */
    make("ckpt-3", path);                       /* without a manifest */
    assert_int_equal(found_step(0, 0), 2);
    assert_int_equal(found_step(1, ESTALE), 2); /* a handle of NFS whose file is gone */
    snprintf(path, sizeof path, "%s/ckpt-4", directory);
    assert_int_equal(artel__write_file(ctx, path, "abc", 3), ARTEL_OK); /* no folder */
    assert_int_equal(found_step(0, 0), 2);
    assert_int_equal(artel__checkpoint_newer(ctx, directory, 4, &info, &folder, &manifest), ARTEL_OK);
    assert_true(info.step == -1 && !manifest && artel_context_error(ctx)->status == ARTEL_OK);
    assert_int_equal(artel__remove_tree(ctx, path), ARTEL_OK);
    make("ckpt-4", path);
    strcat(path, "/manifest.json");
    assert_int_equal(artel__write_file(ctx, path, "{}", 2), ARTEL_OK);
    artel__fail_file_after(ctx, 1, EIO);
    assert_int_equal(artel__checkpoint_newer(ctx, directory, 4, &info, &folder, &manifest), ARTEL_ERROR_IO);
    artel__fail_file_after(ctx, 0, 0);
    assert_null(manifest);
}

/* Each process has a folder of its own, and all publish the same steps. */
static void publish(int number)
{
    artel_status status = ARTEL_OK;
    for (int step = 0; step < 200 && status == ARTEL_OK; step++) {
        char name[64], path[ARTEL__CHECKPOINT_PATH];
        snprintf(name, sizeof name, "tmp-ckpt-%d.h.%d", step, number);
        make(name, path);
        status = artel__checkpoint_publish(ctx, directory, path, step / 2);
        if (status == ARTEL_OK) status = artel__checkpoint_thin(ctx, directory, 3);
    }
    if (status < 0) fprintf(stderr, "%s: %s\n", artel_context_error(ctx)->where, artel_context_error(ctx)->what);
    _exit(status < 0);
}

static void test_many_publish_the_same_steps(void **state)
{
    pid_t all[3];
    artel__paths left;
    (void)state;
    for (int i = 0; i < 3; i++) {
        all[i] = fork();
        assert_true(all[i] >= 0);
        if (all[i] == 0) publish(i);
    }
    for (int i = 0; i < 3; i++) {
        int ended;
        assert_int_equal(waitpid(all[i], &ended, 0), all[i]);
        assert_int_equal(ended, 0);
    }
    assert_int_equal(artel__list_directory(ctx, directory, &left), ARTEL_OK);
    assert_int_equal(left.count, 3); /* and nothing that was put aside */
    for (size_t i = 0; i < left.count; i++) {
        char file[ARTEL__CHECKPOINT_PATH];
        assert_true(strncmp(left.items[i], "ckpt-", 5) == 0);
        snprintf(file, sizeof file, "%s/%.100s/state", directory, left.items[i]);
        assert_true(artel__file_exists(file));
    }
    artel__paths_fini(&left);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_only_what_the_dead_left_is_swept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_newest_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_want_of_memory_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files_that_cannot_be_read_now_are_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_gone_is_passed_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_publish_the_same_steps, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
