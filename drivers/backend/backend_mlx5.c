/*
 * Backend "mlx5": a real ConnectX. The driver's command blocks go to the device by DEVX as they are, its rings and
 * doorbell pages are the device's own, and threads of this process ring them: nothing stands between.
 *
 * Where the kernel keeps a command to itself the same is asked of it in its own words: pages are registered as UMEMs
 * (keys, too, have their pages in one), doorbell pages are allocated by a call, a port's state comes by verbs. What
 * only this machine's tables know is put into command blocks: which of a port's addresses is meant, how long packets
 * may be, and an empty SRQ for queues to which nothing but RDMA comes (NVSHMEM src/modules/transport/ibgda/ibgda.cpp
 * has one).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "drivers/backend/backends_internal.h"
#include "drivers/backend/verbs_world_internal.h"
#include "models/mlx5/prm.h"

#define PAGE_SHIFT 12u
#define CAPS_LEN (16u + 4096u) /* the device wants room for all of them (mlx5_ifc.h query_hca_cap_out) */

/* What the driver made on a NIC, and what stands for it here. UARs may be several with one number. */
struct object {
	struct object *next;
	struct bf_verbs_nic *nic;
	uint16_t maker; /* opcode */
	uint32_t number;
	void *handle;
	void *umem; /* of a key */
};

struct mlx5_world {
	struct bf_verbs_world v;
	struct object *objects;
};

static struct mlx5_world *world_of(struct bf_world *m)
{
	return BF_CONTAINER_OF(bf_verbs_world_of(m), struct mlx5_world, v);
}

static int probe(char *why, size_t cap)
{
	return bf_verbs_probe(true, why, cap);
}

/* ---- objects ---- */

static int note(struct mlx5_world *w, struct bf_verbs_nic *n, uint32_t maker, uint32_t number, void *handle, void *umem)
{
	struct object *o = malloc(sizeof(*o));

	if (!o)
		return -ENOMEM;
	*o = (struct object){ w->objects, n, (uint16_t)maker, number, handle, umem };
	w->objects = o;
	return 0;
}

static struct object **find(struct mlx5_world *w, const struct bf_verbs_nic *n, uint32_t maker, uint32_t number)
{
	struct object **at = &w->objects;

	while (*at && ((*at)->nic != n || (*at)->maker != maker || (*at)->number != number))
		at = &(*at)->next;
	return at;
}

/* The rest of an object whose own end succeeded, or is not worth waiting for. */
static int end_object(struct mlx5_world *w, struct object **at)
{
	struct object *o = *at;
	const struct bf_verbs_api *api = w->v.api;
	int rc = 0;

	if (o->maker == BF_MLX5_CMD_ALLOC_UAR)
		api->uar_destroy(o->handle);
	else
		rc = o->maker == BF_MLX5_CMD_CREATE_UMEM ? api->umem_destroy(o->handle) : api->destroy(o->handle);
	if (!rc && o->umem)
		rc = api->umem_destroy(o->umem);
	if (rc)
		return rc;
	*at = o->next;
	free(o);
	return 0;
}

/* ---- commands ---- */

/* What takes an object away, and what made it. */
static const struct {
	uint16_t destroy, create;
} pairs[] = {
	{ BF_MLX5_CMD_DESTROY_MKEY, BF_MLX5_CMD_CREATE_MKEY }, { BF_MLX5_CMD_DESTROY_CQ, BF_MLX5_CMD_CREATE_CQ },
	{ BF_MLX5_CMD_DESTROY_QP, BF_MLX5_CMD_CREATE_QP },     { BF_MLX5_CMD_DEALLOC_PD, BF_MLX5_CMD_ALLOC_PD },
	{ BF_MLX5_CMD_DESTROY_DCT, BF_MLX5_CMD_CREATE_DCT },   { BF_MLX5_CMD_DESTROY_UMEM, BF_MLX5_CMD_CREATE_UMEM },
	{ BF_MLX5_CMD_DEALLOC_UAR, BF_MLX5_CMD_ALLOC_UAR },
};

