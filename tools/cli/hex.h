/* Bytes as people paste them: hex digits with blanks, commas, colons or 0x between them. */
#ifndef BELFRY_TOOLS_CLI_HEX_H
#define BELFRY_TOOLS_CLI_HEX_H

#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"

/*
 * Appends the bytes of `text` to `out` (`*len` of `cap` used). Groups of digits are bytes in their order, which is also
 * how words print that drivers and libraries show in big-endian; 0xd2 is a byte, and any other group with 0x is at
 * least a 32-bit word whose leading zeros may be missing. 0, -EINVAL (a character that is no digit, half a byte) or
 * -E2BIG, with `err` set.
 */
int bf_hex_append(const char *text, uint8_t *out, size_t cap, size_t *len, struct bf_error *err);

#endif
