#include "models/ptx/parse_internal.h"

#include <math.h>
#include <string.h>

/* Constant expressions, PTX ISA 4.5.4: C's operators on 64-bit integers and on doubles. */

#define NESTING_MOST 64

static struct bf_ptx_const_value conditional(struct bf_ptx_reader *r, bool symbols);

static struct bf_ptx_const_value of_int(uint64_t bits, bool is_unsigned)
{
	return (struct bf_ptx_const_value){ .bits = bits, .is_unsigned = is_unsigned };
}

static struct bf_ptx_const_value of_real(double number)
{
	return (struct bf_ptx_const_value){ .real = true, .number = number, .width = 64 };
}

static void no_symbol(struct bf_ptx_reader *r, const struct bf_ptx_const_value *v)
{
	if (v->symbol)
		bf_ptx_fail_here(r, "an address can only have a constant added or subtracted");
}

static void integer_only(struct bf_ptx_reader *r, const struct bf_ptx_const_value *v)
{
	no_symbol(r, v);
	if (v->real)
		bf_ptx_fail_here(r, "an integer expected, this is a floating-point number");
}

/* A variable or function in an initialiser. */
static struct bf_ptx_const_value symbol(struct bf_ptx_reader *r)
{
	struct bf_ptx_name *n = bf_ptx_name_find(&r->p->names, r->tok.text, r->tok.len,
						 bf_ptx_hash(BF_PTX_HASH_SEED, r->tok.text, r->tok.len));
	struct bf_ptx_const_value v = { .is_unsigned = true };

	if (!n || !n->kind || n->module != r->number)
		bf_ptx_fail_here(r, "`%.*s` is not declared", r->tok.len < 100 ? (int)r->tok.len : 100, r->tok.text);
	v.symbol = n->kind;
	v.index = n->index;
	bf_ptx_next(r);
	return v;
}

static bool token_is(const struct bf_ptx_reader *r, const char *word)
{
	return r->tok.kind == BF_PTX_TOKEN_NAME && r->tok.len == strlen(word) &&
	       memcmp(r->tok.text, word, r->tok.len) == 0;
}

static struct bf_ptx_const_value parentheses(struct bf_ptx_reader *r, bool symbols)
{
	struct bf_ptx_const_value v;

	bf_ptx_want(r, '(', "`(`");
	if (++r->nesting > NESTING_MOST)
		bf_ptx_fail_here(r, "parentheses are nested deeper than %d", NESTING_MOST);
	v = conditional(r, symbols);
	r->nesting--;
	bf_ptx_want(r, ')', "`)`");
	return v;
}

/* 0xFF00(generic(name)): one byte of an address, PTX ISA 5.4.4. */
static struct bf_ptx_const_value masked(struct bf_ptx_reader *r, uint64_t mask)
{
	uint8_t shift = 0;
	struct bf_ptx_const_value v;

	while (shift < 64 && mask != UINT64_C(0xff) << shift)
		shift = (uint8_t)(shift + 8);
	if (shift == 64)
		bf_ptx_fail_here(r, "the mask of an address is one byte: 0xFF to 0xFF00000000000000");
	v = parentheses(r, true);
	if (!v.symbol || v.masked)
		bf_ptx_fail_here(r, "a mask is for addresses");
	v.masked = true;
	v.shift = shift;
	return v;
}

static struct bf_ptx_const_value atom(struct bf_ptx_reader *r, bool symbols)
{
	struct bf_ptx_const_value v;

	if (r->tok.kind == BF_PTX_TOKEN_INT) {
		v = of_int(r->tok.bits, r->tok.is_unsigned);
		bf_ptx_next(r);
		return symbols && bf_ptx_is(r, '(') ? masked(r, v.bits) : v;
	}
	if (r->tok.kind == BF_PTX_TOKEN_REAL) {
		v = of_real(r->tok.real);
		v.width = r->tok.width;
		v.single = r->tok.single;
		bf_ptx_next(r);
		return v;
	}
	if (token_is(r, "WARP_SZ")) {
		bf_ptx_next(r);
		return of_int(32, false);
	}
	if (symbols && token_is(r, "generic")) {
		bf_ptx_next(r);
		v = parentheses(r, true);
		if (!v.symbol || v.masked)
			bf_ptx_fail_here(r, "generic() is for the name of a variable");
		v.generic = true;
		return v;
	}
	if (symbols && r->tok.kind == BF_PTX_TOKEN_NAME)
		return symbol(r);
	bf_ptx_expected(r, "a constant");
}

/* (.s64) and (.u64) may stand before an operand. */
static struct bf_ptx_const_value parenthesis_or_cast(struct bf_ptx_reader *r, bool symbols);

