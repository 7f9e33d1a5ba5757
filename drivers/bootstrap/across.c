#include "drivers/bootstrap/across_internal.h"
#include "sim/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SAY_ENDED = BF_BOOT_OPS };

struct bf_across_say {
	uint64_t bytes;
	uint32_t op; /* enum bf_boot_op, or SAY_ENDED */
	uint32_t first, count;
};

struct outcome {
	int32_t rc;
	uint32_t cut; /* it failed only because another was gone */
	char text[240];
};

static int lose(struct bf_across *a, int rc)
{
	struct bf_error *err = a->meet->err;

	a->over = true;
	a->lost = rc;
	if (!err || err->code != rc) /* otherwise the text is the processes' bootstrap's own */
		bf_fail(err, rc, "bootstrap between processes: %s", strerror(-rc));
	return rc;
}

static int say(struct bf_across *a, const struct bf_across_say *mine)
{
	const int rc = a->ranks->allgather(a->ranks, mine, a->said, sizeof(*mine));

	return rc ? lose(a, rc) : 0;
}

static int reserve(struct bf_meet *m, uint8_t **buf, size_t *cap, size_t need)
{
	return BF_GROW(*buf, *cap, need)
		   ? bf_fail(m->err, -ENOMEM, "bootstrap: no memory for an exchange of %zu bytes", need)
		   : 0;
}

/* Blocks of the process with most PEs are the size of everybody's; they are all the same unless npes does not divide.
 */
static int allgather(struct bf_across *a, struct bf_meet *m, size_t bytes)
{
	const size_t block = a->most * bytes;
	int rc;

	for (uint32_t i = 0; i < m->npes; i++)
		memcpy(a->out + i * bytes, m->pe[i].in, bytes);
	rc = a->ranks->allgather(a->ranks, a->out, a->in, block);
	if (rc)
		return lose(a, rc);
	for (uint32_t i = 0; i < m->npes; i++) {
		uint8_t *to = m->pe[i].out;

		for (uint32_t r = 0; to && r < a->ranks->npes; to += a->count[r++] * bytes)
			memcpy(to, a->in + r * block, a->count[r] * bytes);
	}
	return 0;
}

/* To each process a block of rows, one for each PE of ours, of columns, one for each PE of its. */
static int alltoall(struct bf_across *a, struct bf_meet *m, size_t bytes)
{
	const size_t row = a->most * bytes, block = a->most * row;
	size_t at = 0;
	int rc;

	for (uint32_t r = 0; r < a->ranks->npes; at += a->count[r++] * bytes)
		for (uint32_t i = 0; i < m->npes; i++)
			memcpy(a->out + r * block + i * row, m->pe[i].in + at, a->count[r] * bytes);
	rc = a->ranks->alltoall(a->ranks, a->out, a->in, block);
	if (rc)
		return lose(a, rc);
	for (uint32_t i = 0; i < m->npes; i++) {
		uint8_t *to = m->pe[i].out;

		for (uint32_t r = 0; r < a->ranks->npes; r++)
			for (uint32_t from = 0; from < a->count[r]; from++, to += bytes)
				memcpy(to, a->in + r * block + from * row + i * bytes, bytes);
	}
	return 0;
}

static int check_said(struct bf_across *a, struct bf_meet *m, const struct bf_across_say *mine)
{
	for (uint32_t r = 0; r < a->ranks->npes; r++) {
		const struct bf_across_say *s = &a->said[r];

		if (s->op == SAY_ENDED) {
			a->over = true;
			return bf_fail(m->err, -ECONNRESET, "PEs of rank %u have ended before the others, or given up",
				       r);
		}
	}
	for (uint32_t r = 0; r < a->ranks->npes; r++) {
		const struct bf_across_say *s = &a->said[r];

		if (s->op == mine->op && s->bytes == mine->bytes)
			continue;
		a->over = true;
		return bf_fail(m->err, -EPROTO, "PE %u calls %s of %llu bytes while PE %u calls %s of %llu bytes",
			       mine->first, bf_boot_op_name(mine->op), (unsigned long long)mine->bytes, s->first,
			       bf_boot_op_name(s->op), (unsigned long long)s->bytes);
	}
	return 0;
}

