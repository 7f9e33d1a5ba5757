/* What the readers of evidence share. */
#ifndef BELFRY_TRACES_EVIDENCE_EVIDENCE_INTERNAL_H
#define BELFRY_TRACES_EVIDENCE_EVIDENCE_INTERNAL_H

#include "traces/evidence/evidence.h"

/* A line: from `at` to `end`, without the newline. */
struct bf_line {
	const char *at, *end;
	uint64_t number;
};

#define BF_LABELS_MAX 8u

/* Where a fact stands: behind one of the labels, which are separated by '|'. */
struct bf_label {
	const char *text;
	uint8_t fact; /* enum bf_fact */
	uint8_t base; /* 16, 10; 0: hexadecimal behind 0x, else decimal */
};

/*
 * A form of line. `cue` stands in every such line and in few others. Where `take` is there it reads the line, false: it
 * is none of these; otherwise each label that the line has gives its fact, and the line counts if it has the first one.
 */
struct bf_evidence_form {
	const char *name, *cue;
	enum bf_evidence_device device;
	enum bf_evidence_kind kind;
	struct bf_label label[BF_LABELS_MAX];
	bool (*take)(const struct bf_line *l, struct bf_evidence *e);
};
struct bf_evidence_forms {
	const struct bf_evidence_form *form;
	size_t n;
};
extern const struct bf_evidence_forms bf_forms_nic, bf_forms_drive, bf_forms_copier, bf_forms_gpu, bf_forms_down,
    bf_forms_words;
/* Form `i` of all tables, in the order in which they are asked; NULL: past the last. */
const struct bf_evidence_form *bf_evidence_form(size_t i);
/* As `take`: the cue alone tells, and labels may be missing. */
bool bf_take_always(const struct bf_line *l, struct bf_evidence *e);
/* amdgpu names a ring of a copy engine; other rings are the GPU's. */
bool bf_line_of_copier(const struct bf_line *l);
/* By the text of a verbs status, which becomes the fact if there is none. */
bool bf_take_verbs_text(const struct bf_line *l, struct bf_evidence *e);

void bf_evidence_begin(struct bf_evidence *e, const char *form, enum bf_evidence_device device,
		       enum bf_evidence_kind kind, const struct bf_line *l);
/* The line becomes what is quoted. */
void bf_evidence_quote(struct bf_evidence *e, const struct bf_line *l);
/* Behind the first of the texts in `labels` that the line has; NULL: it has none. */
const char *bf_line_find(const struct bf_line *l, const char *labels);
/* The number at `p`; -1: there is none, or it has more than 63 bits. */
int64_t bf_line_number(const struct bf_line *l, const char *p, uint8_t base);
bool bf_evidence_form_take(const struct bf_evidence_form *f, const struct bf_line *l, struct bf_evidence *e);

/* Rows of bytes, as completions and entries are dumped. */
struct bf_dumps;                                              /* opaque */
struct bf_dumps *bf_dumps_new(struct bf_evidence_list *list); /* NULL: no memory */
/* The line, if it has a row. 0 or -ENOMEM. */
int bf_dumps_line(struct bf_dumps *d, const struct bf_line *l);
int bf_dumps_end(struct bf_dumps *d); /* frees it */
bool bf_line_has_row(const struct bf_line *l);
#define BF_LINES_APART 8u  /* other lines between two rows of a dump, or before what was announced */
#define BF_LINES_JOINED 3u /* lines that one of a terminal's width may have become */

/* The text's lines, as they stand. */
int bf_evidence_read_plain(const char *text, size_t len, struct bf_evidence_list *list);
/* again.c: the text without what terminals, logs and forums put into it; lines count on from list->lines. */
int bf_evidence_read_text(const char *text, size_t len, struct bf_evidence_list *list);
/* The pieces from `from` on, by line, each announcement in what it announces. */
int bf_evidence_put_in_order(struct bf_evidence_list *list, size_t from);
/* ring.c: words without a word about them, as entries if they are a ring. Lines likewise. */
int bf_evidence_ring(const char *text, size_t len, uint64_t first_line, struct bf_evidence_list *list);

/* A ring's words, and its bytes in memory as one of the two orders of reading has them. */
struct bf_ring_words {
	uint32_t *dw; /* as they are printed */
	size_t count, room;
	uint64_t *line; /* of each */
	size_t line_room;
	uint8_t *bytes;
};
#define BF_RING_SLOT 64u

/* An entry at byte `at` of them, quoted by its first words; NULL: no memory. */
struct bf_evidence *bf_words_add(struct bf_evidence_list *list, const struct bf_ring_words *w, size_t at,
				 const char *form, enum bf_evidence_device device);

/* Each kind of ring, in a file of its own: 0 with its entries added, -1: these words are none, -ENOMEM. */
int bf_words_completions(const struct bf_ring_words *w, struct bf_evidence_list *list); /* that end with an error */
int bf_words_sends(const struct bf_ring_words *w, struct bf_evidence_list *list);
int bf_words_commands(const struct bf_ring_words *w, struct bf_evidence_list *list);

struct bf_evidence *bf_evidence_add(struct bf_evidence_list *list); /* NULL: no memory */
/* Facts of a completion from the bytes of it that are there. */
void bf_evidence_from_cqe(struct bf_evidence *e);

/* ---- what it means: a table for each device, meanings_*.c ---- */

struct bf_meaning_row {
	enum bf_evidence_device device;
	int kind;             /* -1: a completion's status decides */
	int32_t code, vendor; /* syndrome or status; vendor -1: any */
	struct bf_meaning m;
};
struct bf_meaning_table {
	const struct bf_meaning_row *row;
	size_t n;
};
extern const struct bf_evidence_about bf_about_nic, bf_about_drive, bf_about_copier, bf_about_gpu, bf_about_packets;
extern const struct bf_meaning_table bf_meanings_nic, bf_meanings_drive, bf_meanings_copier, bf_meanings_packets;

/* Codes of packets: AETH syndromes without an RNR NAK's time, the opcode of a notice, and two of our own. */
#define CNP 0x81
#define AGAIN 0x100
#define LATE 0x101
#define OUT_OF_PLACE 0x102 /* likewise, of an entry in a ring */

#define NO_RULE NULL
#define PEER "The peer's own log: its first error at that time; the state of its queue pair (rdma res show qp)."

#endif
