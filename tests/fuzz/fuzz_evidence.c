/* Any bytes as evidence, as text and as packets: read without harm, in order, and each piece can be told. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/evidence/packets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_packets(const uint8_t *data, size_t size)
{
	struct bf_evidence_list list = { 0 };
	struct bf_packet_count count = { 0 };
	struct bf_error err = { 0 };
	FILE *f = fmemopen((void *)(uintptr_t)data, size, "rb");
	int rc;

	if (!f)
		abort();
	rc = bf_packets_read(f, "packets", &list, &count, &err);
	fclose(f);
	if (rc && (rc != -EBADMSG || !err.text[0]))
		abort();
	if (count.roce + count.cut > 2 * count.frames)
		abort();
	for (size_t i = 0; i < list.count; i++) {
		const struct bf_evidence *e = &list.item[i];
		const struct bf_meaning *m = bf_evidence_meaning(e);

		if (!e->line || e->line > count.frames || !e->form || strlen(e->text) >= sizeof(e->text))
			abort();
		if (m && bf_meaning_find(m->name) != m)
			abort();
	}
	bf_evidence_free(&list);
}

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
	if (bf_packets_probe(data, size))
		try_packets(data, size);
	bf_evidence_free(&list);
	free(text);
	return 0;
}
