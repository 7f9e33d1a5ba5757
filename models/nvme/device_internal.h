/* The NVMe model's functions, file by file; nvme.h tells the order in which a request travels through them. */
#ifndef BELFRY_MODELS_NVME_DEVICE_INTERNAL_H
#define BELFRY_MODELS_NVME_DEVICE_INTERNAL_H

#include "models/nvme/state_internal.h"

/* Requests: request.c. ------------------------------------------------------------------------------------------------
 */

/*
 * Executes an I/O command (io.c) and an admin command (admin.c): each ends with bf_nvme_complete(). Of a fused pair
 * the first is started, once both are here, with rq->mate the second (still STARTING); io.c completes both, the first
 * first.
 */
void bf_nvme_io_start(struct bf_nvme_rq *rq);
void bf_nvme_admin_start(struct bf_nvme_rq *rq);

/*
 * Ends a request: `status` is SCT << 8 | SC, or'ed with BF_NVME_DNR where a retry is useless; rq->dw0 and dw1 are the
 * result. No DMA read of it is in flight. The caller touches the request no more.
 */
void bf_nvme_complete(struct bf_nvme_rq *rq, uint32_t status);

/* The status of a command for which there is no memory. The run is no evidence then: sim->error says -ENOMEM. */
uint32_t bf_nvme_no_memory(struct bf_nvme *dev);

/* Shorthand for a field that is wrong: notes where (for the error log) and gives Invalid Field with DNR. */
uint32_t bf_nvme_bad_field(struct bf_nvme_rq *rq, uint32_t byte, uint32_t bit);

/*
 * Calls `wake` at `when_ps` (now: in an event of its own). While a request waits in here Abort and queue deletion may
 * take it: then `wake` never runs, `release` does. All waiting for the media goes through here, once at a time.
 */
void bf_nvme_wait_until(struct bf_nvme_rq *rq, uint64_t when_ps, void (*wake)(struct bf_nvme_rq *rq));

/*
 * DMA on behalf of a request (dma.c), to host memory or to the controller memory buffer. Reads: any number of
 * bf_nvme_read(), then one bf_nvme_reads(): `done` runs when all have ended, at once when they already have; `status`
 * is 0 or Data Transfer Error. If the request is dropped meanwhile, `done` never runs. `dst` must stay valid until
 * `done` or `release`. A write returns 0 or Data Transfer Error at once; bytes are copied.
 */
void bf_nvme_read(struct bf_nvme_rq *rq, uint64_t iova, void *dst, uint32_t len);
void bf_nvme_reads(struct bf_nvme_rq *rq, bf_nvme_done_fn *done);
uint32_t bf_nvme_write(struct bf_nvme_rq *rq, uint64_t iova, const void *src, uint32_t len);
/* The same without a copy: `src` stays in place as long as the device. What arrives is what it holds then. */
uint32_t bf_nvme_lend(struct bf_nvme_rq *rq, uint64_t iova, const void *src, uint32_t len);

/* True when `iova` lies in the controller memory buffer as the host placed it. */
bool bf_nvme_in_cmb(const struct bf_nvme *dev, uint64_t iova);

/*
 * Something outside of the simulation works for the request (a file operation): it is not freed before the matching
 * bf_nvme_unhold(), which is false when the request was dropped meanwhile and is gone now. Loop thread only.
 */
void bf_nvme_hold(struct bf_nvme_rq *rq);
bool bf_nvme_unhold(struct bf_nvme_rq *rq);

/* Data: data.c. -------------------------------------------------------------------------------------------------- */

/*
 * Moves `len` bytes between `bytes` and the request's data pointer; what earlier calls moved is skipped. Checks that
 * need the pointer only (alignment, types, lengths) are made first: when one fails no byte moves. `done` may run before
 * this returns. Admin commands (rq->sqid 0) may only use PRPs. `bytes` must stay valid until `done` or `release`.
 */
void bf_nvme_data(struct bf_nvme_rq *rq, enum bf_nvme_dir dir, void *bytes, uint64_t len, bf_nvme_done_fn *done);

/* The same where the device's side is in pieces. Each byte of `at` is asked for once, in order. */
void bf_nvme_data_at(struct bf_nvme_rq *rq, enum bf_nvme_dir dir, bf_nvme_at_fn *at, uint64_t len,
		     bf_nvme_done_fn *done);

