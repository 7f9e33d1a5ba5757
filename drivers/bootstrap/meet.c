#include "drivers/bootstrap/meet_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *bf_boot_op_name(uint32_t op)
{
	static const char *const names[BF_BOOT_OPS] = { "nothing", "allgather", "alltoall", "barrier" };

	return op < BF_BOOT_OPS ? names[op] : "?";
}

int bf_meet_init(struct bf_meet *m, uint32_t npes, uint32_t first, struct bf_error *err)
{
	*m = (struct bf_meet){ .npes = npes, .first = first, .err = err };
	m->pe = calloc(npes ? npes : 1, sizeof(*m->pe));
	return m->pe ? 0 : bf_fail(err, -ENOMEM, "bootstrap: no memory for %u PEs", npes);
}

void bf_meet_fini(struct bf_meet *m)
{
	free(m->pe);
	m->pe = NULL;
}

/* A transfer of nothing may come with null pointers. */
static void copy(uint8_t *to, const uint8_t *from, size_t bytes)
{
	if (bytes)
		memcpy(to, from, bytes);
}

/* The exchange among the PEs of this process. What all get is put together once. */
static void exchange_here(struct bf_meet *m)
{
	const size_t bytes = m->pe[0].bytes;

	switch (m->pe[0].op) {
	case BF_BOOT_ALLGATHER:
		for (uint32_t from = 0; from < m->npes; from++)
			copy(m->pe[0].out + from * bytes, m->pe[from].in, bytes);
		for (uint32_t to = 1; to < m->npes; to++)
			if (m->pe[to].out)
				copy(m->pe[to].out, m->pe[0].out, m->npes * bytes);
		break;
	case BF_BOOT_ALLTOALL:
		for (uint32_t to = 0; to < m->npes; to++)
			for (uint32_t from = 0; from < m->npes; from++)
				copy(m->pe[to].out + from * bytes, m->pe[from].in + to * bytes, bytes);
		break;
	default:
		break;
	}
}

static void answer_all(struct bf_meet *m, int rc)
{
	for (uint32_t i = 0; i < m->npes; i++) {
		struct bf_meet_pe *p = &m->pe[i];

		if (p->op == BF_BOOT_NONE)
			continue;
		p->op = BF_BOOT_NONE;
		p->rc = rc;
		p->cut |= rc != 0;
	}
	m->waiting = 0;
}

void bf_meet_break(struct bf_meet *m, int rc)
{
	if (!m->broken)
		m->broken = rc;
	answer_all(m, m->broken);
}

/* Everybody must have called the same. */
static int check_same(struct bf_meet *m)
{
	for (uint32_t i = 1; i < m->npes; i++)
		if (m->pe[i].op != m->pe[0].op || m->pe[i].bytes != m->pe[0].bytes)
			return bf_fail(m->err, -EPROTO, "PE %u calls %s of %zu bytes while PE %u calls %s of %zu bytes",
				       m->first, bf_boot_op_name(m->pe[0].op), m->pe[0].bytes, m->first + i,
				       bf_boot_op_name(m->pe[i].op), m->pe[i].bytes);
	return 0;
}

bool bf_meet_arrive(struct bf_meet *m, uint32_t pe, enum bf_boot_op op, const void *in, void *out, size_t bytes)
{
	struct bf_meet_pe *p = &m->pe[pe];
	int rc;

	if (m->gone && !m->broken)
		m->broken = bf_fail(m->err, -ECONNRESET, "PE %u calls %s, but %u of %u PEs have ended", m->first + pe,
				    bf_boot_op_name(op), m->gone, m->npes);
	if (m->broken) {
		p->rc = m->broken;
		p->cut = true;
		return true;
	}
	p->op = (uint8_t)op;
	p->in = in;
	p->out = out;
	p->bytes = bytes;
	if (++m->waiting < m->npes)
		return false;
	rc = check_same(m);
	if (!rc && m->exchange)
		rc = m->exchange(m, m->exchange_arg);
	else if (!rc)
		exchange_here(m);
	if (rc)
		bf_meet_break(m, rc);
	else
		answer_all(m, 0);
	return true;
}

void bf_meet_leave(struct bf_meet *m, uint32_t pe, int ended)
{
	struct bf_meet_pe *p = &m->pe[pe];

	if (!p->gone)
		m->gone++;
	p->gone = true;
	p->ended = ended;
	if (m->broken || (!ended && !m->waiting))
		return;
	if (!ended || !m->err || m->err->code != ended) /* otherwise the PE has told why */
		bf_fail(m->err, -ECONNRESET, "PE %u %s", m->first + pe, ended ? "gave up" : "ended before the others");
	bf_meet_break(m, -ECONNRESET);
}

int bf_meet_outcome(const struct bf_meet *m, uint32_t *pe)
{
	const struct bf_meet_pe *cut = NULL;

	for (uint32_t i = 0; i < m->npes; i++) {
		const struct bf_meet_pe *p = &m->pe[i];

		if (!p->ended || (p->cut && p->ended == m->broken)) {
			cut = cut || !p->ended ? cut : p;
			continue;
		}
		if (pe)
			*pe = i;
		return p->ended;
	}
	if (pe)
		*pe = cut ? (uint32_t)(cut - m->pe) : 0;
	return cut ? cut->ended : 0;
}
