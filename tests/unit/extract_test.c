// SPDX-License-Identifier: Apache-2.0
// The shapes in which models answer, and what is taken from each.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/extract.h"
#include "core/limits.h"

#define K "__global__ void k() {}\n"
#define K2 "__global__ void second() {}\n"
#define P "{\"launches\": []}\n"
#define PTX ".version 9.0\n.target sm_90a\n.visible .entry k() { ret; }\n"

struct shape {
    const char *name, *answer;
    enum extract_state state;
    const char *source, *plan; /* NULL: "" */
    size_t blocks;
    bool cut_behind;
};

static const struct shape shapes[] = {
    {"cpp", "```cpp\n" K "```\n", EXTRACT_KERNEL, K, NULL, 1, false},
    {"cuda", "```cuda\n" K "```\n", EXTRACT_KERNEL, K, NULL, 1, false},
    {"c++", "```c++\n" K "```\n", EXTRACT_KERNEL, K, NULL, 1, false},
    {"cu", "```cu\n" K "```\n", EXTRACT_KERNEL, K, NULL, 1, false},
    {"no info", "```\n" K "```\n", EXTRACT_KERNEL, K, NULL, 1, false},
    {"capital letters", "```CUDA C++\n" K "```\n", EXTRACT_KERNEL, K, NULL, 1, false},
    {"a blank behind the info", "```cpp \n" K "```\n", EXTRACT_KERNEL, K, NULL, 1, false},
    {"a tab before the info", "```\tcpp\n" K "```\n", EXTRACT_KERNEL, K, NULL, 1, false},
    {"a file name as info", "```cpp title=\"kernel.cu\"\n" K "```\n", EXTRACT_KERNEL, K, NULL, 1,
     false},
    {"braces as info", "```{.cpp}\n" K "```\n", EXTRACT_KERNEL, K, NULL, 1, false},
    {"a wrong language", "```python\n" K "```\n", EXTRACT_KERNEL, K, NULL, 1, false},
    {"PTX", "```ptx\n" PTX "```\n", EXTRACT_KERNEL, PTX, NULL, 1, false},
    {"CRLF", "```cpp\r\n__global__ void k() {}\r\n```\r\n", EXTRACT_KERNEL,
     "__global__ void k() {}\r\n", NULL, 1, false},
    {"tildes", "~~~cpp\n" K "~~~\n", EXTRACT_KERNEL, K, NULL, 1, false},
    {"four backticks", "````cpp\n" K "````\n", EXTRACT_KERNEL, K, NULL, 1, false},
    {"a longer closing fence", "```cpp\n" K "``````\n", EXTRACT_KERNEL, K, NULL, 1, false},
    {"a closing fence with blanks", "```cpp\n" K "```  \t\n", EXTRACT_KERNEL, K, NULL, 1, false},
    {"no newline at the end", "```cpp\n" K "```", EXTRACT_KERNEL, K, NULL, 1, false},
    {"prose around", "Here it is:\n\n```cpp\n" K "```\nIt should be fast.\n", EXTRACT_KERNEL, K,
     NULL, 1, false},
    {"indented in a list", "1. Do:\n   ```cpp\n   " K "       return;\n   ```\n", EXTRACT_KERNEL,
     K "    return;\n", NULL, 1, false},
    {"indented deeper than allowed", "        ```cpp\n        " K "        ```\n", EXTRACT_KERNEL,
     K, NULL, 1, false},
    {"a line less indented than its fence", "  ```cpp\n" K "  ```\n", EXTRACT_KERNEL, K, NULL, 1,
     false},
    {"two kernels: the last", "```cpp\n" K "```\nBetter:\n```cpp\n" K2 "```\n", EXTRACT_KERNEL, K2,
     NULL, 2, false},
    {"a kernel, then a shell block", "```cpp\n" K "```\n```sh\nnvcc k.cu\n```\n", EXTRACT_KERNEL, K,
     NULL, 2, false},
    {"a kernel, then host code", "```cpp\n" K "```\n```cpp\nint main() {}\n```\n", EXTRACT_KERNEL,
     K, NULL, 2, false},
    {"plan behind", "```cpp\n" K "```\n```json\n" P "```\n", EXTRACT_KERNEL, K, P, 2, false},
    {"plan before", "```json\n" P "```\n```cpp\n" K "```\n", EXTRACT_KERNEL, K, P, 2, false},
    {"plan in capitals", "```cpp\n" K "```\n```JSON\n" P "```\n", EXTRACT_KERNEL, K, P, 2, false},
    {"plan as jsonc", "```cpp\n" K "```\n```jsonc\n" P "```\n", EXTRACT_KERNEL, K, P, 2, false},
    {"plan without info", "```cpp\n" K "```\n```\n  " P "```\n", EXTRACT_KERNEL, K, "  " P, 2,
     false},
    {"an object that is no plan", "```cpp\n" K "```\n```\n{\"a\": 1}\n```\n", EXTRACT_KERNEL, K,
     NULL, 2, false},
    {"two plans: the last", "```json\n{}\n```\n```cpp\n" K "```\n```json\n" P "```\n",
     EXTRACT_KERNEL, K, P, 3, false},
    {"json is no prefix", "```cpp\n" K "```\n```jsonnet\n" P "```\n", EXTRACT_KERNEL, K, NULL, 2,
     false},
    {"a shorter fence is text", "````cpp\n// ```\n```\n" K "````\n", EXTRACT_KERNEL,
     "// ```\n```\n" K, NULL, 1, false},
    {"the other mark is text", "~~~cpp\n```cpp\n" K "```\n~~~\n", EXTRACT_KERNEL,
     "```cpp\n" K "```\n", NULL, 1, false},
    {"inline code is no fence",
     "Use ```__global__``` here.\n```__global__``` too\n```cpp\n" K "```\n", EXTRACT_KERNEL, K,
     NULL, 1, false},
    {"two backticks are no fence", "``cpp\n" K "``\n", EXTRACT_NO_BLOCK, NULL, NULL, 0, false},
    {"a stray fence before", "```\nSo:\n```cpp\n" K "```\n", EXTRACT_KERNEL, K, NULL, 1, false},
    {"an open block before", "```cpp\n" K "\n```cpp\n" K2 "```\n", EXTRACT_KERNEL, K2, NULL, 1,
     false},
    {"thoughts before", "<think>```cpp\n" K "```</think>\n```cpp\n" K2 "```\n", EXTRACT_KERNEL, K2,
     NULL, 1, false},
    {"a kernel only in thoughts", "<think>\n```cpp\n" K "```\n</think>\nSorry.\n", EXTRACT_NO_BLOCK,
     NULL, NULL, 0, false},
    {"thoughts left open by the template", "Hm.\n```\n</think>\n```cpp\n" K "```\n", EXTRACT_KERNEL,
     K, NULL, 1, false},
    {"nothing", "", EXTRACT_NO_BLOCK, NULL, NULL, 0, false},
    {"prose", "I cannot do this.\n", EXTRACT_NO_BLOCK, NULL, NULL, 0, false},
    {"a bare kernel", K, EXTRACT_NO_BLOCK, NULL, NULL, 0, false},
    {"no kernel in the block", "```cpp\nint main() {}\n```\n", EXTRACT_NO_KERNEL, NULL, NULL, 1,
     false},
    {"only a plan", "```json\n" P "```\n", EXTRACT_NO_KERNEL, NULL, NULL, 1, false},
    {"an empty block", "```\n```\n", EXTRACT_NO_KERNEL, NULL, NULL, 1, false},
    {"cut off", "```cpp\n" K, EXTRACT_CUT, NULL, NULL, 0, false},
    {"cut off before the kernel", "```cpp\n#include <cuda_bf16.h>\n// a ring of fo", EXTRACT_CUT,
     NULL, NULL, 0, false},
    {"cut off in a first sketch's successor", "```\nsketch\n```\n```cuda\n#inc", EXTRACT_CUT, NULL,
     NULL, 1, false},
    {"cut off in the closing fence", "```cpp\n" K "``", EXTRACT_CUT, NULL, NULL, 0, false},
    {"cut off before a kernel began", "```cpp\n#include <a>\n", EXTRACT_CUT, NULL, NULL, 0, false},
    {"cut off behind a plan", "```json\n" P "```\n```cpp\n" K, EXTRACT_CUT, NULL, NULL, 1, false},
    {"a kernel, then one cut off", "```cpp\n" K "```\nFaster:\n```cpp\n" K2, EXTRACT_KERNEL, K,
     NULL, 1, true},
    {"a kernel without end, then its plan", "```cpp\n" K "\n```json\n" P "```\n", EXTRACT_CUT, NULL,
     NULL, 1, false},
    {"closed by the other mark", "```cpp\n" K "~~~\n", EXTRACT_CUT, NULL, NULL, 0, false},
    {"closed by a shorter fence", "````cpp\n" K "```\n", EXTRACT_CUT, NULL, NULL, 0, false},
    {"a fence and nothing", "```", EXTRACT_CUT, NULL, NULL, 0, false},
};

