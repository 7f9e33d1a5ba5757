#include "drivers/backend/verbs_world_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "drivers/backend/gpu_memory_internal.h"
#include "models/mlx5/prm.h"

/* ---- what is here ---- */

static void tell_absent(bool mlx5, char *why, size_t cap)
{
	if (mlx5)
		snprintf(
		    why, cap,
		    "no libmlx5 device: with a ConnectX, 'modprobe mlx5_ib' and apt-get install ibverbs-providers; "
		    "without one, 'belfry exec -- belfry run ... --backend mlx5' drives the model through libmlx5");
	else
		snprintf(why, cap,
			 "no RDMA device: 'modprobe rdma_rxe; rdma link add rxe0 type rxe netdev IFACE' makes one (as "
			 "root); 'belfry exec -- belfry run ... --backend rxe' uses the model as one");
}

static void tell_refusal(const char *name, bool mlx5, int rc, char *why, size_t cap)
{
	if (rc == -EOPNOTSUPP)
		snprintf(why, cap, "%s has no DEVX: its firmware, or a kernel before 5.0", name);
	else if (rc == -EACCES || rc == -EPERM)
		snprintf(why, cap, "%s may not be opened: root may, or who may read and write /dev/infiniband/uverbs*",
			 name);
	else if (rc == -EADDRNOTAVAIL)
		snprintf(why, cap, "%s has no RoCEv2 address: give its network interface an IPv4 address", name);
	else
		snprintf(why, cap, "%s cannot be %s: %s", name, mlx5 ? "opened for DEVX" : "opened", strerror(-rc));
}

int bf_verbs_probe(bool mlx5, char *why, size_t cap)
{
	const struct bf_verbs_api *api;
	struct bf_verbs_dev *dev = NULL;
	struct bf_verbs_port port = { 0 };
	char name[BF_VERBS_NAME];
	int rc = bf_verbs_load(&api, why, cap);

	if (rc)
		return rc;
	if (api->name(0, mlx5, name)) {
		tell_absent(mlx5, why, cap);
		return -ENODEV;
	}
	rc = api->open(name, mlx5, &dev);
	if (!rc) {
		rc = api->port(dev, 1, &port);
		api->close(dev);
	}
	if (rc)
		tell_refusal(name, mlx5, rc, why, cap);
	else
		snprintf(why, cap, "%s, %u.%u.%u.%u%s", name, port.gid[12], port.gid[13], port.gid[14], port.gid[15],
			 port.up ? "" : ", port 1 is down");
	return rc;
}

/* ---- opening ---- */

static int check(const char *backend, const struct bf_world_opts *o, struct bf_error *err)
{
	if (o->devices && o->devices != BF_DEVICE_MLX5)
		return bf_fail(err, -ENOTSUP, "backend %s has RDMA devices only", backend);
	if (o->npes < 1 || o->npes > BF_PES_MAX_LIVE)
		return bf_fail(err, -EINVAL, "%u PEs: must be 1 to %u on the wall clock", o->npes, BF_PES_MAX_LIVE);
	if (o->nics > BF_NICS_MAX || o->ports > BF_NIC_PORTS_MAX)
		return bf_fail(err, -EINVAL, "%u NICs of %u ports: must be 1 to %u of 1 to %u", o->nics, o->ports,
			       BF_NICS_MAX, BF_NIC_PORTS_MAX);
	if (o->lanes > BF_LANES)
		return bf_fail(err, -EINVAL, "%u lanes of each warp: must be 1 to %u", o->lanes, BF_LANES);
	if (o->ranks)
		return bf_fail(err, -ENOTSUP, "backend %s has all PEs in one process", backend);
	if (o->faults)
		return bf_fail(err, -ENOTSUP, "backend %s cannot inject faults: the device is real", backend);
	if (o->topology)
		return bf_fail(err, -ENOTSUP, "backend %s: the network is what it is", backend);
	return 0;
}

