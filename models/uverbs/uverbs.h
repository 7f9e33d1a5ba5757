/*
 * The kernel's half of an RDMA device: what lies between the ioctls and writes of libibverbs and the command mailbox of
 * a device model.
 *
 * It plays ib_uverbs: requests of the uverbs ABI are decoded into typed ones (decode*.c: strict on lengths, driven by
 * tables), and objects get handles of the file that made them (handle.c). What only a driver can do is its provider's
 * (struct bf_uv_provider in uverbs_internal.h, a descriptor of methods): mlx5/ plays mlx5_ib, and each object becomes
 * the device commands that mlx5_ib would send (mlx5/mr.c, cq.c, qp.c and so on). The device never learns that the
 * kernel is not one: rings, records and doorbells are the program's, and events come from event queues in memory.
 *
 * It makes no system call: whatever needs one is asked of the surroundings (struct bf_uverbs_host). Memory addresses of
 * the program are I/O addresses of the device (the surroundings map them one to one).
 *
 * Sources: Linux include/uapi/rdma (ib_user_verbs.h, ib_user_ioctl_cmds.h, ib_user_ioctl_verbs.h, rdma_user_ioctl.h,
 * mlx5-abi.h, mlx5_user_ioctl_cmds.h), rdma-core 44 (libibverbs/cmd*.c, providers/mlx5);
 * what they do is in docs/hardware/uverbs.md.
 *
 * One thread: the simulation's.
 */
#ifndef BELFRY_MODELS_UVERBS_UVERBS_H
#define BELFRY_MODELS_UVERBS_UVERBS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/iommu.h"
#include "sim/mem.h"
#include "sim/sim.h"

struct bf_uverbs;      /* one device, such as mlx5_0 */
struct bf_uv_provider; /* the driver below the verbs: models/uverbs/mlx5/mlx5_ib.h */
struct bf_uverbs_file; /* an open /dev/infiniband/uverbs0 */

#define BF_UVERBS_PAGE 4096u

/* What a program may map, as the kernel said it in an mmap offset: a UAR page, device memory, or a page to read. */
struct bf_uverbs_mapping {
	struct bf_region *region; /* of the UAR page or the device memory; NULL: the other kind */
	bool memory;              /* device memory: the program may map all `len` bytes from `offset` of the region */
	uint64_t offset;
	uint32_t uar;         /* its number */
	bool write_combining; /* a BlueFlame page; otherwise uncached */
	const uint8_t *page;  /* the other kind's BF_UVERBS_PAGE bytes, which never change */
};

/* The longest event: an answer of a DEVX query. Completion events have 8 bytes, asynchronous ones 16. */
#define BF_UVERBS_EVENT_MAX 512u

/* A queue of events that a program reads by a descriptor: the surroundings own the descriptor. */
struct bf_uverbs_host {
	void *arg;
	/*
	 * Makes a descriptor from which events can be read, each in one read of the size that it was put with; returns
	 * it, or a negative errno. Closing is the program's business.
	 */
	int (*channel_open)(void *arg);
	/* Puts an event of 8 to BF_UVERBS_EVENT_MAX bytes. 0 or a negative errno (the program does not read: -EAGAIN).
	 */
	int (*channel_put)(void *arg, int fd, const void *event, uint32_t len);
	/*
	 * Takes back events that were put and not read yet whose bytes `match` says yes to; returns how many. The
	 * others stay in order.
	 */
	int (*channel_take)(void *arg, int fd, bool (*match)(const void *event, void *what), void *what);
	/* The kernel holds the descriptor no more (its file was closed or its last user is gone). */
	void (*channel_release)(void *arg, int fd);
	/* May the program read (and write) all of these bytes? 0, or -EFAULT. */
	int (*pin)(void *arg, uint64_t address, uint64_t len, bool write);
	/*
	 * Where the program has bytes of a DMA-BUF: 0, -EBADF, -EINVAL beyond its end, or -EOPNOTSUPP when they are
	 * nowhere among its addresses. NULL: no DMA-BUFs are known.
	 */
	int (*dmabuf)(void *arg, int fd, uint64_t offset, uint64_t len, uint64_t *address);
	/* Which file is it: its device and number. 0 or -EBADF. NULL: files have no names that several could share. */
	int (*inode)(void *arg, int fd, uint64_t id[2]);
	/* Copies from and to the program's memory. 0, or -EFAULT. */
	int (*copy_in)(void *arg, void *to, uint64_t address, uint32_t len);
	int (*copy_out)(void *arg, uint64_t address, const void *from, uint32_t len);
};

/* Where the subnet manager is on a link of InfiniBand: it answers nobody, what it gives out is fixed. */
#define BF_UVERBS_SM_LID 1u

