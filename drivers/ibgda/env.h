/*
 * IBGDA, host side: the options of NVSHMEM's transport by their names there (src/modules/transport/common/env_defs.h
 * and src/include/internal/host/env_defs.h), read from text.
 *
 * Text is "NAME=VALUE" pairs, separated by white space, a name with or without "NVSHMEM_" in front; '#' starts a
 * comment that ends with its line, and the word "export" in front of a pair is skipped. So what a job script holds can
 * be given as it stands. Options of NVSHMEM that mean nothing to this transport are accepted and dropped; other names
 * are errors.
 *
 * Limits are those that ibgda.cpp's nvshmemt_init() applies: QP_DEPTH, batches and fetch slots are rounded up to powers
 * of two, QP_DEPTH then goes to the nearest of 128..32768.
 */
#ifndef BELFRY_DRIVERS_IBGDA_ENV_H
#define BELFRY_DRIVERS_IBGDA_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"

#define BF_IBGDA_HCAS_MAX 32u

/* IBGDA_DCI_MAP_BY and IBGDA_RC_MAP_BY (which knows no dct). */
enum bf_ibgda_map_by { BF_IBGDA_MAP_BY_CTA, BF_IBGDA_MAP_BY_SM, BF_IBGDA_MAP_BY_WARP, BF_IBGDA_MAP_BY_DCT };

/* IBGDA_FORCE_NIC_BUF_MEMTYPE; NVSHMEM takes any other word as "find out". */
enum bf_ibgda_memtype { BF_IBGDA_MEMTYPE_GPU, BF_IBGDA_MEMTYPE_HOST, BF_IBGDA_MEMTYPE_AUTO };

/* IBGDA_NIC_HANDLER: who rings doorbells. */
enum bf_ibgda_handler {
	BF_IBGDA_HANDLER_AUTO,
	BF_IBGDA_HANDLER_GPU,
	BF_IBGDA_HANDLER_CPU,
	BF_IBGDA_HANDLER_CPU_HOST_MEMORY,
};

/* One entry of HCA_LIST (count unused) or HCA_PE_MAPPING. */
struct bf_ibgda_hca {
	char name[24];
	uint32_t port;  /* from 1; 0: any */
	uint32_t count; /* PEs in a row that use it */
};

struct bf_ibgda_hcas {
	struct bf_ibgda_hca entry[BF_IBGDA_HCAS_MAX];
	uint32_t count;
	bool exclude; /* HCA_LIST began with '^' */
};

struct bf_ibgda_env {
	uint64_t set; /* bit i: option i of the table below was given */
	int32_t ib_enable_ibgda, ibgda_enable_multi_port, enable_nic_pe_mapping;
	int32_t disable_ib_native_atomics, ib_enable_relaxed_ordering;
	int32_t ib_gid_index, ib_traffic_class, ib_sl;
	int32_t ibgda_num_dct, ibgda_num_dci, ibgda_num_shared_dci, ibgda_num_rc_per_pe;
	int32_t ibgda_num_requests_in_batch, ibgda_num_fetch_slots_per_dci, ibgda_num_fetch_slots_per_rc;
	int32_t qp_depth, srq_depth;
	int32_t ibgda_dci_map_by, ibgda_rc_map_by; /* enum bf_ibgda_map_by */
	int32_t ibgda_force_nic_buf_memtype;       /* enum bf_ibgda_memtype */
	int32_t ibgda_nic_handler;                 /* enum bf_ibgda_handler */
	char hca_prefix[24];                       /* "^smi": all names but those that begin so */
	struct bf_ibgda_hcas hca_list, hca_pe_mapping;
};

/* Table of the options, for help texts. Ends with a NULL name. */
struct bf_ibgda_env_option {
	const char *name;
	const char *values; /* "cta, sm, warp, dct", "1 or more", "yes or no" */
	const char *def;
	const char *summary;
};
extern const struct bf_ibgda_env_option bf_ibgda_env_options[];

/* NVSHMEM's defaults. */
void bf_ibgda_env_init(struct bf_ibgda_env *env);

/*
 * Sets what `text` (`len` bytes, not terminated) says on top of what is in `env`. 0, or -EINVAL with line and option in
 * `err`; what stood before the error is set.
 */
int bf_ibgda_env_parse(struct bf_ibgda_env *env, const char *text, size_t len, struct bf_error *err);

/*
 * Writes the options that were set, one a line, so that parsing the text gives the same again. Returns how many bytes
 * it needs, like snprintf().
 */
size_t bf_ibgda_env_print(const struct bf_ibgda_env *env, char *buf, size_t cap);

#endif
