#include "drivers/backend/machine_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/pe_hash_internal.h"
#include "drivers/backend/ranks_internal.h"
#include "models/fabric/topology.h"
#include "sim/fault.h"
#include "sim/records_agent.h"
#include "sim/image.h"

/*
 * Queue pairs of a PE's NICs have numbers of their own: its drivers name a queue pair by that alone. Hardware may give
 * out the same ones.
 */
#define QPNS_OF_A_NIC 0x10000u

/* 10.0.0.1 up for the first port of the first NIC of each PE; the other ports are on networks of their own. */
static uint32_t port_ipv4(uint32_t pe, uint32_t nic, uint32_t port)
{
	return (10u << 24 | (nic * BF_NIC_PORTS_MAX + port) << 16) + pe + 1;
}

static int open_nic(struct bf_world *m, uint32_t index, uint32_t nic, const struct bf_mlx5_profile *profile)
{
	struct bf_pe *pe = &m->pe[index];
	char name[32];
	struct bf_mlx5_opts opts = {
		.name = name,
		.profile = profile,
		.space = &pe->space,
		.ioas = &pe->ioas,
		.fabric = m->fabric,
		.ports = m->ports,
		.ipv4 = { port_ipv4(index, nic, 0), port_ipv4(index, nic, 1) },
		.host = index,
		.rail = nic * m->ports,
		.first_qpn = nic ? 0x100 + nic * QPNS_OF_A_NIC : 0,
		/* One for each queue pair of up to 64 to every peer: DeepEP has one for each expert of a PE. */
		.uar_pages = 64 + 64 * (m->npes - 1),
	};

	if (m->nics == 1)
		snprintf(name, sizeof(name), "nic%u", index);
	else
		snprintf(name, sizeof(name), "nic%u.%u", index, nic);
	return bf_mlx5_create(m->sim, &opts, &pe->nic[nic]);
}

static int open_ssd(struct bf_world *m, uint32_t index, const struct bf_world_opts *world)
{
	struct bf_pe *pe = &m->pe[index];
	char name[16];
	const struct bf_nvme_opts opts = {
		.name = name,
		.profile = world->nvme,
		.space = &pe->space,
		.ioas = &pe->ioas,
		.ns = world->nvme_ns,
		.nns = world->nvme_ns ? 1 : 0,
		.cmb_bytes = world->nvme_cmb,
		.media_errors = world->nvme_errors,
	};

	snprintf(name, sizeof(name), "ssd%u", index);
	return bf_nvme_create(m->sim, &opts, &pe->ssd);
}

static int open_pe(struct bf_world *m, uint32_t index, const struct bf_world_opts *opts)
{
	struct bf_pe *pe = &m->pe[index];
	int rc;

	snprintf(pe->name, sizeof(pe->name), "pe%u", index);
	rc = bf_space_init(&pe->space, m->sim, pe->name, index);
	if (rc)
		return rc;
	pe->has_space = true;
	rc = bf_ioas_init(&pe->ioas, m->sim, pe->name, BF_PAGE);
	if (rc)
		return rc;
	pe->has_ioas = true;
	for (uint32_t nic = 0; !rc && m->devices & BF_DEVICE_MLX5 && nic < m->nics; nic++)
		rc = open_nic(m, index, nic, opts->profile);
	if (!rc && m->devices & BF_DEVICE_NVME)
		rc = open_ssd(m, index, opts);
	if (!rc && m->devices & BF_DEVICE_SDMA)
		rc = bf_machine_open_sdma(m, index, opts);
	if (!rc && m->model) {
		const struct bf_device_place at = {
			.sim = m->sim, .space = &pe->space, .ioas = &pe->ioas, .pe = index
		};

		rc = m->model->open(&at, opts->model_opts, &pe->model);
		if (rc)
			pe->model = NULL;
	}
	return rc;
}

