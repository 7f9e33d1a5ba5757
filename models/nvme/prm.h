/*
 * NVMe layouts: controller registers, queue entries, opcodes, status codes, data structures.
 *
 * Sources: NVM Express Base Specification 2.0 and NVM Command Set Specification 1.0 (figure names as there); offsets
 * checked against SPDK include/spdk/nvme_spec.h and Linux include/linux/nvme.h. Drivers include this header too; it has
 * layouts and names only. All fields are little-endian. C and C++ (CUDA) clean.
 */
#ifndef BELFRY_MODELS_NVME_PRM_H
#define BELFRY_MODELS_NVME_PRM_H

#include "sim/bytes.h"
#include "sim/compiler.h"

/* Controller registers in BAR0 (Base specification, section 3.1.3, "Controller Properties"). */
#define BF_NVME_CAP 0x00u
#define BF_NVME_VS 0x08u
#define BF_NVME_INTMS 0x0cu
#define BF_NVME_INTMC 0x10u
#define BF_NVME_CC 0x14u
#define BF_NVME_CSTS 0x1cu
#define BF_NVME_NSSR 0x20u
#define BF_NVME_AQA 0x24u
#define BF_NVME_ASQ 0x28u
#define BF_NVME_ACQ 0x30u
#define BF_NVME_CMBLOC 0x38u
#define BF_NVME_CMBSZ 0x3cu
#define BF_NVME_BPINFO 0x40u
#define BF_NVME_BPRSEL 0x44u
#define BF_NVME_BPMBL 0x48u
#define BF_NVME_CMBMSC 0x50u
#define BF_NVME_CMBSTS 0x58u
#define BF_NVME_CMBEBS 0x5cu
#define BF_NVME_CMBSWTP 0x60u
#define BF_NVME_NSSD 0x64u
#define BF_NVME_CRTO 0x68u
#define BF_NVME_PMRCAP 0xe00u
#define BF_NVME_DOORBELLS 0x1000u

#define BF_NVME_CAP_MQES BF_MASK(15, 0) /* 0-based */
#define BF_NVME_CAP_CQR BF_MASK(16, 16)
#define BF_NVME_CAP_AMS BF_MASK(18, 17)
#define BF_NVME_CAP_TO BF_MASK(31, 24) /* x 500 ms */
#define BF_NVME_CAP_DSTRD BF_MASK(35, 32)
#define BF_NVME_CAP_NSSRS BF_MASK(36, 36)
#define BF_NVME_CAP_CSS BF_MASK(44, 37)
#define BF_NVME_CAP_MPSMIN BF_MASK(51, 48)
#define BF_NVME_CAP_MPSMAX BF_MASK(55, 52)
#define BF_NVME_CAP_CMBS BF_MASK(57, 57)
#define BF_NVME_CAP_CRWMS BF_MASK(59, 59)

#define BF_NVME_CC_EN BF_MASK(0, 0)
#define BF_NVME_CC_CSS BF_MASK(6, 4)
#define BF_NVME_CC_MPS BF_MASK(10, 7)
#define BF_NVME_CC_AMS BF_MASK(13, 11)
#define BF_NVME_CC_SHN BF_MASK(15, 14)
#define BF_NVME_CC_IOSQES BF_MASK(19, 16)
#define BF_NVME_CC_IOCQES BF_MASK(23, 20)
#define BF_NVME_CC_CRIME BF_MASK(24, 24)

#define BF_NVME_CSTS_RDY BF_MASK(0, 0)
#define BF_NVME_CSTS_CFS BF_MASK(1, 1)
#define BF_NVME_CSTS_SHST BF_MASK(3, 2)
#define BF_NVME_CSTS_NSSRO BF_MASK(4, 4)
#define BF_NVME_CSTS_PP BF_MASK(5, 5)

