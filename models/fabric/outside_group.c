/*
 * Multicast groups between processes. A process that wants a group's frames takes a name of the abstract name space
 * that says which group and in which slot, so the kernel has the table, and takes those out of it who end, however that
 * comes.
 *
 * Who sends to a group looks for those names in all slots, and remembers what it found. For that it has a socket where
 * everybody who joins or leaves a group, after the name was taken or given back, puts a message before going on:
 * whoever joined before a frame is sent gets it. What a message says does not matter, nor that more than one finds no
 * room: the names are looked for anew.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "models/fabric/outside_internal.h"

#define KNOWN 64u /* groups that a sender remembers */
#define WORDS (BF_OUTSIDE_SLOTS / 64)

/* A group that ports of this process want. */
struct bf_joined {
	struct bf_joined *next;
	uint32_t ipv4;
	int name;
};

/* Who wants the frames of a group, but this process. */
struct members {
	uint32_t ipv4;
	bool found; /* nothing has changed since they were looked for */
	uint64_t slots[WORDS];
};

struct bf_recipients {
	int news; /* where changes are told */
	uint32_t next;
	struct members of[KNOWN];
};

static socklen_t name_of_member(const struct bf_outside *o, uint32_t ipv4, uint32_t slot, struct sockaddr_un *at)
{
	return bf_outside_name(o, at, "g%x/%u", ipv4, slot);
}

static socklen_t name_of_news(const struct bf_outside *o, uint32_t slot, struct sockaddr_un *at)
{
	return bf_outside_name(o, at, "news/%u", slot);
}

/* ---- joining ---- */

static void tell_senders(const struct bf_outside *o)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	for (uint32_t slot = 0; slot < BF_OUTSIDE_SLOTS && fd >= 0; slot++) {
		struct sockaddr_un at;
		const socklen_t len = name_of_news(o, slot, &at);

		if (slot != o->slot)
			sendto(fd, "", 1, MSG_NOSIGNAL, (struct sockaddr *)&at, len);
	}
	if (fd >= 0)
		close(fd);
}

static int join(struct bf_outside *o, uint32_t ipv4)
{
	struct bf_joined *j = malloc(sizeof(*j));
	struct sockaddr_un at;
	int rc;

	if (!j)
		return bf_fail(&o->error, -ENOMEM, "outside: no memory for a multicast group");
	*j = (struct bf_joined){ .next = o->joined, .ipv4 = ipv4 };
	j->name = bf_outside_take_name(&at, name_of_member(o, ipv4, o->slot, &at));
	rc = j->name < 0 ? j->name : o->udp && ipv4 != BF_FABRIC_RAW ? bf_udp_join(o, ipv4) : 0;
	if (rc) {
		if (j->name >= 0)
			close(j->name);
		free(j);
		return bf_fail(&o->error, rc, "outside: cannot join group %u.%u.%u.%u: %s", ipv4 >> 24,
			       ipv4 >> 16 & 0xff, ipv4 >> 8 & 0xff, ipv4 & 0xff, strerror(-rc));
	}
	o->joined = j;
	tell_senders(o);
	return 0;
}

static void leave(struct bf_outside *o, struct bf_joined **at)
{
	struct bf_joined *j = *at;

	*at = j->next;
	close(j->name);
	if (o->udp && j->ipv4 != BF_FABRIC_RAW)
		bf_udp_leave(o, j->ipv4);
	free(j);
}

int bf_outside_set_group(struct bf_outside *o, uint32_t ipv4, bool in)
{
	struct bf_joined **at = &o->joined;

	if (o->dead)
		return 0;
	if (in)
		return join(o, ipv4);
	while (*at && (*at)->ipv4 != ipv4)
		at = &(*at)->next;
	if (*at) {
		leave(o, at);
		tell_senders(o);
	}
	return 0;
}

void bf_outside_drop_groups(struct bf_outside *o)
{
	while (o->joined)
		leave(o, &o->joined);
	if (o->recipients)
		close(o->recipients->news);
	free(o->recipients);
	o->recipients = NULL;
}

/* ---- sending ---- */

void bf_outside_forget_members(struct bf_outside *o)
{
	for (uint32_t i = 0; i < KNOWN && o->recipients; i++)
		o->recipients->of[i].found = false;
}

/* Those who join from now on tell. NULL: they cannot, and nobody is sent to. */
static struct bf_recipients *open_news(struct bf_outside *o)
{
	struct bf_recipients *r = calloc(1, sizeof(*r));
	struct sockaddr_un at;

	if (!r)
		return NULL;
	r->news = bf_outside_take_name(&at, name_of_news(o, o->slot, &at));
	if (r->news < 0) {
		bf_fail(&o->error, r->news, "outside: cannot make a socket for multicast groups: %s",
			strerror(-r->news));
		free(r);
		return NULL;
	}
	o->recipients = r;
	return r;
}

static void hear_news(struct bf_outside *o)
{
	char byte;

	while (recv(o->recipients->news, &byte, 1, MSG_DONTWAIT) >= 0)
		bf_outside_forget_members(o);
}

static void find(struct bf_outside *o, struct members *m)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memset(m->slots, 0, sizeof(m->slots));
	m->found = fd >= 0;
	for (uint32_t slot = 0; slot < BF_OUTSIDE_SLOTS && fd >= 0; slot++) {
		struct sockaddr_un at;
		const socklen_t len = name_of_member(o, m->ipv4, slot, &at);

		if (slot != o->slot && !connect(fd, (struct sockaddr *)&at, len))
			m->slots[slot / 64] |= 1ull << (slot % 64);
	}
	if (fd >= 0)
		close(fd);
}

static struct members *members_of(struct bf_outside *o, uint32_t ipv4)
{
	struct bf_recipients *r = o->recipients ? o->recipients : open_news(o);
	uint32_t i = 0;

	if (!r)
		return NULL;
	hear_news(o);
	while (i < KNOWN && r->of[i].ipv4 != ipv4)
		i++;
	if (i == KNOWN) {
		i = r->next++ % KNOWN;
		r->of[i] = (struct members){ .ipv4 = ipv4 };
	}
	if (!r->of[i].found)
		find(o, &r->of[i]);
	return &r->of[i];
}

bool bf_outside_has_members(struct bf_outside *o, uint32_t ipv4)
{
	const struct members *m = members_of(o, ipv4);
	uint64_t any = 0;

	for (uint32_t i = 0; i < WORDS && m; i++)
		any |= m->slots[i];
	return any;
}

void bf_outside_send_to_group(struct bf_outside *o, struct bf_packet *pkt)
{
	struct members *m = members_of(o, bf_frame_group(pkt));

	for (uint32_t i = 0; i < WORDS && m; i++)
		for (uint64_t left = m->slots[i]; left; left &= left - 1) {
			struct bf_packet *copy = bf_packet_copy(pkt); /* without memory a network has lost it */

			if (copy && !bf_peer_send(o, 64 * i + (uint32_t)__builtin_ctzll(left), copy))
				m->found = false;
		}
	bf_packet_free(pkt);
}
