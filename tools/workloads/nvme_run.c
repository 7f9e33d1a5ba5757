/*
 * Running an NVMe workload: from the choices to a world with a controller that is ready, from a finished world to a
 * result.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/nvme_world.h"
#include "sim/stats.h"
#include "sim/clock.h"
#include "tools/report/top.h"
#include "tools/workloads/nvme.h"

#define MEMORY_MAX (8ull << 30)
#define CAPACITY_LEAST (64ull << 20)
#define CAPACITY_MOST (16ull << 30)
#define SERVICE_DEPTH 32u

/* A world with its controller, while it lasts. */
struct arena {
	const struct bf_nvme_workload *w;
	struct bf_world *world;
	struct bf_nvme_drv_host *host;
	struct bf_nvme_drv_job job, service;
	struct bf_nvme_work_run_result *out;
	uint8_t *file; /* its bytes, when one was given */
	uint64_t file_bytes;
};

static const enum bf_placement placements[] = { BF_PLACE_HOST, BF_PLACE_GPU, BF_PLACE_GPU_CACHED, BF_PLACE_GPU_UC,
						BF_PLACE_CMB };

static uint32_t share_of(const struct bf_nvme_workload *w)
{
	return w->work == BF_NVME_DRV_ADMIN ? 1 : w->share < w->threads ? w->share : w->threads;
}

static uint32_t queue_pairs(const struct bf_nvme_workload *w)
{
	return w->work == BF_NVME_DRV_ADMIN ? 1 : (w->threads + share_of(w) - 1) / share_of(w);
}

/* One slot more than commands in flight, so that the ring is never full. */
static uint32_t entries_of(const struct bf_nvme_workload *w)
{
	return w->entries ? w->entries : share_of(w) * w->depth + 1;
}

static uint64_t capacity_of(const struct bf_nvme_workload *w)
{
	uint64_t bytes = (uint64_t)w->threads * w->commands;

	if (w->capacity)
		return w->capacity;
	bytes = bytes > CAPACITY_MOST / w->size ? CAPACITY_MOST : bytes * w->size;
	return bytes < CAPACITY_LEAST ? CAPACITY_LEAST : (bytes + 4095) & ~4095ull;
}

/* What the rings take, each in pages of its own. */
static uint64_t cmb_bytes(const struct bf_nvme_workload *w)
{
	const uint64_t sq = entries_of(w) * (uint64_t)BF_NVME_DRV_SQE;
	const uint64_t cq = (w->cq_entries ? w->cq_entries : entries_of(w)) * (uint64_t)BF_NVME_DRV_CQE;

	return queue_pairs(w) * ((sq + w->page - 1) / w->page + (cq + w->page - 1) / w->page) * w->page +
	       (w->page > 4096 ? w->page : 0);
}

static int open_world(struct arena *a, struct bf_sink *sink, struct bf_error *err)
{
	const struct bf_nvme_workload *w = a->w;
	const struct bf_nvme_ns_opts ns = {
		.bytes = w->media && !w->capacity ? 0 : capacity_of(w),
		.lba = w->lba ? BF_NVME_LBA_4096 : BF_NVME_LBA_512,
		.file = w->media,
	};
	const struct bf_nvme_world_opts nvme = {
		.profile = &w->profile,
		.ns = &ns,
		.cmb_bytes = placements[w->queues_in] == BF_PLACE_CMB ? cmb_bytes(w) : 0,
		.media_errors = w->media_errors,
	};
	const struct bf_world_opts opts = {
		.seed = w->seed,
		.ordering = w->ordering,
		.chooser = w->chooser,
		.stacks = w->stacks,
		.faults = w->faults,
		.devices = BF_DEVICE_NVME,
		.device_opts[BF_DEVICE_AT_NVME] = &nvme,
		.npes = 1,
		.limit_ps = w->limit_ps,
		.record_mask = w->records,
		.sink = sink,
		.system_scope = true,
		.device = w->device,
		.ptx = w->agent == BF_NVME_AGENT_PTX ? w->ptx_path : NULL,
	};
	const int rc = w->backend->open(&opts, err, &a->world);

	if (!rc)
		bf_nvme_work_device_describe(w->backend, a->world, w->counts, a->out);
	return rc;
}

/*
 * What the host's side returned. A controller that does not come up, or does not shut down, is a result. One that
 * cannot do what was asked for is the caller's mistake, and without memory there is no result.
 */
