#include "drivers/ibgda/ibgda.h"

#include <stddef.h>
#include <string.h>

const struct bf_ibgda_bug bf_ibgda_bugs[] = {
	{ BF_IBGDA_BUG_NO_WQE_FENCE, "no-wqe-fence", "no fence between an entry's bytes and its publication" },
	{ BF_IBGDA_BUG_NO_DBREC_FENCE, "no-dbrec-fence", "no fence between the doorbell record and the doorbell" },
	{ BF_IBGDA_BUG_DOORBELL_FIRST, "doorbell-first", "the doorbell is rung before its record is stored" },
	{ BF_IBGDA_BUG_NO_OVERFLOW_WAIT, "no-overflow-wait", "the reservation does not wait for free slots" },
	{ BF_IBGDA_BUG_CTA_FENCE, "cta-fence", "fences reach only the block, not the GPU or the system" },
	{ BF_IBGDA_BUG_NO_READY_ORDER, "no-ready-order", "slots are published before earlier ones are filled" },
	{ BF_IBGDA_BUG_NO_LOCK, "no-lock", "doorbells are rung without the lock" },
	{ BF_IBGDA_BUG_LOST_BATCH, "lost-batch", "the last group of a batch is never rung" },
	{ BF_IBGDA_BUG_POLL_NO_MINUS2, "poll-no-minus2",
	  "the poller's 16-bit comparison takes done entries for pending" },
	{ BF_IBGDA_BUG_DBREC_INDEX, "dbrec-index", "the doorbell record holds the last index, not the next" },
	{ BF_IBGDA_BUG_NO_CHUNK, "no-chunk", "transfers cross memory-key boundaries" },
	{ BF_IBGDA_BUG_IGNORE_ERROR, "ignore-error", "the poller treats error completions as success" },
	{ BF_IBGDA_BUG_WQE_AFTER_READY, "wqe-after-ready", "entries are written after they were published" },
	{ BF_IBGDA_BUG_POLL_STORE, "poll-store",
	  "pollers overwrite each other's completed index, even with older values" },
	{ BF_IBGDA_BUG_POLL_WIDEN, "poll-widen", "the poller treats a counter that was never written as 65535" },
	{ BF_IBGDA_BUG_QUIET_NO_WAIT, "quiet-no-wait", "quiet returns without waiting" },
	{ BF_IBGDA_BUG_CQ_NO_CONSUMER, "cq-no-consumer",
	  "with --plain-cq: the device is never told which entries were consumed" },
	{ BF_IBGDA_BUG_LKEY_SWAPPED, "lkey-swapped", "local keys go into entries in the processor's byte order" },
	{ BF_IBGDA_BUG_NO_REMOTE_CHUNK, "no-remote-chunk", "transfers cross memory-key boundaries of the peer" },
	{ BF_IBGDA_BUG_WRITE_IMM, "write-imm", "puts carry an immediate, but no receive is posted for it" },
	{ BF_IBGDA_BUG_CQ_NOT_CLEARED, "cq-not-cleared", "completion queues are not cleared before use" },
	{ BF_IBGDA_BUG_CQ_NO_OI, "cq-no-oi", "collapsed completion queues lack overrun-ignore" },
	{ BF_IBGDA_BUG_CQ_TOO_SMALL, "cq-too-small",
	  "with --plain-cq: the completion queue has an eighth of the send ring's entries" },
	{ BF_IBGDA_BUG_CQ_NOT_COLLAPSED, "cq-not-collapsed",
	  "completion queues are rings, and pollers look at entry 0" },
	{ BF_IBGDA_BUG_READ_DEPTH, "read-depth", "more reads and atomics may be outstanding than the peer answers" },
	{ BF_IBGDA_BUG_KEY_NO_ATOMIC, "key-no-atomic", "memory is registered without remote atomics" },
	{ BF_IBGDA_BUG_RNR_FINITE, "rnr-finite", "a send to a receiver that is not ready is retried only once" },
	{ BF_IBGDA_BUG_RADDR_ZERO, "raddr-zero", "the addresses of the peers' heaps were not exchanged" },
	{ BF_IBGDA_BUG_QP_LEAK, "qp-leak", "queue pairs are not destroyed at the end" },
	{ BF_IBGDA_BUG_RTS_SKIPPED, "rts-skipped", "queue pairs are used in state RTR" },
	{ BF_IBGDA_BUG_ENTRY_INDEX, "entry-index", "the control segment of a put has the index of the next entry" },
	{ BF_IBGDA_BUG_ENTRY_QPN, "entry-qpn", "the control segment of a put names another queue pair" },
	{ BF_IBGDA_BUG_ENTRY_SHORT, "entry-short", "the control segment of a put counts one segment too few" },
	{ BF_IBGDA_BUG_NO_PUBLISH, "no-publish", "slots are filled but never published" },
	{ BF_IBGDA_BUG_PUBLISH_MORE, "publish-more", "one more slot is published than was reserved" },
	{ BF_IBGDA_BUG_NO_QUIET, "no-quiet", "threads end without waiting for what they posted" },
	{ BF_IBGDA_BUG_DC_KEY, "dc-key",
	  "with --transport dc: address vectors have a key that the targets do not have" },
	{ BF_IBGDA_BUG_DCT_SWAPPED, "dct-swapped",
	  "with --transport dc: target numbers go into address vectors in the processor's byte order" },
	{ BF_IBGDA_BUG_RESERVE_SHORT, "reserve-short", "a group of entries reserves one slot less than it fills" },
	{ BF_IBGDA_BUG_NO_CST, "no-cst", "the data of a get are read without a consistency step after the completion" },
	{ BF_IBGDA_BUG_IBUF_NO_WAIT, "ibuf-no-wait", "slots for fetched results are reused before they are released" },
	{ BF_IBGDA_BUG_ERROR_WAITS, "error-waits", "a poller that finds an error completion waits for a good one" },
	{ BF_IBGDA_BUG_NO_CQE, "no-cqe", "no entry asks for a completion" },
	{ BF_IBGDA_BUG_OWNER_IGNORED, "owner-ignored",
	  "with --plain-cq: entries of an earlier lap are taken for new ones" },
	{ BF_IBGDA_BUG_WEAK_POLL, "weak-poll", "completions are polled with weak loads" },
	{ BF_IBGDA_BUG_KEY_DEVICE_0, "key-device-0", "with --nics 2: keys are looked up for the first NIC" },
	{ BF_IBGDA_BUG_CQ_COMPRESSED, "cq-compressed", "with --plain-cq: the CQ asks for compressed completions" },
	{ 0, NULL, NULL },
};

