/* What the ICRC of a datagram says about the part of its IP header that a UDP socket does not show. */
#ifndef BELFRY_MODELS_FABRIC_UDP_INTERNAL_H
#define BELFRY_MODELS_FABRIC_UDP_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

/* Remembers what was computed for a length; a zeroed one is empty. */
struct bf_id_finder {
	struct {
		uint32_t len, factor;
	} known[16];
};

/*
 * The IP identification (wire order, as two bytes at `id`) with which a frame of `len` bytes, all of it right but
 * for that, has the ICRC `icrc`, when `with_zero` is what it has with an identification of 0. False when there is none:
 * the frame is broken.
 */
bool bf_find_ip_id(struct bf_id_finder *f, uint32_t len, uint32_t with_zero, uint32_t icrc, uint8_t id[2]);

#endif
