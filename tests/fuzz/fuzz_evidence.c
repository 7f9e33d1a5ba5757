/* Any bytes as evidence: read without harm, in the order of the lines, and each piece can be told. */
#include <stdlib.h>
#include <string.h>

#include "traces/evidence/evidence.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bf_evidence_list list = { 0 };
	struct bf_error err = { 0 };
	char *text = malloc(size + 1);
	uint64_t lines = 1;

	memcpy(text, data, size);
	text[size] = 0;
	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	if (bf_evidence_read(text, size, &list, &err))
		abort();
	if (list.lines > lines)
		abort();
	for (size_t i = 0; i < list.count; i++) {
		const struct bf_evidence *e = &list.item[i];
		const struct bf_meaning *m = bf_evidence_meaning(e);

		if (!e->line || e->line > list.lines || !e->form || strlen(e->text) >= sizeof(e->text))
			abort();
		if (m && bf_meaning_find(m->name) != m)
			abort();
	}
	bf_meaning_find(text);
	bf_evidence_free(&list);
	free(text);
	return 0;
}
