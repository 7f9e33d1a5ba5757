/*
 * Commands of librdmacm and messages of the communication manager, as bytes. Each step: one byte kind, two bytes length
 * L (little-endian), L bytes. Kinds modulo 4: 0 a command whose head is made right: the first byte is its number, the
 * others are its structure, in which eight bytes of 0xa5 stand for a place in the program's memory; 1 the bytes as they
 * are; 2 a message from another machine, whose first byte is its kind, put on top of what came last; 3 time passes, up
 * to a minute.
 */
#include "tests/models/rdmacm_rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PORT 7174u

static void put_places(struct cm_rig *r, uint8_t *bytes, uint32_t len)
{
	static const uint8_t mark[8] = { 0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5 };
	const uint64_t place = CM_RESPONSE(r);

	for (uint32_t at = 0; at + sizeof(mark) <= len; at += 8)
		if (!memcmp(bytes + at, mark, sizeof(mark)))
			memcpy(bytes + at, &place, sizeof(place));
}

static void command(struct cm_machine *m, const uint8_t *bytes, uint32_t len)
{
	uint8_t in[512] = { 0 };

	if (!len)
		return;
	len = len - 1 < sizeof(in) ? len - 1 : (uint32_t)sizeof(in);
	memcpy(in, bytes + 1, len);
	put_places(m->rig, in, len);
	cm_write(m, bytes[0] % 24u, in, sizeof(in)); /* what is missing is zeros */
}

/* What libFuzzer cannot guess: a head that is ours, numbers that are in use, a service that is offered. */
static void message(struct cm_machine *m, struct cm_machine *alien, const uint8_t *bytes, uint32_t len)
{
	uint8_t mad[BF_UVERBS_MAD] = { 1, 7, 2, 3 };

	if (!len)
		return;
	if (alien->mads)
		memcpy(mad, alien->mad[alien->mads - 1], sizeof(mad));
	alien->mads = 0;
	memcpy(mad + 28, mad + 24, 4); /* its number is whom we answer */
	mad[17] = (uint8_t)(0x10 + bytes[0] % 12u);
	bf_put_be64(mad + 32, (bytes[0] & 0x80 ? 0x1110000ull : 0x1060000ull) + PORT);
	mad[bytes[0] & 0x80 ? 41 : 165] = 0x40;
	for (uint32_t i = 1; i + 1 < len; i += 2)
		mad[bytes[i]] = bytes[i + 1];
	bf_uverbs_mad_send(alien->uverbs, m->ipv4, mad);
	cm_run(m->rig, BF_MS);
}

static void prepare(struct cm_machine *m)
{
	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t id = cm_id(m, 1 + i, i ? RDMA_PS_UDP : RDMA_PS_TCP);

		CM_MUST(!cm_bind(m, id, INADDR_ANY, PORT) && !cm_listen(m, id, 8));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cm_rig *r = cm_open(false);
	struct cm_machine *m = &r->machine[0], *alien = &r->machine[1];
	struct bf_rdmacm_counts n;

	prepare(m);
	for (size_t at = 0; at + 3 <= size;) {
		const uint32_t left = (uint32_t)(size - at - 3), said = bf_get_le16(data + at + 1);
		const uint32_t len = said < left ? said : left;
		const uint8_t *bytes = data + at + 3;

		switch (data[at] & 3) {
		case 0:
			command(m, bytes, len);
			break;
		case 1:
			memcpy(r->mem, bytes, len < CM_MEM / 2 ? len : CM_MEM / 2);
			bf_rdmacm_write(m->f, (uintptr_t)r->mem, len < CM_MEM / 2 ? len : CM_MEM / 2);
			break;
		case 2:
			message(m, alien, bytes, len);
			break;
		default:
			cm_run(r, (len ? bytes[0] : 1) * 256 * BF_MS);
			break;
		}
		at += 3 + len;
	}
	bf_rdmacm_close_all(m->cm);
	bf_rdmacm_counts(m->cm, &n);
	CM_MUST(!(n.ids | n.events | n.ports | n.files));
	cm_close(r);
	return 0;
}
