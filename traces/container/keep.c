#include "traces/container/keep.h"

#include "sim/member.h"
#include "traces/container/trace_internal.h"

static void on_time(struct bf_event *ev)
{
	struct bf_trace_keeper *k = BF_CONTAINER_OF(ev, struct bf_trace_keeper, event);

	bf_stream_flush(&k->sim->rec);
	bf_trace_flush(k->writer);
	bf_sim_after(k->sim, ev, BF_TRACE_KEEP_PS);
}

void bf_trace_keep(struct bf_trace_keeper *k, struct bf_sim *sim, struct bf_trace_writer *writer)
{
	k->sim = sim;
	k->writer = writer;
	k->rescued = false;
	writer->kept = true;
	bf_trace_flush(writer);
	writer->whole = writer->chunk_bytes ? writer->offset : 0; /* JSON Lines have no chunks */
	bf_event_init(&k->event, on_time);
	bf_sim_after(sim, &k->event, BF_TRACE_KEEP_PS);
}

void bf_trace_keep_stop(struct bf_trace_keeper *k)
{
	if (k->sim)
		bf_sim_cancel(k->sim, &k->event);
	k->sim = NULL;
}
