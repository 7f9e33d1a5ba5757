/*
 * belfry switch: an Ethernet switch between virtual machines, a UNIX datagram socket a machine. RoCEv2 frames cross the
 * fabric model, where the fault plan has its say and records are made; all others go straight on, so that what programs
 * have to tell each other is not lost.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "models/fabric/fabric.h"
#include "sim/bytes.h"
#include "sim/stats.h"
#include "tools/serve/station.h"
#include "tools/workloads/choice.h"

#define PORTS_MAX 16u
#define STATIONS_MAX 256u     /* MACs, and addresses, that are known */
#define FRAME_MAX 65600u      /* what QEMU may send */
#define HELD_MAX 4096u        /* frames for a machine that does not take them */
#define AGAIN_PS (50 * BF_US) /* when it is asked again */
#define ETH_LEN 14u
#define IP_LEN 20u
#define ROCE_PORT 4791u

struct held {
	struct held *next;
	uint32_t len;
	uint8_t bytes[];
};

struct plug {
	struct sw *sw;
	struct sockaddr_un here, there;
	int fd;
	struct held *held, **held_tail;
	uint32_t nheld;
	struct bf_event again;
};

/* Who sends from where: a port of the fabric for an IPv4 address. */
struct address {
	struct plug *plug;
	struct bf_port *port;
	char name[16];
};

struct mac {
	uint8_t mac[6];
	struct plug *plug;
};

struct sw {
	struct bf_station st;
	struct bf_fabric *fabric;
	struct plug plug[PORTS_MAX];
	struct address address[STATIONS_MAX];
	struct mac mac[STATIONS_MAX];
	uint32_t plugs, addresses, macs;
	struct {
		uint64_t frames, roce, flooded, lost;
	} count;
	uint8_t frame[FRAME_MAX];
};

/* Out ------------------------------------------------------------------------------------------------------------ */

static bool give(struct plug *p, const uint8_t *frame, uint32_t len)
{
	const ssize_t n = sendto(p->fd, frame, len, MSG_DONTWAIT, (const struct sockaddr *)&p->there, sizeof(p->there));

	if (n < 0 && (errno == EAGAIN || errno == ENOBUFS))
		return false;
	p->sw->count.lost += n < 0; /* there is no machine, or it does not take such frames */
	return true;
}

static void hold(struct plug *p, const uint8_t *frame, uint32_t len)
{
	struct held *h = p->nheld < HELD_MAX ? malloc(sizeof(*h) + len) : NULL;

	if (!h) {
		p->sw->count.lost++;
		return;
	}
	h->next = NULL;
	h->len = len;
	memcpy(h->bytes, frame, len);
	*p->held_tail = h;
	p->held_tail = &h->next;
	p->nheld++;
	if (!bf_event_pending(&p->again))
		bf_sim_after(p->sw->st.sim, &p->again, AGAIN_PS);
}

static void let_go(struct plug *p)
{
	struct held *h = p->held;

	p->held = h->next;
	if (!p->held)
		p->held_tail = &p->held;
	p->nheld--;
	free(h);
}

static void on_again(struct bf_event *ev)
{
	struct plug *p = BF_CONTAINER_OF(ev, struct plug, again);

	while (p->held && give(p, p->held->bytes, p->held->len))
		let_go(p);
	if (p->held)
		bf_sim_after(p->sw->st.sim, &p->again, AGAIN_PS);
}

static void put(struct plug *p, const uint8_t *frame, uint32_t len)
{
	if (p->held || !give(p, frame, len))
		hold(p, frame, len);
}

/* Straight on: to whom the address is known to be, or to all others. */
static void forward(struct sw *sw, const struct plug *from, const uint8_t *frame, uint32_t len)
{
	for (uint32_t i = 0; i < sw->macs; i++) {
		if (memcmp(sw->mac[i].mac, frame, 6))
			continue;
		if (sw->mac[i].plug != from)
			put(sw->mac[i].plug, frame, len);
		return;
	}
	sw->count.flooded++;
	for (uint32_t i = 0; i < sw->plugs; i++)
		if (&sw->plug[i] != from)
			put(&sw->plug[i], frame, len);
}

/* Behind the fabric. */
static void arrive(void *owner, struct bf_packet *pkt)
{
	const struct address *a = owner;

	put(a->plug, pkt->data, pkt->len);
	bf_packet_free(pkt);
}

/* In ------------------------------------------------------------------------------------------------------------- */

static void learn(struct sw *sw, struct plug *from, const uint8_t mac[6])
{
	if (mac[0] & 1)
		return; /* of a group: nobody's */
	for (uint32_t i = 0; i < sw->macs; i++) {
		if (!memcmp(sw->mac[i].mac, mac, 6)) {
			sw->mac[i].plug = from;
			return;
		}
	}
	if (sw->macs == STATIONS_MAX)
		return; /* then it is flooded */
	memcpy(sw->mac[sw->macs].mac, mac, 6);
	sw->mac[sw->macs++].plug = from;
}

