/*
 * The NVMe model's inside: what its files share. See nvme.h for the order in which a request travels through them.
 */
#ifndef BELFRY_MODELS_NVME_DEVICE_INTERNAL_H
#define BELFRY_MODELS_NVME_DEVICE_INTERNAL_H

#include "models/nvme/nvme.h"
#include "sim/stats.h"

struct bf_nvme_rq;
struct bf_nvme_sq;
struct bf_nvme_cq;
struct bf_nvme_ns;
struct bf_nvme_media;

/*
 * Data between host memory, as a command's PRPs or SGL name it, and bytes of the device. Owned by a request; data.c.
 * Lists are fetched by DMA as they are needed. `bytes` must stay valid until `done`, which gets 0 or a status.
 */
enum bf_nvme_dir { BF_NVME_TO_HOST, BF_NVME_FROM_HOST };
typedef void bf_nvme_data_fn(struct bf_nvme_rq *rq, uint32_t status);

/*
 * Moves `len` bytes between `bytes` and the request's data pointer; `offset` bytes of the pointer's range were moved
 * by earlier calls. Checks that need the pointer only (alignment, types, lengths) are made first: when one fails no
 * byte moves. `done` may run before this returns.
 */
void bf_nvme_data(struct bf_nvme_rq *rq, enum bf_nvme_dir dir, void *bytes, uint64_t len, bf_nvme_data_fn *done);

/* Executes an I/O command (io.c) and an admin command (admin.c): each ends with bf_nvme_complete(). */
void bf_nvme_io_start(struct bf_nvme_rq *rq);
void bf_nvme_admin_start(struct bf_nvme_rq *rq);

/*
 * Ends a request: `status` is SCT << 8 | SC, or'ed with BF_NVME_DNR where a retry is useless; rq->dw0 and dw1 are the
 * result. The request is free afterwards.
 */
#define BF_NVME_DNR 0x4000u
#define BF_NVME_MORE 0x2000u
void bf_nvme_complete(struct bf_nvme_rq *rq, uint32_t status);

/* The namespace of `nsid`; NULL when there is none that is attached. */
struct bf_nvme_ns *bf_nvme_ns_find(struct bf_nvme *dev, uint32_t nsid);

#endif
