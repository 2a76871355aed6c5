// SPDX-License-Identifier: Apache-2.0
// tcgen05.ld and .st once for each number of registers, for tmem.cuh: their operand list is up to 128
// registers long and must be spelt out. Kernels include tmem.cuh.
#ifndef PTXBENCH_TMEM_OPERANDS_CUH
#define PTXBENCH_TMEM_OPERANDS_CUH

#include <cstdint>

namespace ptxbench::detail
{

// Names of the registers in the text (R) and as operands (O), for each count there is.
// clang-format off
#define PTXBENCH_R1 "%0"
#define PTXBENCH_O1(c) c(r[0])
#define PTXBENCH_R2 PTXBENCH_R1 ", %1"
#define PTXBENCH_O2(c) PTXBENCH_O1(c), c(r[1])
#define PTXBENCH_R4 PTXBENCH_R2 ", %2, %3"
#define PTXBENCH_O4(c) PTXBENCH_O2(c), c(r[2]), c(r[3])
#define PTXBENCH_R8 PTXBENCH_R4 ", %4, %5, %6, %7"
#define PTXBENCH_O8(c) PTXBENCH_O4(c), c(r[4]), c(r[5]), c(r[6]), c(r[7])
#define PTXBENCH_R16 PTXBENCH_R8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define PTXBENCH_O16(c) PTXBENCH_O8(c), c(r[8]), c(r[9]), c(r[10]), c(r[11]), c(r[12]), c(r[13]), c(r[14]), c(r[15])
#define PTXBENCH_R32 PTXBENCH_R16 \
    ", %16, %17, %18, %19, %20, %21, %22, %23" \
    ", %24, %25, %26, %27, %28, %29, %30, %31"
#define PTXBENCH_O32(c) PTXBENCH_O16(c), \
    c(r[16]), c(r[17]), c(r[18]), c(r[19]), c(r[20]), c(r[21]), c(r[22]), c(r[23]), \
    c(r[24]), c(r[25]), c(r[26]), c(r[27]), c(r[28]), c(r[29]), c(r[30]), c(r[31])
#define PTXBENCH_R64 PTXBENCH_R32 \
    ", %32, %33, %34, %35, %36, %37, %38, %39" \
    ", %40, %41, %42, %43, %44, %45, %46, %47" \
    ", %48, %49, %50, %51, %52, %53, %54, %55" \
    ", %56, %57, %58, %59, %60, %61, %62, %63"
#define PTXBENCH_O64(c) PTXBENCH_O32(c), \
    c(r[32]), c(r[33]), c(r[34]), c(r[35]), c(r[36]), c(r[37]), c(r[38]), c(r[39]), \
    c(r[40]), c(r[41]), c(r[42]), c(r[43]), c(r[44]), c(r[45]), c(r[46]), c(r[47]), \
    c(r[48]), c(r[49]), c(r[50]), c(r[51]), c(r[52]), c(r[53]), c(r[54]), c(r[55]), \
    c(r[56]), c(r[57]), c(r[58]), c(r[59]), c(r[60]), c(r[61]), c(r[62]), c(r[63])
#define PTXBENCH_R128 PTXBENCH_R64 \
    ", %64, %65, %66, %67, %68, %69, %70, %71" \
    ", %72, %73, %74, %75, %76, %77, %78, %79" \
    ", %80, %81, %82, %83, %84, %85, %86, %87" \
    ", %88, %89, %90, %91, %92, %93, %94, %95" \
    ", %96, %97, %98, %99, %100, %101, %102, %103" \
    ", %104, %105, %106, %107, %108, %109, %110, %111" \
    ", %112, %113, %114, %115, %116, %117, %118, %119" \
    ", %120, %121, %122, %123, %124, %125, %126, %127"
#define PTXBENCH_O128(c) PTXBENCH_O64(c), \
    c(r[64]), c(r[65]), c(r[66]), c(r[67]), c(r[68]), c(r[69]), c(r[70]), c(r[71]), \
    c(r[72]), c(r[73]), c(r[74]), c(r[75]), c(r[76]), c(r[77]), c(r[78]), c(r[79]), \
    c(r[80]), c(r[81]), c(r[82]), c(r[83]), c(r[84]), c(r[85]), c(r[86]), c(r[87]), \
    c(r[88]), c(r[89]), c(r[90]), c(r[91]), c(r[92]), c(r[93]), c(r[94]), c(r[95]), \
    c(r[96]), c(r[97]), c(r[98]), c(r[99]), c(r[100]), c(r[101]), c(r[102]), c(r[103]), \
    c(r[104]), c(r[105]), c(r[106]), c(r[107]), c(r[108]), c(r[109]), c(r[110]), c(r[111]), \
    c(r[112]), c(r[113]), c(r[114]), c(r[115]), c(r[116]), c(r[117]), c(r[118]), c(r[119]), \
    c(r[120]), c(r[121]), c(r[122]), c(r[123]), c(r[124]), c(r[125]), c(r[126]), c(r[127])
#define PTXBENCH_OUT(x) "=r"(x)
#define PTXBENCH_IN(x) "r"(x)

// Numbers as text, for asm operands of the kind "C".
template <int N> struct tmem_number;
#define PTXBENCH_NUMBER(n) template <> struct tmem_number<n> { static constexpr char text[] = #n; };
PTXBENCH_NUMBER(1) PTXBENCH_NUMBER(2) PTXBENCH_NUMBER(4) PTXBENCH_NUMBER(8)
PTXBENCH_NUMBER(16) PTXBENCH_NUMBER(32) PTXBENCH_NUMBER(64) PTXBENCH_NUMBER(128)
#undef PTXBENCH_NUMBER

// R registers, then operands numbered o0 = R, o1 = R + 1, …: the address and four texts. Shape::text is
// "32x32b.x", Shape::number the repetitions, Shape::load and Shape::store "" or how halves are packed,
// Tail::text what follows the address.
template <int R> struct tmem_registers;
#define PTXBENCH_N(R, o0, o1, o2, o3, o4) \
    template <> struct tmem_registers<R> { \
        template <class Shape, class Tail> \
        static __device__ __forceinline__ void load(uint32_t (&r)[R], uint32_t address) \
        { \
            asm volatile("tcgen05.ld.sync.aligned.%" #o1 "%" #o2 "%" #o3 ".b32 {" PTXBENCH_R##R "}, " \
                         "[%" #o0 "]%" #o4 ";" \
                         : PTXBENCH_O##R(PTXBENCH_OUT) \
                         : "r"(address), "C"(Shape::text), "C"(tmem_number<Shape::number>::text), \
                           "C"(Shape::load), "C"(Tail::text) \
                         : "memory"); \
        } \
        template <class Shape, class Tail> \
        static __device__ __forceinline__ void store(uint32_t address, const uint32_t (&r)[R]) \
        { \
            asm volatile("tcgen05.st.sync.aligned.%" #o1 "%" #o2 "%" #o3 ".b32 [%" #o0 "]%" #o4 ", " \
                         "{" PTXBENCH_R##R "};" \
                         : \
                         : PTXBENCH_O##R(PTXBENCH_IN), "r"(address), "C"(Shape::text), \
                           "C"(tmem_number<Shape::number>::text), "C"(Shape::store), "C"(Tail::text) \
                         : "memory"); \
        } \
    };
PTXBENCH_N(1, 1, 2, 3, 4, 5)
PTXBENCH_N(2, 2, 3, 4, 5, 6)
PTXBENCH_N(4, 4, 5, 6, 7, 8)
PTXBENCH_N(8, 8, 9, 10, 11, 12)
PTXBENCH_N(16, 16, 17, 18, 19, 20)
PTXBENCH_N(32, 32, 33, 34, 35, 36)
PTXBENCH_N(64, 64, 65, 66, 67, 68)
PTXBENCH_N(128, 128, 129, 130, 131, 132)
// clang-format on
#undef PTXBENCH_N
#undef PTXBENCH_OUT
#undef PTXBENCH_IN

} // namespace ptxbench::detail

#endif
