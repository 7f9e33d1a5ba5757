/*
 * Facts about NVMe queue pairs that several rules need: entries as the driver meant them and as the controller fetched
 * them, completions as they were posted, and what a driver that gave up was waiting for.
 */
#ifndef BELFRY_TRACES_RULES_NVME_NVME_H
#define BELFRY_TRACES_RULES_NVME_NVME_H

#include "models/nvme/records.h"
#include "sim/bytes.h"
#include "traces/rules/rule.h"

#define BF_NVME_RULE_ENTRY 64u
#define BF_NVME_RULE_PAGE 4096u
#define BF_NVME_RULE_QUEUE_MAX 65536u
#define BF_NVME_RULE_BLOCK 32u
#define BF_NVME_RULE_DATA 1024u
#define BF_NVME_RULE_CIDS 256u

struct bf_nvme_rule_built {
	uint8_t bytes[BF_NVME_RULE_ENTRY];
	uint64_t va, at_ps, record;
	uint32_t actor;
	bool set;
};

struct bf_nvme_rule_slot {
	struct bf_nvme_rule_built built[2]; /* the last two entries that were built here: number n, from 0, at n % 2 */
	uint64_t nbuilt, nfetched;          /* how often an entry came here, and was fetched */
	uint64_t fetched_ps, fetched_record;
	bool early;        /* the last one was fetched before it was built */
	bool posted, rung; /* the controller has posted here; a tail doorbell of this value came */
	uint8_t posted_phase;
	uint16_t posted_cid, posted_status, posted_sqhd;
	uint64_t nposted, ntaken; /* completions that came to lie here, and that the driver took */
	uint32_t taken_as;        /* the last one: its number among those that it took from the queue, from 1 */
	uint32_t taker[2];        /* who took the last one, and the one before */
	uint64_t posted_ps, posted_record;
	uint64_t looked; /* the record of the last load of the completion here, plus one; weak loads have none */
	uint32_t
	    rung_at; /* the slot plus one that a thread had looked at last when it rang a doorbell with this number */
};

/* A command that the controller has: by then its slot may hold the next one. */
struct bf_nvme_rule_command {
	uint8_t entry[BF_NVME_RULE_ENTRY];
	uint64_t fetched_ps, fetched_record;
	uint32_t slot;
	uint32_t next; /* of the same hash: its place plus one */
	bool other;    /* it is not what the driver meant */
};

/* What facts notice in a record. */
enum {
	BF_NVME_RULE_REFUSED = 1,   /* nvme_completion: bf_nvme_rule_refused() */
	BF_NVME_RULE_BAD_FETCH = 2, /* nvme_fetch: `fetch.what` is not GOOD */
	BF_NVME_RULE_SECOND = 4,    /* nvme_fetch: the entry has a second PRP */
	BF_NVME_RULE_TO_EVENT = 8,  /* store: to an event index */
	BF_NVME_RULE_OVERLAP = 32,  /* nvme_fetch: a read, and in `run->overlap` there is another one with its buffer */
	BF_NVME_RULE_TWICE = 64,    /* nvm_completion: another thread has taken this entry */
};

enum bf_nvme_rule_fetched {
	BF_NVME_RULE_FETCHED_GOOD,
	BF_NVME_RULE_FETCHED_OVERWRITTEN, /* by the next entry in this slot */
	BF_NVME_RULE_FETCHED_LATE,        /* part of it was still in a store buffer */
	BF_NVME_RULE_FETCHED_FIELD,       /* a dword is not what the driver meant */
};

struct bf_nvme_rule_queue {
	/* Slots by number, BF_NVME_RULE_BLOCK to a block: memory for those that a trace names. All owned. */
	struct bf_nvme_rule_slot **blocks;
	uint32_t nblocks;
	uint32_t *rung; /* how often the entry of a slot was announced by its driver, by number of the slot */
	uint32_t nrung;
	uint32_t entries;   /* of the submission queue, by its driver or its creation; 0: not known */
	bool driver_speaks; /* it says which entries it has built */
	struct bf_ring *ring;
	/* The last fetch; what is behind `slot` says why it was not good. */
	struct {
		enum bf_nvme_rule_fetched what;
		uint32_t slot, dword;
		uint64_t sampled_ps;
		struct bf_nvme_rule_built own, next;
		struct bf_store late;
	} fetch;
	/* As the controller has them; 0: it was not told. */
	uint64_t sq_base, cq_base;
	uint32_t sq_size, cq_size;
	struct bf_nvme_rule_command *commands; /* owned; those in flight, in no order */
	uint32_t in_flight, most_in_flight, ncommands;
	uint32_t by_cid[BF_NVME_RULE_CIDS]; /* by hash of the identifier: place plus one */
	uint64_t built, fetches;            /* entries */
	uint32_t last_rung;                 /* the last tail that their driver rang */
	uint32_t tails[4];                  /* the last tails that the controller accepted, the newest first */
	uint32_t ntails;
	bool shadow_only;     /* the last tail went to the shadow doorbell alone */
	uint64_t completions; /* posted to the completion queue */
	uint32_t taken;       /* by the driver out of it */
	uint32_t most_cq_slot;
	bool held, cq_rung; /* a completion waits for room in its queue; its head doorbell was ever rung */
	/* Of a driver that says nothing (silent.c): what the controller and the queue's pollers tell. */
	struct {
		struct bf_ring *cq;  /* the completions' memory; NULL: not known */
		uint32_t cqes, sqes; /* as the queues were created; 0: not known */
		uint64_t announced,
		    reported;           /* entries that doorbells announced; that SQHD in completions has passed */
		uint64_t posted, freed; /* completions; those that head doorbells gave back */
		uint32_t sqhd;
		uint64_t looks; /* loads of completions */
		bool past_tail; /* a head doorbell gave back what was not posted */
	} silent;
	/* A command that began while another one with its data was in flight, here or in a queue beside this one. */
	struct {
		bool set;
		uint32_t slot, other;
		const struct bf_rule_queue *other_queue;
		uint64_t data, at_ps, record;
	} shared;
};

