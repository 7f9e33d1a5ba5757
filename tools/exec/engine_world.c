/*
 * The world of one process: its memory, its devices, the network, and the stream of records.
 *
 * The program's addresses are one region, which the devices reach one to one. Their registers are in a space of their
 * own above, since the pages that stand for them in this process would be in the program's region as well.
 */
#include "tools/exec/engine_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "sim/stats.h"
#include "tools/exec/cuda.h"
#include "traces/records/exec.h"

/* User space ends below this on x86-64 with four levels of page tables, and on aarch64 with 48-bit addresses. */
#define MEMORY_END (1ull << 48)
#define BARS_SPACE (MEMORY_END / (1ull << 40) - 1)

/* For the model, where a program's handlers have too little. */
#define STACK_BYTES (256u << 10)

/* QPNs 0 and 1 are special, and ConnectX gives none below 0x40 or so to programs. */
#define QPN_RESERVE 0x100u

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t bf_engine_now_ps(const struct bf_engine *e)
{
	return (clock_ns(CLOCK_MONOTONIC) - e->origin_ns) * BF_NS;
}

static int open_memory(struct bf_engine *e)
{
	const struct bf_region_opts program = {
		.name = "program",
		.kind = BF_MEM_DRAM,
		.va = BF_PAGE,
		.bytes = (void *)(uintptr_t)BF_PAGE,
		.size = MEMORY_END - 2 * BF_PAGE,
	};
	int rc = bf_space_init(&e->memory, e->sim, "program", 0);

	if (rc)
		return rc;
	e->has_memory = true;
	rc = bf_space_init(&e->bars, e->sim, "devices", BARS_SPACE);
	if (rc)
		return rc;
	e->has_bars = true;
	rc = bf_space_init(&e->gpus, e->sim, "gpus", BARS_SPACE + 1);
	if (rc)
		return rc;
	e->has_gpus = true;
	rc = bf_ioas_init(&e->ioas, e->sim, "program", BF_PAGE);
	if (rc)
		return rc;
	e->has_ioas = true;
	rc = bf_region_create(&e->memory, &program, &e->program);
	return rc ? rc : bf_ioas_map_region(&e->ioas, e->program, BF_IOMMU_READ | BF_IOMMU_WRITE);
}

static int open_network(struct bf_engine *e)
{
	const struct bf_outside_opts opts = {
		.network = e->opts.network,
		.udp_ipv4 = e->opts.udp_ipv4,
		.udp_port = e->opts.udp_port,
		.udp_bits_per_s = e->opts.udp_mbits * 1000000,
	};
	int rc = bf_fabric_create(e->sim, &e->fabric);

	return rc ? rc : bf_outside_open(e->sim, e->fabric, &opts, &e->outside);
}

/* An interrupt may come before bf_uverbs_create() has returned: nobody is there to hear it then. */
static void on_irq(void *owner, uint32_t vector)
{
	struct bf_engine_device *d = owner;

	if (d->uverbs)
		bf_uverbs_irq(d->uverbs, vector);
}

