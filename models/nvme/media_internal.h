/*
 * Media: what a namespace's bytes are made of, and how long the flash takes.
 *
 * Bytes are in memory or in a regular file. Memory is sparse, in chunks; its bytes may be read and written in place, by
 * DMA. A file's go through operations. Whether a block is allocated or marked uncorrectable is kept here for both, by
 * sectors of 512 bytes, whatever the block size is. Offsets and lengths are bytes in the namespace, whole blocks.
 */
#ifndef BELFRY_MODELS_NVME_MEDIA_INTERNAL_H
#define BELFRY_MODELS_NVME_MEDIA_INTERNAL_H

#include "models/nvme/device_internal.h"
#include "models/nvme/media.h"

#define BF_NVME_CHUNK (2u << 20)
#define BF_NVME_CHUNK_WORDS (BF_NVME_CHUNK / 512 / 64)

/* 2 MiB of a namespace, from the first write on. Bytes of sectors that are not allocated are zero. */
struct bf_nvme_chunk {
	uint8_t *bytes; /* memory only */
	uint64_t *bad;  /* bit per sector: Write Uncorrectable; NULL: none */
	uint64_t allocated[BF_NVME_CHUNK_WORDS];
};

struct bf_nvme_media {
	struct bf_sim *sim;
	struct bf_nvme_file *file; /* NULL: memory */
	struct bf_nvme_chunk **chunks;
	uint64_t nchunks;
	uint64_t bytes;
	uint64_t first_page; /* among the media pages of the device */
	uint64_t allocated;  /* sectors */
	uint64_t bad;        /* sectors */
	bool born_allocated; /* all sectors of absent chunks are: a file that was there before */
	struct bf_nvme_media *next_dead;
};

#define BF_NVME_STAGE_LOG 12u     /* smallest staging buffer */
#define BF_NVME_STAGE_CLASSES 17u /* 4 KiB to 256 MiB, the most that one command can name */

/* What the namespaces of a device share. */
struct bf_nvme_media_unit {
	struct bf_nvme_error_map *map;
	bool has_rules;
	bool instant;           /* no media time at all */
	uint64_t *read_ps;      /* [channels]: reads are over */
	uint64_t *program_ps;   /* [channels]: programs are over, if no read comes between */
	uint64_t read_end;      /* of the last read, in bytes of all media */
	uint32_t next_channel;  /* that programs the next page */
	uint64_t fill;          /* bytes of the page that is being gathered */
	uint64_t backlog_ps;    /* how far programs may lag behind before the cache is full; BF_NEVER: it never is */
	uint64_t bandwidth_ps;  /* when the total bandwidth is free */
	uint64_t busy_until_ps; /* for the SMART log */
	void *stages[BF_NVME_STAGE_CLASSES];
	struct bf_nvme_file_op *free_ops, *busy_ops;
	struct bf_nvme_media *dead; /* of namespaces that went */
};

/* Opens and closes memory or file; 0 or negative errno with sim->error set. */
int bf_nvme_store_open(struct bf_nvme *dev, const struct bf_nvme_ns_opts *opts, uint64_t bytes,
		       struct bf_nvme_media **out);
void bf_nvme_store_close(struct bf_nvme_media *m);
/* Closes the file and forgets the bytes, but keeps their addresses valid: DMA may be on its way from or to them. */
void bf_nvme_store_retire(struct bf_nvme *dev, struct bf_nvme_media *m);

/* media_memory.c: bytes in place. `*run` is cut to what lies together. Writable: NULL on lack of memory. */
uint8_t *bf_nvme_media_readable(const struct bf_nvme_media *m, uint64_t offset, uint64_t *run);
uint8_t *bf_nvme_media_writable(struct bf_nvme_media *m, uint64_t offset, uint64_t *run);

/* media_state.c. Written: allocated and readable again. False on lack of memory (of the last two: never). */
bool bf_nvme_media_written(struct bf_nvme_media *m, uint64_t offset, uint64_t len);
bool bf_nvme_media_poison(struct bf_nvme_media *m, uint64_t offset, uint64_t len);
void bf_nvme_media_forget(struct bf_nvme_media *m, uint64_t offset, uint64_t len);
struct bf_nvme_chunk *bf_nvme_media_chunk(struct bf_nvme_media *m, uint64_t index);
/* Offset of the first sector that is uncorrectable or not allocated; `offset` + `len` when there is none. */
uint64_t bf_nvme_media_find_bad(const struct bf_nvme_media *m, uint64_t offset, uint64_t len);
uint64_t bf_nvme_media_find_hole(const struct bf_nvme_media *m, uint64_t offset, uint64_t len);