static int check_opts(const struct bf_world *m, const struct bf_world_opts *opts, struct bf_error *err)
{
	if (m->npes < 1 || m->npes > BF_PES_MAX)
		return bf_fail(err, -EINVAL, "%u PEs: must be 1 to %u", m->npes, BF_PES_MAX);
	if (m->nics > BF_NICS_MAX || m->ports > BF_NIC_PORTS_MAX)
		return bf_fail(err, -EINVAL, "%u NICs of %u ports: must be 1 to %u of 1 to %u", m->nics, m->ports,
			       BF_NICS_MAX, BF_NIC_PORTS_MAX);
	if (m->lanes > BF_LANES)
		return bf_fail(err, -EINVAL, "%u lanes of each warp: must be 1 to %u", m->lanes, BF_LANES);
	if (opts->ranks && (m->model || m->devices & ~BF_DEVICE_MLX5))
		return bf_fail(err, -ENOTSUP,
			       "PEs in several processes can have NICs only: the others reach their peers "
			       "without the network");
	return 0;
}

static int open_fabric(struct bf_world *m, const char *text)
{
	struct bf_topology topology;
	int rc = bf_fabric_create(m->sim, &m->fabric);

	if (rc || !text)
		return rc;
	rc = bf_topology_parse(text, &topology, &m->sim->error);
	return rc ? rc : bf_fabric_set_topology(m->fabric, &topology);
}

/* What the others' PEs are here: addresses on the network. */
static int attach_remote(struct bf_world *m, uint32_t pe, uint32_t rank)
{
	int rc = 0;

	for (uint32_t nic = 0; nic < m->nics; nic++)
		for (uint32_t port = 0; !rc && port < m->ports; port++)
			rc = bf_fabric_attach_remote_at(m->fabric, port_ipv4(pe, nic, port), rank, pe,
							nic * m->ports + port);
	return rc;
}

/* In order of PE, so that ports are attached in the same order in every process. */
static int open_pes(struct bf_world *m, const struct bf_world_opts *opts)
{
	int rc = 0;

	if (opts->ranks) {
		m->first = bf_ranks_first(m->npes, opts->ranks->npes, opts->ranks->pe);
		m->count = bf_ranks_first(m->npes, opts->ranks->npes, opts->ranks->pe + 1) - m->first;
		rc = bf_ranks_open(m, opts->ranks, &m->ranks);
	}
	for (uint32_t i = 0; !rc && i < m->npes; i++)
		rc = i - m->first < m->count ? open_pe(m, i, opts)
					     : attach_remote(m, i, bf_ranks_of(m->npes, opts->ranks->npes, i));
	return rc;
}

static int open_stream(struct bf_world *m, const struct bf_world_opts *opts)
{
	struct bf_sink *sink = opts->sink;
	int rc = 0;

	if (!opts->record_mask)
		return 0;
	if (opts->pe_hashes)
		rc = bf_pe_hash_create(m->npes, sink, &m->pe_hash);
	if (!rc && m->pe_hash)
		sink = bf_pe_hash_sink(m->pe_hash);
	return rc ? rc : bf_stream_open(&m->sim->rec, &m->sim->now_ps, opts->record_mask, sink);
}

