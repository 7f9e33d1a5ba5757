#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "models/fabric/outside_internal.h"
#include "models/fabric/roce.h"
#include "sim/bytes.h"
#include "sim/stats.h"

#define RING_DEFAULT 0x100000u
#define BURST 64u      /* frames of one process before the next one's turn */
#define IDLE_LOOKS 16u /* looks at the sockets without anything before the watcher does it again */

static int attach_stats(struct bf_outside *o)
{
	const struct {
		const char *name;
		const uint64_t *field;
	} stats[] = {
		{ "outside.tx_frames", &o->count.tx_frames },
		{ "outside.rx_frames", &o->count.rx_frames },
		{ "outside.held", &o->count.held },
		{ "outside.lost", &o->count.lost },
		{ "outside.peers", &o->count.peers },
		{ "outside.cut_off", &o->count.cut_off },
		{ "outside.udp_tx", &o->count.udp_tx },
		{ "outside.udp_rx", &o->count.udp_rx },
		{ "outside.udp_dropped", &o->count.udp_dropped },
		{ "outside.udp_paced", &o->count.udp_paced },
		{ "outside.udp_errors", &o->count.udp_errors },
	};
	int status = 0;

	for (size_t i = 0; i < BF_ARRAY_LEN(stats) && !status; i++)
		status = bf_stats_attach(o->sim, o, stats[i].name, "", stats[i].field);
	return status ? bf_fail(&o->sim->error, status, "outside: no memory") : 0;
}

/* The process that a frame for this machine belongs to. */
static uint32_t slot_of(struct bf_outside *o, const struct bf_packet *pkt)
{
	const uint32_t qpn = bf_frame_queue(pkt);

	uint32_t slot = qpn / BF_OUTSIDE_QPNS;

	if (BF_UNLIKELY(qpn - BF_OUTSIDE_QP1 - 1 >= BF_ROCE_GROUP_QPN - BF_OUTSIDE_QP1 - 1)) /* that, or a group's */
		slot = qpn == BF_OUTSIDE_QP1 && o->whose ? o->whose(o->kernel, pkt) : o->slot;
	return BF_LIKELY(slot < BF_OUTSIDE_SLOTS) ? slot : o->slot;
}

/*
 * The way that a frame takes. Queue pairs of an address that this process has are those of all processes of this
 * machine, which share the address as programs share a NIC: the number says whose. An address that it has not is
 * reached by UDP, or, without that, may be one of another process here. A frame to a group goes either way, to all of
 * its members there; those here have theirs already.
 */
static bool takes(void *owner, uint32_t ipv4, const struct bf_packet *pkt)
{
	struct bf_outside *o = owner;
	bool theirs;

	if (o->dead)
		return false;
	if (BF_UNLIKELY(bf_packet_is_raw(pkt)))
		return ipv4 == BF_FABRIC_RAW && bf_outside_has_members(o, ipv4);
	if (!bf_frame_queue(pkt))
		return false;
	theirs = slot_of(o, pkt) != o->slot;
	if (BF_LIKELY(bf_fabric_find(o->fabric, ipv4) != NULL))
		return theirs;
	if (BF_UNLIKELY(bf_is_for_many(pkt)))
		return o->udp || bf_outside_has_members(o, ipv4);
	return o->udp || theirs;
}

static bool has_icrc(const struct bf_packet *pkt)
{
	return bf_get_le32(pkt->data + pkt->len - BF_ROCE_ICRC_LEN) != 0;
}

static void send(void *owner, struct bf_packet *pkt)
{
	struct bf_outside *o = owner;
	uint32_t slot;

	if (BF_UNLIKELY(bf_packet_is_raw(pkt)))
		bf_outside_send_to_group(o, pkt);
	else if (o->udp && !bf_fabric_find(o->fabric, bf_get_be32(pkt->data + BF_IP_DST)))
		bf_udp_send(o, pkt);
	else if (BF_UNLIKELY(pkt->verdict == BF_FRAME_CORRUPTED) && !has_icrc(pkt))
		bf_outside_lose(o, pkt, BF_FRAME_CORRUPTED); /* nobody could find the wrong bit */
	else if (BF_LIKELY((slot = slot_of(o, pkt)) != o->slot))
		bf_peer_send(o, slot, pkt);
	else if (bf_is_for_many(pkt))
		bf_outside_send_to_group(o, pkt);
	else
		bf_outside_lose(o, pkt, BF_FRAME_NO_ROUTE); /* who offered the service has just gone */
}