/* Entry `index` of the list "mlx5_0,mlx5_1". */
static int listed(const char *list, uint32_t index, char out[BF_VERBS_NAME])
{
	size_t n;

	while (index-- && *list) {
		list += strcspn(list, ",");
		list += *list == ',';
	}
	n = strcspn(list, ",");
	if (!n || n >= BF_VERBS_NAME)
		return -ENODEV;
	snprintf(out, BF_VERBS_NAME, "%.*s", (int)n, list);
	return 0;
}

static int open_nic(struct bf_verbs_world *w, const char *backend, bool mlx5, const char *device, uint32_t index,
		    struct bf_verbs_nic *n)
{
	char name[BF_VERBS_NAME], why[240];
	int rc = device ? listed(device, index, name) : w->api->name(index, mlx5, name);

	if (rc)
		return bf_fail(w->m.err, rc, "backend %s: NIC %u of each PE is wanted, and there are %u devices",
			       backend, index, index);
	rc = w->api->open(name, mlx5, &n->dev);
	if (!rc)
		rc = w->api->info(n->dev, &n->info);
	for (uint32_t p = 0; !rc && p < w->m.ports; p++)
		rc = p < n->info.ports ? w->api->port(n->dev, p + 1, &n->port[p]) : -ENXIO;
	if (!rc)
		return 0;
	tell_refusal(name, mlx5, rc, why, sizeof(why));
	return bf_fail(w->m.err, rc, "backend %s: %s", backend, why);
}

/* The real GPU that runs the grids of GPUs, where one is to. */
static int open_cuda(struct bf_verbs_world *w, const char *backend)
{
	char why[256];
	int rc = w->takes_gpu ? bf_cuda_load(&w->cuda, why, sizeof(why)) : -ENOTSUP;

	if (!w->takes_gpu)
		return bf_fail(w->m.err, rc, "backend %s: a real GPU's threads cannot ring for it", backend);
	if (!rc)
		rc = w->cuda->open(why, sizeof(why));
	if (!rc)
		return 0;
	w->cuda = NULL;
	return bf_fail(w->m.err, rc, "a real GPU's threads: %s", why);
}

int bf_verbs_world_open(struct bf_verbs_world *w, const char *backend, bool mlx5, const struct bf_world_opts *o,
			struct bf_error *err)
{
	char why[240];
	int rc = check(backend, o, err);

	w->m = (struct bf_world){ .err = err, .npes = o->npes, .count = o->npes, .devices = BF_DEVICE_MLX5 };
	w->m.nics = o->nics ? o->nics : 1;
	w->m.ports = o->ports ? o->ports : 1;
	w->m.lanes = o->lanes ? o->lanes : BF_LANES;
	w->m.grids_tail = &w->m.grids;
	w->m.limit_ps = o->limit_ps ? o->limit_ps : BF_NEVER;
	w->m.live = true;
	w->takes_gpu = mlx5;
	if (rc)
		return rc;
	rc = bf_verbs_load(&w->api, why, sizeof(why));
	if (rc)
		return bf_fail(err, rc, "backend %s: %s", backend, why);
	w->nic = calloc((size_t)w->m.npes * w->m.nics, sizeof(*w->nic));
	if (!w->nic)
		return bf_fail(err, -ENOMEM, "no memory for a world");
	for (uint32_t i = 0; !rc && i < w->m.npes * w->m.nics; i++)
		rc = open_nic(w, backend, mlx5, o->device, i % w->m.nics, &w->nic[i]);
	if (!rc) {
		rc = -pthread_mutex_init(&w->lock, NULL);
		w->has_lock = !rc;
	}
	if (!rc) {
		rc = bf_workers_init(&w->workers);
		w->has_workers = !rc;
	}
	return rc || !o->cuda ? rc : open_cuda(w, backend);
}

