/*
 * What the files of IBGDA's host side share. A PE's transport travels through them in this order:
 *
 *   transport.c  start: options, devices, and the way through the rest
 *   devices.c    which NICs and ports a PE uses, and why not the others
 *   memory.c     registrations, key tables, local-only buffers
 *   common.c     what the PEs of one process learn together
 *   connect.c    the five phases of the first connection; later growth
 *   queue.c      buffers, completion queues, queue pairs and their transitions
 *   dc.c, rc.c   DC targets and initiators; reliable connections and their backups
 *   gpu_state.c  what device code sees; proxy_queues.c: what the CPU proxy sees
 *   finalize.c   the way back, and what was left behind
 *
 * host.c runs all PEs of a world through it; command.c is how any of them talks to a NIC.
 */
#ifndef BELFRY_DRIVERS_IBGDA_HOST_INTERNAL_H
#define BELFRY_DRIVERS_IBGDA_HOST_INTERNAL_H

#include "drivers/bootstrap/bootstrap.h"
#include "drivers/ibgda/host.h"
#include "models/mlx5/prm.h"
#include "sim/image.h"

#define BF_IBGDA_NONE 0xffffffffu
#define BF_IBGDA_NICS_MAX 8u
#define BF_IBGDA_PORTS_MAX 2u

/* One port of a NIC as peers reach it: what goes into a QP's address path. */
struct bf_ibgda_address {
	uint8_t gid[16], mac[6];
};

/* A NIC that is open. Its keys serve all of its ports. */
struct bf_ibgda_nic {
	uint32_t index; /* the backend's number */
	struct bf_nic_info info;
	uint32_t pd;
	void *uar_page; /* the page that queue pairs are being put on */
	uint32_t uar_index;
	uint32_t uar_room; /* how many more it takes */
	bool compact_av;
	struct bf_ibgda_address port[BF_IBGDA_PORTS_MAX];
};

/* What a transport may leave behind. */
enum bf_ibgda_kind {
	BF_IBGDA_KIND_EP,
	BF_IBGDA_KIND_QP,
	BF_IBGDA_KIND_CQ,
	BF_IBGDA_KIND_UMEM,
	BF_IBGDA_KIND_UAR,
	BF_IBGDA_KIND_MKEY,
	BF_IBGDA_KIND_PD,
	BF_IBGDA_KIND_DCT,
	BF_IBGDA_KIND_MEMORY,
	BF_IBGDA_KIND_NODE, /* of the list of local-only buffers */
	BF_IBGDA_KINDS
};
extern const char *const bf_ibgda_kind_names[BF_IBGDA_KINDS];

/*
 * What a peer must know of an RC queue pair (ibgda.cpp struct ibgda_rc_handle, and the MAC instead of looking it up).
 */
struct bf_ibgda_rc_handle {
	uint32_t qpn;
	uint16_t lid; /* 0: RoCE, the GID counts */
	struct bf_ibgda_address at;
};

/*
 * Control memory that several queue pairs are carved from: rings, doorbell records (8 bytes each: the queue pairs',
 * then the CQs'), CQs. Layout L1 has one for each queue pair.
 */
struct bf_ibgda_block {
	struct bf_ibgda_block *next;
	struct bf_memory wq, dbr, cq;
	uint32_t wq_umem, dbr_umem, cq_umem;
	uint64_t wq_bytes; /* of each slot */
	uint32_t cqs;      /* of each slot */
	uint32_t slots;    /* queue pairs that it has room for */
	uint32_t used;     /* running offset, in slots */
};

/* A queue pair as the host sees it. */
struct bf_ibgda_ep {
	struct bf_ibgda_block *block; /* NULL: there is none (a PE's own place) */
	void *bf;
	uint32_t slot; /* in the block */
	uint32_t qpn, send_cqn, recv_cqn;
	uint32_t uar;     /* BF_IBGDA_NONE: the page is an earlier one's */
	uint32_t ordinal; /* NVSHMEM's user_index: place in the table of device code */
};

