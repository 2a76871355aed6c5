// SPDX-License-Identifier: Apache-2.0
// The wgmma instruction once for each N and type of sum, for wgmma.cuh: its operand list is N/2 or
// N/4 registers long and must be spelt out. Kernels include wgmma.cuh.
#ifndef PTXBENCH_WGMMA_OPERANDS_CUH
#define PTXBENCH_WGMMA_OPERANDS_CUH

#include <cstdint>

namespace ptxbench::detail
{

// Names of a thread's registers of d in the text (R) and as operands (D), for each count there is.
#define PTXBENCH_R2 "%0, %1"
#define PTXBENCH_D2(c) c(d[0]), c(d[1])
#define PTXBENCH_R4 PTXBENCH_R2 ", %2, %3"
#define PTXBENCH_D4(c) PTXBENCH_D2(c), c(d[2]), c(d[3])
#define PTXBENCH_R6 PTXBENCH_R4 ", %4, %5"
#define PTXBENCH_D6(c) PTXBENCH_D4(c), c(d[4]), c(d[5])
#define PTXBENCH_R8 PTXBENCH_R6 ", %6, %7"
#define PTXBENCH_D8(c) PTXBENCH_D6(c), c(d[6]), c(d[7])
#define PTXBENCH_R10 PTXBENCH_R8 ", %8, %9"
#define PTXBENCH_D10(c) PTXBENCH_D8(c), c(d[8]), c(d[9])
#define PTXBENCH_R12 PTXBENCH_R10 ", %10, %11"
#define PTXBENCH_D12(c) PTXBENCH_D10(c), c(d[10]), c(d[11])
#define PTXBENCH_R14 PTXBENCH_R12 ", %12, %13"
#define PTXBENCH_D14(c) PTXBENCH_D12(c), c(d[12]), c(d[13])
#define PTXBENCH_R16 PTXBENCH_R14 ", %14, %15"
#define PTXBENCH_D16(c) PTXBENCH_D14(c), c(d[14]), c(d[15])
#define PTXBENCH_R18 PTXBENCH_R16 ", %16, %17"
#define PTXBENCH_D18(c) PTXBENCH_D16(c), c(d[16]), c(d[17])
#define PTXBENCH_R20 PTXBENCH_R18 ", %18, %19"
#define PTXBENCH_D20(c) PTXBENCH_D18(c), c(d[18]), c(d[19])
#define PTXBENCH_R22 PTXBENCH_R20 ", %20, %21"
#define PTXBENCH_D22(c) PTXBENCH_D20(c), c(d[20]), c(d[21])
#define PTXBENCH_R24 PTXBENCH_R22 ", %22, %23"
#define PTXBENCH_D24(c) PTXBENCH_D22(c), c(d[22]), c(d[23])
#define PTXBENCH_R26 PTXBENCH_R24 ", %24, %25"
#define PTXBENCH_D26(c) PTXBENCH_D24(c), c(d[24]), c(d[25])
#define PTXBENCH_R28 PTXBENCH_R26 ", %26, %27"
#define PTXBENCH_D28(c) PTXBENCH_D26(c), c(d[26]), c(d[27])
#define PTXBENCH_R30 PTXBENCH_R28 ", %28, %29"
#define PTXBENCH_D30(c) PTXBENCH_D28(c), c(d[28]), c(d[29])
#define PTXBENCH_R32 PTXBENCH_R30 ", %30, %31"
#define PTXBENCH_D32(c) PTXBENCH_D30(c), c(d[30]), c(d[31])
#define PTXBENCH_R34 PTXBENCH_R32 ", %32, %33"
#define PTXBENCH_D34(c) PTXBENCH_D32(c), c(d[32]), c(d[33])
#define PTXBENCH_R36 PTXBENCH_R34 ", %34, %35"
#define PTXBENCH_D36(c) PTXBENCH_D34(c), c(d[34]), c(d[35])
#define PTXBENCH_R38 PTXBENCH_R36 ", %36, %37"
#define PTXBENCH_D38(c) PTXBENCH_D36(c), c(d[36]), c(d[37])
#define PTXBENCH_R40 PTXBENCH_R38 ", %38, %39"
#define PTXBENCH_D40(c) PTXBENCH_D38(c), c(d[38]), c(d[39])
#define PTXBENCH_R42 PTXBENCH_R40 ", %40, %41"
#define PTXBENCH_D42(c) PTXBENCH_D40(c), c(d[40]), c(d[41])
#define PTXBENCH_R44 PTXBENCH_R42 ", %42, %43"
#define PTXBENCH_D44(c) PTXBENCH_D42(c), c(d[42]), c(d[43])
#define PTXBENCH_R46 PTXBENCH_R44 ", %44, %45"
#define PTXBENCH_D46(c) PTXBENCH_D44(c), c(d[44]), c(d[45])
#define PTXBENCH_R48 PTXBENCH_R46 ", %46, %47"
#define PTXBENCH_D48(c) PTXBENCH_D46(c), c(d[46]), c(d[47])
#define PTXBENCH_R50 PTXBENCH_R48 ", %48, %49"
#define PTXBENCH_D50(c) PTXBENCH_D48(c), c(d[48]), c(d[49])
#define PTXBENCH_R52 PTXBENCH_R50 ", %50, %51"
#define PTXBENCH_D52(c) PTXBENCH_D50(c), c(d[50]), c(d[51])
#define PTXBENCH_R54 PTXBENCH_R52 ", %52, %53"
#define PTXBENCH_D54(c) PTXBENCH_D52(c), c(d[52]), c(d[53])
#define PTXBENCH_R56 PTXBENCH_R54 ", %54, %55"
#define PTXBENCH_D56(c) PTXBENCH_D54(c), c(d[54]), c(d[55])
#define PTXBENCH_R58 PTXBENCH_R56 ", %56, %57"
#define PTXBENCH_D58(c) PTXBENCH_D56(c), c(d[56]), c(d[57])
#define PTXBENCH_R60 PTXBENCH_R58 ", %58, %59"
#define PTXBENCH_D60(c) PTXBENCH_D58(c), c(d[58]), c(d[59])
#define PTXBENCH_R62 PTXBENCH_R60 ", %60, %61"
#define PTXBENCH_D62(c) PTXBENCH_D60(c), c(d[60]), c(d[61])
#define PTXBENCH_R64 PTXBENCH_R62 ", %62, %63"
#define PTXBENCH_D64(c) PTXBENCH_D62(c), c(d[62]), c(d[63])
#define PTXBENCH_R68 PTXBENCH_R64 ", %64, %65, %66, %67"
#define PTXBENCH_D68(c) PTXBENCH_D64(c), c(d[64]), c(d[65]), c(d[66]), c(d[67])
#define PTXBENCH_R72 PTXBENCH_R68 ", %68, %69, %70, %71"
#define PTXBENCH_D72(c) PTXBENCH_D68(c), c(d[68]), c(d[69]), c(d[70]), c(d[71])
#define PTXBENCH_R76 PTXBENCH_R72 ", %72, %73, %74, %75"
#define PTXBENCH_D76(c) PTXBENCH_D72(c), c(d[72]), c(d[73]), c(d[74]), c(d[75])
#define PTXBENCH_R80 PTXBENCH_R76 ", %76, %77, %78, %79"
#define PTXBENCH_D80(c) PTXBENCH_D76(c), c(d[76]), c(d[77]), c(d[78]), c(d[79])
#define PTXBENCH_R84 PTXBENCH_R80 ", %80, %81, %82, %83"
#define PTXBENCH_D84(c) PTXBENCH_D80(c), c(d[80]), c(d[81]), c(d[82]), c(d[83])
#define PTXBENCH_R88 PTXBENCH_R84 ", %84, %85, %86, %87"
#define PTXBENCH_D88(c) PTXBENCH_D84(c), c(d[84]), c(d[85]), c(d[86]), c(d[87])
#define PTXBENCH_R92 PTXBENCH_R88 ", %88, %89, %90, %91"
#define PTXBENCH_D92(c) PTXBENCH_D88(c), c(d[88]), c(d[89]), c(d[90]), c(d[91])
#define PTXBENCH_R96 PTXBENCH_R92 ", %92, %93, %94, %95"
#define PTXBENCH_D96(c) PTXBENCH_D92(c), c(d[92]), c(d[93]), c(d[94]), c(d[95])
#define PTXBENCH_R100 PTXBENCH_R96 ", %96, %97, %98, %99"
#define PTXBENCH_D100(c) PTXBENCH_D96(c), c(d[96]), c(d[97]), c(d[98]), c(d[99])
#define PTXBENCH_R104 PTXBENCH_R100 ", %100, %101, %102, %103"
#define PTXBENCH_D104(c) PTXBENCH_D100(c), c(d[100]), c(d[101]), c(d[102]), c(d[103])
#define PTXBENCH_R108 PTXBENCH_R104 ", %104, %105, %106, %107"
#define PTXBENCH_D108(c) PTXBENCH_D104(c), c(d[104]), c(d[105]), c(d[106]), c(d[107])
#define PTXBENCH_R112 PTXBENCH_R108 ", %108, %109, %110, %111"
#define PTXBENCH_D112(c) PTXBENCH_D108(c), c(d[108]), c(d[109]), c(d[110]), c(d[111])
#define PTXBENCH_R116 PTXBENCH_R112 ", %112, %113, %114, %115"
#define PTXBENCH_D116(c) PTXBENCH_D112(c), c(d[112]), c(d[113]), c(d[114]), c(d[115])
#define PTXBENCH_R120 PTXBENCH_R116 ", %116, %117, %118, %119"
#define PTXBENCH_D120(c) PTXBENCH_D116(c), c(d[116]), c(d[117]), c(d[118]), c(d[119])
#define PTXBENCH_R124 PTXBENCH_R120 ", %120, %121, %122, %123"
#define PTXBENCH_D124(c) PTXBENCH_D120(c), c(d[120]), c(d[121]), c(d[122]), c(d[123])
#define PTXBENCH_R128 PTXBENCH_R124 ", %124, %125, %126, %127"
#define PTXBENCH_D128(c) PTXBENCH_D124(c), c(d[124]), c(d[125]), c(d[126]), c(d[127])
#define PTXBENCH_F32(x) "+f"(x)
#define PTXBENCH_B32(x) "+r"(x)

// One N and one type of sum: R registers of d, then operands numbered o0 = R, o1 = R + 1, …
template <int N, class D> struct wgmma_n;
#define PTXBENCH_N(N, D, c, R, o0, o1, o2, o3, o4, o5, o6, o7)                                     \
    template <> struct wgmma_n<N, D> {                                                             \
        template <class Types, class Flags>                                                        \
        static __device__ __forceinline__ void run(D (&d)[R], uint64_t a, uint64_t b, int keep)    \
        {                                                                                          \
            asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #o2 ", 0;\n"                         \
                         "wgmma.mma_async.sync.aligned.m64n" #N "%" #o3 " {" PTXBENCH_R##R         \
                         "}, "                                                                     \
                         "%" #o0 ", %" #o1 ", p%" #o4 ";\n}\n"                                   \
                         : PTXBENCH_D##R(c)                                                        \
                         : "l"(a), "l"(b), "r"(keep), "C"(Types::text), "C"(Flags::text));         \
        }                                                                                          \
        template <class Types, class Flags>                                                        \
        static __device__ __forceinline__ void run(D (&d)[R], const uint32_t (&a)[4], uint64_t b,  \
                                                   int keep)                                       \
        {                                                                                          \
            asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #o5 ", 0;\n"                         \
                         "wgmma.mma_async.sync.aligned.m64n" #N "%" #o6 " {" PTXBENCH_R##R         \
                         "}, "                                                                     \
                         "{%" #o0 ", %" #o1 ", %" #o2 ", %" #o3 "}, %" #o4 ", p%" #o7 ";\n}\n"   \
                         : PTXBENCH_D##R(c)                                                        \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep),          \
                           "C"(Types::text), "C"(Flags::text));                                    \
        }                                                                                          \
    };
