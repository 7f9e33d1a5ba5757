/*
 * NVMe workloads: what `belfry run nvme-...` runs. As tools/workloads/workload.h, which see: a struct holds every
 * choice, the same choices give the same run, and options come from one table.
 */
#ifndef BELFRY_TOOLS_WORKLOADS_NVME_H
#define BELFRY_TOOLS_WORKLOADS_NVME_H

#include "drivers/nvme/host.h"
#include "models/nvme/nvme.h"
#include "tools/workloads/family.h"

/* Fields in the order of BF_NVME_OPTIONS, whose members they are; meanings stand there. */
struct bf_nvme_workload {
	enum bf_nvm_work work;
	const struct bf_backend *backend;
	enum bf_ordering ordering;
	uint32_t records;    /* BF_CLASS_* */
	bf_nvm_bug_set bugs; /* BF_NVM_BUG_* */
	struct bf_nvme_profile profile;
	const char *profile_text, *media, *media_errors, *file; /* borrowed; NULL: none */
	const char *device; /* of a backend whose controller is real; NULL: its choice */
	char *faults;       /* owned text of the plan, NULL = none */
	uint64_t seed, limit_ps, timeout_ps;
	uint32_t threads, agent, lanes, warps, share;
	uint32_t depth, batch, commands, entries, cq_entries;
	uint64_t size, capacity;
	uint32_t lba, queues_in, data_in, page;
	uint32_t offset, list_offset;
	bool scatter, check, dbbuf;
	bool top;    /* show what devices do while they do it; live only */
	bool counts; /* no option of its own: somebody wants bf_result.counts */
};

/* O(name, kind, argument, default, help, least, most, member): the numeric options, in text order of the help. */
#define BF_NVME_OPTIONS(O)                                                                                             \
	O("seed", U64, "N", "1", "seed of everything random", 0, 0, seed)                                              \
	O("limit", TIME, "TIME", "100s", "simulated time after which a run counts as hung", 0, 0, limit_ps)            \
	O("timeout", TIME, "TIME", "1s", "how long a thread waits for a completion", 0, 0, timeout_ps)                 \
	O("threads", U64, "N", "1", "threads that submit commands", 1, 1u << 16, threads)                              \
	O("agent", ENUM, "gpu|cpu|cuda", "gpu",                                                                        \
	  "where they run; cuda: on a real GPU (with --backend live; the same as "                                     \
	  "--backend cuda). nvme-admin: who rings the doorbell",                                                       \
	  0, 0, agent)                                                                                                 \
	O("lanes", U64, "N", "32", "GPU: threads in each warp", 1, 32, lanes)                                          \
	O("warps", U64, "N", "4", "GPU: warps in a block", 1, 32, warps)                                               \
	O("share", U64, "N", "1", "threads that share a queue pair", 1, 1024, share)                                   \
	O("depth", U64, "N", "32", "commands that each thread keeps in flight", 1, 16384, depth)                       \
	O("batch", U64, "N", "1", "commands to a doorbell", 1, 16384, batch)                                           \
	O("commands", U64, "N", "64", "commands of each thread", 1, 1u << 30, commands)                                \
	O("size", U64, "BYTES", "4096", "data of a command", 512, 1u << 27, size)                                      \
	O("entries", U64, "N", "0", "slots of a submission queue; 0: just enough", 0, 65536, entries)                  \
	O("cq-entries", U64, "N", "0", "slots of a completion queue; 0: as many", 0, 65536, cq_entries)                \
	O("queues-in", ENUM, "host|gpu|vram|vram-uc|cmb", "host",                                                      \
	  "where queues lie: host memory, coherent GPU memory, VRAM behind a cache or not, the SSD's buffer", 0, 0,    \
	  queues_in)                                                                                                   \
	O("data-in", ENUM, "host|gpu|vram|vram-uc", "host", "where data lies", 0, 0, data_in)                          \
	O("offset", U64, "BYTES", "0", "of data in its first page, a multiple of 16", 0, 65528, offset)                \
	O("list-offset", U64, "BYTES", "0", "of PRP lists in their first page, a multiple of 8", 0, 65528,             \
	  list_offset)                                                                                                 \
	O("scatter", FLAG, NULL, NULL, "the pages of a command lie in memory in reverse order", 0, 0, scatter)         \
	O("check", FLAG, NULL, NULL, "threads compare what they read, as they get it", 0, 0, check)                    \
	O("dbbuf", FLAG, NULL, NULL, "shadow doorbells", 0, 0, dbbuf)                                                  \
	O("page", U64, "BYTES", "4096", "page size for the controller (CC.MPS)", 4096, 65536, page)                    \
	O("lba", ENUM, "512|4096", "512", "block size of the medium", 0, 0, lba)                                       \
	O("capacity", U64, "BYTES", "0", "of the medium; 0: as the work needs, at least 64 MiB", 0, 0, capacity)

