#include "tools/exec/channels.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "models/uverbs/uverbs.h"
#include "sim/grow.h"

#define WAITING_MAX 65536u /* events of one channel that a program leaves unread beside those in the socket */
#define OWN_FDS_FROM 256   /* our descriptors stay clear of the low numbers, which programs pick and close */
#define RETRY_PS (200 * BF_US)

struct event {
	uint16_t len;
	uint8_t bytes[BF_UVERBS_EVENT_MAX];
};

struct channel {
	struct channel *next;
	int fd;            /* the program's number for its end */
	int program, ours; /* its end again, and the other */
	struct event *waiting;
	uint32_t nwaiting, room;
};

struct bf_channels {
	struct bf_sim *sim;
	struct channel *list;
	struct bf_event retry;
};

static void retry(struct bf_event *ev);

int bf_channels_create(struct bf_sim *sim, struct bf_channels **out)
{
	struct bf_channels *c = calloc(1, sizeof(*c));

	*out = c;
	if (!c)
		return -ENOMEM;
	c->sim = sim;
	bf_event_init(&c->retry, retry);
	return 0;
}

static void free_channel(struct channel *ch)
{
	close(ch->program);
	close(ch->ours);
	free(ch->waiting);
	free(ch);
}

void bf_channels_destroy(struct bf_channels *c)
{
	if (!c)
		return;
	bf_sim_cancel(c->sim, &c->retry);
	while (c->list) {
		struct channel *ch = c->list;

		c->list = ch->next;
		free_channel(ch);
	}
	free(c);
}

static struct channel *find(const struct bf_channels *c, int fd)
{
	struct channel *ch = c->list;

	while (ch && ch->fd != fd)
		ch = ch->next;
	return ch;
}

/* ---- opening and closing ---- */

static int keep(int fd)
{
	const int high = fcntl(fd, F_DUPFD_CLOEXEC, OWN_FDS_FROM);

	return high >= 0 ? high : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

int bf_channel_open(struct bf_channels *c)
{
	struct channel *ch = calloc(1, sizeof(*ch));
	int ends[2], rc;

	if (!ch)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		rc = -errno;
		free(ch);
		return rc;
	}
	ch->fd = ends[0];
	ch->program = keep(ends[0]);
	ch->ours = keep(ends[1]);
	rc = ch->program < 0 || ch->ours < 0 ? -errno : 0;
	close(ends[1]);
	if (rc) {
		close(ends[0]);
		free_channel(ch);
		return rc;
	}
	bf_channel_release(c, ch->fd); /* the program closed one of this number, or it would not be free again */
	ch->next = c->list;
	c->list = ch;
	return ch->fd;
}

void bf_channel_release(struct bf_channels *c, int fd)
{
	struct channel **link = &c->list, *ch;

	while (*link && (*link)->fd != fd)
		link = &(*link)->next;
	ch = *link;
	if (!ch)
		return;
	*link = ch->next;
	free_channel(ch);
}

/* ---- events ---- */

static bool send_event(const struct channel *ch, const struct event *e)
{
	return send(ch->ours, e->bytes, e->len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)e->len;
}

/* Moves what waits into the socket, as far as there is room. */
static void move_on(struct channel *ch)
{
	uint32_t n = 0;

	while (n < ch->nwaiting && send_event(ch, &ch->waiting[n]))
		n++;
	if (!n)
		return;
	memmove(ch->waiting, ch->waiting + n, (ch->nwaiting - n) * sizeof(*ch->waiting));
	ch->nwaiting -= n;
}

static void retry(struct bf_event *ev)
{
	struct bf_channels *c = BF_CONTAINER_OF(ev, struct bf_channels, retry);
	bool again = false;

	for (struct channel *ch = c->list; ch; ch = ch->next) {
		move_on(ch);
		again = again || ch->nwaiting;
	}
	if (again)
		bf_sim_after(c->sim, ev, RETRY_PS);
}

static int wait_for_room(struct bf_channels *c, struct channel *ch, const struct event *e)
{
	if (ch->nwaiting == WAITING_MAX)
		return -EAGAIN;
	if (BF_GROW(ch->waiting, ch->room, ch->nwaiting + 1))
		return -ENOMEM;
	ch->waiting[ch->nwaiting++] = *e;
	if (!bf_event_pending(&c->retry))
		bf_sim_after(c->sim, &c->retry, RETRY_PS);
	return 0;
}

static int put(struct bf_channels *c, struct channel *ch, const struct event *e)
{
	move_on(ch);
	if (!ch->nwaiting && send_event(ch, e))
		return 0;
	return wait_for_room(c, ch, e);
}

int bf_channel_put(struct bf_channels *c, int fd, const void *event, uint32_t len)
{
	struct channel *ch = find(c, fd);
	struct event e = { .len = (uint16_t)len };

	if (!ch)
		return -EBADF;
	if (!len || len > BF_UVERBS_EVENT_MAX)
		return -EINVAL;
	memcpy(e.bytes, event, len);
	return put(c, ch, &e);
}

/*
 * All unread ones come out and those that stay go back in. A reader that looks meanwhile may find nothing for a moment,
 * as it might have a moment earlier.
 */
int bf_channel_take(struct bf_channels *c, int fd, bool (*match)(const void *event, void *what), void *what)
{
	struct channel *ch = find(c, fd);
	struct event *unread = NULL;
	uint32_t n = 0, room = 0;
	int taken = 0;
	struct event e;
	ssize_t len;

	if (!ch)
		return 0;
	while ((len = recv(ch->program, e.bytes, sizeof(e.bytes), MSG_DONTWAIT)) > 0) {
		e.len = (uint16_t)len;
		if (match(e.bytes, what)) {
			taken++;
			continue;
		}
		if (BF_GROW(unread, room, n + 1))
			break; /* this one goes behind the others */
		unread[n++] = e;
	}
	if (len > 0)
		send_event(ch, &e);
	for (uint32_t i = 0; i < n; i++)
		send_event(ch, &unread[i]); /* there was room for it before */
	free(unread);
	for (uint32_t i = 0, left = 0, all = ch->nwaiting; i < all; i++) {
		if (match(ch->waiting[i].bytes, what)) {
			taken++;
			ch->nwaiting--;
		} else {
			ch->waiting[left++] = ch->waiting[i];
		}
	}
	return taken;
}
