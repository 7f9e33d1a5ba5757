/* What the writers of waveforms share: scopes and signals as the timeline tells of them, and changes without repeats.
 */
#ifndef BELFRY_TRACES_EXPORT_WAVES_INTERNAL_H
#define BELFRY_TRACES_EXPORT_WAVES_INTERNAL_H

#include "traces/life/timeline.h"

struct bf_wave_scope {
	uint32_t parent;
	char name[64];
};

struct bf_wave_signal {
	uint32_t track, bits;
	uint64_t last;
	bool known; /* it has a last value */
	char name[64];
};

struct bf_waves {
	struct bf_timeline_out out; /* first: the timeline's functions get this pointer */
	struct bf_error *err;
	struct bf_wave_scope *scopes; /* by number of their track, from 1 */
	struct bf_wave_signal *signals;
	uint32_t nscopes, nsignals, scopes_cap, signals_cap;
	uint64_t nchanges;
	/* The signal with this index from 0 has another value from now on. 0 or a negative errno with `err` set. */
	int (*change)(struct bf_waves *w, uint32_t signal, uint64_t time_ps, uint64_t value);
};

/* Begins with nothing. Free with bf_waves_fini(). */
void bf_waves_init(struct bf_waves *w, int (*change)(struct bf_waves *, uint32_t, uint64_t, uint64_t),
		   struct bf_error *err);
void bf_waves_fini(struct bf_waves *w);
int bf_waves_no_memory(struct bf_waves *w);

#endif