int bf_machine_open(struct bf_world *m, const struct bf_world_opts *opts, struct bf_error *err)
{
	int rc;

	*m = (struct bf_world){ .err = err, .npes = opts->npes, .count = opts->npes, .ordering = opts->ordering };
	m->grids_tail = &m->grids;
	m->model = opts->model;
	m->devices = opts->devices || opts->model ? opts->devices : BF_DEVICE_MLX5;
	m->limit_ps = opts->limit_ps ? opts->limit_ps : BF_NEVER;
	m->unrecorded = opts->unrecorded;
	m->gpu_profile = opts->gpu ? *opts->gpu : bf_gpu_navi31;
	m->nics = opts->nics ? opts->nics : 1;
	m->ports = opts->ports ? opts->ports : 1;
	m->lanes = opts->lanes ? opts->lanes : BF_LANES;
	rc = check_opts(m, opts, err);
	if (rc)
		return rc;
	m->pe = calloc(m->npes, sizeof(*m->pe));
	rc = m->pe ? bf_sim_create(opts->seed, &m->sim) : -ENOMEM;
	if (rc) {
		bf_fail(err, rc, "no memory for a simulation");
		goto fail;
	}
	bf_sim_chosen_by(m->sim, opts->chooser);
	m->sim->stacks = opts->stacks;
	rc = open_stream(m, opts);
	if (rc) {
		bf_fail(err, rc, "cannot open the record stream");
		goto fail;
	}
	if (opts->faults) {
		rc = bf_fault_plan_parse(opts->faults, opts->seed, err, &m->faults);
		if (!rc && opts->ranks && opts->ranks->npes > 1)
			rc = bf_fault_plan_check_spread(m->faults, err);
		if (rc)
			goto fail;
		m->sim->faults = m->faults;
	}
	if (m->devices & BF_DEVICE_MLX5)
		rc = open_fabric(m, opts->topology);
	if (!rc)
		rc = open_pes(m, opts);
	if (!rc)
		return 0;
	bf_fail(err, rc, "cannot build the machine: %s", m->sim->error.code ? m->sim->error.text : err->text);
fail:
	bf_machine_close(m);
	return rc;
}

void bf_machine_close(struct bf_world *m)
{
	struct bf_grid *g;

	if (m->sim && m->err && m->err->code)
		BF_EMIT_TAIL(m->sim, 0, run_failed, m->err->text, (uint32_t)strlen(m->err->text),
			     .code = (uint64_t) - (int64_t)m->err->code);
	while ((g = bf_machine_next_grid(m)))
		free(g);
	for (uint32_t i = 0; m->pe && i < m->npes; i++) {
		for (uint32_t nic = 0; nic < BF_NICS_MAX && m->pe[i].nic[nic]; nic++)
			bf_mlx5_destroy(m->pe[i].nic[nic]);
		if (m->pe[i].ssd)
			bf_nvme_destroy(m->pe[i].ssd);
		bf_machine_close_sdma(&m->pe[i]);
		if (m->pe[i].model)
			m->model->close(m->pe[i].model);
	}
	if (m->fabric)
		bf_fabric_destroy(m->fabric);
	for (uint32_t i = 0; m->pe && i < m->npes; i++) {
		bf_gpu_destroy(m->pe[i].gpu);
		if (m->pe[i].has_ioas)
			bf_ioas_fini(&m->pe[i].ioas);
		if (m->pe[i].has_space)
			bf_space_fini(&m->pe[i].space);
	}
	if (m->sim) {
		bf_stream_close(&m->sim->rec);
		bf_sim_destroy(m->sim);
	}
	bf_pe_hash_destroy(m->pe_hash);
	bf_ranks_close(m->ranks);
	bf_fault_plan_destroy(m->faults);
	free(m->pe);
	*m = (struct bf_world){ 0 };
	m->grids_tail = &m->grids;
}

int bf_machine_check_pe(struct bf_world *m, uint32_t pe)
{
	if (pe >= m->npes)
		return bf_fail(m->err, -EINVAL, "no PE %u: there are %u", pe, m->npes);
	return pe - m->first < m->count ? 0 : bf_fail(m->err, -EREMOTE, "PE %u is in another process", pe);
}

static int check_nic(struct bf_world *m, uint32_t pe, uint32_t nic)
{
	const int rc = bf_machine_check_pe(m, pe);

	return rc || (nic < BF_NICS_MAX && m->pe[pe].nic[nic])
		   ? rc
		   : bf_fail(m->err, -ENODEV, "PE %u has no NIC %u", pe, nic);
}

