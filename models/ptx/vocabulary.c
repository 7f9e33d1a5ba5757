#include "models/ptx/vocabulary.h"

#include <stddef.h>

#define TEXT(table, i) ((size_t)(i) < sizeof(table) / sizeof((table)[0]) && (table)[i] ? (table)[i] : "?")

const char *bf_ptx_op_text(enum bf_ptx_op op)
{
	static const char *const texts[] = { NULL,
#define X(name, words, least, most, state) words,
					     BF_PTX_OPS(X)
#undef X
	};

	return TEXT(texts, op);
}

const char *bf_ptx_type_text(enum bf_ptx_type type)
{
	static const char *const texts[] = { NULL,
#define X(name, word, bits, letter) word,
					     BF_PTX_TYPES(X)
#undef X
	};

	return TEXT(texts, type);
}

const char *bf_ptx_space_text(enum bf_ptx_space space)
{
	static const char *const texts[] = { "generic",
#define X(name, word) word,
					     BF_PTX_SPACES(X)
#undef X
	};

	return TEXT(texts, space);
}

const char *bf_ptx_sreg_text(enum bf_ptx_sreg sreg)
{
	static const char *const texts[] = {
#define X(name, word, bits, parts) word,
		BF_PTX_SREGS(X)
#undef X
	};

	return TEXT(texts, sreg);
}

uint32_t bf_ptx_type_bits(enum bf_ptx_type type)
{
	static const uint16_t bits[] = { 0,
#define X(name, word, bits, letter) bits,
					 BF_PTX_TYPES(X)
#undef X
	};

	return (uint32_t)type < BF_PTX_TYPES_COUNT ? bits[type] : 0;
}

char bf_ptx_type_letter(enum bf_ptx_type type)
{
	static const char letters[] = { 0,
#define X(name, word, bits, letter) letter,
					BF_PTX_TYPES(X)
#undef X
	};

	return (uint32_t)type < BF_PTX_TYPES_COUNT ? letters[type] : 0;
}