void bf_verbs_world_close(struct bf_verbs_world *w)
{
	struct bf_verbs_piece *p;
	struct bf_grid *g;

	for (uint32_t i = 0; w->nic && i < w->m.npes * w->m.nics; i++)
		if (w->nic[i].dev)
			w->api->close(w->nic[i].dev);
	free(w->nic);
	while ((p = w->pieces)) {
		w->pieces = p->next;
		if (p->gpu)
			bf_verbs_gpu_free(w, p);
		else
			munmap(p->at, p->size);
		free(p);
	}
	bf_gpu_memory_close(w->gpu);
	while ((g = bf_machine_next_grid(&w->m)))
		free(g);
	if (w->has_workers)
		bf_workers_fini(&w->workers);
	if (w->has_lock)
		pthread_mutex_destroy(&w->lock);
}

struct bf_verbs_nic *bf_verbs_nic(struct bf_world *m, uint32_t pe, uint32_t nic)
{
	if (pe < m->npes && nic < m->nics)
		return &bf_verbs_world_of(m)->nic[pe * m->nics + nic];
	bf_fail(m->err, -EINVAL, "no NIC %u of PE %u", nic, pe);
	return NULL;
}

/* ---- memory ---- */

static int alloc_here(struct bf_verbs_world *w, struct bf_verbs_piece *p, const char *name)
{
	char why[160];
	int rc;

	p->at = mmap(NULL, p->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p->at == MAP_FAILED)
		return bf_fail(w->m.err, -ENOMEM, "memory '%s': no %" PRIu64 " bytes", name, p->size);
	p->va = (uintptr_t)p->at;
	/* A child that is forked must not make the device's pages copies. */
	madvise(p->at, p->size, MADV_DONTFORK);
	rc = w->cuda ? w->cuda->map(p->at, p->size, false, why, sizeof(why)) : 0;
	if (!rc)
		return 0;
	munmap(p->at, p->size);
	return bf_fail(w->m.err, rc, "memory '%s' cannot be mapped for the GPU: %s", name, why);
}

int bf_verbs_alloc(struct bf_world *m, uint32_t pe, enum bf_placement place, uint64_t size, const char *name,
		   struct bf_memory *out)
{
	struct bf_verbs_world *w = bf_verbs_world_of(m);
	struct bf_verbs_piece *p;
	int rc;

	if (pe >= m->npes || !size || size > UINT64_MAX / 2)
		return bf_fail(m->err, -EINVAL, "memory '%s' of %" PRIu64 " bytes for PE %u", name, size, pe);
	if (place == BF_PLACE_CMB || (place == BF_PLACE_CUDA && !w->takes_gpu))
		return bf_fail(m->err, -ENOTSUP, "memory '%s': %s", name,
			       place == BF_PLACE_CMB ? "no device has memory of its own"
						     : "the device reaches no GPU's");
	p = calloc(1, sizeof(*p));
	if (!p)
		return bf_fail(m->err, -ENOMEM, "no memory for '%s'", name);
	p->pe = pe;
	p->size = (size + BF_PAGE - 1) & ~(uint64_t)(BF_PAGE - 1);
	pthread_mutex_lock(&w->lock);
	rc = place == BF_PLACE_CUDA ? bf_verbs_gpu_alloc(w, p, name) : alloc_here(w, p, name);
	if (!rc) {
		p->next = w->pieces;
		w->pieces = p;
	}
	pthread_mutex_unlock(&w->lock);
	if (rc)
		free(p);
	else
		*out = (struct bf_memory){ .ptr = p->at, .va = p->va, .size = p->size, .far = p->gpu && w->cuda };
	return rc;
}

bool bf_verbs_reachable(struct bf_world *m, uint32_t pe, uint64_t va, uint64_t bytes)
{
	for (const struct bf_verbs_piece *p = bf_verbs_world_of(m)->pieces; p; p = p->next)
		if (p->pe == pe && va >= p->va && va - p->va < p->size && bytes <= p->size - (va - p->va))
			return true;
	return false;
}

/* ---- the NICs ---- */

