// The schemas of Docs/Schemas that describe the API of hub-web, embedded at build time.
#include "CHealthSchemas.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char common[] = {
#embed "../../../../Docs/Schemas/common.json"
};
static const unsigned char record[] = {
#embed "../../../../Docs/Schemas/record.json"
};
static const unsigned char parts[] = {
#embed "../../../../Docs/Schemas/parts.json"
};
static const unsigned char manifest[] = {
#embed "../../../../Docs/Schemas/manifest.json"
};
static const unsigned char declaration[] = {
#embed "../../../../Docs/Schemas/declaration.json"
};
static const unsigned char setting[] = {
#embed "../../../../Docs/Schemas/setting.json"
};
static const unsigned char answers_account[] = {
#embed "../../../../Docs/Schemas/answers/account.json"
};
static const unsigned char answers_logs[] = {
#embed "../../../../Docs/Schemas/answers/logs.json"
};
static const unsigned char answers_person[] = {
#embed "../../../../Docs/Schemas/answers/person.json"
};
static const unsigned char answers_plugin_status[] = {
#embed "../../../../Docs/Schemas/answers/plugin-status.json"
};
static const unsigned char answers_plugin[] = {
#embed "../../../../Docs/Schemas/answers/plugin.json"
};
static const unsigned char answers_retention[] = {
#embed "../../../../Docs/Schemas/answers/retention.json"
};
static const unsigned char answers_sink[] = {
#embed "../../../../Docs/Schemas/answers/sink.json"
};
static const unsigned char answers_sources[] = {
#embed "../../../../Docs/Schemas/answers/sources.json"
};
static const unsigned char answers_statistics[] = {
#embed "../../../../Docs/Schemas/answers/statistics.json"
};
static const unsigned char answers_status[] = {
#embed "../../../../Docs/Schemas/answers/status.json"
};
static const unsigned char answers_trace[] = {
#embed "../../../../Docs/Schemas/answers/trace.json"
};
static const unsigned char commands_apply[] = {
#embed "../../../../Docs/Schemas/commands/apply.json"
};
static const unsigned char commands_assign[] = {
#embed "../../../../Docs/Schemas/commands/assign.json"
};
static const unsigned char commands_configure[] = {
#embed "../../../../Docs/Schemas/commands/configure.json"
};
static const unsigned char commands_edit[] = {
#embed "../../../../Docs/Schemas/commands/edit.json"
};
static const unsigned char commands_log[] = {
#embed "../../../../Docs/Schemas/commands/log.json"
};
static const unsigned char commands_release[] = {
#embed "../../../../Docs/Schemas/commands/release.json"
};
static const unsigned char commands_replay[] = {
#embed "../../../../Docs/Schemas/commands/replay.json"
};
static const unsigned char commands_restart[] = {
#embed "../../../../Docs/Schemas/commands/restart.json"
};
static const unsigned char commands_retract[] = {
#embed "../../../../Docs/Schemas/commands/retract.json"
};

static const struct health_schema schemas[] = {
    {"common", common, sizeof common},
    {"record", record, sizeof record},
    {"parts", parts, sizeof parts},
    {"manifest", manifest, sizeof manifest},
    {"declaration", declaration, sizeof declaration},
    {"setting", setting, sizeof setting},
    {"account", answers_account, sizeof answers_account},
    {"logs", answers_logs, sizeof answers_logs},
    {"person", answers_person, sizeof answers_person},
    {"plugin-status", answers_plugin_status, sizeof answers_plugin_status},
    {"plugin", answers_plugin, sizeof answers_plugin},
    {"retention", answers_retention, sizeof answers_retention},
    {"sink", answers_sink, sizeof answers_sink},
    {"sources", answers_sources, sizeof answers_sources},
    {"statistics", answers_statistics, sizeof answers_statistics},
    {"status", answers_status, sizeof answers_status},
    {"trace", answers_trace, sizeof answers_trace},
    {"apply", commands_apply, sizeof commands_apply},
    {"assign", commands_assign, sizeof commands_assign},
    {"configure", commands_configure, sizeof commands_configure},
    {"edit", commands_edit, sizeof commands_edit},
    {"log", commands_log, sizeof commands_log},
    {"release", commands_release, sizeof commands_release},
    {"replay", commands_replay, sizeof commands_replay},
    {"restart", commands_restart, sizeof commands_restart},
    {"retract", commands_retract, sizeof commands_retract},
};

const struct health_schema *health_schema_at(size_t index) {
    return index < sizeof schemas / sizeof *schemas ? &schemas[index] : NULL;
}
