/*
 * mlx5_ib: the driver of the ConnectX below the verbs. Each verb becomes the device commands that the kernel's would
 * send (device.c: bf_mlx5_ib_cmd()).
 */
#ifndef BELFRY_MODELS_UVERBS_MLX5_IB_INTERNAL_H
#define BELFRY_MODELS_UVERBS_MLX5_IB_INTERNAL_H

#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "models/mlx5/mlx5.h"
#include "models/mlx5/prm_eth.h"
#include "models/uverbs/mlx5/mlx5_ib.h"
#include "models/uverbs/uverbs_internal.h"

#define BF_MLX5_IB_CMD_MAX 65536u    /* bytes of a DEVX command block: the length of an attribute has 16 bits */
#define BF_MLX5_IB_LOG_MAX_QP_SZ 15u /* WQEBBs of a send queue, WQEs of a receive queue */
#define BF_MLX5_IB_LOG_MAX_CQ_SZ 22u
#define BF_MLX5_IB_MAX_SGE 30u
#define BF_MLX5_IB_MAX_SRQ_WR 32767u
#define BF_MLX5_IB_MAX_SRQ_SGE 31u
#define BF_MLX5_IB_MAX_RD_ATOM 16u

/* Static UARs of a file (no dynamic ones): pages with two registers each that the kernel deals out. */
#define BF_MLX5_IB_STATIC_UARS 16u
#define BF_MLX5_IB_REGS_PER_UAR 4u /* as the program numbers them */
#define BF_MLX5_IB_KERNEL_REGS 2u  /* as the kernel deals them: the last two are for fast paths */

#define BF_MLX5_IB_BUCKETS 256u
#define BF_MLX5_IB_CLOCK_MASK 0x7fffffffffffffffull /* of time stamps, which count nanoseconds */

struct bf_mlx5_ib_uar {
	struct bf_uv_object o;
	uint32_t uar;
	uint32_t entry; /* of its mmap offset */
	bool write_combining;
};

struct bf_mlx5_ib_umem {
	struct bf_uv_object o;
	uint32_t id;
};

/* A DEVX object, and the command that destroys it. */
struct bf_mlx5_ib_devx {
	struct bf_uv_object o;
	uint32_t number;
	uint16_t opcode; /* that created it */
	uint8_t destroy[48];
	uint32_t destroy_len;
};

/* A DEVX event channel wants events of a type, of one object or (`object` NULL) of none in particular. */
struct bf_uv_subscription {
	struct bf_uv_subscription *next;
	struct bf_uv_object *object;
	uint64_t cookie;
	uint32_t number;
	uint16_t type;
};

/* An event queue in memory. */
struct bf_mlx5_ib_eq {
	uint8_t *ring;
	uint32_t eqn, entries, ci;
	bool open;
};

struct bf_mlx5_ib_gsi;

/* What XRC targets have of the kernel's, from the first one on: they have no CQ and no domain of a program. */
struct bf_mlx5_ib_xrc {
	struct bf_region *mem;
	uint32_t pdn, cqn;
	bool has_pd, mapped, has_cq;
};

/* Flows, and the tables that they are entries of, from the first flow on. */
#define BF_MLX5_IB_PRIORITIES 18u
struct bf_mlx5_ib_flows {
	uint32_t table[BF_MLX5_IB_PRIORITIES];
	uint32_t count; /* flows */
	uint64_t *used; /* a bit for each entry of each table */
};

#define BF_MLX5_IB_LAST_PRIORITY                                                                                       \
	15u /* of normal flows; then those for what is left (mlx5_ib.h MLX5_IB_FLOW_LAST_PRIO) */

struct bf_mlx5_ib_flow {
	struct bf_uv_object o;
	struct bf_uv_object *uses[3]; /* what cannot go before the flow */
	uint32_t n_uses, priority, table, index, group;
};

/* What flows of mlx5dv look at. */
struct bf_mlx5_ib_matcher {
	struct bf_uv_object o;
	uint8_t mask[BF_MATCH_PARAM_LEN];
	uint32_t priority;
	uint8_t criteria;
};

/* What a flow looks at and what becomes of it, as the device's entry has it. */
struct bf_mlx5_ib_rule {
	uint8_t mask[BF_MATCH_PARAM_LEN], value[BF_MATCH_PARAM_LEN];
	uint32_t tag, to, counter;
	uint16_t action; /* BF_FTE_* */
	uint8_t to_type; /* BF_FD_* */
	uint8_t criteria;
};

