/* Copy engines, and faults of the GPUs that they belong to. */
#include "sim/member.h"
#include "traces/evidence/evidence_internal.h"

static const struct bf_meaning_row rows[] = {
	{ BF_EVIDENCE_COPIER,
	  BF_EVIDENCE_FAULT,
	  -1,
	  -1,
	  { "SDMA fault",
	    "SRBM_WRITE",
	    "A packet in a user's queue does what only the kernel's queues may do.",
	    { { "SDMA-PRIVILEGED", "The packet writes a register or has the privileged bit." },
	      { "SDMA-OPCODE", "The engine took other bytes for a packet: an earlier packet has a wrong length." } },
	    "The packets around the read pointer: belfry decode sdma." } },
	{ BF_EVIDENCE_COPIER,
	  BF_EVIDENCE_TIMEOUT,
	  -1,
	  -1,
	  { "SDMA ring timeout",
	    "RING_TIMEOUT",
	    "The engine has not reached a fence that was submitted.",
	    { { "SDMA-PACKET",
		"A packet that the engine cannot execute: a wrong count, or another generation's layout." },
	      { "SDMA-POLL-STUCK", "A poll in the ring waits for a value that does not come." },
	      { "SDMA-UNMAPPED", "An address is not mapped: a page fault stops the engine." },
	      { "SDMA-NOT-RUNG", "The write pointer's doorbell did not arrive." } },
	    "amdgpu_ring_sdma0 in debugfs: the packets at the read pointer, belfry decode sdma; dmesg for page "
	    "faults." } },
	{ BF_EVIDENCE_GPU,
	  BF_EVIDENCE_TIMEOUT,
	  -1,
	  -1,
	  { "GPU ring timeout",
	    "GPU_RING_TIMEOUT",
	    "A ring of the GPU has not reached a fence that was submitted to it. If a page fault comes before it, that "
	    "is the cause.",
	    { { NO_RULE, "The job itself: a shader that does not end, or that accesses unmapped memory." },
	      { "SDMA-POLL-STUCK",
		"It waits for another ring, a copy engine's for instance, whose signal does not come." } },
	    "The first lines of dmesg before it; which ring and process it names; devcoredump of the card." } },
	{ BF_EVIDENCE_GPU,
	  BF_EVIDENCE_FAULT,
	  -1,
	  -1,
	  { "GPU fault",
	    "XID",
	    "A GPU's access was blocked. Xid 31: an address that is not mapped for it; 13: a kernel's exception; 79: "
	    "the GPU left the bus; 119, 120: its GSP does not answer.",
	    { { "SDMA-UNMAPPED", "A copy engine's packet names memory that is not mapped." },
	      { NO_RULE, "A kernel's pointer: of another device, freed, or host memory that is not registered." } },
	    "compute-sanitizer or a debugger for the kernel; which process and engine the message names." } },
	{ BF_EVIDENCE_GPU,
	  BF_EVIDENCE_DOWN,
	  -1,
	  -1,
	  { "kernel's assertion",
	    "DEVICE_ASSERT|CUDA_ERROR_ASSERT",
	    "A kernel found a condition false that must hold, and ended itself. Each later call of the process fails, "
	    "too.",
	    { { NO_RULE, "A file of a communication library, such as ibgda_device.cuh: an error completion or an index "
			 "that its code did not expect. The lines before it, or dmesg, may have the completion." },
	      { NO_RULE, "The kernel's own file: its arguments or its data, such as counts and indices." } },
	    "The condition at that file and line; the first such line of the first rank that has one." } },
	{ BF_EVIDENCE_GPU,
	  BF_EVIDENCE_STRAY,
	  -1,
	  -1,
	  { "late release of GPU memory",
	    "PEERMEM",
	    "The GPU's driver freed memory for which nvidia-peermem has no valid registration. NVIDIA calls this line "
	    "harmless.",
	    { { NO_RULE, "A driver before R560 prints it (NVIDIA's bug 4272659)." },
	      { NO_RULE, "\"invalid page_table\": a driver before R510, or R470 of early 2021." } },
	    "The driver's version; if calls fail as well, the first error of the program." } },
};

const struct bf_meaning_table bf_meanings_copier = { rows, BF_ARRAY_LEN(rows) };

static const char *const known[] = { "SDMA     ring time-outs of amdgpu; rings of packets", NULL };
static const char *const known_gpu[] = { "GPU      faults of ROCm, CUDA and NVIDIA's driver; assertions of kernels",
					 NULL };

const struct bf_evidence_about bf_about_copier = { .name = "sdma", .known = known },
			       bf_about_gpu = { .name = "gpu", .known = known_gpu };
