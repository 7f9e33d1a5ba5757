/* Lines that hold several fields: power states, LBA formats, entries of the error log. */
#ifndef BELFRY_MODELS_NVME_TEXT_INTERNAL_H
#define BELFRY_MODELS_NVME_TEXT_INTERNAL_H

#include "models/nvme/text.h"

/* As the functions without _row. */
int bf_nvme_text_read_row(enum bf_nvme_text what, const char *line, uint8_t *bytes);
int bf_nvme_text_print_row(enum bf_nvme_text what, const char *line, const uint8_t *bytes, char *out, size_t cap);

#endif
