/*
 * Media in memory: chunks that are mapped when they are first written. A chunk that was mapped stays as long as the
 * device, since DMA may be on its way; the memory of what is deallocated goes back to the kernel all the same.
 */
#include "models/nvme/media_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

static const uint8_t zeros[4096];

uint8_t *bf_nvme_media_readable(const struct bf_nvme_media *m, uint64_t offset, uint64_t *run)
{
	const struct bf_nvme_chunk *c = m->chunks[offset / BF_NVME_CHUNK];
	const uint64_t at = offset % BF_NVME_CHUNK;

	if (!c || !c->bytes) {
		if (*run > sizeof(zeros) - at % sizeof(zeros))
			*run = sizeof(zeros) - at % sizeof(zeros);
		return (uint8_t *)(uintptr_t)zeros; /* the caller only reads */
	}
	if (*run > BF_NVME_CHUNK - at)
		*run = BF_NVME_CHUNK - at;
	return c->bytes + at;
}

uint8_t *bf_nvme_media_writable(struct bf_nvme_media *m, uint64_t offset, uint64_t *run)
{
	struct bf_nvme_chunk *c = bf_nvme_media_chunk(m, offset / BF_NVME_CHUNK);
	const uint64_t at = offset % BF_NVME_CHUNK;

	if (c && !c->bytes) {
		void *p = mmap(NULL, BF_NVME_CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		c->bytes = p == MAP_FAILED ? NULL : p;
	}
	if (!c || !c->bytes)
		return NULL;
	if (*run > BF_NVME_CHUNK - at)
		*run = BF_NVME_CHUNK - at;
	return c->bytes + at;
}

static bool write_bytes(struct bf_nvme_media *m, uint64_t offset, const uint8_t *bytes, uint64_t len)
{
	for (uint64_t at = 0, run = len; at < len; at += run, run = len - at) {
		uint8_t *p = bf_nvme_media_writable(m, offset + at, &run);

		if (!p)
			return false;
		memcpy(p, bytes + at, run);
	}
	return bf_nvme_media_written(m, offset, len);
}

static void read_bytes(const struct bf_nvme_media *m, uint64_t offset, uint8_t *bytes, uint64_t len)
{
	for (uint64_t at = 0, run = len; at < len; at += run, run = len - at) {
		const uint8_t *p = bf_nvme_media_readable(m, offset + at, &run);

		memcpy(bytes + at, p, run);
	}
}

static bool equal(const struct bf_nvme_media *m, uint64_t offset, const uint8_t *bytes, uint64_t len)
{
	for (uint64_t at = 0, run = len; at < len; at += run, run = len - at) {
		const uint8_t *p = bf_nvme_media_readable(m, offset + at, &run);

		if (memcmp(bytes + at, p, run) != 0)
			return false;
	}
	return true;
}

/* Zeros, in chunks that are there. */
static void clear(struct bf_nvme_media *m, uint64_t offset, uint64_t len)
{
	for (uint64_t at = offset, run; at < offset + len; at += run) {
		struct bf_nvme_chunk *c = m->chunks[at / BF_NVME_CHUNK];

		run = BF_NVME_CHUNK - at % BF_NVME_CHUNK;
		if (run > offset + len - at)
			run = offset + len - at;
		if (!c || !c->bytes)
			continue;
		if (run < BF_NVME_CHUNK || madvise(c->bytes, BF_NVME_CHUNK, MADV_DONTNEED))
			memset(c->bytes + at % BF_NVME_CHUNK, 0, run);
	}
}

static uint32_t perform(struct bf_nvme_media *m, enum bf_nvme_media_op op, uint64_t offset, uint64_t len,
			uint8_t *bytes)
{
	switch (op) {
	case BF_NVME_OP_READ:
		read_bytes(m, offset, bytes, len);
		return 0;
	case BF_NVME_OP_COMPARE:
	case BF_NVME_OP_COMPARE_WRITE:
		if (!equal(m, offset, bytes, len))
			return BF_NVME_SC_COMPARE | BF_NVME_DNR;
		if (op == BF_NVME_OP_COMPARE)
			return 0;
		return write_bytes(m, offset, bytes + len, len) ? 0 : BF_NVME_SC_INTERNAL;
	case BF_NVME_OP_WRITE:
	case BF_NVME_OP_WRITE_THROUGH:
		return write_bytes(m, offset, bytes, len) ? 0 : BF_NVME_SC_INTERNAL;
	case BF_NVME_OP_ZERO:
		clear(m, offset, len);
		return bf_nvme_media_written(m, offset, len) ? 0 : BF_NVME_SC_INTERNAL;
	case BF_NVME_OP_DEALLOCATE:
		clear(m, offset, len);
		bf_nvme_media_forget(m, offset, len);
		return 0;
	case BF_NVME_OP_VERIFY:
	case BF_NVME_OP_SYNC:
		break;
	}
	return 0;
}

void bf_nvme_media_do(struct bf_nvme_rq *rq, struct bf_nvme_ns *ns, enum bf_nvme_media_op op, uint64_t offset,
		      uint64_t len, uint8_t *bytes, bf_nvme_done_fn *next)
{
	if (ns->media->file)
		bf_nvme_file_do(rq, ns, op, offset, len, bytes, next);
	else
		next(rq, perform(ns->media, op, offset, len, bytes));
}

uint32_t bf_nvme_media_erase(struct bf_nvme_media *m)
{
	uint32_t status = 0;

	if (m->file)
		status = bf_nvme_file_erase(m);
	else
		clear(m, 0, m->bytes);
	if (!status)
		bf_nvme_media_forget(m, 0, m->bytes);
	return status;
}

int bf_nvme_store_open(struct bf_nvme *dev, const struct bf_nvme_ns_opts *opts, uint64_t bytes,
		       struct bf_nvme_media **out)
{
	struct bf_nvme_media *m = calloc(1, sizeof(*m));
	int rc = 0;

	*out = NULL;
	if (!m)
		return bf_fail(&dev->sim->error, -ENOMEM, "'%s': no memory for a namespace", dev->name);
	m->sim = dev->sim;
	m->bytes = bytes;
	if (opts->file)
		rc = bf_nvme_file_open(dev, opts, m);
	if (!rc) {
		m->nchunks = (m->bytes + BF_NVME_CHUNK - 1) / BF_NVME_CHUNK;
		m->chunks = calloc(m->nchunks, sizeof(struct bf_nvme_chunk *));
		if (!m->chunks)
			rc = bf_fail(&dev->sim->error, -ENOMEM, "'%s': no memory for a namespace of %llu bytes",
				     dev->name, (unsigned long long)m->bytes);
	}
	if (rc) {
		bf_nvme_store_close(m);
		return rc;
	}
	m->allocated = m->born_allocated ? m->bytes / 512 : 0;
	*out = m;
	return 0;
}

void bf_nvme_store_retire(struct bf_nvme *dev, struct bf_nvme_media *m)
{
	if (m->file)
		bf_nvme_file_close(m->file);
	else
		clear(m, 0, m->bytes);
	m->file = NULL;
	m->next_dead = dev->media->dead;
	dev->media->dead = m;
}

void bf_nvme_store_close(struct bf_nvme_media *m)
{
	if (!m)
		return;
	for (uint64_t i = 0; m->chunks && i < m->nchunks; i++) {
		struct bf_nvme_chunk *c = m->chunks[i];

		if (c && c->bytes)
			munmap(c->bytes, BF_NVME_CHUNK);
		if (c)
			free(c->bad);
		free(c);
	}
	free(m->chunks);
	if (m->file)
		bf_nvme_file_close(m->file);
	free(m);
}
