/*
 * What the files of the kernel's half share: a request on its way (struct bf_uv_call), the objects that handles name,
 * and who calls whom.
 *
 * A request arrives in decode.c (ioctl) or decode_write.c (write, and the write commands that an ioctl carries), which
 * check it against a row of a table and call the row's handler in the file of its object. A handler reads what is left
 * to read, has the device do it, and answers. What is the same for every device is here; a verb that needs the device
 * goes to its provider (struct bf_uv_provider), whose handlers are in a folder of its own, such as mlx5/.
 */
#ifndef BELFRY_MODELS_UVERBS_INTERNAL_H
#define BELFRY_MODELS_UVERBS_INTERNAL_H

#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <string.h>

#include "models/uverbs/records.h"
#include "models/uverbs/uverbs.h"
#include "sim/bytes.h"

#define BF_UV_PAGE BF_UVERBS_PAGE
#define BF_UV_VECTORS 4u   /* completion vectors, an event queue each */
#define BF_UV_GIDS 4u      /* at most: RoCE v1 and v2, link-local and of the IPv4 address */
#define BF_UV_GID_ROOM 16u /* places in the table, of which those are taken */
#define BF_UV_PKEY 0xffffu
#define BF_UV_NO_HANDLE UINT32_MAX
#define BF_UV_ATTRS 16u /* most rows of a method's table */
/* Bytes in or out: in the program's memory, or (`local`) inside the request. */
struct bf_uv_bytes {
	const uint8_t *local;
	uint64_t address;
	uint32_t len;
};

enum bf_uv_kind {
	BF_UV_IN,      /* bytes from the program */
	BF_UV_OUT,     /* bytes to the program */
	BF_UV_NEW,     /* a handle comes out */
	BF_UV_READ,    /* a handle of an object that is used */
	BF_UV_DESTROY, /* a handle of an object that goes */
	BF_UV_ARRAY,   /* handles */
	BF_UV_FD_NEW,  /* a descriptor comes out */
	BF_UV_FD,      /* a descriptor of a channel */
	BF_UV_RAW_FD,  /* any descriptor */
};

/* A row of a method's table: attribute `id`. */
struct bf_uv_spec {
	uint16_t id;
	uint8_t kind; /* enum bf_uv_kind */
	bool optional;
	uint16_t object;   /* handles: of which kind; BF_UV_ANY: any */
	uint16_t min, max; /* bytes; more than `max` must be zeros, unless it is 0: any length */
};
#define BF_UV_ANY 0xffffu

struct bf_uv_object;

struct bf_uv_attr {
	bool present;
	uint16_t place; /* in the program's list */
	uint16_t flags;
	struct bf_uv_bytes bytes;
	int64_t data; /* a descriptor */
	struct bf_uv_object *object;
};

struct bf_uv_call;
struct bf_uv_method {
	uint16_t object, method, nspecs;
	bool uhw; /* has the driver's own bytes in and out */
	const char *name;
	int (*run)(struct bf_uv_call *c);
	const struct bf_uv_spec *specs;
};

/* A write command: least sizes of what goes in (behind the header) and comes out, and whether driver bytes follow. */
struct bf_uv_command {
	uint32_t number; /* IB_USER_VERBS_CMD_FLAG_EXTENDED set for the extended ones */
	uint16_t in, out;
	bool uhw;
	const char *name;
	int (*run)(struct bf_uv_call *c);
};

enum bf_uv_abi { BF_UV_IOCTL, BF_UV_INVOKE_WRITE, BF_UV_WRITE };

/* A request on its way. */
struct bf_uv_call {
	struct bf_uverbs *u;
	struct bf_uverbs_file *f;
	struct bf_uv_bytes core_in, core_out, uhw_in, uhw_out;
	const struct bf_uv_method *method; /* ioctl */
	uint64_t attrs_at;                 /* where the program's attributes lie */
	struct bf_uv_attr attr[BF_UV_ATTRS], uhw[2];
	/* For the record. */
	const char *name;
	uint32_t handle, number;
	uint16_t object_id, method_id;
	uint8_t abi;
};

