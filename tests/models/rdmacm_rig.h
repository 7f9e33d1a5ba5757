/*
 * Two machines with a connection manager each, on one network in virtual time. What a program writes is memory of the
 * test; a second machine may be without a manager, and speak bytes instead.
 */
#ifndef BELFRY_TESTS_RDMACM_RIG_H
#define BELFRY_TESTS_RDMACM_RIG_H

#include <errno.h>
#include <netinet/in.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_cm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/mlx5/mlx5.h"
#include "models/rdmacm/rdmacm.h"
#include "models/uverbs/mlx5/mlx5_ib.h"

#define CM_FDS 64
#define CM_FIRST_FD 100
#define CM_IPV4 0x0a000001u /* and up, one a machine */
#define CM_MADS 64
#define CM_MEM 65536u
#define CM_MUST(x)                                                                                                     \
	do {                                                                                                           \
		if (!(x)) {                                                                                            \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                                        \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

struct cm_rig;

struct cm_machine {
	struct cm_rig *rig;
	uint32_t ipv4;
	uint8_t qp_type; /* that identifiers of RDMA_PS_IB ask for (IB_UVERBS_QPT_*); 0: RC */
	struct bf_space space;
	struct bf_ioas ioas;
	struct bf_mlx5 *nic;
	struct bf_uverbs *uverbs;
	struct bf_rdmacm *cm;     /* NULL: it has none */
	struct bf_rdmacm_file *f; /* a file of it */
	int fd;
	uint32_t tokens[CM_FDS], fds; /* messages in each descriptor */
	/* What came to one without a manager. */
	uint8_t mad[CM_MADS][BF_UVERBS_MAD];
	uint32_t mads;
};

struct cm_rig {
	struct bf_sim *sim;
	struct bf_fabric *fabric;
	struct bf_fault_plan *faults;
	struct cm_machine machine[2];
	uint8_t mem[CM_MEM]; /* a program's; nothing else can be read or written */
};

/* ---- surroundings ---- */

static inline int cm_channel_open(void *arg)
{
	struct cm_machine *m = arg;

	return m->fds == CM_FDS ? -EMFILE : CM_FIRST_FD + (int)m->fds++;
}

static inline int cm_channel_put(void *arg, int fd, const void *event, uint32_t len)
{
	struct cm_machine *m = arg;

	(void)event;
	CM_MUST(len == 8 && !m->tokens[fd - CM_FIRST_FD]);
	m->tokens[fd - CM_FIRST_FD]++;
	return 0;
}

static inline int cm_channel_take(void *arg, int fd, bool (*match)(const void *event, void *what), void *what)
{
	struct cm_machine *m = arg;

	CM_MUST(match("", what) && m->tokens[fd - CM_FIRST_FD] == 1);
	m->tokens[fd - CM_FIRST_FD] = 0;
	return 1;
}

static inline void cm_channel_release(void *arg, int fd)
{
	(void)arg;
	(void)fd;
}

static inline bool cm_inside(const struct cm_rig *r, uint64_t address, uint64_t len)
{
	const uint64_t first = (uintptr_t)r->mem;

	return address >= first && len <= CM_MEM && address - first <= CM_MEM - len;
}

static inline int cm_copy_in(void *arg, void *to, uint64_t address, uint32_t len)
{
	const struct cm_machine *m = arg;

	if (!cm_inside(m->rig, address, len))
		return -EFAULT;
	memcpy(to, (const void *)(uintptr_t)address, len);
	return 0;
}

static inline int cm_copy_out(void *arg, uint64_t address, const void *from, uint32_t len)
{
	const struct cm_machine *m = arg;

	if (!cm_inside(m->rig, address, len))
		return -EFAULT;
	memcpy((void *)(uintptr_t)address, from, len);
	return 0;
}

/* 127.0.0.1 and ::1, and the multicast groups that sockets can be bound to. */
static inline bool cm_is_here(void *arg, const struct sockaddr *a)
{
	const uint32_t ipv4 = ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr);

	(void)arg;
	if (a->sa_family == AF_INET)
		return ipv4 == INADDR_LOOPBACK || IN_MULTICAST(ipv4);
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

static inline void cm_irq(void *owner, uint32_t vector)
{
	struct cm_machine *m = owner;

	bf_uverbs_irq(m->uverbs, vector);
}

static inline void cm_on_mad(void *owner, uint32_t ipv4, const uint8_t mad[BF_UVERBS_MAD])
{
	struct cm_machine *m = owner;

	(void)ipv4;
	if (m->mads < CM_MADS)
		memcpy(m->mad[m->mads++], mad, BF_UVERBS_MAD);
}

/* ---- machines ---- */

static inline void cm_machine_open(struct cm_rig *r, uint32_t index, bool manager, bool infiniband)
{
	static const char *const names[] = { "mlx5_0", "mlx5_1" };
	struct cm_machine *m = &r->machine[index];
	struct bf_mlx5_opts nic = { .name = names[index],
				    .profile = &bf_mlx5_instant,
				    .space = &m->space,
				    .ioas = &m->ioas,
				    .fabric = r->fabric,
				    .infiniband = infiniband,
				    .irq = cm_irq,
				    .irq_owner = m };
	struct bf_uverbs_opts u = {
		.name = names[index], .space = &m->space, .ioas = &m->ioas, .mtu = 2048, .infiniband = infiniband
	};
	struct bf_rdmacm_opts o = { .devices = 1, .routed = true, .is_here = cm_is_here, .salt = index };

	m->rig = r;
	m->ipv4 = nic.ipv4[0] = u.ipv4 = CM_IPV4 + index;
	CM_MUST(!bf_space_init(&m->space, r->sim, names[index], index));
	CM_MUST(!bf_ioas_init(&m->ioas, r->sim, names[index], 4096));
	CM_MUST(!bf_mlx5_create(r->sim, &nic, &m->nic));
	u.provider = &bf_mlx5_ib;
	u.device = m->nic;
	u.host = (struct bf_uverbs_host){ .arg = m,
					  .channel_open = cm_channel_open,
					  .channel_put = cm_channel_put,
					  .channel_take = cm_channel_take,
					  .channel_release = cm_channel_release,
					  .copy_in = cm_copy_in,
					  .copy_out = cm_copy_out };
	CM_MUST(!bf_uverbs_create(r->sim, &u, &m->uverbs));
	if (!manager) {
		CM_MUST(!bf_uverbs_mad_open(m->uverbs, cm_on_mad, m));
		return;
	}
	o.device[0] = (struct bf_rdmacm_device){ m->uverbs, m->ipv4, 0x1234000000000000ull + index, infiniband };
	o.host = u.host;
	CM_MUST(!bf_rdmacm_create(r->sim, &o, &m->cm));
	CM_MUST(!bf_rdmacm_open(m->cm, &m->f, &m->fd));
}

static inline struct cm_rig *cm_open_link(bool both, bool infiniband)
{
	struct cm_rig *r = calloc(1, sizeof(*r));

	CM_MUST(r && !bf_sim_create(1, &r->sim) && !bf_fabric_create(r->sim, &r->fabric));
	cm_machine_open(r, 0, true, infiniband);
	cm_machine_open(r, 1, both, infiniband);
	return r;
}

static inline struct cm_rig *cm_open(bool both)
{
	return cm_open_link(both, false);
}

static inline void cm_close(struct cm_rig *r)
{
	for (int i = 0; i < 2; i++) {
		struct cm_machine *m = &r->machine[i];

		bf_rdmacm_destroy(m->cm);
		bf_uverbs_destroy(m->uverbs);
		bf_mlx5_destroy(m->nic);
	}
	bf_fabric_destroy(r->fabric);
	for (int i = 0; i < 2; i++) {
		bf_ioas_fini(&r->machine[i].ioas);
		bf_space_fini(&r->machine[i].space);
	}
	bf_sim_destroy(r->sim);
	bf_fault_plan_destroy(r->faults);
	free(r);
}

static inline void cm_run(struct cm_rig *r, uint64_t ps)
{
	bf_sim_run(r->sim, r->sim->now_ps + ps);
}

/* ---- what a program writes ---- */

/* The command's bytes and its answer lie at fixed places in the program's memory. */
static inline void *cm_out(struct cm_rig *r)
{
	return r->mem + CM_MEM / 2;
}

static inline int64_t cm_write_at(struct cm_rig *r, struct bf_rdmacm_file *f, uint32_t cmd, const void *in,
				  uint32_t len, uint16_t said_in, uint16_t said_out)
{
	const struct rdma_ucm_cmd_hdr head = { cmd, said_in, said_out };

	memset(cm_out(r), 0xee, 2048);
	memcpy(r->mem, &head, sizeof(head));
	memcpy(r->mem + sizeof(head), in, len);
	return bf_rdmacm_write(f, (uintptr_t)r->mem, sizeof(head) + len);
}

static inline int cm_write(struct cm_machine *m, uint32_t cmd, const void *in, uint32_t len)
{
	const int64_t n = cm_write_at(m->rig, m->f, cmd, in, len, (uint16_t)len, 2048);

	return n < 0 ? (int)n : n == (int64_t)(len + sizeof(struct rdma_ucm_cmd_hdr)) ? 0 : -EIO;
}

#define CM_RESPONSE(r) ((uintptr_t)cm_out(r))

static inline uint32_t cm_id(struct cm_machine *m, uint64_t uid, uint16_t ps)
{
	struct rdma_ucm_create_id cmd = { .uid = uid, .response = CM_RESPONSE(m->rig), .ps = ps };
	struct rdma_ucm_create_id_resp resp;

	cmd.qp_type = m->qp_type ? m->qp_type : IB_UVERBS_QPT_RC;
	CM_MUST(!cm_write(m, RDMA_USER_CM_CMD_CREATE_ID, &cmd, sizeof(cmd)));
	memcpy(&resp, cm_out(m->rig), sizeof(resp));
	return resp.id;
}

/* How many events the program had read; negative errno. */
static inline int cm_destroy(struct cm_machine *m, uint32_t id)
{
	struct rdma_ucm_destroy_id cmd = { .response = CM_RESPONSE(m->rig), .id = id };
	int err = cm_write(m, RDMA_USER_CM_CMD_DESTROY_ID, &cmd, sizeof(cmd)), n;

	memcpy(&n, cm_out(m->rig), sizeof(n));
	return err ? err : n;
}

static inline struct sockaddr_in cm_address(uint32_t ipv4, uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = { htonl(ipv4) } };
}

static inline int cm_bind(struct cm_machine *m, uint32_t id, uint32_t ipv4, uint16_t port)
{
	const struct sockaddr_in in = cm_address(ipv4, port);
	struct rdma_ucm_bind cmd = { .id = id, .addr_size = sizeof(in) };

	memcpy(&cmd.addr, &in, sizeof(in));
	return cm_write(m, RDMA_USER_CM_CMD_BIND, &cmd, sizeof(cmd));
}

static inline int cm_listen(struct cm_machine *m, uint32_t id, uint32_t backlog)
{
	const struct rdma_ucm_listen cmd = { .id = id, .backlog = backlog };

	return cm_write(m, RDMA_USER_CM_CMD_LISTEN, &cmd, sizeof(cmd));
}

static inline int cm_resolve_addr(struct cm_machine *m, uint32_t id, uint32_t ipv4, uint16_t port)
{
	const struct sockaddr_in in = cm_address(ipv4, port);
	struct rdma_ucm_resolve_addr cmd = { .id = id, .timeout_ms = 2000, .dst_size = sizeof(in) };

	memcpy(&cmd.dst_addr, &in, sizeof(in));
	return cm_write(m, RDMA_USER_CM_CMD_RESOLVE_ADDR, &cmd, sizeof(cmd));
}

static inline int cm_resolve_route(struct cm_machine *m, uint32_t id)
{
	const struct rdma_ucm_resolve_route cmd = { .id = id, .timeout_ms = 2000 };

	return cm_write(m, RDMA_USER_CM_CMD_RESOLVE_ROUTE, &cmd, sizeof(cmd));
}

static inline struct rdma_ucm_conn_param cm_param(uint32_t qpn, const char *data)
{
	struct rdma_ucm_conn_param p = { .qp_num = qpn,
					 .valid = 1,
					 .responder_resources = 3,
					 .initiator_depth = 5,
					 .retry_count = 7,
					 .rnr_retry_count = 6,
					 .flow_control = 1 };

	p.private_data_len = (uint8_t)strlen(data);
	memcpy(p.private_data, data, strlen(data));
	return p;
}

static inline int cm_connect(struct cm_machine *m, uint32_t id, uint32_t qpn, const char *data)
{
	const struct rdma_ucm_connect cmd = { .id = id, .conn_param = cm_param(qpn, data) };

	return cm_write(m, RDMA_USER_CM_CMD_CONNECT, &cmd, sizeof(cmd));
}

/* `qpn` 0: the asker's, without parameters. */
static inline int cm_accept(struct cm_machine *m, uint32_t id, uint64_t uid, uint32_t qpn, const char *data)
{
	struct rdma_ucm_accept cmd = { .uid = uid, .id = id };

	if (qpn)
		cmd.conn_param = cm_param(qpn, data);
	return cm_write(m, RDMA_USER_CM_CMD_ACCEPT, &cmd, sizeof(cmd));
}

static inline int cm_reject(struct cm_machine *m, uint32_t id, const char *data)
{
	struct rdma_ucm_reject cmd = { .id = id, .private_data_len = (uint8_t)strlen(data) };

	memcpy(cmd.private_data, data, strlen(data));
	return cm_write(m, RDMA_USER_CM_CMD_REJECT, &cmd, sizeof(cmd));
}

static inline int cm_disconnect(struct cm_machine *m, uint32_t id)
{
	const struct rdma_ucm_disconnect cmd = { .id = id };

	return cm_write(m, RDMA_USER_CM_CMD_DISCONNECT, &cmd, sizeof(cmd));
}

static inline int cm_attributes(struct cm_machine *m, uint32_t id, uint32_t state, struct ib_uverbs_qp_attr *out)
{
	struct rdma_ucm_init_qp_attr cmd = { .response = CM_RESPONSE(m->rig), .id = id, .qp_state = state };
	int err = cm_write(m, RDMA_USER_CM_CMD_INIT_QP_ATTR, &cmd, sizeof(cmd));

	memcpy(out, cm_out(m->rig), sizeof(*out));
	return err;
}

/* The next event of the machine's file; -EAGAIN: there is none, and its descriptor says so. */
static inline int cm_event(struct cm_machine *m, struct rdma_ucm_event_resp *out)
{
	struct rdma_ucm_get_event cmd = { .response = CM_RESPONSE(m->rig) };
	const bool readable = m->tokens[m->fd - CM_FIRST_FD];
	int err = cm_write(m, RDMA_USER_CM_CMD_GET_EVENT, &cmd, sizeof(cmd));

	CM_MUST(readable == (err != -EAGAIN));
	memcpy(out, cm_out(m->rig), sizeof(*out));
	return err;
}

#endif