/* From the controller's memory buffer: page by page, never given back. */
static int alloc_cmb(struct bf_world *m, uint32_t pe, uint64_t size, const char *name, struct bf_memory *out)
{
	struct bf_pe *p = &m->pe[pe];
	struct bf_region *r = p->ssd ? bf_nvme_cmb(p->ssd) : NULL;

	size = (size + BF_PAGE - 1) & ~(uint64_t)(BF_PAGE - 1);
	if (!r || size > r->size - p->cmb_used)
		return bf_fail(m->err, r ? -ENOSPC : -ENODEV,
			       "PE %u, '%s' of %" PRIu64 " bytes in the controller memory buffer: it has %" PRIu64
			       " bytes left",
			       pe, name, size, r ? r->size - p->cmb_used : 0);
	*out = (struct bf_memory){ .ptr = r->bytes + p->cmb_used, .va = r->va + p->cmb_used, .size = size };
	p->cmb_used += size;
	return 0;
}

/* Made for the driver: its device gets at it, too. `rc`: of making it. */
static int show_memory(struct bf_world *m, uint32_t pe, int rc, struct bf_region *r, const char *name, uint64_t size,
		       struct bf_memory *out)
{
	if (!rc)
		rc = bf_ioas_map_region(&m->pe[pe].ioas, r, BF_IOMMU_READ | BF_IOMMU_WRITE);
	if (!rc)
		rc = bf_machine_share_with_sdma(m, pe, r);
	if (rc)
		return bf_fail(m->err, rc, "PE %u, memory '%s' of %" PRIu64 " bytes: %s", pe, name, size,
			       m->sim->error.text);
	*out = (struct bf_memory){ .ptr = r->bytes, .va = r->va, .size = r->size };
	return 0;
}

int bf_machine_alloc(struct bf_world *m, uint32_t pe, enum bf_placement place, uint64_t size, const char *name,
		     struct bf_memory *out)
{
	struct bf_region_opts opts = { .name = name,
				       .kind = place == BF_PLACE_GPU ? BF_MEM_VRAM : BF_MEM_DRAM,
				       .size = size };
	struct bf_region *r = NULL;
	int rc = bf_machine_check_pe(m, pe);

	if (rc)
		return rc;
	if (place == BF_PLACE_CUDA)
		return bf_fail(m->err, -ENOTSUP, "PE %u, memory '%s': the models reach no real GPU's memory", pe, name);
	if (place == BF_PLACE_CMB)
		return alloc_cmb(m, pe, size, name, out);
	if (place == BF_PLACE_GPU_CACHED || place == BF_PLACE_GPU_UC)
		rc = bf_machine_alloc_vram(m, pe, place, size, name, &r);
	else
		rc = bf_region_create(&m->pe[pe].space, &opts, &r);
	return show_memory(m, pe, rc, r, name, size, out);
}

int bf_machine_alloc_image(struct bf_world *m, uint32_t pe, const struct bf_image *image, const char *name,
			   struct bf_memory *out)
{
	const struct bf_region_opts opts = { .name = name, .kind = BF_MEM_VRAM, .size = image->size, .image = image };
	struct bf_region *r = NULL;
	int rc = bf_machine_check_pe(m, pe);

	if (rc)
		return rc;
	rc = bf_region_create(&m->pe[pe].space, &opts, &r);
	return show_memory(m, pe, rc, r, name, image->size, out);
}

/* In the general capabilities: struct mlx5_ifc_cmd_hca_cap_bits, include/linux/mlx5/mlx5_ifc.h in Linux. */
#define HCA_CAP_LOG_MAX_QP_SZ 0x11