static bool busy(void *owner)
{
	const struct bf_outside *o = owner;

	return o->held + bf_udp_paced(o) >= OUTSIDE_HELD_BUSY;
}

static int group(void *owner, uint32_t ipv4, bool in)
{
	return bf_outside_set_group(owner, ipv4, in);
}

static uint32_t held(void *owner, uint32_t qpn)
{
	const struct bf_outside *o = owner;

	return (BF_LIKELY(!o->held) ? 0 : bf_peer_held(o, qpn)) + bf_udp_held(o, qpn);
}

/* What it has sent until a time-out first looked, its last words too, and has not been taken here. */
static bool is_to_be_taken(struct bf_outside *o, uint32_t slot, uint64_t *came)
{
	for (uint32_t i = 0; i < o->sources_cap; i++) {
		const struct bf_source *s = o->sources[i];

		if (!s || s->slot != slot || !s->ring.shared)
			continue;
		if (!*came || *came - s->ring.at > s->ring.size)
			*came = bf_ring_came(&s->ring);
		if (s->ring.at < *came)
			return true;
	}
	return false;
}

/*
 * Processes wait for processors: this one too. So its sockets are looked at, by which new peers and datagrams come, but
 * only once: with enough senders there is always something.
 */
static bool unanswered(void *owner, uint32_t ipv4, uint32_t qpn, struct bf_fabric_wait *wait)
{
	struct bf_outside *o = owner;
	const uint32_t slot = qpn / BF_OUTSIDE_QPNS;

	if (o->dead)
		return true;
	if (bf_udp_held(o, qpn))
		return false;
	if (!wait->looked) {
		wait->looked = true;
		wait->since_ps = o->sim->now_ps;
		if (bf_meet_look(o))
			return false;
	}
	if (o->udp)
		return o->sim->now_ps - wait->since_ps >= BF_UPLINK_PATIENCE_PS || !bf_udp_unread(o, ipv4);
	return slot >= BF_OUTSIDE_SLOTS ||
	       !(bf_peer_idles(o, slot, qpn, &wait->sent) || is_to_be_taken(o, slot, &wait->came));
}

/* Closes and unmaps everything. Without the epoll set, which a child shares with its parent, nobody else notices. */
static void leave(struct bf_outside *o)
{
	if (o->epoll >= 0)
		close(o->epoll);
	o->epoll = -1;
	for (uint32_t i = 0; i < BF_OUTSIDE_SLOTS; i++) {
		bf_peer_free(o, o->peers[i]);
		o->peers[i] = NULL;
	}
	o->touched = o->blocked = NULL;
	bf_outside_drop_groups(o);
	bf_udp_close(o);
	bf_meet_close(o);
}

int bf_outside_open(struct bf_sim *sim, struct bf_fabric *f, const struct bf_outside_opts *opts,
		    struct bf_outside **out)
{
	const char *network = opts->network ? opts->network : "default";
	struct bf_outside *o = calloc(1, sizeof(*o));
	struct bf_fabric_uplink uplink = {
		.takes = takes,
		.send = send,
		.busy = busy,
		.held = held,
		.unanswered = unanswered,
		.group = group,
		.owner = o,
	};
	int rc;

	*out = NULL;
	if (!o)
		return bf_fail(&sim->error, -ENOMEM, "outside: no memory");
	o->sim = sim;
	o->fabric = f;
	o->ring_bytes = opts->ring_bytes ? opts->ring_bytes : RING_DEFAULT;
	o->listener = o->epoll = o->door_fd = o->stop_fd = -1;
	if (!network[0] || strlen(network) >= sizeof(o->network)) {
		free(o);
		return bf_fail(&sim->error, -EINVAL, "outside: the name of a network has 1 to %zu bytes",
			       sizeof(o->network) - 1);
	}
	memcpy(o->network, network, strlen(network));
	rc = bf_meet_open(o);
	if (!rc && opts->udp_ipv4)
		rc = bf_udp_open(o, opts->udp_ipv4, opts->udp_port ? opts->udp_port : BF_ROCE_UDP_PORT,
				 opts->udp_bits_per_s);
	rc = rc ? rc : attach_stats(o);
	rc = rc ? rc : bf_watch_start(o);
	rc = rc ? rc : bf_fabric_set_uplink(f, &uplink);
	if (rc)
		bf_outside_close(o);
	else
		*out = o;
	return rc;
}