struct block {
	struct mlx5_world *w;
	struct bf_verbs_nic *nic;
	uint8_t *in;
	size_t in_len;
	uint8_t *out;
	size_t out_len;
	uint32_t opcode;
};

/* A refusal that is told in the answer is none of the call's. */
static int told(const struct block *b, int rc)
{
	return BF_MLX5_GET(b->out, BF_CMD_OUT_STATUS) ? 0 : rc;
}

static int create(struct block *b, void *umem)
{
	const struct bf_verbs_api *api = b->w->v.api;
	void *handle = NULL;
	int rc = api->create(b->nic->dev, b->in, b->in_len, b->out, b->out_len, &handle);

	if (!rc)
		rc = note(b->w, b->nic, b->opcode, BF_MLX5_GET(b->out, BF_CMD_OUT_NUMBER), handle, umem);
	if (rc && handle)
		api->destroy(handle);
	if (rc && umem)
		api->umem_destroy(umem);
	return rc ? told(b, rc) : 0;
}

/* The driver's list of pages is of this process's addresses, one after the other. */
static int create_umem(struct block *b)
{
	const uint64_t at = bf_get_be64(b->in + BF_CREATE_UMEM_MTT) & ~(uint64_t)(BF_PAGE - 1);
	const uint64_t n = BF_MLX5_GET(b->in + BF_CREATE_UMEM_CTX, BF_UMEM_NUM_MTT);
	void *umem = NULL;
	uint32_t id = 0;
	int rc = bf_verbs_umem(&b->w->v, b->nic, at, n << PAGE_SHIFT, &id, &umem);

	if (!rc)
		rc = note(b->w, b->nic, b->opcode, id, umem, NULL);
	if (rc && umem)
		b->w->v.api->umem_destroy(umem);
	BF_MLX5_SET(b->out, BF_CMD_OUT_NUMBER, id);
	return rc;
}

/*
 * Physical addresses are not for programs: the key's pages are those of a UMEM. Sizes of the list as DPDK computes them
 * (drivers/common/mlx5/mlx5_devx_cmds.c mlx5_devx_cmd_mkey_create()).
 */
static int create_mkey(struct block *b)
{
	uint8_t *mkc = b->in + BF_CREATE_MKEY_MKC;
	const uint64_t start = bf_get_be64(mkc + BF_MKC_START), len = bf_get_be64(mkc + BF_MKC_SIZE);
	const uint64_t pages = ((start & (BF_PAGE - 1)) + len + BF_PAGE - 1) >> PAGE_SHIFT;
	void *umem = NULL;
	uint32_t id = 0;
	int rc = bf_verbs_umem(&b->w->v, b->nic, start, len, &id, &umem);

	if (rc)
		return rc;
	BF_MLX5_SET(mkc, BF_MKC_ACCESS_MODE, BF_MKC_ACCESS_MTT);
	BF_MLX5_SET(mkc, BF_MKC_LOG_PAGE_SIZE, PAGE_SHIFT);
	BF_MLX5_SET(mkc, BF_MKC_XLT_OCTOWORDS, (uint32_t)((pages + 1) / 2));
	BF_MLX5_SET(b->in, BF_CREATE_MKEY_XLT_ACTUAL, (uint32_t)((pages + 1) / 2));
	BF_MLX5_SET(b->in, BF_CREATE_MKEY_UMEM_VALID, 1);
	BF_MLX5_SET(b->in, BF_CREATE_MKEY_UMEM_ID, id);
	return create(b, umem);
}

/* Queues without receives of their own name an SRQ, though nothing ever comes for it. */
static int create_with_srq(struct block *b)
{
	uint8_t *qpc = b->in + BF_QP_QPC, *dctc = b->in + BF_DCT_DCTC;
	const bool qp = b->opcode == BF_MLX5_CMD_CREATE_QP;
	uint32_t srqn;
	int rc;

	if (qp ? BF_MLX5_GET(qpc, BF_QPC_RQ_TYPE) != BF_QPC_RQ_SRQ || BF_MLX5_GET(qpc, BF_QPC_SRQN)
	       : BF_MLX5_GET(dctc, BF_DCTC_SRQN))
		return create(b, NULL);
	rc = b->w->v.api->srqn(b->nic->dev, &srqn);
	if (rc)
		return rc;
	if (qp)
		BF_MLX5_SET(qpc, BF_QPC_SRQN, srqn);
	else
		BF_MLX5_SET(dctc, BF_DCTC_SRQN, srqn);
	return create(b, NULL);
}

