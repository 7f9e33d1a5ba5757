/*
 * belfry serve: a device model as a PCI device of a virtual machine, over vfio-user.
 *
 * Everything lives on one thread and one live loop: the model, the server, and the signals that end it.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "models/nvme/nvme.h"
#include "models/pci/vfio_user.h"
#include "sim/fault.h"
#include "tools/counts.h"
#include "tools/input.h"
#include "tools/top.h"
#include "tools/workload.h"

/*
 * The vendor of QEMU's devices, as Identify Controller says, too, with a device number that nobody has: for QEMU's own
 * NVMe number Linux leaves out commands (drivers/nvme/host/pci.c, nvme_id_table).
 */
#define PCI_VENDOR 0x1b36u
#define PCI_DEVICE 0xbf10u

#define NAMESPACES_MAX 64u
#define BAR_REGISTERS 0u
#define BAR_CMB 2u

/* Without a spin the loop sleeps as soon as it finds nothing to do; its least time to look for work is this. */
#define NO_SPIN_US 1u
/* Nobody announces a store to a mapped doorbell, and a sleeping loop looks once a millisecond: sleep late. */
#define MMAP_SPIN_US 2000u

struct serve {
	const struct bf_args *args;
	struct bf_sim *sim;
	struct bf_live *live;
	struct bf_space space;
	struct bf_ioas ioas;
	struct bf_pci *fn;
	struct bf_nvme *nvme;
	struct bf_pci_window window;
	struct bf_vfio_user *server;
	struct bf_fault_plan *plan;
	struct bf_trace_writer *trace;
	struct bf_error trace_err;
	struct bf_nvme_profile profile;
	struct bf_nvme_ns_opts ns[NAMESPACES_MAX];
	uint32_t nns;
	int signals;
};

/* Options -------------------------------------------------------------------------------------------------------- */

static const struct bf_nvme_profile *const profiles[] = { &bf_nvme_instant, &bf_nvme_970pro };

/* As many queues as were asked for, each with a vector, and one for the admin queue. */
static void choose_profile(struct serve *s)
{
	const uint32_t queues = (uint32_t)bf_arg_u64(s->args, "queues");

	s->profile = *profiles[bf_arg_u64(s->args, "profile")];
	if (bf_arg_given(s->args, "queues") || s->profile.max_io_queues > queues)
		s->profile.max_io_queues = queues;
	if (s->profile.vectors > s->profile.max_io_queues + 1)
		s->profile.vectors = s->profile.max_io_queues + 1;
}

/* The first namespaces lie in the files that were named, the others in memory. */
static int choose_namespaces(struct serve *s)
{
	const uint32_t files = bf_arg_count(s->args, "media"), asked = (uint32_t)bf_arg_u64(s->args, "namespaces");
	const bool sized = bf_arg_given(s->args, "capacity");

	s->nns = files > asked ? files : asked;
	if (s->nns > NAMESPACES_MAX)
		return bf_fail(&s->sim->error, -EINVAL, "%u namespaces; there may be %u", s->nns, NAMESPACES_MAX);
	for (uint32_t i = 0; i < s->nns; i++) {
		const char *file = i < files ? bf_arg_nth(s->args, "media", i) : NULL;
		const bool whole = file && !sized && access(file, F_OK) == 0;

		s->ns[i] = (struct bf_nvme_ns_opts){
			.bytes = whole ? 0 : bf_arg_u64(s->args, "capacity"),
			.lba = bf_arg_u64(s->args, "lba") ? BF_NVME_LBA_4096 : BF_NVME_LBA_512,
			.file = file,
			.read_only = bf_arg_flag(s->args, "read-only"),
		};
	}
	return 0;
}

/* Building the machine ------------------------------------------------------------------------------------------- */

static int open_trace(struct serve *s)
{
	const char *path = bf_arg_text(s->args, "trace");
	uint32_t mask;
	int rc;

	if (!path)
		return 0;
	rc = bf_records_parse(bf_arg_text(s->args, "records"), &mask, &s->sim->error);
	if (!rc) {
		const struct bf_trace_options opts = { .jsonl = bf_input_is_jsonl(path) };

		rc = bf_trace_create(path, NULL, &opts, &s->trace, &s->trace_err);
		if (rc)
			return bf_fail(&s->sim->error, rc, "%s", s->trace_err.text);
		bf_trace_meta(s->trace, "command", "belfry serve nvme");
		rc = bf_stream_open(&s->sim->rec, &s->sim->now_ps, mask, bf_trace_sink(s->trace));
	}
	return rc;
}