static struct bf_ptx_const_value unary(struct bf_ptx_reader *r, bool symbols)
{
	struct bf_ptx_const_value v;
	int op = r->tok.kind == BF_PTX_TOKEN_PUNCT ? r->tok.punct : 0;

	if (op == '(')
		return parenthesis_or_cast(r, symbols);
	if (!op || !strchr("-+!~", op))
		return atom(r, symbols);
	bf_ptx_next(r);
	if (++r->nesting > NESTING_MOST)
		bf_ptx_fail_here(r, "more than %d signs", NESTING_MOST);
	v = unary(r, symbols);
	r->nesting--;
	no_symbol(r, &v);
	if (v.real && (op == '-' || op == '+')) {
		if (op == '-') {
			v.number = -v.number;
			v.single ^= v.width == 32 ? UINT32_C(1) << 31 : 0;
		}
		return v;
	}
	integer_only(r, &v);
	if (op == '-')
		v.bits = 0 - v.bits;
	else if (op == '~')
		v.bits = ~v.bits;
	else if (op == '!')
		v = of_int(!v.bits, false);
	return v;
}

static struct bf_ptx_const_value parenthesis_or_cast(struct bf_ptx_reader *r, bool symbols)
{
	struct bf_ptx_const_value v;
	bool is_unsigned;

	bf_ptx_want(r, '(', "`(`");
	if (++r->nesting > NESTING_MOST)
		bf_ptx_fail_here(r, "parentheses are nested deeper than %d", NESTING_MOST);
	is_unsigned = bf_ptx_is_dot(r, "u64");
	if (is_unsigned || bf_ptx_is_dot(r, "s64")) {
		bf_ptx_next(r);
		bf_ptx_want(r, ')', "`)`");
		v = unary(r, symbols);
		integer_only(r, &v);
		v.is_unsigned = is_unsigned;
	} else {
		v = conditional(r, symbols);
		bf_ptx_want(r, ')', "`)`");
	}
	r->nesting--;
	return v;
}

static int precedence(const struct bf_ptx_reader *r)
{
	if (r->tok.kind != BF_PTX_TOKEN_PUNCT)
		return 0;
	switch (r->tok.punct) {
	case '*':
	case '/':
	case '%':
		return 10;
	case '+':
	case '-':
		return 9;
	case BF_PTX_SHL:
	case BF_PTX_SHR:
		return 8;
	case '<':
	case '>':
	case BF_PTX_LESSEQ:
	case BF_PTX_MOREEQ:
		return 7;
	case BF_PTX_EQEQ:
	case BF_PTX_NOTEQ:
		return 6;
	case '&':
		return 5;
	case '^':
		return 4;
	case '|':
		return 3;
	case BF_PTX_ANDAND:
		return 2;
	case BF_PTX_OROR:
		return 1;
	default:
		return 0;
	}
}

static struct bf_ptx_const_value on_reals(struct bf_ptx_reader *r, int op, double a, double b)
{
	switch (op) {
	case '*':
		return of_real(a * b);
	case '/':
		return of_real(a / b);
	case '+':
		return of_real(a + b);
	case '-':
		return of_real(a - b);
	case '<':
		return of_int(a < b, false);
	case '>':
		return of_int(a > b, false);
	case BF_PTX_LESSEQ:
		return of_int(a <= b, false);
	case BF_PTX_MOREEQ:
		return of_int(a >= b, false);
	case BF_PTX_EQEQ:
		return of_int(!(a < b || a > b || isnan(a) || isnan(b)), false);
	case BF_PTX_NOTEQ:
		return of_int(a < b || a > b || isnan(a) || isnan(b), false);
	default:
		bf_ptx_fail_here(r, "this operator is for integers");
	}
}

static struct bf_ptx_const_value divided(struct bf_ptx_reader *r, int op, uint64_t a, uint64_t b, bool is_unsigned)
{
	bool negative = !is_unsigned && ((int64_t)a < 0) != ((int64_t)b < 0);
	uint64_t abs_a = !is_unsigned && (int64_t)a < 0 ? 0 - a : a;
	uint64_t abs_b = !is_unsigned && (int64_t)b < 0 ? 0 - b : b;

	if (!b)
		bf_ptx_fail_here(r, "division by zero");
	if (op == '/')
		return of_int(negative ? 0 - abs_a / abs_b : abs_a / abs_b, is_unsigned);
	return of_int(a % b, true); /* on unsigned operands only, PTX ISA 4.5.4 */
}