static int take_host(struct arena *a, int rc, const struct bf_error *err)
{
	if (rc != -EIO && rc != -ETIMEDOUT)
		return rc;
	a->out->base.verdict = BF_NVME_WORK_RUN_NOT_READY;
	a->out->bring_up = *err;
	return 0;
}

static int open_host(struct arena *a, struct bf_error *err)
{
	const struct bf_nvme_workload *w = a->w;
	const struct bf_nvme_drv_host_opts opts = {
		.bugs = w->bugs,
		.nqps = queue_pairs(w),
		.entries = entries_of(w),
		.cq_entries = w->cq_entries,
		.cids = share_of(w) > 1 ? share_of(w) * w->depth : 0,
		.page = w->page,
		.place = placements[w->queues_in],
		.data = placements[w->data_in],
		.dbbuf = w->dbbuf,
		.timeout_ns = w->timeout_ps / BF_NS,
	};

	return take_host(a, bf_nvme_drv_host_open(w->backend, a->world, 0, &opts, err, &a->host), err);
}

/* The bytes of --file, which tell how many commands each thread has. */
static int read_file(struct arena *a, struct bf_error *err)
{
	FILE *f = fopen(a->w->file, "rb");
	long size = -1;

	if (f && fseek(f, 0, SEEK_END) == 0)
		size = ftell(f);
	if (size > 0 && (uint64_t)size <= MEMORY_MAX && (a->file = malloc((size_t)size)) != NULL) {
		rewind(f);
		a->file_bytes = fread(a->file, 1, (size_t)size, f);
	}
	if (f)
		fclose(f);
	if (size <= 0 || a->file_bytes != (uint64_t)size)
		return bf_fail(err, size == 0 ? -EINVAL : -EIO, "--file %s: %s", a->w->file,
			       size == 0 ? "is empty" : "cannot be read");
	return 0;
}

static int fill_shape(struct arena *a, struct bf_error *err)
{
	const struct bf_nvme_workload *w = a->w;
	const struct bf_nvme_drv_ctrl *ctrl = bf_nvme_drv_host_ctrl(a->host);
	struct bf_nvme_drv_shape *s = &a->job.shape;
	const uint64_t chunks = (ctrl->nsze << ctrl->lba_shift) / w->size / w->threads;
	const uint64_t most = ctrl->max_pages ? (uint64_t)ctrl->max_pages * ctrl->mpsmin : w->size;

	*s = (struct bf_nvme_drv_shape){
		.threads = w->work == BF_NVME_DRV_ADMIN ? 1 : w->threads,
		.lanes = w->agent == BF_NVME_AGENT_CPU || w->work == BF_NVME_DRV_ADMIN ? 1
			 : w->lanes < w->threads                                       ? w->lanes
										       : w->threads,
		.share = share_of(w),
		.depth = w->depth,
		.batch = w->batch,
		.commands = w->commands,
		.bytes = (uint32_t)w->size,
		.offset = w->offset,
		.list_offset = w->list_offset,
		.scatter = w->scatter,
		.check = w->check || w->work == BF_NVME_DRV_VERIFY || w->work == BF_NVME_DRV_MIXED,
		.format = !w->media,
		.seed = w->seed,
	};
	if (a->file)
		s->commands = (uint32_t)((a->file_bytes + w->size * w->threads - 1) / (w->size * w->threads));
	if ((w->size > most && !(w->bugs & BF_NVME_DRV_BUG_MDTS)) || w->size >> ctrl->lba_shift > 65536)
		return bf_fail(err, -EINVAL,
			       "--size %" PRIu64 ": the controller transfers at most %" PRIu64
			       " bytes and 65536 blocks with one command",
			       w->size, most);
	if (w->size & ((1u << ctrl->lba_shift) - 1))
		return bf_fail(err, -EINVAL, "--size %" PRIu64 " is not a multiple of the medium's blocks of %u bytes",
			       w->size, 1u << ctrl->lba_shift);
	if (!chunks || chunks > UINT32_MAX || (w->work == BF_NVME_DRV_FILE && chunks < s->commands))
		return bf_fail(err, -EINVAL,
			       "the medium of %" PRIu64 " bytes is too small for %" PRIu32
			       " threads; --capacity makes it larger",
			       ctrl->nsze << ctrl->lba_shift, w->threads);
	s->span = s->commands < chunks ? s->commands : (uint32_t)chunks;
	return 0;
}