/* What all objects begin with. Destroying one that has users is refused. */
struct bf_uv_object {
	struct bf_uverbs_file *file;
	struct bf_uv_object *prev, *next; /* in order of creation */
	uint32_t handle, users;
	uint16_t type; /* UVERBS_OBJECT_*, or one of the provider's */
};

/* A descriptor from which the program reads events. It may outlive its place in the file's list: see `closed`. */
struct bf_uv_channel {
	struct bf_uv_object o; /* without a handle */
	int fd;
	uint32_t flags;
	bool closed;                              /* the number was given out anew: the program has closed this one */
	struct bf_uv_subscription *subscriptions; /* the provider's: what a channel of its own is to tell */
};

struct bf_uv_pd {
	struct bf_uv_object o;
	uint32_t pdn;
};

/* Device memory. */
struct bf_uv_dm {
	struct bf_uv_object o;
	uint64_t address, length; /* the device's address */
};

struct bf_uv_mr {
	struct bf_uv_object o;
	struct bf_uv_pd *pd;
	struct bf_uv_dm *dm; /* NULL: the program's memory */
	uint64_t address, length, iova;
	uint32_t key, access;
};

struct bf_uv_mw {
	struct bf_uv_object o;
	struct bf_uv_pd *pd;
	uint32_t key;
	uint8_t type;
};

/* Counts of events of an object, for the answer to its destruction. */
struct bf_uv_events {
	struct bf_uv_channel *channel; /* where they go; NULL: nowhere */
	uint64_t user_handle;
	uint32_t put;
};

struct bf_uv_cq {
	struct bf_uv_object o;
	uint32_t cqn, cqe; /* entries - 1 */
	bool large;        /* entries of 128 bytes */
	bool pad;          /* all of them written */
	uint64_t dbr;
	struct bf_uv_events comp, async;
	struct bf_uv_cq *next_by_number;
};

struct bf_uv_mcast {
	struct bf_uv_mcast *next;
	uint8_t gid[16];
	uint16_t mlid;
};

/* An XRC domain, which several files may have open: they say the same inode. */
struct bf_uv_xrcd {
	struct bf_uv_object o;
	uint32_t xrcdn;
	bool shared;
	uint64_t inode[2];
};

struct bf_uv_srq;
struct bf_uv_qp {
	struct bf_uv_object o;
	struct bf_uv_pd *pd; /* NULL: an XRC target */
	struct bf_uv_xrcd *xrcd;
	struct bf_uv_cq *send_cq, *recv_cq;
	struct bf_uv_srq *srq;
	struct bf_uv_events async;
	struct bf_uv_mcast *mcast;
	struct ib_uverbs_qp_cap cap;
	uint64_t dbr;
	uint32_t qpn; /* of a DC target: from RTR on */
	uint32_t access, qkey;
	uint32_t reg; /* static UARs: which register was dealt */
	struct ib_uverbs_qp_dest dest;
	uint8_t type;  /* IB_UVERBS_QPT_*; of driver queues BF_UV_QPT_DCI, BF_UV_QPT_DCT */
	uint8_t state; /* BF_UV_QPS_* */
	uint8_t port, mtu, sig_all, has_reg;
	struct {
		uint32_t sqn, rqn, tisn, tirn; /* 0: none */
	} raw;                                 /* of raw packets */
	struct bf_uv_object *table;            /* of receive queues: only a hash over it, without queues of its own */
	uint8_t *dct;                          /* a DC target's command block until it is created */
	struct bf_uv_qp *next_by_number;
};
#define BF_UV_QPT_DCI 0xf0u
#define BF_UV_QPT_DCT 0xf1u

struct bf_uv_srq {
	struct bf_uv_object o;
	struct bf_uv_pd *pd;
	struct bf_uv_xrcd *xrcd; /* NULL: a basic one */
	struct bf_uv_cq *cq;     /* XRC */
	struct bf_uv_events async;
	uint32_t srqn, max_wr, max_sge;
	struct bf_uv_srq *next_by_number;
};

struct bf_uv_ah {
	struct bf_uv_object o;
	struct bf_uv_pd *pd;
};

struct bf_uverbs {
	struct bf_sim *sim;
	struct bf_uverbs_opts opts;
	struct bf_uverbs_file *files;
	uint32_t actor;
	uint32_t last_file;
	struct bf_uverbs_counts count;
};

