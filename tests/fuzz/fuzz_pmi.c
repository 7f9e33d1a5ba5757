/*
 * Any bytes from the processes of a job, the first byte of each piece says from whom: replies are whole lines of
 * bounded length to ranks that exist, every refusal has a text, and nobody waits at a barrier who is not there.
 */
#include <stdlib.h>
#include <string.h>

#include "drivers/bootstrap/pmi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RANKS 3u
#define PIECE 64u

static int check_reply(void *ctx, uint32_t rank, const char *line, size_t len)
{
	(void)ctx;
	if (rank >= RANKS || !len || len > BF_PMI_REPLY_MAX || line[len - 1] != '\n')
		abort();
	if (memchr(line, '\n', len - 1) || memchr(line, '\0', len))
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bf_pmi *pmi = bf_pmi_new(RANKS, &(struct bf_pmi_out){ .send = check_reply });

	while (pmi && size) {
		const uint32_t rank = data[0] % RANKS;
		const size_t n = size - 1 < PIECE ? size - 1 : PIECE;
		struct bf_error err = { 0 };
		const int rc = bf_pmi_take(pmi, rank, (const char *)data + 1, n, &err);

		if (rc && (!err.text[0] || err.code != rc))
			abort();
		if (data[0] & 0x80)
			bf_pmi_gone(pmi, rank);
		if (bf_pmi_waiting(pmi) >= RANKS)
			abort();
		data += 1 + n;
		size -= 1 + n;
	}
	bf_pmi_free(pmi);
	return 0;
}
