// Reads an XML file through expat with handlers that do nothing: expat FILE
#include "common.h"
#include <expat.h>
#include <stdio.h>
#include <time.h>

static long tags;
static void start(void *data, const XML_Char *name, const XML_Char **attributes) { (void)data, (void)name, (void)attributes, tags++; }
static void end(void *data, const XML_Char *name) { (void)data, (void)name; }

int main(int count, char **arguments) {
    if (count != 2) fail("usage: expat FILE");
    FILE *file = fopen(arguments[1], "r");
    if (!file) fail("%s cannot be read", arguments[1]);
    XML_Parser parser = XML_ParserCreate(NULL);
    XML_SetElementHandler(parser, start, end);
    struct timespec begin, done;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    double bytes = 0;
    for (;;) {
        void *buffer = XML_GetBuffer(parser, 1 << 18);
        size_t got = fread(buffer, 1, 1 << 18, file);
        bytes += (double)got;
        if (XML_ParseBuffer(parser, (int)got, got == 0) == XML_STATUS_ERROR) fail("expat: %s", XML_ErrorString(XML_GetErrorCode(parser)));
        if (got == 0) break;
    }
    clock_gettime(CLOCK_MONOTONIC, &done);
    double seconds = (double)(done.tv_sec - begin.tv_sec) + (double)(done.tv_nsec - begin.tv_nsec) / 1e9;
    printf("tags %ld\nmb_per_s %.1f\n", tags, bytes / 1e6 / seconds);
    return 0;
}
