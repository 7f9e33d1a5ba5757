/*
 * Evidence as people have it: logs of drivers and libraries, dumps of completions, whole or cut, with anything in front
 * of and behind each line. Read into facts: what a line says, in the terms of the device that it speaks of.
 *
 * The forms are those of public reports; each names where it comes from (forms.c). No state: any thread.
 */
#ifndef BELFRY_TRACES_EVIDENCE_EVIDENCE_H
#define BELFRY_TRACES_EVIDENCE_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"

/* A kind of device, or what is between them; what each says of itself: struct bf_evidence_about. */
enum bf_evidence_device {
	BF_EVIDENCE_NIC,
	BF_EVIDENCE_DRIVE,
	BF_EVIDENCE_COPIER,
	BF_EVIDENCE_GPU,
	BF_EVIDENCE_PCIE,
	BF_EVIDENCE_ROCE,
	BF_EVIDENCE_DEVICES
};

enum bf_evidence_kind {
	BF_EVIDENCE_COMPLETION, /* of an entry or command, with a status */
	BF_EVIDENCE_ENTRY,      /* the entry or command itself */
	BF_EVIDENCE_COMMAND,    /* a command of the driver that the device refused */
	BF_EVIDENCE_TIMEOUT,    /* somebody waits for what does not come */
	BF_EVIDENCE_STRAY,      /* a completion that nobody waits for */
	BF_EVIDENCE_FAULT,      /* an access that was stopped on its way */
	BF_EVIDENCE_DOWN,       /* the device does not answer, or was given up */
	BF_EVIDENCE_EVENT,      /* the device speaks of a queue pair, a queue, a port or itself: no entry */
	BF_EVIDENCE_CALL,       /* a library's call failed, for a reason that it does not say */
	BF_EVIDENCE_RANKS,      /* a collective that waits for other ranks */
	BF_EVIDENCE_UNDONE,     /* completions of a queue do not come in time */
	BF_EVIDENCE_ANNOUNCED,  /* the next lines speak of an error completion; of one without them it is all */
	BF_EVIDENCE_PACKET,     /* a packet on the wire; `line` counts packets (packets.h) */
};

/* What can be known. A value is -1 where nothing says it. */
enum bf_fact {
	BF_FACT_SYNDROME,
	BF_FACT_VENDOR, /* vendor syndrome */
	BF_FACT_HW,     /* hardware syndrome */
	BF_FACT_VERBS,  /* enum ibv_wc_status */
	BF_FACT_QPN,
	BF_FACT_CQN,
	BF_FACT_COUNTER,    /* wqe_counter: index of the entry */
	BF_FACT_WQE_OPCODE, /* of the entry */
	BF_FACT_CQE_OPCODE,
	BF_FACT_WR_ID,
	BF_FACT_OPCODE,   /* of the refused command */
	BF_FACT_REFUSED,  /* status of the refused command */
	BF_FACT_FIRMWARE, /* syndrome of the refused command: the firmware's own */
	BF_FACT_RADDR,
	BF_FACT_RKEY,
	BF_FACT_STATUS, /* status: type << 8 | code */
	BF_FACT_DNR,
	BF_FACT_QID,
	BF_FACT_CID,
	BF_FACT_NSID,
	BF_FACT_LBA,
	BF_FACT_CSTS,
	BF_FACT_SIGNALED, /* fences of a ring: done, submitted */
	BF_FACT_EMITTED,
	BF_FACT_ADDRESS,
	BF_FACT_XID,   /* of NVIDIA's driver */
	BF_FACT_EVENT, /* enum ibv_event_type */
	BF_FACT_ERRNO, /* positive */
	BF_FACT_BTH,   /* opcode of a packet */
	BF_FACT_PSN,
	BF_FACT_AETH,      /* syndrome of an acknowledgement */
	BF_FACT_DUE,       /* index that an entry of a ring should have, where it has another one */
	BF_FACT_LATE,      /* 1: a request comes behind later ones, for the first time */
	BF_FACT_COMPLETED, /* entries of a queue up to which it was completed, rung, written, reserved */
	BF_FACT_RUNG,
	BF_FACT_WRITTEN,
	BF_FACT_RESERVED,
	BF_FACTS
};

