// Writes an Apple Health export with RECORDS records, such as a phone and a watch make: export FILE RECORDS
#include "common.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char *const WATCH =
    " sourceName=\"Anna\xe2\x80\x99s Apple\xc2\xa0Watch\" sourceVersion=\"10.3.1\" device=\"&lt;&lt;HKDevice: 0x30%07lx&gt;, name:Apple Watch, "
    "manufacturer:Apple Inc., model:Watch, hardware:Watch6,2, software:10.3.1, creation date:2024-03-01 06:00:00 +0000&gt;\"";
static const char *const PHONE = " sourceName=\"Anna\xe2\x80\x99s iPhone\" sourceVersion=\"17.3\" device=\"&lt;&lt;HKDevice: 0x30%07lx&gt;, name:iPhone, "
    "manufacturer:Apple Inc., model:iPhone, hardware:iPhone14,5, software:17.3, creation date:2024-03-01 06:00:00 +0000&gt;\"";

static const char *text(time_t seconds) {
    static char buffers[4][32];
    static int next;
    struct tm parts;
    time_t local = seconds + 7200;
    char *buffer = buffers[next++ % 4];
    strftime(buffer, 32, "%Y-%m-%d %H:%M:%S +0200", gmtime_r(&local, &parts));
    return buffer;
}

static void record(FILE *file, const char *type, const char *source, const char *unit, double value, time_t start, int length, const char *children) {
    fprintf(file, " <Record type=\"%s\"", type);
    fprintf(file, source, 0x28f3a00UL + (unsigned long)(start / 600 % 64) * 48);
    if (unit) fprintf(file, " unit=\"%s\"", unit);
    fprintf(file, " creationDate=\"%s\" startDate=\"%s\" endDate=\"%s\"", text(start + length + 8), text(start), text(start + length));
    if (unit) fprintf(file, " value=\"%g\"", value);
    if (children) fprintf(file, ">\n%s </Record>\n", children);
    else fputs("/>\n", file);
}

int main(int count, char **arguments) {
    if (count != 3) fail("usage: export FILE RECORDS");
    FILE *file = fopen(arguments[1], "w");
    if (!file) fail("%s cannot be made", arguments[1]);
    setvbuf(file, NULL, _IOFBF, 1 << 20);
    long records = atol(arguments[2]);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE HealthData [\n<!-- HealthKit Export Version: 13 -->\n<!ELEMENT HealthData (ExportDate,Me,(Record)*)>\n"
          "<!ATTLIST HealthData locale CDATA #REQUIRED>\n]>\n<HealthData locale=\"en_DE\">\n <ExportDate value=\"2026-06-01 09:00:00 +0200\"/>\n"
          " <Me HKCharacteristicTypeIdentifierDateOfBirth=\"1984-05-06\" HKCharacteristicTypeIdentifierBiologicalSex=\"HKBiologicalSexFemale\"/>\n", file);
    // The types follow one after the other, as the phone writes them. Their shares are those of a watch.
    const struct { const char *type, *source, *unit, *children; double value; int share, every, length; } kinds[] = {
        {"HKQuantityTypeIdentifierHeartRate", WATCH, "count/min", "  <MetadataEntry key=\"HKMetadataKeyHeartRateMotionContext\" value=\"1\"/>\n", 60, 38, 97, 0},
        {"HKQuantityTypeIdentifierActiveEnergyBurned", WATCH, "kcal", NULL, 0.137, 22, 151, 60},
        {"HKQuantityTypeIdentifierBasalEnergyBurned", WATCH, "kcal", NULL, 11.43, 12, 301, 300},
        {"HKQuantityTypeIdentifierStepCount", PHONE, "count", NULL, 17, 10, 331, 290},
        {"HKQuantityTypeIdentifierStepCount", WATCH, "count", NULL, 19, 5, 353, 300},
        {"HKQuantityTypeIdentifierDistanceWalkingRunning", PHONE, "km", NULL, 0.0123, 8, 337, 290},
        {"HKQuantityTypeIdentifierEnvironmentalAudioExposure", WATCH, "dBASPL", NULL, 51.2, 3, 1801, 1800},
        {"HKQuantityTypeIdentifierOxygenSaturation", WATCH, "%", "  <MetadataEntry key=\"HKMetadataKeyBarometricPressure\" value=\"100512 Pa\"/>\n", 0.6, 1, 3607, 0},
        {"HKCategoryTypeIdentifierAppleStandHour", WATCH, NULL, NULL, 0, 1, 3600, 3600},
    };
    const time_t end = 1780000000;
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        long number = records * kinds[kind].share / 100;
        for (long done = 0; done < number; done++) {
            time_t start = end - (number - done) * kinds[kind].every;
            if (!kinds[kind].unit) {
                fprintf(file, " <Record type=\"%s\"", kinds[kind].type);
                fprintf(file, WATCH, 0x28f3a00UL);
                fprintf(file, " creationDate=\"%s\" startDate=\"%s\" endDate=\"%s\" value=\"HKCategoryValueAppleStandHourStood\"/>\n",
                    text(start + 3601), text(start), text(start + 3600));
                continue;
            }
            record(file, kinds[kind].type, kinds[kind].source, kinds[kind].unit,
                kinds[kind].value * (1 + (double)(done * 7919 % 613) / 1000), start, kinds[kind].length, kinds[kind].children);
        }
    }
    fputs("</HealthData>\n", file);
    long bytes = ftell(file);
    if (fclose(file)) fail("%s cannot be written", arguments[1]);
    printf("bytes %ld\n", bytes);
    return 0;
}