struct bf_mlx5_ib {
	struct bf_uverbs u;
	struct bf_region *eq_mem;
	struct bf_mlx5_ib_eq eq[1 + BF_UV_VECTORS]; /* asynchronous events first */
	uint32_t uar;                               /* the kernel's own */
	uint8_t key_variant;
	bool has_uar, eq_mapped;
	/* Objects by the device's number, for events. */
	struct bf_uv_cq *cqs[BF_MLX5_IB_BUCKETS];
	struct bf_uv_qp *qps[BF_MLX5_IB_BUCKETS];
	struct bf_uv_srq *srqs[BF_MLX5_IB_BUCKETS];
	struct bf_mlx5_ib_gsi *gsi; /* NULL: nobody manages */
	struct bf_mlx5_ib_xrc xrc;
	struct bf_mlx5_ib_flows flows;
	uint8_t clock[BF_UV_PAGE]; /* struct mlx5_ib_clock_info: programs map it */
};

struct bf_mlx5_ib_file {
	struct bf_uverbs_file f;
	bool devx, dynamic, cqe_version, has_domain;
	uint32_t domain;                           /* of transport: raw packets */
	struct mlx5_ib_alloc_ucontext_resp answer; /* to its GET_CONTEXT */
	uint32_t static_uars, uar[BF_MLX5_IB_STATIC_UARS];
	uint8_t reg_users[BF_MLX5_IB_STATIC_UARS * BF_MLX5_IB_KERNEL_REGS];
	uint32_t last_entry; /* of mmap offsets */
};

static inline struct bf_mlx5_ib *bf_mlx5_ib_of(const struct bf_uverbs *u)
{
	return BF_CONTAINER_OF(u, struct bf_mlx5_ib, u);
}

static inline struct bf_mlx5_ib_file *bf_mlx5_ib_file_of(const struct bf_uverbs_file *f)
{
	return BF_CONTAINER_OF(f, struct bf_mlx5_ib_file, f);
}

struct bf_mlx5_ib_qp_args {
	struct bf_uv_pd *pd;
	struct bf_uv_cq *send_cq, *recv_cq;
	struct bf_uv_srq *srq;
	struct bf_uv_xrcd *xrcd;
	struct bf_uv_object *table; /* of receive queues, with a hash; else NULL */
	struct bf_uv_channel *async;
	uint64_t user_handle;
	struct ib_uverbs_qp_cap cap;
	uint32_t flags;
	uint8_t type, sig_all;
};

/* Sends a mailbox. 0, or what Linux makes of the status. */
int bf_mlx5_ib_cmd(struct bf_uverbs *u, uint32_t opcode, void *in, size_t in_len, void *out, size_t out_len);
/* A mailbox of 16 bytes with `number`; returns the number in the answer by `out` (may be NULL). */
int bf_mlx5_ib_simple(struct bf_uverbs *u, uint32_t opcode, uint32_t number, uint32_t *out);
int bf_mlx5_ib_status_errno(uint32_t status);
/* The device's capabilities of a type (BF_HCA_CAP_*), BF_HCA_CAP_LEN bytes of them. */
int bf_mlx5_ib_caps(struct bf_uverbs *u, uint32_t type, uint8_t cap[BF_HCA_CAP_LEN]);
int bf_mlx5_ib_eqs_open(struct bf_uverbs *u);
void bf_mlx5_ib_eqs_close(struct bf_uverbs *u);
/* Looks at an event queue for what its interrupt has not told yet. */
void bf_mlx5_ib_eq_read(struct bf_uverbs *u, uint32_t vector);
void bf_mlx5_ib_gsi_close(struct bf_mlx5_ib_gsi *g);
bool bf_mlx5_ib_gsi_has(const struct bf_mlx5_ib_gsi *g,
			uint32_t cqn); /* is that its completion queue? `g` may be NULL */
