/* belfry serve mlx5: our ConnectX model, for the stock kernel's mlx5_core and mlx5_ib. */
#include <errno.h>
#include <string.h>

#include "models/fabric/outside.h"
#include "models/mlx5/hca.h"
#include "tools/exec/identity.h"
#include "tools/serve/serve.h"
#include "tools/workloads/choice.h"

#define VECTORS 64u
#define QPN_RESERVE 64u /* the first numbers of a process's share mean something else */
#define LOG_QPS 13u     /* what is left of it, but for DC targets */
#define FRAMES 256u     /* taken from outside in one turn */

struct mlx5 {
	struct bf_fabric *fabric;
	struct bf_outside *outside;
	struct bf_mlx5_hca *hca;
	bool polled;
};

/* Frames of other processes and machines; what the device has sent leaves. */
static int poll_outside(void *arg)
{
	struct mlx5 *m = arg;
	const uint32_t frames = bf_outside_poll(m->outside, FRAMES);

	bf_outside_flush(m->outside);
	return frames != 0;
}

static int open_network(struct bf_serve *s, struct mlx5 *m, uint32_t udp_ipv4, uint16_t udp_port)
{
	const struct bf_outside_opts opts = {
		.network = bf_arg_text(s->st.args, "net"),
		.udp_ipv4 = udp_ipv4,
		.udp_port = udp_port,
	};
	int rc = bf_fabric_create(s->st.sim, &m->fabric);

	rc = rc ? rc : bf_outside_open(s->st.sim, m->fabric, &opts, &m->outside);
	rc = rc ? rc : bf_live_add_poller(s->st.live, poll_outside, m);
	m->polled = !rc;
	return rc;
}

static void reset(void *dev)
{
	bf_mlx5_hca_reset(dev);
	bf_mlx5_hca_bus_master(dev, false);
}

static void bus_master(void *dev, bool on)
{
	bf_mlx5_hca_bus_master(dev, on);
}

static int open_device(struct bf_serve *s, struct mlx5 *m, uint32_t ipv4)
{
	static const struct bf_pci_ops ops = { .reset = reset, .bus_master = bus_master };
	struct bf_mlx5_profile profile = bf_mlx5_instant;
	struct bf_mlx5_opts nic = {
		.name = "mlx5_0",
		.profile = &profile,
		.space = &s->space,
		.ioas = &s->ioas,
		.fabric = m->fabric,
		.ipv4 = { ipv4 },
		.irq = bf_pci_interrupt,
		.first_qpn = bf_outside_slot(m->outside) * BF_OUTSIDE_QPNS + QPN_RESERVE,
		.qpns = BF_OUTSIDE_QPNS - QPN_RESERVE,
	};
	struct bf_pci_opts pci = {
		.vendor = BF_MLX5_PCI_VENDOR,
		.device = BF_MLX5_PCI_DEVICE,
		.subsystem_vendor = BF_MLX5_PCI_VENDOR,
		.subsystem = BF_MLX5_PCI_DEVICE,
		.class_code = BF_MLX5_PCI_CLASS,
		.link_speed = 5,
		.link_width = 16,
		.vectors = VECTORS,
		.ops = &ops,
	};
	int rc = bf_pci_create(s->st.sim, nic.name, &s->fn);

	profile.log_max_qp = LOG_QPS;
	profile.icrc = bf_arg_given(s->st.args, "udp"); /* nobody looks at it in shared memory */
	nic.irq_owner = s->fn;
	rc = rc ? rc : bf_mlx5_hca_create(s->st.sim, &nic, &m->hca);
	if (rc)
		return rc;
	pci.bar[0] = bf_mlx5_hca_bar0(m->hca);
	pci.dev = m->hca;
	return bf_pci_attach(s->fn, &pci);
}

/* The lower half is the LID: 0 is none, and those from 0xc000 on are of groups (IBA vol. 1 section 4.1.3). */
static int check_address(struct bf_serve *s, uint32_t ipv4, const char *text)
{
	if ((ipv4 & 0xffff) && (ipv4 & 0xffff) < 0xc000)
		return 0;
	return bf_fail(&s->st.sim->error, -EINVAL,
		       "address %s: its lower half is to be a LID, so it must be from x.x.0.1 to x.x.191.255", text);
}