struct bf_uverbs_opts {
	const char *name;                      /* "mlx5_0" */
	const struct bf_uv_provider *provider; /* the driver, such as bf_mlx5_ib */
	void *device;                          /* what it drives, borrowed */
	struct bf_space *space;                /* where the kernel's own event queues live; the device's */
	struct bf_ioas *ioas;
	struct bf_uverbs_host host;
	uint32_t ipv4; /* of the port: GIDs are made from it */
	/* The network interface that the port is, for sysfs, and its number there, 0: as the loopback's, 1 */
	const char *interface;
	uint32_t interface_index;
	uint8_t mac[6];
	uint32_t mtu;       /* of packets on the way from the port, 256 to 4096; 0: 4096 */
	uint64_t node_guid; /* host order */
	uint64_t epoch_ns;  /* wall-clock time at simulated time 0, since 1970: what time stamps are converted with */
	bool blueflame;     /* tell programs of BlueFlame registers (bf_reg_size 512, otherwise 0) */
	bool infiniband;    /* the port's link: a LID, the low 16 bits of `ipv4`, and one GID made of the MAC */
	bool no_ioctl;      /* answer every ioctl with ENOTTY: programs fall back to write() */
};

/* Returns 0, -ENOMEM, or what a device command came back with; text in sim->error. */
int bf_uverbs_create(struct bf_sim *sim, const struct bf_uverbs_opts *opts, struct bf_uverbs **out);
/* After its files are closed; the device is destroyed by its owner afterwards. NULL is fine. */
void bf_uverbs_destroy(struct bf_uverbs *u);

/* The device file. Closing destroys what the program left, in the kernel's order. */
int bf_uverbs_open(struct bf_uverbs *u, struct bf_uverbs_file **out);
void bf_uverbs_close(struct bf_uverbs_file *f);

/*
 * What ioctl(2), write(2) and mmap(2) on the file answer: 0 (write: the number of bytes taken), or a negative errno as
 * Linux gives it. `arg` is an address in the program. Nothing that a program passes makes this fail otherwise; unknown
 * methods answer as a kernel that lacks them, and are recorded.
 */
int bf_uverbs_ioctl(struct bf_uverbs_file *f, uint64_t request, uint64_t arg);
int64_t bf_uverbs_write(struct bf_uverbs_file *f, uint64_t address, uint64_t len);
int bf_uverbs_mmap(struct bf_uverbs_file *f, uint64_t offset, uint64_t len, struct bf_uverbs_mapping *out);

/* The device's interrupt: the device model's owner hands it on, with the uverbs. */
void bf_uverbs_irq(void *uverbs, uint32_t vector);

/* The path MTU of its ports, as the verbs number it (enum ibv_mtu): 1 is 256 bytes, 5 is 4096. */
uint8_t bf_uverbs_active_mtu(const struct bf_uverbs *u);

/*
 * Datagrams of management (IBA vol. 1 chapter 13), by queue pair 1 of port 1: at most one user a device. `receive` is
 * called for each that comes, with the IPv4 address of its sender; it may send. bf_uverbs_mad_send() takes a copy:
 * -EAGAIN when too many are on their way, -EINVAL for an address that leads nowhere. Nobody tells of those that are
 * lost. What bf_uverbs_mad_open() returns: 0, -EBUSY, -ENOMEM or what a command came back with; text in sim->error.
 */
#define BF_UVERBS_MAD 256u
typedef void bf_uverbs_mad_fn(void *owner, uint32_t ipv4, const uint8_t mad[BF_UVERBS_MAD]);
int bf_uverbs_mad_open(struct bf_uverbs *u, bf_uverbs_mad_fn *receive, void *owner);
int bf_uverbs_mad_send(struct bf_uverbs *u, uint32_t ipv4, const uint8_t mad[BF_UVERBS_MAD]);
void bf_uverbs_mad_close(struct bf_uverbs *u);

/*
 * A file below /sys/class/infiniband/NAME or /sys/class/infiniband_verbs: its text for `path` relative to the class
 * folder of `kind`. The surroundings write the tree that SYSFS_PATH points to. Calls `fn` for each file.
 */
void bf_uverbs_sysfs(const struct bf_uverbs_opts *opts, uint32_t index,
		     void (*fn)(void *arg, const char *path, const char *text), void *arg);

/* What a program left open at the end, by kind; for reports. */
struct bf_uverbs_counts {
	uint32_t pds, mrs, dms, mws, xrcds, cqs, qps, srqs, ahs, channels, uars, umems, devx_objects, files, flows,
	    matchers;
	uint32_t wqs, tables;       /* receive queues apart, tables of them */
	uint64_t commands, unknown; /* requests so far; those that no method answers */
};
void bf_uverbs_counts(const struct bf_uverbs *u, struct bf_uverbs_counts *out);

/* Records: models/uverbs/records.h (types 130 to 149). */

#endif