/*
 * Queue pairs of one kind on one device that were created together. Eps of RCs stand at i * npes + peer, the handles
 * that peers sent at n * peer + i (setup_rc_endpoints() of ibgda.cpp); those of DCIs at i.
 */
struct bf_ibgda_batch {
	struct bf_ibgda_batch *next;
	struct bf_ibgda_nic *nic;
	uint32_t port;    /* from 0 */
	uint32_t dev_idx; /* whose keys they use */
	enum bf_ibgda_qp_type type;
	bool backup;
	bool populated;
	uint32_t first; /* number of the first, over all devices */
	uint32_t step;  /* from one's number to the next one's: DCIs of one device are not neighbours */
	uint32_t n;
	uint32_t eps;    /* n, times npes for RCs */
	uint32_t nslots; /* for results, of each */
	struct bf_memory ibuf;
	uint32_t ibuf_key;
	struct bf_ibgda_block *blocks;
	struct bf_ibgda_rc_handle *peers;
	struct bf_ibgda_ep ep[];
};

/* A device: a port of a NIC, and what there is on it beside queue pairs. */
struct bf_ibgda_device {
	struct bf_ibgda_nic *nic;
	uint32_t port; /* from 0 */
	/* Where the backups of its RCs are; backup_nic NULL: it has none. */
	struct bf_ibgda_nic *backup_nic;
	uint32_t backup_port, backup_dev;
	uint32_t candidate;               /* its number before the choice (ibgda.cpp: selected_dev_ids) */
	uint32_t *dctns;                  /* [opts.num_dct] */
	struct bf_ibgda_block *dct_block; /* of the CQ that they share, with its number and page */
	uint32_t dct_cqn, dct_uar;
	/* Made in phase 3 of connecting, to be filled in phase 4. */
	struct bf_ibgda_batch *new_dcis, *new_rcs, *new_backups;
};

/*
 * A registered piece of memory: the heap's next, or a local-only buffer. Keys are by device, as the NICs number them.
 */
struct bf_ibgda_region {
	struct bf_ibgda_region *next;
	uint64_t va, bytes;
	struct bf_memory node; /* local-only: the entry of the list that device code walks */
	uint32_t key[BF_IBGDA_MAX_DEVICES];
};

/* A region that small parts are carved from. */
struct bf_ibgda_arena {
	struct bf_memory memory;
	uint64_t used;
};

/*
 * What the PEs of one process would all have the same of, and have once: with thousands of PEs here, what each learns
 * of every other one would be the time and the memory that starting takes.
 */
struct bf_ibgda_common {
	uint32_t first; /* PE of this process, which is given what is gathered */
	/* Results of bf_ibgda_gather() in turn: nobody looks at the one before last any more. */
	uint8_t *gathered[2];
	size_t gathered_cap[2];
	bool agreed; /* on what must be the same everywhere */
	struct bf_image heaps;
	/* Keys beyond the constant ones as the first registration leaves them. */
	struct bf_ibgda_rkey *rkeys;
	struct bf_image rkey_table;
	/* Address vectors of all DC targets, in device code's order, and of those beyond its constant memory the table.
	 */
	struct bf_ibgda_dct *dcts;
	uint32_t dct_devs; /* bit k: device k's are there */
	bool full_av;      /* some port does not take compact ones */
	bool dcts_ready;   /* in the form that everybody takes */
	struct bf_image dct_table;
};

struct bf_ibgda_transport {
	const struct bf_backend *be;
	struct bf_world *world;
	struct bf_ibgda_common *common; /* while a collective call is under way, like `boot` */
	uint32_t gathers;               /* of this call */
	struct bf_boot *boot;           /* while a collective call is under way */
	struct bf_error *err;           /* NULL on the way back: the first failure is the one to tell */
	struct bf_error error;
	uint32_t pe, npes;
	struct bf_ibgda_host_opts opts; /* defaults filled in */
	const struct bf_ibgda_env *env; /* of all PEs of this process */
	bool relaxed_ordering;

