/*
 * libbelfry-verbs.so: RDMA devices by libibverbs, and those of libmlx5 by DEVX, where programs write the device's
 * command blocks themselves (mlx5dv_devx_*(3)); NVSHMEM's ibgda.cpp makes its queues so.
 */
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/backend/verbs_module_internal.h"

#define DEVICES_MAX 64
#define SMALLEST_PAGE 4096u /* of which a UMEM may be made */

/* libmlx5 hands its `struct mlx5_wqe_av` out, which only its own headers declare in full: rmac is at byte 20. */
#define AV_RMAC 20

int bf_verbs_errno(void)
{
	return errno ? -errno : -EIO;
}

/* ---- devices ---- */

static int by_name(const void *a, const void *b)
{
	struct ibv_device *const *x = a, *const *y = b;

	return strcmp(ibv_get_device_name(*x), ibv_get_device_name(*y));
}

/* In order of name; those that `mlx5` leaves out are not there. */
static int sorted(bool mlx5, struct ibv_device ***list, struct ibv_device *out[DEVICES_MAX])
{
	int all = 0, n = 0;

	*list = ibv_get_device_list(&all);
	for (int i = 0; *list && i < all && n < DEVICES_MAX; i++)
		if (!mlx5 || mlx5dv_is_supported((*list)[i]))
			out[n++] = (*list)[i];
	qsort(out, (size_t)n, sizeof(out[0]), by_name);
	return n;
}

static int device_name(uint32_t index, bool mlx5, char out[BF_VERBS_NAME])
{
	struct ibv_device *dev[DEVICES_MAX], **list;
	int n = sorted(mlx5, &list, dev);

	if (index < (uint32_t)n)
		snprintf(out, BF_VERBS_NAME, "%s", ibv_get_device_name(dev[index]));
	if (list)
		ibv_free_device_list(list);
	return index < (uint32_t)n ? 0 : -ENODEV;
}

static void device_close(struct bf_verbs_dev *d)
{
	if (!d)
		return;
	if (d->srq)
		ibv_destroy_srq(d->srq);
	if (d->cq)
		ibv_destroy_cq(d->cq);
	if (d->pd)
		ibv_dealloc_pd(d->pd);
	if (d->ctx)
		ibv_close_device(d->ctx);
	free(d);
}

static int open_it(struct bf_verbs_dev *d, struct ibv_device *dev, bool devx)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };

	d->mlx5 = mlx5dv_is_supported(dev);
	if (devx && !d->mlx5)
		return -EOPNOTSUPP;
	errno = 0;
	d->ctx = devx ? mlx5dv_open_device(dev, &attr) : ibv_open_device(dev);
	if (!d->ctx)
		return bf_verbs_errno();
	d->pd = ibv_alloc_pd(d->ctx);
	return d->pd ? 0 : bf_verbs_errno();
}

static int device_open(const char *name, bool devx, struct bf_verbs_dev **out)
{
	struct ibv_device *dev[DEVICES_MAX], **list;
	struct bf_verbs_dev *d = calloc(1, sizeof(*d));
	int n = sorted(false, &list, dev), rc = d ? -ENODEV : -ENOMEM;

	*out = NULL;
	for (int i = 0; d && i < n; i++)
		if (!strcmp(ibv_get_device_name(dev[i]), name))
			rc = open_it(d, dev[i], devx);
	if (list)
		ibv_free_device_list(list);
	if (rc)
		device_close(d);
	else
		*out = d;
	return rc;
}

static int device_info(struct bf_verbs_dev *d, struct bf_verbs_info *out)
{
	struct ibv_device_attr attr;
	char path[IBV_SYSFS_PATH_MAX + 16], real[4096];
	int rc = ibv_query_device(d->ctx, &attr);

	if (rc)
		return -rc;
	*out = (struct bf_verbs_info){
		.ports = attr.phys_port_cnt,
		.max_qp_wr = (uint32_t)attr.max_qp_wr,
		.max_rd_atom = (uint32_t)attr.max_qp_rd_atom,
		.atomics = attr.atomic_cap != IBV_ATOMIC_NONE,
	};
	snprintf(out->name, sizeof(out->name), "%s", ibv_get_device_name(d->ctx->device));
	snprintf(path, sizeof(path), "%s/device", d->ctx->device->ibdev_path);
	if (realpath(path, real) && strlen(real) < sizeof(out->pcie))
		memcpy(out->pcie, real, strlen(real) + 1);
	return 0;
}

/* An address handle to a port's own address has its MAC; so does one to a peer, which is how NVSHMEM asks. */
static int find_mac(struct bf_verbs_dev *d, uint32_t port, struct bf_verbs_port *p)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = (uint8_t)port };
	struct mlx5dv_ah dv = { 0 };
	struct mlx5dv_obj obj = { 0 };
	int rc;

	attr.grh.sgid_index = p->gid_index;
	attr.grh.hop_limit = 64;
	memcpy(attr.grh.dgid.raw, p->gid, sizeof(p->gid));
	errno = 0;
	obj.ah.in = ibv_create_ah(d->pd, &attr);
	obj.ah.out = &dv;
	if (!obj.ah.in)
		return bf_verbs_errno();
	rc = mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH);
	if (!rc)
		memcpy(p->mac, (const uint8_t *)dv.av + AV_RMAC, sizeof(p->mac));
	ibv_destroy_ah(obj.ah.in);
	return rc ? -EIO : 0;
}

static bool is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, mapped, sizeof(mapped));
}