#define DEVICE BF_IBGDA_DEVICE_SIDE
#define HOST BF_IBGDA_HOST_SIDE
const struct bf_ibgda_suspect bf_ibgda_suspects[] = {
	{ BF_IBGDA_SUSPECT_FENCE_DIVIDES, DEVICE, "fence-divides",
	  "fence chooses the RCs to skip by i / count, not by i % PEs: it skips wrong ones" },
	{ BF_IBGDA_SUSPECT_QP_QUIET_IGNORES_HANDLE, DEVICE, "qp-quiet-ignores-handle",
	  "qp_quiet waits for the first RCs of the table, whatever handles it was given" },
	{ BF_IBGDA_SUSPECT_PUT_LOSES_QP_INDEX, DEVICE, "put-loses-qp-index",
	  "a warp's put of more than 32 pieces goes to a default RC, not to the caller's" },
	{ BF_IBGDA_SUSPECT_SIGNAL_LOSES_QP_INDEX, DEVICE, "signal-loses-qp-index",
	  "a thread's put-with-signal in pieces puts on one RC and signals on another" },
	{ BF_IBGDA_SUSPECT_BASE_NOT_BROADCAST, DEVICE, "coalesced-base-not-broadcast",
	  "in a coalesced put-with-signal only the first lane learns which slots the group has" },
	{ BF_IBGDA_SUSPECT_LKEY_NO_OVERFLOW, DEVICE, "lkey-no-overflow",
	  "local keys beyond the 64 in constant memory are read past the table's end" },
	{ BF_IBGDA_SUSPECT_RECV_LKEY_SWAP, DEVICE, "recv-lkey-swap",
	  "empty receive entries end with key 0, not with the terminator 0x100" },
	{ BF_IBGDA_SUSPECT_RC_ORDER_V1, DEVICE, "rc-order-v1",
	  "RCs are looked up by (PE, i) in a table in the order (i, PE)" },
	{ BF_IBGDA_SUSPECT_ASYNC_CAS_PROD, DEVICE, "async-cas-prod",
	  "with the CPU proxy, slots are published through prod_idx and ready_head stays behind" },
	{ BF_IBGDA_SUSPECT_EPS_INDEX_DEVICE0, HOST, "eps-index-device0",
	  "endpoints of later devices are looked up at an offset as if all lay in the first one's array" },
	{ BF_IBGDA_SUSPECT_CQ_POINTERS_STALE, HOST, "cq-pointers-stale",
	  "after growth, old queue pairs still point to their CQs in the freed table" },
	{ BF_IBGDA_SUSPECT_MVARS_POINTERS_STALE, HOST, "mvars-pointers-stale",
	  "after growth, old CQs still point to counters in the freed table of queue pairs" },
	{ BF_IBGDA_SUSPECT_PROXY_RECV_WORD, HOST, "proxy-recv-word",
	  "the CPU proxy stores the send counter into the receive word of the doorbell record" },
	{ BF_IBGDA_SUSPECT_PROXY_SLOT_ZERO, HOST, "proxy-slot-zero",
	  "the CPU proxy looks at slot 0 of each RC, the GPU writes slot num_dci + index" },
	{ BF_IBGDA_SUSPECT_PROXY_NULL_SELF, HOST, "proxy-null-self",
	  "the CPU proxy goes through the PE's own endpoint too, which does not exist" },
	{ BF_IBGDA_SUSPECT_DEV_ID_TWICE, HOST, "dev-id-twice",
	  "creating more RCs translates device numbers a second time" },
	{ BF_IBGDA_SUSPECT_SKIP_CST_LATE, HOST, "skip-cst-late",
	  "with several devices may_skip_cst is cleared after the state went to the GPU" },
	{ BF_IBGDA_SUSPECT_DCI_EP_LEAK, HOST, "dci-ep-leak", "creating a DCI leaks one endpoint's memory" },
	{ 0, DEVICE, NULL, NULL },
};

