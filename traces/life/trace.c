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

/* What a stream without these records leaves open. */
static const struct lack {
	enum bf_explain_kind kind;
	const char *types; /* separated by blanks; all of them are missing */
	uint32_t class_;   /* nothing else of this class is there either, so it was not recorded */
	const char *after; /* they come only behind this one; NULL: no condition */
	const char *what;
} lacks[] = {
	{ BF_EXPLAIN_MLX5, "ibgda_reserve ibgda_build ibgda_publish", BF_CLASS_DRIVER, NULL,
	  "who reserved, built and published it" },
	{ BF_EXPLAIN_MLX5, "store store_visible", BF_CLASS_MEM, NULL,
	  "when its bytes were stored, and whether they were visible in time" },
	{ BF_EXPLAIN_MLX5, "dma_read", BF_CLASS_DMA, "wqe_fetch", "when the device read its bytes" },
	{ BF_EXPLAIN_MLX5, "doorbell dbrec wqe_fetch", BF_CLASS_QUEUE, NULL, "what reached the device" },
	{ BF_EXPLAIN_MLX5, "packet", BF_CLASS_NET, "wqe_start", "which packets were sent for it" },
	{ BF_EXPLAIN_ROWS, "store store_visible", BF_CLASS_MEM, NULL,
	  "when its bytes were stored, and whether they were visible in time" },
};

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

void bf_explain_note_types(struct bf_explain *l, struct bf_trace *t)
{
	if (l->target.life) {
		note_rows(l, t, true);
		note_rows(l, t, false);
	}
	for (size_t i = 0; i < BF_ARRAY_LEN(lacks) && l->nunknown < BF_ARRAY_LEN(l->unknown); i++) {
		const struct lack *k = &lacks[i];

		if (k->kind == l->target.kind && !has_class(t, k->class_) && (!k->after || bf_trace_type(t, k->after)))
			snprintf(l->unknown[l->nunknown++], sizeof(l->unknown[0]), "%s: the trace has no records %s",
				 k->what, k->types);
	}
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