static int add_room(struct arena *a, enum bf_placement place, uint64_t bytes, const char *name,
		    struct bf_nvme_drv_room *out, struct bf_error *err)
{
	if (bytes > MEMORY_MAX)
		return bf_fail(err, -EINVAL, "%s would take %" PRIu64 " bytes, more than 8 GiB", name, bytes);
	return bf_nvme_drv_host_room(a->host, place, bytes, name, out);
}

/* Memory of a job: data and lists for the controller, requests and results for the threads. */
static int fill_job(struct arena *a, struct bf_nvme_drv_job *job, enum bf_placement place, const char *name,
		    struct bf_error *err)
{
	const struct bf_nvme_drv_shape *s = &job->shape;
	struct bf_nvme_drv_room requests, results;
	int rc;

	job->ctrl = bf_nvme_drv_host_ctrl(a->host);
	job->data_stride = bf_nvme_drv_data_stride(s, job->ctrl->page);
	job->list_stride = bf_nvme_drv_list_stride(s, job->ctrl->page);
	/* Identifiers by slot need a place for each slot. */
	job->requests =
	    a->w->bugs & BF_NVME_DRV_BUG_CID_BY_TAIL && entries_of(a->w) > s->depth ? entries_of(a->w) : s->depth;
	job->slots = job->work == BF_NVME_DRV_FILE ? 2 * s->commands : s->depth;
	rc = add_room(a, place, s->threads * (uint64_t)job->slots * job->data_stride, name, &job->data, err);
	if (!rc && a->w->bugs & BF_NVME_DRV_BUG_MOVED_BUFFER) {
		struct bf_nvme_drv_room moved;

		rc = add_room(a, place, job->data.bytes, "nvme data, moved", &moved, err);
		job->data.vaddr = moved.vaddr;
	}
	if (!rc && a->w->bugs & BF_NVME_DRV_BUG_UNMAPPED && job->work != BF_NVME_DRV_ADMIN && job != &a->service)
		job->data.ioaddr = job->ctrl->page;
	if (!rc)
		rc = add_room(a, BF_PLACE_HOST, (uint64_t)s->threads * s->depth * job->list_stride, "nvme PRP lists",
			      &job->lists, err);
	if (!rc)
		rc = add_room(a, BF_PLACE_HOST, (uint64_t)s->threads * job->requests * sizeof(*job->request),
			      "nvme requests", &requests, err);
	if (!rc)
		rc = add_room(a, BF_PLACE_HOST, s->threads * sizeof(*job->result), "nvme results", &results, err);
	if (rc)
		return rc;
	job->request = (struct bf_nvme_drv_request *)(void *)requests.vaddr;
	job->result = (struct bf_nvme_drv_result *)(void *)results.vaddr;
	return 0;
}

/* Byte `i` of the file that --file does not give. */
static uint8_t file_byte(const struct arena *a, uint64_t i)
{
	if (a->file)
		return i < a->file_bytes ? a->file[i] : 0;
	return (uint8_t)(bf_nvme_drv_word(a->w->seed, 1, i / 8) >> i % 8 * 8);
}

/* The file lies in the first half of each thread's slots, thread after thread. */
static void lay_file(struct arena *a)
{
	const struct bf_nvme_drv_shape *s = &a->job.shape;

	for (uint32_t t = 0; t < s->threads; t++)
		for (uint32_t m = 0; m < s->commands; m++) {
			uint8_t *at = bf_nvme_drv_slot(&a->job, t, m);
			const uint64_t from = ((uint64_t)t * s->commands + m) * s->bytes;

			for (uint32_t i = 0; i < s->bytes; i++)
				*bf_nvme_drv_byte(&a->job, at, i) = file_byte(a, from + i);
		}
}

