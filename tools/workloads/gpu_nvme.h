/*
 * The experiment of an NVMe controller driven by an AMD GPU, as published for an RX 7900 XTX: a machine with both, the
 * kernel's objects between them (IOMMUFD, DMA-BUF), and four things to try on it. The driver code is drivers/nvme's.
 */
#ifndef BELFRY_TOOLS_WORKLOADS_GPU_NVME_H
#define BELFRY_TOOLS_WORKLOADS_GPU_NVME_H

#include <stdbool.h>
#include <stdio.h>

#include "models/gpu/gpu.h"
#include "sim/view.h"

enum bf_gpu_nvme_work {
	BF_GPU_NVME_IDENTIFY, /* Identify into VRAM, the doorbell rung by a GPU thread, the CPU polls */
	BF_GPU_NVME_FILE,     /* a file written and read back by GPU threads, a queue pair each, queues in VRAM */
	BF_GPU_NVME_POLL,     /* one GPU thread polls a completion queue in VRAM */
	BF_GPU_NVME_MOVED,    /* Identify into a buffer that moved after its addresses were handed out */
};

struct bf_gpu_nvme_opts {
	enum bf_gpu_nvme_work work;
	enum bf_ordering ordering;
	uint64_t seed;
	uint32_t records; /* BF_CLASS_* */
	struct bf_sink *sink;
	uint32_t threads, pages; /* FILE: threads, and pages that each of them transfers */
	/* How memory is mapped and polled, and what the host stores to the registers meanwhile. */
	enum bf_gpu_mtype mtype;
	bool plain;    /* polling with plain loads, not past the caches */
	bool no_fence; /* no fence between entry and doorbell */
	bool mm;       /* the multimedia hub's registers, not the graphics hub's */
	bool no_flush; /* nothing at all */
	uint32_t engine, flush_type, vmids;
	bool pin;    /* MOVED: the exporter pins what it hands out */
	FILE *story; /* where each step is told; NULL: nowhere */
};

/* The combination that works. */
extern const struct bf_gpu_nvme_opts bf_gpu_nvme_default;

struct bf_gpu_nvme_result {
	bool good;
	uint64_t time_ps, hash, records;
	char verdict[96];
	char cause[1024]; /* lines; empty for a good run */
};

/* 0 when it ran, however it ended; negative errno with `err` set when the machine could not be built. */
int bf_gpu_nvme_run(const struct bf_gpu_nvme_opts *opts, struct bf_gpu_nvme_result *out, struct bf_error *err);

#endif