struct bf_uverbs_file {
	struct bf_uverbs *u;
	struct bf_uverbs_file *next;
	uint32_t number;
	bool context, closing;
	struct bf_uv_object **objects; /* by handle */
	uint32_t handles, first_free;
	struct bf_uv_object *oldest, *newest;
	struct bf_uv_channel *channels; /* all of this file's; list by o.next */
	struct bf_uv_channel *async;    /* the one that objects without their own use */
	uint32_t comp_read, async_read; /* events that were read of the object that was destroyed last */
};

/* Verbs that need the device: each is a handler of a method or command (methods.c, commands.c). */
#define BF_UV_VERBS(V)                                                                                                 \
	V(get_context)                                                                                                 \
	V(get_context_write)                                                                                           \
	V(query_device)                                                                                                \
	V(query_device_ex)                                                                                             \
	V(query_port)                                                                                                  \
	V(query_port_write)                                                                                            \
	V(alloc_pd)                                                                                                    \
	V(create_ah)                                                                                                   \
	V(reg_mr)                                                                                                      \
	V(rereg_mr)                                                                                                    \
	V(reg_dmabuf_mr)                                                                                               \
	V(reg_dm_mr)                                                                                                   \
	V(advise_mr)                                                                                                   \
	V(query_mr)                                                                                                    \
	V(alloc_mw)                                                                                                    \
	V(create_cq)                                                                                                   \
	V(create_cq_write)                                                                                             \
	V(create_cq_ex)                                                                                                \
	V(resize_cq)                                                                                                   \
	V(modify_cq)                                                                                                   \
	V(create_qp)                                                                                                   \
	V(create_qp_write)                                                                                             \
	V(create_qp_ex)                                                                                                \
	V(modify_qp)                                                                                                   \
	V(modify_qp_ex)                                                                                                \
	V(query_qp)                                                                                                    \
	V(create_srq)                                                                                                  \
	V(create_srq_write)                                                                                            \
	V(create_xsrq)                                                                                                 \
	V(modify_srq)                                                                                                  \
	V(query_srq)                                                                                                   \
	V(open_xrcd)                                                                                                   \
	V(open_qp)                                                                                                     \
	V(create_flow)                                                                                                 \
	V(create_wq)                                                                                                   \
	V(modify_wq)                                                                                                   \
	V(create_rwq_ind_table)

/*
 * A driver below the verbs, as mlx5_ib is one. `device_size` and `file_size` are of structures that begin with struct
 * bf_uverbs and struct bf_uverbs_file; they are zero but for that.
 */
struct bf_uv_provider {
	uint32_t driver_id; /* RDMA_DRIVER_* */
	size_t device_size, file_size;
	int (*open)(struct bf_uverbs *u);   /* 0 or a negative errno, text in sim->error */
	void (*close)(struct bf_uverbs *u); /* also after open() failed */
	void (*irq)(struct bf_uverbs *u, uint32_t vector);
	void (*file_close)(struct bf_uverbs_file *f); /* its objects have gone */
	int (*mmap)(struct bf_uverbs_file *f, uint64_t offset, uint64_t len, struct bf_uverbs_mapping *out);
	void (*channel_gone)(struct bf_uv_channel *ch); /* nobody reads it any more */
	/* Attaches a queue pair to a multicast group, or detaches it. */
	int (*mcast)(struct bf_uverbs *u, bool attach, uint32_t qpn, const uint8_t gid[16]);
	/* The device lets go of an object, which is freed then: 0, or why not. `forced`: it will be freed all the same.
	 */
	int (*destroy)(struct bf_uv_object *o, bool forced);
	/* Where objects of the provider's own kinds are counted. */
	uint32_t *(*count)(struct bf_uverbs_counts *n, uint16_t type);
	int (*mad_open)(struct bf_uverbs *u, bf_uverbs_mad_fn *receive, void *owner);
	int (*mad_send)(struct bf_uverbs *u, uint32_t ipv4, const uint8_t mad[BF_UVERBS_MAD]);
	void (*mad_close)(struct bf_uverbs *u);
	const char *const (*identity)[2]; /* files below /sys/class/infiniband/NAME, and their texts; ends with NULL */
	const struct bf_uv_method *methods;         /* beside those of every device; the last has no name */
#define V(verb) int (*verb)(struct bf_uv_call * c); /* NULL: not supported */
	BF_UV_VERBS(V)
#undef V
};

