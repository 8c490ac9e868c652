// The program that Tests/SystemTests/Interop/Programs/clients.py runs with this client library: give, follow, sink, query, calls, or a launched plugin.
#define HEALTH_HUB_IMPLEMENTATION
#include "health_hub.hpp"
#include <iostream>

using health_hub::Hub;
using health_hub::Json;

static const std::string manifest = R"({"name":"conformance-cpp","summary":"Gives weights when it is asked to.","version":"1.0",
    "protocol":[1],"writes":["weight"],"checksSettings":true,
    "settings":[{"name":"label","type":"string","required":true,"help":"Begins the key of each record."}],
    "commands":[{"name":"add","help":"Gives weights.","args":[{"name":"count","type":"integer","minimum":1,"maximum":1000000,
        "required":true,"help":"How many."}]}]})";

static void run(Hub &hub) {
    if (hub.welcome()["settings"]["label"].string() == "gone") std::exit(69);
    hub.command("add", [&hub](Json args, bool) {
        std::string label = hub.welcome()["settings"]["label"].string().value();
        std::vector<std::string> records;
        for (long long n = 0; n < args["count"].integer().value(); n++)
            records.push_back(R"({"type":"weight","unit":"kg","start":"2026-01-05T06:00:00+01:00","value":)" + std::to_string(60 + double(n % 100) / 8)
                + R"(,"key":")" + label + "-" + std::to_string(n) + "\"}");
        int stored = 0;
        for (const std::string &result : hub.give(records)) stored += Json(result)["result"].string() == "stored";
        return "{\"stored\":" + std::to_string(stored) + "}";
    });
    hub.serve();
    std::cerr << "stopped" << std::endl;
}

static void play(const std::string &what, const std::string &argument, const std::optional<std::string> &place) {
    Hub hub;
    if (what == "give") {
        for (std::vector<std::string> records;; records.clear()) {
            for (std::string line; records.size() < std::stoul(argument) && std::getline(std::cin, line);) records.push_back(line);
            if (records.empty()) break;
            std::vector<std::string> results = hub.give(records);
            for (std::size_t n = 0; n < records.size(); n++)
                std::cout << "{\"key\":" << Json(records[n])["key"].view() << "," << results[n].substr(1) << "\n";
            std::cout.flush();
        }
    } else if (what == "follow") {
        hub.follow("[\"" + argument + "\"]", place, [](Json record, const std::string &place) {
            std::cout << "{\"place\":\"" << place << "\",\"record\":" << (record ? record.view() : "null") << "}" << std::endl;
            return true;
        });
    } else if (what == "sink") {
        hub.sink(R"({"want":"all","start":"beginning","types":[")" + argument + "\"]}", [&place](const std::vector<Json> &records) {
            if (place) {
                std::cout << "{\"paused\":" << records.size() << "}" << std::endl;
                throw health_hub::Pause(std::stod(*place));
            }
            std::vector<std::string> results;
            for (Json record : records) {
                std::cout << "{\"record\":" << record.view() << "}\n";
                results.push_back(R"({"result":"delivered","receipt":"line )" + std::to_string(record["number"].integer().value()) + "\"}");
            }
            std::cout.flush();
            return results;
        });
        hub.serve();
    } else if (what == "query") {
        hub.ask(argument, [](Json answer) { std::cout << answer.view() << "\n"; });
    } else if (what == "calls") {
        for (Json call : Json(argument).elements()) {
            std::string name = call.elements()[0].string().value(), body(call.elements()[1].view()), answer;
            try {
                if (name == "live" || name == "event") answer = (name == "live" ? hub.live(body) : hub.event(body)) ? "true" : "false";
                else answer = (name == "token" ? hub.token(body) : hub.putToken(body)).view();
                std::cout << "{\"answer\":" << answer << "}" << std::endl;
            } catch (const health_hub::Error &error) {
                std::cout << "{\"error\":\"" << error.code << "\"}" << std::endl;
            }
        }
    }
}

int main(int argc, char **argv) {
    std::string what = argc > 1 ? argv[1] : "";
    if (what.rfind("--", 0) == 0)
        return health_hub::plugin(argc, argv, manifest, run, [](Json settings) {
            return std::string(settings["label"].string() == "bad" ? R"({"setting":"label","reason":"the label is not to be bad"})" : "");
        });
    try {
        play(what, argc > 2 ? argv[2] : "", argc > 3 ? std::optional<std::string>(argv[3]) : std::nullopt);
        return 0;
    } catch (const health_hub::Error &error) {
        std::cerr << error.what() << std::endl;
        return error.code == "protocol" ? 76 : 77;
    }
}
