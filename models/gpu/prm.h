/*
 * Registers of an AMD GPU (GFX11, as in a Radeon RX 7900 XTX) that bear on the visibility of memory.
 *
 * Offsets are bytes in the register BAR: (segment base + offset in dwords) * 4. Those of GCVM and MMVM come from Linux
 * drivers/gpu/drm/amd/include/asic_reg/gc/gc_11_0_0_offset.h (segment 0 at 0x1260, segment 1 at 0xa000) and the
 * mmhub_3_0_0 header beside it. GCR_GENERAL_CNTL and the HDP flush registers are taken from tools and traces for the
 * same family, not from those headers: models and tests depend on their being distinct, not on their values. What each
 * register does to visibility was observed on that board (docs/hardware/gpu.md#vram) and is not documented. Layouts and
 * names only; drivers include this header too. C and C++ (CUDA) clean.
 */
#ifndef BELFRY_MODELS_GPU_PRM_H
#define BELFRY_MODELS_GPU_PRM_H

#include "sim/bytes.h"
#include "sim/compiler.h"

#define BF_GPU_REGS_SIZE 0x80000u

/* Invalidation engines of the graphics hub (GCVM) and of the multimedia hub (MMVM). */
#define BF_GPU_INVALIDATE_ENGINES 18u
#define BF_GPU_GCVM_INVALIDATE_ENG0_REQ 0xa42cu
#define BF_GPU_GCVM_INVALIDATE_ENG0_ACK 0xa474u
#define BF_GPU_MMVM_INVALIDATE_ENG0_REQ 0x69d8cu
#define BF_GPU_MMVM_INVALIDATE_ENG0_ACK 0x69dd4u

BF_FN uint32_t bf_gpu_gcvm_invalidate_req(uint32_t engine)
{
	return BF_GPU_GCVM_INVALIDATE_ENG0_REQ + 4 * engine;
}
BF_FN uint32_t bf_gpu_gcvm_invalidate_ack(uint32_t engine)
{
	return BF_GPU_GCVM_INVALIDATE_ENG0_ACK + 4 * engine;
}
BF_FN uint32_t bf_gpu_mmvm_invalidate_req(uint32_t engine)
{
	return BF_GPU_MMVM_INVALIDATE_ENG0_REQ + 4 * engine;
}
BF_FN uint32_t bf_gpu_mmvm_invalidate_ack(uint32_t engine)
{
	return BF_GPU_MMVM_INVALIDATE_ENG0_ACK + 4 * engine;
}

/* Engine 17 of the graphics hub is the one that Linux keeps for flushes of the GART. */
#define BF_GPU_GART_ENGINE 17u
#define BF_GPU_GCVM_INVALIDATE_ENG17_REQ 0xa470u
#define BF_GPU_GCVM_INVALIDATE_ENG17_ACK 0xa4b8u
BF_STATIC_ASSERT(BF_GPU_GCVM_INVALIDATE_ENG17_REQ == BF_GPU_GCVM_INVALIDATE_ENG0_REQ + 4 * BF_GPU_GART_ENGINE, "REQ");
BF_STATIC_ASSERT(BF_GPU_GCVM_INVALIDATE_ENG17_ACK == BF_GPU_GCVM_INVALIDATE_ENG0_ACK + 4 * BF_GPU_GART_ENGINE, "ACK");

/* Fields of every ..._INVALIDATE_ENGn_REQ; ..._ACK has one bit for each VMID that is done. */
#define BF_GPU_INVALIDATE_VMIDS BF_MASK(15, 0)
#define BF_GPU_INVALIDATE_FLUSH_TYPE BF_MASK(18, 16)
#define BF_GPU_INVALIDATE_L2_PTES BF_MASK(19, 19)
#define BF_GPU_INVALIDATE_L2_PDE0 BF_MASK(20, 20)
#define BF_GPU_INVALIDATE_L2_PDE1 BF_MASK(21, 21)
#define BF_GPU_INVALIDATE_L2_PDE2 BF_MASK(22, 22)
#define BF_GPU_INVALIDATE_L1_PTES BF_MASK(23, 23)
#define BF_GPU_INVALIDATE_CLEAR_FAULT BF_MASK(24, 24)
#define BF_GPU_INVALIDATE_LOG BF_MASK(25, 25)
#define BF_GPU_INVALIDATE_4K_ONLY BF_MASK(26, 26)

#define BF_GPU_FLUSH_LEGACY 0u
#define BF_GPU_FLUSH_LIGHTWEIGHT 1u
#define BF_GPU_FLUSH_HEAVYWEIGHT 2u

/* BIF_BX_PF0_GPU_HDP_FLUSH_REQ and _DONE: a bit for each client. */
#define BF_GPU_HDP_FLUSH_REQ 0x3898u
#define BF_GPU_HDP_FLUSH_DONE 0x389cu

/* Written from outside these reset the GPU. */
#define BF_GPU_GCVM_L2_CNTL2 0xa074u
#define BF_GPU_GCR_GENERAL_CNTL 0x2e640u

#endif