static int open_device(struct bf_engine *e, uint32_t index)
{
	const uint32_t share = BF_OUTSIDE_QPNS / e->opts.devices;
	struct bf_engine_device *d = &e->device[index];
	struct bf_mlx5_profile profile = bf_mlx5_instant;
	struct bf_uverbs_opts uverbs = {
		.space = &e->bars,
		.ioas = &e->ioas,
		.epoch_ns = e->epoch_ns,
		.infiniband = e->opts.infiniband,
		.blueflame = e->opts.blueflame,
		.no_ioctl = e->opts.no_ioctl,
	};
	struct bf_mlx5_opts nic = {
		.name = d->id.name,
		.profile = &profile,
		.space = &e->bars,
		.ioas = &e->ioas,
		.fabric = e->fabric,
		.infiniband = e->opts.infiniband,
		.uar_pages = 4096,
		.paging = true,
		.irq = on_irq,
		.irq_owner = d,
		.first_qpn = bf_outside_slot(e->outside) * BF_OUTSIDE_QPNS + index * share + QPN_RESERVE,
		.qpns = share - QPN_RESERVE,
	};
	char interface[BF_EXEC_INTERFACE_ROOM];
	int rc;

	d->memic = mmap(NULL, BF_EXEC_MEMIC, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (d->memic == MAP_FAILED)
		return bf_fail(&e->sim->error, -ENOMEM, "no memory for device memory");
	madvise(d->memic, BF_EXEC_MEMIC, MADV_DONTFORK);
	nic.memic = BF_EXEC_MEMIC;
	nic.memic_bytes = d->memic;
	bf_exec_identity(&d->id, index, e->opts.udp_ipv4);
	bf_exec_interface(e->opts.udp_ipv4, interface);
	uverbs.interface_index = if_nametoindex(interface);
	uverbs.name = d->id.name;
	uverbs.ipv4 = nic.ipv4[0] = d->id.ipv4;
	uverbs.node_guid = d->id.node_guid;
	uverbs.mtu = bf_outside_mtu(e->outside);
	memcpy(uverbs.mac, d->id.mac, sizeof(uverbs.mac));
	profile.icrc = e->opts.udp_ipv4 != 0; /* nobody looks at it in shared memory */
	rc = bf_mlx5_create(e->sim, &nic, &d->nic);
	if (rc)
		return rc;
	uverbs.provider = &bf_mlx5_ib;
	uverbs.device = d->nic;
	bf_engine_host_init(e, &uverbs.host);
	return bf_uverbs_create(e->sim, &uverbs, &d->uverbs);
}

static void put_meta(struct bf_engine *e, const char *key, const char *value)
{
	if (value)
		bf_trace_meta(e->trace, key, value);
}

/* What started this process, as a text: arguments with blanks between them. */
static void read_command(char *text, size_t cap)
{
	FILE *f = fopen("/proc/self/cmdline", "re");
	size_t len = f ? fread(text, 1, cap - 1, f) : 0;

	if (f)
		fclose(f);
	while (len && !text[len - 1])
		len--;
	for (size_t i = 0; i < len; i++)
		if (!text[i])
			text[i] = ' ';
	text[len] = 0;
}

static int open_trace(struct bf_engine *e)
{
	static const char *const doorbells[] = { "trap", "poll", "direct" };
	struct bf_rec_exec_start start = { .pid = (uint64_t)e->pid, .doorbells = (uint32_t)e->opts.doorbells };
	char number[24], command[1024];
	int rc;

	if (!e->opts.trace[0])
		return 0;
	rc = bf_trace_writer_open(e->opts.trace, NULL, NULL, &e->trace, &e->trace_error);
	if (rc)
		return bf_fail(&e->sim->error, rc, "%s", e->trace_error.text);
	read_command(command, sizeof(command));
	snprintf(number, sizeof(number), "%" PRIu64, e->opts.seed);
	put_meta(e, "tool", "belfry exec");
	put_meta(e, "command", command);
	put_meta(e, "seed", number);
	put_meta(e, "doorbells", doorbells[e->opts.doorbells]);
	put_meta(e, "faults", e->opts.faults);
	/* Kernels have lines of their sources. */
	rc = bf_stream_open(&e->sim->rec, &e->sim->now_ps, BF_CLASS_ALL | (e->opts.gpus ? BF_CLASS_WHERE : 0),
			    bf_trace_sink(e->trace));
	if (rc)
		return bf_fail(&e->sim->error, rc, "cannot record: %s", e->trace_error.text);
	bf_trace_keep(&e->keeper, e->sim, e->trace);
	start.devices = e->opts.devices;
	BF_EMIT_MADE(e->sim, e->actor, exec_start, start, command, (uint32_t)strlen(command));
	return 0;
}

/* One file with code of the program. Returns 0: go on. */
static int record_image(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct bf_engine *e = arg;
	struct bf_rec_exec_image rec = { .base = info->dlpi_addr };
	char self[PATH_MAX];
	const char *name = info->dlpi_name;
	ssize_t len;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const uint64_t end = info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;

		if (info->dlpi_phdr[i].p_type == PT_LOAD && end > rec.size)
			rec.size = end;
	}
	len = (ssize_t)strlen(name);
	if (!len) { /* the program itself */
		len = readlink("/proc/self/exe", self, sizeof(self));
		name = self;
	}
	BF_EMIT_MADE(e->sim, e->actor, exec_image, rec, name, len > 0 ? (uint32_t)len : 0);
	return 0;
}

/* Who this process is among others, once that is known, and which code its stores come from. */
static void record_process(struct bf_engine *e)
{
	const struct bf_rec_exec_slot slot = { .slot = bf_outside_slot(e->outside),
					       .first_qpn = bf_outside_slot(e->outside) * BF_OUTSIDE_QPNS };

	if (!bf_probe(e->sim, BF_CLASS_META))
		return;
	BF_EMIT_MADE(e->sim, e->actor, exec_slot, slot, NULL, 0);
	dl_iterate_phdr(record_image, e);
}