static int build(struct bf_serve *s)
{
	const char *udp = bf_arg_text(s->st.args, "udp"), *text = udp ? udp : bf_arg_text(s->st.args, "address");
	struct mlx5 *m = s->state;
	uint32_t ipv4;
	uint16_t port = 0;
	int rc;

	if (bf_exec_parse_udp(text, &ipv4, &port) || (!udp && port))
		return bf_fail(&s->st.sim->error, -EINVAL, "%s: no IPv4 address such as 10.0.0.1", text);
	rc = check_address(s, ipv4, text);
	rc = rc ? rc : open_network(s, m, udp ? ipv4 : 0, port);
	return rc ? rc : open_device(s, m, ipv4);
}

static void power_cycle(struct bf_serve *s)
{
	const struct mlx5 *m = s->state;

	bf_mlx5_hca_reset(m->hca);
}

static void tear_down(struct bf_serve *s)
{
	struct mlx5 *m = s->state;

	bf_mlx5_hca_destroy(m->hca);
	if (m->polled)
		bf_live_remove_poller(s->st.live, poll_outside, m);
	bf_outside_close(m->outside);
	bf_fabric_destroy(m->fabric);
}

static const struct bf_serve_device device = {
	.name = "mlx5",
	.size = sizeof(struct mlx5),
	.build = build,
	.power_cycle = power_cycle,
	.tear_down = tear_down,
};

static int run_serve(const struct bf_args *args)
{
	return bf_serve_run(args, &device);
}

static const struct bf_opt options[] = {
	BF_SERVE_OPTION_SOCKET,
	{ .name = "address",
	  .kind = BF_OPT_TEXT,
	  .arg = "A.B.C.D",
	  .initial = "198.51.100.1",
	  .help = "address of the port; its lower half is the LID" },
	{ .name = "net",
	  .kind = BF_OPT_TEXT,
	  .arg = "NAME",
	  .help = "name of the network: processes on this machine with the same name reach each other, also under "
		  "belfry exec; without: one for all" },
	{ .name = "udp",
	  .kind = BF_OPT_TEXT,
	  .arg = "ADDRESS[:PORT]",
	  .help = "reach other machines by RoCEv2 over UDP (port 4791) from this address of this machine, which "
		  "becomes the port's" },
	BF_STATION_OPTION_SPIN,
	BF_STATION_OPTIONS("drop prob=0.01"),
	BF_SERVE_OPTION_ONCE,
	{ .name = NULL },
};

const struct bf_command bf_cmd_serve_mlx5 = {
	.name = "serve",
	.usage = "serve mlx5 --socket PATH [options]",
	.summary = "offer the ConnectX model to a virtual machine, over vfio-user",
	.details = "A client, such as QEMU from version 10.1 on, sees a ConnectX-7 with an InfiniBand port as a PCI "
		   "device. The stock kernel's mlx5_core and mlx5_ib bind to it, and programs in the guest use it "
		   "through libibverbs and libmlx5. Prints \"listening on PATH\" when a client may connect. Serves "
		   "one client after another; between them the device loses power. Ends on SIGTERM, SIGINT or "
		   "SIGHUP.\n"
		   "\n"
		   "The port reaches other servers and programs under belfry exec on the same --net and, with "
		   "--udp, any RoCEv2 peer (Linux's soft-RoCE, belfry exec --udp). The kernel sees it as "
		   "InfiniBand, so it needs no network interface; on the wire are RoCEv2 frames. LIDs name "
		   "peers in the same /16.\n"
		   "\n"
		   "For speed, share the guest's memory (memory-backend-memfd,share=on). QEMU's options are those "
		   "of every belfry serve; belfry lab run --image mlx5 --vfio-user PATH boots a guest with the "
		   "drivers.\n"
		   "\n"
		   "Exit code 0: ended by a signal or --once. 2: bad options, or the socket cannot be opened. 77: "
		   "this build has\n"
		   "no live loop (libuv).\n"
		   "\n"
		   "Examples:\n"
		   "  belfry serve mlx5 --socket mlx5.sock --stats --trace guest.bft --records queue\n"
		   "  belfry serve mlx5 --socket a.sock --address 198.51.100.7 --net lab\n"
		   "  belfry lab run --image mlx5 --vfio-user mlx5.sock -- ibv_devinfo",
	.words = "mlx5",
	.options = options,
	.prefix = "mlx5",
	.min_args = 1,
	.max_args = 1,
	.run = run_serve,
};
