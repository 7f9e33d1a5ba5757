/* The server's life: its socket, and connections from their beginning to their end. */
#include "models/pci/vfio_user.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "models/pci/vfio_user_internal.h"

void bf_vfu_log(struct bf_vfio_user *s, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	if (!s->o.log)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->o.log(s->o.arg, text);
}

void bf_vfu_hang_up(struct bf_vfio_user *s, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	if (s->dead)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	bf_vfu_log(s, "connection %llu ends: %s", (unsigned long long)s->count.sessions,
		   __atomic_load_n(&s->lost, __ATOMIC_RELAXED) ? "a file that the client had mapped has become shorter"
							       : text);
	s->dead = true;
	if (s->o.live)
		bf_live_remove_fd(s->o.live, s->fd);
	bf_sim_at(s->sim, &s->end_event, s->sim->now_ps);
}

static void record_session(struct bf_vfio_user *s, uint32_t what)
{
	BF_EMIT(s->sim, s->actor, vfio_user_session, .number = (uint32_t)s->count.sessions, .what = what);
}

/* Ends the connection at once; nobody is in the middle of it. */
static void end(struct bf_vfio_user *s)
{
	bf_sim_cancel(s->sim, &s->end_event);
	bf_sim_cancel(s->sim, &s->work);
	if (s->fd < 0)
		return;
	if (s->o.live && !s->dead)
		bf_live_remove_fd(s->o.live, s->fd);
	s->dead = true;
	bf_vfu_irqs_close(s);
	bf_vfu_dma_close(s);
	bf_vfu_maps_close(s);
	bf_vfu_io_close(s);
	close(s->fd);
	s->fd = -1;
	record_session(s, 1);
	if (s->listen_fd >= 0)
		bf_live_watch(s->o.live, s->listen_fd, BF_LIVE_READ);
	if (s->o.ended)
		s->o.ended(s->o.arg);
}

static void on_end(struct bf_event *ev)
{
	end(BF_CONTAINER_OF(ev, struct bf_vfio_user, end_event));
}

static void on_work(struct bf_event *ev)
{
	struct bf_vfio_user *s = BF_CONTAINER_OF(ev, struct bf_vfio_user, work);

	if (s->dead)
		return;
	bf_vfu_deliver(s);
	if (s->out)
		bf_vfu_flush(s);
}

void bf_vfu_work_later(struct bf_vfio_user *s)
{
	if (!s->dead && !bf_event_pending(&s->work))
		bf_sim_at(s->sim, &s->work, s->sim->now_ps);
}

static void on_interrupt(void *arg)
{
	bf_vfu_work_later(arg);
}

static int attach_stats(struct bf_vfio_user *s)
{
	const struct bf_vfu_counts *c = &s->count;
	const struct {
		const char *name;
		const uint64_t *field;
	} stats[] = {
		{ "sessions", &c->sessions },     { "messages", &c->messages },       { "posted", &c->posted },
		{ "refused", &c->refused },       { "descriptors", &c->descriptors }, { "maps", &c->maps },
		{ "unmaps", &c->unmaps },         { "interrupts", &c->interrupts },   { "dma_reads", &c->dma_reads },
		{ "dma_writes", &c->dma_writes }, { "dma_errors", &c->dma_errors },   { "receives", &c->receives },
		{ "sends", &c->sends },
	};

	for (uint32_t i = 0; i < BF_ARRAY_LEN(stats); i++)
		if (bf_stats_attach_part(s->sim, s, s->name, stats[i].name, "", stats[i].field))
			return -ENOMEM;
	return 0;
}

int bf_vfio_user_create(struct bf_sim *sim, const struct bf_vfio_user_opts *opts, struct bf_vfio_user **out)
{
	struct bf_vfio_user *s = calloc(1, sizeof(*s));
	const uint32_t vectors = bf_pci_vectors(opts->fn);

	*out = NULL;
	if (!s)
		return bf_fail(&sim->error, -ENOMEM, "vfio-user server: no memory");
	s->sim = sim;
	s->o = *opts;
	s->fd = s->listen_fd = -1;
	s->dead = true;
	bf_event_init(&s->end_event, on_end);
	bf_event_init(&s->work, on_work);
	snprintf(s->name, sizeof(s->name), "%s.vfio_user", bf_pci_name(opts->fn));
	s->actor = bf_stream_actor(&sim->rec, "server", s->name);
	s->irq = malloc(vectors * sizeof(*s->irq));
	if (!s->actor || !s->irq || attach_stats(s)) {
		bf_stats_detach(sim, s);
		free(s->irq);
		free(s);
		return bf_fail(&sim->error, -ENOMEM, "vfio-user server: no memory");
	}
	for (uint32_t i = 0; i < vectors; i++)
		s->irq[i] = -1;
	bf_vfu_bell_init(&s->bell);
	bf_pci_listen(opts->fn, on_interrupt, s);
	*out = s;
	return 0;
}

