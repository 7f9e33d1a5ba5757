/*
 * What the files of libcuda.so.1 share. One lock guards all of it; the machine behind (tools/exec/gpu.h) has its own,
 * which is taken second. The machine says that a kernel has ended by a word that counts, without any lock.
 */
#ifndef BELFRY_TOOLS_CUDA_DRIVER_INTERNAL_H
#define BELFRY_TOOLS_CUDA_DRIVER_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>

#include "sim/compiler.h"
#include "tools/cuda/driver.h"
#include "tools/exec/gpu.h"

struct bf_cu_device {
	struct bf_cu_context *primary;
	uint32_t retained;
	unsigned flags;
	uint64_t in_use; /* bytes of its memory */
	int fd;          /* that is its memory; -1: none yet */
	uint64_t next_offset;
	int fault; /* what killed it, told once; 0: it lives */
	size_t limit[16];
	uint32_t peers; /* devices whose memory it has been given access to */
	/* Bytes of graphs' memory: allocated by their launches, the most of it, there for them, the most of it. */
	uint64_t graphs[4];
};

struct bf_cu_context {
	uint32_t magic;
	int device;
	unsigned flags;
	bool primary;
	struct bf_cu_stream *legacy; /* its default stream */
};

/* ---- driver.c ---- */

struct bf_cu {
	pthread_mutex_t lock;
	const struct bf_exec_gpu_calls *machine; /* NULL: cuInit() has not been */
	const struct bf_exec_gpu_profile *profile;
	uint32_t count; /* devices */
	bool ended;
	struct bf_cu_device device[BF_EXEC_GPUS_MAX];
	uint32_t word; /* counts ends of kernels and whatever else may let a stream go on */
};
extern struct bf_cu bf_cu;

/* What a context begins with. */
void bf_cu_limits(struct bf_cu_device *d);

/* As ".target sm_90" has it. */
static inline uint32_t bf_cu_arch(void)
{
	return bf_cu.profile->major * 10 + bf_cu.profile->minor;
}

/* The lock, for calls of the program. */
void bf_cu_lock(void);
void bf_cu_unlock(void);

/* 0, BF_CU_NOT_INITIALIZED, or what killed the device. */
int bf_cu_ready(void);

/* ---- device.c ---- */

/* As bf_cu_ready(), and BF_CU_INVALID_DEVICE: there is none of that number. */
int bf_cu_check_device(int device);
/* The PCI domain of this process's GPUs. */
uint32_t bf_cu_pci_domain(void);

/* ---- names.c ---- */

/* The calling thread is in a call whose stream 0 is its own (_ptsz, _ptds). */
extern _Thread_local bool bf_cu_per_thread;

/* ---- context.c ---- */

/* The calling thread's context; makes device 0's primary one current when there is none and `make`. */
struct bf_cu_context *bf_cu_current(void);
/* The same, and 0 or the reason why nothing may be done in it. */
int bf_cu_enter(struct bf_cu_context **out);
bool bf_cu_is_context(const struct bf_cu_context *c);

/* ---- driver.c ---- */

/* The file that code at an address is of. */
const char *bf_cu_caller(const void *address);
/* One line for the program's user on standard error. */
void bf_cu_say(const char *fmt, ...) BF_PRINTF(1, 2);

/* What kernels have printed goes to standard output. */
void bf_cu_print(void);

/* ---- memory.c ---- */

enum bf_cu_block_kind {
	BF_CU_BLOCK_DEVICE,
	BF_CU_BLOCK_PINNED,
	BF_CU_BLOCK_MANAGED,
	BF_CU_BLOCK_REGISTERED,
	BF_CU_BLOCK_DOORBELL,
	BF_CU_BLOCK_MAPPED, /* a mapping of a cuMemCreate() handle */
	BF_CU_BLOCK_PEER,   /* of another process, by IPC */
};