	bool dc_wanted; /* by name: without a DC transport there is no device */
	uint32_t nnics, ndevs;
	struct bf_ibgda_nic nic[BF_IBGDA_NICS_MAX];
	struct bf_ibgda_device dev[BF_IBGDA_MAX_DEVICES];
	uint32_t keys_made;
	int64_t live[BF_IBGDA_KINDS];
	uint64_t host_bytes;
	struct bf_ibgda_arena arena[2]; /* in GPU memory, in host memory */

	/* Heap: regions in order, tables by granule. */
	struct bf_memory heap;
	uint64_t granules, registered; /* of the heap, and bytes that are registered */
	struct bf_ibgda_region *heap_regions, **heap_tail, *local_regions;
	uint64_t *peer_heap_va;

	/* Queues: numbers per PE over all devices, as struct bf_ibgda_state counts them. */
	bool connected;
	uint32_t num_rc, num_backup, num_dci, num_shared_dci, num_dct;
	uint32_t default_rc; /* what the first call makes of them */
	uint32_t rc_room;
	uint32_t next_device;                        /* that takes the next added RC */
	uint32_t rc_slots, dci_slots;                /* for results */
	struct bf_ibgda_batch *rcs, *backups, *dcis; /* in order of creation */

	/* What device code sees. `retired`: tables that kernels may still look at after they were replaced. */
	struct bf_memory state_mem, rcs_mem, backups_mem, failover_mem, dcis_mem, cqs_mem, dcts_mem, lkeys_mem,
	    rkeys_mem, heaps_mem, switches_mem, slots_mem, proxy_mem;
	uint32_t ncqs; /* entries of the table */
	struct bf_memory *retired;
	uint32_t nretired, retired_cap;
	struct bf_ibgda_state *state;
	struct bf_ibgda_proxy *proxy; /* NULL: GPU threads ring themselves */
};

/* ---- command.c ---- */

/*
 * Runs a command; -EIO with PE, NIC, name, status and syndrome in the error text when the device refused. `number` (may
 * be NULL) gets the object's number.
 */
int bf_ibgda_cmd(struct bf_ibgda_transport *t, const struct bf_ibgda_nic *nic, enum bf_mlx5_cmd_op op, const char *name,
		 void *in, size_t len, uint32_t *number);
/* -ENODEV, with its name and what to do, when the machine lacks `lack` (BF_IBGDA_LACKS_*) and something else cannot do.
 */
int bf_ibgda_precheck(struct bf_ibgda_transport *t, uint32_t lack);
/* One that makes an object, and one that ends it: those are counted. `*number` is BF_IBGDA_NONE when there is none. */
int bf_ibgda_create(struct bf_ibgda_transport *t, const struct bf_ibgda_nic *nic, enum bf_mlx5_cmd_op op,
		    const char *name, void *in, size_t len, enum bf_ibgda_kind kind, uint32_t *number);
void bf_ibgda_destroy(struct bf_ibgda_transport *t, const struct bf_ibgda_nic *nic, enum bf_mlx5_cmd_op op,
		      const char *name, enum bf_ibgda_kind kind, uint32_t *number);

/* A memory key over [va, va + size): index << 8 | variant. */
int bf_ibgda_create_key(struct bf_ibgda_transport *t, const struct bf_ibgda_nic *nic, uint64_t va, uint64_t size,
			uint32_t *key);
void bf_ibgda_destroy_key(struct bf_ibgda_transport *t, const struct bf_ibgda_nic *nic, uint32_t *key);

/* Registers memory for queues: its pages, one by one, readable and writable. */
int bf_ibgda_create_umem(struct bf_ibgda_transport *t, const struct bf_ibgda_nic *nic, const struct bf_memory *m,
			 uint32_t *number);

/* Memory of the PE, counted. The world keeps the bytes until it closes. */
int bf_ibgda_alloc(struct bf_ibgda_transport *t, enum bf_placement place, uint64_t size, const char *name,
		   struct bf_memory *out);
