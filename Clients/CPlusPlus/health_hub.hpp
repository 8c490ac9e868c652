// A client of the health hub for C++17, over the library for C: put health_hub.h beside this file. In one file of the
// program `#define HEALTH_HUB_IMPLEMENTATION` comes before the include: c++ -std=c++17 program.cpp -lzmq -lm
//
// Records are JSON texts with the members of Docs/Samples.md; the hub's answers are views of its JSON, which last for
// the call. A refusal of the hub is an Error; an exception of a callback leaves the call that made the callback. One
// thread uses a Hub. Nothing is kept on disk: if a call did not return, give its records again, which is harmless.
#ifndef HEALTH_HUB_HPP
#define HEALTH_HUB_HPP

#if __has_include("health_hub.h")
#include "health_hub.h"
#else
#include "../C/health_hub.h"
#endif
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace health_hub {

// `code` is the hub's (Protocol §9.1), or `protocol` if its answer was invalid.
struct Error : std::runtime_error {
    std::string code, reason;
    Error(std::string code_, std::string reason_)
        : std::runtime_error(code_ + ": " + reason_), code(std::move(code_)), reason(std::move(reason_)) {}
};

// Thrown by `deliver` of a sink if its target is away: the hub pauses the subscription for this many seconds
// (0.1 to 604,800). Then all records of the delivery come again.
struct Pause : std::runtime_error {
    double seconds;
    explicit Pause(double seconds_, const std::string &reason = "the target is away") : std::runtime_error(reason), seconds(seconds_) {}
};

// A view of JSON that another object owns. An empty view is false.
struct Json {
    hh_text text{nullptr, 0};

    Json() = default;
    Json(hh_text text_) : text(text_) {}
    Json(std::string_view view) : text{view.data(), view.size()} {}
    explicit operator bool() const { return text.data != nullptr; }
    std::string_view view() const { return text.data ? std::string_view(text.data, text.size) : std::string_view(); }
    Json operator[](const char *member) const { return hh_get(text, member); }

    std::vector<Json> elements() const {
        std::vector<Json> all;
        hh_text element;
        for (std::size_t place = 0; hh_next(text, &place, &element);) all.push_back(element);
        return all;
    }
    std::optional<long long> integer() const {
        long long number;
        return hh_integer(text, &number) ? std::optional(number) : std::nullopt;
    }
    std::optional<std::string> string() const {
        hh_buffer buffer{nullptr, 0, 0};
        std::optional<std::string> result;
        if (hh_string(text, &buffer)) result.emplace(buffer.data, buffer.size);
        std::free(buffer.data);
        return result;
    }
};

// A session with the hub, through its restarts; hh_options has its address.
class Hub {
public:
    explicit Hub(const hh_options &options = {}) : hub_(hh_open(&options)), owns_(true) { check(*hh_code(hub_) ? -1 : 0); }
    explicit Hub(hh_hub *hub) : hub_(hub), owns_(false) {}
    ~Hub() {
        if (owns_) hh_close(hub_);
    }
    Hub(const Hub &) = delete;
    Hub &operator=(const Hub &) = delete;

    Json welcome() {
        Json body = hh_welcome(hub_);
        check(body.text.size ? 0 : -1);
        return body;
    }
    bool isStopping() const { return hh_is_stopping(hub_) != 0; }

    // Returns when the hub has them on its disk: a JSON object for each, in their order (see hh_give).
    std::vector<std::string> give(const std::vector<std::string> &records, bool isBackfill = false) {
        std::vector<hh_text> texts;
        for (const std::string &record : records) texts.push_back({record.data(), record.size()});
        std::vector<std::string> results;
        check(hh_give(hub_, texts.data(), texts.size(), isBackfill,
            [](void *user, std::size_t, hh_text json) { static_cast<std::vector<std::string> *>(user)->emplace_back(json.data, json.size); }, &results));
        return results;
    }

    // Records, or intervals of statistics, over all pages of a question (Protocol §8.1), a JSON object.
    void ask(const std::string &question, const std::function<void(Json)> &take) {
        Call<void(Json)> call{take, nullptr};
        int result = hh_ask(hub_, question.c_str(), [](void *user, std::size_t, hh_text json) {
            auto *call = static_cast<Call<void(Json)> *>(user);
            call->run([&] { call->function(json); });
        }, &call);
        call.rethrow();
        check(result);
    }

    // As hh_follow: `take(record, place)`, without a record if all must be deleted; it returns whether to go on.
    void follow(const std::optional<std::string> &types, const std::optional<std::string> &place,
                const std::function<bool(Json, const std::string &)> &take) {
        Call<bool(Json, const std::string &)> call{take, nullptr};
        int result = hh_follow(hub_, types ? types->c_str() : nullptr, place ? place->c_str() : nullptr,
            [](void *user, hh_text record, const char *at) {
                auto *call = static_cast<Call<bool(Json, const std::string &)> *>(user);
                bool goesOn = false;
                call->run([&] { goesOn = call->function(record, at); });
                return goesOn ? 0 : 1;
            }, &call);
        call.rethrow();
        check(result);
    }

    // LIVE and EVENT, with their bodies as JSON objects (Protocol §5.2). They have no answer and are not kept: after the first
    // session, for which the calls wait, they return false if the hub is away.
    bool live(const std::string &body) { return said(hh_live(hub_, body.c_str())); }
    bool event(const std::string &body) { return said(hh_event(hub_, body.c_str())); }

    // TOKEN and TOKEN-PUT (Protocol §11), see hh_token; the answer lasts until the next question.
    Json token(const std::string &body) { return answered(hh_token(hub_, body.c_str())); }
    Json putToken(const std::string &body) { return answered(hh_put_token(hub_, body.c_str())); }

    // A subscription that the hub remembers (Protocol §10.1). serve() calls `deliver` with records; it returns a JSON object
    // for each, such as {"result":"delivered"}. A Pause that it throws stops the deliveries for a while, anything else is a
    // retry of these records a minute later.
    void sink(const std::string &want, std::function<std::vector<std::string>(const std::vector<Json> &)> deliver) {
        sinks_.push_back(std::move(deliver));
        hh_sink(hub_, want.c_str(), [](void *user, hh_text records, hh_buffer *results) {
            auto &deliver = *static_cast<std::function<std::vector<std::string>(const std::vector<Json> &)> *>(user);
            std::vector<Json> all = Json(records).elements();
            std::vector<std::string> answers;
            try {
                answers = deliver(all);
            } catch (const Pause &pause) {
                hh_print(results, "{\"pause\":%.0f,\"reason\":", std::ceil(std::max(0.1, pause.seconds) * 1000));
                hh_quote(results, pause.what());
                return hh_put(results, "}", 1);
            } catch (const std::exception &error) {
                answers.assign(all.size(), R"({"result":"retry","after":60000,"reason":"the program failed"})");
            }
            std::string text;
            for (const std::string &answer : answers) text += (text.empty() ? "[" : ",") + answer;
            text += "]";
            hh_put(results, text.data(), text.size());
        }, &sinks_.back());
        check(*hh_code(hub_) ? -1 : 0);
    }

    // serve() calls `carry` with arguments, and whether to change nothing; it returns a JSON value. An exception is the failure.
    void command(const std::string &name, std::function<std::string(Json, bool)> carry) {
        commands_.push_back(std::move(carry));
        hh_command(hub_, name.c_str(), [](void *user, hh_text args, int isDryRun, hh_buffer *answer) {
            auto &carry = *static_cast<std::function<std::string(Json, bool)> *>(user);
            std::string text;
            int result = 0;
            try {
                text = carry(args, isDryRun != 0);
            } catch (const std::exception &error) {
                text = error.what();
                result = -1;
            }
            hh_put(answer, text.data(), text.size());
            return result;
        }, &commands_.back());
    }

    // Delivers and carries out commands until the hub stops this plugin, or for `seconds` if that is not negative.
    void serve(double seconds = -1) { check(hh_serve(hub_, seconds)); }

private:
    // An exception does not pass through C.
    template <class Function> struct Call {
        const std::function<Function> &function;
        std::exception_ptr error;
        template <class Body> void run(Body body) {
            if (error) return;
            try {
                body();
            } catch (...) {
                error = std::current_exception();
            }
        }
        void rethrow() {
            if (error) std::rethrow_exception(error);
        }
    };

    bool said(int isSaid) {
        if (!isSaid) check(*hh_code(hub_) ? -1 : 0);
        return isSaid != 0;
    }
    Json answered(hh_text answer) {
        check(answer.data ? 0 : -1);
        return answer;
    }
    void check(int result) {
        if (result != 0) throw Error(hh_code(hub_), hh_reason(hub_));
    }

    hh_hub *hub_;
    bool owns_;
    std::list<std::function<std::vector<std::string>(const std::vector<Json> &)>> sinks_;
    std::list<std::function<std::string(Json, bool)>> commands_;
};

// The main function of a program that the hub starts (Protocol §13); returns its exit code. `objections` returns the
// faults of settings, as JSON objects with commas between them: {"setting":"file","reason":"…"},…
inline int plugin(int argc, char **argv, const std::string &manifest, std::function<void(Hub &)> run,
                  std::function<std::string(Json)> objections = nullptr) {
    static std::function<void(Hub &)> runs;
    static std::function<std::string(Json)> objects;
    runs = std::move(run);
    objects = std::move(objections);
    return hh_plugin(argc, argv, manifest.c_str(), [](hh_hub *hub) {
        try {
            Hub session(hub);
            runs(session);
        } catch (const Error &error) {
            if (!*hh_code(hub)) std::fprintf(stderr, "%s\n", error.what());
            return *hh_code(hub) ? 0 : 1; // hh_plugin prints the hub's refusal
        } catch (const std::exception &error) {
            std::fprintf(stderr, "%s\n", error.what());
            return 1;
        }
        return 0;
    }, [](hh_text settings, hh_buffer *buffer) {
        std::string text = objects ? objects(settings) : "";
        hh_put(buffer, text.data(), text.size());
    });
}

} // namespace health_hub
#endif
