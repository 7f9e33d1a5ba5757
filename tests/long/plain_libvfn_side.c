/* libvfn's queues, as its own examples use them. Compiled with the flags of libbelfry-plain. */
#include <vfn/nvme.h>

#include "plain_libvfn.h"

void vfn_run(struct vfn_job *job)
{
	struct nvme_cq cq = { .mem.vaddr = job->cq,
			      .id = (int)job->id,
			      .qsize = (int)job->entries,
			      .entry_size = 1 << NVME_CQES,
			      .doorbell = job->cq_head };
	struct nvme_sq sq = { .cq = &cq,
			      .mem.vaddr = job->sq,
			      .id = (int)job->id,
			      .qsize = (int)job->entries,
			      .entry_size = 1 << NVME_SQES,
			      .doorbell = job->sq_tail };
	uint32_t sent = 0;

	while (job->done < job->commands) {
		struct nvme_cqe cqe;

		while (sent < job->commands && sent - job->done < job->window) {
			union nvme_cmd cmd = { .rw = { .opcode = 0x01, .nsid = cpu_to_le32(job->nsid) } };

			cmd.rw.cid = (uint16_t)(sent % job->window);
			cmd.rw.dptr.prp1 = cpu_to_le64(job->data_va + (uint64_t)sent % 8 * job->block_bytes);
			cmd.rw.slba = cpu_to_le64(sent);
			nvme_sq_exec(&sq, &cmd);
			sent++;
		}
		nvme_cq_get_cqes(&cq, &cqe, 1);
		if (!job->no_head)
			nvme_cq_update_head(&cq);
		job->errors += le16_to_cpu(cqe.sfp) >> 1 != 0;
		job->done++;
	}
}