/* Compares memory with what must be there and returns how many bytes were looked at. */
static uint64_t check_memory(struct arena *a)
{
	const struct bf_nvme_drv_shape *s = &a->job.shape;
	uint64_t bytes = 0;

	for (uint32_t t = 0; t < s->threads; t++)
		for (uint32_t m = 0; m < (a->job.work == BF_NVME_DRV_FILE ? s->commands : s->depth); m++) {
			const struct bf_nvme_drv_request *r = &a->job.request[(uint64_t)t * a->job.requests + m];
			const uint32_t slot = a->job.work == BF_NVME_DRV_FILE ? s->commands + m : m;
			uint8_t *at = bf_nvme_drv_slot(&a->job, t, slot);
			uint64_t word, bad = 0;

			/* With batches not every request of a thread has to be used. */
			if (a->job.work == BF_NVME_DRV_READ && !r->version)
				continue;
			for (uint32_t i = 0; i < s->bytes / 8; i++) {
				word = bf_get_le64(bf_nvme_drv_byte(&a->job, at, i * 8ull));
				if (a->job.work == BF_NVME_DRV_READ)
					bad += word != bf_nvme_drv_word(r->chunk, a->job.version[r->chunk], i);
				else
					bad += word != bf_get_le64(bf_nvme_drv_byte(
							   &a->job, bf_nvme_drv_slot(&a->job, t, m), i * 8ull));
			}
			a->out->mismatches += bad;
			bytes += s->bytes;
		}
	return bytes;
}

/* The thread of the CPU that prepares the medium and looks at it afterwards, with the host side's own queue pair. */
static int open_service(struct arena *a, struct bf_error *err)
{
	const struct bf_nvme_drv_shape *s = &a->job.shape;

	a->service = a->job;
	a->service.work = BF_NVME_DRV_VERIFY;
	a->service.qps = bf_nvme_drv_host_qps(a->host) + queue_pairs(a->w);
	a->service.shape = (struct bf_nvme_drv_shape){
		.threads = 1,
		.lanes = 1,
		.share = 1,
		.depth = SERVICE_DEPTH,
		.batch = SERVICE_DEPTH / 2,
		.bytes = s->bytes,
		.span = s->span * s->threads,
		.commands = s->span * s->threads,
		.check = 1,
	};
	return fill_job(a, &a->service, BF_PLACE_HOST, "nvme check", err);
}

static int prepare(struct arena *a, struct bf_error *err)
{
	const struct bf_nvme_workload *w = a->w;
	struct bf_nvme_drv_room versions;
	uint64_t chunks;
	int rc;

	if (w->file) {
		rc = read_file(a, err);
		if (rc)
			return rc;
	}
	a->job.work = w->work;
	a->job.qps = bf_nvme_drv_host_qps(a->host);
	rc = fill_shape(a, err);
	if (!rc)
		rc = fill_job(a, &a->job, placements[w->data_in], "nvme data", err);
	if (rc)
		return rc;
	chunks = (uint64_t)a->job.shape.span * a->job.shape.threads;
	rc = add_room(a, BF_PLACE_HOST, chunks * sizeof(uint32_t), "nvme versions", &versions, err);
	if (rc)
		return rc;
	a->job.version = (uint32_t *)(void *)versions.vaddr;
	/* A new medium reads as zeros; nobody knows what a file or a real device holds. */
	for (uint64_t i = 0; (w->media || a->out->device[0]) && i < chunks; i++)
		a->job.version[i] = BF_NVME_DRV_VERSION_UNKNOWN;
	if (w->work == BF_NVME_DRV_FILE)
		lay_file(a);
	if (w->work != BF_NVME_DRV_ADMIN)
		return open_service(a, err);
	if (w->agent == BF_NVME_AGENT_CPU)
		return 0;
	rc = add_room(a, BF_PLACE_HOST, sizeof(uint32_t), "nvme mailbox", &versions, err);
	a->job.mailbox = (uint32_t *)(void *)versions.vaddr;
	return rc;
}

/* Runs the service job; true when nothing went wrong. */
static int serve(struct arena *a, bf_kernel_fn *kernel, struct bf_nvme_drv_result *result, struct bf_error *err)
{
	struct bf_world_result r;
	int rc = a->w->backend->launch_cpu(a->world, 0, 1, kernel, &a->service);

	if (!rc)
		rc = a->w->backend->run(a->world, &r);
	if (rc)
		return rc;
	*result = *a->service.result;
	if (r.end != BF_END_DONE || !result->ended)
		return bf_fail(err, -ETIMEDOUT, "preparing or checking the medium did not end\n%s", r.report);
	return 0;
}

