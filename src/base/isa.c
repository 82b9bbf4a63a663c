/* SPDX-License-Identifier: Apache-2.0 */
/* Instruction sets: their names, the best one of this machine, the one that is asked for. */
#include <string.h>

#include "base/context.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

static const char *const isa_names[ARTEL__ISA_COUNT] = {"baseline", "avx2", "avx512", "avx512_bf16", "amx"};

const char *artel__isa_name(artel__isa isa)
{
    return (unsigned)isa < ARTEL__ISA_COUNT ? isa_names[isa] : "unknown";
}

const char *artel__arithmetic_name(artel__arithmetic arithmetic)
{
    return arithmetic == ARTEL__ARITHMETIC_TILES ? "tiles" : "chain";
}

#if defined(__x86_64__)
/* By hand, for clang 14 does not know the name. */
static bool cpu_has_f16c(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}
#endif

#if defined(__x86_64__)
enum {
    CPU_AMX_BF16 = 1 << 22, /* leaf 7, EDX */
    CPU_AMX_TILE = 1 << 24,
    ARCH_REQUEST = 0x1023, /* ARCH_REQ_XCOMP_PERM of arch_prctl(2) */
    XFEATURE_XTILEDATA = 18
};

/* Whether the processor has AMX for bfloat16 and the kernel lets this process use it: the permission is asked for once
 * a process, and every thread made afterwards or before has it. */
static bool cpu_has_amx(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & CPU_AMX_BF16) || !(d & CPU_AMX_TILE)) return false;
#if defined(SYS_arch_prctl)
    return syscall(SYS_arch_prctl, ARCH_REQUEST, XFEATURE_XTILEDATA) == 0;
#else
    return false;
#endif
}
#endif

#ifndef ARTEL__ISA_MOST /* cmake/flags.cmake, where others are not built to run */
#define ARTEL__ISA_MOST ARTEL__ISA_AMX
#endif

static artel__isa best_of_machine(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && cpu_has_f16c();
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (avx512 && __builtin_cpu_supports("avx512bf16")) return cpu_has_amx() ? ARTEL__ISA_AMX : ARTEL__ISA_AVX512_BF16;
    return avx512 ? ARTEL__ISA_AVX512 : avx2 ? ARTEL__ISA_AVX2 : ARTEL__ISA_BASELINE;
#else
    return ARTEL__ISA_BASELINE;
#endif
}

artel__isa artel__isa_of_machine(void)
{
    artel__isa best = best_of_machine();
    return best < ARTEL__ISA_MOST ? best : ARTEL__ISA_MOST;
}

artel_status artel__isa_choose(const char *name, artel__isa *out)
{
    artel__isa best = artel__isa_of_machine();
    if (!name || !*name || strcmp(name, "auto") == 0) {
        *out = best;
        return ARTEL_OK;
    }
    for (int i = 0; i < ARTEL__ISA_COUNT; i++) {
        if (strcmp(name, isa_names[i]) != 0) continue;
        if (i > (int)best)
            return artel__fail(NULL, ARTEL_ERROR_UNSUPPORTED, "isa", "give \"auto\", or one that it has",
                               "this machine has no %s (the best it has is %s)", name, isa_names[best]);
        *out = (artel__isa)i;
        return ARTEL_OK;
    }
    return artel__fail(NULL, ARTEL_ERROR_INVALID, "isa",
                       "give \"auto\", \"baseline\", \"avx2\", \"avx512\", \"avx512_bf16\" or \"amx\"",
                       "there is no instruction set \"%.60s\"", name);
}
