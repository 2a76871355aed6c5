// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target once on every file of the folders named on the command line, so that the seed
// corpus is a regression test wherever libFuzzer is not.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "cannot open %s\n", path);
        return 1;
    }
    static uint8_t data[8 << 20];
    size_t n = fread(data, 1, sizeof(data), f);
    fclose(f);
    uint8_t *exact = malloc(n ? n : 1); /* exact size, so that a sanitizer sees one byte too far */
    for (size_t i = 0; exact && i < n; i++)
        exact[i] = data[i];
    if (exact)
        LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    return 0;
}

int main(int argc, char **argv)
{
    int files = 0, failed = 0;
    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        if (!dir) {
            fprintf(stderr, "cannot open corpus %s\n", argv[i]);
            return 1;
        }
        for (struct dirent *e; (e = readdir(dir));) {
            if (e->d_name[0] == '.')
                continue;
            char path[4096];
            snprintf(path, sizeof(path), "%s/%s", argv[i], e->d_name);
            failed += replay(path);
            files++;
        }
        closedir(dir);
    }
    printf("replayed %d files\n", files);
    return failed || !files;
}
