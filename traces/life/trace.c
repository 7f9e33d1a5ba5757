/* The whole story out of a file: whose, what happened, what was visible, and what the records do not tell. */
#include <errno.h>
#include <stdlib.h>

#include "traces/life/explain_internal.h"

/* Reads `t` from its start into a new life. Damage is noted in `*damage`. */
static int read_once(const struct bf_explain_target *target, bool device_only, struct bf_trace *t,
		     struct bf_explain **out, int *damage)
{
	int rc = bf_explain_follow(target, out);

	if (!rc) {
		(*out)->device_only = device_only;
		rc = bf_trace_seek_time(t, 0);
	}
	if (!rc)
		rc = bf_explain_read(*out, t);
	if (rc == -EBADMSG) {
		*damage = rc;
		rc = 0;
	}
	return rc;
}

/* A class that is in the stream by more than captured events. */
static bool has_class(const struct bf_trace *t, uint32_t class_)
{
	const struct bf_rec_schema *type;

	for (size_t i = 0; (type = bf_trace_type_at(t, i)) != NULL; i++)
		if (type->class_ == class_ && strncmp(type->name, "capture_", 8) != 0 &&
		    strncmp(type->name, "ftrace_", 7) != 0)
			return true;
	return false;
}

/* The points of a life, and the records of them, that only software or only the device can tell of. */
static void note_rows(struct bf_explain *l, const struct bf_trace *t, bool software)
{
	const struct bf_life *life = l->target.life;
	char types[160];

	if (bf_life_types(life, software, types, sizeof(types)) &&
	    !has_class(t, software ? BF_CLASS_DRIVER : BF_CLASS_QUEUE) && l->nunknown < BF_ARRAY_LEN(l->unknown))
		snprintf(l->unknown[l->nunknown++], sizeof(l->unknown[0]),
			 "what %s did: the trace has no records %.110s", software ? "its driver" : "the device", types);
}

/* `what` is not known: nothing of this class is there. */
static void note_class(struct bf_explain *l, const struct bf_trace *t, uint32_t class_, const char *what,
		       const char *types)
{
	if (!has_class(t, class_) && l->nunknown < BF_ARRAY_LEN(l->unknown))
		snprintf(l->unknown[l->nunknown++], sizeof(l->unknown[0]), "%s: the trace has no records %s", what,
			 types);
}

/* The stream has a record of a row for which `is` holds. */
static bool has_row(const struct bf_trace *t, const struct bf_life *life, bool (*is)(const struct bf_life_row *row))
{
	for (const struct bf_life_row *row = life->rows; row->type; row++)
		if (is(row) && bf_trace_type(t, row->type))
			return true;
	return false;
}

static bool is_sent(const struct bf_life_row *row)
{
	return row->npsn != NULL;
}

static bool is_read(const struct bf_life_row *row)
{
	return !row->software && row->role == BF_LIFE_POINT && (row->reads || row->bytes);
}

void bf_explain_note_types(struct bf_explain *l, struct bf_trace *t)
{
	const struct bf_life *life = l->target.life;

	if (!life)
		return;
	note_rows(l, t, true);
	note_class(l, t, BF_CLASS_MEM, "when its bytes were stored, and whether they were visible in time",
		   "store store_visible");
	if (has_row(t, life, is_read))
		note_class(l, t, BF_CLASS_DMA, "when the device read its bytes", "dma_read");
	note_rows(l, t, false);
	if (has_row(t, life, is_sent))
		note_class(l, t, BF_CLASS_NET, "which packets were sent for it", "packet");
}

int bf_explain_trace(const struct bf_explain_target *target, struct bf_trace *t, struct bf_explain **out,
		     struct bf_error *err)
{
	struct bf_explain_target want = *target;
	struct bf_explain *first;
	int rc = 0, damage = 0;

	*out = NULL;
	if (target->kind == BF_EXPLAIN_COMPLETION) {
		rc = bf_trace_seek_time(t, 0);
		if (!rc)
			rc = bf_explain_resolve(target, t, &want, err);
		if (rc)
			return rc;
	}
	/* Whose it is may show after what its driver did; if no device ever hears of it, the first driver's it is. */
	rc = read_once(&want, !want.device[0], t, &first, &damage);
	if (!rc && !want.device[0]) {
		snprintf(want.device, sizeof(want.device), "%s", first->device);
		bf_explain_free(first);
		rc = read_once(&want, false, t, &first, &damage);
	}
	if (!rc && first->nsteps) {
		bf_explain_note_types(first, t);
		rc = bf_explain_memory(first, t, err);
	}
	if (rc) {
		bf_explain_free(first);
		return bf_fail(err, rc, "the trace cannot be read");
	}
	*out = first;
	return damage;
}
