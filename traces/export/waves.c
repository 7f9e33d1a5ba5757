#include "traces/export/waves_internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "sim/grow.h"

int bf_waves_no_memory(struct bf_waves *w)
{
	return bf_fail(w->err, -ENOMEM, "out of memory for the waveforms");
}

/* As viewers take it: letters, digits and '_'. What separates the parts of an actor's name stays readable. */
static void name_it(const char *name, char *out, size_t cap)
{
	size_t i = 0;

	for (; name[i] && i + 1 < cap; i++)
		out[i] = isalnum((unsigned char)name[i]) ? name[i] : '_';
	out[i] = '\0';
}

static int add_track(struct bf_timeline_out *o, uint32_t track, uint32_t parent, const char *kind, const char *name)
{
	struct bf_waves *w = (struct bf_waves *)o;

	(void)kind;
	if (BF_GROW(w->scopes, w->scopes_cap, (size_t)track + 1))
		return bf_waves_no_memory(w);
	w->nscopes = track + 1;
	w->scopes[track].parent = parent;
	name_it(name, w->scopes[track].name, sizeof(w->scopes[track].name));
	return 0;
}

static int add_item(struct bf_timeline_out *o, const struct bf_timeline_item *item)
{
	(void)o;
	(void)item;
	return 0;
}

static int add_signal(struct bf_timeline_out *o, uint32_t signal, uint32_t track, const char *name, uint32_t bits)
{
	struct bf_waves *w = (struct bf_waves *)o;
	struct bf_wave_signal *s;

	if (BF_GROW(w->signals, w->signals_cap, signal))
		return bf_waves_no_memory(w);
	w->nsignals = signal;
	s = &w->signals[signal - 1];
	*s = (struct bf_wave_signal){ .track = track, .bits = bits };
	name_it(name, s->name, sizeof(s->name));
	return 0;
}

static int add_value(struct bf_timeline_out *o, uint32_t signal, uint64_t time_ps, uint64_t value)
{
	struct bf_waves *w = (struct bf_waves *)o;
	struct bf_wave_signal *s = &w->signals[signal - 1];

	if (s->known && s->last == value)
		return 0;
	s->known = true;
	s->last = value;
	w->nchanges++;
	return w->change(w, signal - 1, time_ps, value);
}

void bf_waves_init(struct bf_waves *w, int (*change)(struct bf_waves *, uint32_t, uint64_t, uint64_t),
		   struct bf_error *err)
{
	*w = (struct bf_waves){
		.out = { .track = add_track, .item = add_item, .signal = add_signal, .value = add_value },
		.err = err,
		.change = change,
	};
}

void bf_waves_fini(struct bf_waves *w)
{
	free(w->scopes);
	free(w->signals);
}
