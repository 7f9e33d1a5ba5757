/*
 * The kernel's connection manager: what is behind /dev/infiniband/rdma_cm and, on the wire, behind queue pair 1.
 *
 * It plays rdma_ucm, rdma_cm and ib_cm: commands that librdmacm writes are decoded (decode.c), identifiers go through
 * the states of rdma_cm (id.c, address.c, connect.c) and speak the communication manager's protocol with others (cm.c:
 * REQ, REP, RTU, REJ, MRA, DREQ, DREP, and SIDR for datagrams) in datagrams of management, with time-outs and repeats.
 * Events wait in files until the program asks. Like models/uverbs it makes no system call but for what models/fabric
 * does: memory and descriptors are asked of the surroundings.
 *
 * All processes of a machine are one host to others, with one address and one port space. A process that binds a port
 * claims it among all of them (models/fabric/outside.h); a request to connect is led to the process that listens, the
 * other messages to the one whose number they carry.
 *
 * Sources: Linux include/uapi/rdma/rdma_user_cm.h, drivers/infiniband/core (ucma.c, cma.c, cm.c), include/rdma
 * (ibta_vol1_c12.h); InfiniBand Architecture Specification vol. 1 chapter 12, annex A11 (IP addressing in private
 * data).
 *
 * One thread: the simulation's.
 */
#ifndef BELFRY_MODELS_RDMACM_RDMACM_H
#define BELFRY_MODELS_RDMACM_RDMACM_H

#include <netinet/in.h>

#include "models/fabric/outside.h"
#include "models/uverbs/uverbs.h"

struct bf_rdmacm;      /* one a process */
struct bf_rdmacm_file; /* an open /dev/infiniband/rdma_cm: an event channel */

#define BF_RDMACM_DEVICES 8u
#define BF_RDMACM_ABI 4 /* what /sys/class/misc/rdma_cm/abi_version says */

struct bf_rdmacm_device {
	struct bf_uverbs *uverbs; /* borrowed; the manager takes its datagrams of management */
	uint32_t ipv4;            /* of its port, host order */
	uint64_t node_guid;       /* host order */
	bool infiniband;          /* its link: peers are named by LIDs, the low 16 bits of their address */
};

struct bf_rdmacm_opts {
	struct bf_rdmacm_device device[BF_RDMACM_DEVICES];
	uint32_t devices;
	struct bf_outside *outside; /* NULL: no other processes. Borrowed */
	bool routed;                /* addresses of other machines can be reached (UDP) */
	uint32_t salt;              /* differs from one start of a process to the next: numbers on the wire do, too */
	struct bf_uverbs_host host; /* channels and the program's memory; `pin` is not used */
	/* Is it an address of this machine? Of AF_INET or AF_INET6, ports do not count. With `host.arg`. */
	bool (*is_here)(void *arg, const struct sockaddr *address);
};

/* Returns 0, -ENOMEM, -EINVAL (no device, or too many) or what a device said; text in sim->error. */
int bf_rdmacm_create(struct bf_sim *sim, const struct bf_rdmacm_opts *opts, struct bf_rdmacm **out);
/* Closes its files. Peers hear of that only if the simulation runs once more before it is destroyed. */
void bf_rdmacm_close_all(struct bf_rdmacm *cm);
/*
 * Repeats the answers of the last minute that ended something (DREP, REJ) to peers on other machines. A kernel would
 * answer again whoever lost one; a manager that goes with its process cannot, and the peer would ask in vain for a
 * minute.
 */
void bf_rdmacm_say_again(struct bf_rdmacm *cm);
void bf_rdmacm_destroy(struct bf_rdmacm *cm); /* NULL is fine */

/*
 * Opens a file. `*fd` is its descriptor (bf_uverbs_host.channel_open): readable as long as there are events. What can
 * be read there means nothing. Closing destroys what the program left.
 */
int bf_rdmacm_open(struct bf_rdmacm *cm, struct bf_rdmacm_file **out, int *fd);
void bf_rdmacm_close(struct bf_rdmacm_file *f);

/*
 * What write(2) answers: the number of bytes, or a negative errno as Linux gives it. -EAGAIN for
 * RDMA_USER_CM_CMD_GET_EVENT without an event: the surroundings know whether the program wants to wait. Hostile input
 * makes nothing worse.
 */
int64_t bf_rdmacm_write(struct bf_rdmacm_file *f, uint64_t address, uint64_t len);

/* Whether that is a RDMA_USER_CM_CMD_GET_EVENT. For when there is no connection manager any more. */
bool bf_rdmacm_asks_for_event(const struct bf_uverbs_host *h, uint64_t address, uint64_t len);

/* What is there, for reports and tests. */
struct bf_rdmacm_counts {
	uint32_t files, ids, events, ports;
	uint64_t sent, resent, received, malformed, unanswered; /* messages; `unanswered`: given up */
};
void bf_rdmacm_counts(const struct bf_rdmacm *cm, struct bf_rdmacm_counts *out);

/* Records: models/rdmacm/records.h (types 180 to 182). */

#endif