static int launch(struct arena *a, struct bf_error *err)
{
	const struct bf_nvme_workload *w = a->w;
	const struct bf_nvme_drv_shape *s = &a->job.shape;
	bf_kernel_fn *kernel = bf_nvme_drv_kernels(w->backend->platform)->run[w->work];
	const uint32_t warps = (s->threads + s->lanes - 1) / s->lanes;
	const uint32_t each = w->warps < warps ? w->warps : warps;
	uint64_t start;
	int rc;

	if (w->agent == BF_NVME_AGENT_CPU || w->work == BF_NVME_DRV_ADMIN)
		rc = w->backend->launch_cpu(a->world, 0, s->threads, kernel, &a->job);
	else
		rc = w->backend->launch(a->world, 0, (warps + each - 1) / each, each, kernel, &a->job);
	if (!rc && a->job.mailbox)
		rc = w->backend->launch(a->world, 0, 1, 1, bf_nvme_drv_kernels(w->backend->platform)->ring, &a->job);
	if (rc)
		return rc;
	start = bf_monotonic_ns();
	rc = bf_top_run(w->backend, a->world, &a->out->world, w->top, bf_family_work(&bf_nvme_work_family, w)->name);
	a->out->base.wall_ns = bf_monotonic_ns() - start;
	return rc ? bf_fail(err, rc, "the run failed: %s", strerror(-rc)) : 0;
}

static void note_standing(struct arena *a, uint32_t thread)
{
	const struct bf_nvme_drv_qp *qp = &a->job.qps[thread / a->job.shape.share];
	struct bf_nvme_work_run_result *r = a->out;
	struct bf_nvme_work_standing *s = &r->standings[r->nstandings];

	r->bad_threads++;
	if (r->nstandings == BF_NVME_WORK_STANDINGS)
		return;
	r->nstandings++;
	*s = (struct bf_nvme_work_standing){
		.thread = thread,
		.qid = qp->sq.no,
		.result = a->job.result[thread],
		.sq_head = qp->sq.head,
		.sq_tail = qp->sq.tail,
		.sq_rung = qp->sq.last,
		.cq_head = qp->cq.head,
		.cq_phase = qp->cq.phase,
	};
	bf_nvme_work_device_find_unmapped(a->w->backend, a->world, &qp->sq, &s->unmapped);
	if (!qp->share)
		return;
	s->sq_head = (uint32_t)(qp->share->head % qp->sq.entries);
	s->sq_tail = (uint32_t)(qp->share->ticket % qp->sq.entries);
	s->sq_rung = (uint32_t)(qp->share->tail % qp->sq.entries);
	s->cq_head = qp->share->cq_head;
	s->cq_phase = qp->share->cq_phase;
}

static void judge(struct arena *a)
{
	struct bf_nvme_work_run_result *r = a->out;

	r->base.verdict = r->world.end == BF_END_DEADLOCK ? BF_NVME_WORK_RUN_DEADLOCK
			  : r->world.end == BF_END_LIMIT  ? BF_NVME_WORK_RUN_LIMIT
							  : BF_NVME_WORK_RUN_GOOD;
	for (uint32_t t = 0; t < a->job.shape.threads; t++) {
		const struct bf_nvme_drv_result *x = &a->job.result[t];

		r->commands += x->completed;
		r->mismatches += x->mismatches;
		if (!x->ended || x->failure || x->mismatches)
			note_standing(a, t);
		if (r->base.verdict == BF_NVME_WORK_RUN_GOOD && x->failure)
			r->base.verdict =
			    x->failure == BF_NVME_DRV_TIMEOUT ? BF_NVME_WORK_RUN_TIMEOUT : BF_NVME_WORK_RUN_ERROR;
	}
	if (r->base.verdict == BF_NVME_WORK_RUN_GOOD && r->mismatches)
		r->base.verdict = BF_NVME_WORK_RUN_WRONG_DATA;
}

/* What the threads cannot know themselves: the medium, and memory that they did not look at. */
static int check(struct arena *a, struct bf_error *err)
{
	struct bf_nvme_work_run_result *r = a->out;
	struct bf_nvme_drv_result seen;
	int rc;

	if (a->job.work == BF_NVME_DRV_ADMIN)
		return 0;
	if (a->job.work == BF_NVME_DRV_READ || a->job.work == BF_NVME_DRV_FILE) {
		r->verified_bytes = check_memory(a);
	} else {
		rc = serve(a, bf_nvme_drv_kernels(a->w->backend->platform)->read_back, &seen, err);
		if (rc)
			return rc;
		r->verified_bytes = seen.completed * a->job.shape.bytes;
		r->mismatches += seen.mismatches;
		if (seen.failure) {
			r->base.verdict =
			    seen.failure == BF_NVME_DRV_TIMEOUT ? BF_NVME_WORK_RUN_TIMEOUT : BF_NVME_WORK_RUN_ERROR;
			r->bad_threads++;
			r->standings[r->nstandings++] = (struct bf_nvme_work_standing){ .thread = UINT32_MAX,
											.qid = a->service.qps->sq.no,
											.result = seen };
		}
	}
	if (r->base.verdict == BF_NVME_WORK_RUN_GOOD && r->mismatches)
		r->base.verdict = BF_NVME_WORK_RUN_WRONG_DATA;
	return 0;
}

