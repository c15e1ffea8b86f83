#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void shown_number(const char *start, double value) {
    printf("%s%.17g\n", start, value == 0 ? 0 : value);  // The two zeros are equal.
    fflush(stdout);
}
static void shown_text(const char *start, const char *value) {
    if (!value) { printf("%sNULL\n", start); return; }
    printf("%s\"", start);
    for (; value && *value; value++) {
        if (*value == '\n') printf("\\n");
        else if (*value == '"' || *value == '\\') printf("\\%c", *value);
        else putchar(*value);
    }
    printf("\"\n");
    fflush(stdout);
}
static void shown_whole(const char *start, long long value) {
    printf("%s%lld\n", start, value);
    fflush(stdout);
}
#define shown_for_tests(start, value) _Generic((value), \
    char *: shown_text, const char *: shown_text, float: shown_number, double: shown_number, \
    default: shown_whole)(start, value)