/* Everybody here has arrived at the same call. A failure for lack of memory is ours alone, so the others are told. */
static int exchange(struct bf_meet *m, void *arg)
{
	struct bf_across *a = arg;
	const struct bf_meet_pe *p = &m->pe[0];
	const size_t bytes = p->op == BF_BOOT_BARRIER ? 0 : p->bytes;
	const size_t blocks = p->op == BF_BOOT_ALLTOALL ? (size_t)a->most * a->most : a->most;
	struct bf_across_say mine = { .op = p->op, .bytes = bytes, .first = m->first, .count = m->npes };
	int no_memory = 0, rc;

	if (bytes) {
		const size_t in = blocks * bytes * a->ranks->npes;

		no_memory = reserve(m, &a->in, &a->in_cap, in);
		if (!no_memory)
			no_memory = reserve(m, &a->out, &a->out_cap, p->op == BF_BOOT_ALLTOALL ? in : blocks * bytes);
		if (no_memory)
			mine.op = SAY_ENDED;
	}
	rc = say(a, &mine);
	if (rc)
		return rc;
	if (no_memory)
		a->over = true;
	rc = no_memory ? no_memory : check_said(a, m, &mine);
	if (rc || !bytes)
		return rc;
	return p->op == BF_BOOT_ALLTOALL ? alltoall(a, m, bytes) : allgather(a, m, bytes);
}

int bf_across_begin(struct bf_across *a, struct bf_boot *ranks, struct bf_meet *m, uint32_t npes)
{
	const struct bf_across_say mine = { .first = m->first, .count = m->npes };
	uint32_t next = 0;
	int rc;

	*a = (struct bf_across){ .ranks = ranks, .meet = m };
	a->said = calloc(ranks->npes, sizeof(*a->said));
	a->count = calloc(ranks->npes, sizeof(*a->count));
	if (!a->said || !a->count) {
		ranks->abort(ranks);
		return bf_fail(m->err, -ENOMEM, "bootstrap: no memory for %u processes", ranks->npes);
	}
	rc = say(a, &mine);
	if (rc)
		return rc;
	for (uint32_t r = 0; r < ranks->npes; r++) {
		const struct bf_across_say *s = &a->said[r];

		if (s->first != next || s->count > npes - next || !s->count)
			return bf_fail(m->err, -EPROTO,
				       "rank %u has %u PEs from %u on, of %u; expected some from %u on", r, s->count,
				       s->first, npes, next);
		next += s->count;
		a->count[r] = s->count;
		a->most = s->count > a->most ? s->count : a->most;
	}
	if (next != npes)
		return bf_fail(m->err, -EPROTO, "%u ranks have %u PEs together, not %u", ranks->npes, next, npes);
	m->exchange = exchange;
	m->exchange_arg = a;
	return 0;
}

/* Which failure tells most: a PE's own, two that do not agree, somebody is gone. */
static int weight_of(const struct outcome *o)
{
	return !o->cut ? 0 : o->rc == -ECONNRESET ? 2 : 1;
}

int bf_across_end(struct bf_across *a, struct bf_meet *m, int rc, uint32_t pe)
{
	const struct bf_across_say ended = { .op = SAY_ENDED, .first = m->first, .count = m->npes };
	struct outcome mine = { .rc = rc }, *all = calloc(a->ranks->npes, sizeof(*all));
	const struct outcome *first = NULL;

	if (!a->over)
		say(a, &ended);
	if (a->lost || !all) {
		free(all);
		a->ranks->abort(a->ranks);
		return rc ? rc : a->lost ? a->lost : bf_fail(m->err, -ENOMEM, "bootstrap: no memory for the outcome");
	}
	mine.cut = rc && pe < m->npes && m->pe[pe].cut && rc == m->broken;
	if (rc && m->err)
		memcpy(mine.text, m->err->text, sizeof(mine.text) - 1);
	rc = a->ranks->allgather(a->ranks, &mine, all, sizeof(mine));
	if (rc)
		rc = lose(a, rc);
	for (uint32_t r = 0; !rc && r < a->ranks->npes; r++)
		if (all[r].rc && (!first || weight_of(&all[r]) < weight_of(first)))
			first = &all[r];
	if (first)
		rc = bf_fail(m->err, first->rc, "%.*s", (int)sizeof(first->text) - 1, first->text);
	free(all);
	return rc;
}

void bf_across_fini(struct bf_across *a)
{
	free(a->said);
	free(a->count);
	free(a->out);
	free(a->in);
}