void bf_outside_close(struct bf_outside *o)
{
	if (!o)
		return;
	bf_watch_stop(o);
	leave(o);
	bf_fabric_set_uplink(o->fabric, NULL);
	bf_stats_detach(o->sim, o);
	free(o);
}

void bf_outside_forked(struct bf_outside *o)
{
	o->dead = true;
	if (o->stop_fd >= 0)
		close(o->stop_fd);
	o->stop_fd = -1; /* the watcher is the parent's */
	leave(o);
}

void bf_outside_set_kernel(struct bf_outside *o, bf_outside_whose_fn *whose, bf_outside_gone_fn *gone, void *owner)
{
	o->whose = whose;
	o->gone = gone;
	o->kernel = owner;
}

uint32_t bf_outside_slot(const struct bf_outside *o)
{
	return o->slot;
}

uint32_t bf_outside_mtu(const struct bf_outside *o)
{
	return o->udp ? bf_udp_mtu(o) : ROCE_MTU_MAX;
}

const struct bf_error *bf_outside_error(const struct bf_outside *o)
{
	return &o->error;
}

static void arrived(struct bf_outside *o, struct bf_packet *pkt)
{
	struct bf_port *to = NULL;

	if (BF_UNLIKELY(!bf_frame_queue(pkt))) { /* others do not leave */
		o->count.rx_frames++;
		bf_group_receive_raw(o->fabric, pkt);
		return;
	}
	if (pkt->len >= BF_IP_FIELDS_END)
		to = bf_fabric_find(o->fabric, bf_get_be32(pkt->data + BF_IP_DST));
	o->count.rx_frames++;
	if (BF_LIKELY(to != NULL))
		bf_port_receive(to, pkt);
	else if (bf_is_for_many(pkt))
		bf_group_receive(o->fabric, pkt);
	else
		bf_packet_free(pkt);
}

static uint32_t take_from(struct bf_outside *o, struct bf_source *s, uint32_t budget)
{
	uint32_t n = 0;
	int len = 0;

	while (n < budget && !bf_ring_empty(&s->ring)) {
		struct bf_packet *pkt = bf_packet_alloc(o->fabric);

		if (!pkt)
			break;
		len = bf_ring_take(&s->ring, pkt->data);
		if (BF_UNLIKELY(len <= 0)) {
			bf_packet_free(pkt);
			break;
		}
		pkt->len = (uint32_t)len;
		arrived(o, pkt);
		n++;
	}
	if (bf_ring_show_taken(&s->ring))
		bf_door_knock(s->door);
	if (BF_UNLIKELY(len < 0))
		bf_meet_cut_off(o, s, "its ring makes no sense");
	else if (BF_UNLIKELY(s->fd < 0) && n < budget)
		bf_meet_drop_source(o, s);
	return n;
}

/* All processes in turn, and the next time the next one first. */
static uint32_t take(struct bf_outside *o, uint32_t budget)
{
	uint32_t n = 0, found;

	do {
		found = 0;
		for (uint32_t i = 0; i < o->sources_cap && n + found < budget; i++) {
			uint32_t left = budget - n - found;
			struct bf_source *s;

			o->next_source = o->next_source + 1 < o->sources_cap ? o->next_source + 1 : 0;
			s = o->sources[o->next_source];
			if (s && s->ring.shared)
				found += take_from(o, s, left < BURST ? left : BURST);
		}
		n += found;
	} while (found && n < budget);
	return n;
}

/* While the watcher waits to be armed again, we look at the sockets; when they are silent it may have them back. */
static void look(struct bf_outside *o)
{
	if (bf_meet_look(o) || !bf_udp_idle(o))
		o->idle_looks = 0;
	else if (++o->idle_looks >= IDLE_LOOKS)
		bf_watch_arm(o);
}

