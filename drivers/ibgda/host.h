/*
 * IBGDA, host side: heaps, keys, queues and device state of PEs, through nothing but command mailboxes, memory and a
 * bootstrap (NVSHMEM src/modules/transport/ibgda/ibgda.cpp does the same through DEVX).
 *
 * Each PE runs a transport: it chooses its devices (a device is a port of a NIC), registers its symmetric heap with
 * them, creates DC targets and initiators and num_rc_per_pe reliable connections on each device to every other PE,
 * exchanges what peers need to know, and fills in the struct bf_ibgda_state that device code works on. Connections may
 * be added later, while kernels run. Tables are in the order of the chosen layout (ibgda.h).
 *
 * bf_ibgda_host_open() does all of that for all PEs of a world. One thread. Memory belongs to the world and goes with
 * it.
 */
#ifndef BELFRY_DRIVERS_IBGDA_HOST_H
#define BELFRY_DRIVERS_IBGDA_HOST_H

#include "drivers/backend/backend.h"
#include "drivers/ibgda/env.h"
#include "drivers/ibgda/ibgda.h"

/*
 * Zero means NVSHMEM's default everywhere. What is set here goes before what `env` says. On NICs without a DC transport
 * there are no DCs, unless numbers of them or no_rc are set.
 */
struct bf_ibgda_host_opts {
	enum bf_ibgda_flavour flavour;
	enum bf_ibgda_layout_id layout; /* 0: L3 */
	uint64_t bugs;                  /* BF_IBGDA_BUG_* */
	uint64_t suspects;              /* BF_IBGDA_SUSPECT_* */
	uint64_t lacks;                 /* BF_IBGDA_LACKS_*: what the machine is to be without */
	uint64_t heap_bytes;            /* of each PE; rounded up to granules */
	uint64_t heap_first_bytes;      /* of them registered at once, the rest by grow_heap(); 0: all */
	uint32_t log2_granularity;      /* of the key tables; 0: 21 (2 MiB) */
	uint32_t granules_per_mr; /* registrations of this many granules each; 0: one for all that is registered */
	uint32_t num_rc_per_pe;   /* on each device; 0: 2 */
	uint32_t rc_room;         /* connections to each PE that tables have room for; 0: twice the first, and 8 */
	uint32_t qp_depth;        /* WQEBBs, power of two 16..32768; 0: 1024 */
	uint32_t batch;           /* num_requests_in_batch, power of two; 0: 32 */
	uint32_t ibuf_slots;      /* of each queue pair, power of two; 0: 1024 */
	bool no_rc;               /* DC only */
	bool no_dc;               /* no DC targets and initiators: a PE cannot send to itself */
	uint32_t num_dct;         /* on each device; 0: 2 */
	int32_t num_dci;          /* of the PE; 0: 1; negative: as many as dci_map has users for */
	uint32_t num_shared_dci;  /* of them shared by all threads; 0: 1 */
	enum bf_ibgda_dci_map dci_map;
	uint32_t sms;      /* of the GPU, for the automatic number; 0: 132 */
	uint32_t devices;  /* NICs or ports that a PE uses; 0: 1, or all with IBGDA_ENABLE_MULTI_PORT */
	bool backup;       /* a second queue pair behind each connection, on the neighbour device or port */
	bool cpu_proxy;    /* a CPU thread rings doorbells (proxy.h) */
	bool may_skip_cst; /* platform: completed READs are in order with loads */
	bool full_av;      /* no compact address vectors */
	bool system_scope; /* rings, records and completion queues in host memory, or the heap */
	bool cuda_rings;   /* they are in a real GPU's memory, and so are places for fetched results (BF_PLACE_CUDA) */
	bool cuda_heap;    /* the heap is */
	bool plain_cq; /* not collapsed: a ring of CQEs (what libmlx5 uses); device code then needs the option too */
	uint32_t qps_per_uar;           /* queue pairs that share a doorbell page; 0: 1 */
	uint8_t ack_timeout;            /* 4.096 us * 2^n; 0: 20, NVSHMEM's */
	uint8_t retry_count;            /* 0: 7 */
	const struct bf_ibgda_env *env; /* NULL: none; borrowed during open */
	struct bf_boot *ranks; /* the world's (struct bf_world_opts), which has to last as long as the host side */
};

struct bf_ibgda_host; /* opaque */

