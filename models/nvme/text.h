/*
 * NVMe data structures as the usual tools print them, line by line, both ways: nvme-cli (id-ctrl, id-ns, smart-log,
 * error-log) and smartctl (SMART, error log). A line is a key, a colon and a value; the key says which bytes of the
 * structure the value stands for. Formats: linux-nvme/nvme-cli nvme-print-stdout.c, smartmontools nvmeprint.cpp.
 * Offsets: prm.h names its sources. Pure functions of their arguments.
 */
#ifndef BELFRY_MODELS_NVME_TEXT_H
#define BELFRY_MODELS_NVME_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum bf_nvme_text {
	BF_NVME_TEXT_ID_CTRL,
	BF_NVME_TEXT_ID_NS,
	BF_NVME_TEXT_SMART,
	BF_NVME_TEXT_SMART_JSON, /* "key : value" of each member */
	BF_NVME_TEXT_ERROR,      /* one entry of the error log */
	BF_NVME_TEXTS
};

/* Bytes of the structure: 4096, 4096, 512, 512, 64. */
size_t bf_nvme_text_size(enum bf_nvme_text what);

/*
 * Puts the value of `line` (NUL-terminated, without newline) into `bytes`. 1 when it is a line of this structure, 0
 * when it is something else (a heading, a remark, a key that is not known), -EBADMSG when the value of a known key
 * cannot be read.
 */
int bf_nvme_text_read(enum bf_nvme_text what, const char *line, uint8_t *bytes);

/*
 * Prints `bytes` in the form of `line`: the same key and spacing, the value from `bytes`, no blanks at the end. 1, or 0
 * when read() would return 0. `out` gets at most `cap` bytes with the NUL.
 */
int bf_nvme_text_print(enum bf_nvme_text what, const char *line, const uint8_t *bytes, char *out, size_t cap);

/* The status code (SCT << 8 | SC) in words: "Invalid Field in Command"; NULL when it is not known. */
const char *bf_nvme_status_text(uint32_t status);

#endif
