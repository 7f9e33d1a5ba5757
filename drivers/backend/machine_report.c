/* Where the queues of a modelled machine stand, for the reports of runs that did not end. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "drivers/backend/machine_internal.h"

/* Queues have at most this part of a report: the threads that wait for them come after. */
#define QUEUES_PART(cap) ((cap) / 2)

void bf_report_queue(struct bf_queue_report *r, const char *format, ...)
{
	const size_t used = strlen(r->text);
	va_list args;

	if (used >= QUEUES_PART(r->cap)) {
		r->left_out++;
		return;
	}
	va_start(args, format);
	vsnprintf(r->text + used, r->cap - used, format, args);
	va_end(args);
}

void bf_machine_describe_queues(struct bf_world *m, char *report, size_t cap)
{
	struct bf_queue_report r = { .text = report, .cap = cap };

	for (uint32_t i = 0; i < m->npes; i++) {
		const struct bf_pe *pe = &m->pe[i];

		for (const struct bf_part *const *part = bf_parts(); *part; part++)
			(*part)->describe(m, pe, &r);
		if (pe->model && m->model->describe)
			m->model->describe(pe->model, report + strlen(report), cap - strlen(report));
	}
	if (r.left_out)
		snprintf(report + strlen(report), cap - strlen(report), "(and %u more queues with work or an error)\n",
			 r.left_out);
}