void bf_mlx5_ib_gsi_poll(struct bf_mlx5_ib_gsi *g);
int bf_mlx5_ib_get_context(struct bf_uv_call *c);
int bf_mlx5_ib_get_context_write(struct bf_uv_call *c);
int bf_mlx5_ib_query_context(struct bf_uv_call *c);
void bf_mlx5_ib_context_close(struct bf_uverbs_file *f);
int bf_mlx5_ib_query_device(struct bf_uv_call *c);
int bf_mlx5_ib_query_device_ex(struct bf_uv_call *c);
int bf_mlx5_ib_query_port(struct bf_uv_call *c);
int bf_mlx5_ib_query_port_write(struct bf_uv_call *c);
int bf_mlx5_ib_query_port_mlx5(struct bf_uv_call *c);
int bf_mlx5_ib_alloc_pd(struct bf_uv_call *c);
int bf_mlx5_ib_query_pd(struct bf_uv_call *c);
int bf_mlx5_ib_pd_destroy(struct bf_uv_object *o, bool forced);
int bf_mlx5_ib_reg_mr(struct bf_uv_call *c);
int bf_mlx5_ib_reg_dmabuf_mr(struct bf_uv_call *c);
int bf_mlx5_ib_rereg_mr(struct bf_uv_call *c);
int bf_mlx5_ib_advise_mr(struct bf_uv_call *c);
int bf_mlx5_ib_query_mr(struct bf_uv_call *c);
int bf_mlx5_ib_mr_destroy(struct bf_uv_object *o, bool forced);
/* What contexts of keys have in common: rights, domain, variant, first byte and length. */
void bf_mlx5_ib_fill_key(struct bf_uverbs *u, const struct bf_uv_mr *mr, const struct bf_uv_pd *pd, uint8_t *mkc);
/* Rights by which a device may change a region. */
#define BF_MLX5_IB_WRITES                                                                                              \
	(IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_ATOMIC |               \
	 IB_UVERBS_ACCESS_MW_BIND)
/* A region of the whole address space, whose pages come on demand. */
static inline bool bf_mlx5_ib_is_implicit(const struct bf_uv_mr *mr)
{
	return mr->access & IB_UVERBS_ACCESS_ON_DEMAND && !mr->address && mr->length == UINT64_MAX;
}
bool bf_mlx5_ib_pages(struct bf_uverbs *u); /* does the device take page faults? */
void bf_mlx5_ib_page_fault(struct bf_uverbs *u, const struct bf_mlx5_eqe *e);
void bf_mlx5_ib_fill_odp_caps(struct bf_uverbs *u, struct ib_uverbs_odp_caps *caps, uint32_t *xrc);
void bf_mlx5_ib_record_mr(struct bf_uverbs *u, const struct bf_uv_mr *mr);
int bf_mlx5_ib_alloc_dm(struct bf_uv_call *c);
int bf_mlx5_ib_reg_dm_mr(struct bf_uv_call *c);
int bf_mlx5_ib_dm_destroy(struct bf_uv_object *o, bool forced);
/* Maps `len` bytes from page `index` of device memory on, which must belong to one object of the file. */
int bf_mlx5_ib_dm_mmap(struct bf_uverbs_file *f, uint64_t index, uint64_t len, struct bf_uverbs_mapping *out);
int bf_mlx5_ib_alloc_mw(struct bf_uv_call *c);
int bf_mlx5_ib_mw_destroy(struct bf_uv_object *o, bool forced);
int bf_mlx5_ib_create_cq(struct bf_uv_call *c);
int bf_mlx5_ib_create_cq_write(struct bf_uv_call *c);
int bf_mlx5_ib_create_cq_ex(struct bf_uv_call *c);
int bf_mlx5_ib_resize_cq(struct bf_uv_call *c);
int bf_mlx5_ib_modify_cq(struct bf_uv_call *c);
int bf_mlx5_ib_cq_destroy(struct bf_uv_object *o, bool forced);
int bf_mlx5_ib_create_qp(struct bf_uv_call *c);
int bf_mlx5_ib_create_qp_write(struct bf_uv_call *c);
int bf_mlx5_ib_create_qp_ex(struct bf_uv_call *c);
int bf_mlx5_ib_qp_destroy(struct bf_uv_object *o, bool forced);
int bf_mlx5_ib_modify_qp(struct bf_uv_call *c);
int bf_mlx5_ib_modify_qp_ex(struct bf_uv_call *c);
int bf_mlx5_ib_query_qp(struct bf_uv_call *c);
int bf_mlx5_ib_dct_create(struct bf_uv_call *c, struct bf_uv_qp *qp, const struct mlx5_ib_create_qp *ucmd);
int bf_mlx5_ib_dct_modify(struct bf_uv_call *c, struct bf_uv_qp *qp, const struct ib_uverbs_modify_qp *m);
int bf_mlx5_ib_dct_destroy(struct bf_uverbs *u, struct bf_uv_qp *qp);
int bf_mlx5_ib_dct_query(struct bf_uverbs *u, struct bf_uv_qp *qp, struct ib_uverbs_query_qp_resp *resp);
/* raw.c */
struct bf_mlx5_ib_rq_args {
	const struct bf_uv_pd *pd;
	const struct bf_uv_cq *cq;
	uint64_t ring, dbr;
	uint32_t wqe_count, wqe_shift, user_index;
};
int bf_mlx5_ib_rq_create(struct bf_uverbs *u, const struct bf_mlx5_ib_rq_args *a, uint32_t *rqn);
int bf_mlx5_ib_rq_modify(struct bf_uverbs *u, uint32_t opcode, uint32_t number, uint32_t from, uint32_t to);
int bf_mlx5_ib_domain(struct bf_uverbs_file *f, uint32_t *number); /* the file's, made when it is first asked for */
void bf_mlx5_ib_domain_close(struct bf_uverbs_file *f);
int bf_mlx5_ib_raw_create(struct bf_uv_call *c, struct bf_uv_qp *qp, const struct mlx5_ib_create_qp *ucmd,
			  uint32_t uar);
