/* SPDX-License-Identifier: Apache-2.0 */
/* What the helper may still do: compute, allocate, read and write what it has open.
 *
 * The seccomp filter is written by hand: thirty numbers in a table. System calls that are not in it fail with EPERM
 * rather than kill, so that a libhdf5 that asks for the time zone goes on. Where a filter cannot be installed (old
 * kernels, some containers) the separate process and the limits remain. Sanitizers need more of both, so builds with
 * them do without.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "helper.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if !defined(SANITIZED) && defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#else
#define MACHINE 0
#endif

static const unsigned short allowed[] = {
    SYS_read,         SYS_write,         SYS_pread64,   SYS_pwrite64,   SYS_lseek,
    SYS_fstat,        SYS_newfstatat,    SYS_ftruncate, SYS_mmap,       SYS_munmap,
    SYS_mremap,       SYS_mprotect,      SYS_madvise,   SYS_brk,        SYS_futex,
    SYS_close,        SYS_rt_sigaction,  SYS_exit,      SYS_getpid,     SYS_rt_sigprocmask,
    SYS_rt_sigreturn, SYS_clock_gettime, SYS_getrandom, SYS_exit_group, SYS_gettimeofday,
};

#define ALLOWED (sizeof allowed / sizeof allowed[0])

static void set_limit(int which, uint64_t value)
{
    struct rlimit limit = {.rlim_cur = (rlim_t)value, .rlim_max = (rlim_t)value};
    struct rlimit now;
    if (getrlimit(which, &now) == 0 && now.rlim_max < limit.rlim_max) limit.rlim_cur = limit.rlim_max = now.rlim_max;
    setrlimit(which, &limit);
}

void helper_limit(uint64_t input_size, unsigned seconds)
{
    set_limit(RLIMIT_CORE, 0);
    set_limit(RLIMIT_CPU, seconds);
    if (SANITIZED) return;
    signal(SIGXFSZ, SIG_IGN);
    set_limit(RLIMIT_AS, ((uint64_t)1 << 30) + 4 * input_size);
    set_limit(RLIMIT_FSIZE, artel__wire_limit(input_size));
}

static struct sock_filter statement(unsigned code, unsigned value)
{
    return (struct sock_filter){.code = (unsigned short)code, .k = value};
}

void helper_sandbox(void)
{
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (SANITIZED || MACHINE == 0) return;
    const unsigned refuse = SECCOMP_RET_ERRNO | EPERM;
    struct sock_filter filter[ALLOWED + 6];
    size_t n = 0;
    filter[n++] = statement(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    filter[n] = statement(BPF_JMP | BPF_JEQ | BPF_K, MACHINE);
    filter[n++].jt = 1;
    filter[n++] = statement(BPF_RET | BPF_K, refuse);
    filter[n++] = statement(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < ALLOWED; i++) {
        filter[n] = statement(BPF_JMP | BPF_JEQ | BPF_K, allowed[i]);
        filter[n++].jt = (unsigned char)(ALLOWED - i); /* to the last statement */
    }
    filter[n++] = statement(BPF_RET | BPF_K, refuse);
    filter[n++] = statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = (unsigned short)n, .filter = filter};
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