/* Namespaces and media: ns.c, media*.c. --------------------------------------------------------------------------- */

/* The namespace of `nsid`; NULL when there is none that is attached. */
struct bf_nvme_ns *bf_nvme_ns_find(struct bf_nvme *dev, uint32_t nsid);

/* Channels and cache, shared by all namespaces, with the error map; before the first namespace. 0 or negative errno. */
int bf_nvme_media_open(struct bf_nvme *dev, const char *errors);
void bf_nvme_media_close(struct bf_nvme *dev);
/* When all that was written is on the media, if nothing more is written. */
uint64_t bf_nvme_media_settled_ps(const struct bf_nvme *dev);

/* Allocates namespace `nsid` with the opts' capacity and attaches it: dev->ns[nsid - 1]. 0 or negative errno. */
int bf_nvme_ns_open(struct bf_nvme *dev, uint32_t nsid, const struct bf_nvme_ns_opts *opts);
void bf_nvme_ns_close(struct bf_nvme *dev, uint32_t nsid);
/* Bytes of the capacity that no namespace has. */
uint64_t bf_nvme_unallocated(const struct bf_nvme *dev);
/* Forgets all data and changes the block size; no command of the namespace is executing. 0 or a status word. */
uint32_t bf_nvme_ns_format(struct bf_nvme_ns *ns, uint8_t lba_shift);
/* Identify Namespace (CNS 00h), CNS 05h (NVM command set) and CNS 08h data of 4096 bytes, zeroed before. */
void bf_nvme_ns_identify(const struct bf_nvme_ns *ns, uint8_t *page);
void bf_nvme_ns_identify_nvm(const struct bf_nvme_ns *ns, uint8_t *page);
void bf_nvme_ns_identify_independent(const struct bf_nvme_ns *ns, uint8_t *page);
/* Identify Controller of the NVM command set (CNS 06h, CSI 0): VSL, WZSL, DMRL and so on. */
void bf_nvme_io_identify(const struct bf_nvme *dev, uint8_t *page);

/* The core's own. ------------------------------------------------------------------------------------------------- */

/* bar.c */
extern const struct bf_mmio_ops bf_nvme_bar0_ops;
uint32_t bf_nvme_bar_size(const struct bf_nvme *dev);
/* Live mode: shows the registers as they stand; stores 0 to the doorbell at `offset`. */
void bf_nvme_publish(struct bf_nvme *dev);
void bf_nvme_clear_cell(struct bf_nvme *dev, uint32_t offset);
/* A doorbell value that was found in the shadow buffer. */
void bf_nvme_shadow_sq(struct bf_nvme_sq *sq, uint32_t value);
void bf_nvme_shadow_cq(struct bf_nvme_cq *cq, uint32_t value);
/* A wrong use by the driver that the controller notices. */
void bf_nvme_driver_error(struct bf_nvme *dev, enum bf_nvme_wrong wrong, uint32_t qid, uint64_t value, uint64_t limit);

/* ctrl.c */
void bf_nvme_ctrl_init(struct bf_nvme *dev);
void bf_nvme_write_cc(struct bf_nvme *dev, uint32_t value);
void bf_nvme_subsystem_reset(struct bf_nvme *dev);
/* CSTS.CFS: nothing more is fetched or posted until a reset. */
void bf_nvme_fatal(struct bf_nvme *dev, enum bf_nvme_fatal_reason why, uint64_t value);
/* True while commands are fetched and completions posted. */
static inline bool bf_nvme_running(const struct bf_nvme *dev)
{
	return dev->phase == BF_NVME_ON && dev->bus_master;
}

/* queue.c */
int bf_nvme_queue_open(struct bf_nvme *dev);
void bf_nvme_queue_close(struct bf_nvme *dev);
int bf_nvme_admin_queues(struct bf_nvme *dev);
/* Removes all queues with their commands; returns how many commands there were. The controller is off then. */
uint32_t bf_nvme_drop_queues(struct bf_nvme *dev);
/* Frees a deleted queue if nothing of it is in flight any more. */
void bf_nvme_sq_put(struct bf_nvme_sq *sq);
void bf_nvme_cq_put(struct bf_nvme_cq *cq);
void bf_nvme_create_sq(struct bf_nvme_rq *rq);
void bf_nvme_create_cq(struct bf_nvme_rq *rq);
void bf_nvme_delete_sq(struct bf_nvme_rq *rq);
void bf_nvme_delete_cq(struct bf_nvme_rq *rq);
/* Something of `sq` ended: ends its deletion when that was the last. */
void bf_nvme_sq_idle(struct bf_nvme_sq *sq);