int bf_mlx5_ib_raw_destroy(struct bf_uverbs *u, struct bf_uv_qp *qp);
int bf_mlx5_ib_raw_modify(struct bf_uv_call *c, struct bf_uv_qp *qp, const struct ib_uverbs_modify_qp *m);
void bf_mlx5_ib_raw_query(struct bf_uverbs *u, struct bf_uv_qp *qp, struct ib_uverbs_query_qp_resp *r);

/* flow.c */
int bf_mlx5_ib_create_flow(struct bf_uv_call *c);
int bf_mlx5_ib_flow_destroy(struct bf_uv_object *o, bool forced);
void bf_mlx5_ib_flows_close(struct bf_uverbs *u);
/* Makes its entry in the table of `flow->priority`. */
int bf_mlx5_ib_flow_insert(struct bf_uverbs *u, struct bf_mlx5_ib_flow *flow, const struct bf_mlx5_ib_rule *r);
static inline void bf_mlx5_ib_flow_use(struct bf_mlx5_ib_flow *flow, struct bf_uv_object *o)
{
	flow->uses[flow->n_uses++] = o;
	o->users++;
}

/* matcher.c */
int bf_mlx5_ib_create_matcher(struct bf_uv_call *c);
int bf_mlx5_ib_create_matcher_flow(struct bf_uv_call *c);

void bf_mlx5_ib_qp_know(struct bf_uverbs *u, struct bf_uv_qp *qp);
void bf_mlx5_ib_qp_unknow(struct bf_uverbs *u, struct bf_uv_qp *qp);
int bf_mlx5_ib_create_srq(struct bf_uv_call *c);
int bf_mlx5_ib_create_srq_write(struct bf_uv_call *c);
int bf_mlx5_ib_create_xsrq(struct bf_uv_call *c);
int bf_mlx5_ib_modify_srq(struct bf_uv_call *c);
int bf_mlx5_ib_query_srq(struct bf_uv_call *c);
int bf_mlx5_ib_srq_destroy(struct bf_uv_object *o, bool forced);
/* rss.c */
int bf_mlx5_ib_create_wq(struct bf_uv_call *c);
int bf_mlx5_ib_modify_wq(struct bf_uv_call *c);
uint32_t bf_mlx5_ib_wq_number(const struct bf_uv_object *o);
int bf_mlx5_ib_wq_destroy(struct bf_uv_object *o, bool forced);
int bf_mlx5_ib_create_rwq_ind_table(struct bf_uv_call *c);
int bf_mlx5_ib_table_destroy(struct bf_uv_object *o, bool forced);
int bf_mlx5_ib_rss_create(struct bf_uv_call *c, struct bf_uv_qp *qp, struct bf_uv_object *table);
/* What the device has of it: either half may be NULL. */
void bf_mlx5_ib_rss_caps(struct bf_uverbs *u, struct ib_uverbs_rss_caps *caps, uint32_t *queues,
			 struct mlx5_ib_rss_caps *own);
