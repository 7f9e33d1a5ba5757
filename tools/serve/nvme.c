/* belfry serve nvme: the controller as a PCI device of a virtual machine, over vfio-user. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "models/nvme/nvme.h"
#include "tools/serve/serve.h"
#include "tools/workloads/choice.h"

/*
 * The vendor of QEMU's devices, as Identify Controller says, too, with a device number that nobody has: for QEMU's own
 * NVMe number Linux leaves out commands (drivers/nvme/host/pci.c, nvme_id_table).
 */
#define PCI_VENDOR 0x1b36u
#define PCI_DEVICE 0xbf10u

#define NAMESPACES_MAX 64u
#define BAR_REGISTERS 0u
#define BAR_CMB 2u

/* Nobody announces a store to a mapped doorbell, and a sleeping loop looks once a millisecond: sleep late. */
#define MMAP_SPIN_US 2000u

struct nvme {
	struct bf_nvme *dev;
	struct bf_nvme_profile profile;
	struct bf_nvme_ns_opts ns[NAMESPACES_MAX];
	uint32_t nns;
	struct bf_pci_window window;
	bool polled;
};

static const struct bf_nvme_profile *const profiles[] = { &bf_nvme_instant, &bf_nvme_970pro };

/* As many queues as were asked for, each with a vector, and one for the admin queue. */
static void choose_profile(const struct bf_serve *s, struct bf_nvme_profile *profile)
{
	const uint32_t queues = (uint32_t)bf_arg_u64(s->st.args, "queues");

	*profile = *profiles[bf_arg_u64(s->st.args, "profile")];
	if (bf_arg_given(s->st.args, "queues") || profile->max_io_queues > queues)
		profile->max_io_queues = queues;
	if (profile->vectors > profile->max_io_queues + 1)
		profile->vectors = profile->max_io_queues + 1;
}

/* The first namespaces lie in the files that were named, the others in memory. */
static int choose_namespaces(struct bf_serve *s, struct nvme *n)
{
	const uint32_t files = bf_arg_count(s->st.args, "media"),
		       asked = (uint32_t)bf_arg_u64(s->st.args, "namespaces");
	const bool sized = bf_arg_given(s->st.args, "capacity");

	n->nns = files > asked ? files : asked;
	if (n->nns > NAMESPACES_MAX)
		return bf_fail(&s->st.sim->error, -EINVAL, "%u namespaces: at most %u", n->nns, NAMESPACES_MAX);
	for (uint32_t i = 0; i < n->nns; i++) {
		const char *file = i < files ? bf_arg_nth(s->st.args, "media", i) : NULL;
		const bool whole = file && !sized && access(file, F_OK) == 0;

		n->ns[i] = (struct bf_nvme_ns_opts){
			.bytes = whole ? 0 : bf_arg_u64(s->st.args, "capacity"),
			.lba = bf_arg_u64(s->st.args, "lba") ? BF_NVME_LBA_4096 : BF_NVME_LBA_512,
			.file = file,
			.read_only = bf_arg_flag(s->st.args, "read-only"),
		};
	}
	return 0;
}

static void reset_nvme(void *dev)
{
	bf_nvme_reset(dev);
	bf_nvme_bus_master(dev, false);
}

static void nvme_bus_master(void *dev, bool on)
{
	bf_nvme_bus_master(dev, on);
}