/* IPv4 without options, in one piece, UDP to RoCEv2's port (annex A17). */
static bool is_roce(const uint8_t *frame, uint32_t len)
{
	const uint8_t *ip = frame + ETH_LEN;

	return len >= ETH_LEN + IP_LEN + 8 && len <= BF_PACKET_MAX && bf_get_be16(frame + 12) == 0x0800 &&
	       ip[0] == 0x45 && !(bf_get_be16(ip + 6) & 0x3fff) && ip[9] == IPPROTO_UDP &&
	       bf_get_be16(ip + IP_LEN + 2) == ROCE_PORT;
}

/* The port of an address; made when it sends for the first time. NULL: it has none and can have none. */
static struct bf_port *port_of(struct sw *sw, struct plug *from, uint32_t ipv4)
{
	struct address *a = &sw->address[sw->addresses];
	struct bf_port_opts opts = { .name = a->name, .ipv4 = ipv4, .rx = arrive, .owner = a };

	for (uint32_t i = 0; i < sw->addresses; i++) {
		struct bf_port_info info;

		bf_port_info(sw->address[i].port, &info);
		if (info.ipv4 == ipv4) {
			sw->address[i].plug = from; /* where it is now */
			return sw->address[i].port;
		}
	}
	if (sw->addresses == STATIONS_MAX)
		return NULL;
	snprintf(a->name, sizeof(a->name), "%u.%u.%u.%u", ipv4 >> 24, ipv4 >> 16 & 255, ipv4 >> 8 & 255, ipv4 & 255);
	a->plug = from;
	if (bf_fabric_attach(sw->fabric, &opts, &a->port))
		return NULL;
	sw->addresses++;
	if (bf_arg_flag(sw->st.args, "verbose"))
		fprintf(stderr, "belfry switch: %s is at %s\n", a->name, from->here.sun_path);
	return a->port;
}

/* False: the fabric does not know whom it is for, and it goes straight on. */
static bool cross(struct sw *sw, struct plug *from, const uint8_t *frame, uint32_t len)
{
	struct bf_port *port = port_of(sw, from, bf_get_be32(frame + ETH_LEN + 12));
	struct bf_packet *pkt;

	if (!port || !bf_fabric_find(sw->fabric, bf_get_be32(frame + ETH_LEN + 16)))
		return false;
	pkt = bf_packet_alloc(sw->fabric);
	if (!pkt)
		return false;
	memcpy(pkt->data, frame, len);
	pkt->len = len;
	sw->count.roce++;
	bf_port_send(port, pkt);
	return true;
}

static void on_frame(void *arg, int fd)
{
	struct plug *from = arg;
	struct sw *sw = from->sw;
	ssize_t n;

	while ((n = recv(fd, sw->frame, sizeof(sw->frame), MSG_DONTWAIT)) >= 0) {
		const uint32_t len = (uint32_t)n;

		if (len < ETH_LEN)
			continue;
		sw->count.frames++;
		learn(sw, from, sw->frame + 6);
		if (!is_roce(sw->frame, len) || !cross(sw, from, sw->frame, len))
			forward(sw, from, sw->frame, len);
	}
}

/* The command ---------------------------------------------------------------------------------------------------- */

/* A switch that was killed leaves its sockets. */
static bool remove_dead(const struct sockaddr_un *at)
{
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct stat st;
	bool dead;

	dead = fd >= 0 && !lstat(at->sun_path, &st) && S_ISSOCK(st.st_mode) &&
	       connect(fd, (const struct sockaddr *)at, sizeof(*at)) && errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	return dead && !unlink(at->sun_path);
}

static bool bound(struct plug *p)
{
	const struct sockaddr *at = (const struct sockaddr *)&p->here;

	if (!bind(p->fd, at, sizeof(p->here)))
		return true;
	return errno == EADDRINUSE && remove_dead(&p->here) && !bind(p->fd, at, sizeof(p->here));
}

static int open_plug(struct sw *sw, struct plug *p, const char *path)
{
	struct bf_error *err = &sw->st.sim->error;
	int rc;

	p->sw = sw;
	p->held_tail = &p->held;
	bf_event_init(&p->again, on_again);
	p->here.sun_family = p->there.sun_family = AF_UNIX;
	if (!*path || strlen(path) + 4 > sizeof(p->here.sun_path))
		return bf_fail(err, -ENAMETOOLONG, "'%s' is not a socket path of 1 to %zu bytes", path,
			       sizeof(p->here.sun_path) - 4);
	memcpy(p->here.sun_path, path, strlen(path) + 1);
	snprintf(p->there.sun_path, sizeof(p->there.sun_path), "%s.vm", path);
	p->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (p->fd < 0)
		return bf_fail(err, -errno, "socket: %s", strerror(errno));
	sw->plugs++;
	if (!bound(p)) {
		rc = bf_fail(err, -errno, "%s: %s", path, strerror(errno));
		p->here.sun_path[0] = '\0'; /* somebody else's */
		return rc;
	}
	return bf_live_add_fd(sw->st.live, p->fd, on_frame, p);
}

