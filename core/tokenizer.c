// SPDX-License-Identifier: Apache-2.0
// Byte-level BPE. The vocabulary's strings write each byte as one printable character, so that all
// of them are text; a merge of two tokens is found in one hash table by the pair's numbers, and
// gives its rank and the number of the token it makes.
#include "core/tokenizer.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/tokenizer_split.h"
#include "core/util.h"

enum {
    MAX_FILE = 64 * MIB,
    MAX_TOKENS = 1 << 20,
    MAX_PAIR = 2048, /* bytes of a merge's two tokens */
    MAX_WORD = 1024, /* bytes; a longer word is cut: merging takes the square of it */
};

/* A free slot has made = UINT32_MAX. */
struct merge {
    uint32_t left, right, rank, made;
};

struct tokenizer {
    struct split_rules rules;
    struct merge *merges; /* open addressing */
    uint32_t mask;        /* slots - 1 */
    uint32_t bytes[256];  /* token of each byte */
};

static uint32_t slot_of(const struct tokenizer *t, uint32_t left, uint32_t right)
{
    uint64_t h = ((uint64_t)left << 32 | right) * 0x9e3779b97f4a7c15u;
    uint32_t at = (uint32_t)(h >> 32) & t->mask;
    while (t->merges[at].made != UINT32_MAX &&
           (t->merges[at].left != left || t->merges[at].right != right))
        at = (at + 1) & t->mask;
    return at;
}

/* The printable character that stands for a byte: itself if it is printable Latin-1, else one from
 * U+0100 on, in order. As UTF-8. */
static void byte_text(unsigned byte, char out[3])
{
    unsigned point = 0x100;
    bool own = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xff && byte != 0xad);
    for (unsigned b = 0; b < byte; b++)
        point += !((b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xff && b != 0xad));
    if (own)
        point = byte;
    if (point < 0x80) {
        out[0] = (char)point;
        out[1] = '\0';
    } else {
        out[0] = (char)(0xc0 | point >> 6);
        out[1] = (char)(0x80 | (point & 0x3f));
        out[2] = '\0';
    }
}