static int parse_plan(struct serve *s)
{
	const char *option = bf_arg_text(s->args, "faults");
	char *text;
	int rc;

	if (!option)
		return 0;
	rc = bf_faults_text(option, &text, &s->sim->error);
	if (rc)
		return rc;
	rc = bf_fault_plan_parse(text, s->sim->seed, &s->sim->error, &s->plan);
	free(text);
	s->sim->faults = s->plan;
	return rc;
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

static int build_nvme(struct serve *s)
{
	static const struct bf_pci_ops ops = { .reset = reset_nvme, .bus_master = nvme_bus_master };
	struct bf_nvme_opts nvme = {
		.name = "ssd0",
		.profile = &s->profile,
		.space = &s->space,
		.ioas = &s->ioas,
		.ns = s->ns,
		.nns = s->nns,
		.cmb_bytes = bf_arg_u64(s->args, "cmb"),
		.serial = bf_arg_text(s->args, "serial"),
		.interrupt = bf_pci_interrupt,
		.direct = true,
		.live = s->live,
	};
	struct bf_pci_opts pci = {
		.vendor = PCI_VENDOR,
		.device = PCI_DEVICE,
		.subsystem_vendor = PCI_VENDOR,
		.subsystem = PCI_DEVICE,
		.class_code = 0x010802, /* mass storage, non-volatile memory, NVM Express */
		.link_speed = 3,
		.link_width = 4,
		.vectors = s->profile.vectors,
		.msix_bar = BAR_REGISTERS,
		.ops = &ops,
	};
	int rc = bf_pci_create(s->sim, nvme.name, &s->fn);

	nvme.interrupt_arg = s->fn;
	if (!rc)
		rc = bf_nvme_create(s->sim, &nvme, &s->nvme);
	if (rc)
		return rc;
	pci.bar[BAR_REGISTERS] = bf_nvme_bar0(s->nvme);
	pci.bar[BAR_CMB] = bf_nvme_cmb(s->nvme);
	pci.dev = s->nvme;
	return bf_pci_attach(s->fn, &pci);
}

static bool doorbells_are_mapped(const struct serve *s)
{
	return bf_arg_u64(s->args, "doorbells") == 1;
}

/* The doorbell pages as memory that the client maps; the model looks at them on each turn of the loop. */
static int open_window(struct serve *s)
{
	const uint64_t bytes = bf_nvme_bar0(s->nvme)->size - BF_NVME_DOORBELLS;
	int rc = bf_pci_window_open(s->fn, BAR_REGISTERS, BF_NVME_DOORBELLS, bytes, &s->window);

	if (rc)
		return rc;
	bf_nvme_poll_bar(s->nvme);
	return bf_live_add_poller(s->live, bf_nvme_poll_bar, s->nvme);
}

static void log_line(void *arg, const char *text)
{
	struct serve *s = arg;

	if (bf_arg_flag(s->args, "verbose"))
		fprintf(stderr, "belfry serve: %s\n", text);
}

/* A machine that goes takes the power with it: the next client finds a controller that has just been switched on. */
static void client_ended(void *arg)
{
	struct serve *s = arg;

	bf_nvme_power_cycle(s->nvme);
	bf_pci_reset(s->fn, BF_PCI_RESET_CONVENTIONAL);
	if (bf_arg_flag(s->args, "once"))
		bf_live_stop(s->live);
}

static int open_server(struct serve *s)
{
	const struct bf_vfio_user_opts opts = {
		.fn = s->fn,
		.ioas = &s->ioas,
		.live = s->live,
		.window = doorbells_are_mapped(s) ? &s->window : NULL,
		.log = log_line,
		.ended = client_ended,
		.arg = s,
	};
	int rc = bf_vfio_user_create(s->sim, &opts, &s->server);

	return rc ? rc : bf_vfio_user_listen(s->server, bf_arg_text(s->args, "socket"));
}

/* Running -------------------------------------------------------------------------------------------------------- */

static void on_signal(void *arg, int fd)
{
	struct serve *s = arg;
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		bf_live_stop(s->live);
}

/* Before anything starts a thread: threads inherit the mask, and only the loop is to hear of these signals. */
static int catch_signals(struct serve *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return bf_fail(&s->sim->error, -errno, "signals: %s", strerror(errno));
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signals < 0)
		return bf_fail(&s->sim->error, -errno, "signals: %s", strerror(errno));
	return bf_live_add_fd(s->live, s->signals, on_signal, s);
}