int bf_verbs_nic_info(struct bf_world *m, uint32_t pe, uint32_t nic, struct bf_nic_info *out)
{
	const struct bf_verbs_nic *n;

	/* Who counts NICs asks for one too many: that is no error to tell of. */
	if (pe < m->npes && nic >= m->nics)
		return -ENODEV;
	n = bf_verbs_nic(m, pe, nic);
	if (!n)
		return -EINVAL;
	*out = (struct bf_nic_info){ .ports = m->ports, .atomics = n->info.atomics };
	out->max_qp_depth = n->info.max_qp_wr;
	snprintf(out->name, sizeof(out->name), "%.15s", n->info.name);
	snprintf(out->pcie, sizeof(out->pcie), "%s", n->info.pcie);
	return 0;
}

int bf_verbs_port_up(struct bf_world *m, uint32_t pe, uint32_t nic, uint32_t port)
{
	struct bf_verbs_nic *n = bf_verbs_nic(m, pe, nic);
	struct bf_verbs_port p;
	int rc;

	if (!n || port >= m->ports)
		return bf_fail(m->err, -EINVAL, "PE %u, NIC %u: no port %u", pe, nic, port);
	rc = bf_verbs_world_of(m)->api->port(n->dev, port + 1, &p);
	return rc ? rc : p.up;
}

int bf_verbs_address(struct bf_world *m, uint32_t pe, uint32_t nic, uint32_t port, uint8_t gid[16], uint8_t mac[6])
{
	const struct bf_verbs_nic *n = bf_verbs_nic(m, pe, nic);

	if (!n || port >= m->ports)
		return bf_fail(m->err, -EINVAL, "PE %u, NIC %u: no port %u", pe, nic, port);
	memcpy(gid, n->port[port].gid, sizeof(n->port[port].gid));
	memcpy(mac, n->port[port].mac, sizeof(n->port[port].mac));
	return 0;
}

int bf_verbs_port_register(struct bf_verbs_world *w, struct bf_verbs_nic *n, const uint8_t *in, size_t in_len,
			   uint8_t *out, size_t out_len)
{
	struct bf_verbs_port p;
	uint32_t port;

	if (in_len < BF_ACCESS_REG_DATA + BF_PAOS_LEN || out_len < BF_ACCESS_REG_DATA + BF_PAOS_LEN)
		return -EINVAL;
	memset(out, 0, out_len);
	port = BF_MLX5_GET(in + BF_ACCESS_REG_DATA, BF_PAOS_PORT);
	if (BF_MLX5_GET(in, BF_CMD_OP_MOD) != BF_ACCESS_REG_READ || BF_MLX5_GET(in, BF_ACCESS_REG_ID) != BF_REG_PAOS ||
	    !port || port > n->info.ports || w->api->port(n->dev, port, &p)) {
		BF_MLX5_SET(out, BF_CMD_OUT_STATUS, BF_MLX5_CMD_BAD_PARAM);
		return 0;
	}
	BF_MLX5_SET(out + BF_ACCESS_REG_DATA, BF_PAOS_PORT, port);
	BF_MLX5_SET(out + BF_ACCESS_REG_DATA, BF_PAOS_ADMIN, BF_PAOS_UP);
	BF_MLX5_SET(out + BF_ACCESS_REG_DATA, BF_PAOS_OPER, p.up ? BF_PAOS_UP : BF_PAOS_DOWN);
	return 0;
}

void bf_verbs_describe(struct bf_world *m, uint32_t pe, char *buf, size_t cap)
{
	const struct bf_verbs_world *w = bf_verbs_world_of(m);
	const struct bf_verbs_nic *n = bf_verbs_nic(m, pe, 0);

	snprintf(buf, cap, "%s", n ? n->info.name : "");
	if (w->gpu_by)
		snprintf(buf + strlen(buf), cap - strlen(buf), ", memory of %s by %s", w->gpu_name, w->gpu_by);
}