static const char *text(const struct buf *b)
{
    return b->len ? b->data : "";
}

static void every_shape(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const struct shape *s = &shapes[i];
        struct extraction x;
        extract(s->answer, strlen(s->answer), &x);
        print_message("%s\n", s->name);
        assert_int_equal(x.state, s->state);
        assert_string_equal(text(&x.source), s->source ? s->source : "");
        assert_string_equal(text(&x.plan), s->plan ? s->plan : "");
        assert_int_equal(x.blocks, s->blocks);
        bool reported = x.cut_behind && x.state == EXTRACT_KERNEL;
        assert_int_equal(reported, s->cut_behind);
        assert_int_equal(*extract_state_text(x.state) == '\0', x.state == EXTRACT_KERNEL);
        extraction_release(&x);
    }
}

static void a_kernel_has_a_ceiling(void **state)
{
    (void)state;
    for (size_t over = 0; over < 2; over++) {
        struct buf answer;
        struct extraction x;
        buf_init(&answer, (size_t)4 * MIB);
        buf_adds(&answer, "```cpp\n" K);
        while (answer.len < strlen("```cpp\n") + LIMIT_SOURCE + over)
            buf_add(&answer, "\n", 1);
        buf_adds(&answer, "```\n");
        extract(answer.data, answer.len, &x);
        assert_int_equal(x.state, over ? EXTRACT_TOO_LARGE : EXTRACT_KERNEL);
        assert_int_equal(x.source.len, over ? 0 : LIMIT_SOURCE);
        extraction_release(&x);
        buf_release(&answer);
    }
}

static void bytes_that_are_no_text_pass_through(void **state)
{
    static const char answer[] = "```cpp\n__global__\0\xff\n```\n";
    struct extraction x;
    (void)state;
    extract(answer, sizeof(answer) - 1, &x);
    assert_int_equal(x.state, EXTRACT_KERNEL);
    assert_int_equal(x.source.len, 13);
    extraction_release(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape),
        cmocka_unit_test(a_kernel_has_a_ceiling),
        cmocka_unit_test(bytes_that_are_no_text_pass_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