static int attach_stats(struct bf_engine *e)
{
	const struct {
		const char *name, *unit;
		const uint64_t *field;
	} all[] = {
		{ "exec.stores", "", &e->count.stores },         { "exec.store_bytes", "B", &e->count.bytes },
		{ "exec.loads", "", &e->count.loads },           { "exec.single_steps", "", &e->count.steps },
		{ "exec.late_stores", "", &e->count.late },      { "exec.lost_stores", "", &e->count.lost },
		{ "exec.patched_sites", "", &e->count.patches }, { "exec.rings", "", &e->count.rings },
		{ "exec.glances", "", &e->count.glances },       { "exec.missing_pages", "", &e->count.missing },
		{ "exec.thread_turns", "", &e->count.turns },    { "exec.thread_sleeps", "", &e->count.sleeps },
	};
	int rc = 0;

	for (uint32_t i = 0; !rc && i < BF_ARRAY_LEN(all); i++)
		rc = bf_stats_attach(e->sim, e, all[i].name, all[i].unit, all[i].field);
	return rc;
}

static int open_parts(struct bf_engine *e)
{
	int rc = open_trace(e);

	if (!rc && e->opts.faults) {
		rc = bf_fault_plan_parse(e->opts.faults, e->opts.seed, &e->sim->error, &e->faults);
		e->sim->faults = e->faults;
	}
	if (!rc && e->opts.udp_ipv4 && e->opts.devices > 1)
		rc = bf_fail(&e->sim->error, -EINVAL, "%s: only one device can use UDP", BF_EXEC_ENV_UDP);
	rc = rc ? rc : attach_stats(e);
	rc = rc ? rc : open_memory(e);
	rc = rc ? rc : bf_channels_create(e->sim, &e->channels);
	rc = rc ? rc : open_network(e);
	if (!rc)
		record_process(e);
	for (uint32_t i = 0; !rc && i < e->opts.devices; i++)
		rc = open_device(e, i);
	return rc;
}

int bf_engine_world_open(struct bf_engine *e, char *why, size_t cap)
{
	int rc = bf_sim_create(e->opts.seed, &e->sim);

	if (rc) {
		snprintf(why, cap, "no memory for a simulation");
		return rc;
	}
	e->sim->shared = true;
	e->origin_ns = clock_ns(CLOCK_MONOTONIC);
	e->epoch_ns = clock_ns(CLOCK_REALTIME);
	if (bf_coro_create(&e->aside, NULL, NULL, STACK_BYTES)) {
		snprintf(why, cap, "no memory for a stack");
		return -ENOMEM;
	}
	e->actor = bf_stream_actor(&e->sim->rec, "process", "exec");
	rc = open_parts(e);
	if (rc)
		snprintf(why, cap, "%s", e->sim->error.code ? e->sim->error.text : strerror(-rc));
	return rc;
}

void bf_engine_world_close(struct bf_engine *e)
{
	bf_engine_cm_end(e);
	bf_engine_ptx_close(e);
	for (uint32_t i = 0; i < BF_EXEC_DEVICES_MAX; i++) {
		bf_uverbs_destroy(e->device[i].uverbs);
		if (e->device[i].nic)
			bf_mlx5_destroy(e->device[i].nic);
		if (e->device[i].memic && e->device[i].memic != MAP_FAILED)
			munmap(e->device[i].memic, BF_EXEC_MEMIC);
		e->device[i] = (struct bf_engine_device){ 0 };
	}
	bf_channels_destroy(e->channels);
	e->channels = NULL;
	bf_outside_close(e->outside);
	e->outside = NULL;
	bf_fabric_destroy(e->fabric);
	e->fabric = NULL;
	if (e->has_ioas)
		bf_ioas_fini(&e->ioas);
	if (e->has_bars)
		bf_space_fini(&e->bars);
	if (e->has_gpus)
		bf_space_fini(&e->gpus);
	bf_cuda_destroy(e->cuda);
	e->cuda = NULL;
	if (e->has_memory)
		bf_space_fini(&e->memory);
	e->has_ioas = e->has_bars = e->has_gpus = e->has_memory = false;
	if (e->sim) {
		bf_trace_keep_stop(&e->keeper);
		bf_stream_close(&e->sim->rec);
		bf_stats_detach(e->sim, e);
		bf_sim_destroy(e->sim);
	}
	e->sim = NULL;
	if (e->trace && bf_trace_writer_close(e->trace))
		fprintf(stderr, "belfry exec: %s\n", e->trace_error.text);
	e->trace = NULL;
	bf_fault_plan_destroy(e->faults);
	e->faults = NULL;
	if (e->aside)
		bf_coro_destroy(e->aside);
	e->aside = NULL;
}