int bf_ibgda_set_wrong(const char *name, uint64_t *bugs, uint64_t *suspects)
{
	for (const struct bf_ibgda_bug *b = bf_ibgda_bugs; b->name; b++)
		if (strcmp(b->name, name) == 0) {
			*bugs |= b->bit;
			return 1;
		}
	for (const struct bf_ibgda_suspect *s = bf_ibgda_suspects; s->name; s++)
		if (strcmp(s->name, name) == 0) {
			*suspects |= s->bit;
			return 1;
		}
	return 0;
}

const struct bf_ibgda_bug bf_ibgda_lacks[] = {
	{ BF_IBGDA_LACKS_GPU_UAR, "gpu-uar",
	  "the GPU may not map doorbell pages (cudaHostRegister with IoMemory: error 800, not permitted); set the "
	  "driver's PeerMappingOverride, or let a CPU thread ring" },
	{ BF_IBGDA_LACKS_PEER_MEMORY, "peer-memory",
	  "the NIC cannot register GPU memory: neither dma-buf nor nvidia-peermem is available" },
	{ BF_IBGDA_LACKS_ADDRESS_HANDLE, "address-handle",
	  "address handles cannot be created: the port's GID is zero, so the link is down, has no IP "
	  "address, or the GID index is wrong" },
	{ BF_IBGDA_LACKS_GPU_BUFFERS, "gpu-buffers",
	  "the NIC cannot use GPU memory for rings, records and completion queues; put them into host "
	  "memory" },
	{ 0, NULL, NULL },
};
