/* What is printed of GPUs, IOMMUs and PCIe. */
#include <string.h>

#include "sim/bytes.h"
#include "sim/member.h"
#include "traces/evidence/evidence_internal.h"

/* Statuses of ROCr that stop a queue (hsa.h); others are of calls. */
static bool take_hsa(const struct bf_line *l, struct bf_evidence *e)
{
	(void)e;
	return bf_line_find(l, "APERTURE_VIOLATION|ERROR_EXCEPTION|MEMORY_FAULT|ILLEGAL_INSTRUCTION|PACKET_FORMAT") !=
	       NULL;
}

static bool take_cuda(const struct bf_line *l, struct bf_evidence *e)
{
	(void)e;
	return bf_line_find(l, "illegal memory access|misaligned address|unspecified launch|illegal instruction") !=
	       NULL;
}

/* ROCr: "HW Exception by GPU node-1 (Agent handle: 0x55d0) reason :GPU Hang". */
static bool take_hang(const struct bf_line *l, struct bf_evidence *e)
{
	(void)e;
	return bf_line_find(l, "GPU Hang") != NULL;
}

static bool take_exception(const struct bf_line *l, struct bf_evidence *e)
{
	return !take_hang(l, e);
}

/* CUDA's assert(): "FILE.cuh:12: poll: block: [0,0,0], thread: [1,0,0] Assertion `false` failed." */
static bool take_assert(const struct bf_line *l, struct bf_evidence *e)
{
	return (void)e, bf_line_find(l, "thread: [") != NULL;
}

/* deepseek-ai/DeepEP csrc/kernels/exception.cuh: "Assertion failed: FILE.cu:12, condition: CONDITION". */
static bool take_condition(const struct bf_line *l, struct bf_evidence *e)
{
	return (void)e, bf_line_find(l, ", condition: ") != NULL;
}

/* Linux: the line that names the sender, before 6.12 and since, and those that name the error. */
static bool take_aer(const struct bf_line *l, struct bf_evidence *e)
{
	(void)e;
	return bf_line_find(l, "error received: |error message received from |(First)|UnsupReq|CmpltTO") != NULL;
}

/* amdgpu: a ring that is none of a copy engine's. */
static bool take_other_ring(const struct bf_line *l, struct bf_evidence *e)
{
	return (void)e, !bf_line_of_copier(l);
}

#define GPU BF_EVIDENCE_GPU