static int device_port(struct bf_verbs_dev *d, uint32_t port, struct bf_verbs_port *out)
{
	struct ibv_gid_entry entry;
	struct ibv_port_attr attr;
	int rc = ibv_query_port(d->ctx, (uint8_t)port, &attr);

	if (rc)
		return -rc;
	*out = (struct bf_verbs_port){ .up = attr.state == IBV_PORT_ACTIVE, .mtu = (uint8_t)attr.active_mtu };
	for (int i = 0; i < attr.gid_tbl_len && i < 256; i++) {
		if (ibv_query_gid_ex(d->ctx, port, (uint32_t)i, &entry, 0) || entry.gid_type != IBV_GID_TYPE_ROCE_V2 ||
		    !is_ipv4(&entry.gid))
			continue;
		out->gid_index = (uint8_t)i;
		memcpy(out->gid, entry.gid.raw, sizeof(out->gid));
		return d->mlx5 ? find_mac(d, port, out) : 0;
	}
	return -EADDRNOTAVAIL;
}

/* ---- DEVX ---- */

static int devx_command(struct bf_verbs_dev *d, const void *in, size_t in_len, void *out, size_t out_len)
{
	const int rc = mlx5dv_devx_general_cmd(d->ctx, in, in_len, out, out_len);

	return rc > 0 ? -rc : rc;
}

static int devx_create(struct bf_verbs_dev *d, const void *in, size_t in_len, void *out, size_t out_len, void **object)
{
	errno = 0;
	*object = mlx5dv_devx_obj_create(d->ctx, in, in_len, out, out_len);
	return *object ? 0 : bf_verbs_errno();
}

static int devx_modify(void *object, const void *in, size_t in_len, void *out, size_t out_len)
{
	const int rc = mlx5dv_devx_obj_modify(object, in, in_len, out, out_len);

	return rc > 0 ? -rc : rc;
}

static int devx_query(void *object, const void *in, size_t in_len, void *out, size_t out_len)
{
	const int rc = mlx5dv_devx_obj_query(object, in, in_len, out, out_len);

	return rc > 0 ? -rc : rc;
}

static int devx_destroy(void *object)
{
	const int rc = mlx5dv_devx_obj_destroy(object);

	return rc > 0 ? -rc : rc;
}

static struct mlx5dv_devx_umem *umem_of_dmabuf(struct bf_verbs_dev *d, int dmabuf, uint64_t offset, size_t bytes)
{
#ifdef BELFRY_HAVE_UMEM_DMABUF
	struct mlx5dv_devx_umem_in in = {
		.addr = (void *)(uintptr_t)offset,
		.size = bytes,
		.access = IBV_ACCESS_LOCAL_WRITE,
		.pgsz_bitmap = ~(uint64_t)(SMALLEST_PAGE - 1),
		.comp_mask = MLX5DV_UMEM_MASK_DMABUF,
		.dmabuf_fd = dmabuf,
	};

	return mlx5dv_devx_umem_reg_ex(d->ctx, &in);
#else
	(void)d, (void)dmabuf, (void)offset, (void)bytes;
	errno = EOPNOTSUPP;
	return NULL;
#endif
}

static int umem_create(struct bf_verbs_dev *d, uint64_t at, size_t bytes, int dmabuf, uint32_t *id, void **umem)
{
	struct mlx5dv_devx_umem *u;

	errno = 0;
	*umem = u = dmabuf < 0 ? mlx5dv_devx_umem_reg(d->ctx, (void *)(uintptr_t)at, bytes, IBV_ACCESS_LOCAL_WRITE)
			       : umem_of_dmabuf(d, dmabuf, at, bytes);
	if (!u)
		return bf_verbs_errno();
	*id = u->umem_id;
	return 0;
}

static int umem_destroy(void *umem)
{
	const int rc = mlx5dv_devx_umem_dereg(umem);

	return rc > 0 ? -rc : rc;
}

static int uar_create(struct bf_verbs_dev *d, uint32_t *index, void **page, void **uar)
{
	struct mlx5dv_devx_uar *u;

	errno = 0;
	*uar = u = mlx5dv_devx_alloc_uar(d->ctx, MLX5DV_UAR_ALLOC_TYPE_BF);
	if (!u)
		return bf_verbs_errno();
	*index = u->page_id;
	*page = u->base_addr;
	return 0;
}

static void uar_destroy(void *uar)
{
	mlx5dv_devx_free_uar(uar);
}

static int device_srqn(struct bf_verbs_dev *d, uint32_t *out)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct mlx5dv_srq dv = { .comp_mask = MLX5DV_SRQ_MASK_SRQN };
	struct mlx5dv_obj obj = { 0 };

	errno = 0;
	if (!d->srq)
		d->srq = ibv_create_srq(d->pd, &attr);
	if (!d->srq)
		return bf_verbs_errno();
	obj.srq.in = d->srq;
	obj.srq.out = &dv;
	if (mlx5dv_init_obj(&obj, MLX5DV_OBJ_SRQ))
		return -EIO;
	*out = dv.srqn;
	return 0;
}

const struct bf_verbs_api bf_verbs_api;
const struct bf_verbs_api bf_verbs_api = {
	.version = BF_VERBS_API,
	.name = device_name,
	.open = device_open,
	.close = device_close,
	.info = device_info,
	.port = device_port,
	.command = devx_command,
	.create = devx_create,
	.modify = devx_modify,
	.query = devx_query,
	.destroy = devx_destroy,
	.umem_create = umem_create,
	.umem_destroy = umem_destroy,
	.uar_create = uar_create,
	.uar_destroy = uar_destroy,
	.srqn = device_srqn,
	.mr_create = bf_verbs_mr_create,
	.mr_destroy = bf_verbs_mr_destroy,
	.qp_create = bf_verbs_qp_create,
	.qp_modify = bf_verbs_qp_modify,
	.qp_destroy = bf_verbs_qp_destroy,
	.send = bf_verbs_send,
	.receive = bf_verbs_receive,
	.poll = bf_verbs_poll,
};
