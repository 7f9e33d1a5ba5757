/*
 * Shared memory between two processes: a ring of frames, and the door at which its consumer sleeps.
 *
 * A ring goes one way. Its memory is an anonymous file that cannot change its size any more: a head page with both
 * indexes, then the bytes, which each side maps twice in a row, so that no frame wraps. An entry is two bytes of length
 * and the frame (so that its IP header is aligned), in a multiple of 64 bytes. Each side keeps its own index to itself
 * and only shows it to the other: what the other one does to the memory can spoil frames but nothing else.
 */
#ifndef BELFRY_MODELS_FABRIC_SHM_RING_INTERNAL_H
#define BELFRY_MODELS_FABRIC_SHM_RING_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#define BF_RING_MIN 0x10000u
#define BF_RING_MAX 0x4000000u
#define BF_RING_HEAD 4096u

/* In shared memory: all fields are atomic, each index on a line of its own. */
struct bf_ring_head {
	uint64_t tail __attribute__((aligned(64))); /* bytes put so far: the producer's */
	uint64_t head __attribute__((aligned(64))); /* bytes taken so far: the consumer's */
	uint32_t want __attribute__((aligned(64))); /* the producer waits for room */
	/* Bytes that were taken and whose answers were put into rings: the consumer's, never above `head`. */
	uint64_t answered __attribute__((aligned(64)));
};

struct bf_shm_ring {
	struct bf_ring_head *shared; /* NULL: no ring */
	uint8_t *bytes;
	uint32_t size;     /* a power of two */
	uint64_t at;       /* own index */
	uint64_t shown;    /* the same as the other side can see it */
	uint64_t other;    /* the other side's as last seen */
	uint64_t answered; /* the consumer's, as the other side can see it */
};

/* The producer's: memory for `size` bytes (rounded up) and a descriptor to hand over. 0 or a negative errno. */
int bf_ring_create(struct bf_shm_ring *r, uint32_t size, int *fd);

/* The consumer's: -EBADMSG for a descriptor that is no ring, or one whose size could still change; `fd` stays open. */
int bf_ring_map(struct bf_shm_ring *r, int fd);
void bf_ring_unmap(struct bf_shm_ring *r);

/*
 * Producer. Puts a frame of 1 to BF_PACKET_MAX bytes: 0, -EAGAIN when it is full, -EBADMSG when the consumer's index is
 * none. What was put may stay invisible until bf_ring_show().
 */
int bf_ring_put(struct bf_shm_ring *r, const void *frame, uint32_t len);
void bf_ring_show(struct bf_shm_ring *r);
/* Asks the consumer to say when half of it is free. True: there is room for a frame of any length already. */
bool bf_ring_want(struct bf_shm_ring *r);
/* How far the consumer has answered, by its own account. */
uint64_t bf_ring_answered(const struct bf_shm_ring *r);

/*
 * Consumer. Copies the next frame to `frame`, which has room for BF_PACKET_MAX bytes: its length, 0 when there is none,
 * -EBADMSG when what is there makes no sense. The room is the producer's again after bf_ring_show_taken(), which
 * returns true when the producer waits for that.
 */
int bf_ring_take(struct bf_shm_ring *r, void *frame);
bool bf_ring_show_taken(struct bf_shm_ring *r);
bool bf_ring_empty(struct bf_shm_ring *r);
/* Says that what was taken so far has been answered, and that the answers can be seen. */
void bf_ring_show_answered(struct bf_shm_ring *r);
/* How far the producer has put things, as it shows it. */
uint64_t bf_ring_came(const struct bf_shm_ring *r);

/* Where a process sleeps until others have something for it. In shared memory, atomic. */
struct bf_door {
	uint32_t word;     /* futex: changes with each wake */
	uint32_t sleeping; /* somebody waits, or is about to */
	/* Until then others of the process look, who need not be woken; 0: none. */
	uint64_t looks_until_ns __attribute__((aligned(64)));
	uint32_t news __attribute__((aligned(64))); /* something was shown since it was cleared */
};

int bf_door_create(struct bf_door **out, int *fd);
int bf_door_map(struct bf_door **out, int fd); /* as bf_ring_map() */
void bf_door_unmap(struct bf_door *d);         /* NULL is fine */

/* Wakes who sleeps there. What was shown before is visible to whoever wakes or does not fall asleep for it. */
void bf_door_knock(struct bf_door *d);
/* The same for frames: those who look at `news` by themselves are left to find them. */
void bf_door_tell(struct bf_door *d);

#endif
