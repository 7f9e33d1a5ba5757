/*
 * Media in a regular file. In virtual time operations block; in live mode they run in the loop's thread pool. Either
 * way run() below makes the system calls and conclude() draws the conclusions, on the simulation's thread.
 */
#include "models/nvme/media_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/live.h"

#define PIECE 65536u /* of zeros to write, or of bytes to compare or verify */

struct bf_nvme_file {
	int fd;
	pthread_rwlock_t lock; /* writes share it; a compare and write has it alone */
};

struct bf_nvme_file_op {
	struct bf_live_work work;
	struct bf_nvme *dev; /* NULL: the device is gone, nobody waits */
	struct bf_nvme_file *file;
	struct bf_nvme_media *media;
	struct bf_nvme_rq *rq;
	bf_nvme_done_fn *next;
	uint8_t *bytes;
	uint64_t offset, len;
	uint32_t status;
	enum bf_nvme_media_op op;
	struct bf_nvme_file_op *list_next, **list_link; /* busy ones; `list_next` of free ones as well */
};

/* All `len` bytes or false: a file that has become too short is an error of the media, too. */
static bool read_all(int fd, uint8_t *bytes, uint64_t len, uint64_t offset)
{
	while (len) {
		ssize_t n = pread(fd, bytes, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes += n;
		offset += (uint64_t)n;
		len -= (uint64_t)n;
	}
	return true;
}

static bool write_all(int fd, const uint8_t *bytes, uint64_t len, uint64_t offset)
{
	while (len) {
		ssize_t n = pwrite(fd, bytes, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes += n;
		offset += (uint64_t)n;
		len -= (uint64_t)n;
	}
	return true;
}

/* Zeros by the file system, or written where it cannot. */
static bool zero_all(int fd, int mode, uint64_t len, uint64_t offset)
{
	static const uint8_t zeros[PIECE];

	if (!len || !fallocate(fd, mode | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)len))
		return true;
	for (uint64_t at = 0; at < len; at += PIECE)
		if (!write_all(fd, zeros, len - at < PIECE ? len - at : PIECE, offset + at))
			return false;
	return true;
}

/* Reads everything; with `bytes`, says whether it is the same. */
static uint32_t read_through(int fd, const uint8_t *bytes, uint64_t len, uint64_t offset)
{
	uint8_t piece[PIECE];

	for (uint64_t at = 0; at < len; at += PIECE) {
		uint64_t n = len - at < PIECE ? len - at : PIECE;

		if (!read_all(fd, piece, n, offset + at))
			return BF_NVME_SC_UNRECOVERED_READ;
		if (bytes && memcmp(piece, bytes + at, n) != 0)
			return BF_NVME_SC_COMPARE | BF_NVME_DNR;
	}
	return 0;
}

static uint32_t perform(const struct bf_nvme_file_op *o)
{
	const int fd = o->file->fd;
	bool ok = true;
	uint32_t status;

	switch (o->op) {
	case BF_NVME_OP_READ:
		return read_all(fd, o->bytes, o->len, o->offset) ? 0 : BF_NVME_SC_UNRECOVERED_READ;
	case BF_NVME_OP_COMPARE:
		return read_through(fd, o->bytes, o->len, o->offset);
	case BF_NVME_OP_VERIFY:
		return read_through(fd, NULL, o->len, o->offset);
	case BF_NVME_OP_COMPARE_WRITE:
		status = read_through(fd, o->bytes, o->len, o->offset);
		if (status)
			return status;
		ok = write_all(fd, o->bytes + o->len, o->len, o->offset);
		break;
	case BF_NVME_OP_WRITE:
	case BF_NVME_OP_WRITE_THROUGH:
		ok = write_all(fd, o->bytes, o->len, o->offset);
		break;
	case BF_NVME_OP_ZERO:
		ok = zero_all(fd, FALLOC_FL_ZERO_RANGE, o->len, o->offset);
		break;
	case BF_NVME_OP_DEALLOCATE:
		ok = zero_all(fd, FALLOC_FL_PUNCH_HOLE, o->len, o->offset);
		break;
	case BF_NVME_OP_SYNC:
		break;
	}
	if (ok && (o->op == BF_NVME_OP_SYNC || o->op == BF_NVME_OP_WRITE_THROUGH))
		ok = fdatasync(fd) == 0;
	return ok ? 0 : BF_NVME_SC_WRITE_FAULT;
}

/* The lock keeps writes out from between a comparison and its write. */
static void run(struct bf_live_work *w)
{
	struct bf_nvme_file_op *o = BF_CONTAINER_OF(w, struct bf_nvme_file_op, work);

	if (o->op == BF_NVME_OP_COMPARE_WRITE)
		pthread_rwlock_wrlock(&o->file->lock);
	else
		pthread_rwlock_rdlock(&o->file->lock);
	o->status = perform(o);
	pthread_rwlock_unlock(&o->file->lock);
}

/* What the operation means for the state of its blocks. */
static uint32_t conclude(const struct bf_nvme_file_op *o)
{
	if (o->status)
		return o->status;
	switch (o->op) {
	case BF_NVME_OP_WRITE:
	case BF_NVME_OP_WRITE_THROUGH:
	case BF_NVME_OP_COMPARE_WRITE:
	case BF_NVME_OP_ZERO:
		return bf_nvme_media_written(o->media, o->offset, o->len) ? 0 : BF_NVME_SC_INTERNAL;
	case BF_NVME_OP_DEALLOCATE:
		bf_nvme_media_forget(o->media, o->offset, o->len);
		break;
	case BF_NVME_OP_READ:
	case BF_NVME_OP_COMPARE:
	case BF_NVME_OP_VERIFY:
	case BF_NVME_OP_SYNC:
		break;
	}
	return 0;
}

static struct bf_nvme_file_op *get_op(struct bf_nvme *dev)
{
	struct bf_nvme_media_unit *u = dev->media;
	struct bf_nvme_file_op *o = u->free_ops;

	if (o)
		u->free_ops = o->list_next;
	else
		o = malloc(sizeof(*o));
	return o;
}

static void put_op(struct bf_nvme *dev, struct bf_nvme_file_op *o)
{
	o->list_next = dev->media->free_ops;
	dev->media->free_ops = o;
}

void bf_nvme_file_free_ops(struct bf_nvme_file_op *list)
{
	while (list) {
		struct bf_nvme_file_op *next = list->list_next;

		free(list);
		list = next;
	}
}

/* A thread is done: back on the simulation's. */
static void done(struct bf_live_work *w)
{
	struct bf_nvme_file_op *o = BF_CONTAINER_OF(w, struct bf_nvme_file_op, work);
	struct bf_nvme_rq *rq = o->rq;
	bf_nvme_done_fn *next = o->next;
	uint32_t status;

	if (!o->dev) {
		free(o);
		return;
	}
	*o->list_link = o->list_next;
	if (o->list_next)
		o->list_next->list_link = o->list_link;
	status = conclude(o);
	put_op(o->dev, o);
	if (bf_nvme_unhold(rq))
		next(rq, status);
}

static void send_off(struct bf_nvme_file_op *o)
{
	struct bf_nvme_media_unit *u = o->dev->media;

	o->work = (struct bf_live_work){ .run = run, .done = done };
	o->list_next = u->busy_ops;
	o->list_link = &u->busy_ops;
	if (u->busy_ops)
		u->busy_ops->list_link = &o->list_next;
	u->busy_ops = o;
	bf_nvme_hold(o->rq);
}

void bf_nvme_file_do(struct bf_nvme_rq *rq, struct bf_nvme_ns *ns, enum bf_nvme_media_op op, uint64_t offset,
		     uint64_t len, uint8_t *bytes, bf_nvme_done_fn *next)
{
	struct bf_nvme *dev = rq->dev;
	struct bf_nvme_file_op *o = get_op(dev);
	uint32_t status;

	if (!o) {
		next(rq, bf_nvme_no_memory(rq->dev));
		return;
	}
	*o = (struct bf_nvme_file_op){ .dev = dev,
				       .file = ns->media->file,
				       .media = ns->media,
				       .rq = rq,
				       .next = next,
				       .bytes = bytes,
				       .offset = offset,
				       .len = len,
				       .op = op };
	if (dev->live) {
		send_off(o);
		if (!bf_live_work(dev->live, &o->work))
			return;
		o->status = bf_nvme_no_memory(dev);
		done(&o->work);
		return;
	}
	run(&o->work);
	status = conclude(o);
	put_op(dev, o);
	next(rq, status);
}

uint32_t bf_nvme_file_erase(struct bf_nvme_media *m)
{
	return zero_all(m->file->fd, FALLOC_FL_PUNCH_HOLE, m->bytes, 0) ? 0 : BF_NVME_SC_WRITE_FAULT;
}

void bf_nvme_file_quiesce(struct bf_nvme *dev, const struct bf_nvme_media *m)
{
	struct bf_nvme_file_op *o, *next;

	if (!dev->media || !dev->media->busy_ops)
		return;
	bf_live_settle(dev->live);
	for (o = dev->media->busy_ops; o; o = next) {
		next = o->list_next;
		if (m && o->media != m)
			continue;
		*o->list_link = next;
		if (next)
			next->list_link = o->list_link;
		o->dev = NULL;
	}
}

/* The capacity that the file has, or gets. */
static int size_file(struct bf_nvme *dev, const struct bf_nvme_ns_opts *opts, int fd, struct bf_nvme_media *m)
{
	struct bf_error *err = &dev->sim->error;
	const uint32_t block = opts->lba == BF_NVME_LBA_4096 ? 4096 : 512;
	struct stat st;

	if (fstat(fd, &st))
		return bf_fail(err, -errno, "media file '%s': %s", opts->file, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return bf_fail(err, -EINVAL, "media file '%s' is not a regular file", opts->file);
	m->born_allocated = st.st_size > 0;
	if (!st.st_size && opts->bytes && !opts->read_only) {
		m->bytes = opts->bytes;
		if (ftruncate(fd, (off_t)opts->bytes))
			return bf_fail(err, -errno, "media file '%s': cannot make it %llu bytes long: %s", opts->file,
				       (unsigned long long)opts->bytes, strerror(errno));
		return 0;
	}
	if (!st.st_size)
		return bf_fail(err, -EINVAL, "media file '%s' is empty and no capacity is given", opts->file);
	if (opts->bytes > (uint64_t)st.st_size)
		return bf_fail(err, -EINVAL, "media file '%s' has %lld bytes, too short for a namespace of %llu",
			       opts->file, (long long)st.st_size, (unsigned long long)opts->bytes);
	m->bytes = opts->bytes ? opts->bytes : (uint64_t)st.st_size;
	if (m->bytes % block)
		return bf_fail(err, -EINVAL,
			       "media file '%s' has %llu bytes, which is not a multiple of the block size %u",
			       opts->file, (unsigned long long)m->bytes, block);
	return 0;
}

int bf_nvme_file_open(struct bf_nvme *dev, const struct bf_nvme_ns_opts *opts, struct bf_nvme_media *m)
{
	struct bf_error *err = &dev->sim->error;
	const int create = opts->bytes && !opts->read_only ? O_CREAT : 0;
	struct bf_nvme_file *f = calloc(1, sizeof(*f));
	int rc = 0;

	if (!f || pthread_rwlock_init(&f->lock, NULL)) {
		free(f);
		return bf_fail(err, -ENOMEM, "media file '%s': no memory", opts->file);
	}
	f->fd = open(opts->file, (opts->read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | create, 0644);
	if (f->fd < 0)
		rc = bf_fail(err, -errno, "media file '%s': %s", opts->file, strerror(errno));
	else if (flock(f->fd, (opts->read_only ? LOCK_SH : LOCK_EX) | LOCK_NB))
		rc = bf_fail(err, -EBUSY, "media file '%s' is in use by another controller", opts->file);
	if (!rc)
		rc = size_file(dev, opts, f->fd, m);
	if (rc)
		bf_nvme_file_close(f);
	else
		m->file = f;
	return rc;
}

void bf_nvme_file_close(struct bf_nvme_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	pthread_rwlock_destroy(&f->lock);
	free(f);
}