static int attach_stats(struct sw *sw)
{
	const struct {
		const char *name;
		const uint64_t *field;
	} stats[] = {
		{ "frames", &sw->count.frames },
		{ "roce", &sw->count.roce },
		{ "flooded", &sw->count.flooded },
		{ "lost", &sw->count.lost },
	};

	for (uint32_t i = 0; i < BF_ARRAY_LEN(stats); i++)
		if (bf_stats_attach_part(sw->st.sim, sw, "switch", stats[i].name, "", stats[i].field))
			return -ENOMEM;
	return 0;
}

static int build(struct sw *sw)
{
	const uint32_t ports = bf_arg_count(sw->st.args, "port");
	int rc = bf_station_open(&sw->st);

	rc = rc ? rc : attach_stats(sw);
	rc = rc ? rc : bf_fabric_create(sw->st.sim, &sw->fabric);
	if (!rc && (ports < 2 || ports > PORTS_MAX))
		rc = bf_fail(&sw->st.sim->error, -EINVAL, "--port PATH is needed for each machine, 2 to %u times",
			     PORTS_MAX);
	for (uint32_t i = 0; i < ports && !rc; i++)
		rc = open_plug(sw, &sw->plug[i], bf_arg_nth(sw->st.args, "port", i));
	return rc;
}

static void tear_down(struct sw *sw)
{
	for (uint32_t i = 0; i < sw->plugs; i++) {
		struct plug *p = &sw->plug[i];

		bf_live_remove_fd(sw->st.live, p->fd);
		bf_sim_cancel(sw->st.sim, &p->again);
		while (p->held)
			let_go(p);
		close(p->fd);
		if (p->here.sun_path[0])
			unlink(p->here.sun_path);
	}
	bf_fabric_destroy(sw->fabric);
	bf_stats_detach(sw->st.sim, sw);
}

static void report(const void *arg, struct bf_json *j)
{
	const struct sw *sw = arg;

	bf_json_u64(j, "ports", sw->plugs);
}

static int run_switch(const struct bf_args *args)
{
	struct sw *sw = calloc(1, sizeof(*sw));
	int rc, code;

	if (!sw || bf_sim_create(bf_arg_u64(args, "seed"), &sw->st.sim)) {
		free(sw);
		return bf_cli_error(args, BF_EXIT_USAGE, "out of memory");
	}
	sw->st.args = args;
	sw->st.command = "belfry switch";
	rc = build(sw);
	if (!rc)
		rc = bf_station_run(&sw->st, "switching", 0);
	tear_down(sw);
	code = bf_station_close(&sw->st, rc, report, sw);
	free(sw);
	return code;
}

static const struct bf_opt options[] = {
	{ .name = "port",
	  .kind = BF_OPT_MULTI,
	  .arg = "PATH",
	  .help = "cable of a machine: a UNIX datagram socket of this program; the machine's socket is PATH.vm" },
	{ .name = "seed", .kind = BF_OPT_U64, .arg = "N", .initial = "1", .help = "seed of the fault plan" },
	BF_STATION_OPTION_SPIN,
	BF_STATION_OPTIONS("drop prob=0.01"),
	{ .name = NULL },
};

const struct bf_command bf_cmd_switch = {
	.name = "switch",
	.usage = "switch --port PATH --port PATH... [options]",
	.summary = "connect virtual machines by an Ethernet switch that loses RDMA packets by plan",
	.details = "RoCEv2 frames over IPv4 pass through our fabric model: the fault plan drops, repeats, delays, "
		   "reorders and corrupts them, and a trace has all of them. Actors are named by address "
		   "(on=10.0.0.1 is what that machine sends); queues are the destination queue pairs. Everything "
		   "else, such as the TCP with which programs meet, is forwarded directly. Prints \"switching\" "
		   "when machines may connect, and ends on SIGTERM, SIGINT or SIGHUP.\n"
		   "\n"
		   "QEMU, for each machine:\n"
		   "  -netdev dgram,id=n0,local.type=unix,local.path=PATH.vm,remote.type=unix,remote.path=PATH \\\n"
		   "  -device virtio-net-pci,netdev=n0,mac=02:00:00:00:00:01\n"
		   "\n"
		   "Exit code 0: ended by a signal. 2: bad options, or a socket cannot be opened. 77: this build "
		   "has no live loop\n"
		   "(libuv).\n"
		   "\n"
		   "Examples:\n"
		   "  belfry switch --port a --port b --faults 'drop prob=0.01' --stats\n"
		   "  belfry switch --port a --port b --faults 'drop on=10.0.0.2 skip=100 count=3' --trace wire.bft",
	.options = options,
	.run = run_switch,
};