/* Each NIC is the only function behind a root port of its own. */
int bf_machine_nic_info(struct bf_world *m, uint32_t pe, uint32_t nic, struct bf_nic_info *out)
{
	uint8_t in[16] = { 0 }, cap[16 + 0x20] = { 0 };
	int rc = bf_machine_check_pe(m, pe);

	if (rc)
		return rc;
	/* Who counts NICs asks for one too many: that is no error to tell of. */
	if (nic >= BF_NICS_MAX || !m->pe[pe].nic[nic])
		return -ENODEV;
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_HCA_CAP);
	rc = bf_machine_command(m, pe, nic, in, sizeof(in), cap, sizeof(cap));
	if (rc)
		return rc;
	*out = (struct bf_nic_info){ .ports = m->ports, .atomics = true };
	out->max_qp_depth = 1u << (cap[16 + HCA_CAP_LOG_MAX_QP_SZ] & 31);
	snprintf(out->name, sizeof(out->name), "mlx5_%u", nic);
	snprintf(out->pcie, sizeof(out->pcie), "/sys/devices/pci0000:00/0000:00:%02x.0/0000:%02x:00.0", nic + 1,
		 nic + 1);
	return 0;
}

int bf_machine_command(struct bf_world *m, uint32_t pe, uint32_t nic, const void *in, size_t in_len, void *out,
		       size_t out_len)
{
	int rc = check_nic(m, pe, nic);

	return rc ? rc : bf_mlx5_cmd(m->pe[pe].nic[nic], in, in_len, out, out_len);
}

int bf_machine_map_uar(struct bf_world *m, uint32_t pe, uint32_t nic, struct bf_uar *out)
{
	uint8_t in[16] = { 0 }, reply[16] = { 0 };
	struct bf_region *r;
	int rc;

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_ALLOC_UAR);
	rc = bf_machine_command(m, pe, nic, in, sizeof(in), reply, sizeof(reply));
	if (rc)
		return rc;
	if (BF_MLX5_GET(reply, BF_CMD_OUT_STATUS) != BF_MLX5_CMD_OK)
		return bf_fail(m->err, -ENOSPC, "PE %u: ALLOC_UAR failed with status 0x%x", pe,
			       BF_MLX5_GET(reply, BF_CMD_OUT_STATUS));
	out->index = BF_MLX5_GET(reply, BF_CMD_OUT_NUMBER);
	r = bf_mlx5_uar(m->pe[pe].nic[nic], out->index);
	if (!r)
		return bf_fail(m->err, -ENODEV, "PE %u: UAR %u has no page", pe, out->index);
	out->page = r->bytes;
	return 0;
}

/* RoCEv2 over IPv4: the address mapped into IPv6 (InfiniBand Architecture, annex A17). */
int bf_machine_address(struct bf_world *m, uint32_t pe, uint32_t nic, uint32_t port, uint8_t gid[16], uint8_t mac[6])
{
	struct bf_port_info info;
	int rc = check_nic(m, pe, nic);

	if (rc)
		return rc;
	if (port >= m->ports)
		return bf_fail(m->err, -EINVAL, "PE %u, NIC %u: no port %u", pe, nic, port);
	bf_port_info(bf_mlx5_port(m->pe[pe].nic[nic], port + 1), &info);
	memset(gid, 0, 10);
	gid[10] = gid[11] = 0xff;
	bf_put_be32(gid + 12, info.ipv4);
	memcpy(mac, info.mac, 6);
	return 0;
}

void bf_machine_listen(struct bf_world *m, void (*hear)(void *arg, uint64_t where, uint64_t value), void *arg)
{
	if (m->ranks)
		bf_ranks_listen(m->ranks, hear, arg);
}

int bf_machine_say(struct bf_world *m, uint32_t pe, uint64_t at_ps, uint64_t where, uint64_t value)
{
	uint32_t rank = UINT32_MAX;

	if (!m->ranks || pe - m->first < m->count)
		return 0; /* whoever says it knows it */
	if (pe != UINT32_MAX)
		rank = bf_ranks_of(m->npes, bf_ranks_count(m->ranks), pe);
	return bf_ranks_say(m->ranks, rank, at_ps, where, value);
}