/* The options that bf_nvme_workload_parse() reads, and --trace and --list: rows of a table. */
#define BF_NVME_OPT_(oname, okind, oarg, odefault, ohelp, omin, omax, member)                                          \
	{ .name = oname,                                                                                               \
	  .kind = BF_OPT_##okind,                                                                                      \
	  .arg = oarg,                                                                                                 \
	  .initial = odefault,                                                                                         \
	  .help = ohelp,                                                                                               \
	  .min = omin,                                                                                                 \
	  .max = omax },
#define BF_NVME_OPT_TEXT(oname, okind, oarg, odefault, ohelp)                                                          \
	{                                                                                                              \
		.name = oname, .kind = BF_OPT_##okind, .arg = oarg, .initial = odefault, .help = ohelp                 \
	}
#define BF_NVME_OPT_TABLE                                                                                              \
	BF_NVME_OPTIONS(BF_NVME_OPT_)                                                                                  \
	BF_NVME_OPT_TEXT("bug", MULTI, "NAME", NULL, "a step done wrong on purpose"),                                  \
	    BF_NVME_OPT_TEXT("backend", TEXT, "NAME", "sim", "who provides the controller, or auto"),                  \
	    BF_NVME_OPT_TEXT("device", TEXT, "ADDRESS[,group|,cdev]", NULL,                                            \
			     "vfio: which controller, and by which interface; without, the first at vfio-pci"),        \
	    BF_NVME_OPT_TEXT("profile", TEXT, "NAME[,FIELD=N]", "970pro", "timing and limits of the controller"),      \
	    BF_NVME_OPT_TEXT("media", TEXT, "FILE", NULL, "keep the medium's data in this file"),                      \
	    BF_NVME_OPT_TEXT("media-errors", TEXT, "MAP", NULL, "blocks that fail, e.g. 'read 100-107'"),              \
	    BF_NVME_OPT_TEXT("file", TEXT, "FILE", NULL,                                                               \
			     "nvme-file: what to write; without, bytes that follow from the seed"),                    \
	    BF_NVME_OPT_TEXT("faults", TEXT, "PLAN|@FILE", NULL, "fault plan, e.g. 'drop prob=0.01'"),                 \
	    BF_NVME_OPT_TEXT("trace", OUT, "FILE", NULL, "write a trace; *.jsonl: as JSON Lines"),                    \
	    BF_NVME_OPT_TEXT("list", FLAG, NULL, NULL, "list workloads, bugs and profiles")

/* What --list prints. Exit code. */
int bf_nvme_workload_list(const struct bf_args *args);

/* "nvme-read" and so on; NULL past the last. */
const char *bf_nvme_workload_name(enum bf_nvm_work work);
const char *bf_nvme_workload_summary(enum bf_nvm_work work);

/*
 * Fills `w` from the command line; ordering and records are left at their defaults. Returns BF_EXIT_GOOD, or the exit
 * code after reporting what is wrong. Free with bf_nvme_workload_free().
 */
int bf_nvme_workload_parse(const struct bf_args *args, struct bf_nvme_workload *w);
void bf_nvme_workload_free(struct bf_nvme_workload *w);

/* What `belfry run` and `belfry explore` know of them: below, `w` is one, `result` a bf_nvme_run_result. */
extern const struct bf_family bf_nvme_family;