static int build(struct serve *s)
{
	int rc = open_trace(s);

	rc = rc ? rc : parse_plan(s);
	rc = rc ? rc : choose_namespaces(s);
	rc = rc ? rc : bf_live_create(s->sim, &s->live);
	rc = rc ? rc : catch_signals(s);
	rc = rc ? rc : bf_space_init(&s->space, s->sim, "device", 0);
	rc = rc ? rc : bf_ioas_init(&s->ioas, s->sim, "guest", BF_PAGE);
	choose_profile(s);
	rc = rc ? rc : build_nvme(s);
	if (!rc && doorbells_are_mapped(s))
		rc = open_window(s);
	return rc ? rc : open_server(s);
}

/*
 * Do not take the processor from the guest that has just rung: it goes on to submit, and what it submits is taken in one
 * go. With as many processors as threads nothing changes; with fewer, deep queues gain a quarter. Not having it is no
 * error.
 */
static void be_patient(void)
{
	const struct sched_param param = { 0 };

	(void)sched_setscheduler(0, SCHED_BATCH, &param);
}

static uint32_t spin_us(const struct serve *s)
{
	const uint64_t asked = bf_arg_u64(s->args, "spin") / BF_US;

	if (doorbells_are_mapped(s) && !bf_arg_given(s->args, "spin"))
		return MMAP_SPIN_US;
	return asked ? (uint32_t)asked : NO_SPIN_US;
}

static void tear_down(struct serve *s)
{
	bf_vfio_user_destroy(s->server);
	if (s->live && s->nvme)
		bf_live_remove_poller(s->live, bf_nvme_poll_bar, s->nvme);
	bf_nvme_destroy(s->nvme);
	bf_pci_destroy(s->fn);
	bf_pci_window_close(&s->window);
	bf_ioas_fini(&s->ioas);
	bf_space_fini(&s->space);
	bf_live_destroy(s->live);
	if (s->signals >= 0)
		close(s->signals);
}

