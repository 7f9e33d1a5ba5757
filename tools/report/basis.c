#include "tools/report/basis.h"

#include <stdio.h>
#include <string.h>

/* In the order in which they are told. */
static const struct {
	enum bf_time_basis basis;
	const char *name;
} names[] = { { BF_TIME_MEASURED, "measured" },
	      { BF_TIME_SOURCED, "sourced" },
	      { BF_TIME_FITTED, "fitted" },
	      { BF_TIME_ASSUMED, "assumed" } };

static bool has_word(const char *text, const char *word)
{
	const size_t n = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at++)
		if ((at == text || at[-1] == ' ' || at[-1] == '=') && strchr(" ,", at[n]))
			return true;
	return false;
}

/* Whether the command line asks for a profile whose constants were fitted. */
static bool asks_for_fitted(const char *command)
{
	const struct bf_device *d;

	for (uint32_t i = 0; (d = bf_device_at(i)); i++)
		for (const char *const *name = d->fitted; name && *name; name++)
			if (has_word(command, *name))
				return true;
	return false;
}

static enum bf_time_basis basis_of(uint8_t said, bool is_fitted)
{
	return is_fitted && said != BF_TIME_MEASURED ? BF_TIME_FITTED : (enum bf_time_basis)said;
}

void bf_basis_share(const struct bf_stages *s, const struct bf_trace *t, const char *queue, struct bf_basis_share *out)
{
	const char *command = bf_trace_meta_get(t, "command");
	const struct bf_stage_queue *q;
	bool is_fitted;

	*out = (struct bf_basis_share){ 0 };
	/* Captures have a clock of their own, and so have runs in real time. */
	if (!command || strncmp(command, "belfry run ", 11) != 0 ||
	    (strstr(command, "--backend") && !strstr(command, "--backend sim")))
		return;
	out->told = true;
	is_fitted = asks_for_fitted(command);
	for (uint32_t i = 0; (q = bf_stages_queue(s, i)); i++)
		for (uint32_t k = 0; k < q->nstages && (!queue || strstr(q->name, queue)); k++)
			out->ps[basis_of(q->basis[k], is_fitted)] += q->hist[k].sum;
}

static double per_cent(const struct bf_basis_share *b, unsigned i)
{
	double all = 0;

	for (unsigned k = 0; k < BF_TIME_BASES; k++)
		all += (double)b->ps[k];
	return all > 0 ? 100 * (double)b->ps[i] / all : 0;
}

void bf_basis_json(struct bf_json *j, const struct bf_basis_share *b)
{
	if (!b->told) {
		bf_json_text(j, "stands_on", NULL);
		return;
	}
	bf_json_open(j, "stands_on", '{');
	for (unsigned i = 0; i < BF_TIME_BASES; i++)
		bf_json_number(j, names[i].name, per_cent(b, names[i].basis));
	bf_json_close(j, '}');
}

void bf_basis_text(const struct bf_basis_share *b, char *out, size_t cap)
{
	size_t n = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < BF_TIME_BASES && n < cap; i++)
		n += (size_t)snprintf(out + n, cap - n, "%s%s %.0f %%", i ? ", " : "", names[i].name,
				      per_cent(b, names[i].basis));
}
