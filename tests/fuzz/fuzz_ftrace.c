/* Any bytes as a Linux NVMe trace: read without harm; what was read is in order, and prints to text that reads the
 * same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/import/ftrace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void reread(const struct bf_ftrace_event *ev)
{
	struct bf_ftrace_event again = { 0 };
	const char *name = bf_ftrace_command_name(ev->qid, ev->setup.opcode, ev->setup.fctype), *why = NULL;
	char args[256], text[320];

	if (bf_ftrace_command_text(ev->qid, ev->setup.opcode, ev->setup.fctype, &ev->setup.sqe, args, sizeof(args)) >=
	    (int)sizeof(args))
		abort();
	if (name)
		snprintf(text, sizeof(text), "%s %s", name, args);
	else
		snprintf(text, sizeof(text), "0x%x %s", ev->setup.opcode, args);
	if (bf_ftrace_command_parse(text, strlen(text), ev->qid, &again, &why))
		abort();
	if (again.setup.opcode != ev->setup.opcode || again.setup.fctype != ev->setup.fctype)
		abort();
	/* Arguments that the kernel prints in full come back in full. */
	if (!name && memcmp((const uint8_t *)&again.setup.sqe + 40, (const uint8_t *)&ev->setup.sqe + 40, 24) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1);
	struct bf_error err = { 0 };
	struct bf_ftrace *t;
	int rc;

	memcpy(text, data, size);
	rc = bf_ftrace_parse(text, size, &t, &err);
	if (!t || (rc && !err.text[0]))
		abort();
	for (size_t i = 0; i < t->count; i++) {
		const struct bf_ftrace_event *e = &t->events[i];

		if (e->kind >= BF_FTRACE_KINDS || e->line == 0 || e->line > t->line)
			abort();
		if (i && (e->line <= e[-1].line || e->t_ns < e[-1].t_ns))
			abort();
		if (e->kind == BF_FTRACE_SETUP)
			reread(e);
	}
	if (bf_ftrace_emit(t, NULL, &err))
		abort();
	bf_ftrace_free(t);
	free(text);
	return 0;
}
