/*
 * The forms of lines, most telling first. Behind each stands who writes it; the examples of the tests are lines of
 * public reports. There is a table for each family of devices, forms_*.c.
 */
#include "sim/member.h"
#include "traces/evidence/evidence_internal.h"

const struct bf_evidence_form *bf_evidence_form(size_t i)
{
	static const struct bf_evidence_forms *const tables[] = { &bf_forms_nic, &bf_forms_drive, &bf_forms_copier,
								  &bf_forms_gpu, &bf_forms_down,  &bf_forms_words };

	for (size_t t = 0; t < BF_ARRAY_LEN(tables); i -= tables[t++]->n)
		if (i < tables[t]->n)
			return &tables[t]->form[i];
	return NULL;
}

bool bf_take_always(const struct bf_line *l, struct bf_evidence *e)
{
	return (void)l, (void)e, true;
}