void bf_ibgda_release(struct bf_ibgda_transport *t, struct bf_memory *m);

/* ---- common.c ---- */

/*
 * Collective: an allgather whose result all PEs of this process look at, and none of them changes. It stays until the
 * PE's next call of this.
 */
int bf_ibgda_gather(struct bf_ibgda_transport *t, const void *mine, size_t bytes, const void **all);

/*
 * GPU memory with `len` bytes in it that are the same for all PEs of this process; `image`, zeroed before the first of
 * them calls, keeps them for the others.
 */
int bf_ibgda_alloc_table(struct bf_ibgda_transport *t, const void *bytes, uint64_t len, const char *name,
			 struct bf_image *image, struct bf_memory *out);

/* The end of a collective call. What was allocated stays. */
void bf_ibgda_forget_common(struct bf_ibgda_common *c);

/*
 * ---- transport.c: one PE from nothing to connected. `t` is zeroed; undone by bf_ibgda_finalize() whatever failed.
 * ----
 */

int bf_ibgda_start(struct bf_ibgda_transport *t);

/* ---- devices.c ---- */

/* Chooses devices, opens their NICs (a protection domain each) and pairs them for backups. */
int bf_ibgda_open_devices(struct bf_ibgda_transport *t);

/* ---- memory.c ---- */

int bf_ibgda_open_heap(struct bf_ibgda_transport *t);
/* Collective: registers the next `bytes`, exchanges keys, fills tables. */
int bf_ibgda_register_heap(struct bf_ibgda_transport *t, uint64_t bytes);
int bf_ibgda_register_local(struct bf_ibgda_transport *t, const struct bf_memory *m, bool host);
int bf_ibgda_unregister_local(struct bf_ibgda_transport *t, const struct bf_memory *m);
void bf_ibgda_close_memory(struct bf_ibgda_transport *t);

/* ---- connect.c ---- */

/* Collective. The first call makes everything that the options ask for; later ones add `num_qps` RCs to each peer. */
int bf_ibgda_connect_endpoints(struct bf_ibgda_transport *t, uint32_t num_qps, uint32_t *handles);

/* ---- queue.c ---- */

/* A batch without queues yet: places for eps, their control memory and their ibufs. Put in front of `*list`'s end. */
int bf_ibgda_create_batch(struct bf_ibgda_transport *t, const struct bf_ibgda_batch *like, struct bf_ibgda_batch **list,
			  struct bf_ibgda_batch **out);
void bf_ibgda_destroy_batches(struct bf_ibgda_transport *t, struct bf_ibgda_batch **list);
int bf_ibgda_create_ep(struct bf_ibgda_transport *t, struct bf_ibgda_batch *b, uint32_t i, uint32_t ordinal);
int bf_ibgda_create_cq(struct bf_ibgda_transport *t, const struct bf_ibgda_nic *nic, const struct bf_ibgda_block *b,
		       uint32_t slot, uint32_t index, uint32_t uar, uint32_t *cqn);
int bf_ibgda_create_block(struct bf_ibgda_transport *t, const struct bf_ibgda_nic *nic, uint32_t slots,
			  uint64_t wq_bytes, uint32_t cqs, enum bf_placement place, struct bf_ibgda_block **list);
void bf_ibgda_destroy_blocks(struct bf_ibgda_transport *t, const struct bf_ibgda_nic *nic,
			     struct bf_ibgda_block **list);
/* The three steps to RTS. `to` is the peer's handle; NULL for a DCI, which has none. */
int bf_ibgda_rst2init(struct bf_ibgda_transport *t, const struct bf_ibgda_batch *b, const struct bf_ibgda_ep *ep);
int bf_ibgda_init2rtr(struct bf_ibgda_transport *t, const struct bf_ibgda_batch *b, const struct bf_ibgda_ep *ep,
		      const struct bf_ibgda_rc_handle *to);
int bf_ibgda_rtr2rts(struct bf_ibgda_transport *t, const struct bf_ibgda_batch *b, const struct bf_ibgda_ep *ep);

