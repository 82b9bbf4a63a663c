/* SPDX-License-Identifier: Apache-2.0 */
/* What a platform does with the topology of a device that is not here (target.c). */
#include "device/platform_impl.h"

void artel__platform_close_target(artel__platform *p)
{
    artel__pjrt_error ignored;
    if (!p->target) return;
    PJRT_TopologyDescription_Destroy_Args args = {.struct_size = PJRT_TopologyDescription_Destroy_Args_STRUCT_SIZE,
                                                  .topology = p->target};
    artel__pjrt_failed(p->api, p->api->PJRT_TopologyDescription_Destroy(&args), &ignored);
}

PJRT_Error *artel__target_compile(artel__platform *platform, const PJRT_Program *program, const artel__text *options,
                                  PJRT_Executable **out)
{
    PJRT_Compile_Args args = {.struct_size = PJRT_Compile_Args_STRUCT_SIZE,
                              .topology = platform->target,
                              .program = program,
                              .compile_options = options->data,
                              .compile_options_size = options->length};
    PJRT_Error *error = platform->api->PJRT_Compile(&args);
    if (!error) *out = args.executable;
    return error;
}