#define BF_NVME_AQA_ASQS BF_MASK(11, 0)  /* 0-based */
#define BF_NVME_AQA_ACQS BF_MASK(27, 16) /* 0-based */
#define BF_NVME_CMBMSC_CRE BF_MASK(0, 0)
#define BF_NVME_CMBMSC_CMSE BF_MASK(1, 1)
#define BF_NVME_CMBMSC_CBA BF_MASK(63, 12)
#define BF_NVME_NSSR_RESET 0x4e564d65u /* "NVMe" */

/* Offset of queue `qid`'s doorbells with CAP.DSTRD `dstrd` (section 3.1.3.24 and following). */
BF_FN uint32_t bf_nvme_sq_doorbell(uint32_t qid, uint32_t dstrd)
{
	return BF_NVME_DOORBELLS + 2 * qid * (4u << dstrd);
}
BF_FN uint32_t bf_nvme_cq_doorbell(uint32_t qid, uint32_t dstrd)
{
	return BF_NVME_DOORBELLS + (2 * qid + 1) * (4u << dstrd);
}

/* Submission queue entry (section 3.3.3.1, "Submission Queue Entry"). */
struct bf_nvme_sqe {
	uint8_t opcode;
	uint8_t flags; /* FUSE, PSDT */
	struct bf_le16 cid;
	struct bf_le32 nsid;
	struct bf_le32 cdw2, cdw3;
	struct bf_le64 mptr;
	struct bf_le64 prp1, prp2; /* or one SGL descriptor */
	struct bf_le32 cdw10, cdw11, cdw12, cdw13, cdw14, cdw15;
};
BF_STATIC_ASSERT(sizeof(struct bf_nvme_sqe) == 64, "submission queue entry");

#define BF_NVME_FUSE BF_MASK(1, 0)
#define BF_NVME_FUSE_FIRST 1u
#define BF_NVME_FUSE_SECOND 2u
#define BF_NVME_PSDT BF_MASK(7, 6)
#define BF_NVME_PSDT_PRP 0u
#define BF_NVME_PSDT_SGL 1u
#define BF_NVME_PSDT_SGL_META 2u

/* SGL descriptor (Base specification, section 4.1.2, "Scatter Gather List"). */
struct bf_nvme_sgl {
	struct bf_le64 addr;
	struct bf_le32 len;
	uint8_t rsvd12[3];
	uint8_t type; /* type, subtype */
};
BF_STATIC_ASSERT(sizeof(struct bf_nvme_sgl) == 16, "SGL descriptor");

#define BF_NVME_SGL_SUBTYPE BF_MASK(3, 0) /* 0: an address */
#define BF_NVME_SGL_TYPE BF_MASK(7, 4)
#define BF_NVME_SGL_DATA 0u
#define BF_NVME_SGL_BUCKET 1u
#define BF_NVME_SGL_SEGMENT 2u
#define BF_NVME_SGL_LAST_SEGMENT 3u

/* Completion queue entry (section 3.3.3.2). `status` has the phase tag in bit 0. */
struct bf_nvme_cqe {
	struct bf_le32 dw0, dw1;
	struct bf_le16 sqhd, sqid;
	struct bf_le16 cid, status;
};
BF_STATIC_ASSERT(sizeof(struct bf_nvme_cqe) == 16, "completion queue entry");

#define BF_NVME_STATUS_P BF_MASK(0, 0)
#define BF_NVME_STATUS_SC BF_MASK(8, 1)
#define BF_NVME_STATUS_SCT BF_MASK(11, 9)
#define BF_NVME_STATUS_CRD BF_MASK(13, 12)
#define BF_NVME_STATUS_M BF_MASK(14, 14)
#define BF_NVME_STATUS_DNR BF_MASK(15, 15)