uint32_t bf_outside_poll(struct bf_outside *o, uint32_t budget)
{
	uint32_t n;

	if (o->dead)
		return 0;
	if (BF_UNLIKELY(__atomic_load_n(&o->ready, __ATOMIC_ACQUIRE)))
		look(o);
	if (BF_UNLIKELY(o->blocked != NULL))
		bf_peer_release(o);
	if (__atomic_load_n(&o->door->news, __ATOMIC_RELAXED))
		__atomic_exchange_n(&o->door->news, 0, __ATOMIC_ACQ_REL); /* before the rings are looked at */
	n = take(o, budget);
	o->took |= n != 0;
	if (BF_UNLIKELY(n >= budget))
		__atomic_store_n(&o->door->news, 1, __ATOMIC_RELAXED); /* there may be more */
	return o->udp ? n + bf_udp_receive(o, budget - n) : n;
}

bool bf_outside_has_news(const struct bf_outside *o)
{
	return !o->dead && __atomic_load_n(&o->door->news, __ATOMIC_RELAXED);
}

bool bf_outside_has_sources(const struct bf_outside *o)
{
	return __atomic_load_n(&o->nsources, __ATOMIC_RELAXED) != 0;
}

void bf_outside_looking(struct bf_outside *o, uint64_t until_ns)
{
	if (!o->dead)
		__atomic_store_n(&o->door->looks_until_ns, until_ns, __ATOMIC_RELAXED);
}

/* After the answers have been shown, unless some are held back: time-outs of others wait for this. */
static void show_answered(struct bf_outside *o)
{
	o->took = o->blocked != NULL;
	for (uint32_t i = 0; i < o->sources_cap; i++) {
		struct bf_source *s = o->sources[i];
		const struct bf_peer *p = s && s->slot < BF_OUTSIDE_SLOTS ? o->peers[s->slot] : NULL;

		if (s && s->ring.shared && !(p && p->blocked))
			bf_ring_show_answered(&s->ring);
	}
}

void bf_outside_flush(struct bf_outside *o)
{
	if (o->dead)
		return;
	if (o->blocked)
		bf_peer_release(o);
	bf_peer_flush(o);
	if (o->took)
		show_answered(o);
	if (o->udp)
		bf_udp_flush(o);
}

bool bf_outside_blocked(const struct bf_outside *o)
{
	return o->held != 0;
}

static bool anything(struct bf_outside *o)
{
	if (__atomic_load_n(&o->ready, __ATOMIC_ACQUIRE) || __atomic_exchange_n(&o->woken, 0, __ATOMIC_ACQ_REL))
		return true;
	for (uint32_t i = 0; i < o->sources_cap; i++) {
		struct bf_source *s = o->sources[i];

		if (s && s->ring.shared && (s->fd < 0 || !bf_ring_empty(&s->ring)))
			return true;
	}
	for (struct bf_peer *p = o->blocked; p; p = p->next_blocked)
		if (p->fd < 0 || bf_ring_want(&p->ring))
			return true;
	return !bf_udp_idle(o);
}

bool bf_outside_sleep(struct bf_outside *o, uint32_t **word, uint32_t *value)
{
	bool was_blocked;

	if (o->dead) { /* nobody will ever come */
		*word = &o->stop;
		*value = o->stop;
		return true;
	}
	was_blocked = bf_outside_blocked(o);
	bf_outside_flush(o);
	if (was_blocked && !bf_outside_blocked(o))
		return false; /* which the caller may wait for */
	if (__atomic_load_n(&o->ready, __ATOMIC_ACQUIRE) && !bf_meet_look(o) && bf_udp_idle(o))
		bf_watch_arm(o);
	__atomic_store_n(&o->door->sleeping, 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* either others see that we sleep, or we see what they have shown */
	*word = &o->door->word;
	*value = __atomic_load_n(*word, __ATOMIC_ACQUIRE);
	if (!anything(o))
		return true;
	__atomic_store_n(&o->door->sleeping, 0, __ATOMIC_RELAXED);
	return false;
}

void bf_outside_awake(struct bf_outside *o)
{
	if (o->dead)
		return;
	__atomic_store_n(&o->door->sleeping, 0, __ATOMIC_RELAXED);
	__atomic_exchange_n(&o->woken, 0, __ATOMIC_ACQ_REL);
}

void bf_outside_wake(struct bf_outside *o)
{
	if (o->dead)
		return;
	__atomic_store_n(&o->woken, 1, __ATOMIC_RELEASE);
	bf_door_knock(o->door);
}
