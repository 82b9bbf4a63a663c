/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a launched cluster: tasks, ports that stay reserved, what each task sees, certificates and their folder.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "launch/launch.h"
#include "net/cert.h"

static artel_context *ctx;

static int set_up(void **state)
{
    (void)state;
    return artel_context_create(NULL, &ctx);
}

static int tear_down(void **state)
{
    (void)state;
    artel_context_destroy(ctx);
    return 0;
}

static const char *const environment[] = {
    "HOME=/h",          "TF_CONFIG=old",  "ARTEL_TASK=ps:9", "ARTEL_CLUSTER_FILE=x",
    "ARTEL_WORKERS=77", "ARTEL_EPOCHS=3", "TMPDIR=/tmp",     NULL,
};
static const char *const words[] = {"/bin/prog", "a b", "it's", "", NULL};

static const char *find(const artel__launch_task *task, const char *name)
{
    const char *found = NULL;
    for (const char *const *entry = task->environment; *entry; entry++) {
        if (strncmp(*entry, name, strlen(name)) != 0 || (*entry)[strlen(name)] != '=') continue;
        assert_null(found); /* each once */
        found = *entry + strlen(name) + 1;
    }
    return found;
}

static const char *lookup(void *user, const char *name)
{
    return find(user, name);
}

static void test_tasks(void **state)
{
    static const char *const names[] = {"chief:0", "worker:0", "worker:1", "ps:0", "ps:1", "evaluator:0"};
    const artel__launch_wish wish = {
        .workers = 3, .chief = true, .ps = 2, .evaluator = true, .cores = 13, .environment = environment};
    artel__launch launch;
    (void)state;
    assert_int_equal(artel__launch_open(ctx, &wish, &launch), ARTEL_OK);
    assert_int_equal(artel__launch_set_program(&launch, words), ARTEL_OK);
    assert_int_equal(launch.tasks, 6);
    for (int i = 0; i < launch.tasks; i++) {
        artel__launch_task *task = &launch.task[i];
        artel__cluster seen; /* the task's own view, through the resolver that it will use */
        assert_string_equal(task->name, names[i]);
        assert_int_equal(artel__cluster_resolve(ctx, lookup, task, NULL, &seen), ARTEL_OK);
        assert_string_equal(seen.resolver, "tf-config");
        assert_int_equal(seen.tasks, 5);
        assert_int_equal(seen.self.type, task->task.type);
        assert_int_equal(seen.self.index, task->task.index);
        assert_int_equal(seen.trainers, 3);
        artel__cluster_fini(&seen);
        assert_string_equal(find(task, "ARTEL_THREADS"), "2");
        assert_string_equal(find(task, "ARTEL_EPOCHS"), "3");
        assert_null(find(task, "ARTEL_WORKERS"));
        assert_null(find(task, "ARTEL_CLUSTER_FILE"));
        assert_null(find(task, "ARTEL_CERT_DIR"));
    }
    artel__launch_close(&launch);
    artel__launch_close(&launch);
}

static bool can_bind(int port, bool reuse)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = reuse;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    bool good = bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 1) == 0;
    close(fd);
    return good;
}

/* Nobody is given a reserved port; the task itself may listen there, again and again. */
static void test_ports(void **state)
{
    const artel__launch_wish wish = {.workers = 50, .cores = 1, .environment = environment};
    artel__launch launch;
    (void)state;
    assert_int_equal(artel__launch_open(ctx, &wish, &launch), ARTEL_OK);
    for (int i = 0; i < launch.tasks; i++) {
        artel__host_port at;
        assert_null(artel__host_port_parse(launch.task[i].task.address, &at));
        assert_string_equal(at.host, "127.0.0.1");
        assert_true(can_bind(at.port, true));
        assert_true(can_bind(at.port, true));
        assert_false(can_bind(at.port, false));
    }
    artel__launch_close(&launch);
}

static void test_cores(void **state)
{
    artel__launch_wish wish = {.workers = 3, .cores = 2, .pin = true, .environment = environment};
    artel__launch launch;
    (void)state;
    assert_int_equal(artel__launch_open(ctx, &wish, &launch), ARTEL_OK);
    assert_int_equal(launch.threads, 1); /* more tasks than cores */
    for (int i = 0; i < launch.tasks; i++) assert_int_equal(launch.task[i].cores, 1);
    artel__launch_close(&launch);
    wish.threads = 5;
    wish.pin = false;
    assert_int_equal(artel__launch_open(ctx, &wish, &launch), ARTEL_OK);
    assert_int_equal(artel__launch_set_program(&launch, words), ARTEL_OK);
    assert_string_equal(find(&launch.task[2], "ARTEL_THREADS"), "5");
    assert_int_equal(launch.task[2].cores, 0);
    artel__launch_close(&launch);
    wish.workers = ARTEL__LAUNCH_MAX_TASKS + 1;
    assert_int_equal(artel__launch_open(ctx, &wish, &launch), ARTEL_ERROR_INVALID);
    artel_context_clear(ctx);
}

