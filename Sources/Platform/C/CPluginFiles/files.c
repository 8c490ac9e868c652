// The files that hub plugin new writes, embedded as they are in this repository at build time: the program needs no other file beside it.
//
// This uses #embed and not the resources of SwiftPM. SwiftPM turns resources into lists of numbers in Swift, which take half a minute to
// compile. The client libraries exist only once, below Clients/, and resources would need links to them.
#include "CPluginFiles.h"
#include <string.h>

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char client_python_init[] = {
#embed "../../../../Clients/Python/health_hub/__init__.py"
};
static const unsigned char client_python_aio[] = {
#embed "../../../../Clients/Python/health_hub/_aio.py"
};
static const unsigned char client_python_core[] = {
#embed "../../../../Clients/Python/health_hub/_core.py"
};
static const unsigned char client_python_plugin[] = {
#embed "../../../../Clients/Python/health_hub/_plugin.py"
};
static const unsigned char client_python_spool[] = {
#embed "../../../../Clients/Python/health_hub/_spool.py"
};
static const unsigned char client_python_sync[] = {
#embed "../../../../Clients/Python/health_hub/_sync.py"
};
static const unsigned char client_python_wire[] = {
#embed "../../../../Clients/Python/health_hub/_wire.py"
};
static const unsigned char client_health_hub_rb[] = {
#embed "../../../../Clients/Ruby/health_hub.rb"
};
static const unsigned char client_healthhub_php[] = {
#embed "../../../../Clients/PHP/HealthHub.php"
};
static const unsigned char client_healthhub_pm[] = {
#embed "../../../../Clients/Perl/HealthHub.pm"
};
static const unsigned char template_package_swift_in[] = {
#embed "Templates/Package.swift.in"
};
static const unsigned char template_plugin_sh[] = {
#embed "Templates/plugin.sh"
};
static const unsigned char template_readme_sink_md[] = {
#embed "Templates/readme-sink.md"
};
static const unsigned char template_readme_source_md[] = {
#embed "Templates/readme-source.md"
};
static const unsigned char template_sample_sink_conf[] = {
#embed "Templates/sample-sink.conf"
};
static const unsigned char template_sample_source_conf[] = {
#embed "Templates/sample-source.conf"
};
static const unsigned char template_sink_manifest_json[] = {
#embed "Templates/sink.manifest.json"
};
static const unsigned char template_sink_php[] = {
#embed "Templates/sink.php"
};
static const unsigned char template_sink_pl[] = {
#embed "Templates/sink.pl"
};
static const unsigned char template_sink_py[] = {
#embed "Templates/sink.py"
};
static const unsigned char template_sink_rb[] = {
#embed "Templates/sink.rb"
};
static const unsigned char template_sink_sh[] = {
#embed "Templates/sink.sh"
};
static const unsigned char template_sink_swift_in[] = {
#embed "Templates/sink.swift.in"
};
static const unsigned char template_source_manifest_json[] = {
#embed "Templates/source.manifest.json"
};
static const unsigned char template_source_php[] = {
#embed "Templates/source.php"
};
static const unsigned char template_source_pl[] = {
#embed "Templates/source.pl"
};
static const unsigned char template_source_py[] = {
#embed "Templates/source.py"
};
static const unsigned char template_source_rb[] = {
#embed "Templates/source.rb"
};
static const unsigned char template_source_sh[] = {
#embed "Templates/source.sh"
};
static const unsigned char template_source_swift_in[] = {
#embed "Templates/source.swift.in"
};
static const unsigned char template_test_sink_conf[] = {
#embed "Templates/test-sink.conf"
};
static const unsigned char template_test_source_conf[] = {
#embed "Templates/test-source.conf"
};
static const unsigned char template_workflow_yml[] = {
#embed "Templates/workflow.yml"
};
static const unsigned char template_python_gitignore[] = {
#embed "Templates/python.gitignore"
};
static const unsigned char template_python_requirements_txt[] = {
#embed "Templates/python.requirements.txt"
};
static const unsigned char template_swift_gitignore[] = {
#embed "Templates/swift.gitignore"
};

static const struct plugin_file files[] = {
    {"Clients/Python/health_hub/__init__.py", client_python_init, sizeof client_python_init},
    {"Clients/Python/health_hub/_aio.py", client_python_aio, sizeof client_python_aio},
    {"Clients/Python/health_hub/_core.py", client_python_core, sizeof client_python_core},
    {"Clients/Python/health_hub/_plugin.py", client_python_plugin, sizeof client_python_plugin},
    {"Clients/Python/health_hub/_spool.py", client_python_spool, sizeof client_python_spool},
    {"Clients/Python/health_hub/_sync.py", client_python_sync, sizeof client_python_sync},
    {"Clients/Python/health_hub/_wire.py", client_python_wire, sizeof client_python_wire},
    {"Clients/Ruby/health_hub.rb", client_health_hub_rb, sizeof client_health_hub_rb},
    {"Clients/PHP/HealthHub.php", client_healthhub_php, sizeof client_healthhub_php},
    {"Clients/Perl/HealthHub.pm", client_healthhub_pm, sizeof client_healthhub_pm},
    {"Package.swift.in", template_package_swift_in, sizeof template_package_swift_in},
    {"plugin.sh", template_plugin_sh, sizeof template_plugin_sh},
    {"readme-sink.md", template_readme_sink_md, sizeof template_readme_sink_md},
    {"readme-source.md", template_readme_source_md, sizeof template_readme_source_md},
    {"sample-sink.conf", template_sample_sink_conf, sizeof template_sample_sink_conf},
    {"sample-source.conf", template_sample_source_conf, sizeof template_sample_source_conf},
    {"sink.manifest.json", template_sink_manifest_json, sizeof template_sink_manifest_json},
    {"sink.php", template_sink_php, sizeof template_sink_php},
    {"sink.pl", template_sink_pl, sizeof template_sink_pl},
    {"sink.py", template_sink_py, sizeof template_sink_py},
    {"sink.rb", template_sink_rb, sizeof template_sink_rb},
    {"sink.sh", template_sink_sh, sizeof template_sink_sh},
    {"sink.swift.in", template_sink_swift_in, sizeof template_sink_swift_in},
    {"source.manifest.json", template_source_manifest_json, sizeof template_source_manifest_json},
    {"source.php", template_source_php, sizeof template_source_php},
    {"source.pl", template_source_pl, sizeof template_source_pl},
    {"source.py", template_source_py, sizeof template_source_py},
    {"source.rb", template_source_rb, sizeof template_source_rb},
    {"source.sh", template_source_sh, sizeof template_source_sh},
    {"source.swift.in", template_source_swift_in, sizeof template_source_swift_in},
    {"test-sink.conf", template_test_sink_conf, sizeof template_test_sink_conf},
    {"test-source.conf", template_test_source_conf, sizeof template_test_source_conf},
    {"workflow.yml", template_workflow_yml, sizeof template_workflow_yml},
    {"python.gitignore", template_python_gitignore, sizeof template_python_gitignore},
    {"python.requirements.txt", template_python_requirements_txt, sizeof template_python_requirements_txt},
    {"swift.gitignore", template_swift_gitignore, sizeof template_swift_gitignore},
};

const struct plugin_file *plugin_file_named(const char *name) {
    for (size_t n = 0; n < sizeof files / sizeof *files; n++) {
        if (strcmp(files[n].name, name) == 0) return &files[n];
    }
    return NULL;
}
