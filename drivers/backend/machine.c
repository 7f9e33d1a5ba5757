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

static int open_pe(struct bf_world *m, uint32_t index, const struct bf_world_opts *opts)
{
	struct bf_pe *pe = &m->pe[index];
	int rc;

	snprintf(pe->name, sizeof(pe->name), "pe%u", index);
	rc = bf_space_init(&pe->space, m->sim, pe->name, index);
	if (rc)
		return rc;
	pe->has_space = true;
	if (opts->nvlink && index != m->first)
		bf_space_map(&m->pe[m->first].space, &pe->space);
	rc = bf_ioas_init(&pe->ioas, m->sim, pe->name, BF_PAGE);
	if (rc)
		return rc;
	pe->has_ioas = true;
	for (const struct bf_part *const *part = bf_parts(); !rc && *part; part++)
		if (m->devices & (*part)->device)
			rc = (*part)->open(m, index, opts);
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

/* Whether all devices of these worlds reach what lies in another process: by the network. */
static bool spreads(const struct bf_world *m)
{
	bool all = !m->model;

	for (const struct bf_part *const *part = bf_parts(); *part; part++)
		all &= !(m->devices & (*part)->device) || (*part)->open_remote;
	return all;
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
	if (opts->ranks && !spreads(m))
		return bf_fail(err, -ENOTSUP,
			       "PEs in several processes can have NICs only: the others reach their peers "
			       "without the network");
	return 0;
}

static int open_shared(struct bf_world *m, const struct bf_world_opts *opts)
{
	int rc = 0;

	for (const struct bf_part *const *part = bf_parts(); !rc && *part; part++)
		if (m->devices & (*part)->device && (*part)->open_shared)
			rc = (*part)->open_shared(m, opts);
	return rc;
}

static int open_remote(struct bf_world *m, uint32_t pe, uint32_t rank)
{
	int rc = 0;

	for (const struct bf_part *const *part = bf_parts(); !rc && *part; part++)
		if (m->devices & (*part)->device)
			rc = (*part)->open_remote(m, pe, rank);
	return rc;
}

/* In order of PE, so that ports are attached in the same order in every process. */
static int open_pes(struct bf_world *m, const struct bf_world_opts *opts)
{
	const uint32_t ranks = opts->ranks ? opts->ranks->npes : 1;
	int rc = 0;

	if (opts->ranks) {
		m->first = bf_ranks_first(m->npes, ranks, opts->ranks->pe);
		m->count = bf_ranks_first(m->npes, ranks, opts->ranks->pe + 1) - m->first;
		rc = bf_ranks_open(m, opts->ranks, &m->ranks);
	}
	for (uint32_t i = 0; !rc && i < m->npes; i++)
		rc = i - m->first < m->count ? open_pe(m, i, opts) : open_remote(m, i, bf_ranks_of(m->npes, ranks, i));
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
	m->devices = opts->devices || opts->model ? opts->devices : bf_parts()[0]->device;
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
	rc = open_shared(m, opts);
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
		for (const struct bf_part *const *part = bf_parts(); *part; part++)
			(*part)->close(&m->pe[i]);
		if (m->pe[i].model)
			m->model->close(m->pe[i].model);
	}
	for (const struct bf_part *const *part = bf_parts(); *part; part++)
		if ((*part)->close_shared)
			(*part)->close_shared(m);
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

/* Made for the driver: its device gets at it, too. `rc`: of making it. */
static int show_memory(struct bf_world *m, uint32_t pe, int rc, struct bf_region *r, const char *name, uint64_t size,
		       struct bf_memory *out)
{
	if (!rc)
		rc = bf_ioas_map_region(&m->pe[pe].ioas, r, BF_IOMMU_READ | BF_IOMMU_WRITE);
	for (const struct bf_part *const *part = bf_parts(); !rc && *part; part++)
		if ((*part)->share)
			rc = (*part)->share(m, pe, r);
	if (rc)
		return bf_fail(m->err, rc, "PE %u, memory '%s' of %" PRIu64 " bytes: %s", pe, name, size,
			       m->sim->error.text);
	*out = (struct bf_memory){ .ptr = r->bytes, .va = r->va, .size = r->size };
	return 0;
}

static int alloc_of_device(struct bf_world *m, uint32_t pe, uint64_t size, const char *name, struct bf_memory *out)
{
	for (const struct bf_part *const *part = bf_parts(); *part; part++)
		if ((*part)->alloc)
			return (*part)->alloc(m, pe, size, name, out);
	return bf_fail(m->err, -ENODEV, "PE %u, '%s': no device has memory of its own", pe, name);
}

int bf_machine_expose(struct bf_world *m, struct bf_region *r)
{
	return r && m->expose ? m->expose(m, r) : 0;
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
		return alloc_of_device(m, pe, size, name, out);
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
