/* Records of memory that the kernel shares between devices: DMA-BUF and IOMMUFD (type numbers 60 to 69). */
#ifndef BELFRY_SIM_RECORDS_SHARE_H
#define BELFRY_SIM_RECORDS_SHARE_H

#include "sim/record.h"

/* Values of the field `what` of record dmabuf. */
enum bf_dmabuf_event {
	BF_DMABUF_EXPORTED,
	BF_DMABUF_ATTACHED,
	BF_DMABUF_DETACHED,
	BF_DMABUF_PINNED,
	BF_DMABUF_UNPINNED,
	BF_DMABUF_MAPPED,
	BF_DMABUF_UNMAPPED,
	BF_DMABUF_MOVE_TOLD,
	BF_DMABUF_MOVE_UNTOLD,
	BF_DMABUF_REVOKED,
};

/* Something happened to a DMA-BUF. `addr`: the first bus address that the importer holds; `ranges`: how many runs. */
#define BF_REC_DMABUF_FIELDS(F)                                                                                        \
	F(u64, size, DEC, "B")                                                                                         \
	F(u64, addr, HEX, "")                                                                                          \
	F(i32, status, INT, "")                                                                                        \
	F(u32, ranges, DEC, "")                                                                                        \
	F(u32, reserved, DEC, "")                                                                                      \
	F(u16, type, ENUM, "0=SGT;1=SGT-P2P;2=PAL")                                                                    \
	F(u16, what, ENUM,                                                                                             \
	  "0=export;1=attach;2=detach;3=pin;4=unpin;5=map;6=unmap;7=move-told;8=move-untold;9=revoke")                 \
	F(text32, name, TEXT, "")                                                                                      \
	F(text32, importer, TEXT, "")
BF_RECORD_DECLARE(dmabuf, 60, BF_CLASS_META, BF_REC_DMABUF_FIELDS);

/* Values of the field `what` of record iommufd. */
enum bf_iommufd_event {
	BF_IOMMUFD_IOAS_ALLOC,
	BF_IOMMUFD_MAP,
	BF_IOMMUFD_MAP_FILE,
	BF_IOMMUFD_COPY,
	BF_IOMMUFD_UNMAP,
	BF_IOMMUFD_ALLOW,
	BF_IOMMUFD_BIND,
	BF_IOMMUFD_ATTACH,
	BF_IOMMUFD_DETACH,
	BF_IOMMUFD_HWPT_ALLOC,
	BF_IOMMUFD_DESTROY,
	BF_IOMMUFD_REVOKED,
};

/*
 * A call on IOMMUFD and its result. `object` is the one that it works on or made, `other` what it was attached to or
 * copied from. `addr`: the address in the process, the offset in the file, or the I/O address copied from.
 */
#define BF_REC_IOMMUFD_FIELDS(F)                                                                                       \
	F(u64, iova, HEX, "")                                                                                          \
	F(u64, len, DEC, "B")                                                                                          \
	F(u64, addr, HEX, "")                                                                                          \
	F(u32, object, DEC, "")                                                                                        \
	F(u32, other, DEC, "")                                                                                         \
	F(i32, status, INT, "")                                                                                        \
	F(u16, perm, ENUM, "1=read;2=write;3=read-write")                                                              \
	F(u16, what, ENUM,                                                                                             \
	  "0=ioas-alloc;1=map;2=map-file;3=copy;4=unmap;5=allow-iovas;6=bind;7=attach;8=detach;9=hwpt-alloc;"          \
	  "10=destroy;11=revoked")                                                                                     \
	F(text32, name, TEXT, "")
BF_RECORD_DECLARE(iommufd, 61, BF_CLASS_META, BF_REC_IOMMUFD_FIELDS);

#endif