/* Shape of queues, the same for all of one kind: bytes of the receive ring, CQs, entries and bytes of a CQ. */
uint64_t bf_ibgda_rq_bytes(const struct bf_ibgda_transport *t, enum bf_ibgda_qp_type type);
uint32_t bf_ibgda_cqs_of(const struct bf_ibgda_transport *t, enum bf_ibgda_qp_type type);
uint32_t bf_ibgda_cq_entries(const struct bf_ibgda_transport *t);
uint64_t bf_ibgda_cq_bytes(const struct bf_ibgda_transport *t);
/* Where the parts of a queue pair's slot lie. */
uint8_t *bf_ibgda_wq_at(const struct bf_ibgda_block *b, uint32_t slot);
uint32_t *bf_ibgda_dbr_at(const struct bf_ibgda_block *b, uint32_t slot);
uint32_t *bf_ibgda_cq_dbr_at(const struct bf_ibgda_block *b, uint32_t slot, uint32_t index);
uint8_t *bf_ibgda_cq_at(const struct bf_ibgda_transport *t, const struct bf_ibgda_block *b, uint32_t slot,
			uint32_t index);

/* ---- rc.c ---- */

/* Makes room for `n` new RCs on device `dev` to every peer, numbered from t->num_rc on, and for their backups. */
int bf_ibgda_new_rcs(struct bf_ibgda_transport *t, uint32_t dev, uint32_t n);
/* Collective. Creates and connects them. */
int bf_ibgda_connect_rcs(struct bf_ibgda_transport *t, uint32_t dev);
/* Takes back all RCs from number `first` on. */
void bf_ibgda_drop_rcs(struct bf_ibgda_transport *t, uint32_t first);
int bf_ibgda_reconnect(struct bf_ibgda_transport *t, const struct bf_ibgda_qp *qp);

/* ---- dc.c ---- */

int bf_ibgda_new_dcis(struct bf_ibgda_transport *t, uint32_t dev);
int bf_ibgda_connect_dcis(struct bf_ibgda_transport *t, uint32_t dev);
/* Collective. Creates the targets of a device and learns of everybody's. */
int bf_ibgda_create_dcts(struct bf_ibgda_transport *t, uint32_t dev);
/* The table to device code, in the form that everybody takes. */
int bf_ibgda_show_dcts(struct bf_ibgda_transport *t);
void bf_ibgda_destroy_dcts(struct bf_ibgda_transport *t);

/* ---- gpu_state.c ---- */

/* Tables that are there from the start, and what is known before any queue. */
int bf_ibgda_open_state(struct bf_ibgda_transport *t);
/* Makes tables for all queues that there are now, fills in the new ones and shows them to device code. */
int bf_ibgda_setup_gpu_state(struct bf_ibgda_transport *t);
/* Replaces a table that kernels may be looking at. */
int bf_ibgda_retire(struct bf_ibgda_transport *t, struct bf_memory *m);
void bf_ibgda_close_state(struct bf_ibgda_transport *t);

/* ---- proxy_queues.c ---- */

/* Makes room for all queues that there may be, once, if a CPU thread rings. */
int bf_ibgda_open_proxy(struct bf_ibgda_transport *t);
/* Where GPU threads leave the producer index of a queue, and the proxy's attention to it. */
uint64_t *bf_ibgda_proxy_slot(const struct bf_ibgda_transport *t, const struct bf_ibgda_batch *b,
			      const struct bf_ibgda_ep *ep);
void bf_ibgda_add_proxy_queue(struct bf_ibgda_transport *t, const struct bf_ibgda_batch *b,
			      const struct bf_ibgda_ep *ep);

/* ---- finalize.c ---- */

void bf_ibgda_finalize(struct bf_ibgda_transport *t);
/* Adds what is left by kind to `left`. */
void bf_ibgda_count_left(const struct bf_ibgda_transport *t, int64_t left[BF_IBGDA_KINDS]);

#endif
