/*
 * RDMA devices of this machine, for the backends mlx5 and rxe.
 *
 * What calls libibverbs and libmlx5 is a library of its own, libbelfry-verbs.so, built where CMake finds both and
 * loaded when such a backend is asked for; so neither libbelfry nor the program depends on them. Everything that can be
 * decided without a device is decided on this side of the table.
 */
#ifndef BELFRY_DRIVERS_BACKEND_VERBS_INTERNAL_H
#define BELFRY_DRIVERS_BACKEND_VERBS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BF_VERBS_LIBRARY "libbelfry-verbs.so"
#define BF_VERBS_API 2u
#define BF_VERBS_NAME 64u

struct bf_verbs_dev;
struct bf_verbs_qp;

struct bf_verbs_info {
	char name[BF_VERBS_NAME]; /* "mlx5_0" */
	char pcie[64];            /* in sysfs; "": not there (soft-RoCE has none) */
	uint32_t ports;
	uint32_t max_qp_wr;
	uint32_t max_rd_atom; /* READs and atomics in flight, of each queue pair */
	bool atomics;         /* of 8 bytes */
};

/* A port's RoCEv2 address over IPv4, and where it stands in the port's table. */
struct bf_verbs_port {
	bool up;
	uint8_t gid[16], mac[6]; /* MAC: of mlx5 devices only */
	uint8_t gid_index;
	uint8_t mtu; /* 1: 256 .. 5: 4096 */
};

/* Opcodes are the device's own (enum bf_mlx5_opcode), states too (enum bf_mlx5_qp_state). */
struct bf_verbs_sge {
	uint64_t va;
	uint32_t len, lkey;
};

/* What a memory region allows beside local reads. */
#define BF_VERBS_LOCAL_WRITE 1u
#define BF_VERBS_REMOTE_READ 2u
#define BF_VERBS_REMOTE_WRITE 4u
#define BF_VERBS_ATOMIC 8u

struct bf_verbs_wr {
	uint64_t id;
	uint8_t opcode;
	bool fence, solicited;
	uint32_t imm; /* as it goes to the wire, or the key that is invalidated */
	uint64_t raddr;
	uint32_t rkey;
	uint64_t swap_add, compare;
	const void *inline_data; /* NULL: the list counts */
	uint32_t inline_len;
	uint32_t nsge;
	const struct bf_verbs_sge *sge;
};

struct bf_verbs_wc {
	uint64_t id;
	uint8_t syndrome; /* enum bf_mlx5_syndrome; 0: good */
	uint8_t vendor;   /* of the device, whatever it means there */
	uint8_t opcode;   /* of the CQE: enum bf_mlx5_cqe_opcode */
	uint32_t bytes;
	uint32_t imm;
	uint32_t qpn;
};

struct bf_verbs_qp_opts {
	uint32_t sends, receives; /* work requests */
	uint32_t inline_bytes;
};

struct bf_verbs_path {
	uint32_t remote_qpn, next_psn;
	uint8_t gid[16];
	uint8_t port, mtu, timeout, retries, rnr_retries, min_rnr, hop_limit, tclass, sl;
	uint8_t gid_index, reads; /* reads: in flight, both ways */
};

/*
 * What the library exports as `bf_verbs_api`. Functions return 0 or a negative errno. A device is one thread's at a
 * time.
 */
struct bf_verbs_api {
	uint32_t version;
	/* Name of RDMA device `index`, in order of name. -ENODEV past the last. `mlx5`: counts only those of libmlx5.
	 */
	int (*name)(uint32_t index, bool mlx5, char out[BF_VERBS_NAME]);
	/* `devx`: for command blocks of one's own; -EOPNOTSUPP where kernel or device have no DEVX. */
	int (*open)(const char *name, bool devx, struct bf_verbs_dev **out);
	void (*close)(struct bf_verbs_dev *d);
	int (*info)(struct bf_verbs_dev *d, struct bf_verbs_info *out);
	/* Ports count from 1. -EADDRNOTAVAIL: it has no RoCEv2 address over IPv4. */
	int (*port)(struct bf_verbs_dev *d, uint32_t port, struct bf_verbs_port *out);

	/*
	 * DEVX. A device that refuses says so in `out` (status, syndrome), whatever the result. Objects and the rest
	 * end before their device does.
	 */
	int (*command)(struct bf_verbs_dev *d, const void *in, size_t in_len, void *out, size_t out_len);
	int (*create)(struct bf_verbs_dev *d, const void *in, size_t in_len, void *out, size_t out_len, void **object);
	int (*modify)(void *object, const void *in, size_t in_len, void *out, size_t out_len);
	int (*query)(void *object, const void *in, size_t in_len, void *out, size_t out_len);
	int (*destroy)(void *object);
	/* `dmabuf`: a descriptor in which the bytes begin at `at` as an offset; -1: `at` is their address. */
	int (*umem_create)(struct bf_verbs_dev *d, uint64_t at, size_t bytes, int dmabuf, uint32_t *id, void **umem);
	int (*umem_destroy)(void *umem);
	int (*uar_create)(struct bf_verbs_dev *d, uint32_t *index, void **page, void **uar);
	void (*uar_destroy)(void *uar);
	/* Number of an empty SRQ, for queue pairs and targets to which nothing but RDMA comes. One a device. */
	int (*srqn)(struct bf_verbs_dev *d, uint32_t *out);

	/* Verbs. All queue pairs of a device share one CQ, polled by poll(). */
	int (*mr_create)(struct bf_verbs_dev *d, void *at, size_t bytes, uint32_t access, uint32_t *lkey,
			 uint32_t *rkey, void **mr);
	int (*mr_destroy)(void *mr);
	int (*qp_create)(struct bf_verbs_dev *d, const struct bf_verbs_qp_opts *opts, uint32_t *qpn,
			 struct bf_verbs_qp **out);
	int (*qp_modify)(struct bf_verbs_qp *qp, uint8_t state, const struct bf_verbs_path *path);
	int (*qp_destroy)(struct bf_verbs_qp *qp);
	int (*send)(struct bf_verbs_qp *qp, const struct bf_verbs_wr *wr);
	int (*receive)(struct bf_verbs_qp *qp, uint64_t id, const struct bf_verbs_sge *sge, uint32_t n);
	/* How many were there, at most `max`, or a negative errno. */
	int (*poll)(struct bf_verbs_dev *d, struct bf_verbs_wc *out, uint32_t max);
};

/* Loads the library and checks its version. 0 or a negative errno with what is missing in `why`. */
int bf_verbs_load(const struct bf_verbs_api **out, char *why, size_t cap);

#endif