static void test_describe(void **state)
{
    const artel__launch_wish wish = {.workers = 2, .cores = 2, .insecure = true, .environment = environment};
    artel__launch launch;
    artel__text text;
    (void)state;
    assert_int_equal(artel__launch_open(ctx, &wish, &launch), ARTEL_OK);
    assert_int_equal(artel__launch_set_program(&launch, words), ARTEL_OK);
    artel__text_init(&text, ctx);
    artel__launch_describe(&launch, &text);
    assert_true(artel__starts_with(text.data, "# worker 0\nTF_CONFIG='{\"cluster\": {\"worker\": [\"127.0.0.1:"));
    assert_true(artel__ends_with(
        text.data, " ARTEL_TASK=worker:1 ARTEL_THREADS=1 ARTEL_INSECURE_NETWORK=true /bin/prog 'a b' 'it'\\''s' ''\n"));
    artel__text_fini(&text);
    artel__launch_close(&launch);
}

static void test_certificates(void **state)
{
    const artel__launch_wish wish = {
        .workers = 2, .evaluator = true, .cores = 1, .certified = true, .environment = environment};
    artel__launch launch;
    artel__tls_files files;
    struct stat info;
    char folder[256];
    (void)state;
    assert_int_equal(artel__launch_open(ctx, &wish, &launch), ARTEL_OK);
    artel_status status = artel__launch_prepare(&launch);
    if (status == ARTEL_ERROR_UNSUPPORTED) { /* a build without the part */
        artel__launch_close(&launch);
        artel_context_clear(ctx);
        skip();
    }
    assert_int_equal(status, ARTEL_OK);
    assert_int_equal(artel__launch_set_program(&launch, words), ARTEL_OK);
    snprintf(folder, sizeof folder, "%s", launch.folder);
    assert_int_equal(stat(folder, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    for (int i = 0; i < launch.tasks; i++)
        assert_int_equal(artel__cert_locate(&launch.arena, find(&launch.task[i], "ARTEL_CERT_DIR"), NULL, &files),
                         ARTEL_OK);
    const char *key = artel__arena_printf(&launch.arena, "%s/ca.key", folder);
    assert_false(artel__file_exists(key)); /* nobody can be admitted any more */

    /* the same certificates, given by hand: one is missing */
    artel__launch_wish given = wish;
    artel__launch other;
    given.cert_dir = folder;
    assert_int_equal(artel__launch_open(ctx, &given, &other), ARTEL_OK);
    assert_int_equal(artel__launch_prepare(&other), ARTEL_OK);
    artel__launch_close(&other);
    given.ps = 1;
    assert_int_equal(artel__launch_open(ctx, &given, &other), ARTEL_OK);
    assert_int_equal(artel__launch_prepare(&other), ARTEL_ERROR_NOT_FOUND);
    artel__launch_close(&other);
    artel_context_clear(ctx);

    artel__launch_close(&launch);
    assert_false(artel__file_exists(folder));
}

/* Each allocation fails once: an error or a plan, and nothing leaks. */
static void test_memory(void **state)
{
    const artel__launch_wish wish = {.workers = 3, .chief = true, .cores = 4, .pin = true, .environment = environment};
    int failures = 0;
    (void)state;
    for (uint64_t n = 1;; n++) {
        artel__launch launch = {0};
        uint64_t before = artel__heap_calls(ctx);
        artel__fail_allocation_after(ctx, n);
        artel_status status = artel__launch_open(ctx, &wish, &launch);
        if (status == ARTEL_OK) status = artel__launch_set_program(&launch, words);
        artel__launch_close(&launch);
        artel__fail_allocation_after(ctx, 0);
        artel_context_clear(ctx);
        if (status == ARTEL_OK && artel__heap_calls(ctx) - before < n) break;
        assert_int_equal(status, ARTEL_ERROR_NO_MEMORY);
        failures++;
    }
    assert_true(failures > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tasks),    cmocka_unit_test(test_ports),        cmocka_unit_test(test_cores),
        cmocka_unit_test(test_describe), cmocka_unit_test(test_certificates), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
