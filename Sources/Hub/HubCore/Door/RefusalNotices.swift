import HubStore
import HubWire
import Logging
import ZeroMQ

/// Reports refused messages to the owner's listeners (R17.1): the program gets the reason in its answers, its author gets it here.
struct RefusalNotices {
    /// Limits the reports about a program that sends only invalid messages; the program itself gets every answer.
    private var bucket = TokenBucket(size: 20, rate: 5, now: 0)

    /// The text to publish now; `nil` if the news is only counted.
    mutating func text(_ text: String, at now: Int64) -> String? {
        guard bucket.take(at: now) else { return nil }
        let omitted = bucket.takeRefused()
        return omitted > 0 ? "\(text) (and \(omitted) such answers before it)" : text
    }

    /// The rejected records of a batch in words; `nil` if there are none.
    static func words(_ results: [StoreResult]) -> String? {
        var (count, first) = (0, [String]())
        for (place, result) in results.enumerated() {
            guard case .rejected(let rejection) = result else { continue }
            count += 1
            if first.count < most { first.append("records[\(place)]: \(rejection.code): \(cut(rejection.reason))") }
        }
        guard count > 0 else { return nil }
        let more = count > most ? ["and \(count - most) more"] : []
        return "\(count) of \(results.count) records were rejected: \((first + more).joined(separator: "; "))"
    }

    /// An ERROR in words; `nil` if the program did not cause it.
    static func words(_ error: WireError) -> String? {
        switch error.code {
        case .helloFirst, .replaced, .store, .stopping, .busy, .internal: nil
        default: "was answered ERROR \(error.code): \(cut(error.reason))"
        }
    }

    /// Maximum number of records of a batch that are named.
    private static let most = 3
    private static func cut(_ text: String) -> String { text.count > 300 ? "\(text.prefix(300))…" : text }
}

extension Door {
    /// Publishes the rejected records of a batch, if there are any.
    func reportRejection(_ results: [StoreResult], of instance: String) {
        if let words = RefusalNotices.words(results) { tell(refused: words, of: instance) }
    }

    /// Publishes an ERROR that is sent to a session.
    func tell(_ error: WireError, to peer: RoutingID) {
        guard let client = clients[peer], let words = RefusalNotices.words(error) else { return }
        tell(refused: words, of: client.hello.instance)
    }

    private func tell(refused words: String, of instance: String) {
        guard let text = refusals.text(words, at: now) else { return }
        publish(PluginNotices(instance: instance, word: "refused", text: text, level: .info, isNotice: false))
    }
}