/* A port sends from the address that bf_backend.address() gave, in packets as long as its network takes. */
static void put_path(const struct block *b)
{
	uint8_t *qpc = b->in + BF_QP_QPC, *path = qpc + BF_QPC_PATH;
	const uint32_t port = BF_MLX5_GET(path, BF_PATH_PORT);
	const struct bf_verbs_port *p;

	if (!port || port > BF_NIC_PORTS_MAX)
		return;
	p = &b->nic->port[port - 1];
	BF_MLX5_SET(path, BF_PATH_SRC_ADDR_INDEX, p->gid_index);
	if (BF_MLX5_GET(qpc, BF_QPC_MTU) > p->mtu)
		BF_MLX5_SET(qpc, BF_QPC_MTU, p->mtu);
}

static void put_target_path(const struct block *b)
{
	uint8_t *dctc = b->in + BF_DCT_DCTC;
	const uint32_t port = BF_MLX5_GET(dctc, BF_DCTC_PORT);

	if (!port || port > BF_NIC_PORTS_MAX)
		return;
	BF_MLX5_SET(dctc, BF_DCTC_GID_INDEX, b->nic->port[port - 1].gid_index);
	if (BF_MLX5_GET(dctc, BF_DCTC_MTU) > b->nic->port[port - 1].mtu)
		BF_MLX5_SET(dctc, BF_DCTC_MTU, b->nic->port[port - 1].mtu);
}

static int on_object(struct block *b, uint32_t maker, int (*fn)(void *, const void *, size_t, void *, size_t))
{
	const uint32_t number = BF_MLX5_GET(b->in, BF_CMD_IN_NUMBER);
	struct object *o = *find(b->w, b->nic, maker, number);

	if (!o) {
		BF_MLX5_SET(b->out, BF_CMD_OUT_STATUS, BF_MLX5_CMD_BAD_RES);
		return 0;
	}
	return told(b, fn(o->handle, b->in, b->in_len, b->out, b->out_len));
}

static int destroy(struct block *b)
{
	const uint32_t number = BF_MLX5_GET(b->in, BF_CMD_IN_NUMBER);
	size_t i = 0;
	struct object **at;
	int rc;

	while (pairs[i].destroy != b->opcode)
		i++;
	at = find(b->w, b->nic, pairs[i].create, number);
	rc = *at ? end_object(b->w, at) : -ENOENT;
	if (rc)
		BF_MLX5_SET(b->out, BF_CMD_OUT_STATUS, rc == -EBUSY ? BF_MLX5_CMD_RES_BUSY : BF_MLX5_CMD_BAD_RES);
	return 0;
}

static int execute(struct block *b)
{
	const struct bf_verbs_api *api = b->w->v.api;

	switch (b->opcode) {
	case BF_MLX5_CMD_CREATE_UMEM:
		return create_umem(b);
	case BF_MLX5_CMD_CREATE_MKEY:
		return create_mkey(b);
	case BF_MLX5_CMD_CREATE_DCT:
		put_target_path(b);
		return create_with_srq(b);
	case BF_MLX5_CMD_CREATE_QP:
		return create_with_srq(b);
	case BF_MLX5_CMD_CREATE_CQ:
	case BF_MLX5_CMD_ALLOC_PD:
		return create(b, NULL);
	case BF_MLX5_CMD_INIT2RTR_QP:
		put_path(b);
		return on_object(b, BF_MLX5_CMD_CREATE_QP, api->modify);
	case BF_MLX5_CMD_RST2INIT_QP:
	case BF_MLX5_CMD_RTR2RTS_QP:
	case BF_MLX5_CMD_2ERR_QP:
	case BF_MLX5_CMD_2RST_QP:
		return on_object(b, BF_MLX5_CMD_CREATE_QP, api->modify);
	case BF_MLX5_CMD_QUERY_QP:
		return on_object(b, BF_MLX5_CMD_CREATE_QP, api->query);
	case BF_MLX5_CMD_QUERY_CQ:
		return on_object(b, BF_MLX5_CMD_CREATE_CQ, api->query);
	case BF_MLX5_CMD_DRAIN_DCT: /* the kernel drains a target before it destroys it */
		return 0;
	case BF_MLX5_CMD_ACCESS_REG:
		return bf_verbs_port_register(&b->w->v, b->nic, b->in, b->in_len, b->out, b->out_len);
	default:
		break;
	}
	for (size_t i = 0; i < BF_ARRAY_LEN(pairs); i++)
		if (pairs[i].destroy == b->opcode)
			return destroy(b);
	return told(b, api->command(b->nic->dev, b->in, b->in_len, b->out, b->out_len));
}

