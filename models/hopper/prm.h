/*
 * Hopper's mbarrier object: the 64-bit word in shared memory as an H200 keeps it.
 *
 * NVIDIA calls the word opaque (PTX ISA 9.0, section 9.7.13.15.1, "mbarrier object"). The layout here is what silicon
 * shows: it reproduces the vectors in traces/samples/hopper_mbarrier_h200.jsonl.xz, and agrees with the public readings
 * of reed-lau/cute-gemm mbarrier/main.cu. Print it as a diagnostic, never promise it. C and C++ (CUDA) clean.
 */
#ifndef BELFRY_MODELS_HOPPER_PRM_H
#define BELFRY_MODELS_HOPPER_PRM_H

#include "sim/bytes.h"
#include "sim/compiler.h"

/* Counts are stored negated, in two's complement of their field's width. */
#define BF_MBAR_PHASE BF_MASK(63, 63)
#define BF_MBAR_PENDING BF_MASK(62, 43)
#define BF_MBAR_LOCK BF_MASK(42, 42) /* 0 in every legal state seen */
#define BF_MBAR_TX BF_MASK(41, 21)
#define BF_MBAR_EXPECTED BF_MASK(20, 1)

#define BF_MBAR_COUNT_MAX ((1u << 20) - 1) /* PTX ISA: arrival counts are 1 to 2^20 - 1 */

#endif