int bf_machine_port_up(struct bf_world *m, uint32_t pe, uint32_t nic, uint32_t port)
{
	struct bf_port_info info;
	int rc = check_nic(m, pe, nic);

	if (rc)
		return rc;
	if (port >= m->ports)
		return bf_fail(m->err, -EINVAL, "PE %u, NIC %u: no port %u", pe, nic, port);
	bf_port_info(bf_mlx5_port(m->pe[pe].nic[nic], port + 1), &info);
	return info.up;
}

int bf_machine_nvme_bar(struct bf_world *m, uint32_t pe, struct bf_nvme_bar *out)
{
	struct bf_region *r;
	int rc = bf_machine_check_pe(m, pe);

	if (rc)
		return rc;
	if (!m->pe[pe].ssd)
		return bf_fail(m->err, -ENODEV, "PE %u has no NVMe controller", pe);
	r = bf_nvme_bar0(m->pe[pe].ssd);
	*out = (struct bf_nvme_bar){ .regs = r->bytes, .size = r->size };
	return 0;
}

static int add_grid(struct bf_world *m, const struct bf_grid *grid)
{
	struct bf_grid *g = malloc(sizeof(*g));

	if (!g)
		return bf_fail(m->err, -ENOMEM, "no memory for a grid");
	*g = *grid;
	*m->grids_tail = g;
	m->grids_tail = &g->next;
	return 0;
}

int bf_machine_launch(struct bf_world *m, uint32_t pe, uint32_t blocks, uint32_t warps, bf_kernel_fn *kernel, void *arg)
{
	const struct bf_grid g = { .pe = pe, .blocks = blocks, .warps = warps, .kernel = kernel, .arg = arg };
	int rc = bf_machine_check_pe(m, pe);

	if (rc)
		return rc;
	if (!blocks || !warps || (uint64_t)blocks * warps > 1u << 16 || !kernel)
		return bf_fail(m->err, -EINVAL, "a grid of %u blocks of %u warps: must be 1 to 65536 warps in all",
			       blocks, warps);
	return add_grid(m, &g);
}

int bf_machine_launch_cpu(struct bf_world *m, uint32_t pe, uint32_t threads, bf_kernel_fn *kernel, void *arg)
{
	const struct bf_grid g = { .pe = pe, .blocks = threads, .warps = 1, .cpu = true, .kernel = kernel, .arg = arg };
	int rc = bf_machine_check_pe(m, pe);

	if (rc)
		return rc;
	if (!threads || threads > 1u << 16 || !kernel)
		return bf_fail(m->err, -EINVAL, "%u threads on the CPU: must be 1 to 65536", threads);
	return add_grid(m, &g);
}

struct bf_sim *bf_machine_sim(struct bf_world *m)
{
	return m->sim;
}

struct bf_grid *bf_machine_next_grid(struct bf_world *m)
{
	struct bf_grid *g = m->grids;

	if (g) {
		m->grids = g->next;
		if (!m->grids)
			m->grids_tail = &m->grids;
		g->next = NULL;
	}
	return g;
}

int bf_machine_pe_hashes(struct bf_world *m, uint64_t *out)
{
	if (!m->pe_hash)
		return bf_fail(m->err, -ENOTSUP, "hashes of PEs: not asked for, or without records");
	bf_stream_flush(&m->sim->rec);
	bf_pe_hash_get(m->pe_hash, out);
	return m->ranks ? bf_ranks_merge_pes(m->ranks, out) : 0;
}

int bf_machine_result(struct bf_world *m, uint64_t began_ps, struct bf_world_result *out)
{
	const int rc = bf_stream_flush(&m->sim->rec);

	out->time_ps = m->sim->now_ps - began_ps;
	out->events = m->sim->events;
	out->hash = bf_stream_hash(&m->sim->rec);
	out->records = m->sim->rec.count;
	return rc == -ENOMEM ? bf_fail(m->err, rc, "no memory for records") : 0;
}

void *bf_machine_model(struct bf_world *m, uint32_t pe)
{
	return pe - m->first < m->count ? m->pe[pe].model : NULL; /* a question, no failed call */
}
