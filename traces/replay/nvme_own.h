/*
 * The controller model by itself, for comparing what it says with what captures of real devices say: its registers, and
 * its Identify data and logs as a host reads them through the admin queue.
 */
#ifndef BELFRY_TRACES_REPLAY_NVME_OWN_H
#define BELFRY_TRACES_REPLAY_NVME_OWN_H

#include <stdint.h>

#include "models/nvme/text.h"
#include "sim/error.h"

/*
 * Fills in Identify Controller, Identify Namespace 1, the SMART log (twice: both textual forms read the same bytes) and
 * the newest entry of the error log, provoked by an unknown command. 0 or a negative errno with `err` set.
 */
int bf_nvme_replay_own_texts(uint8_t out[BF_NVME_TEXTS][4096], struct bf_error *err);

/* A controller that nobody has enabled yet. Accesses are of 4 or 8 bytes and take effect at once. One thread. */
struct bf_nvme_replay_own_host;
int bf_nvme_replay_own_open(struct bf_nvme_replay_own_host **out, struct bf_error *err);
void bf_nvme_replay_own_close(struct bf_nvme_replay_own_host *h);
uint64_t bf_nvme_replay_own_read(struct bf_nvme_replay_own_host *h, uint32_t offset, uint32_t len);

/*
 * Queue base addresses and sizes keep those of the host's own memory: a capture's lie in a machine that is not there.
 */
void bf_nvme_replay_own_write(struct bf_nvme_replay_own_host *h, uint32_t offset, uint64_t value, uint32_t len);

#endif