struct bf_fact_about {
	const char *name; /* "vendor syndrome" */
	bool hex;
};
extern const struct bf_fact_about bf_facts[BF_FACTS];

#define BF_EVIDENCE_BYTES 64u
#define BF_EVIDENCE_TEXT 160u

struct bf_evidence {
	enum bf_evidence_device device;
	enum bf_evidence_kind kind;
	const char *form; /* who printed it, and what it is */
	uint64_t line;    /* from 1 */
	uint64_t have;    /* bytes of `bytes` that are there, a bit each */
	uint8_t bytes[BF_EVIDENCE_BYTES];
	int64_t fact[BF_FACTS];
	char text[BF_EVIDENCE_TEXT]; /* what is to be quoted of the line */
};

struct bf_evidence_list {
	struct bf_evidence *item; /* in the order of the text */
	size_t count, room;
	uint64_t lines;
};

struct bf_cause_row {
	const char *rule; /* an id; NULL: no rule of ours sees it */
	const char *tell; /* how to tell this cause from the others */
};

/* What those who read evidence ask of a device; functions are NULL where it has no answer. */
struct bf_evidence_about {
	const char *name;
	/* What the piece's status means: "13/88, remote access error". False: it has none. */
	bool (*status)(const struct bf_evidence *e, char *text, size_t cap);
	/* It is `entry`, a piece of the same device, that the completion `e` is of. */
	bool (*is_of)(const struct bf_evidence *e, const struct bf_evidence *entry);
	const char *(*opcode)(uint8_t opcode); /* of BF_FACT_WQE_OPCODE */
	const char *const *known;              /* lines for --help: what is read of it; ends with NULL */
	struct bf_cause_row blocked;           /* a likely cause where its access to memory was blocked */
};
const struct bf_evidence_about *bf_evidence_about(enum bf_evidence_device device);

/*
 * Adds what `len` bytes of text hold to `list`, which begins as zeros; lines count on from list->lines. 0, or -ENOMEM
 * with `err` set. Text in which nothing is known adds nothing.
 */
int bf_evidence_read(const char *text, size_t len, struct bf_evidence_list *list, struct bf_error *err);
void bf_evidence_free(struct bf_evidence_list *list);

/*
 * The first row of 16 bytes between `at` and `end`, one line: four words, or an offset and bytes, as libraries, kernels
 * and hexdump print them. `offset` is -1 where none stands in front. False: there is no row.
 */
bool bf_evidence_row(const char *at, const char *end, uint8_t bytes[16], int64_t *offset);

/* The syndrome of a completion, from the verbs status where only that is known; -1: none. */
int64_t bf_evidence_syndrome(const struct bf_evidence *e);

/* True for what only follows from an earlier error: flushed entries. */
bool bf_evidence_follows(const struct bf_evidence *e);

/* True for what is no error by itself: entries and commands as such, notices of congestion. */
bool bf_evidence_harmless(const struct bf_evidence *e);

/* ---- what it means: meaning.c ---- */

#define BF_CAUSES_MAX 6u

struct bf_meaning {
	const char *name; /* "13/88", "15", "00/13"; how `belfry rules` finds it too */
	const char *also; /* other words for it, separated by '|': "REMOTE_ACCESS|REM_ACCESS_ERR" */
	const char *means;
	struct bf_cause_row cause[BF_CAUSES_MAX]; /* likely ones first; ends with both NULL */
	const char *look;                         /* what to look at on the real system */
};

/* Likely cause `i`; NULL past the last. */
const struct bf_cause_row *bf_meaning_cause(const struct bf_meaning *m, uint32_t i);

/* NULL: nothing is known of it. */
const struct bf_meaning *bf_evidence_meaning(const struct bf_evidence *e);

/* By what somebody types: "13/88", "0x2013", "RETRY_EXC", "IBV_WC_RETRY_EXC_ERR". NULL: no such thing. */
const struct bf_meaning *bf_meaning_find(const char *word);

#endif
