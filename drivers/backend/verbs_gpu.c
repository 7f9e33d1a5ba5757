/*
 * Memory of a real NVIDIA GPU that a NIC works on. No processor reaches it, so host code has a copy: what it put there
 * is brought to the GPU when a run starts, and what the run left there comes back when it has ended.
 *
 * A NIC gets it as a DMA-BUF where driver, kernel and NIC can, otherwise by its address, which a kernel takes when
 * nvidia-peermem is loaded.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "drivers/backend/gpu_memory_internal.h"
#include "drivers/backend/verbs_world_internal.h"

static int probe_threads(char *why, size_t cap)
{
	const struct bf_cuda_api *api;
	int rc = bf_cuda_load(&api, why, cap);

	if (!rc)
		rc = api->open(why, cap);
	if (!rc)
		api->close();
	return rc;
}

int bf_verbs_gpu_probe(bool threads, char *why, size_t cap)
{
	struct bf_gpu_memory *g;
	char name[128] = "";
	uint64_t va;
	int fd = -1, rc;

	if (threads)
		return probe_threads(why, cap);
	rc = bf_gpu_memory_open(&g, name, sizeof(name));
	if (rc) {
		snprintf(why, cap, "%s", name);
		return rc;
	}
	rc = bf_gpu_memory_alloc(g, BF_GPU_PAGE, &va);
	if (rc) {
		snprintf(why, cap, "%s gives no memory: %s", name, strerror(-rc));
	} else {
		snprintf(why, cap, "%s, %s", name,
			 bf_gpu_memory_dmabuf(g, va, BF_GPU_PAGE, &fd)
			     ? "by address: it has no DMA-BUF, so a NIC's kernel wants nvidia-peermem"
			     : "by DMA-BUF");
		if (fd >= 0)
			close(fd);
		bf_gpu_memory_free(g, va);
	}
	bf_gpu_memory_close(g);
	return rc;
}

/* ---- allocation ---- */

static int open_gpu(struct bf_verbs_world *w)
{
	int rc = w->gpu ? 0 : bf_gpu_memory_open(&w->gpu, w->gpu_name, sizeof(w->gpu_name));

	return rc ? bf_fail(w->m.err, rc, "GPU memory: %s", w->gpu_name) : 0;
}

/* Where nobody but threads of the CPU stores into the copy, what they stored is told by what was there before. */
static int make_copy(const struct bf_verbs_world *w, struct bf_verbs_piece *p)
{
	p->at = mmap(NULL, p->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p->at == MAP_FAILED) {
		p->at = NULL;
		return -ENOMEM;
	}
	p->before = w->cuda ? NULL : calloc(2, p->size);
	return w->cuda || p->before ? 0 : -ENOMEM;
}

int bf_verbs_gpu_alloc(struct bf_verbs_world *w, struct bf_verbs_piece *p, const char *name)
{
	int rc = open_gpu(w);

	if (rc)
		return rc;
	p->dmabuf = -1;
	rc = bf_gpu_memory_alloc(w->gpu, p->size, &p->va);
	p->gpu = !rc;
	if (!rc)
		rc = make_copy(w, p);
	if (!rc && p->va % BF_PAGE)
		rc = -ENOTSUP;
	if (!rc)
		return 0;
	bf_verbs_gpu_free(w, p);
	return bf_fail(w->m.err, rc, "memory '%s': %s gives no %" PRIu64 " bytes: %s", name, w->gpu_name, p->size,
		       strerror(-rc));
}

void bf_verbs_gpu_free(struct bf_verbs_world *w, struct bf_verbs_piece *p)
{
	if (p->gpu)
		bf_gpu_memory_free(w->gpu, p->va);
	if (p->dmabuf >= 0)
		close(p->dmabuf);
	if (p->at)
		munmap(p->at, p->size);
	free(p->before);
}

/* ---- registration ---- */

/* The piece of a GPU's memory that has all of these bytes, or NULL. */
static struct bf_verbs_piece *piece_at(const struct bf_verbs_world *w, uint64_t va, uint64_t bytes)
{
	struct bf_verbs_piece *p = w->pieces;

	while (p && (!p->gpu || va - p->va >= p->size || bytes > p->size - (va - p->va)))
		p = p->next;
	return p;
}

int bf_verbs_umem(struct bf_verbs_world *w, struct bf_verbs_nic *n, uint64_t va, uint64_t bytes, uint32_t *id,
		  void **umem)
{
	struct bf_verbs_piece *p = piece_at(w, va, bytes);
	int rc, first;

	if (!p)
		return w->api->umem_create(n->dev, va, bytes, -1, id, umem);
	first = p->dmabuf < 0 ? bf_gpu_memory_dmabuf(w->gpu, p->va, p->size, &p->dmabuf) : 0;
	if (!first)
		first = w->api->umem_create(n->dev, va - p->va, bytes, p->dmabuf, id, umem);
	if (!first) {
		w->gpu_by = "DMA-BUF";
		return 0;
	}
	rc = w->api->umem_create(n->dev, va, bytes, -1, id, umem);
	if (!rc)
		w->gpu_by = "address";
	else
		bf_fail(w->m.err, rc,
			"memory of %s cannot be registered: by DMA-BUF: %s; by address, which takes "
			"nvidia-peermem: %s",
			w->gpu_name, strerror(-first), strerror(-rc));
	return rc;
}

/* ---- around a run ---- */

int bf_verbs_gpu_send(struct bf_verbs_world *w)
{
	int rc = 0;

	for (struct bf_verbs_piece *p = w->pieces; p && !rc; p = p->next) {
		if (!p->gpu)
			continue;
		rc = bf_gpu_memory_write(w->gpu, p->va, p->at, p->size);
		if (p->before)
			memcpy(p->before, p->at, p->size);
	}
	return rc ? bf_fail(w->m.err, rc, "copying to %s: %s", w->gpu_name, strerror(-rc)) : 0;
}

/* What a thread of the CPU stored into the copy stays, all else is as the NIC left it. */
static int merge(struct bf_verbs_world *w, struct bf_verbs_piece *p)
{
	uint8_t *there = p->before + p->size, *here = p->at;
	int rc = bf_gpu_memory_read(w->gpu, there, p->va, p->size);

	for (uint64_t i = 0; !rc && i < p->size; i++)
		if (here[i] == p->before[i])
			here[i] = there[i];
	return rc;
}

int bf_verbs_gpu_fetch(struct bf_verbs_world *w)
{
	int rc = 0;

	for (struct bf_verbs_piece *p = w->pieces; p && !rc; p = p->next)
		if (p->gpu)
			rc = p->before ? merge(w, p) : bf_gpu_memory_read(w->gpu, p->at, p->va, p->size);
	return rc ? bf_fail(w->m.err, rc, "copying from %s: %s", w->gpu_name, strerror(-rc)) : 0;
}

const void *bf_verbs_look(struct bf_world *m, const void *p)
{
	const struct bf_verbs_piece *piece = piece_at(bf_verbs_world_of(m), (uintptr_t)p, 1);

	return piece ? (const uint8_t *)piece->at + ((uintptr_t)p - piece->va) : p;
}
