/* SPDX-License-Identifier: Apache-2.0 */
/* The life of the helper: take the input, shed rights, convert, answer. See helper.h.
 *
 * The order matters: everything that needs more than reading, writing and memory (libhdf5's own initialisation, the
 * time zone) happens before the sandbox closes, and no byte of the input is interpreted before that.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "helper.h"

static helper_input map_input(void)
{
    struct stat info;
    if (fstat(ARTEL__WIRE_INPUT, &info) != 0 || info.st_size <= 0)
        helper_fail(HELPER_INVALID, false, "the input is not there");
    helper_input input = {.size = (uint64_t)info.st_size};
    void *at = mmap(NULL, (size_t)input.size, PROT_READ, MAP_PRIVATE, ARTEL__WIRE_INPUT, 0);
    if (at == MAP_FAILED) helper_fail(HELPER_MEMORY, false, "no memory for %llu bytes", (unsigned long long)input.size);
    input.bytes = at;
    return input;
}

static int usage(void)
{
    static const char text[] =
        "artel-hdf5 is started by artel to read and write HDF5 files; it is of no use by itself.\n"
        "If artel says that it is of another version, reinstall artel as a whole.\n";
    return write(STDERR_FILENO, text, sizeof text - 1) > 0 ? 1 : 3;
}

int main(int argc, char **argv)
{
    if (argc != 4 || (strcmp(argv[1], "read") != 0 && strcmp(argv[1], "write") != 0)) return usage();
    close_range(ARTEL__WIRE_MESSAGE + 1, ~0u, 0);
    if (strcmp(argv[2], ARTEL__WIRE_VERSION) != 0)
        helper_fail(HELPER_UNSUPPORTED, false, "artel-hdf5 is of another version");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    tzset();
    helper_input input = map_input();
    helper_limit(input.size, (unsigned)strtoul(argv[3], NULL, 10));
    if (H5open() < 0) helper_fail(HELPER_UNSUPPORTED, true, "libhdf5 does not start");
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    helper_sandbox();
    if (strcmp(argv[1], "write") == 0) {
        helper_write(&input);
    } else {
        static helper_output out;
        helper_begin(&out, artel__wire_limit(input.size));
        helper_read(&input, &out);
        helper_end(&out);
    }
    _exit(0);
}