/* sq.c */
void bf_nvme_sq_init(struct bf_nvme *dev);
int bf_nvme_sq_open(struct bf_nvme *dev);
void bf_nvme_sq_close(struct bf_nvme *dev);
void bf_nvme_sq_tail(struct bf_nvme_sq *sq, uint32_t tail);
/* Fetches from whatever queue may be fetched from now. */
void bf_nvme_arbitrate(struct bf_nvme *dev);
void bf_nvme_sq_ready(struct bf_nvme_sq *sq);
void bf_nvme_arbiter_forget(struct bf_nvme_sq *sq);

/* request.c */
void bf_nvme_request_init(struct bf_nvme *dev);
void bf_nvme_request_close(struct bf_nvme *dev);
/* An entry has arrived: a request of it, on its way to bf_nvme_io_start() or bf_nvme_admin_start(). */
bool bf_nvme_accept(struct bf_nvme_sq *sq, uint32_t slot, const uint8_t *entry, uint32_t batch, uint64_t told_ps,
		    uint64_t fetch_ps);
struct bf_nvme_rq *bf_nvme_rq_find(struct bf_nvme *dev, uint16_t sqid, uint16_t cid);
/* Ends a command early with `status` if that is possible; false: it takes its course. */
bool bf_nvme_rq_take(struct bf_nvme_rq *rq, uint32_t status);
void bf_nvme_sq_abort_all(struct bf_nvme_sq *sq);
void bf_nvme_rq_free(struct bf_nvme_rq *rq);
/* Takes all commands of all queues away; returns their number. */
uint32_t bf_nvme_drop_commands(struct bf_nvme *dev);

/* cq.c */
void bf_nvme_cq_init(struct bf_nvme *dev);
int bf_nvme_cq_open(struct bf_nvme *dev);
void bf_nvme_cq_close(struct bf_nvme *dev);
void bf_nvme_post(struct bf_nvme_rq *rq);
void bf_nvme_cq_head(struct bf_nvme_cq *cq, uint32_t head);
/* The queue goes: so do the completions that wait for it. */
void bf_nvme_cq_forget(struct bf_nvme_cq *cq);
void bf_nvme_cq_resume(struct bf_nvme *dev);
uint32_t bf_nvme_drop_completions(struct bf_nvme *dev);
void bf_nvme_unmasked(struct bf_nvme *dev);

/* dma.c: `status` words, 0 or Data Transfer Error. */
uint32_t bf_nvme_dma_write(struct bf_nvme *dev, uint64_t iova, const void *src, uint32_t len);
void bf_nvme_dma_read(struct bf_nvme *dev, struct bf_dma_op *op);
void bf_nvme_dma_close(struct bf_nvme *dev);

/* cmb.c */
int bf_nvme_cmb_open(struct bf_nvme *dev, struct bf_space *space, uint64_t bytes, struct bf_link *link);
void bf_nvme_cmb_close(struct bf_nvme *dev);
void bf_nvme_write_cmbmsc(struct bf_nvme *dev, uint64_t value);
/* The buffer's bytes for `len` bytes at `iova`, which bf_nvme_in_cmb(); NULL when they reach beyond its end. */
uint8_t *bf_nvme_cmb_at(const struct bf_nvme *dev, uint64_t iova, uint32_t len);

/* event.c */
void bf_nvme_async_event(struct bf_nvme *dev, uint8_t type, uint8_t info, uint8_t page);
void bf_nvme_async_request(struct bf_nvme_rq *rq);
/* Takes an outstanding Asynchronous Event Request back; false when `rq` is none. */
bool bf_nvme_async_take(struct bf_nvme_rq *rq);
/* Log page `page` was read with RAE = 0: events of its type are reported again. */
void bf_nvme_async_read(struct bf_nvme *dev, uint8_t page);
void bf_nvme_log_error(struct bf_nvme_rq *rq);
void bf_nvme_event_reset(struct bf_nvme *dev);