/* Number of a token, or UINT32_MAX. */
static uint32_t number_of(const json_t *vocab, const char *token)
{
    const json_t *v = json_object_get(vocab, token);
    json_int_t n = json_is_integer(v) ? json_integer_value(v) : -1;
    return n >= 0 && n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* A merge is "left right" or ["left", "right"]. */
static enum err read_merge(struct tokenizer *t, const json_t *vocab, const json_t *entry,
                           uint32_t rank, struct fault *f)
{
    char text[MAX_PAIR + 1], both[MAX_PAIR + 1];
    const char *left = json_string_value(json_array_get(entry, 0));
    const char *right = json_string_value(json_array_get(entry, 1));
    if (json_is_string(entry) && json_string_length(entry) <= MAX_PAIR) {
        memcpy(text, json_string_value(entry), json_string_length(entry) + 1);
        char *blank = strchr(text, ' ');
        if (blank) {
            *blank = '\0';
            left = text;
            right = blank + 1;
        }
    }
    size_t n = left ? strlen(left) : 0, k = right ? strlen(right) : 0;
    if (!n || !k || n + k > MAX_PAIR)
        return fault_set(f, ERR_INVALID, "cannot read tokenizer: merge %u is not two tokens", rank);
    memcpy(both, left, n);
    memcpy(both + n, right, k + 1);
    struct merge m = {number_of(vocab, left), number_of(vocab, right), rank,
                      number_of(vocab, both)};
    if (m.left == UINT32_MAX || m.right == UINT32_MAX || m.made == UINT32_MAX)
        return fault_set(f, ERR_INVALID,
                         "cannot read tokenizer: merge %u has a token without number", rank);
    struct merge *slot = &t->merges[slot_of(t, m.left, m.right)];
    if (slot->made == UINT32_MAX)
        *slot = m;
    return ERR_NONE;
}

static enum err read_merges(struct tokenizer *t, const json_t *model, struct fault *f)
{
    const json_t *vocab = json_object_get(model, "vocab"),
                 *merges = json_object_get(model, "merges");
    size_t count = json_array_size(merges), slots = 1024, i;
    if (!json_is_object(vocab) || !json_is_array(merges) || json_object_size(vocab) > MAX_TOKENS ||
        count > MAX_TOKENS)
        return fault_set(f, ERR_INVALID,
                         "cannot read tokenizer: no vocab and merges, or more than %d", MAX_TOKENS);
    while (slots < 2 * count)
        slots *= 2;
    t->mask = (uint32_t)(slots - 1);
    t->merges = malloc(slots * sizeof(*t->merges));
    if (!t->merges)
        return fault_set(f, ERR_NO_MEMORY, "cannot read tokenizer");
    memset(t->merges, 0xff, slots * sizeof(*t->merges));
    for (unsigned b = 0; b < 256; b++) {
        char text[3];
        byte_text(b, text);
        t->bytes[b] = number_of(vocab, text);
    }
    enum err e = ERR_NONE;
    json_t *entry;
    json_array_foreach(merges, i, entry)
    {
        e = read_merge(t, vocab, entry, (uint32_t)i, f);
        if (e != ERR_NONE)
            break;
    }
    return e;
}

/* The first pattern found anywhere below "pre_tokenizer". */
static const char *find_pattern(const json_t *v, int depth)
{
    const char *found = json_string_value(json_object_get(json_object_get(v, "pattern"), "Regex"));
    size_t i;
    json_t *entry;
    if (found || depth == 0)
        return found;
    json_array_foreach(json_object_get(v, "pretokenizers"), i, entry)
    {
        found = find_pattern(entry, depth - 1);
        if (found)
            return found;
    }
    return NULL;
}

static struct split_rules rules_of(const json_t *pre_tokenizer)
{
    const char *pattern = find_pattern(pre_tokenizer, 3);
    struct split_rules rules = {.gpt2 = !pattern, .digits = INT_MAX};
    if (pattern)
        rules.digits = strstr(pattern, "\\p{N}{1,3}") ? 3
                       : strstr(pattern, "\\p{N}+")   ? INT_MAX
                                                      : 1;
    return rules;
}

struct tokenizer *tokenizer_parse(const char *text, size_t len, struct fault *f)
{
    json_t *document = json_parse(text, len, f);
    struct tokenizer *t = calloc(1, sizeof(*t));
    const json_t *model = json_object_get(document, "model");
    const char *type = json_string_value(json_object_get(model, "type"));
    enum err e = ERR_NONE;
    if (!document || !t)
        e = document ? fault_set(f, ERR_NO_MEMORY, "cannot read tokenizer") : ERR_INVALID;
    else if (!model || (type && strcmp(type, "BPE") != 0))
        e = fault_set(f, ERR_INVALID, "cannot read tokenizer: its model is not BPE");
    else
        e = read_merges(t, model, f);
    if (e == ERR_NONE)
        t->rules = rules_of(json_object_get(document, "pre_tokenizer"));
    json_decref(document);
    if (e == ERR_NONE)
        return t;
    tokenizer_free(t);
    return NULL;
}

struct tokenizer *tokenizer_load(const char *path, struct fault *f)
{
    struct buf text;
    buf_init(&text, MAX_FILE);
    struct tokenizer *t = NULL;
    if (read_file(path, &text, f) == ERR_NONE)
        t = tokenizer_parse(text.data ? text.data : "", text.len, f);
    buf_release(&text);
    return t;
}

void tokenizer_free(struct tokenizer *t)
{
    if (t)
        free(t->merges);
    free(t);
}

/* Merges the pair of least rank, leftmost first, until there is none. */
static size_t count_word(const struct tokenizer *t, const char *word, size_t len)
{
    uint32_t tokens[MAX_WORD];
    size_t n = len;
    for (size_t i = 0; i < len; i++)
        tokens[i] = t->bytes[(unsigned char)word[i]];
    while (n > 1) {
        const struct merge *best = NULL;
        size_t where = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            const struct merge *m = &t->merges[slot_of(t, tokens[i], tokens[i + 1])];
            if (m->made != UINT32_MAX && (!best || m->rank < best->rank)) {
                best = m;
                where = i;
            }
        }
        if (!best)
            break;
        tokens[where] = best->made;
        memmove(tokens + where + 1, tokens + where + 2, (n - where - 2) * sizeof(*tokens));
        n--;
    }
    return n;
}

int64_t tokenizer_count(const struct tokenizer *t, const char *text, size_t len)
{
    int64_t count = 0;
    for (size_t at = 0; at < len;) {
        size_t n = split_word(&t->rules, text + at, len - at);
        for (size_t done = 0; done < n; done += MAX_WORD)
            count +=
                (int64_t)count_word(t, text + at + done, n - done < MAX_WORD ? n - done : MAX_WORD);
        at += n;
    }
    return count;
}

/* Letters of a word that one token takes, on average, after the first six. */
enum { WORD_LETTERS = 6, MORE_LETTERS = 5 };

int64_t tokenizer_estimate(const char *text, size_t len)
{
    static const struct split_rules rules = {.digits = 1};
    int64_t count = 0;
    for (size_t at = 0; at < len;) {
        size_t n = split_word(&rules, text + at, len - at);
        count++;
        if (n > WORD_LETTERS + 1)
            count += (int64_t)(n - WORD_LETTERS - 1 + MORE_LETTERS - 1) / MORE_LETTERS;
        at += n;
    }
    return count;
}
