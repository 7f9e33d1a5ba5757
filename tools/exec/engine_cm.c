/* The connection manager inside the program: made when /dev/infiniband/rdma_cm is first opened. */
#include "tools/exec/engine_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LAST_WORDS 3u /* a twentieth of the datagrams lost leaves one peer of a hundred thousand asking */
#define IS_LOOPBACK(ipv4) ((ipv4) >> 24 == 127)

static bool is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET)
		return IS_LOOPBACK(ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr));
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

/* What can be bound to is of this machine. */
static bool can_bind(const struct sockaddr *address)
{
	const socklen_t len = address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	struct sockaddr_in6 any_port = { 0 };
	int fd = socket(address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool here;

	if (fd < 0)
		return false;
	memcpy(&any_port, address, len);
	any_port.sin6_port = 0; /* where struct sockaddr_in has it, too */
	here = !bind(fd, (struct sockaddr *)&any_port, len);
	close(fd);
	return here;
}

/*
 * Without a network all of the machine's addresses lead to its device. With one, the device has the address that
 * --udp gave it; others are reached as any address is, and be it by this machine's loopback.
 */
static bool is_here(void *arg, const struct sockaddr *address)
{
	const struct bf_engine *e = arg;

	if (!e->opts.udp_ipv4)
		return can_bind(address);
	return is_loopback(address) && !IS_LOOPBACK(e->opts.udp_ipv4);
}

static int create(struct bf_engine *e)
{
	struct bf_rdmacm_opts opts = {
		.devices = e->opts.devices,
		.outside = e->outside,
		.routed = e->opts.udp_ipv4 != 0,
		.salt = (uint32_t)(e->epoch_ns >> 10) ^ (uint32_t)e->pid << 16,
		.is_here = is_here,
	};

	for (uint32_t i = 0; i < e->opts.devices; i++)
		opts.device[i] = (struct bf_rdmacm_device){ .uverbs = e->device[i].uverbs,
							    .ipv4 = e->device[i].id.ipv4,
							    .node_guid = e->device[i].id.node_guid,
							    .infiniband = e->opts.infiniband };
	bf_engine_host_init(e, &opts.host);
	return bf_rdmacm_create(e->sim, &opts, &e->cm);
}

int bf_engine_cm_open(struct bf_engine *e, struct bf_rdmacm_file **out, int *fd)
{
	struct bf_engine_caller c;
	int rc;

	if (!bf_engine_call(e, &c))
		return -EIO;
	rc = e->cm ? 0 : create(e);
	if (!rc)
		rc = bf_rdmacm_open(e->cm, out, fd);
	bf_engine_return(e, &c);
	return rc;
}

void bf_engine_cm_close(struct bf_engine *e, struct bf_rdmacm_file *f)
{
	struct bf_engine_caller c;

	if (!bf_engine_call(e, &c))
		return;
	bf_rdmacm_close(f);
	bf_engine_return(e, &c);
}

/*
 * A process that ends gets no more events. A kernel lets its threads wait for them until they are gone, so those are
 * not told of an error, of which they might make the exit code.
 */
static int64_t after_the_end(struct bf_engine *e, uint64_t address, uint64_t len)
{
	struct bf_uverbs_host host;

	if (e->pid != getpid())
		return -EIO;
	bf_engine_host_init(e, &host);
	return bf_rdmacm_asks_for_event(&host, address, len) ? -EAGAIN : -EIO;
}

int64_t bf_engine_cm_write(struct bf_engine *e, struct bf_rdmacm_file *f, uint64_t address, uint64_t len)
{
	struct bf_engine_caller c;
	int64_t done;

	if (!bf_engine_call(e, &c))
		return after_the_end(e, address, len);
	done = bf_rdmacm_write(f, address, len);
	bf_engine_return(e, &c);
	return done;
}

/* A kernel outlives its programs, and tells their peers; this one has to before it goes. */
void bf_engine_cm_end(struct bf_engine *e)
{
	if (!e->cm)
		return;
	bf_rdmacm_close_all(e->cm);
	bf_engine_run(e);
	bf_outside_flush(e->outside);
	for (uint32_t i = 0; i < LAST_WORDS; i++) {
		bf_rdmacm_say_again(e->cm);
		bf_engine_run(e);
		bf_outside_flush(e->outside);
	}
	bf_rdmacm_destroy(e->cm);
	e->cm = NULL;
}