struct bf_cu_block {
	uint64_t at, size;     /* as asked for */
	uint64_t first, bytes; /* the pages */
	enum bf_cu_block_kind kind;
	int device;
	unsigned flags;
	uint64_t id;
	uint64_t offset; /* in the device's file */
	struct bf_cu_handle *handle;
	bool read_only, sync;
	bool given;                       /* MAPPED: to the GPUs */
	struct bf_cu_graph_memory *graph; /* DEVICE: memory of graphs */
	struct bf_cu_pool *pool;          /* DEVICE: that it came from */
	struct bf_cu_advice {             /* MANAGED */
		bool read_mostly, preferred, prefetched;
		struct bf_cu_location place, last; /* that is preferred; of the last prefetch */
		uint32_t accessed;                 /* by devices; bit 31: by the host */
	} advice;
};

/* Memory of a GPU, by whatever way it came. */
static inline bool bf_cu_in_device(const struct bf_cu_block *b)
{
	return b->kind == BF_CU_BLOCK_DEVICE || b->kind == BF_CU_BLOCK_MAPPED || b->kind == BF_CU_BLOCK_PEER;
}

/* The block that holds an address, or NULL. Under the lock. */
struct bf_cu_block *bf_cu_block_at(uint64_t address);
/* Memory of a device. 0 or an error. Under the lock. */
int bf_cu_allocate(int device, uint64_t size, struct bf_cu_block **out);
int bf_cu_release(uint64_t at);
/* All that a device's context has, but for memory of graphs and what other processes share. */
void bf_cu_release_all(int device);
/* The same for who has it: memory of a graph stays the graph's. */
int bf_cu_give_back(uint64_t at);
/* Adds a block that is there already. */
int bf_cu_block_add(const struct bf_cu_block *like, struct bf_cu_block **out);
/* The file that is a device's memory; -1: there is none to be had. */
int bf_cu_file_of(int device);
/* A piece of the file of another process's device, mapped and given to the GPUs. 0 or an error. */
int bf_cu_map_peer(const struct bf_cu_ipc *handle, int fd, CUdeviceptr *out);
/* What another process has open as `fd`, as a descriptor of this one. */
int bf_cu_ipc_open(uint32_t pid, int fd, int *out);
void bf_cu_block_remove(struct bf_cu_block *b);

/* ---- pool.c ---- */

void bf_cu_pool_freed(struct bf_cu_block *b); /* before it goes */

/* ---- module.c ---- */

/* What the linker makes: this, then fat binaries, each at a multiple of 8 bytes. */
struct bf_cu_image {
	uint32_t magic, pad;
	uint64_t size; /* of all */
};
#define BF_CU_IMAGE_MAGIC 0x6b6c6662u

struct bf_cu_module {
	uint32_t magic;
	struct bf_cu_module *next;
	char *name; /* for messages */
	struct bf_ptx_source *sources;
	uint32_t source_count, source_cap;
	struct bf_ptx_library *lib[BF_EXEC_GPUS_MAX];
	struct bf_cu_function *functions;
	char missing[512]; /* why it has no PTX; empty: it has */
	bool gone;         /* the program has unloaded it */
	int failed;        /* an earlier try to load it */
};

struct bf_cu_function {
	uint32_t magic;
	struct bf_cu_function *next;
	struct bf_cu_module *module;
	char *name;
	struct bf_ptx_kernel_info info;
	uint32_t registers;
	char *refused; /* why the machine does not run it; NULL: it does */
	bool told;
	struct bf_cu_param {
		uint32_t offset, size;
	} * params;
	uint32_t dynamic_shared; /* the most that a launch may ask for */
	int carveout;
	bool wide_clusters;
	uint32_t cluster[3];
};

/* Its context is made anew: variables of what is loaded there have their first values. Under the lock. */
void bf_cu_modules_renew(int device);
/* The library of a module on a device, loaded if it is not. Under the lock. */
int bf_cu_load(struct bf_cu_module *m, int device, struct bf_ptx_library **out);
struct bf_cu_function *bf_cu_function_of(void *handle);
/* How many of its blocks an SM holds at once. */
uint32_t bf_cu_blocks_of_sm(const struct bf_cu_function *f, uint32_t threads, uint64_t dynamic);

/* ---- stream.c ---- */

