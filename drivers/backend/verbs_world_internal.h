/*
 * What the backends mlx5 and rxe have in common: PEs in this process, each with contexts of its own on the RDMA devices
 * of this machine, and memory of this process that a device reaches at the addresses that the process has for it.
 */
#ifndef BELFRY_DRIVERS_BACKEND_VERBS_WORLD_INTERNAL_H
#define BELFRY_DRIVERS_BACKEND_VERBS_WORLD_INTERNAL_H

#include "drivers/backend/cuda_internal.h"
#include "drivers/backend/machine_internal.h"
#include "drivers/backend/verbs_internal.h"
#include "drivers/backend/workers_internal.h"

/* A context that one PE has on one device. */
struct bf_verbs_nic {
	struct bf_verbs_dev *dev;
	struct bf_verbs_info info;
	struct bf_verbs_port port[BF_NIC_PORTS_MAX];
};

/* Memory of a PE: the process's own, or a GPU's with a copy for host code. */
struct bf_verbs_piece {
	struct bf_verbs_piece *next;
	void *at;
	uint64_t va, size;
	uint32_t pe;
	bool gpu;
	int dmabuf;      /* of a GPU's memory; -1: none, or not asked for yet */
	uint8_t *before; /* [2 * size]: the copy when the run started, and room; NULL: threads are not on the CPU */
};

struct bf_gpu_memory;

struct bf_verbs_world {
	struct bf_world m; /* without a simulation */
	const struct bf_verbs_api *api;
	struct bf_verbs_nic *nic; /* [npes][nics] */
	struct bf_verbs_piece *pieces;
	pthread_mutex_t lock; /* threads of a grid may make calls, too */
	struct bf_workers workers;
	const struct bf_cuda_api *cuda; /* the real GPU that runs the grids of GPUs; NULL: threads do */
	struct bf_gpu_memory *gpu;      /* NULL until memory of a GPU is asked for */
	char gpu_name[160];
	const char *gpu_by; /* how the NIC got it last; NULL: not at all */
	bool has_workers, has_lock;
	bool takes_gpu; /* the device reaches memory of a GPU */
	bool stuck;     /* a grid of the real GPU did not end: nothing is freed before the process ends */
};

static inline struct bf_verbs_world *bf_verbs_world_of(struct bf_world *m)
{
	return BF_CONTAINER_OF(m, struct bf_verbs_world, m);
}

/*
 * bf_backend.probe(): whether a device is here that opens, with an address. `mlx5` asks for libmlx5's, by DEVX. `why`
 * says which device it is, or what is missing.
 */
int bf_verbs_probe(bool mlx5, char *why, size_t cap);

/*
 * Opens the contexts of all PEs: NIC n of each is the n-th device in order of name, or the n-th of the list in
 * opts->device. `w` is zeroed and stays the caller's; close() whatever the result.
 */
int bf_verbs_world_open(struct bf_verbs_world *w, const char *backend, bool mlx5, const struct bf_world_opts *opts,
			struct bf_error *err);
void bf_verbs_world_close(struct bf_verbs_world *w);

/* NULL with the error set when there is none. */
struct bf_verbs_nic *bf_verbs_nic(struct bf_world *m, uint32_t pe, uint32_t nic);

/* Answers ACCESS_REG of a port's state, which neither DEVX nor verbs have, as the device would. */
int bf_verbs_port_register(struct bf_verbs_world *w, struct bf_verbs_nic *n, const uint8_t *in, size_t in_len,
			   uint8_t *out, size_t out_len);

/* A UMEM of whatever memory lies there. Under the lock. 0 or a negative errno, with the error set for a GPU's memory.
 */
int bf_verbs_umem(struct bf_verbs_world *w, struct bf_verbs_nic *n, uint64_t va, uint64_t bytes, uint32_t *id,
		  void **umem);

/*
 * verbs_gpu.c: memory of the GPU for `p`, whose size and PE are set; what goes to it before a run and comes from it
 * afterwards. 0 or a negative errno with the error set.
 */
int bf_verbs_gpu_alloc(struct bf_verbs_world *w, struct bf_verbs_piece *p, const char *name);
void bf_verbs_gpu_free(struct bf_verbs_world *w, struct bf_verbs_piece *p);
int bf_verbs_gpu_send(struct bf_verbs_world *w);
int bf_verbs_gpu_fetch(struct bf_verbs_world *w);

/* Calls of struct bf_backend. */
int bf_verbs_gpu_probe(bool threads, char *why, size_t cap);
const void *bf_verbs_look(struct bf_world *m, const void *p);
int bf_verbs_alloc(struct bf_world *m, uint32_t pe, enum bf_placement place, uint64_t size, const char *name,
		   struct bf_memory *out);
int bf_verbs_nic_info(struct bf_world *m, uint32_t pe, uint32_t nic, struct bf_nic_info *out);
int bf_verbs_port_up(struct bf_world *m, uint32_t pe, uint32_t nic, uint32_t port);
int bf_verbs_address(struct bf_world *m, uint32_t pe, uint32_t nic, uint32_t port, uint8_t gid[16], uint8_t mac[6]);
bool bf_verbs_reachable(struct bf_world *m, uint32_t pe, uint64_t va, uint64_t bytes);
void bf_verbs_describe(struct bf_world *m, uint32_t pe, char *buf, size_t cap);

#endif
