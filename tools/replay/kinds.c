/* What `belfry replay` takes, and what `belfry diff` compares of queues: a line each. */
#include "tools/replay/kind.h"

#include <errno.h>
#include <string.h>

#include "tools/cli/input.h"
#include "tools/replay/compare.h"
#include "traces/container/trace.h"

extern const struct bf_replay_kind bf_replay_mlx5, bf_replay_nvme, bf_replay_sdma;

static const struct bf_replay_kind *const kinds[] = { &bf_replay_mlx5, &bf_replay_nvme, &bf_replay_sdma };

const struct bf_replay_kind *bf_replay_kind_at(unsigned i)
{
	return i < BF_ARRAY_LEN(kinds) ? kinds[i] : NULL;
}

extern const struct bf_compare_form bf_compare_mlx5_queues, bf_compare_mlx5_completions;

static const struct bf_compare_form *const comparisons[] = { &bf_compare_mlx5_queues, &bf_compare_mlx5_completions };

const struct bf_compare_form *bf_compare_form_at(unsigned i)
{
	return i < BF_ARRAY_LEN(comparisons) ? comparisons[i] : NULL;
}

bool bf_replay_whole(const char *text, size_t len)
{
	for (unsigned i = 0; i < BF_ARRAY_LEN(kinds); i++)
		if (kinds[i]->whole && kinds[i]->whole(text, len))
			return true;
	return false;
}

const char *bf_replay_profile(const void *own, uint32_t i)
{
	for (unsigned k = 0; k < BF_ARRAY_LEN(kinds); k++)
		if (kinds[k]->profiles)
			return kinds[k]->profiles(own, i);
	return NULL;
}

static const struct bf_replay_kind *by_origin(const struct bf_trace *t)
{
	const char *from = bf_trace_meta_get(t, "imported-from");

	for (unsigned i = 0; from && i < BF_ARRAY_LEN(kinds); i++)
		if (strcmp(kinds[i]->form.name, from) == 0)
			return kinds[i];
	return NULL;
}

static const struct bf_replay_kind *by_head(const char *head, size_t len)
{
	for (unsigned i = 0; i < BF_ARRAY_LEN(kinds); i++)
		if (kinds[i]->probe(head, len))
			return kinds[i];
	return NULL;
}

const struct bf_replay_kind *bf_replay_kind_of(const char *path, FILE *f, const char *head, size_t len)
{
	const struct bf_replay_kind *kind = by_head(head, len);
	struct bf_trace *t;

	if (!kind && bf_trace_open(path, f, &t, NULL) == 0) {
		kind = by_origin(t);
		bf_trace_close(t);
	}
	rewind(f);
	return kind ? kind : kinds[0];
}

int bf_replay_again(const struct bf_input *in, struct bf_sink *sink, struct bf_error *err)
{
	int rc = -ENOENT;

	for (unsigned i = 0; rc == -ENOENT && i < BF_ARRAY_LEN(kinds); i++)
		if (kinds[i]->again)
			rc = kinds[i]->again(in, sink, err);
	return rc;
}
