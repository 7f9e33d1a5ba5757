/*
 * NVMe workloads: kernels that threads of a GPU or a CPU run, and what host code needs to launch them and to judge what
 * they left behind.
 *
 * Each thread works on chunks of the medium, `bytes` long, of which `span` are its own; chunk c of thread i is number
 * i * span + c. What a chunk holds follows from its number and its version, so that every byte can be checked.
 * C and CUDA clean.
 */
#ifndef BELFRY_DRIVERS_NVME_KERNELS_H
#define BELFRY_DRIVERS_NVME_KERNELS_H

#include "drivers/nvme/nvme.h"
#include "drivers/platform/platform.h"
#include "sim/bytes.h"

enum bf_nvme_drv_work {
	BF_NVME_DRV_READ,   /* chunks of everybody, drawn by seed */
	BF_NVME_DRV_WRITE,  /* own chunks, in order */
	BF_NVME_DRV_VERIFY, /* own chunks written, flushed, read back */
	BF_NVME_DRV_MIXED,  /* own chunks: writes, reads, flushes, write zeroes and compares, drawn by seed */
	BF_NVME_DRV_ADMIN,  /* admin commands of one thread */
	BF_NVME_DRV_FILE,   /* each thread's part of a file written from memory and read back into other memory */
	BF_NVME_DRV_WORKS
};

/* What a chunk holds besides versions from 1 on. */
#define BF_NVME_DRV_VERSION_UNKNOWN 0xffffffffu
#define BF_NVME_DRV_VERSION_ZERO 0u

struct bf_nvme_drv_shape {
	uint32_t threads;
	uint32_t lanes; /* threads in a warp; 1 on the CPU */
	uint32_t share; /* threads to a queue pair */
	uint32_t depth; /* commands that a thread keeps in flight */
	uint32_t batch; /* commands to a doorbell, at most depth */
	uint32_t commands;
	uint32_t bytes;       /* of a command; a multiple of the block size */
	uint32_t span;        /* chunks of each thread */
	uint32_t offset;      /* of data in its first page; a multiple of 16 */
	uint32_t list_offset; /* of a PRP list in its first page; a multiple of 8 */
	uint8_t scatter;      /* a command's pages lie in memory in reverse order */
	uint8_t check;        /* threads compare what they read */
	uint8_t format;       /* ADMIN ends with Format NVM */
	uint64_t seed;
};

/* A command in flight; its place in the table is its identifier. */
struct bf_nvme_drv_request {
	uint32_t chunk; /* number on the medium */
	uint32_t slot;  /* of data */
	uint32_t version;
	uint16_t next; /* free ones are chained */
	uint8_t kind;
	uint8_t busy;
};

/* What a thread has to say when it ends. */
struct bf_nvme_drv_result {
	uint64_t completed, errors, mismatches;
	uint64_t block, wanted, found; /* the first mismatch */
	uint32_t offset;               /* in its command */
	int32_t failure;               /* the first bad status or BF_NVME_DRV_*; 0: none */
	uint32_t failed_opcode, inflight;
	uint64_t failed_block;
	uint8_t ended; /* it came to its end */
	uint8_t pad[7];
};

struct bf_nvme_drv_job {
	enum bf_nvme_drv_work work;
	struct bf_nvme_drv_ctrl *ctrl;
	struct bf_nvme_drv_qp *qps; /* [threads / share, rounded up] */
	struct bf_nvme_drv_shape shape;
	struct bf_nvme_drv_room data;  /* [threads][slots] of data_stride */
	struct bf_nvme_drv_room lists; /* [threads][depth] of list_stride, each from list_offset on */
	uint64_t data_stride, list_stride;
	uint32_t slots;    /* of data, for each thread */
	uint32_t requests; /* table size of each thread */
	struct bf_nvme_drv_request *request;
	uint32_t *version; /* [threads * span] */
	uint32_t *mailbox; /* ADMIN: doorbell values plus one, for the thread that rings; NULL: nobody else does */
	struct bf_nvme_drv_result *result; /* [threads] */
};

#define BF_NVME_DRV_MAILBOX_CLOSED 0xffffffffu

/* Value of 8 bytes at word `i` of a chunk. */
BF_FN uint64_t bf_nvme_drv_word(uint64_t chunk, uint32_t version, uint64_t i)
{
	uint64_t x = (chunk << 24 ^ version) * 0x9e3779b97f4a7c15ull + i * 0xbf58476d1ce4e5b9ull + 1;

	x ^= x >> 29;
	x *= 0x94d049bb133111ebull;
	return version == BF_NVME_DRV_VERSION_ZERO ? 0 : x ^ x >> 32;
}

/* A number that follows from seed, thread and command. */
BF_FN uint64_t bf_nvme_drv_draw(uint64_t seed, uint32_t thread, uint32_t command)
{
	return bf_nvme_drv_word(seed * 0x2545f4914f6cdd1dull + thread, 1, command);
}

/* Bytes of data and list memory that a shape needs of each thread, for pages of `page` bytes. */
uint64_t bf_nvme_drv_data_stride(const struct bf_nvme_drv_shape *s, uint32_t page);
uint64_t bf_nvme_drv_list_stride(const struct bf_nvme_drv_shape *s, uint32_t page);

/* Where byte `offset` of the data in slot memory `at` lies. */
BF_FN uint8_t *bf_nvme_drv_byte(const struct bf_nvme_drv_job *job, uint8_t *at, uint64_t offset)
{
	const uint64_t page = job->ctrl->page, pos = job->shape.offset + offset;
	const uint64_t pages = job->data_stride / page;

	return at + (job->shape.scatter ? (pages - 1 - pos / page) * page + pos % page : pos);
}
BF_FN uint8_t *bf_nvme_drv_slot(const struct bf_nvme_drv_job *job, uint32_t thread, uint32_t slot)
{
	return job->data.vaddr + ((uint64_t)thread * job->slots + slot) * job->data_stride;
}

/* Kernels of a platform: sim and native are built in, NULL for the others. */
struct bf_nvme_drv_kernels {
	bf_kernel_fn *bring_up, *shut_down;   /* one thread; struct bf_nvme_drv_boot */
	bf_kernel_fn *run[BF_NVME_DRV_WORKS]; /* struct bf_nvme_drv_job */
	bf_kernel_fn *ring; /* one thread of the GPU beside ADMIN on the CPU: rings what comes into the mailbox */
	bf_kernel_fn *fill, *read_back; /* one thread; struct bf_nvme_drv_job with shape.threads 1: every chunk is
					   written in version 1; every chunk of a known version is compared */
};
const struct bf_nvme_drv_kernels *bf_nvme_drv_kernels(enum bf_platform_id platform);

#endif