/* Where a thread looks at a queue of a silent driver. By number; of two that share a place the later counts. */
#define BF_NVME_RULE_POLLERS 1024u
struct bf_nvme_rule_poller {
	uint32_t actor;
	uint32_t looked;       /* the place plus one of the queue that its last load was in; 0: in none */
	uint32_t look_slot;    /* of its last look at a completion, */
	uint32_t look_queue;   /* and the place plus one of the queue; 0: it has not looked */
	struct bf_ring *waits; /* the completion queue that it waits at; NULL: at none */
	uint32_t slot;         /* there */
	uint64_t wait_ps, wait_record;
	struct bf_ring *unseen_at; /* where it has waited without a look by a load that is recorded; NULL: nowhere */
	uint64_t unseen_ps, unseen_record;
};

/* Why a driver gave up: what the first nvm_timeout record of a run is about. */
enum bf_nvme_rule_stuck {
	BF_NVME_RULE_STUCK_NOT,
	BF_NVME_RULE_STUCK_NOT_RUNG,
	BF_NVME_RULE_STUCK_FULL, /* no slot was left empty: the tail stands where it stood */
	BF_NVME_RULE_STUCK_CQ_NOT_RUNG,
	BF_NVME_RULE_STUCK_L2, /* the completion is in VRAM, polls are served from an old copy */
	BF_NVME_RULE_STUCK_NO_INVALIDATE,
	BF_NVME_RULE_STUCK_FLUSH_TYPE,
	BF_NVME_RULE_STUCK_SHADOW,   /* the doorbell is in memory, and the controller does not look there */
	BF_NVME_RULE_STUCK_LOST,     /* the completion was posted, and is not in memory */
	BF_NVME_RULE_STUCK_UNSEEN,   /* it is in memory, and nobody takes it */
	BF_NVME_RULE_STUCK_DOORBELL, /* the doorbell never arrived */
	BF_NVME_RULE_STUCK_NO_ANSWER,
};

/* The command that the nvme_completion record at hand answers. */
struct bf_nvme_rule_answer {
	struct bf_rule_queue *queue; /* its submission queue; NULL: not known */
	uint32_t slot;
	uint32_t code;        /* SCT << 8 | SC */
	bool other;           /* the controller had got something else than the driver meant */
	const uint8_t *entry; /* during the record */
	uint64_t fetched_ps, fetched_record;
};

/* Who last named some data: the command's identifier, its queue's place plus one (0: nobody), the data's page. */
struct bf_nvme_rule_user {
	uint32_t page;
	uint16_t queue, cid;
};

/* The last 8-byte store to an address; the table forgets addresses that share a place. */
#define BF_NVME_RULE_WORDS 16384u
struct bf_nvme_rule_word {
	uint64_t va, value;
	uint32_t actor;
	bool set, shared; /* shared: another address was here before and may be forgotten */
};

struct bf_nvme_rule_run {
	bool begun;   /* any record has come */
	bool present; /* some record of an NVMe driver or controller has come */
	struct bf_nvme_rule_word words[BF_NVME_RULE_WORDS];
	bool admin_other; /* some admin command was not what the driver meant, so that queues may not be either */
	uint32_t timeouts;
	struct bf_nvme_rule_poller poller[BF_NVME_RULE_POLLERS];
	struct bf_nvme_rule_answer answer;
	struct bf_nvme_rule_user by_data[BF_NVME_RULE_DATA]; /* the last command with data there, by hash of PRP1 */
	struct bf_rule_queue *overlap; /* where a read is in flight under `overlap_cid`, see BF_NVME_RULE_OVERLAP */
	uint16_t overlap_cid;
	uint64_t shadow, event; /* buffers of Doorbell Buffer Config; 0: none */
	enum bf_nvme_rule_stuck stuck;
	bool invalidated, stale;
	uint64_t flush_type, vmids, engine, invalidated_ps, invalidated_record, stale_from;
};

