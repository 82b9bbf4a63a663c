/* SPDX-License-Identifier: Apache-2.0 */
/* What the HDF5 helper may no longer do once it looks at a file. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "keras/hdf5_helper/helper.h"

enum {
    KEPT = 0,
    OPENED = 1,
    CONNECTED = 2,
    FORKED = 3,
    NO_MEMORY = 4,
    UNLIMITED = 5,
    NO_FILTER = 6
};

static int misbehave(void)
{
    helper_limit(1 << 20, 5);
    helper_sandbox();
    if (prctl(PR_GET_SECCOMP) >= 0) return NO_FILTER; /* the filter refuses the question */
    if (open("/etc/passwd", O_RDONLY) >= 0 || errno != EPERM) return OPENED;
    if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0) return CONNECTED;
    if (fork() >= 0) return FORKED;
    void *block = malloc(64 << 20);
    if (!block) return NO_MEMORY;
    free(block);
    void *volatile huge = malloc((size_t)8 << 30); /* volatile: a compiler may otherwise answer for malloc */
    free(huge);
    return huge ? UNLIMITED : KEPT;
}

static void test_sandbox(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(misbehave());
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_FILTER) skip(); /* sanitizers, or a system without seccomp */
    assert_int_equal(WEXITSTATUS(status), KEPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sandbox)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
