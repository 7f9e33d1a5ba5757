/*
 * The whole of `belfry`, for programs that bring devices and workloads of their own (docs/adding-a-device.md).
 */
#ifndef BELFRY_TOOLS_CLI_PROGRAM_H
#define BELFRY_TOOLS_CLI_PROGRAM_H

#include "tools/workloads/family.h"

/*
 * Does what the command line asks for, and returns the exit code. `more`: families of workloads beside those of belfry,
 * ends with NULL; may be NULL. Devices are those of bf_device_at(). Once a process, from its main().
 */
int bf_main(int argc, char **argv, const struct bf_family *const *more);

#endif
