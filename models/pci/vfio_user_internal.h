/*
 * The vfio-user server's inside. A message travels: vfio_user_io.c (bytes, descriptors) -> vfio_user_message.c (which
 * command, VERSION, what the device is) -> vfio_user_access.c (registers, configuration space), vfio_user_map.c (guest
 * memory), vfio_user_irq.c -> vfio_user_io.c (the answer). vfio_user_far.c sends DMA messages the other way.
 */
#ifndef BELFRY_MODELS_PCI_VFIO_USER_INTERNAL_H
#define BELFRY_MODELS_PCI_VFIO_USER_INTERNAL_H

#include "models/pci/records.h"
#include "models/pci/vfio_user.h"
#include "models/pci/vfio_user_wire.h"
#include "sim/stats.h"

/* A command of the largest size that we take: a write of as many bytes as we announced. */
#define BF_VFU_MESSAGE_MAX (sizeof(struct bf_vfu_header) + sizeof(struct bf_vfu_region_access) + BF_VFU_MAX_TRANSFER)

/* Output: a chunk takes several answers; above the first limit we stop reading, above the second the client is gone. */
#define BF_VFU_CHUNK 65536u
#define BF_VFU_OUT_PAUSE (1u << 20)
#define BF_VFU_OUT_LIMIT (256u << 20)

/* Descriptors that came with the message whose first byte lies at `at` of the input. */
struct bf_vfu_fds {
	size_t at;
	uint32_t count;
	bool truncated;
	int fd[BF_VFU_MAX_FDS];
};

struct bf_vfu_chunk {
	struct bf_vfu_chunk *next;
	size_t cap, len, sent;
	int fd; /* goes with the first byte, borrowed; -1: none */
	uint8_t bytes[];
};

/* A message of the client, complete. Its descriptors are taken by setting them to -1; what is left is closed. */
struct bf_vfu_message {
	uint16_t id, command;
	uint32_t flags, error;
	const uint8_t *payload;
	uint32_t len; /* of the payload */
	int *fd;
	uint32_t nfds;
	bool posted;  /* no answer wanted */
	bool replied; /* the answer is in the output already */
};

/* A file of the guest's memory, mapped once; freed when nothing refers to it and room is needed. */
struct bf_vfu_file {
	uint64_t dev, ino;
	struct bf_region *region;
	void *bytes;
	uint64_t size;
	bool writable;
	uint32_t maps;
};
#define BF_VFU_FILES 64u

struct bf_vfu_map {
	uint64_t iova, last;      /* inclusive: a map may end with the address space */
	struct bf_region *region; /* the file's, or a far one of its own */
	struct bf_vfu_file *file; /* NULL: far */
};

/* The owner of a far region. */
struct bf_vfu_far {
	struct bf_vfio_user *server;
	uint64_t iova;
};

/* A DMA message that is not answered. */
struct bf_vfu_dma {
	uint16_t id;
	uint32_t len;
	struct bf_dma_port *port; /* of a read; NULL for a write, and when nobody waits any more */
	struct bf_region *region;
	void *dst;
	bool read;
};

struct bf_vfu_counts {
	uint64_t sessions, messages, posted, refused, descriptors, maps, unmaps, interrupts, dma_reads, dma_writes,
	    dma_errors, receives, sends;
};

/* How eventfds of the client are rung; vfio_user_bell.c. */
struct bf_vfu_bell {
	unsigned long context; /* the kernel's, of asynchronous I/O */
	int zero;              /* -1: there is none */
	bool opened;           /* or it has been tried */
};

struct bf_vfio_user {
	struct bf_sim *sim;
	struct bf_vfio_user_opts o;
	char name[56]; /* "ssd0.vfio_user" */
	uint32_t actor;
	int listen_fd;
	char *path;
	struct bf_vfu_counts count;

	/* The connection; -1: none. After `dead` nothing goes in or out, and `event` ends it. */
	int fd;
	bool dead, negotiated;
	bool lost;        /* memory that the client took back; set by a signal handler */
	bool paused;      /* nothing is read until the client has taken its answers */
	uint32_t watched; /* BF_LIVE_* */
	struct bf_event end_event;
	uint32_t max_transfer; /* what the client takes in one DMA message */

	/* Input: [in_head, in_tail) of `in`. `skip`: bytes of a message too long to keep that are still to come. */
	uint8_t *in;
	size_t in_cap, in_head, in_tail;
	uint64_t skip;
	struct bf_vfu_fds fds[2];
	uint32_t nfds; /* sets */

	/* Output. */
	struct bf_vfu_chunk *out, *out_last, *spare;
	size_t out_bytes;

	/* Guest memory. */
	struct bf_space space;
	struct bf_vfu_file files[BF_VFU_FILES];
	uint32_t files_made, far_made; /* for names */
	struct bf_vfu_map *maps;       /* sorted by IOVA */
	uint32_t nmaps, maps_cap;