enum bf_cu_op_kind {
	BF_CU_OP_KERNEL,
	BF_CU_OP_COPY,
	BF_CU_OP_FILL,
	BF_CU_OP_HOST,
	BF_CU_OP_RECORD,
	BF_CU_OP_WAIT_EVENT,
	BF_CU_OP_WRITE,
	BF_CU_OP_WAIT,
	BF_CU_OP_FREE,
	BF_CU_OP_CONDITION,
	BF_CU_OP_NOTHING,
};

enum bf_cu_op_state { BF_CU_OP_QUEUED, BF_CU_OP_STARTED, BF_CU_OP_DONE };

/* Something in a stream. */
struct bf_cu_op {
	struct bf_cu_op *next;
	struct bf_cu_op *next_call; /* HOST: among those that are to be called */
	struct bf_cu_stream *stream;
	enum bf_cu_op_kind kind;
	uint32_t state; /* enum bf_cu_op_state; DONE by whoever does it, without the lock */
	uint64_t number;
	struct {
		struct bf_cu_stream *stream;
		uint64_t number;
	} * after; /* in other streams */
	uint32_t after_count, after_cap;
	union {
		struct {
			struct bf_cu_function *fn;
			struct bf_ptx_launch launch;
			uint8_t *params; /* behind the op */
		} kernel;
		struct bf_cu_copy3d copy;
		struct {
			CUdeviceptr at;
			size_t pitch, width, height;
			uint32_t value, size;
		} fill;
		struct {
			bf_cu_host_fn *fn;
			bf_cu_stream_fn *old;
			void *arg;
		} host;
		struct {
			struct bf_cu_event *event;
			uint64_t round;
		} event;
		struct {
			CUdeviceptr at;
			uint64_t value;
			uint32_t bytes, flags;
		} word;
		uint64_t free;
		struct {
			struct bf_cu_condition *is;
			uint64_t number; /* of its stream, at which what it runs is over */
			bool runs, busy;
		} condition;
	};
};

#define BF_CU_STREAM_ATTRIBUTES 5u

struct bf_cu_stream {
	struct bf_cu_context *context;
	uint32_t id;
	unsigned flags; /* 1: does not wait for the legacy stream */
	int priority;
	bool per_thread, dead;
	struct bf_cu_op *head, **tail;
	uint64_t queued, done;         /* numbers of operations */
	struct bf_cu_capture *capture; /* it is captured; then the nodes that the next one waits for */
	struct bf_cu_node **captured;
	uint32_t captured_count, captured_cap;
	union bf_cu_attribute_value attribute[BF_CU_STREAM_ATTRIBUTES]; /* stream_attributes.c */
};

/* Of an event that several processes have: rounds, in memory that they share. */
struct bf_cu_shared_event {
	uint64_t recorded, completed;
};

struct bf_cu_event {
	uint32_t magic;
	struct bf_cu_shared_event *shared; /* NULL: it is of this process alone */
	bool waited;                       /* streams may look at it for as long as they like */
	int fd;                            /* that the shared memory is of, in the process that made it */
	unsigned flags;
	uint64_t recorded, completed; /* rounds */
	struct bf_cu_stream *stream;
	uint64_t number; /* of the last record in its stream */
	uint64_t when_ns;
	bool timed;
	uint32_t refs;
	uint64_t capture; /* in which it was recorded last, with what; 0: in none */
	struct bf_cu_node **captured;
	uint32_t captured_count, captured_cap;
	int device;
};

/* The stream that a handle means in the current context. NULL: none. Under the lock. */
struct bf_cu_stream *bf_cu_stream_of(CUstream handle, struct bf_cu_context *c);
/* Enters the current context and finds its stream: then the lock is held. Otherwise an error, and it is not. */
int bf_cu_enter_stream(CUstream handle, struct bf_cu_stream **out);
bool bf_cu_is_stream(const struct bf_cu_stream *s); /* of those that were not destroyed */
struct bf_cu_stream *bf_cu_stream_make(struct bf_cu_context *c, unsigned flags, int priority);