static uint64_t shifted_right(uint64_t a, uint64_t n, bool is_unsigned)
{
	bool ones = !is_unsigned && (int64_t)a < 0;

	if (n >= 64)
		return ones ? UINT64_MAX : 0;
	return a >> n | (ones && n ? UINT64_MAX << (64 - n) : 0);
}

static struct bf_ptx_const_value on_integers(struct bf_ptx_reader *r, int op, const struct bf_ptx_const_value *x,
					     const struct bf_ptx_const_value *y)
{
	bool is_unsigned = x->is_unsigned || y->is_unsigned;
	uint64_t a = x->bits, b = y->bits, flip = is_unsigned ? 0 : UINT64_C(1) << 63;

	switch (op) {
	case '*':
		return of_int(a * b, is_unsigned);
	case '/':
	case '%':
		return divided(r, op, a, b, is_unsigned);
	case '+':
		return of_int(a + b, is_unsigned);
	case '-':
		return of_int(a - b, is_unsigned);
	case BF_PTX_SHL:
		return of_int(b >= 64 ? 0 : a << b, x->is_unsigned);
	case BF_PTX_SHR:
		return of_int(shifted_right(a, b, x->is_unsigned), x->is_unsigned);
	case '<':
		return of_int((a ^ flip) < (b ^ flip), false);
	case '>':
		return of_int((a ^ flip) > (b ^ flip), false);
	case BF_PTX_LESSEQ:
		return of_int((a ^ flip) <= (b ^ flip), false);
	case BF_PTX_MOREEQ:
		return of_int((a ^ flip) >= (b ^ flip), false);
	case BF_PTX_EQEQ:
		return of_int(a == b, false);
	case BF_PTX_NOTEQ:
		return of_int(a != b, false);
	case '&':
		return of_int(a & b, true);
	case '^':
		return of_int(a ^ b, true);
	case '|':
		return of_int(a | b, true);
	case BF_PTX_ANDAND:
		return of_int(a && b, false);
	default:
		return of_int(a || b, false);
	}
}

static struct bf_ptx_const_value combine(struct bf_ptx_reader *r, int op, struct bf_ptx_const_value *a,
					 struct bf_ptx_const_value *b)
{
	if (a->symbol && !b->symbol && !b->real && (op == '+' || op == '-') && !a->masked) {
		a->bits = op == '+' ? a->bits + b->bits : a->bits - b->bits;
		return *a;
	}
	if (b->symbol && !a->symbol && !a->real && op == '+' && !b->masked) {
		b->bits += a->bits;
		return *b;
	}
	no_symbol(r, a);
	no_symbol(r, b);
	if (a->real || b->real)
		return on_reals(r, op, a->real ? a->number : (double)(int64_t)a->bits,
				b->real ? b->number : (double)(int64_t)b->bits);
	return on_integers(r, op, a, b);
}

static struct bf_ptx_const_value binary(struct bf_ptx_reader *r, int least, bool symbols)
{
	struct bf_ptx_const_value a = unary(r, symbols), b;

	for (int p; (p = precedence(r)) >= least && p > 0;) {
		int op = r->tok.punct;

		bf_ptx_next(r);
		b = binary(r, p + 1, symbols);
		a = combine(r, op, &a, &b);
	}
	return a;
}

static struct bf_ptx_const_value conditional(struct bf_ptx_reader *r, bool symbols)
{
	struct bf_ptx_const_value c = binary(r, 1, symbols), a, b;

	if (!bf_ptx_take(r, '?'))
		return c;
	integer_only(r, &c);
	if (++r->nesting > NESTING_MOST)
		bf_ptx_fail_here(r, "expressions are nested deeper than %d", NESTING_MOST);
	a = conditional(r, symbols);
	bf_ptx_want(r, ':', "`:`");
	b = conditional(r, symbols);
	r->nesting--;
	return c.bits ? a : b;
}

struct bf_ptx_const_value bf_ptx_expression(struct bf_ptx_reader *r, bool symbols)
{
	return conditional(r, symbols);
}

int64_t bf_ptx_integer(struct bf_ptx_reader *r)
{
	struct bf_ptx_const_value v = conditional(r, false);

	integer_only(r, &v);
	return (int64_t)v.bits;
}

int64_t bf_ptx_displacement(struct bf_ptx_reader *r)
{
	uint64_t sum = 0;

	while (bf_ptx_is(r, '+') || bf_ptx_is(r, '-')) {
		bool minus = bf_ptx_take(r, '-');
		struct bf_ptx_const_value v;

		if (!minus)
			bf_ptx_next(r);
		v = binary(r, 10, false);
		integer_only(r, &v);
		sum = minus ? sum - v.bits : sum + v.bits;
	}
	return (int64_t)sum;
}