static const struct bf_evidence_form forms[] = {
	/* Linux: drivers/gpu/drm/amd/amdgpu/amdgpu_job.c */
	{ "amdgpu's ring time-out",
	  " timeout, signaled seq=",
	  BF_EVIDENCE_GPU,
	  BF_EVIDENCE_TIMEOUT,
	  { { "signaled seq=", BF_FACT_SIGNALED, 10 }, { "emitted seq=", BF_FACT_EMITTED, 10 } },
	  take_other_ring },
	/* Linux: drivers/gpu/drm/amd/amdgpu/gmc_v*.c */
	{ "amdgpu's page fault", "] retry page fault", BF_EVIDENCE_GPU, BF_EVIDENCE_FAULT, { { 0 } }, bf_take_always },
	{ "amdgpu's page fault",
	  "GPU fault detected: ",
	  BF_EVIDENCE_GPU,
	  BF_EVIDENCE_FAULT,
	  { { 0 } },
	  bf_take_always },
	{ "amdgpu's page fault", ": VM fault (", BF_EVIDENCE_GPU, BF_EVIDENCE_FAULT, { { 0 } }, bf_take_always },
	{ "the status of amdgpu's fault",
	  "L2_PROTECTION_FAULT_STATUS:",
	  BF_EVIDENCE_GPU,
	  BF_EVIDENCE_FAULT,
	  { { 0 } },
	  bf_take_always },
	{ "amdgpu's page fault",
	  "] page fault (src_id",
	  BF_EVIDENCE_GPU,
	  BF_EVIDENCE_FAULT,
	  { { 0 } },
	  bf_take_always },
	{ "amdgpu's page fault", "no-retry page fault", BF_EVIDENCE_GPU, BF_EVIDENCE_FAULT, { { 0 } }, bf_take_always },
	{ "the page of amdgpu's fault",
	  "in page starting at address ",
	  BF_EVIDENCE_GPU,
	  BF_EVIDENCE_FAULT,
	  { { "at address ", BF_FACT_ADDRESS, 0 } },
	  NULL },
	/* ROCm/ROCR-Runtime */
	{ "ROCr's memory fault",
	  "Memory access fault by GPU",
	  BF_EVIDENCE_GPU,
	  BF_EVIDENCE_FAULT,
	  { { "address ", BF_FACT_ADDRESS, 0 } },
	  bf_take_always },
	{ "ROCr's hang", "HW Exception by GPU", BF_EVIDENCE_GPU, BF_EVIDENCE_TIMEOUT, { { 0 } }, take_hang },
	{ "ROCr's exception", "HW Exception by GPU", BF_EVIDENCE_GPU, BF_EVIDENCE_FAULT, { { 0 } }, take_exception },
	{ "ROCr's memory fault", "Memory Fault Error", BF_EVIDENCE_GPU, BF_EVIDENCE_FAULT, { { 0 } }, bf_take_always },
	/* NVIDIA's driver: docs.nvidia.com/deploy/xid-errors */
	{ "an Xid", "NVRM: Xid", BF_EVIDENCE_GPU, BF_EVIDENCE_FAULT, { { "): ", BF_FACT_XID, 10 } }, NULL },
	/* Linux: drivers/iommu/intel/dmar.c, drivers/iommu/amd/iommu.c, drivers/pci/pcie/aer.c */
	{ "an IOMMU's fault",
	  "fault addr ",
	  BF_EVIDENCE_PCIE,
	  BF_EVIDENCE_FAULT,
	  { { "fault addr ", BF_FACT_ADDRESS, 16 } },
	  NULL },
	{ "an IOMMU's fault",
	  "IO_PAGE_FAULT",
	  BF_EVIDENCE_PCIE,
	  BF_EVIDENCE_FAULT,
	  { { "address=", BF_FACT_ADDRESS, 16 } },
	  bf_take_always },
	{ "a PCIe error", "PCIe Bus Error:", BF_EVIDENCE_PCIE, BF_EVIDENCE_FAULT, { { 0 } }, bf_take_always },
	{ "a PCIe error", "AER: ", BF_EVIDENCE_PCIE, BF_EVIDENCE_FAULT, { { 0 } }, take_aer },
	/* Linux: drivers/pci/pcie/dpc.c, drivers/pci/pci.c, and pci.c of the device's driver */
	{ "a PCIe error", "DPC: containment event", BF_EVIDENCE_PCIE, BF_EVIDENCE_FAULT, { { 0 } }, bf_take_always },
	{ "a PCIe error", "device inaccessible", BF_EVIDENCE_PCIE, BF_EVIDENCE_FAULT, { { 0 } }, bf_take_always },
	{ "a PCIe error",
	  "frozen state error detected",
	  BF_EVIDENCE_PCIE,
	  BF_EVIDENCE_FAULT,
	  { { 0 } },
	  bf_take_always },
	/* Linux drivers/gpu/drm/amd: amdgpu_job.c, amdkfd, gmc_v9_0.c */
	{ "amdgpu's ring time-out",
	  "timeout, but soft recovered",
	  GPU,
	  BF_EVIDENCE_TIMEOUT,
	  { { 0 } },
	  take_other_ring },
	{ "amdkfd's wait for a fence", "fence wait loop timeout", GPU, BF_EVIDENCE_TIMEOUT, { { 0 } }, bf_take_always },
	{ "amdgpu's wait for a fence", "fences timed out", GPU, BF_EVIDENCE_TIMEOUT, { { 0 } }, bf_take_always },
	{ "amdgpu's page fault", "VMC page fault (", GPU, BF_EVIDENCE_FAULT, { { 0 } }, bf_take_always },
	/* ROCm/ROCR-Runtime, ROCm/clr */
	{ "ROCr's error of a queue", "HSA_STATUS_ERROR_", GPU, BF_EVIDENCE_FAULT, { { 0 } }, take_hsa },
	/* docs.nvidia.com/cuda: cudaErrorIllegalAddress and its neighbours */
	{ "a CUDA error", "CUDA error", GPU, BF_EVIDENCE_FAULT, { { 0 } }, take_cuda },
	{ "a CUDA error", "CUDA_ERROR_ILLEGAL_ADDRESS", GPU, BF_EVIDENCE_FAULT, { { 0 } }, bf_take_always },
	/* cuda-gdb */
	{ "a CUDA exception", "CUDA_EXCEPTION_", GPU, BF_EVIDENCE_FAULT, { { 0 } }, bf_take_always },
	{ "a CUDA error", "cudaErrorIllegalAddress", GPU, BF_EVIDENCE_FAULT, { { 0 } }, bf_take_always },
	{ "a kernel's assertion", "Assertion `", GPU, BF_EVIDENCE_DOWN, { { 0 } }, take_assert },
	{ "a kernel's assertion", "Assertion failed: ", GPU, BF_EVIDENCE_DOWN, { { 0 } }, take_condition },
	/* NVIDIA/open-gpu-kernel-modules kernel-open/nvidia-peermem */
	{ "nvidia-peermem's callback", "nv_get_p2p_free_callback", GPU, BF_EVIDENCE_STRAY, { { 0 } }, bf_take_always },
};
const struct bf_evidence_forms bf_forms_gpu = { forms, BF_ARRAY_LEN(forms) };