static inline const struct bf_uv_provider *bf_uv_provider(const struct bf_uverbs *u)
{
	return u->opts.provider;
}

/* call.c: bytes of a request. All return 0 or -EFAULT (or what they say). */
/* At most `size` bytes; what the program did not give is zero. */
int bf_uv_get(struct bf_uv_call *c, const struct bf_uv_bytes *from, void *to, uint32_t size);
/* The same; what the program gave beyond must be zero, else -EOPNOTSUPP. */
int bf_uv_get_strict(struct bf_uv_call *c, const struct bf_uv_bytes *from, void *to, uint32_t size);
/* As much as there is room for; what is left becomes zero. */
int bf_uv_put(struct bf_uv_call *c, const struct bf_uv_bytes *to, const void *from, uint32_t size);
/* An attribute by its number: never NULL (look at `present`). */
struct bf_uv_attr *bf_uv_attr(struct bf_uv_call *c, uint16_t id);
int bf_uv_attr_get(struct bf_uv_call *c, uint16_t id, void *to, uint32_t size);
int bf_uv_attr_put(struct bf_uv_call *c, uint16_t id, const void *from, uint32_t size);
int bf_uv_attr_mark(struct bf_uv_call *c, uint16_t id); /* tells that an answer is there */
/* Tells the handle or the descriptor of what was made. */
int bf_uv_attr_handle(struct bf_uv_call *c, uint16_t id, int64_t value);
/* The object of a handle, of one kind; NULL when it is not there or of another. */
static inline struct bf_uv_object *bf_uv_attr_object(struct bf_uv_call *c, uint16_t id)
{
	return bf_uv_attr(c, id)->object;
}
/* Request and answer of a write command. */
int bf_uv_request(struct bf_uv_call *c, void *to, uint32_t size);
int bf_uv_response(struct bf_uv_call *c, const void *from, uint32_t size);
void bf_uv_call_record(struct bf_uv_call *c, int status);
void bf_uv_unknown_record(struct bf_uv_call *c, uint32_t command, uint16_t attr, int status);

/* decode.c, decode_write.c, methods.c, commands.c */
const struct bf_uv_method *bf_uv_method_find(const struct bf_uverbs *u, uint16_t object, uint16_t method);
const struct bf_uv_command *bf_uv_command_find(uint32_t number);
int bf_uv_invoke_write(struct bf_uv_call *c);

/* handle.c */
/*
 * Makes an object of `size` bytes with a handle (channels: without), at the end of the file's list. NULL: no memory.
 * bf_uv_free() takes one back that the device does not know; bf_uv_destroy() is what a program asks for: 0, -EBUSY, or
 * what the device says. When `forced` (the file closes) objects go whatever happens.
 */
void *bf_uv_new(struct bf_uv_call *c, uint16_t type, size_t size);
void bf_uv_free(struct bf_uv_object *o);
int bf_uv_destroy(struct bf_uv_object *o, bool forced);
struct bf_uv_object *bf_uv_find(struct bf_uverbs_file *f, uint32_t handle);
/* 0; -ENOENT: no such handle; -EINVAL: of another kind. */
int bf_uv_lookup(struct bf_uverbs_file *f, uint16_t type, uint32_t handle, struct bf_uv_object **out);
/* For write commands: NULL, which they answer by -EINVAL. */
void *bf_uv_get_object(struct bf_uv_call *c, uint16_t type, uint32_t handle);
int bf_uv_destroy_handle(struct bf_uv_call *c, uint16_t type, uint32_t handle);
void bf_uv_close_objects(struct bf_uverbs_file *f);

