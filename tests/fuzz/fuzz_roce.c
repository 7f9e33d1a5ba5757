/* Any bytes as a frame: what parses, with a right ICRC or not, builds again to the same transport bytes. */
#include <stdlib.h>
#include <string.h>

#include "models/fabric/roce.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* BTH bits that are reserved or that the model always sets; they need not come back. */
static void blank_unmodelled(uint8_t *bth, const struct bf_roce *r)
{
	bth[1] |= 0x40;
	bth[4] = 0;
	bth[8] &= 0x80;
	if (bth[0] == BF_UD_SEND_ONLY || bth[0] == BF_UD_SEND_ONLY_IMM)
		bth[sizeof(struct bf_roce_bth) + 4] = 0; /* of the DETH, before the source's number */
	if (bf_roce_opcode_info(bf_roce_wire_opcode(r)) & BF_ROCE_HAS_XRCETH)
		bth[sizeof(struct bf_roce_bth)] = 0;
}

static void rebuild(const uint8_t *frame, const struct bf_roce *r)
{
	struct bf_roce_path_opts opts = { .src_ipv4 = r->src_ipv4,
					  .dst_ipv4 = r->dst_ipv4,
					  .udp_src_port = r->src_port };
	struct bf_roce_path path;
	uint32_t at, bth_to_payload = r->payload_offset - BF_ROCE_BTH_OFFSET;
	uint8_t *again = malloc(r->payload_offset + r->payload_len + 8), *before = malloc(bth_to_payload);
	struct bf_roce back;

	bf_roce_path_init(&path, &opts);
	at = bf_roce_build(again, &path, r);
	if (at != r->payload_offset)
		abort();
	memcpy(before, frame + BF_ROCE_BTH_OFFSET, bth_to_payload);
	blank_unmodelled(before, r);
	if (memcmp(again + BF_ROCE_BTH_OFFSET, before, bth_to_payload))
		abort();
	memcpy(again + at, frame + at, r->payload_len);
	if (bf_roce_parse(again, bf_roce_finish(again, r, at, true), true, &back, NULL) ||
	    back.payload_len != r->payload_len)
		abort();
	free(before);
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bf_error err = { 0 };
	struct bf_roce r;
	uint8_t *frame = malloc(size ? size : 1);

	if (size > 65536 + 14) {
		free(frame);
		return 0;
	}
	memcpy(frame, data, size);
	if (!bf_roce_parse(frame, (uint32_t)size, false, &r, &err)) {
		if (r.payload_offset + r.payload_len + r.pad + BF_ROCE_ICRC_LEN > size)
			abort();
		rebuild(frame, &r);
	} else if (!err.text[0]) {
		abort();
	}
	free(frame);
	return 0;
}