/* Whether the choices fit each other. 0, or -EINVAL with what does not in `err`. */
int bf_nvme_workload_check(const void *w, struct bf_error *err);

/* The command line that runs `w` again, options at their default left out. Truncated to `cap`. */
void bf_nvme_workload_command(const void *w, char *buf, size_t cap);
/* Each choice as a member of the open JSON object. */
void bf_nvme_workload_json(struct bf_json *j, const struct bf_nvme_workload *w);

/* NAME[,FIELD=VALUE]... as bf_profile_parse() in tools/workloads/profile.h does, for NVMe controllers. */
int bf_nvme_profile_parse(const char *text, struct bf_nvme_profile *out, struct bf_error *err);
const struct bf_nvme_profile *const *bf_nvme_profiles(void);

enum bf_nvme_outcome {
	BF_NVME_RUN_GOOD,
	BF_NVME_RUN_WRONG_DATA, /* everything ended, some byte is not what it must be */
	BF_NVME_RUN_ERROR,      /* a completion that the thread did not expect */
	BF_NVME_RUN_TIMEOUT,    /* a thread gave up waiting */
	BF_NVME_RUN_NOT_READY,  /* the bring-up or the shutdown failed */
	BF_NVME_RUN_DEADLOCK,
	BF_NVME_RUN_LIMIT,
};
const char *bf_nvme_outcome_name(uint32_t v);

/* An entry that names an address which nobody mapped for the controller. */
struct bf_nvme_unmapped {
	uint32_t slot, cid;
	uint32_t prp; /* 1 or 2; 0: there is none */
	uint64_t iova;
};

/* A thread that did not come to a good end, and its queue pair as it sees it. */
struct bf_nvme_standing {
	uint32_t thread, qid;
	struct bf_nvm_result result;
	uint32_t sq_head, sq_tail, sq_rung, cq_head, cq_phase;
	struct bf_nvme_unmapped unmapped;
};

#define BF_NVME_STANDINGS 16

/* Where the time of commands went: means over all, from the model's statistics. */
struct bf_nvme_split {
	uint64_t count;
	uint64_t doorbell_ps, fetch_ps, data_ps, completion_ps, media_ps;
};

struct bf_nvme_run_result {
	struct bf_result base;        /* BF_NVME_RUN_* */
	struct bf_world_result world; /* of the work itself: bring-up, preparation and check left out */
	struct bf_error bring_up;     /* NOT_READY: what failed */
	uint64_t commands;            /* completed */
	uint64_t verified_bytes;
	uint64_t mismatches;
	uint32_t nstandings, bad_threads;
	struct bf_nvme_standing standings[BF_NVME_STANDINGS];
	char model[41], serial[21];
	char device[64];      /* a real controller, and how it was reached; "": a model */
	int64_t dmabuf_bytes; /* of its doorbells as DMA-BUF; negative errno: cannot be had; 0: nobody asked */
	struct bf_nvme_split split;
};

/*
 * Runs `w` in a world of its own, records going to `sink` (may be NULL). 0 when it ran, however it ended; a negative
 * errno with `err` set when it could not start. Runs on any thread, several at a time.
 */
int bf_nvme_workload_run(const void *w, struct bf_sink *sink, void *result, struct bf_error *err);

/* Which controller it is, if it is a real one; with `export`, how much of its doorbells can be had as DMA-BUF. */
void bf_nvme_device_describe(const struct bf_backend *be, struct bf_world *world, bool export,
			     struct bf_nvme_run_result *out);

/* Looks through the slots of a submission queue; false when all addresses are mapped, or the backend cannot tell. */
bool bf_nvme_device_find_unmapped(const struct bf_backend *be, struct bf_world *world, const struct bf_nvm_queue *sq,
				  struct bf_nvme_unmapped *out);

/* What failed and where threads and queues stand. Prints nothing for a good run. */
void bf_nvme_run_print_failure(FILE *out, const void *result);
void bf_nvme_run_json_failure(struct bf_json *j, const void *result);

#endif
