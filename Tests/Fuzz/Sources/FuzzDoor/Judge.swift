import HTTPTypes
import Hummingbird
import JSON
import NIOCore
import PhonePayloads
import Platform
import PluginKit

/// Checks the answers against Docs/Phones.md.
struct Judge {
    struct Answer {
        var status: Int
        var fields: HTTPFields
        var body: [UInt8]
        /// The number of bytes that were read of the body.
        var read: Int
    }

    let input: Input
    let head: HTTPRequest?
    let sent: [UInt8]
    let clock: HubClock

    private static let statuses: Set<Int> = [200, 201, 204, 400, 401, 403, 404, 405, 408, 413, 415, 422, 429, 503]
    /// The maximum for a hundred refusals, a hundred omissions and the rest of the answer.
    private static let mostAnswer = 200 * 1_024

    func check(_ answer: Answer, _ hub: StandInHub.Counts, turn: Int) {
        guard let head else { return }
        demand(Self.statuses.contains(answer.status), "the status \(answer.status)")
        demand(answer.body.count <= Self.mostAnswer, "an answer of \(answer.body.count) bytes")
        demand(
            answer.fields[.cacheControl] == "no-store" && answer.fields[.xContentTypeOptions] == "nosniff",
            "the answer may be cached")
        demand(head.method != .head || answer.body.isEmpty, "the answer to HEAD has a body")
        demand(answer.status != 204 || answer.body.isEmpty, "the answer 204 has a body")
        demand(![429, 503].contains(answer.status) || answer.fields[.retryAfter] != nil, "no Retry-After")
        demand(answer.status != 405 || answer.fields[.allow] != nil, "no Allow")
        for event in hub.events { demand(!event.contains(Scene.secret), "an event contains a token") }
        let place = PostEndpoint(Request.path(of: head))
        let isLogIn = if case .login? = place { [200, 201].contains(answer.status) } else { false }
        demand(isLogIn || !answer.body.contains(Scene.secret), "the answer contains a token")
        let isPage = answer.fields[.contentType]?.hasPrefix("text/html") ?? false
        let tree = JSONTree(answer.body)
        demand(isPage || answer.body.isEmpty || tree != nil, "the answer is not JSON")
        // If the head was refused, nothing of the body is read.
        if [401, 404, 405].contains(answer.status) { demand(answer.read == 0, "\(answer.status) after reading") }
        demand(
            answer.read <= max(Scene.maximumBytes + input.piece, 4_096 + input.piece),
            "more bytes were read than the limit")
        demand(
            (200...204).contains(answer.status) || [422, 503].contains(answer.status) || hub.stored == 0,
            "records were stored, but the answer is \(answer.status)")
        let report = tree.flatMap { $0["report"] ?? $0 }
        guard answer.status == 200 || answer.status == 422, !isPage, case .ingest? = place, let report else { return }
        check(report, hub, answer, place!, turn)
    }

    /// Checks a success: the hub has every record of the body, or the answer names it.
    private func check(
        _ report: JSONTree, _ hub: StandInHub.Counts, _ answer: Answer, _ place: PostEndpoint, _ turn: Int
    ) {
        let body = unpacked
        func count(_ name: String) -> Int {
            if case .number(let digits)? = report[name] { Int(digits) ?? -1 } else { -1 }
        }
        let told = (report["rejected"]?.list?.count ?? -1) + (report["ignored"]?.list?.count ?? -1) + count("more")
        demand(!input.isCut && body.count <= Scene.maximumBytes, "success for a body that is cut or too large")
        demand(count("stored") == hub.stored, "the answer reports another number of stored records than the hub")
        let made = Self.made(body, place.format, head?.headerFields[.grouping], self)
        demand(
            made.records == hub.stored + hub.duplicate + hub.rejected + made.falling(hub, told),
            "a record did not reach the hub")
        demand(told >= made.told + hub.rejected, "the answer omits a refusal")
        // If Health Connect does not distinguish two records, the later one replaces the first.
        if turn > 0, input.hub == .stores, !made.hasTwins {
            demand(hub.stored == 0, "a repeated request stored records again")
        }
        if answer.status == 422 {
            demand(hub.stored == 0 && told > 0, "422 although records were stored, or without a reason")
        }
    }

