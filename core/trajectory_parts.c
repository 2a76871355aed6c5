// SPDX-License-Identifier: Apache-2.0
#include "core/trajectory_parts.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "core/buf.h"

static bool has_nul(const json_t *value)
{
    const char *name;
    const json_t *v;
    size_t i;
    if (json_is_string(value))
        return strlen(json_string_value(value)) != json_string_length(value);
    json_array_foreach(value, i, v) if (has_nul(v)) return true;
    json_object_foreach((json_t *)value, name, v) if (has_nul(v)) return true;
    return false;
}

json_t *trajectory_checked(const json_t *object, const struct json_field *fields, size_t count,
                           const char *path, struct faults *faults)
{
    union {
        const char *text;
        json_t *value;
        int64_t number;
        double real;
    } scratch = {0}; /* of every field: all have offset 0 */
    json_t *copy = json_object();
    for (size_t i = 0; i < count; i++) {
        json_t *v = json_object_get(object, fields[i].name);
        json_object_set(copy, fields[i].name, v ? v : json_null());
        if (!json_is_string(v) && has_nul(v))
            faults_add(faults, json_at(path, fields[i].name).text, "must not hold a NUL");
    }
    json_read(json_is_object(object) ? copy : object, fields, count, &scratch, path, faults);
    return copy;
}

/* The rest of a time behind its date and hour: a fraction, then "Z" or an offset. */
static bool read_rest(const char *s, double *fraction, int *offset_s)
{
    *fraction = 0;
    *offset_s = 0;
    if (*s == '.') {
        double unit = 0.1;
        size_t n = strspn(++s, "0123456789");
        if (!n || n > 9)
            return false;
        for (; n; n--, unit /= 10)
            *fraction += unit * (*s++ - '0');
    }
    if (!strcmp(s, "Z"))
        return true;
    int sign = *s == '-' ? -1 : 1;
    size_t digits = strspn(s + (*s != '\0'), "0123456789");
    if ((*s != '+' && *s != '-') || digits != 2)
        return false;
    int hours = 10 * (s[1] - '0') + s[2] - '0', minutes = 0;
    s += 3;
    if (*s == ':') {
        if (strspn(s + 1, "0123456789") != 2)
            return false;
        minutes = 10 * (s[1] - '0') + s[2] - '0';
        s += 3;
    }
    *offset_s = sign * (hours * 3600 + minutes * 60);
    return !*s && hours <= 14 && minutes < 60;
}

bool trajectory_seconds(const char *text, double *out)
{
    struct tm tm = {0};
    double fraction;
    int offset_s;
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    if (!rest || strspn(text, "0123456789") != 4)
        return false;
    struct tm same = tm; /* the 31st of February would become a day in March */
    time_t seconds = timegm(&same);
    if (same.tm_mday != tm.tm_mday || same.tm_sec != tm.tm_sec || tm.tm_year < 1970 - 1900 ||
        !read_rest(rest, &fraction, &offset_s))
        return false;
    *out = (double)(seconds - offset_s) + fraction;
    return true;
}

json_t *trajectory_time(double seconds)
{
    static const double most = 253402300799; /* the last second of 9999 */
    char text[32];
    struct tm tm;
    if (!(seconds >= 0 && seconds <= most))
        return json_null();
    time_t whole = (time_t)floor(seconds);
    if (!gmtime_r(&whole, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm))
        return json_null();
    return json_sprintf("%s.%06d+00:00", text, (int)((seconds - floor(seconds)) * 1e6));
}

void trajectory_check_time(const json_t *object, const char *name, const char *path,
                           struct faults *faults)
{
    double seconds;
    const char *text = json_string_value(json_object_get(object, name));
    if (text && !trajectory_seconds(text, &seconds))
        faults_add(faults, json_at(path, name).text,
                   "must be a time such as 2026-11-30T09:44:21.5+00:00, not '%.40s'", text);
}

json_t *trajectory_content(const json_t *message, size_t most, const char *path,
                           struct faults *faults)
{
    struct json_path at = json_at(path, "content");
    json_t *content = json_object_get(message, "content"), *text = NULL;
    const json_t *part;
    size_t i;
    struct buf joined;
    if (json_is_string(content) && json_string_length(content) <= most && !has_nul(content))
        return json_incref(content);
    buf_init(&joined, most);
    bool fit = json_is_array(content);
    json_array_foreach(content, i, part)
    {
        const json_t *said = json_object_get(part, "text");
        fit = fit && json_is_string(said) && !has_nul(said);
        buf_adds(&joined, fit ? json_string_value(said) : "");
    }
    if (fit && !joined.failed)
        text = json_stringn(joined.len ? joined.data : "", joined.len);
    buf_release(&joined);
    if (!text)
        faults_add(faults, at.text, "must be text of at most %zu bytes, without NUL", most);
    return text;
}
