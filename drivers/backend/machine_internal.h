/*
 * The modelled machine behind the backends sim and live: PEs with memory, an IOMMU and devices of their own
 * (parts.c).
 */
#ifndef BELFRY_DRIVERS_BACKEND_MACHINE_INTERNAL_H
#define BELFRY_DRIVERS_BACKEND_MACHINE_INTERNAL_H

#include "drivers/backend/backend.h"
#include "models/gpu/gpu.h"
#include "sim/iommu.h"

#define BF_PES_MAX 4096u
#define BF_PES_MAX_LIVE 64u
#define BF_NICS_MAX 8u
#define BF_NIC_PORTS_MAX 2u

struct bf_pe {
	struct bf_space space;
	struct bf_ioas ioas;
	void *part[BF_DEVICE_KINDS]; /* its devices, each kind's own; NULL: it has none of the kind */
	struct bf_gpu *gpu;          /* NULL until somebody asks for its memory or its registers */
	struct bf_region *gpu_regs;  /* what stands for those in live mode */
	void *model;                 /* of bf_world_opts.model */
	char name[16];
	bool has_space, has_ioas;
};

/* A grid that waits for the next run. */
struct bf_grid {
	struct bf_grid *next;
	uint32_t pe, blocks, warps;
	bool cpu; /* threads of the CPU: one lane in each block */
	bf_kernel_fn *kernel;
	void *arg;
};

/* What the worlds of both backends have in common; each embeds it. */
struct bf_world {
	struct bf_sim *sim;
	struct bf_fabric *fabric;
	struct bf_fault_plan *faults;
	struct bf_pe *pe;                    /* [npes]; those of other processes stay empty */
	struct bf_grid *grids, **grids_tail; /* in order of launch */
	struct bf_error *err;                /* the caller's */
	uint32_t npes, nics, ports;
	uint32_t first, count;               /* PEs of this process */
	struct bf_ranks *ranks;              /* NULL: the only process; ranks_internal.h */
	struct bf_pe_hash *pe_hash;          /* NULL: nobody asked; pe_hash_internal.h */
	uint32_t lanes;                      /* that run of each warp of a GPU */
	uint32_t devices;                    /* BF_DEVICE_* of each PE */
	const struct bf_device_model *model; /* the program's; NULL: it has none */
	uint32_t engines;                    /* copy engines, of all PEs */
	enum bf_ordering ordering;
	struct bf_gpu_profile gpu_profile;
	bool live; /* threads are real, and so is their memory */
	/* Lets threads store to registers for real; NULL: in virtual time they need not. */
	int (*expose)(struct bf_world *m, struct bf_region *r);
	uint64_t limit_ps;
	bool unrecorded;  /* struct bf_world_opts has it */
	uint32_t streams; /* of PTX grids so far: grids of a run execute side by side */
};

/* What a report says of queues: bf_report_queue() adds a line, or counts one that finds no room. */
struct bf_queue_report {
	char *text;
	size_t cap;
	uint32_t left_out;
};