/*
 * Builds everything and connects all pairs (RESET to RTS). On failure returns a negative errno, `err` names the
 * command, PE and status, and everything is undone. With `ranks` every process calls it, and likewise what follows that
 * is called collective.
 */
int bf_ibgda_host_open(const struct bf_backend *be, struct bf_world *w, uint32_t npes,
		       const struct bf_ibgda_host_opts *opts, struct bf_error *err, struct bf_ibgda_host **out);

/* Destroys in the order the device demands: QPs, DCTs, CQs, umems, keys, protection domains. */
void bf_ibgda_host_close(struct bf_ibgda_host *h);

/*
 * The same, and what is still there afterwards, by kind of object, summed over all PEs: "2 ep" or "". Returns how many.
 */
uint64_t bf_ibgda_host_close_report(struct bf_ibgda_host *h, char *leaks, size_t cap);

/*
 * Collective. Adds `num_qps` connections to every other PE, spread over the devices in turn; kernels may run meanwhile.
 * handles[i] (may be NULL) gets what device code takes as handle of each: its number times npes. -ENOSPC when the
 * tables have no room, -ENOTSUP in layout L2, whose order leaves no place for more.
 */
int bf_ibgda_host_add_qps(struct bf_ibgda_host *h, uint32_t num_qps, uint32_t *handles);

/* Collective. Registers the next `bytes` (whole granules) of every heap; kernels may run meanwhile. */
int bf_ibgda_host_grow_heap(struct bf_ibgda_host *h, uint64_t bytes);

/*
 * Makes memory of a PE outside of its heap usable as the local end of transfers, and takes it back. `host`: it lies in
 * host memory, so that sources need a system fence.
 */
int bf_ibgda_host_register(struct bf_ibgda_host *h, uint32_t pe, const struct bf_memory *m, bool host);
int bf_ibgda_host_unregister(struct bf_ibgda_host *h, uint32_t pe, const struct bf_memory *m);

/* The device state of a PE, dereferenceable by its threads; NULL when it is in another process. */
struct bf_ibgda_state *bf_ibgda_host_state(struct bf_ibgda_host *h, uint32_t pe);

/* Where host code finds what the device state's pointers to rings, records and completions lead a GPU's threads to. */
const void *bf_ibgda_host_look(const struct bf_ibgda_host *h, const void *p);

/* The heap of a PE. Host code may touch its bytes while nothing runs; of far memory those of its copy. */
struct bf_memory bf_ibgda_host_heap(const struct bf_ibgda_host *h, uint32_t pe);

/* The RC `i` (0..number of connections on all devices - 1) of `pe` towards `peer`; NULL for itself or out of range. */
struct bf_ibgda_qp *bf_ibgda_host_qp(struct bf_ibgda_host *h, uint32_t pe, uint32_t peer, uint32_t i);

/* Its backup; NULL also when it has none. */
struct bf_ibgda_qp *bf_ibgda_host_backup_qp(struct bf_ibgda_host *h, uint32_t pe, uint32_t peer, uint32_t i);

/* DC initiator `i` of `pe`; NULL out of range. */
struct bf_ibgda_qp *bf_ibgda_host_dci(struct bf_ibgda_host *h, uint32_t pe, uint32_t i);

/*
 * What the CPU proxy of `pe` works on, for a thread of the CPU that runs bf_ibgda_proxy_run() (proxy.h) beside the
 * kernels; NULL without cpu_proxy.
 */
struct bf_ibgda_proxy *bf_ibgda_host_proxy(struct bf_ibgda_host *h, uint32_t pe);

/* The NIC, as the backend numbers them, and the port (from 0) of device `dev` of a PE; -EINVAL out of range. */
int bf_ibgda_host_device(const struct bf_ibgda_host *h, uint32_t pe, uint32_t dev, uint32_t *nic, uint32_t *port);

/*
 * Brings a queue pair (an RC or a backup) of `pe` from any state back to RTS with empty rings, towards the same peer,
 * whose end must be brought back as well. Its counters in mvars are not touched.
 */
int bf_ibgda_host_reconnect(struct bf_ibgda_host *h, uint32_t pe, const struct bf_ibgda_qp *qp);

/* Bytes of host memory (not the PE's) that the host side holds now for its queue pairs. */
uint64_t bf_ibgda_host_bytes(const struct bf_ibgda_host *h);

#endif
