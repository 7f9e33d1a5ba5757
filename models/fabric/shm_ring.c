#include "models/fabric/shm_ring_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "models/fabric/fabric.h"
#include "sim/bytes.h"
#include "sim/clock.h"

#define ENTRY_ALIGN 64u
#define LEN_BYTES 2u
#define SHOW_EVERY 8192u /* bytes put without a word: fewer moves of the index's cache line, and still a pipeline */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static uint32_t entry_size(uint32_t len)
{
	return (LEN_BYTES + len + ENTRY_ALIGN - 1) & ~(ENTRY_ALIGN - 1);
}

/* Anonymous memory whose size is fixed: no other process can make an access here fail. */
static int sealed_memory(const char *name, uint32_t size)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), rc;

	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, size) && !fcntl(fd, F_ADD_SEALS, SEALS))
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

/* The size of memory of sealed_memory(), 0 if it is none. */
static uint64_t sealed_size(int fd)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & SEALS) != SEALS || seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE) || fstat(fd, &st))
		return 0;
	return (uint64_t)st.st_size;
}

static int map(struct bf_shm_ring *r, int fd, uint32_t size)
{
	size_t all = BF_RING_HEAD + 2 * (size_t)size;
	int prot = PROT_READ | PROT_WRITE;
	uint8_t *at = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int rc;

	if (at == MAP_FAILED)
		return -errno;
	if (mmap(at, BF_RING_HEAD + (size_t)size, prot, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED ||
	    mmap(at + BF_RING_HEAD + size, size, prot, MAP_SHARED | MAP_FIXED, fd, BF_RING_HEAD) == MAP_FAILED) {
		rc = -errno;
		munmap(at, all);
		return rc;
	}
	memset(r, 0, sizeof(*r));
	r->shared = (struct bf_ring_head *)(void *)at;
	r->bytes = at + BF_RING_HEAD;
	r->size = size;
	return 0;
}

int bf_ring_create(struct bf_shm_ring *r, uint32_t size, int *fd)
{
	uint32_t rounded = BF_RING_MIN;
	int rc;

	while (rounded < size && rounded < BF_RING_MAX)
		rounded *= 2;
	*fd = sealed_memory("belfry-ring", BF_RING_HEAD + rounded);
	if (*fd < 0)
		return *fd;
	rc = map(r, *fd, rounded);
	if (rc)
		close(*fd);
	return rc;
}

int bf_ring_map(struct bf_shm_ring *r, int fd)
{
	uint64_t size = sealed_size(fd) - BF_RING_HEAD;

	if (size < BF_RING_MIN || size > BF_RING_MAX || size & (size - 1))
		return -EBADMSG;
	return map(r, fd, (uint32_t)size);
}

void bf_ring_unmap(struct bf_shm_ring *r)
{
	if (r->shared)
		munmap(r->shared, BF_RING_HEAD + 2 * (size_t)r->size);
	r->shared = NULL;
}

/* True when `need` bytes are free. An index that is none leaves `other` more than a ring away. */
static bool has_room(struct bf_shm_ring *r, uint32_t need)
{
	if (BF_LIKELY(r->at + need - r->other <= r->size))
		return true;
	r->other = __atomic_load_n(&r->shared->head, __ATOMIC_ACQUIRE);
	return r->at - r->other <= r->size && r->at + need - r->other <= r->size;
}

int bf_ring_put(struct bf_shm_ring *r, const void *frame, uint32_t len)
{
	uint32_t need = entry_size(len);
	uint8_t *to = r->bytes + (r->at & (r->size - 1));

	if (BF_UNLIKELY(!has_room(r, need)))
		return r->at - r->other <= r->size ? -EAGAIN : -EBADMSG;
	bf_put_le16(to, (uint16_t)len);
	memcpy(to + LEN_BYTES, frame, len);
	r->at += need;
	if (r->at - r->shown >= SHOW_EVERY)
		bf_ring_show(r);
	return 0;
}

void bf_ring_show(struct bf_shm_ring *r)
{
	__atomic_store_n(&r->shared->tail, r->at, __ATOMIC_RELEASE);
	r->shown = r->at;
}

bool bf_ring_want(struct bf_shm_ring *r)
{
	__atomic_store_n(&r->shared->want, 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* either we see the room, or the consumer sees that we want it */
	return has_room(r, entry_size(BF_PACKET_MAX));
}

uint64_t bf_ring_answered(const struct bf_shm_ring *r)
{
	return __atomic_load_n(&r->shared->answered, __ATOMIC_ACQUIRE);
}

int bf_ring_take(struct bf_shm_ring *r, void *frame)
{
	const uint8_t *from = r->bytes + (r->at & (r->size - 1));
	uint64_t there = r->other - r->at;
	uint32_t len;

	if (!there) {
		r->other = __atomic_load_n(&r->shared->tail, __ATOMIC_ACQUIRE);
		there = r->other - r->at;
		if (!there)
			return 0;
	}
	/* Read once: it may change under us. */
	len = __atomic_load_n((const uint16_t *)(const void *)from, __ATOMIC_RELAXED);
	if (BF_UNLIKELY(there > r->size || there % ENTRY_ALIGN || !len || len > BF_PACKET_MAX ||
			entry_size(len) > there))
		return -EBADMSG;
	memcpy(frame, from + LEN_BYTES, len);
	r->at += entry_size(len);
	return (int)len;
}

bool bf_ring_show_taken(struct bf_shm_ring *r)
{
	if (r->shown == r->at)
		return false;
	__atomic_store_n(&r->shared->head, r->at, __ATOMIC_RELEASE);
	r->shown = r->at;
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* as in bf_ring_want() */
	if (BF_LIKELY(!__atomic_load_n(&r->shared->want, __ATOMIC_RELAXED)))
		return false;
	if (__atomic_load_n(&r->shared->tail, __ATOMIC_RELAXED) - r->at > r->size / 2)
		return false;
	return __atomic_exchange_n(&r->shared->want, 0, __ATOMIC_ACQ_REL) != 0;
}

void bf_ring_show_answered(struct bf_shm_ring *r)
{
	if (r->answered == r->at)
		return;
	__atomic_store_n(&r->shared->answered, r->at, __ATOMIC_RELEASE);
	r->answered = r->at;
}

uint64_t bf_ring_came(const struct bf_shm_ring *r)
{
	return __atomic_load_n(&r->shared->tail, __ATOMIC_ACQUIRE);
}

bool bf_ring_empty(struct bf_shm_ring *r)
{
	return r->other == r->at && __atomic_load_n(&r->shared->tail, __ATOMIC_ACQUIRE) == r->at;
}

int bf_door_create(struct bf_door **out, int *fd)
{
	int rc;

	*out = NULL;
	*fd = sealed_memory("belfry-door", BF_RING_HEAD);
	if (*fd < 0)
		return *fd;
	rc = bf_door_map(out, *fd);
	if (rc)
		close(*fd);
	return rc;
}

int bf_door_map(struct bf_door **out, int fd)
{
	void *at;

	if (sealed_size(fd) != BF_RING_HEAD)
		return -EBADMSG;
	at = mmap(NULL, BF_RING_HEAD, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	*out = at;
	return 0;
}

void bf_door_unmap(struct bf_door *d)
{
	if (d)
		munmap(d, BF_RING_HEAD);
}

void bf_door_tell(struct bf_door *d)
{
	uint64_t until;

	__atomic_store_n(&d->news, 1, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&d->sleeping, __ATOMIC_RELAXED))
		return;
	until = __atomic_load_n(&d->looks_until_ns, __ATOMIC_RELAXED);
	if (until && bf_monotonic_ns() < until)
		return;
	bf_door_knock(d);
}

void bf_door_knock(struct bf_door *d)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* either we see the sleeper, or it sees what we have shown */
	if (BF_LIKELY(!__atomic_load_n(&d->sleeping, __ATOMIC_RELAXED)) ||
	    !__atomic_exchange_n(&d->sleeping, 0, __ATOMIC_ACQ_REL))
		return;
	__atomic_add_fetch(&d->word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &d->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