/* dbbuf.c */
void bf_nvme_dbbuf_config(struct bf_nvme_rq *rq);
/* Looks at a queue's shadow doorbell. */
void bf_nvme_shadow_read_sq(struct bf_nvme_sq *sq);
void bf_nvme_shadow_read_cq(struct bf_nvme_cq *cq);
/* The controller stops looking at the queue by itself: tells the host to ring, then looks once more. */
void bf_nvme_shadow_sleep_sq(struct bf_nvme_sq *sq);
void bf_nvme_shadow_sleep_cq(struct bf_nvme_cq *cq);

/* admin*.c */
void bf_nvme_admin_init(struct bf_nvme *dev);
int bf_nvme_admin_open(struct bf_nvme *dev);
void bf_nvme_admin_close(struct bf_nvme *dev);
void bf_nvme_admin_reset(struct bf_nvme *dev);
void bf_nvme_keep_alive_restart(struct bf_nvme *dev);
bool bf_nvme_temperature_alarm(const struct bf_nvme *dev);
/* While dev->formatting: commands for namespace `nsid` fail with Format in Progress. */
bool bf_nvme_is_formatting(const struct bf_nvme *dev, uint32_t nsid);
void bf_nvme_features_log(uint8_t *page);
int bf_nvme_firmware_open(struct bf_nvme *dev);
void bf_nvme_firmware_close(struct bf_nvme *dev);
void bf_nvme_firmware_reset(struct bf_nvme *dev);
void bf_nvme_firmware_log(const struct bf_nvme *dev, uint8_t *page);
const char *bf_nvme_firmware_revision(const struct bf_nvme *dev);
void bf_nvme_self_test_init(struct bf_nvme *dev);
void bf_nvme_self_test_reset(struct bf_nvme *dev);
void bf_nvme_self_test_log(const struct bf_nvme *dev, uint8_t *page);
void bf_nvme_identify(struct bf_nvme_rq *rq);
void bf_nvme_get_log(struct bf_nvme_rq *rq);
void bf_nvme_get_features(struct bf_nvme_rq *rq);
void bf_nvme_set_features(struct bf_nvme_rq *rq);
void bf_nvme_features_init(struct bf_nvme *dev);
void bf_nvme_features_reset(struct bf_nvme *dev);
/* The list as it is, or by default; returns DW0. Takes what the host sent in rq->buf; 0 or a status word. */
uint32_t bf_nvme_lba_ranges_get(const struct bf_nvme_ns *ns, bool current, uint8_t *list);
uint32_t bf_nvme_lba_ranges_set(struct bf_nvme_rq *rq);
void bf_nvme_lba_ranges_forget(struct bf_nvme_ns *ns);
void bf_nvme_format(struct bf_nvme_rq *rq);
void bf_nvme_ns_manage(struct bf_nvme_rq *rq);
void bf_nvme_ns_attach(struct bf_nvme_rq *rq);
void bf_nvme_firmware_download(struct bf_nvme_rq *rq);
void bf_nvme_firmware_commit(struct bf_nvme_rq *rq);
void bf_nvme_self_test(struct bf_nvme_rq *rq);
/* Sends `rq->buf` to the host and completes the command. */
void bf_nvme_admin_send(struct bf_nvme_rq *rq, uint32_t len);
/* A zeroed buffer of `len` bytes as rq->buf; NULL: completed with Internal Error. */
uint8_t *bf_nvme_admin_buf(struct bf_nvme_rq *rq, uint32_t len);

/* stats.c */
int bf_nvme_stats_open(struct bf_nvme *dev);
void bf_nvme_stats_close(struct bf_nvme *dev);

/* Slots from `from` forward to `to` in a ring of `size`. */
static inline uint32_t bf_nvme_ahead(uint32_t to, uint32_t from, uint32_t size)
{
	return to >= from ? to - from : to + size - from;
}

static inline void bf_nvme_list_init(struct bf_nvme_list *l)
{
	l->head = NULL;
	l->tail = &l->head;
}

static inline void bf_nvme_list_add(struct bf_nvme_list *l, struct bf_nvme_rq *rq)
{
	rq->next = NULL;
	*l->tail = rq;
	l->tail = &rq->next;
}

static inline struct bf_nvme_rq *bf_nvme_list_pop(struct bf_nvme_list *l)
{
	struct bf_nvme_rq *rq = l->head;

	l->head = rq->next;
	if (!l->head)
		l->tail = &l->head;
	return rq;
}

#endif
