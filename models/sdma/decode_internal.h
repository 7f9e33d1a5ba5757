/* The tables behind the decoder: which bits of which dword are what (decode_forms.c), for decode.c and its text form.
 */
#ifndef BELFRY_MODELS_SDMA_DECODE_INTERNAL_H
#define BELFRY_MODELS_SDMA_DECODE_INTERNAL_H

#include "models/sdma/decode.h"

/* How a field's number reads. */
enum bf_sdma_note {
	BF_SDMA_PLAIN,
	BF_SDMA_HEX,
	BF_SDMA_LESS_ONE, /* stored minus one */
	BF_SDMA_LOG2,     /* element size */
	BF_SDMA_IS_FUNC,
	BF_SDMA_IS_ATOMIC,
	BF_SDMA_IS_FILL,
};

/* Part of a field: bits `mask` of `dword`, moved to bit `up` of the packet's member. Parts of one field are adjacent.
 */
struct bf_sdma_field {
	const char *name;
	uint32_t mask;
	uint16_t member;
	uint8_t dword, low, up, note;
};

struct bf_sdma_form {
	const char *name;
	const struct bf_sdma_field *fields;
	uint32_t mask, value; /* of the header dword: which packets this is */
	uint8_t nfields;
	uint8_t gens; /* bit per generation */
	uint8_t kind;
	uint8_t dwords;
	uint8_t layout; /* 0: any; 1: narrow sub-windows, 2: wide ones; 3: narrow counts, 4: wide counts */
	bool is64;
};

/* The form of a packet with this header; NULL when the generation has none. */
const struct bf_sdma_form *bf_sdma_form_find(const struct bf_sdma_dialect *d, uint32_t header);

#endif