    private var unpacked: [UInt8] {
        let coding = head?.headerFields[.contentEncoding]
        guard ContentCoding(coding) == .gzip else { return sent }
        let inflater = Inflater(.gzip)
        var room = [UInt8](repeating: 0, count: 65_536)
        let (_, given) = sent.withUnsafeBytes { bytes in
            room.withUnsafeMutableBytes { inflater.inflate(bytes, into: $0) }
        }
        return Array(room[..<given])
    }

    /// The records that a body makes when it is read again.
    struct Made {
        var records = 0
        var told = 0
        /// Whether two records have the same identity.
        var hasTwins = false

        /// The number of past days whose value would decrease: the answer names them, and they are not given.
        func falling(_ hub: StandInHub.Counts, _ told: Int) -> Int {
            max(0, min(records - hub.stored - hub.duplicate - hub.rejected, told - self.told - hub.rejected))
        }
    }

    static func made(
        _ body: [UInt8], _ format: PhoneFormat, _ grouping: String?, _ judge: Judge, isFresh: Bool = true
    ) -> Made {
        var context = PhoneContext(
            plugin: "http-ingest", device: "phone", person: "me", zone: "Europe/Berlin", arrival: judge.clock.now(),
            grouping: grouping)
        context.workoutNames = ["laufen": WorkoutActivity.activity(named: "running")!]
        (context.takesComputed, context.isFresh) = (judge.input.takesComputed, isFresh)
        context.appsSince = judge.input.hadTokens ? Scene.began : 0
        var made = Made()
        var identities: Set<StandInHub.Key> = []
        body.withUnsafeBytes { bytes in
            guard var reader = try? PhoneBody(bytes, format: format, context: context) else {
                fatalError("success for an unreadable body")
            }
            while let piece = reader.next() {
                made.records += piece.records.count + piece.kept.count
                for record in piece.records + piece.kept
                where !identities.insert(StandInHub.key(record.record)).inserted {
                    made.hasTwins = true
                }
                made.told += piece.rejected.count + piece.ignored.count
            }
        }
        return made
    }

    // MARK: - MQTT

    func check(
        _ isDone: Bool, _ topic: BrokerSettings.Topic?, _ message: MQTTClient.Message, _ hub: StandInHub.Counts,
        turn: Int
    ) {
        for event in hub.events { demand(event.utf8.count <= 8_192, "an event is longer than 8,192 bytes") }
        let isHealthy = ![.stopsMeanwhile, .isStopping].contains(input.hub)
        demand(isDone || !isHealthy, "a healthy hub leaves a message unfinished")
        guard isDone, let topic, ["hae", "plain"].contains(topic.format), !message.payload.isEmpty else { return }
        let isSilent = hub.stored + hub.duplicate + hub.rejected == 0 && hub.events.allSatisfy(\.isEmpty)
        guard isSilent else { return }
        // If nothing was stored and no event was sent, the message must have had no records.
        let format: PhoneFormat = topic.format == "hae" ? .healthAutoExport : .plain
        demand(
            Self.made(message.payload, format, nil, self, isFresh: false).records == 0,
            "a message is lost without an event")
    }
}

extension [UInt8] {
    fileprivate func contains(_ text: String) -> Bool {
        String(decoding: self, as: UTF8.self).contains(text)
    }
}

extension Request {
    fileprivate static func path(of head: HTTPRequest) -> String {
        Request(head: head, body: RequestBody(buffer: ByteBuffer())).uri.path
    }
}

/// Ends the process with a description of the fault, also in a release build.
func demand(_ holds: Bool, _ fault: @autoclosure () -> String) {
    if !holds { fatalError(fault()) }
}
