/*
 * What blkparse prints for a disk, as commands: each issue (D) and completion (C).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "traces/import/ftrace_internal.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "  259,0    1        7     0.000123456  1234  D  WS 2048 + 8 [fio]": only D (issued) and C (completed) matter. */
struct block_line {
	uint64_t major, minor, cpu, sequence, pid, sector, sectors;
	char action, rwbs[12];
};

static bool read_word(struct bf_ftrace_line *l, uint64_t *out)
{
	bf_ftrace_skip(l, " \t");
	return bf_ftrace_number(l, out) && l->p < l->end && (*l->p == ' ' || *l->p == '\t' || *l->p == ',');
}

static bool read_block(struct bf_ftrace_line *l, struct block_line *b, struct bf_ftrace_event *ev)
{
	size_t n = 0;

	if (!read_word(l, &b->major) || *l->p++ != ',' || !read_word(l, &b->minor) || !read_word(l, &b->cpu) ||
	    !read_word(l, &b->sequence))
		return false;
	bf_ftrace_skip(l, " \t");
	if (!bf_ftrace_time(l, &ev->t_ns) || !read_word(l, &b->pid))
		return false;
	bf_ftrace_skip(l, " \t");
	if (l->end - l->p < 2 || (l->p[1] != ' ' && l->p[1] != '\t'))
		return false;
	b->action = *l->p++;
	bf_ftrace_skip(l, " \t");
	for (; l->p < l->end && *l->p != ' ' && *l->p != '\t'; l->p++)
		if (n + 1 < sizeof(b->rwbs))
			b->rwbs[n++] = *l->p;
	b->rwbs[n] = '\0';
	return n > 0;
}

/* Sectors of 512 bytes; a flush has none. */
static int read_sectors(struct bf_ftrace_line *l, struct block_line *b)
{
	bf_ftrace_skip(l, " \t");
	if (l->p == l->end || !is_digit(*l->p))
		return 0;
	if (!bf_ftrace_number(l, &b->sector))
		return bf_ftrace_fail(l, l->p, "a sector is expected here");
	bf_ftrace_skip(l, " \t");
	if (l->p == l->end || *l->p != '+')
		return 0;
	l->p++;
	bf_ftrace_skip(l, " \t");
	if (!bf_ftrace_number(l, &b->sectors) || b->sectors > 65536)
		return bf_ftrace_fail(l, l->p, "a number of sectors up to 65536 is expected here");
	return 0;
}

static uint32_t block_opcode(const struct block_line *b)
{
	if (strchr(b->rwbs, 'D'))
		return BF_NVME_IO_DSM;
	if (strchr(b->rwbs, 'W'))
		return BF_NVME_IO_WRITE;
	return strchr(b->rwbs, 'R') ? BF_NVME_IO_READ : BF_NVME_IO_FLUSH;
}

static void fill_block_setup(const struct block_line *b, struct bf_ftrace_event *ev)
{
	struct bf_nvme_sqe *s = &ev->setup.sqe;
	const bool fua = strlen(b->rwbs) > 1 && strchr(b->rwbs + 1, 'F');

	ev->setup.opcode = block_opcode(b);
	ev->setup.fctype = -1;
	s->opcode = (uint8_t)ev->setup.opcode;
	s->cid = bf_to_le16((uint16_t)ev->cid);
	s->nsid = bf_to_le32(1);
	if (s->opcode == BF_NVME_IO_DSM) {
		s->cdw11 = bf_to_le32(4);
	} else if (s->opcode != BF_NVME_IO_FLUSH) {
		s->cdw10 = bf_to_le32((uint32_t)b->sector);
		s->cdw11 = bf_to_le32((uint32_t)(b->sector >> 32));
		s->cdw12 = bf_to_le32((b->sectors ? (uint32_t)b->sectors - 1 : 0) | (fua ? 1u << 30 : 0));
	}
}

/* A block trace joins an end to its beginning by the sector; this finds the last command there that has not ended. */
static const struct bf_ftrace_event *find_issue(const struct bf_ftrace *t, const struct bf_ftrace_event *end,
						const struct block_line *b)
{
	for (size_t i = t->count; i-- > 0 && t->count - i <= 65536;) {
		const struct bf_ftrace_event *e = &t->events[i];
		const struct bf_nvme_sqe *s = &e->setup.sqe;

		if (e->kind == BF_FTRACE_SETUP && strcmp(e->ctrl, end->ctrl) == 0 &&
		    e->setup.opcode == block_opcode(b) &&
		    (bf_le32(s->cdw10) == (uint32_t)b->sector || e->setup.opcode == BF_NVME_IO_DSM))
			return e;
	}
	return NULL;
}

int bf_ftrace_block(struct bf_ftrace_line *l, const struct bf_ftrace *before, struct bf_ftrace_event *ev)
{
	const struct bf_ftrace_event *issue;
	struct block_line b = { 0 };
	int rc;

	l->p = l->start;
	if (!read_block(l, &b, ev) || (b.action != 'D' && b.action != 'C'))
		return 0;
	rc = read_sectors(l, &b);
	if (rc)
		return rc;
	ev->side = BF_FTRACE_BLOCK;
	snprintf(ev->ctrl, sizeof(ev->ctrl), "%" PRIu32 ",%" PRIu32, (uint32_t)b.major, (uint32_t)b.minor);
	if (b.action == 'D') {
		ev->kind = BF_FTRACE_SETUP;
		ev->qid = (uint32_t)b.cpu % 65535 + 1;
		ev->cid = before->line & 0xffff;
		fill_block_setup(&b, ev);
		return 1;
	}
	ev->kind = BF_FTRACE_COMPLETE;
	issue = find_issue(before, ev, &b);
	if (!issue)
		return 0; /* issued before the trace began */
	ev->qid = issue->qid;
	ev->cid = issue->cid;
	return 1;
}