/* Admin opcodes (section 5, "Admin Command Set"). */
enum bf_nvme_admin_opcode {
	BF_NVME_ADM_DELETE_SQ = 0x00,
	BF_NVME_ADM_CREATE_SQ = 0x01,
	BF_NVME_ADM_GET_LOG = 0x02,
	BF_NVME_ADM_DELETE_CQ = 0x04,
	BF_NVME_ADM_CREATE_CQ = 0x05,
	BF_NVME_ADM_IDENTIFY = 0x06,
	BF_NVME_ADM_ABORT = 0x08,
	BF_NVME_ADM_SET_FEATURES = 0x09,
	BF_NVME_ADM_GET_FEATURES = 0x0a,
	BF_NVME_ADM_ASYNC_EVENT = 0x0c,
	BF_NVME_ADM_NS_MANAGEMENT = 0x0d,
	BF_NVME_ADM_FW_COMMIT = 0x10,
	BF_NVME_ADM_FW_DOWNLOAD = 0x11,
	BF_NVME_ADM_SELF_TEST = 0x14,
	BF_NVME_ADM_NS_ATTACH = 0x15,
	BF_NVME_ADM_KEEP_ALIVE = 0x18,
	BF_NVME_ADM_DBBUF = 0x7c,
	BF_NVME_ADM_FORMAT = 0x80,
	BF_NVME_ADM_SECURITY_SEND = 0x81,
	BF_NVME_ADM_SECURITY_RECV = 0x82,
	BF_NVME_ADM_SANITIZE = 0x84,
};

/* NVM command set opcodes (NVM Command Set specification, section 3.2). */
enum bf_nvme_io_opcode {
	BF_NVME_IO_FLUSH = 0x00,
	BF_NVME_IO_WRITE = 0x01,
	BF_NVME_IO_READ = 0x02,
	BF_NVME_IO_WRITE_UNCORRECTABLE = 0x04,
	BF_NVME_IO_COMPARE = 0x05,
	BF_NVME_IO_WRITE_ZEROES = 0x08,
	BF_NVME_IO_DSM = 0x09,
	BF_NVME_IO_VERIFY = 0x0c,
	BF_NVME_IO_COPY = 0x19,
};

/* Fields of the NVM commands (NVM Command Set specification, section 3.2). CDW10 and 11 are the first block. */
#define BF_NVME_RW_NLB BF_MASK(15, 0)    /* CDW12: 0-based */
#define BF_NVME_RW_DTYPE BF_MASK(23, 20) /* Write */
#define BF_NVME_RW_DEAC BF_MASK(25, 25)  /* Write Zeroes */
#define BF_NVME_RW_PRINFO BF_MASK(29, 26)
#define BF_NVME_RW_FUA BF_MASK(30, 30)
#define BF_NVME_RW_LR BF_MASK(31, 31)
#define BF_NVME_DSM_NR BF_MASK(7, 0)  /* CDW10: 0-based */
#define BF_NVME_DSM_AD BF_MASK(2, 2)  /* CDW11 */
#define BF_NVME_COPY_NR BF_MASK(7, 0) /* CDW12: 0-based */
#define BF_NVME_COPY_FORMAT BF_MASK(11, 8)
#define BF_NVME_COPY_PRINFOR BF_MASK(15, 12)

/* Dataset Management range. */
struct bf_nvme_dsm_range {
	struct bf_le32 attributes, blocks; /* not 0-based */
	struct bf_le64 slba;
};
BF_STATIC_ASSERT(sizeof(struct bf_nvme_dsm_range) == 16, "Dataset Management range");

/* Copy source range, descriptor format 0. */
struct bf_nvme_copy_range {
	uint8_t rsvd0[8];
	struct bf_le64 slba;
	struct bf_le16 nlb; /* 0-based */
	uint8_t rsvd18[6];
	struct bf_le32 eilbrt;
	struct bf_le16 elbat, elbatm;
};
BF_STATIC_ASSERT(sizeof(struct bf_nvme_copy_range) == 32, "Copy source range");