static void report(struct serve *s, const struct bf_counts *counts)
{
	const bool stats = bf_arg_flag(s->args, "stats");
	struct bf_json j;

	if (!counts)
		return;
	if (!bf_arg_json(s->args)) {
		bf_counts_print_faults(stdout, counts);
		if (stats)
			bf_counts_print_stats(stdout, counts);
		return;
	}
	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_text(&j, "device", "nvme");
	bf_json_text(&j, "socket", bf_arg_text(s->args, "socket"));
	bf_json_text(&j, "profile", s->profile.name);
	bf_counts_json_faults(&j, counts);
	bf_counts_json_stats(&j, counts);
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

/* Whoever starts us waits for this line; with --json standard output is one document at the end. */
static void say_ready(const struct serve *s)
{
	FILE *out = bf_arg_json(s->args) ? stderr : stdout;

	fprintf(out, "listening on %s\n", bf_arg_text(s->args, "socket"));
	fflush(out);
}

static int serve(struct serve *s)
{
	struct bf_counts *counts = NULL;
	int rc = build(s), trace_rc = 0;

	if (!rc) {
		struct bf_top *top;

		be_patient();
		say_ready(s);
		top = bf_arg_flag(s->args, "top") ? bf_top_start(s->sim, "belfry serve nvme") : NULL;
		rc = bf_live_run(s->live, spin_us(s));
		bf_top_stop(top);
	}
	tear_down(s);
	if (!rc)
		counts = bf_counts_take(s->sim); /* with what the devices left */
	if (s->trace) {
		bf_stream_close(&s->sim->rec);
		trace_rc = bf_trace_close(s->trace);
	}
	if (!rc && !trace_rc)
		report(s, counts);
	bf_counts_free(counts);
	if (trace_rc)
		return bf_cli_error(s->args, BF_EXIT_USAGE, "%s", s->trace_err.text);
	if (rc)
		return bf_cli_error(s->args, rc == -ENOTSUP ? BF_EXIT_UNAVAILABLE : BF_EXIT_USAGE, "%s",
				    s->sim->error.text);
	return BF_EXIT_GOOD;
}

static int run_serve(const struct bf_args *args)
{
	struct serve *s;
	int code;

	if (strcmp(bf_arg_positional(args, 0), "nvme"))
		return bf_cli_error(args, BF_EXIT_USAGE, "there is no device \"%s\" to serve; there is: nvme",
				    bf_arg_positional(args, 0));
	if (!bf_arg_text(args, "socket"))
		return bf_cli_error(args, BF_EXIT_USAGE, "--socket PATH is needed");
	s = calloc(1, sizeof(*s));
	if (!s || bf_sim_create(1, &s->sim)) {
		free(s);
		return bf_cli_error(args, BF_EXIT_USAGE, "out of memory");
	}
	s->args = args;
	s->signals = s->window.fd = -1;
	code = serve(s);
	s->sim->faults = NULL;
	bf_fault_plan_destroy(s->plan);
	bf_sim_destroy(s->sim);
	free(s);
	return code;
}

static const struct bf_opt options[] = {
	{ .name = "socket",
	  .kind = BF_OPT_TEXT,
	  .arg = "PATH",
	  .help = "where to listen; a dead server's socket is replaced" },
	{ .name = "media",
	  .kind = BF_OPT_MULTI,
	  .arg = "FILE",
	  .help = "a namespace in FILE, made with --capacity when it is not there; may be repeated" },
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
	  .help = "how many; those without a file lie in memory",
	  .min = 1,
	  .max = NAMESPACES_MAX },
	{ .name = "read-only", .kind = BF_OPT_FLAG, .help = "namespaces are write-protected" },
	{ .name = "serial", .kind = BF_OPT_TEXT, .arg = "TEXT", .help = "serial number, up to 20 characters" },
	{ .name = "profile",
	  .kind = BF_OPT_ENUM,
	  .arg = "instant|970pro",
	  .initial = "instant",
	  .help = "device timing, on the wall clock" },
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
	  .help = "each a message, or memory that the guest maps and we poll" },
	{ .name = "spin",
	  .kind = BF_OPT_TIME,
	  .arg = "TIME",
	  .initial = "200us",
	  .help = "look for work so long before sleeping: waking up costs more than a guest's next request "
		  "(mmap: 2ms)" },
	{ .name = "faults", .kind = BF_OPT_TEXT, .arg = "PLAN|@FILE", .help = "fault plan, e.g. 'dma-fault skip=100'" },
	{ .name = "trace", .kind = BF_OPT_TEXT, .arg = "FILE", .help = "write a trace; *.jsonl: as JSON Lines" },
	{ .name = "records",
	  .kind = BF_OPT_TEXT,
	  .arg = "CLASS[,CLASS]",
	  .initial = "all",
	  .help = "what to trace: meta, agent, mem, mmio, dma, queue, net, fault, driver, all, none" },
	{ .name = "stats", .kind = BF_OPT_FLAG, .help = "print at the end what the device and the server counted" },
	{ .name = "top", .kind = BF_OPT_FLAG, .help = "show on standard error what the device does, as it goes on" },
	{ .name = "once", .kind = BF_OPT_FLAG, .help = "end when the first client has gone" },
	{ .name = "verbose", .kind = BF_OPT_FLAG, .help = "say on standard error who comes and what is refused" },
	{ .name = NULL },
};

const struct bf_command bf_cmd_serve = {
	.name = "serve",
	.usage = "serve nvme --socket PATH [options]",
	.summary = "show a device model to a virtual machine, over vfio-user",
	.details =
	    "A client, such as QEMU from version 10.1 on, sees our NVMe controller as a PCI device, and a stock "
	    "kernel\n"
	    "in it binds its own driver. Prints \"listening on PATH\" when a client may come (with --json on standard\n"
	    "error), serves one client after another, with the power of the device off between them, and ends on SIGTERM,\n"
	    "SIGINT or SIGHUP with the trace closed and, with --stats, the statistics printed.\n"
	    "\n"
	    "The clock is the wall's, so that the default profile takes no time of its own: what the guest measures "
	    "is\n"
	    "the path to us. Guest memory is best shared (memory-backend-memfd,share=on); without that every DMA is a\n"
	    "message. A guest that maps doorbells (--doorbells mmap) costs us a busy core and makes QEMU wait for "
	    "each\n"
	    "other register write.\n"
	    "\n"
	    "QEMU:\n"
	    "  qemu-system-x86_64 -M q35,memory-backend=m0 -m 512M -nodefaults -serial stdio -display none \\\n"
	    "    -object memory-backend-memfd,id=m0,size=512M,share=on -kernel vmlinuz -initrd initrd \\\n"
	    "    -append console=ttyS0 -device pcie-root-port,id=rp0 -device '{\"driver\":\"vfio-user-pci\",\n"
	    "    \"bus\":\"rp0\",\"socket\":{\"type\":\"unix\",\"path\":\"PATH\"}}'\n"
	    "\n"
	    "Exit code 0: ended by a signal or --once. 2: bad options, or the socket or a file cannot be had. 77: "
	    "this\n"
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