// clang-format off
PTXBENCH_N(8, float, PTXBENCH_F32, 4, 4, 5, 6, 7, 8, 9, 10, 11)
PTXBENCH_N(16, float, PTXBENCH_F32, 8, 8, 9, 10, 11, 12, 13, 14, 15)
PTXBENCH_N(24, float, PTXBENCH_F32, 12, 12, 13, 14, 15, 16, 17, 18, 19)
PTXBENCH_N(32, float, PTXBENCH_F32, 16, 16, 17, 18, 19, 20, 21, 22, 23)
PTXBENCH_N(40, float, PTXBENCH_F32, 20, 20, 21, 22, 23, 24, 25, 26, 27)
PTXBENCH_N(48, float, PTXBENCH_F32, 24, 24, 25, 26, 27, 28, 29, 30, 31)
PTXBENCH_N(56, float, PTXBENCH_F32, 28, 28, 29, 30, 31, 32, 33, 34, 35)
PTXBENCH_N(64, float, PTXBENCH_F32, 32, 32, 33, 34, 35, 36, 37, 38, 39)
PTXBENCH_N(72, float, PTXBENCH_F32, 36, 36, 37, 38, 39, 40, 41, 42, 43)
PTXBENCH_N(80, float, PTXBENCH_F32, 40, 40, 41, 42, 43, 44, 45, 46, 47)
PTXBENCH_N(88, float, PTXBENCH_F32, 44, 44, 45, 46, 47, 48, 49, 50, 51)
PTXBENCH_N(96, float, PTXBENCH_F32, 48, 48, 49, 50, 51, 52, 53, 54, 55)
PTXBENCH_N(104, float, PTXBENCH_F32, 52, 52, 53, 54, 55, 56, 57, 58, 59)
PTXBENCH_N(112, float, PTXBENCH_F32, 56, 56, 57, 58, 59, 60, 61, 62, 63)
PTXBENCH_N(120, float, PTXBENCH_F32, 60, 60, 61, 62, 63, 64, 65, 66, 67)
PTXBENCH_N(128, float, PTXBENCH_F32, 64, 64, 65, 66, 67, 68, 69, 70, 71)
PTXBENCH_N(136, float, PTXBENCH_F32, 68, 68, 69, 70, 71, 72, 73, 74, 75)
PTXBENCH_N(144, float, PTXBENCH_F32, 72, 72, 73, 74, 75, 76, 77, 78, 79)
PTXBENCH_N(152, float, PTXBENCH_F32, 76, 76, 77, 78, 79, 80, 81, 82, 83)
PTXBENCH_N(160, float, PTXBENCH_F32, 80, 80, 81, 82, 83, 84, 85, 86, 87)
PTXBENCH_N(168, float, PTXBENCH_F32, 84, 84, 85, 86, 87, 88, 89, 90, 91)
PTXBENCH_N(176, float, PTXBENCH_F32, 88, 88, 89, 90, 91, 92, 93, 94, 95)
PTXBENCH_N(184, float, PTXBENCH_F32, 92, 92, 93, 94, 95, 96, 97, 98, 99)
PTXBENCH_N(192, float, PTXBENCH_F32, 96, 96, 97, 98, 99, 100, 101, 102, 103)
PTXBENCH_N(200, float, PTXBENCH_F32, 100, 100, 101, 102, 103, 104, 105, 106, 107)
PTXBENCH_N(208, float, PTXBENCH_F32, 104, 104, 105, 106, 107, 108, 109, 110, 111)
PTXBENCH_N(216, float, PTXBENCH_F32, 108, 108, 109, 110, 111, 112, 113, 114, 115)
PTXBENCH_N(224, float, PTXBENCH_F32, 112, 112, 113, 114, 115, 116, 117, 118, 119)
PTXBENCH_N(232, float, PTXBENCH_F32, 116, 116, 117, 118, 119, 120, 121, 122, 123)
PTXBENCH_N(240, float, PTXBENCH_F32, 120, 120, 121, 122, 123, 124, 125, 126, 127)
PTXBENCH_N(248, float, PTXBENCH_F32, 124, 124, 125, 126, 127, 128, 129, 130, 131)
PTXBENCH_N(256, float, PTXBENCH_F32, 128, 128, 129, 130, 131, 132, 133, 134, 135)
PTXBENCH_N(8, uint32_t, PTXBENCH_B32, 2, 2, 3, 4, 5, 6, 7, 8, 9)
PTXBENCH_N(16, uint32_t, PTXBENCH_B32, 4, 4, 5, 6, 7, 8, 9, 10, 11)
PTXBENCH_N(24, uint32_t, PTXBENCH_B32, 6, 6, 7, 8, 9, 10, 11, 12, 13)
PTXBENCH_N(32, uint32_t, PTXBENCH_B32, 8, 8, 9, 10, 11, 12, 13, 14, 15)
PTXBENCH_N(40, uint32_t, PTXBENCH_B32, 10, 10, 11, 12, 13, 14, 15, 16, 17)
PTXBENCH_N(48, uint32_t, PTXBENCH_B32, 12, 12, 13, 14, 15, 16, 17, 18, 19)
PTXBENCH_N(56, uint32_t, PTXBENCH_B32, 14, 14, 15, 16, 17, 18, 19, 20, 21)
PTXBENCH_N(64, uint32_t, PTXBENCH_B32, 16, 16, 17, 18, 19, 20, 21, 22, 23)
PTXBENCH_N(72, uint32_t, PTXBENCH_B32, 18, 18, 19, 20, 21, 22, 23, 24, 25)
PTXBENCH_N(80, uint32_t, PTXBENCH_B32, 20, 20, 21, 22, 23, 24, 25, 26, 27)
PTXBENCH_N(88, uint32_t, PTXBENCH_B32, 22, 22, 23, 24, 25, 26, 27, 28, 29)
PTXBENCH_N(96, uint32_t, PTXBENCH_B32, 24, 24, 25, 26, 27, 28, 29, 30, 31)
PTXBENCH_N(104, uint32_t, PTXBENCH_B32, 26, 26, 27, 28, 29, 30, 31, 32, 33)
PTXBENCH_N(112, uint32_t, PTXBENCH_B32, 28, 28, 29, 30, 31, 32, 33, 34, 35)
PTXBENCH_N(120, uint32_t, PTXBENCH_B32, 30, 30, 31, 32, 33, 34, 35, 36, 37)
PTXBENCH_N(128, uint32_t, PTXBENCH_B32, 32, 32, 33, 34, 35, 36, 37, 38, 39)
PTXBENCH_N(136, uint32_t, PTXBENCH_B32, 34, 34, 35, 36, 37, 38, 39, 40, 41)
PTXBENCH_N(144, uint32_t, PTXBENCH_B32, 36, 36, 37, 38, 39, 40, 41, 42, 43)
PTXBENCH_N(152, uint32_t, PTXBENCH_B32, 38, 38, 39, 40, 41, 42, 43, 44, 45)
PTXBENCH_N(160, uint32_t, PTXBENCH_B32, 40, 40, 41, 42, 43, 44, 45, 46, 47)
PTXBENCH_N(168, uint32_t, PTXBENCH_B32, 42, 42, 43, 44, 45, 46, 47, 48, 49)
PTXBENCH_N(176, uint32_t, PTXBENCH_B32, 44, 44, 45, 46, 47, 48, 49, 50, 51)
PTXBENCH_N(184, uint32_t, PTXBENCH_B32, 46, 46, 47, 48, 49, 50, 51, 52, 53)
PTXBENCH_N(192, uint32_t, PTXBENCH_B32, 48, 48, 49, 50, 51, 52, 53, 54, 55)
PTXBENCH_N(200, uint32_t, PTXBENCH_B32, 50, 50, 51, 52, 53, 54, 55, 56, 57)
PTXBENCH_N(208, uint32_t, PTXBENCH_B32, 52, 52, 53, 54, 55, 56, 57, 58, 59)
PTXBENCH_N(216, uint32_t, PTXBENCH_B32, 54, 54, 55, 56, 57, 58, 59, 60, 61)
PTXBENCH_N(224, uint32_t, PTXBENCH_B32, 56, 56, 57, 58, 59, 60, 61, 62, 63)
PTXBENCH_N(232, uint32_t, PTXBENCH_B32, 58, 58, 59, 60, 61, 62, 63, 64, 65)
PTXBENCH_N(240, uint32_t, PTXBENCH_B32, 60, 60, 61, 62, 63, 64, 65, 66, 67)
PTXBENCH_N(248, uint32_t, PTXBENCH_B32, 62, 62, 63, 64, 65, 66, 67, 68, 69)
PTXBENCH_N(256, uint32_t, PTXBENCH_B32, 64, 64, 65, 66, 67, 68, 69, 70, 71)
PTXBENCH_N(8, int, PTXBENCH_B32, 4, 4, 5, 6, 7, 8, 9, 10, 11)
PTXBENCH_N(16, int, PTXBENCH_B32, 8, 8, 9, 10, 11, 12, 13, 14, 15)
PTXBENCH_N(24, int, PTXBENCH_B32, 12, 12, 13, 14, 15, 16, 17, 18, 19)
PTXBENCH_N(32, int, PTXBENCH_B32, 16, 16, 17, 18, 19, 20, 21, 22, 23)
PTXBENCH_N(48, int, PTXBENCH_B32, 24, 24, 25, 26, 27, 28, 29, 30, 31)
PTXBENCH_N(64, int, PTXBENCH_B32, 32, 32, 33, 34, 35, 36, 37, 38, 39)
PTXBENCH_N(80, int, PTXBENCH_B32, 40, 40, 41, 42, 43, 44, 45, 46, 47)
PTXBENCH_N(96, int, PTXBENCH_B32, 48, 48, 49, 50, 51, 52, 53, 54, 55)
PTXBENCH_N(112, int, PTXBENCH_B32, 56, 56, 57, 58, 59, 60, 61, 62, 63)
PTXBENCH_N(128, int, PTXBENCH_B32, 64, 64, 65, 66, 67, 68, 69, 70, 71)
PTXBENCH_N(144, int, PTXBENCH_B32, 72, 72, 73, 74, 75, 76, 77, 78, 79)
PTXBENCH_N(160, int, PTXBENCH_B32, 80, 80, 81, 82, 83, 84, 85, 86, 87)
PTXBENCH_N(176, int, PTXBENCH_B32, 88, 88, 89, 90, 91, 92, 93, 94, 95)
PTXBENCH_N(192, int, PTXBENCH_B32, 96, 96, 97, 98, 99, 100, 101, 102, 103)
PTXBENCH_N(208, int, PTXBENCH_B32, 104, 104, 105, 106, 107, 108, 109, 110, 111)
PTXBENCH_N(224, int, PTXBENCH_B32, 112, 112, 113, 114, 115, 116, 117, 118, 119)
PTXBENCH_N(240, int, PTXBENCH_B32, 120, 120, 121, 122, 123, 124, 125, 126, 127)
PTXBENCH_N(256, int, PTXBENCH_B32, 128, 128, 129, 130, 131, 132, 133, 134, 135)
// clang-format on
#undef PTXBENCH_N
#undef PTXBENCH_F32
#undef PTXBENCH_B32

} // namespace ptxbench::detail

#endif