/* channel.c */
struct bf_uv_channel *bf_uv_channel_new(struct bf_uv_call *c, uint16_t type, int *error);
struct bf_uv_channel *bf_uv_channel_find(struct bf_uverbs_file *f, uint16_t type, int64_t fd);
void bf_uv_channel_use(struct bf_uv_channel *ch);
void bf_uv_channel_drop(struct bf_uv_channel *ch); /* a user less; the last one frees a closed one */
void bf_uv_channel_destroy(struct bf_uv_channel *ch);
/* Events of an object: where they go, their end, and one of them. */
void bf_uv_events_start(struct bf_uv_events *e, struct bf_uv_channel *ch, uint64_t user_handle);
/* Nothing comes any more. Takes back what was not read; returns how many the program has read. */
uint32_t bf_uv_events_end(struct bf_uverbs_file *f, struct bf_uv_events *e);
void bf_uv_put_comp(struct bf_uverbs_file *f, struct bf_uv_cq *cq);
void bf_uv_put_async(struct bf_uverbs_file *f, struct bf_uv_events *e, uint32_t number, uint32_t type);
void bf_uv_put_port(struct bf_uverbs_file *f, uint32_t port, uint32_t type);
/* Bytes of any kind, to a channel that counts nothing. */
void bf_uv_put_raw(struct bf_uv_channel *ch, const void *event, uint32_t len, uint32_t number, uint32_t type);
int bf_uv_create_comp_channel(struct bf_uv_call *c);
int bf_uv_alloc_async(struct bf_uv_call *c);

/* query.c, gid.c */
int bf_uv_info_handles(struct bf_uv_call *c);
int bf_uv_query_gid_table(struct bf_uv_call *c);
int bf_uv_query_gid_entry(struct bf_uv_call *c);
uint32_t bf_uv_gids(const struct bf_uverbs_opts *o); /* how many there are */
void bf_uv_gid(const struct bf_uverbs_opts *o, uint32_t index, uint8_t gid[16]);
uint32_t bf_uv_gid_type(const struct bf_uverbs_opts *o, uint32_t index); /* IB_UVERBS_GID_TYPE_* */
bool bf_uv_gid_is_group(const uint8_t gid[16]);                          /* rdma/ib_addr.h rdma_is_multicast_addr() */
/* What the wire knows: the IPv4-mapped form of a GID and the MAC of its owner. -EINVAL when it leads nowhere. */
int bf_uv_gid_resolve(const uint8_t gid[16], uint8_t mapped[16], uint8_t mac[6]);

/* The program's address of what lies at `*address` of a DMA-BUF. 0 or a negative errno. */
int bf_uv_dmabuf(struct bf_uv_call *c, int fd, uint64_t *address, uint64_t len);

int bf_uv_attach_mcast(struct bf_uv_call *c);
int bf_uv_detach_mcast(struct bf_uv_call *c);
void bf_uv_mcast_drop(struct bf_uv_qp *qp);
/* Does this step keep to the rules that all drivers share (Linux core/verbs.c ib_modify_qp_is_ok())? */
bool bf_uv_qp_step_ok(uint8_t type, uint32_t from, uint32_t to, uint32_t mask);

/* destroy.c */
int bf_uv_dealloc_pd(struct bf_uv_call *c);
int bf_uv_dereg_mr(struct bf_uv_call *c);
int bf_uv_dealloc_mw(struct bf_uv_call *c);
int bf_uv_destroy_cq(struct bf_uv_call *c);
int bf_uv_destroy_cq_write(struct bf_uv_call *c);
int bf_uv_destroy_qp(struct bf_uv_call *c);
int bf_uv_destroy_qp_write(struct bf_uv_call *c);
int bf_uv_destroy_srq(struct bf_uv_call *c);
int bf_uv_destroy_srq_write(struct bf_uv_call *c);
int bf_uv_destroy_ah(struct bf_uv_call *c);
int bf_uv_destroy_flow(struct bf_uv_call *c);
int bf_uv_destroy_wq(struct bf_uv_call *c);
int bf_uv_destroy_rwq_ind_table(struct bf_uv_call *c);
int bf_uv_close_xrcd(struct bf_uv_call *c);

/* verbs.c: hand over to the provider. */
#define V(verb) int bf_uv_##verb(struct bf_uv_call *c);
BF_UV_VERBS(V)
#undef V

/* Nothing is to be done besides destroying the object of the handle: methods that destroy. */
int bf_uv_done(struct bf_uv_call *c);
/* Methods that a device might answer and that are not modelled. */
int bf_uv_refuse(struct bf_uv_call *c);

#endif