static void add_split(void *arg, const char *name, const char *unit, const uint64_t *counter, const struct bf_hist *h)
{
	struct bf_nvme_work_split *s = arg;
	const struct {
		const char *name;
		uint64_t *mean;
	} parts[] = {
		{ "ssd0.queue.doorbell", &s->doorbell_ps },
		{ "ssd0.queue.fetch", &s->fetch_ps },
		{ "ssd0.queue.data", &s->data_ps },
		{ "ssd0.queue.completion", &s->completion_ps },
		{ "ssd0.media", &s->media_ps },
	};

	(void)unit;
	(void)counter;
	for (size_t i = 0; h && h->count && i < BF_ARRAY_LEN(parts); i++)
		if (strcmp(parts[i].name, name) == 0) {
			*parts[i].mean = h->sum / h->count;
			s->count = h->count;
		}
}

static int take_counts(struct arena *a, struct bf_error *err)
{
	struct bf_sim *sim = a->w->backend->sim ? a->w->backend->sim(a->world) : NULL;

	if (!sim)
		return 0;
	bf_stats_each(sim, add_split, &a->out->split);
	if (!a->w->counts)
		return 0;
	a->out->base.counts = bf_counts_take(sim);
	return a->out->base.counts ? 0 : bf_fail(err, -ENOMEM, "no memory for statistics");
}

/* A run that ended well leaves a controller that can be shut down, and that is part of it. */
static int close_host(struct arena *a, const struct bf_error *err)
{
	if (!a->host)
		return 0;
	if (a->out->base.verdict == BF_NVME_WORK_RUN_GOOD)
		return take_host(a, bf_nvme_drv_host_close(a->host), err);
	bf_nvme_drv_host_abandon(a->host);
	return 0;
}

/* The records of all that was run, not of the work alone. */
static void take_hash(struct arena *a)
{
	struct bf_sim *sim = a->w->backend->sim ? a->w->backend->sim(a->world) : NULL;

	if (!sim)
		return;
	bf_stream_flush(&sim->rec);
	a->out->world.hash = bf_stream_hash(&sim->rec);
	a->out->world.records = sim->rec.count;
}

/* Texts of Identify are padded with spaces. */
static void take_text(char *out, const char *from, size_t len)
{
	while (len && from[len - 1] == ' ')
		len--;
	memcpy(out, from, len);
	out[len] = '\0';
}

int bf_nvme_workload_run(const void *choices, struct bf_sink *sink, void *result, struct bf_error *err)
{
	const struct bf_nvme_workload *w = choices;
	struct bf_nvme_work_run_result *out = result;
	struct arena a = { .w = w, .out = out };
	struct bf_nvme_drv_result filled = { 0 };
	int rc;

	*out = (struct bf_nvme_work_run_result){ 0 };
	rc = open_world(&a, sink, err);
	if (rc == 0)
		rc = open_host(&a, err);
	if (rc == 0 && a.host) {
		take_text(out->model, bf_nvme_drv_host_ctrl(a.host)->model, 40);
		take_text(out->serial, bf_nvme_drv_host_ctrl(a.host)->serial, 20);
		rc = prepare(&a, err);
		if (rc == 0 && w->work == BF_NVME_DRV_READ)
			rc = serve(&a, bf_nvme_drv_kernels(w->backend->platform)->fill, &filled, err);
		if (rc == 0)
			rc = launch(&a, err);
		if (rc == 0)
			judge(&a);
		if (rc == 0 && out->base.verdict == BF_NVME_WORK_RUN_GOOD)
			rc = check(&a, err);
		if (rc == 0)
			rc = take_counts(&a, err);
	}
	if (rc == 0)
		rc = close_host(&a, err);
	else if (a.host)
		bf_nvme_drv_host_abandon(a.host);
	if (rc == 0)
		take_hash(&a);
	if (a.world)
		w->backend->close(a.world);
	free(a.file);
	return rc;
}