static int build_nvme(struct bf_serve *s, struct nvme *n)
{
	static const struct bf_pci_ops ops = { .reset = reset_nvme, .bus_master = nvme_bus_master };
	struct bf_nvme_opts nvme = {
		.name = "ssd0",
		.profile = &n->profile,
		.space = &s->space,
		.ioas = &s->ioas,
		.ns = n->ns,
		.nns = n->nns,
		.cmb_bytes = bf_arg_u64(s->st.args, "cmb"),
		.serial = bf_arg_text(s->st.args, "serial"),
		.interrupt = bf_pci_interrupt,
		.direct = true,
		.live = s->st.live,
	};
	struct bf_pci_opts pci = {
		.vendor = PCI_VENDOR,
		.device = PCI_DEVICE,
		.subsystem_vendor = PCI_VENDOR,
		.subsystem = PCI_DEVICE,
		.class_code = 0x010802, /* mass storage, non-volatile memory, NVM Express */
		.link_speed = 3,
		.link_width = 4,
		.vectors = n->profile.vectors,
		.msix_bar = BAR_REGISTERS,
		.ops = &ops,
	};
	int rc = bf_pci_create(s->st.sim, nvme.name, &s->fn);

	nvme.interrupt_arg = s->fn;
	if (!rc)
		rc = bf_nvme_create(s->st.sim, &nvme, &n->dev);
	if (rc)
		return rc;
	pci.bar[BAR_REGISTERS] = bf_nvme_bar0(n->dev);
	pci.bar[BAR_CMB] = bf_nvme_cmb(n->dev);
	pci.dev = n->dev;
	return bf_pci_attach(s->fn, &pci);
}

/* The doorbell pages as memory that the client maps; the model looks at them on each turn of the loop. */
static int open_window(struct bf_serve *s, struct nvme *n)
{
	const uint64_t bytes = bf_nvme_bar0(n->dev)->size - BF_NVME_DOORBELLS;
	int rc = bf_pci_window_open(s->fn, BAR_REGISTERS, BF_NVME_DOORBELLS, bytes, &n->window);

	if (rc)
		return rc;
	s->window = &n->window;
	s->spin_us = MMAP_SPIN_US;
	bf_nvme_poll_bar(n->dev);
	n->polled = true;
	return bf_live_add_poller(s->st.live, bf_nvme_poll_bar, n->dev);
}

static int build(struct bf_serve *s)
{
	struct nvme *n = s->state;
	int rc = choose_namespaces(s, n);

	n->window.fd = -1;
	choose_profile(s, &n->profile);
	rc = rc ? rc : build_nvme(s, n);
	if (!rc && bf_arg_u64(s->st.args, "doorbells") == 1)
		rc = open_window(s, n);
	return rc;
}

static void power_cycle(struct bf_serve *s)
{
	const struct nvme *n = s->state;

	bf_nvme_power_cycle(n->dev);
}

static void tear_down(struct bf_serve *s)
{
	struct nvme *n = s->state;

	if (n->polled)
		bf_live_remove_poller(s->st.live, bf_nvme_poll_bar, n->dev);
	bf_nvme_destroy(n->dev);
	if (s->window)
		bf_pci_window_close(&n->window);
}

static void report(const struct bf_serve *s, struct bf_json *j)
{
	const struct nvme *n = s->state;

	bf_json_text(j, "profile", n->profile.name);
}

static const struct bf_serve_device nvme_device = {
	.name = "nvme",
	.size = sizeof(struct nvme),
	.build = build,
	.power_cycle = power_cycle,
	.tear_down = tear_down,
	.report = report,
};

static int run_serve(const struct bf_args *args)
{
	return bf_serve_run(args, &nvme_device);
}

