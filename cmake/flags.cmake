# SPDX-License-Identifier: Apache-2.0
# How everything is compiled. The target artel_flags carries it; nothing is set globally but the build types.
#
# Bits are a promise, so the arithmetic flags are the same in every build type and with every compiler: no contraction
# of a*b+c, no fast-math, no -march=native. -fno-math-errno changes no arithmetic (it lets sqrtf be one instruction).

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or Sanitize" FORCE)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O2 -g -DNDEBUG" CACHE STRING "" FORCE)
set(CMAKE_C_FLAGS_DEBUG "-O0 -g" CACHE STRING "" FORCE)
set(CMAKE_C_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer" CACHE STRING "" FORCE)
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_SKIP_INSTALL_RPATH ON)
set(THREADS_PREFER_PTHREAD_FLAG ON)
if(NOT CMAKE_C_COMPILER_LAUNCHER)
    find_program(ARTEL_CCACHE ccache)
    if(ARTEL_CCACHE)
        set(CMAKE_C_COMPILER_LAUNCHER ${ARTEL_CCACHE})
    endif()
endif()

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)

add_library(artel_flags INTERFACE)
target_compile_definitions(artel_flags INTERFACE _GNU_SOURCE ARTEL_VERSION="${PROJECT_VERSION}")
target_include_directories(artel_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_compile_options(artel_flags INTERFACE
    -pedantic -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes $<$<BOOL:${ARTEL_WERROR}>:-Werror>
    -ffp-contract=off -fno-math-errno -fno-common -fstack-protector-strong)
target_link_options(artel_flags INTERFACE -Wl,--as-needed -Wl,-z,relro -Wl,-z,noexecstack)
target_link_libraries(artel_flags INTERFACE Threads::Threads)
if(ARTEL_SANITIZE)
    target_compile_options(artel_flags INTERFACE -fsanitize=${ARTEL_SANITIZE} -fno-sanitize-recover=all)
    find_program(ARTEL_LLD ld.lld)
    if(ARTEL_LLD)
        target_link_options(artel_flags INTERFACE -fuse-ld=lld) # a few times faster with these programs
    endif()
    target_link_options(artel_flags INTERFACE -fsanitize=${ARTEL_SANITIZE} -fno-sanitize-recover=all)
endif()

# For code that a sanitizer's build runs seldom.
set(ARTEL_COLD_FLAGS $<$<CONFIG:Sanitize>:-O0>)

# What the library itself stands on; everything else is a part (parts.cmake).
add_library(artel_needs INTERFACE)
target_link_libraries(artel_needs INTERFACE artel_flags PkgConfig::JANSSON PkgConfig::ZLIB m ${CMAKE_DL_LIBS})

# Kernels: optimised harder, and one instruction set for each file name ending.
set(ARTEL_AVX2_FLAGS -mavx2 -mfma -mf16c)
set(ARTEL_AVX512_FLAGS ${ARTEL_AVX2_FLAGS} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
set(ARTEL_AVX512_BF16_FLAGS ${ARTEL_AVX512_FLAGS} -mavx512bf16)
set(ARTEL_AMX_FLAGS ${ARTEL_AVX512_BF16_FLAGS} -mamx-tile -mamx-bf16)
# With AVX-512 the optimiser takes longest. What tests build for this machine alone (scripts/build-variant) is not optimised where it cannot
# run. Sanitizers stop at AVX2, whose files have the same bodies: with AVX-512 these took minutes to instrument, or were not instrumented.
set(ARTEL_COLD_KERNELS "")
if(CMAKE_BUILD_TYPE STREQUAL "Sanitize")
    set(ARTEL_COLD_KERNELS "avx512|avx512_bf16|amx")
    set(ARTEL_ISA_MOST ARTEL__ISA_MOST=ARTEL__ISA_AVX2)
    set_source_files_properties(${PROJECT_SOURCE_DIR}/src/base/isa.c PROPERTIES COMPILE_DEFINITIONS ${ARTEL_ISA_MOST})
elseif(CMAKE_BUILD_TYPE STREQUAL "Plain" AND EXISTS /proc/cpuinfo)
    file(STRINGS /proc/cpuinfo avx512 REGEX "^flags.* avx512f( |$)" LIMIT_COUNT 1)
    if(NOT avx512)
        set(ARTEL_COLD_KERNELS "avx512|avx512_bf16|amx")
    endif()
endif()
function(artel_kernel_flags file result)
    set(flags -fno-stack-protector)
    if(ARTEL_COLD_KERNELS AND file MATCHES "_(${ARTEL_COLD_KERNELS})\\.c$")
        list(APPEND flags -O0)
        if(ARTEL_SANITIZE) # to be linked, never run: not even what is always inlined is, which takes clang seconds
            list(APPEND flags -fno-sanitize=all -Xclang -disable-llvm-passes)
        endif()
    else()
        list(APPEND flags $<$<NOT:$<CONFIG:Debug,Sanitize>>:-O3>)
    endif()
    if(file MATCHES "_amx\\.c$")
        list(APPEND flags ${ARTEL_AMX_FLAGS})
    elseif(file MATCHES "_avx512_bf16\\.c$")
        list(APPEND flags ${ARTEL_AVX512_BF16_FLAGS})
    elseif(file MATCHES "_avx512\\.c$")
        list(APPEND flags ${ARTEL_AVX512_FLAGS})
    elseif(file MATCHES "_avx2\\.c$")
        list(APPEND flags ${ARTEL_AVX2_FLAGS})
    endif()
    # Kernels see shapes that have been checked and no byte of a stranger: nothing guides a fuzzer there.
    if(ARTEL_SANITIZE MATCHES "fuzzer")
        list(APPEND flags -fno-sanitize=fuzzer-no-link)
    endif()
    # Unrolled loops over vectors take clang longest: the address is checked by a call there, and once, by ASan.
    if(ARTEL_SANITIZE MATCHES "address" AND file MATCHES "/kernel/(simd|vector)/")
        list(APPEND flags -fno-sanitize=alignment,null,pointer-overflow,object-size
            -mllvm -asan-instrumentation-with-call-threshold=0)
    endif()
    # Each index of an unrolled loop checked for overflow is two thirds of these four's time.
    if(ARTEL_SANITIZE MATCHES "undefined" AND file MATCHES "/(conv|micro|product|product_gradient)_avx2\\.c$")
        list(APPEND flags -fno-sanitize=signed-integer-overflow)
    endif()
    set(${result} ${flags} PARENT_SCOPE)
endfunction()
function(artel_set_kernel_flags)
    foreach(file IN LISTS ARGN)
        artel_kernel_flags(${file} flags)
        set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "${flags}")
    endforeach()
endfunction()