/* Least lengths of blocks that are looked into here. */
static size_t least(uint32_t opcode)
{
	switch (opcode) {
	case BF_MLX5_CMD_CREATE_UMEM:
		return BF_CREATE_UMEM_MTT + 8;
	case BF_MLX5_CMD_CREATE_MKEY:
		return BF_CREATE_MKEY_LEN;
	case BF_MLX5_CMD_CREATE_QP:
	case BF_MLX5_CMD_INIT2RTR_QP:
		return BF_CREATE_QP_LEN;
	case BF_MLX5_CMD_CREATE_DCT:
		return BF_CREATE_DCT_LEN;
	default:
		return 16;
	}
}

/* The driver's block stays as it is; what is filled in goes into a copy. */
static int world_command(struct bf_world *m, uint32_t pe, uint32_t nic, const void *in, size_t in_len, void *out,
			 size_t out_len)
{
	struct bf_verbs_nic *n = bf_verbs_nic(m, pe, nic);
	struct block b = { .w = world_of(m), .nic = n, .in_len = in_len };
	uint8_t answer[CAPS_LEN] = { 0 };
	int rc;

	memset(out, 0, out_len);
	if (!n || in_len < 16 || out_len < 16)
		return -EINVAL;
	b.opcode = BF_MLX5_GET(in, BF_CMD_OPCODE);
	if (in_len < least(b.opcode)) {
		BF_MLX5_SET(out, BF_CMD_OUT_STATUS, BF_MLX5_CMD_BAD_INP_LEN);
		return 0;
	}
	b.in = malloc(in_len);
	if (!b.in)
		return bf_fail(m->err, -ENOMEM, "no memory for a command of %zu bytes", in_len);
	memcpy(b.in, in, in_len);
	b.out = answer;
	b.out_len = b.opcode == BF_MLX5_CMD_QUERY_HCA_CAP ? CAPS_LEN : out_len < CAPS_LEN ? out_len : CAPS_LEN;
	pthread_mutex_lock(&b.w->v.lock);
	rc = execute(&b);
	pthread_mutex_unlock(&b.w->v.lock);
	free(b.in);
	memcpy(out, answer, out_len < CAPS_LEN ? out_len : CAPS_LEN);
	if (!rc)
		return 0;
	return bf_fail(m->err, rc, "PE %u, %s: command 0x%x: %s", pe, n->info.name, b.opcode,
		       m->err && m->err->code == rc ? m->err->text : strerror(-rc));
}

static int world_map_uar(struct bf_world *m, uint32_t pe, uint32_t nic, struct bf_uar *out)
{
	struct mlx5_world *w = world_of(m);
	struct bf_verbs_nic *n = bf_verbs_nic(m, pe, nic);
	char why[160] = "";
	void *uar = NULL;
	int rc;

	if (!n)
		return -EINVAL;
	pthread_mutex_lock(&w->v.lock);
	rc = w->v.api->uar_create(n->dev, &out->index, &out->page, &uar);
	if (!rc) {
		rc = note(w, n, BF_MLX5_CMD_ALLOC_UAR, out->index, uar, NULL);
		if (rc)
			w->v.api->uar_destroy(uar);
	}
	/* The register's page, as NVSHMEM gives it to a GPU (ibgda.cpp: cudaHostRegisterIoMemory). */
	if (!rc && w->v.cuda)
		rc = w->v.cuda->map(out->page, BF_PAGE, true, why, sizeof(why));
	pthread_mutex_unlock(&w->v.lock);
	if (!rc)
		return 0;
	if (!*why)
		return bf_fail(m->err, rc, "PE %u, %s: no doorbell page: %s", pe, n->info.name, strerror(-rc));
	return bf_fail(m->err, rc, "%s: no doorbell page for the GPU: %s; belfry exec wants --doorbells poll for that",
		       n->info.name, why);
}