extern const struct bf_rule_family bf_rules_nvme;

static inline struct bf_nvme_rule_queue *bf_nvme_rule_of(const struct bf_rule_queue *q)
{
	return bf_rule_facts(q);
}

/*
 * The queue's slot, made when it is new; it does not move. NULL for numbers that no queue has, and without memory. The
 * other function makes none: NULL where nothing came to lie near.
 */
struct bf_nvme_rule_slot *bf_nvme_rule_slot(struct bf_nvme_rule_queue *q, uint64_t slot);

static inline struct bf_nvme_rule_slot *bf_nvme_rule_slot_known(const struct bf_nvme_rule_queue *q, uint64_t slot)
{
	struct bf_nvme_rule_slot *block =
	    slot / BF_NVME_RULE_BLOCK < q->nblocks ? q->blocks[slot / BF_NVME_RULE_BLOCK] : NULL;

	return block ? &block[slot % BF_NVME_RULE_BLOCK] : NULL;
}

/* How often its driver has announced the entry of this slot. */
static inline uint32_t bf_nvme_rule_rung(const struct bf_nvme_rule_queue *q, uint64_t slot)
{
	return slot < q->nrung ? q->rung[slot] : 0;
}

/*
 * Commands in flight, see nvme_commands.c: the one with an identifier, the latest of several; NULL. A new one; NULL: no
 * memory. The end of one, which stays readable until the next is added; NULL: there is none. The end of all.
 */
struct bf_nvme_rule_command *bf_nvme_rule_command(const struct bf_nvme_rule_queue *q, uint16_t cid);
struct bf_nvme_rule_command *bf_nvme_rule_command_begin(struct bf_nvme_rule_queue *q, const uint8_t *entry);
const struct bf_nvme_rule_command *bf_nvme_rule_command_end(struct bf_nvme_rule_queue *q, uint16_t cid);
void bf_nvme_rule_commands_end(struct bf_nvme_rule_queue *q);

/*
 * Drivers that say nothing, silent.c. Whether the driver of this queue is one, and the queue is an I/O queue whose
 * memory is known; what facts learn from a record; where a thread waits at a completion queue, from `*i` on; NULL: no
 * more.
 */
bool bf_nvme_rule_is_silent(const struct bf_rule_queue *queue);
void bf_nvme_rule_note_silent(struct bf_rules *r, struct bf_nvme_rule_run *run, const struct bf_seen *e);
const struct bf_nvme_rule_poller *bf_nvme_rule_waiting(const struct bf_nvme_rule_run *run, uint32_t *i);
/*
 * The nvme_driver_error at hand says that slots are given back which were not posted, and who rang had looked at the
 * last of them last: it took that for a completion. That slot, with its number; NULL: it says something else.
 */
const struct bf_nvme_rule_slot *bf_nvme_rule_took_old(const struct bf_seen *e, uint32_t *slot);

/* What was last stored to the eight bytes at `va`; NULL when that is not known. */
const struct bf_nvme_rule_word *bf_nvme_rule_word(const struct bf_rule_run *r, uint64_t va);
/* It is sure that no eight bytes were stored there, since the controller or its driver first spoke. */
bool bf_nvme_rule_never_stored(const struct bf_rule_run *r, uint64_t va);

/*
 * What the nvme_completion record at hand answers, if the controller refused an admin command (`admin`) or one of an
 * I/O queue, and had got it as the driver meant it; NULL otherwise.
 */
static inline const struct bf_nvme_rule_answer *bf_nvme_rule_refused(struct bf_rule_run *r, bool admin)
{
	const struct bf_nvme_rule_answer *a = &((const struct bf_nvme_rule_run *)r->facts)->answer;

	return a->code && a->queue && !a->other && (a->queue->number == 0) == admin ? a : NULL;
}

/* The finding about that command: at its queue and slot, since it was fetched. NULL as bf_rule_find(). */
struct bf_finding *bf_nvme_rule_find_refused(struct bf_rule_run *r, const struct bf_seen *e,
					     const struct bf_nvme_rule_answer *a);

/* "the reads in slots 0 and 1 of SQ 1"; `what` is one of them. */
void bf_nvme_rule_say_both(struct bf_finding *f, const char *what, uint32_t slot, const struct bf_rule_queue *queue,
			   uint32_t other, const struct bf_rule_queue *other_queue);

/* Fields of an entry. */
static inline uint32_t bf_nvme_rule_dword(const struct bf_nvme_rule_answer *a, uint32_t i)
{
	return bf_get_le32(a->entry + i * 4);
}
static inline uint64_t bf_nvme_rule_prp1(const struct bf_nvme_rule_answer *a)
{
	return bf_get_le64(a->entry + 24);
}

/* The record is the driver's first nvm_timeout, and this is why. */
bool bf_nvme_rule_stuck_for(struct bf_rule_run *r, enum bf_nvme_rule_stuck why);

#endif
