/* BF_EACH(m, x, a, b, c): m(x, a) m(x, b) m(x, c), for up to 40 arguments. C and C++ clean. */
#ifndef BELFRY_SIM_EACH_H
#define BELFRY_SIM_EACH_H

#define BF_EACH_1_(m, x, a) m(x, a)
#define BF_EACH_2_(m, x, a, ...) m(x, a) BF_EACH_1_(m, x, __VA_ARGS__)
#define BF_EACH_3_(m, x, a, ...) m(x, a) BF_EACH_2_(m, x, __VA_ARGS__)
#define BF_EACH_4_(m, x, a, ...) m(x, a) BF_EACH_3_(m, x, __VA_ARGS__)
#define BF_EACH_5_(m, x, a, ...) m(x, a) BF_EACH_4_(m, x, __VA_ARGS__)
#define BF_EACH_6_(m, x, a, ...) m(x, a) BF_EACH_5_(m, x, __VA_ARGS__)
#define BF_EACH_7_(m, x, a, ...) m(x, a) BF_EACH_6_(m, x, __VA_ARGS__)
#define BF_EACH_8_(m, x, a, ...) m(x, a) BF_EACH_7_(m, x, __VA_ARGS__)
#define BF_EACH_9_(m, x, a, ...) m(x, a) BF_EACH_8_(m, x, __VA_ARGS__)
#define BF_EACH_10_(m, x, a, ...) m(x, a) BF_EACH_9_(m, x, __VA_ARGS__)
#define BF_EACH_11_(m, x, a, ...) m(x, a) BF_EACH_10_(m, x, __VA_ARGS__)
#define BF_EACH_12_(m, x, a, ...) m(x, a) BF_EACH_11_(m, x, __VA_ARGS__)
#define BF_EACH_13_(m, x, a, ...) m(x, a) BF_EACH_12_(m, x, __VA_ARGS__)
#define BF_EACH_14_(m, x, a, ...) m(x, a) BF_EACH_13_(m, x, __VA_ARGS__)
#define BF_EACH_15_(m, x, a, ...) m(x, a) BF_EACH_14_(m, x, __VA_ARGS__)
#define BF_EACH_16_(m, x, a, ...) m(x, a) BF_EACH_15_(m, x, __VA_ARGS__)
#define BF_EACH_17_(m, x, a, ...) m(x, a) BF_EACH_16_(m, x, __VA_ARGS__)
#define BF_EACH_18_(m, x, a, ...) m(x, a) BF_EACH_17_(m, x, __VA_ARGS__)
#define BF_EACH_19_(m, x, a, ...) m(x, a) BF_EACH_18_(m, x, __VA_ARGS__)
#define BF_EACH_20_(m, x, a, ...) m(x, a) BF_EACH_19_(m, x, __VA_ARGS__)
#define BF_EACH_21_(m, x, a, ...) m(x, a) BF_EACH_20_(m, x, __VA_ARGS__)
#define BF_EACH_22_(m, x, a, ...) m(x, a) BF_EACH_21_(m, x, __VA_ARGS__)
#define BF_EACH_23_(m, x, a, ...) m(x, a) BF_EACH_22_(m, x, __VA_ARGS__)
#define BF_EACH_24_(m, x, a, ...) m(x, a) BF_EACH_23_(m, x, __VA_ARGS__)
#define BF_EACH_25_(m, x, a, ...) m(x, a) BF_EACH_24_(m, x, __VA_ARGS__)
#define BF_EACH_26_(m, x, a, ...) m(x, a) BF_EACH_25_(m, x, __VA_ARGS__)
#define BF_EACH_27_(m, x, a, ...) m(x, a) BF_EACH_26_(m, x, __VA_ARGS__)
#define BF_EACH_28_(m, x, a, ...) m(x, a) BF_EACH_27_(m, x, __VA_ARGS__)
#define BF_EACH_29_(m, x, a, ...) m(x, a) BF_EACH_28_(m, x, __VA_ARGS__)
#define BF_EACH_30_(m, x, a, ...) m(x, a) BF_EACH_29_(m, x, __VA_ARGS__)
#define BF_EACH_31_(m, x, a, ...) m(x, a) BF_EACH_30_(m, x, __VA_ARGS__)
#define BF_EACH_32_(m, x, a, ...) m(x, a) BF_EACH_31_(m, x, __VA_ARGS__)
#define BF_EACH_33_(m, x, a, ...) m(x, a) BF_EACH_32_(m, x, __VA_ARGS__)
#define BF_EACH_34_(m, x, a, ...) m(x, a) BF_EACH_33_(m, x, __VA_ARGS__)
#define BF_EACH_35_(m, x, a, ...) m(x, a) BF_EACH_34_(m, x, __VA_ARGS__)
#define BF_EACH_36_(m, x, a, ...) m(x, a) BF_EACH_35_(m, x, __VA_ARGS__)
#define BF_EACH_37_(m, x, a, ...) m(x, a) BF_EACH_36_(m, x, __VA_ARGS__)
#define BF_EACH_38_(m, x, a, ...) m(x, a) BF_EACH_37_(m, x, __VA_ARGS__)
#define BF_EACH_39_(m, x, a, ...) m(x, a) BF_EACH_38_(m, x, __VA_ARGS__)
#define BF_EACH_40_(m, x, a, ...) m(x, a) BF_EACH_39_(m, x, __VA_ARGS__)

#define BF_COUNTED_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21,    \
		    a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, n,  \
		    ...)                                                                                               \
	n
#define BF_COUNT_(...)                                                                                                 \
	BF_COUNTED_(__VA_ARGS__, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20,   \
		    19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)

#define BF_EACH_OF_(n, m, x, ...) BF_EACH_##n##_(m, x, __VA_ARGS__)
#define BF_EACH_BY_(n, m, x, ...) BF_EACH_OF_(n, m, x, __VA_ARGS__)
#define BF_EACH(m, x, ...) BF_EACH_BY_(BF_COUNT_(__VA_ARGS__), m, x, __VA_ARGS__)

/* What stands between the parentheses of `tuple`: BF_BARE (a, b) is a, b. */
#define BF_BARE(...) __VA_ARGS__

#endif
