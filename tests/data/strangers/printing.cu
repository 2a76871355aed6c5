// SPDX-License-Identifier: Apache-2.0
// printf with every conversion.
#include <cstdint>
#include <cstdio>

extern "C" __global__ void prints(const uint32_t *in, uint32_t *out)
{
    if (threadIdx.x)
        return;
    int n = printf("%d %i %u %x %X %o %c|%5d|%-5d|%05d|%+d|% d|%#x\n", -3, 4, 5u, 0xbeefu, 0xBEEFu, 8u, 'z', 42, 42, 42, 42, 42, 255u);
    n += printf("%f %.3f %e %g %G %8.2f|%-8.1f|%a\n", 1.5, 2.0 / 3, 12345.678, 0.0001, 1e20, 3.14159, 2.5, 1.0);
    n += printf("%s|%10s|%-6s|%.2s|%%\n", "text", "right", "left", "cut");
    n += printf("%lld %llu %ld %lu %hd %hhd %zu %p\n", -5000000000ll, 5000000000ull, -6l, 7ul, (short)-8, (signed char)-9, (size_t)10, (void *)0x1234);
    n += printf("%*d %.*f\n", 6, 7, 2, 1.239);
    float f = 0.1f;
    n += printf("%.9g %d%d%d%d%d%d%d%d%d%d\n", f, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    out[0] = (uint32_t)n;
}
