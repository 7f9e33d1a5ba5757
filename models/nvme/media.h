/*
 * The error map: blocks that the media of the NVMe model cannot read or write, as text.
 *
 * One rule a line (or ';' between rules), '#' comments:
 *
 *   KIND LBA[-LBA] [ns=N] [count=N]
 *
 * KIND: read-error (Unrecovered Read Error, 2/81), write-error (Write Fault, 2/80), slow=TIME (reads and writes take
 * that much longer; a whole number with ps, ns, us, ms or s). LBA: the first and last block, decimal or 0x. `ns` limits
 * a rule to one namespace, `count` to that many commands (default: all). A rule applies to a command that touches one
 * of its blocks; of several errors the first rule's counts, delays add up.
 */
#ifndef BELFRY_MODELS_NVME_MEDIA_H
#define BELFRY_MODELS_NVME_MEDIA_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/error.h"

struct bf_nvme_error_map;

/*
 * Parses `text`; NULL or an empty one gives a map without rules. 0, -ENOMEM, or -EINVAL with line, column and reason in
 * `err`; `*out` is NULL then. Free with bf_nvme_error_map_destroy(). A map serves one device, since it counts.
 */
int bf_nvme_error_map_parse(const char *text, struct bf_error *err, struct bf_nvme_error_map **out);
void bf_nvme_error_map_destroy(struct bf_nvme_error_map *map);
bool bf_nvme_error_map_empty(const struct bf_nvme_error_map *map);

/*
 * What happens to a command that reads or writes `blocks` blocks of namespace `nsid` from `slba` on: 0 or a status
 * code, `*lba` being the first block that is wrong. `*delay_ps` grows by what rules add. Counts.
 */
uint32_t bf_nvme_error_map_check(struct bf_nvme_error_map *map, uint32_t nsid, uint64_t slba, uint64_t blocks,
				 bool write, uint64_t *lba, uint64_t *delay_ps);

#endif