int bf_mlx5_ib_open_xrcd(struct bf_uv_call *c);
int bf_mlx5_ib_open_qp(struct bf_uv_call *c);
/* The next handle of a target that several may have open, after `qp` (itself, the last one: NULL). */
struct bf_uv_qp *bf_mlx5_ib_qp_other(const struct bf_uverbs *u, const struct bf_uv_qp *qp, struct bf_uv_qp *after);
int bf_mlx5_ib_xrcd_destroy(struct bf_uv_object *o, bool forced);
int bf_mlx5_ib_xrc_target(struct bf_uverbs *u, struct bf_uv_qp *qp); /* makes its queue pair */
void bf_mlx5_ib_xrc_close(struct bf_uverbs *u);
int bf_mlx5_ib_create_ah(struct bf_uv_call *c);
/* May a destination be named like this at the port, with a global route header or without? */
bool bf_mlx5_ib_route_ok(const struct bf_uverbs *u, bool global, uint32_t sgid_index);
int bf_mlx5_ib_ah_destroy(struct bf_uv_object *o, bool forced);
int bf_mlx5_ib_alloc_uar(struct bf_uv_call *c);
int bf_mlx5_ib_uar_destroy(struct bf_uv_object *o, bool forced);
int bf_mlx5_ib_static_uars(struct bf_uverbs_file *f, uint32_t regs);
void bf_mlx5_ib_static_uars_free(struct bf_uverbs_file *f);
/* Deals a register of the static UARs; `*uar` is its page. */
int bf_mlx5_ib_reg_take(struct bf_uverbs_file *f, uint32_t *reg, uint32_t *uar);
void bf_mlx5_ib_reg_give(struct bf_uverbs_file *f, uint32_t reg);
/* How the program numbers it. */
uint32_t bf_mlx5_ib_reg_name(uint32_t reg);
/* The page of a register as the program numbers it; negative errno. */
int64_t bf_mlx5_ib_reg_page(const struct bf_uverbs_file *f, uint32_t name);
int bf_mlx5_ib_devx_other(struct bf_uv_call *c);
int bf_mlx5_ib_devx_query_uar(struct bf_uv_call *c);
int bf_mlx5_ib_devx_query_eqn(struct bf_uv_call *c);
int bf_mlx5_ib_devx_create(struct bf_uv_call *c);
int bf_mlx5_ib_devx_modify(struct bf_uv_call *c);
int bf_mlx5_ib_devx_query(struct bf_uv_call *c);
int bf_mlx5_ib_devx_query_async(struct bf_uv_call *c);
/* The command that makes objects of the kind that `opcode` modifies or queries. */
uint32_t bf_mlx5_ib_devx_maker(uint32_t opcode);
int bf_mlx5_ib_devx_destroy(struct bf_uv_object *o, bool forced);
int bf_mlx5_ib_umem_reg(struct bf_uv_call *c);
int bf_mlx5_ib_umem_destroy(struct bf_uv_object *o, bool forced);
int bf_mlx5_ib_devx_cmd_fd(struct bf_uv_call *c);
int bf_mlx5_ib_devx_event_fd(struct bf_uv_call *c);
int bf_mlx5_ib_devx_subscribe(struct bf_uv_call *c);
void bf_mlx5_ib_devx_event(struct bf_uverbs *u, uint16_t type, uint32_t number, const uint8_t *eqe);
/* Subscriptions of a channel or to an object end. */
void bf_mlx5_ib_unsubscribe_channel(struct bf_uv_channel *ch);
void bf_mlx5_ib_unsubscribe_object(struct bf_uv_object *o);
int bf_mlx5_ib_mmap(struct bf_uverbs_file *f, uint64_t offset, uint64_t len, struct bf_uverbs_mapping *out);
void bf_mlx5_ib_irq(struct bf_uverbs *u, uint32_t vector);
int bf_mlx5_ib_mad_open(struct bf_uverbs *u, bf_uverbs_mad_fn *receive, void *owner);
int bf_mlx5_ib_mad_send(struct bf_uverbs *u, uint32_t ipv4, const uint8_t mad[BF_UVERBS_MAD]);
void bf_mlx5_ib_mad_close(struct bf_uverbs *u);

extern const struct bf_uv_method bf_mlx5_ib_own_methods[];

#endif
