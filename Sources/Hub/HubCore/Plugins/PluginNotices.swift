import HubWire
import Logging
import Samples

/// News about a plugin, in words: for its log, the hub's log, and the feed.
struct PluginNotices: Sendable {
    let instance: String
    /// A word of `hub status`, or the event.
    let word: String
    /// The text that follows the instance's name.
    let text: String
    let level: Logger.Level
    /// Whether a person should know.
    let isNotice: Bool

    init(instance: String, news: InstanceLifecycle.News) {
        self.instance = instance
        switch news {
        case .running: (word, text, level, isNotice) = ("runs", "has greeted the hub", .info, false)
        case .healthy: (word, text, level, isNotice) = ("is well", "has been well for a while", .debug, false)
        case .restarting(let pause, let fault):
            (word, text, level, isNotice) = (
                "ended", "\(fault.text); it is started again in \(pause.seconds)", .warning, false
            )
        case .quarantined(let crashes, let fault):
            (word, text, level, isNotice) = (
                "quarantined",
                "\(fault.text), \(crashes) crashes in a row: it is not started any more until hub release \(instance)",
                .error, true
            )
        case .failed(let pause, let fault):
            (word, text, level, isNotice) = (
                "failed", "\(fault.text): \(fault.remedy(for: instance)) (it is tried again in \(pause.seconds))",
                .error,
                true
            )
        case .finished: (word, text, level, isNotice) = ("finished", "ended: all its work is done", .info, false)
        case .resting:
            (word, text, level, isNotice) = ("rests", "ended: nothing waits for it for now", .info, false)
        case .stopped: (word, text, level, isNotice) = ("stopped", "was ended", .info, false)
        }
    }

    init(instance: String, word: String, text: String, level: Logger.Level, isNotice: Bool) {
        (self.instance, self.word, self.text, self.level, self.isNotice) = (instance, word, text, level, isNotice)
    }
}

extension InstanceFault {
    /// The correction for a person, with the command.
    func remedy(for instance: String) -> String {
        switch kind {
        case .crash, .temporary: "see why with hub logs \(instance)"
        case .hopeless(.settings):
            "see hub logs \(instance), correct [plugin.\(instance)] of hub.conf, then hub apply"
        case .hopeless(.program): "install a version of its program that works, then hub release \(instance)"
        case .hopeless(.refusal): "see hub logs \(instance); when that is mended, hub release \(instance)"
        }
    }
}

/// A notice for a person, on `hub/notice/`.
struct NoticeBody: Encodable {
    var level, subject: String
    var instance: String?
    var text, time: String
}

private struct PluginBody: Encodable {
    var instance, event, text, time: String
}

extension Feeds {
    /// Publishes news of a plugin on `hub/plugin/`, and on `hub/notice/` too if a person should know.
    func publish(_ news: PluginNotices) {
        let text = "\(news.instance) \(news.text)"
        let body = PluginBody(instance: news.instance, event: news.word, text: text, time: facts.clock.time.text)
        announce(.plugin, RawJSON(encoding: body), to: .owner)
        if news.isNotice { announce(text, news.level, about: "plugin", of: news.instance) }
    }

    /// Publishes a notice for a person.
    func announce(_ text: String, _ level: Logger.Level, about subject: String, of instance: String? = nil) {
        let body = NoticeBody(
            level: level.rawValue, subject: subject, instance: instance, text: text, time: facts.clock.time.text)
        announce(.notice, RawJSON(encoding: body), to: .owner)
    }
}