/* ---- the world ---- */

/* Queue pairs are in front of what they are made of, as all are in the reverse order of their making. */
static void world_close(struct bf_world *m)
{
	struct mlx5_world *w = m ? world_of(m) : NULL;

	if (!w || w->v.stuck)
		return;
	/* Pages are the GPU's no more before they go. */
	if (w->v.cuda)
		w->v.cuda->close();
	while (w->objects) {
		struct object *o = w->objects;

		if (end_object(w, &w->objects)) {
			w->objects = o->next; /* ends with its device */
			free(o);
		}
	}
	bf_verbs_world_close(&w->v);
	free(w);
}

static int world_open(const struct bf_world_opts *opts, struct bf_error *err, struct bf_world **out)
{
	struct mlx5_world *w = calloc(1, sizeof(*w));
	int rc;

	*out = NULL;
	if (!w)
		return bf_fail(err, -ENOMEM, "no memory for a world");
	rc = bf_verbs_world_open(&w->v, "mlx5", true, opts, err);
	if (rc)
		world_close(&w->v.m);
	else
		*out = &w->v.m;
	return rc;
}

/* What CPU threads there are run beside the GPU's. */
static int run_grids(struct bf_verbs_world *w, struct bf_world_result *out)
{
	int rc = w->cuda ? bf_cuda_start_grids(w->cuda, &w->m) : 0, joined = 0;

	memset(out, 0, sizeof(*out));
	if (!rc)
		joined = bf_workers_run(&w->workers, &w->m, out);
	if (w->cuda && bf_cuda_wait_grids(w->cuda, &w->m, &rc)) {
		w->stuck = true;
		out->end = BF_END_LIMIT;
		snprintf(out->report + strlen(out->report), sizeof(out->report) - strlen(out->report),
			 "threads of the real GPU still run\n");
	}
	return rc ? rc : joined;
}

static int world_run(struct bf_world *m, struct bf_world_result *out)
{
	struct bf_verbs_world *w = bf_verbs_world_of(m);
	struct timespec began, ended;
	int rc = bf_verbs_gpu_send(w);

	if (rc)
		return rc;
	clock_gettime(CLOCK_MONOTONIC, &began);
	rc = run_grids(w, out);
	clock_gettime(CLOCK_MONOTONIC, &ended);
	if (!rc)
		rc = bf_verbs_gpu_fetch(w);
	out->time_ps = (uint64_t)(ended.tv_sec - began.tv_sec) * BF_S + (uint64_t)ended.tv_nsec * BF_NS -
		       (uint64_t)began.tv_nsec * BF_NS;
	return rc;
}

const struct bf_backend bf_backend_mlx5 = {
	BF_BACKEND_HEAD,
	.name = "mlx5",
	.summary = "a real ConnectX through libmlx5 and DEVX, with rings and doorbells driven directly",
	.devices = BF_DEVICE_MLX5,
	.probe = probe,
	.probe_gpu = bf_verbs_gpu_probe,
	.open = world_open,
	.close = world_close,
	.alloc = bf_verbs_alloc,
	.look = bf_verbs_look,
	.nic_info = bf_verbs_nic_info,
	.command = world_command,
	.map_uar = world_map_uar,
	.port_up = bf_verbs_port_up,
	.address = bf_verbs_address,
	.launch = bf_machine_launch,
	.launch_cpu = bf_machine_launch_cpu,
	.reachable = bf_verbs_reachable,
	.describe = bf_verbs_describe,
	.run = world_run,
	.sim = bf_machine_sim,
	.platform = BF_PLATFORM_NATIVE,
};