/* An operation with `extra` bytes behind; NULL: no memory. */
struct bf_cu_op *bf_cu_op_make(enum bf_cu_op_kind kind, size_t extra);
/* It waits for what has this number in another stream. BF_CU_OUT_OF_MEMORY, or 0. */
int bf_cu_op_after(struct bf_cu_op *op, struct bf_cu_stream *s, uint64_t number);
/* Puts it into a stream and lets go what can. 0 or an error. Takes the op. Under the lock. */
int bf_cu_enqueue(struct bf_cu_stream *s, struct bf_cu_op *op);
/* Waits for all that is in a stream now (NULL: in all of them). Under the lock, which it gives up meanwhile. */
int bf_cu_wait_stream(struct bf_cu_stream *s);
int bf_cu_wait_all(struct bf_cu_context *c);
int bf_cu_wait_number(struct bf_cu_stream *s, uint64_t number); /* for all up to that one */
/* What has gone wrong on a device: its error, told when it is new. Under the lock. */
int bf_cu_check(int device);
/* Lets go what can. Under the lock. */
void bf_cu_advance(void);
void bf_cu_streams_end(void);
/* Nothing is queued or running anywhere. */
bool bf_cu_streams_idle(void);
/* The program's streams of a context are not any more. */
void bf_cu_streams_drop(const struct bf_cu_context *c);
/* A program that asks again and again gives the machine its time. Without the lock. */
void bf_cu_rest(void);

/* Calls `fn` for each, destroyed ones, too. */
void bf_cu_each_stream(void (*fn)(struct bf_cu_stream *s, void *arg), void *arg);

/* ---- stream_calls.c ---- */

/* CUstreamBatchMemOpParams as a chain of operations: 0, or an error, and there are none. */
int bf_cu_words_make(const void *params, unsigned count, struct bf_cu_op **out);

/* ---- event.c ---- */

bool bf_cu_is_event(const struct bf_cu_event *e);
/* A RECORD, which holds the event, is about to be put into a stream. Under the lock. */
void bf_cu_event_put(struct bf_cu_event *e, struct bf_cu_op *op, struct bf_cu_stream *s);
/* One operation less that holds it. */
void bf_cu_event_drop(struct bf_cu_event *e);
/* A round of it is over. */
void bf_cu_event_complete(struct bf_cu_event *e, uint64_t round, uint64_t now_ns);

/* ---- launch.c ---- */

/* What attributes of a launch ask for. */
struct bf_cu_asked {
	bool cooperative;
	uint32_t cluster[3];
	struct bf_cu_event *event;
};
/* The operation that launches a kernel, when its shape and arguments are right. Without the lock. */
int bf_cu_kernel_op(struct bf_cu_function *f, const struct bf_cu_config *c, struct bf_cu_asked *asked, void **params,
		    void **extra, struct bf_cu_op **out);

/* ---- graph_condition.c ---- */

/* Goes on with one that has begun. True: it is over. Under the lock. */
bool bf_cu_condition_step(struct bf_cu_op *op);

/* ---- graph_exec.c ---- */

/* The node of what was instantiated that was copied from one of its graph; NULL: none. */
struct bf_cu_node *bf_cu_exec_node(CUgraphExec e, const struct bf_cu_node *n);

/* ---- capture.c: 0, or the error of a call that may not be made while streams are captured, which it has spoilt ----
 */

/* A call that may wait for a GPU. Without the lock, as only here. */
int bf_cu_capture_unsafe(void);
/* Something is about to be put into a stream that is not captured: it may be the legacy one. */
int bf_cu_capture_legacy(const struct bf_cu_stream *s);
/* A stream, an event, all of a context are asked about or waited for. */
int bf_cu_capture_stream(struct bf_cu_stream *s);
int bf_cu_capture_event(const struct bf_cu_event *e);
int bf_cu_capture_context(const struct bf_cu_context *c);
/* An event is recorded in a captured stream; a stream waits for an event, where one of them is captured. */
int bf_cu_capture_record(struct bf_cu_stream *s, struct bf_cu_event *e);
int bf_cu_capture_wait(struct bf_cu_stream *s, const struct bf_cu_event *e);
/* A stream is destroyed. */
void bf_cu_capture_gone(struct bf_cu_stream *s);

/* ---- copy.c ---- */

int bf_cu_copy_now(const struct bf_cu_copy3d *c);

#endif
