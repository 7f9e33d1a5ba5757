/* What clang makes of C: frames, structs by value, variadic calls, tables of functions and addresses, switches. */
typedef int op(int, int);
struct pair {
	char c;
	double d;
	short s[3];
};
struct packed {
	char c;
	int *p;
} __attribute__((packed));
static int add(int a, int b)
{
	return a + b;
}
static int mul(int a, int b)
{
	return a * b;
}
op *const table[] = { add, mul };
int counter = 3;
struct packed here = { 1, &counter };
const char *const names[] = { "a", "bc" };
__attribute__((weak)) int weak_one(int n)
{
	return n + counter;
}
struct pair shuffle(struct pair p)
{
	p.d *= p.s[1];
	p.c++;
	return p;
}
int sum(int n, ...)
{
	__builtin_va_list l;
	int s = 0;
	__builtin_va_start(l, n);
	while (n--)
		s += __builtin_va_arg(l, int);
	__builtin_va_end(l);
	return s;
}
int many(int v, int *p)
{
	switch (v) {
	case 0:
		return p[1];
	case 1:
		return p[7] * 3;
	case 2:
		return v << p[1];
	case 3:
		return 77;
	case 4:
		return p[4] / 5;
	case 5:
		return p[0] - v;
	default:
		return sum(3, v, 2, 1);
	}
}
__int128 wide(__int128 a, __int128 b)
{
	return a * b + 1;
}
_Bool flag(_Bool a, int n)
{
	int t[20];
	for (int i = 0; i < 20; i++)
		t[i] = n ^ i;
	return a ^ (t[n & 15] & 1);
}
void kernel(int *out, struct pair p, int which)
{
	out[0] = table[which](out[1], out[2]) + (int)shuffle(p).d + *here.p + names[1][0] + weak_one(2);
	if (which > 4)
		__builtin_trap();
}