/* Status codes as SCT << 8 | SC, without DNR (section 3.3.3.2.1, "Status Field Definition"). */
enum bf_nvme_status {
	BF_NVME_SC_SUCCESS = 0x000,
	BF_NVME_SC_INVALID_OPCODE = 0x001,
	BF_NVME_SC_INVALID_FIELD = 0x002,
	BF_NVME_SC_CID_CONFLICT = 0x003,
	BF_NVME_SC_DATA_TRANSFER = 0x004,
	BF_NVME_SC_INTERNAL = 0x006,
	BF_NVME_SC_ABORT_REQUESTED = 0x007,
	BF_NVME_SC_ABORT_SQ_DELETION = 0x008,
	BF_NVME_SC_FAILED_FUSED = 0x009,
	BF_NVME_SC_MISSING_FUSED = 0x00a,
	BF_NVME_SC_INVALID_NS_OR_FORMAT = 0x00b,
	BF_NVME_SC_SEQUENCE = 0x00c,
	BF_NVME_SC_SGL_SEGMENT = 0x00d,
	BF_NVME_SC_SGL_COUNT = 0x00e,
	BF_NVME_SC_SGL_LENGTH = 0x00f,
	BF_NVME_SC_SGL_META_LENGTH = 0x010,
	BF_NVME_SC_SGL_TYPE = 0x011,
	BF_NVME_SC_CMB_USE = 0x012,
	BF_NVME_SC_PRP_OFFSET = 0x013,
	BF_NVME_SC_SGL_OFFSET = 0x016,
	BF_NVME_SC_NS_WRITE_PROTECTED = 0x020,
	BF_NVME_SC_LBA_RANGE = 0x080,
	BF_NVME_SC_CAPACITY = 0x081,
	BF_NVME_SC_NS_NOT_READY = 0x082,
	BF_NVME_SC_FORMAT_IN_PROGRESS = 0x084,
	BF_NVME_SC_CQ_INVALID = 0x100,
	BF_NVME_SC_QID = 0x101,
	BF_NVME_SC_QUEUE_SIZE = 0x102,
	BF_NVME_SC_ABORT_LIMIT = 0x103,
	BF_NVME_SC_AER_LIMIT = 0x105,
	BF_NVME_SC_FW_SLOT = 0x106,
	BF_NVME_SC_FW_IMAGE = 0x107,
	BF_NVME_SC_VECTOR = 0x108,
	BF_NVME_SC_LOG_PAGE = 0x109,
	BF_NVME_SC_FORMAT = 0x10a,
	BF_NVME_SC_FW_NEEDS_RESET = 0x10b,
	BF_NVME_SC_QUEUE_DELETION = 0x10c,
	BF_NVME_SC_FEATURE_NOT_SAVEABLE = 0x10d,
	BF_NVME_SC_FEATURE_NOT_CHANGEABLE = 0x10e,
	BF_NVME_SC_FEATURE_NOT_PER_NS = 0x10f,
	BF_NVME_SC_OVERLAP = 0x114, /* Overlapping Range */
	BF_NVME_SC_NS_INSUFFICIENT_CAPACITY = 0x115,
	BF_NVME_SC_NS_ID_UNAVAILABLE = 0x116,
	BF_NVME_SC_NS_ALREADY_ATTACHED = 0x118,
	BF_NVME_SC_NS_IS_PRIVATE = 0x119,
	BF_NVME_SC_NS_NOT_ATTACHED = 0x11a,
	BF_NVME_SC_THIN_PROVISIONING = 0x11b,
	BF_NVME_SC_CONTROLLER_LIST = 0x11c,
	BF_NVME_SC_SELF_TEST_IN_PROGRESS = 0x11d,
	BF_NVME_SC_COMMAND_SETS = 0x12b, /* I/O Command Set Combination Rejected */
	BF_NVME_SC_CONFLICTING_ATTRIBUTES = 0x180,
	BF_NVME_SC_PROTECTION_INFO = 0x181,
	BF_NVME_SC_READ_ONLY_RANGE = 0x182,
	BF_NVME_SC_SIZE_LIMIT = 0x183,
	BF_NVME_SC_WRITE_FAULT = 0x280,
	BF_NVME_SC_UNRECOVERED_READ = 0x281,
	BF_NVME_SC_COMPARE = 0x285,
	BF_NVME_SC_DEALLOCATED = 0x287,
};

#define BF_NVME_NSID_ALL 0xffffffffu

#endif
