/* Threads that wait. */
#include "traces/life/stuck_internal.h"

ROW(on_agent_wait)
{
	struct bf_stuck_thread *t = bf_stuck_thread_of(s, rec->actor);

	(void)actor;
	if (!t)
		return bf_stuck_no_memory(s);
	if (!t->polls_ps || t->va != bf_stuck_field(rec, "va"))
		t->polls_ps = rec->time_ps;
	t->waits = true;
	t->looks = false;
	t->since_ps = rec->time_ps;
	t->va = bf_stuck_field(rec, "va");
	bf_trace_field_text(rec, "what", t->what, sizeof(t->what));
	return 0;
}

ROW(on_agent_wake)
{
	struct bf_stuck_thread *t = bf_stuck_thread_of(s, rec->actor);

	(void)actor;
	if (t) {
		t->waits = false;
		t->looks = bf_stuck_field(rec, "reason") != 0; /* its time was over */
	}
	return t ? 0 : bf_stuck_no_memory(s);
}

ROW(on_agent_end)
{
	struct bf_stuck_thread *t = bf_stuck_thread_of(s, rec->actor);

	(void)actor;
	if (!t)
		return bf_stuck_no_memory(s);
	t->waits = t->looks = false;
	t->ended = true;
	return 0;
}

ROW(on_deadlock)
{
	struct bf_stuck_thread *t = bf_stuck_thread_of(s, rec->actor);

	(void)actor;
	if (!t)
		return bf_stuck_no_memory(s);
	s->deadlock = true;
	t->waits = t->deadlock = true;
	t->since_ps = bf_stuck_field(rec, "since");
	t->va = bf_stuck_field(rec, "va");
	t->value = bf_stuck_field(rec, "value");
	bf_trace_field_text(rec, "what", t->what, sizeof(t->what));
	return 0;
}

const struct bf_stuck_row bf_stuck_thread_rows[] = {
	{ "agent_wait", on_agent_wait },
	{ "agent_wake", on_agent_wake },
	{ "agent_end", on_agent_end },
	{ "deadlock", on_deadlock },
	{ NULL, NULL },
};