void bf_report_queue(struct bf_queue_report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A kind of device that PEs may have. What fails returns a negative errno, with a text in sim->error. */
struct bf_part {
	uint32_t device;   /* BF_DEVICE_* */
	const char *kind;  /* what bf_device_kind() says of it */
	const char *actor; /* what its devices are called, with the PE's number behind: "ssd" */
	/* What all PEs share, before the first and after the last; may be NULL. */
	int (*open_shared)(struct bf_world *m, const struct bf_world_opts *opts);
	void (*close_shared)(struct bf_world *m);
	int (*open)(struct bf_world *m, uint32_t pe, const struct bf_world_opts *opts);
	/* Of a PE in the process of `rank`. NULL: such a device reaches PEs of its own process only. */
	int (*open_remote)(struct bf_world *m, uint32_t pe, uint32_t rank);
	void (*close)(struct bf_pe *pe);
	/* Live mode. Registers that threads will store to: bf_machine_expose() for each that is there from the start.
	 */
	int (*expose)(struct bf_world *m, struct bf_pe *pe);
	/* Whether somebody has stored to its registers since the last look, which the devices have heard now. */
	int (*poll)(struct bf_pe *pe);
	/* Memory of the device itself (BF_PLACE_CMB), page by page, never given back; NULL: it has none. */
	int (*alloc)(struct bf_world *m, uint32_t pe, uint64_t size, const char *name, struct bf_memory *out);
	/* Lets devices of other PEs reach memory of PE `owner`; NULL: they do not. */
	int (*share)(struct bf_world *m, uint32_t owner, struct bf_region *r);
	/* Where each queue stands that has work left or has failed. */
	void (*describe)(struct bf_world *m, const struct bf_pe *pe, struct bf_queue_report *report);
};

const struct bf_part *const *bf_parts(void);           /* all of them, up to NULL */
extern const void *const bf_part_ops[BF_DEVICE_KINDS]; /* bf_backend.ops of the modelled machine */

/* Lets threads store to a region of registers, if that needs anything. */
int bf_machine_expose(struct bf_world *m, struct bf_region *r);

/* 0 or negative errno with opts->... named in `err`; `err` is kept for later calls. Undoes itself on failure. */
int bf_machine_open(struct bf_world *m, const struct bf_world_opts *opts, struct bf_error *err);
void bf_machine_close(struct bf_world *m);

/* The backend calls of the same names, the same in both. */
int bf_machine_alloc(struct bf_world *m, uint32_t pe, enum bf_placement place, uint64_t size, const char *name,
		     struct bf_memory *out);
int bf_machine_alloc_image(struct bf_world *m, uint32_t pe, const struct bf_image *image, const char *name,
			   struct bf_memory *out);
int bf_machine_nic_info(struct bf_world *m, uint32_t pe, uint32_t nic, struct bf_nic_info *out);
int bf_machine_command(struct bf_world *m, uint32_t pe, uint32_t nic, const void *in, size_t in_len, void *out,
		       size_t out_len);
int bf_machine_map_uar(struct bf_world *m, uint32_t pe, uint32_t nic, struct bf_uar *out);
void bf_machine_listen(struct bf_world *m, void (*hear)(void *arg, uint64_t where, uint64_t value), void *arg);
int bf_machine_say(struct bf_world *m, uint32_t pe, uint64_t at_ps, uint64_t where, uint64_t value);
int bf_machine_port_up(struct bf_world *m, uint32_t pe, uint32_t nic, uint32_t port);
int bf_machine_address(struct bf_world *m, uint32_t pe, uint32_t nic, uint32_t port, uint8_t gid[16], uint8_t mac[6]);
int bf_machine_launch(struct bf_world *m, uint32_t pe, uint32_t blocks, uint32_t warps, bf_kernel_fn *kernel,
		      void *arg);
int bf_machine_gpu_regs(struct bf_world *m, uint32_t pe, void **out);
int bf_machine_launch_cpu(struct bf_world *m, uint32_t pe, uint32_t threads, bf_kernel_fn *kernel, void *arg);
struct bf_sim *bf_machine_sim(struct bf_world *m);
/* 0 when the PE is of this process; else -EINVAL or -EREMOTE, and why. */
int bf_machine_check_pe(struct bf_world *m, uint32_t pe);

void *bf_machine_model(struct bf_world *m, uint32_t pe);
int bf_machine_pe_hashes(struct bf_world *m, uint64_t *out);

/* Takes the first waiting grid out; NULL when there is none. The caller frees it. */
struct bf_grid *bf_machine_next_grid(struct bf_world *m);

/* Appends to the report where each queue stands that has work left or has failed. */
void bf_machine_describe_queues(struct bf_world *m, char *report, size_t cap);

/* Fills in what a run has in common: time, events, hash, records. */
int bf_machine_result(struct bf_world *m, uint64_t began_ps, struct bf_world_result *out);

/* VRAM behind the PE's GPU for the placements GPU_CACHED and GPU_UC; not yet mapped for its devices. */
int bf_machine_alloc_vram(struct bf_world *m, uint32_t pe, enum bf_placement place, uint64_t size, const char *name,
			  struct bf_region **out);

/* Appends to the report what GPUs keep from the threads that wait. */
void bf_machine_describe_gpus(struct bf_world *m, char *report, size_t cap);

#endif
