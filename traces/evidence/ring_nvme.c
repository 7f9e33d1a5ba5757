/* Bare words of an NVMe submission queue. */
#include <errno.h>

#include "models/nvme/prm.h"
#include "sim/bytes.h"
#include "traces/evidence/evidence_internal.h"

static bool nvme_command(const uint8_t *b)
{
	const uint32_t nsid = bf_get_le32(b + 4);
	const uint64_t prp1 = bf_get_le64(b + 24);

	return (b[0] == BF_NVME_IO_WRITE || b[0] == BF_NVME_IO_READ || b[0] == BF_NVME_IO_COMPARE) && !(b[1] & 0x3f) &&
	       nsid && nsid < 1024 && prp1 && !(prp1 & 3) && !bf_get_le32(b + 8) && !bf_get_le32(b + 12) &&
	       !bf_get_le64(b + 16);
}

int bf_words_commands(const struct bf_ring_words *w, struct bf_evidence_list *list)
{
	const size_t len = w->count * 4;

	for (size_t at = 0; at + BF_RING_SLOT <= len; at += BF_RING_SLOT)
		if (!nvme_command(w->bytes + at))
			return -1;
	if (len < BF_RING_SLOT)
		return -1;
	for (size_t at = 0; at + BF_RING_SLOT <= len; at += BF_RING_SLOT) {
		struct bf_evidence *e = bf_words_add(list, w, at, "command in a queue's bare words", BF_EVIDENCE_DRIVE);

		if (!e)
			return -ENOMEM;
		e->fact[BF_FACT_OPCODE] = w->bytes[at];
		e->fact[BF_FACT_CID] = bf_get_le16(w->bytes + at + 2);
		e->fact[BF_FACT_NSID] = bf_get_le32(w->bytes + at + 4);
		e->fact[BF_FACT_LBA] = (int64_t)(bf_get_le64(w->bytes + at + 40) & INT64_MAX);
	}
	return 0;
}