	/* DMA messages in flight, oldest first: [dma_head, dma_tail) of a ring. */
	struct bf_vfu_dma *dma;
	uint32_t dma_head, dma_tail, dma_cap;
	uint32_t writes_out; /* of them writes */
	uint16_t next_id;

	/* Interrupts: an eventfd a vector, -1 without one. Done once for all that is due at a time, by `work`. */
	int *irq;
	struct bf_vfu_bell bell;
	struct bf_event work;
};

void bf_vfu_log(struct bf_vfio_user *s, const char *fmt, ...) BF_PRINTF(2, 3);

/* The connection cannot go on: it ends as soon as nobody is in the middle of it. */
void bf_vfu_hang_up(struct bf_vfio_user *s, const char *fmt, ...) BF_PRINTF(2, 3);

/* vfio_user_io.c. Receives and handles; then sends. */
void bf_vfu_serve(struct bf_vfio_user *s);
/*
 * Room for `len` bytes in the output, which go out with descriptor `fd` (-1: none); NULL when the connection cannot go
 * on. Sent by bf_vfu_flush().
 */
uint8_t *bf_vfu_put(struct bf_vfio_user *s, size_t len, int fd);
void bf_vfu_flush(struct bf_vfio_user *s);
void bf_vfu_io_close(struct bf_vfio_user *s);

/* vfio_user_message.c. Answers the message; the answer of a command that wants none is dropped. */
void bf_vfu_handle(struct bf_vfio_user *s, struct bf_vfu_message *m);
/* The header of a good answer and room for its payload behind it; NULL when none is wanted or can be given. */
uint8_t *bf_vfu_reply(struct bf_vfio_user *s, struct bf_vfu_message *m, uint32_t payload, int fd);
/* The answer of a command that failed with `code`; none to a reply, or when none is wanted. */
void bf_vfu_answer_error(struct bf_vfio_user *s, const struct bf_vfu_message *m, int code);
/* Notes why a message is refused; returns `code`. */
int bf_vfu_refuse(struct bf_vfio_user *s, int code, const char *fmt, ...) BF_PRINTF(3, 4);
#ifdef __clang_analyzer__ /* as bf_fail() */
#define bf_vfu_refuse(s, code, ...) ((bf_vfu_refuse)(s, code, __VA_ARGS__), (code))
#endif
/* Capabilities in the client's JSON text; vfio_user_json.c. False when it is not JSON with an object on top. */
struct bf_vfu_capabilities {
	uint64_t max_transfer;
	bool write_multiple;
};
bool bf_vfu_parse_capabilities(const char *text, size_t len, struct bf_vfu_capabilities *caps);

/* Commands. Each returns 0 or a negative errno, which is the answer unless `replied`. */
int bf_vfu_region_read(struct bf_vfio_user *s, struct bf_vfu_message *m);
int bf_vfu_region_write(struct bf_vfio_user *s, struct bf_vfu_message *m);
int bf_vfu_write_multi(struct bf_vfio_user *s, struct bf_vfu_message *m);
int bf_vfu_reset(struct bf_vfio_user *s, struct bf_vfu_message *m);
int bf_vfu_dma_map(struct bf_vfio_user *s, struct bf_vfu_message *m);
int bf_vfu_dma_unmap(struct bf_vfio_user *s, struct bf_vfu_message *m);
int bf_vfu_set_irqs(struct bf_vfio_user *s, struct bf_vfu_message *m);

/* vfio_user_map.c */
void bf_vfu_maps_close(struct bf_vfio_user *s);

/* vfio_user_far.c. A region's DMA that nobody will answer fails now. */
extern const struct bf_far_ops bf_vfu_far_ops;
extern const struct bf_mmio_ops bf_vfu_far_mmio;
void bf_vfu_dma_answer(struct bf_vfio_user *s, const struct bf_vfu_message *m);
void bf_vfu_dma_abandon(struct bf_vfio_user *s, const struct bf_region *region);
void bf_vfu_dma_close(struct bf_vfio_user *s);

/* vfio_user_bell.c */
void bf_vfu_bell_init(struct bf_vfu_bell *b);
void bf_vfu_bell_close(struct bf_vfu_bell *b);
/* Adds 1 to the counter of the eventfd unless it is full. Never blocks. False: it is no eventfd. */
bool bf_vfu_bell_ring(struct bf_vfu_bell *b, int fd);

/* vfio_user_irq.c */
void bf_vfu_irqs_close(struct bf_vfio_user *s);
/* Something is due: interrupts, or output. Done once at the end of what happens at this time. */
void bf_vfu_work_later(struct bf_vfio_user *s);
void bf_vfu_deliver(struct bf_vfio_user *s);

#endif