static const struct bf_opt options[] = {
	BF_SERVE_OPTION_SOCKET,
	{ .name = "media",
	  .kind = BF_OPT_MULTI,
	  .arg = "FILE",
	  .help = "a namespace in FILE, created with --capacity if it does not exist" },
	{ .name = "capacity",
	  .kind = BF_OPT_U64,
	  .arg = "BYTES",
	  .initial = "64M",
	  .help = "size of each namespace",
	  .min = 4096,
	  .max = 1ull << 44 },
	{ .name = "lba", .kind = BF_OPT_ENUM, .arg = "512|4096", .initial = "512", .help = "bytes in a logical block" },
	{ .name = "namespaces",
	  .kind = BF_OPT_U64,
	  .arg = "N",
	  .initial = "1",
	  .help = "number of namespaces; those without a file are in memory",
	  .min = 1,
	  .max = NAMESPACES_MAX },
	{ .name = "read-only", .kind = BF_OPT_FLAG, .help = "namespaces are write-protected" },
	{ .name = "serial", .kind = BF_OPT_TEXT, .arg = "TEXT", .help = "serial number, up to 20 characters" },
	{ .name = "profile",
	  .kind = BF_OPT_ENUM,
	  .arg = "instant|970pro",
	  .initial = "instant",
	  .help = "device timing on the wall clock" },
	{ .name = "queues",
	  .kind = BF_OPT_U64,
	  .arg = "N",
	  .initial = "64",
	  .help = "I/O queue pairs, each with an interrupt",
	  .min = 1,
	  .max = 2047 },
	{ .name = "cmb",
	  .kind = BF_OPT_U64,
	  .arg = "BYTES",
	  .initial = "0",
	  .help = "controller memory buffer; 0: none",
	  .min = 0,
	  .max = 1ull << 30 },
	{ .name = "doorbells",
	  .kind = BF_OPT_ENUM,
	  .arg = "trap|mmap",
	  .initial = "trap",
	  .help = "each doorbell is a message, or memory that the guest maps and this program polls" },
	{ .name = "spin",
	  .kind = BF_OPT_TIME,
	  .arg = "TIME",
	  .initial = "200us",
	  .help = "look for work for this long before sleeping; waking up takes longer than a guest needs for its "
		  "next request (mmap: 2ms)" },
	BF_STATION_OPTIONS("dma-fault skip=100"),
	BF_SERVE_OPTION_ONCE,
	{ .name = NULL },
};

extern const struct bf_command bf_cmd_serve_nvme;
const struct bf_command bf_cmd_serve_nvme = {
	.name = "serve",
	.prefix = "nvme",
	.usage = "serve nvme --socket PATH [options]",
	.summary = "offer the NVMe controller to a virtual machine, over vfio-user",
	.details = "A client, such as QEMU 10.1 or later, sees our NVMe controller as a PCI device, and a stock "
		   "kernel in the guest binds its own driver. Prints \"listening on PATH\" when a client may "
		   "connect (with --json on standard error). Serves one client after another; between them the "
		   "device loses power. Ends on SIGTERM, SIGINT or SIGHUP, closes the trace and, with --stats, "
		   "prints the statistics.\n"
		   "\n"
		   "Time is the wall clock, so the default profile adds no time: the guest measures the path to "
		   "this program. Share the guest's memory (memory-backend-memfd,share=on); otherwise every DMA is "
		   "a message. With --doorbells mmap the guest maps doorbells: that keeps one core busy and makes "
		   "QEMU wait for every other register write.\n"
		   "\n"
		   "QEMU:\n"
		   "  qemu-system-x86_64 -M q35,memory-backend=m0 -m 512M -nodefaults -serial stdio -display none "
		   "\\\n"
		   "    -object memory-backend-memfd,id=m0,size=512M,share=on -kernel vmlinuz -initrd initrd \\\n"
		   "    -append console=ttyS0 -device pcie-root-port,id=rp0 -device "
		   "'{\"driver\":\"vfio-user-pci\",\n"
		   "    \"bus\":\"rp0\",\"socket\":{\"type\":\"unix\",\"path\":\"PATH\"}}'\n"
		   "\n"
		   "Exit code 0: ended by a signal or --once. 2: bad options, or the socket or a file cannot be "
		   "opened. 77: this\n"
		   "build has no live loop (libuv).\n"
		   "\n"
		   "Examples:\n"
		   "  belfry serve nvme --socket nvme.sock --media disk.img --capacity 1G\n"
		   "  belfry serve nvme --socket nvme.sock --once --stats --trace guest.bft --records queue,dma\n"
		   "  belfry serve nvme --socket nvme.sock --faults 'dma-fault skip=1000' --verbose",
	.words = "nvme",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run_serve,
};