/* media_time.c: when the media are done with what is asked for now. */
int bf_nvme_time_open(struct bf_nvme *dev);
uint64_t bf_nvme_read_time(struct bf_nvme *dev, const struct bf_nvme_media *m, uint64_t offset, uint64_t len);
/* `through`: not before it is on the flash. */
uint64_t bf_nvme_write_time(struct bf_nvme *dev, uint64_t len, bool through);
uint64_t bf_nvme_flush_time(struct bf_nvme *dev);

/*
 * Operations on bytes that are not moved in place. `next` gets 0 or a status word, at once or, for a file in live mode,
 * when a thread of the pool is done; never when the request was dropped meanwhile.
 */
enum bf_nvme_media_op {
	BF_NVME_OP_READ,
	BF_NVME_OP_WRITE,
	BF_NVME_OP_WRITE_THROUGH, /* and onto the disk */
	BF_NVME_OP_COMPARE,       /* with `bytes` */
	BF_NVME_OP_COMPARE_WRITE, /* with the first `len` bytes; then writes the second, with no other write between */
	BF_NVME_OP_VERIFY,
	BF_NVME_OP_ZERO, /* zeros that are allocated */
	BF_NVME_OP_DEALLOCATE,
	BF_NVME_OP_SYNC,
};
void bf_nvme_media_do(struct bf_nvme_rq *rq, struct bf_nvme_ns *ns, enum bf_nvme_media_op op, uint64_t offset,
		      uint64_t len, uint8_t *bytes, bf_nvme_done_fn *next);

/* Forgets everything (Format), at once. 0 or a status word. */
uint32_t bf_nvme_media_erase(struct bf_nvme_media *m);

/* media_file.c */
int bf_nvme_file_open(struct bf_nvme *dev, const struct bf_nvme_ns_opts *opts, struct bf_nvme_media *m);
void bf_nvme_file_close(struct bf_nvme_file *f);
void bf_nvme_file_do(struct bf_nvme_rq *rq, struct bf_nvme_ns *ns, enum bf_nvme_media_op op, uint64_t offset,
		     uint64_t len, uint8_t *bytes, bf_nvme_done_fn *next);
uint32_t bf_nvme_file_erase(struct bf_nvme_media *m);
void bf_nvme_file_free_ops(struct bf_nvme_file_op *list);
/* Waits for threads that work for this device, or this namespace; their requests get no answer any more. */
void bf_nvme_file_quiesce(struct bf_nvme *dev, const struct bf_nvme_media *m);

/* io*.c: what commands have in common. */

/* The checks that a command's fields allow; its blocks are in rq->io as bytes then. 0 or a status word. */
uint32_t bf_nvme_io_check(struct bf_nvme_rq *rq);
/* Whether the namespace has these blocks: 0 or a status word. */
uint32_t bf_nvme_check_range(struct bf_nvme_rq *rq, uint64_t slba, uint64_t blocks);
/* Whether the media can read or write [offset, offset + len): 0 or a status word; `*delay_ps` grows. */
uint32_t bf_nvme_check_media(struct bf_nvme_rq *rq, uint64_t offset, uint64_t len, bool write, uint64_t *delay_ps);
/*
 * Whether the data may go straight between host memory and the media's memory: if each DMA operation moves whole
 * blocks, a block is old or new at any time, which is all that AWUN and AWUPF of 0 promise. Otherwise they are staged.
 */
bool bf_nvme_in_place(const struct bf_nvme_rq *rq);
/* Staging buffers of at least `len` bytes, given back with the request; NULL on lack of memory. */
uint8_t *bf_nvme_stage(struct bf_nvme_rq *rq, uint64_t len);
uint8_t *bf_nvme_stage_ranges(struct bf_nvme_rq *rq, uint64_t len);
/* Goes on at `when_ps`, and counts the time as the media's. */
void bf_nvme_io_after(struct bf_nvme_rq *rq, uint64_t when_ps, void (*next)(struct bf_nvme_rq *rq));
/* Ends the command: SMART counters, completion. */
void bf_nvme_io_end(struct bf_nvme_rq *rq, uint32_t status);

/* Commands: io_write.c, io_ranges.c, io_fused.c. */
void bf_nvme_io_write(struct bf_nvme_rq *rq);
void bf_nvme_io_write_zeroes(struct bf_nvme_rq *rq);
void bf_nvme_io_write_uncorrectable(struct bf_nvme_rq *rq);
void bf_nvme_io_flush(struct bf_nvme_rq *rq);
void bf_nvme_io_dsm(struct bf_nvme_rq *rq);
void bf_nvme_io_copy(struct bf_nvme_rq *rq);
void bf_nvme_io_fused(struct bf_nvme_rq *first);

#endif