void bf_vfio_user_destroy(struct bf_vfio_user *s)
{
	if (!s)
		return;
	s->o.ended = NULL;
	end(s);
	bf_pci_listen(s->o.fn, NULL, NULL);
	if (s->listen_fd >= 0) {
		bf_live_remove_fd(s->o.live, s->listen_fd);
		close(s->listen_fd);
		unlink(s->path);
	}
	bf_stats_detach(s->sim, s);
	free(s->path);
	free(s->maps);
	free(s->dma);
	bf_vfu_bell_close(&s->bell);
	free(s->irq);
	free(s);
}

static void on_ready(void *arg, int fd)
{
	(void)fd;
	bf_vfu_serve(arg);
}

int bf_vfio_user_adopt(struct bf_vfio_user *s, int fd)
{
	int rc = s->fd >= 0 ? bf_fail(&s->sim->error, -EBUSY, "%s: a client is connected already", s->name) : 0;

	if (!rc)
		rc = bf_space_init(&s->space, s->sim, "guest", 1);
	if (!rc && s->o.live)
		rc = bf_live_add_fd(s->o.live, fd, on_ready, s);
	if (rc) {
		close(fd);
		return rc;
	}
	s->fd = fd;
	s->dead = s->paused = s->negotiated = s->lost = false;
	s->watched = BF_LIVE_READ;
	s->max_transfer = BF_VFU_MAX_TRANSFER;
	s->files_made = s->far_made = 0;
	s->count.sessions++;
	record_session(s, 0);
	bf_vfu_log(s, "connection %llu begins", (unsigned long long)s->count.sessions);
	return 0;
}

bool bf_vfio_user_connected(const struct bf_vfio_user *s)
{
	return s->fd >= 0;
}

bool bf_vfio_user_step(struct bf_vfio_user *s)
{
	if (!s->dead)
		bf_vfu_serve(s);
	return s->fd >= 0 && !s->dead;
}

static void on_client(void *arg, int listen_fd)
{
	struct bf_vfio_user *s = arg;
	int fd;

	if (s->fd >= 0)
		return;
	fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			bf_vfu_log(s, "accepting a client: %s", strerror(errno));
		return;
	}
	if (bf_vfio_user_adopt(s, fd))
		bf_vfu_log(s, "%s", s->sim->error.text);
	else
		bf_live_watch(s->o.live, listen_fd, 0);
}

/* A socket without a listener behind it is what a server leaves that was killed. */
static int remove_stale(struct bf_vfio_user *s, const struct sockaddr_un *addr)
{
	struct bf_error *err = &s->sim->error;
	struct stat st;
	int fd, rc;

	if (lstat(addr->sun_path, &st))
		return errno == ENOENT ? 0 : bf_fail(err, -errno, "%s: %s", addr->sun_path, strerror(errno));
	if (!S_ISSOCK(st.st_mode))
		return bf_fail(err, -EEXIST, "%s is there, but is no socket", addr->sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return bf_fail(err, -errno, "socket: %s", strerror(errno));
	rc = connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) ? errno : 0;
	close(fd);
	if (rc != ECONNREFUSED)
		return bf_fail(err, -EADDRINUSE, "%s: another server listens there", addr->sun_path);
	return unlink(addr->sun_path) ? bf_fail(err, -errno, "%s: %s", addr->sun_path, strerror(errno)) : 0;
}

int bf_vfio_user_listen(struct bf_vfio_user *s, const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct bf_error *err = &s->sim->error;
	int rc, fd;

	if (!s->o.live || s->listen_fd >= 0)
		return bf_fail(err, -EINVAL, "%s: no live loop to listen in, or it listens", s->name);
	if (!*path || strlen(path) >= sizeof(addr.sun_path))
		return bf_fail(err, -ENAMETOOLONG, "'%s' is not a socket path of 1 to %zu bytes", path,
			       sizeof(addr.sun_path) - 1);
	memcpy(addr.sun_path, path, strlen(path) + 1);
	rc = remove_stale(s, &addr);
	if (rc)
		return rc;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return bf_fail(err, -errno, "socket: %s", strerror(errno));
	s->path = strdup(path);
	if (!s->path)
		rc = bf_fail(err, -ENOMEM, "no memory for a path");
	else if (bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 8))
		rc = bf_fail(err, -errno, "%s: %s", path, strerror(errno));
	else
		rc = bf_live_add_fd(s->o.live, fd, on_client, s);
	if (rc) {
		close(fd);
		free(s->path);
		s->path = NULL;
		return rc;
	}
	s->listen_fd = fd;
	if (s->fd >= 0)
		bf_live_watch(s->o.live, fd, 0);
	return 0;
}
