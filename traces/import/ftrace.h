/*
 * Linux traces of NVMe commands: what ftrace prints for the tracepoints of the nvme and nvmet drivers (trace-cmd report
 * and trace_pipe alike), and what blkparse prints for a disk.
 *
 *   fio-98976 [014] ..... 879504.125407: nvme_setup_cmd: nvme1: disk=nvme1n1, qid=17, cmdid=512, nsid=1, flags=0x0,
 *       meta=0x0, cmd=(nvme_cmd_write slba=9171000, len=0, ctrl=0x20, dsmgmt=65536, reftag=0)      (on one line)
 *   <idle>-0  [016] d.h1. 879504.125452: nvme_sq: nvme1: disk=nvme1n1, qid=17, head=676, tail=676
 *   <idle>-0  [016] d.h1. 879504.125454: nvme_complete_rq: nvme1: disk=nvme1n1, qid=17, cmdid=512, res=0x0, ...
 *
 *   259,0  1  7  0.000123456  1234  D  WS 2048 + 8 [fio]
 *
 * Sources: Linux drivers/nvme/host/trace.h and trace.c (formats since 4.20; before 5.3 status and result are decimal),
 * drivers/nvme/target/trace.h; blkparse(1), "DEFAULT OUTPUT FORMAT". A command's dwords come back from its printed
 * fields; what a line does not print (data pointer, metadata) stays zero. blkparse knows neither queue nor command
 * identifier: the CPU gives the queue, identifiers are counted. Lines of other tracepoints, comments and summaries are
 * skipped; a line of a known tracepoint that does not fit is an error with line and column. One thread per trace.
 */
#ifndef BELFRY_TRACES_IMPORT_FTRACE_H
#define BELFRY_TRACES_IMPORT_FTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "models/nvme/prm.h"
#include "sim/error.h"
#include "sim/record.h"

enum bf_ftrace_kind {
	BF_FTRACE_SETUP,    /* a command on its way into a queue */
	BF_FTRACE_SQ,       /* a completion entry said how far the controller has fetched */
	BF_FTRACE_COMPLETE, /* a command ended */
	BF_FTRACE_AEN,      /* an asynchronous event */
	BF_FTRACE_KINDS
};

/* Which driver saw it: the host's, the target's (controller side), or the block layer. */
enum bf_ftrace_side { BF_FTRACE_HOST, BF_FTRACE_TARGET, BF_FTRACE_BLOCK };

struct bf_ftrace_event {
	enum bf_ftrace_kind kind;
	enum bf_ftrace_side side;
	uint32_t line; /* of the text, from 1 */
	uint64_t t_ns; /* since the trace's first event; never less than the event's before */
	char ctrl[16]; /* "nvme0"; the disk's numbers in a block trace */
	uint32_t qid, cid;
	union {
		struct {
			struct bf_nvme_sqe sqe;
			uint32_t opcode;
			int32_t fctype; /* of a fabrics command; -1 for others */
		} setup;
		struct {
			uint32_t head, tail;
		} sq;
		struct {
			uint64_t result;
			uint32_t status; /* as Linux prints it: SCT << 8 | SC, More 0x2000, DNR 0x4000 */
			uint32_t retries;
		} complete;
		uint32_t aen;
	};
};

struct bf_ftrace {
	struct bf_ftrace_event *events;
	size_t count, cap;
	uint32_t line;    /* lines read */
	uint32_t skipped; /* of these, comments and others' lines */
};

/*
 * Reads a trace from memory. Returns 0, or -EBADMSG with line, column and reason in `err`, or -ENOMEM. `*out` is set in
 * every case but -ENOMEM and holds all events before the damage. Free with bf_ftrace_free().
 */
int bf_ftrace_parse(const char *text, size_t len, struct bf_ftrace **out, struct bf_error *err);

/* Reads `path` ("-": standard input). The same rules; also -errno of opening or reading. */
int bf_ftrace_load(const char *path, struct bf_ftrace **out, struct bf_error *err);

/* The same with what follows in `f`, which stays the caller's and is called `path` in messages. */
int bf_ftrace_load_file(FILE *f, const char *path, struct bf_ftrace **out, struct bf_error *err);

/* The same from a trace into which one was imported: the rest of `trace` is read. */
struct bf_trace;
int bf_ftrace_from_trace(struct bf_trace *trace, struct bf_ftrace **out, struct bf_error *err);
void bf_ftrace_free(struct bf_ftrace *t);

/* True when the bytes, the beginning of a file, hold an event of one of these tracepoints. */
bool bf_ftrace_probe(const char *text, size_t len);

/*
 * The name of a command as Linux prints it: "nvme_cmd_read", "nvme_admin_identify", "nvme_fabrics_type_connect"; NULL
 * for one that it prints as a number. `qid` 0 is the admin queue, `fctype` -1 means no fabrics command.
 */
const char *bf_ftrace_command_name(uint32_t qid, uint32_t opcode, int32_t fctype);

/*
 * Prints a command's dwords as Linux does ("slba=0, len=7, ctrl=0x0, dsmgmt=0, reftag=0"). Like snprintf().
 */
int bf_ftrace_command_text(uint32_t qid, uint32_t opcode, int32_t fctype, const struct bf_nvme_sqe *sqe, char *buf,
			   size_t cap);

/*
 * Parsers of the parts, for those who read such text elsewhere. The command's name and arguments, as between the
 * parentheses of cmd=(...), go into opcode, fctype and the SQE's CDW10 to CDW15. 0, or the offset into `text` of what
 * does not fit, plus one, with the reason in `*why`.
 */
size_t bf_ftrace_command_parse(const char *text, size_t len, uint32_t qid, struct bf_ftrace_event *ev,
			       const char **why);

/* Emits all events as records (types 610 to 613, traces/records/ftrace.h) with their own times. */
int bf_ftrace_emit(const struct bf_ftrace *t, struct bf_sink *sink, struct bf_error *err);

#endif
