import Foundation
import HTTPTypes
import Hummingbird
import JSON
import Logging
import NIOCore
import NIOEmbedded
import PhonePayloads
import Platform
import PluginKit
import Synchronization

/// The door and the messages of a broker, with a plugin state that is emptied for each input.
final class Scene: Sendable {
    static let secret = "a-secret-that-is-no-secret"
    /// The maximum size of an uncompressed post, in bytes.
    static let maximumBytes = 3_000
    /// The time of the plugin's first start, in microseconds since 1970: it is among the times of the seeds.
    static let began: Int64 = 1_770_800_400_000_000

    private let state: PluginState
    private let clock = HubClock(.simulated(start: try! Timestamp(parsing: "2026-02-11T12:00:00Z"), rate: 0.001))
    private let logger = Logger(label: "door") { _ in WatchedLog() }
    /// The visit of an unknown sender, made only once because a channel that is not closed is never released.
    private let visit: PostHandler.PostContext
    private let settings: [Bool: IngestSettings]
    private let tokens: TokenStore
    private let topics: [BrokerSettings.Topic]

    init() {
        // In memory, because durability is not tested here.
        let folder = "/dev/shm/fuzz-door-\(getpid())"
        try? FileManager.default.removeItem(atPath: folder)
        state = try! PluginState(directory: folder)
        visit = PostHandler.PostContext(
            source: ApplicationRequestContextSource(channel: EmbeddedChannel(), logger: logger))
        let hash = Digests.sha256(Self.secret.utf8)
        func settings(computed: Bool) -> IngestSettings {
            try! IngestSettings(
                PluginSettings([
                    "listen": .string("127.0.0.1:1"), "plain_http": .boolean(false), "percent": .string("hundred"),
                    "workout_names": .list([.string("Laufen=running")]), "computed": .boolean(computed),
                    "max_body": .string("\(Self.maximumBytes)B"), "tokens": .list([]),
                    "mqtt": .string("mqtt://127.0.0.1"),
                    "mqtt_topics": .list(
                        ["hae=hae:anna:me", "plain/+=plain:anna:me", "oS/#=openscale:k:me", "scale=ble-scale-sync:b"]
                            .map(SettingValue.string)),
                ]))
        }
        self.settings = [false: settings(computed: false), true: settings(computed: true)]
        topics = self.settings[false]!.broker!.topics
        tokens = TokenStore(
            state,
            declared: [
                PhoneToken(name: "phone", id: "0badcafe", hash: hash, person: "me", made: 0),
                PhoneToken(
                    name: "narrow", id: "0badf00d", hash: hash, person: nil, formats: ["plain", "api"], made: 0),
            ], trusted: topics.map(\.token))
    }

    func play(_ input: Input) async {
        let head = Self.head(input.lines)
        guard input.isMessage || head != nil else { return }
        let hub = StandInHub(input.hub, state: state, clock: clock, logger: logger)
        let settings = settings[input.takesComputed]!
        let intake = Intake(
            hub: hub, settings: settings, memory: IntakeState(state), tokens: tokens, complaints: RefusalReports(hub))
        try! await intake.memory.begin(hasTokens: input.hadTokens, now: Self.began)
        if input.isMessage {
            await message(input, hub, intake)
        } else if let head {
            await request(input, head, hub, intake)
        }
        await empty()
    }

    /// Empties the plugin's state.
    private func empty() async {
        try! await state.transaction { transaction in
            for key in try transaction.keys(prefix: "") { try transaction.set(key, to: nil) }
        }
    }

    // MARK: - HTTP

    private func request(_ input: Input, _ head: HTTPRequest, _ hub: StandInHub, _ intake: Intake) async {
        var limits = IngestLimits()
        (limits.post, limits.forgotten, limits.turn, limits.guess) = (.seconds(5), .seconds(5), .zero, .zero)
        if input.hub == .isAway { (limits.post, limits.forgotten) = (.microseconds(100), .microseconds(100)) }
        let desk = PostHandler(intake: intake, page: PhoneSetupPage(address: "https://hub.example.org"), limits: limits)
        let body = input.isPacked ? Self.packed(input.body) : input.body
        for turn in 0..<(input.isRepeated ? 2 : 1) {
            let pieces = Pieces(body, of: input.piece, isCut: input.isCut)
            let request = Request(head: head, body: RequestBody(asyncSequence: pieces))
            let response = try! await desk.respond(to: request, context: visit)
            let collector = Collector()
            try! await response.body.write(collector)
            let answer = Judge.Answer(
                status: response.status.code, fields: response.headers, body: collector.bytes.withLock { $0 },
                read: pieces.taken.withLock { $0 })
            if input.hub == .isAway {
                hub.release()
                // A post that was answered early ends on another thread, which gives its turn back: wait for that.
                for id in ["0badcafe", "0badf00d"] {
                    while !desk.turns.take(id) { try! await Task.sleep(for: .microseconds(20)) }
                }
                for id in ["0badcafe", "0badf00d"] { desk.turns.releaseSlot(id) }
            }
            Judge(input: input, head: head, sent: body, clock: clock).check(answer, hub.takeCounts(), turn: turn)
            if input.hub == .isAway { return }
        }
    }

    private static func head(_ lines: [String]) -> HTTPRequest? {
        let words = lines[0].split(separator: " ", maxSplits: 1).map(String.init)
        guard words.count == 2, let method = HTTPRequest.Method(rawValue: words[0]) else { return nil }
        var fields = HTTPFields()
        for line in lines.dropFirst() {
            let sides = line.split(separator: ":", maxSplits: 1)
            guard sides.count == 2, let name = HTTPField.Name(String(sides[0])) else { continue }
            fields.append(HTTPField(name: name, value: sides[1].trimmingCharacters(in: .whitespaces)))
        }
        return HTTPRequest(method: method, scheme: "http", authority: "hub", path: words[1], headerFields: fields)
    }

    private static func packed(_ bytes: [UInt8]) -> [UInt8] {
        var writer = GzipWriter()
        writer.write(bytes)
        return writer.end()
    }

    // MARK: - MQTT

    private func message(_ input: Input, _ hub: StandInHub, _ intake: Intake) async {
        let messages = BrokerMessages(topics: topics, intake: intake)
        let message = MQTTClient.Message(topic: input.lines[0], payload: input.body, isRetained: input.isRetained)
        for turn in 0..<(input.isRepeated ? 2 : 1) {
            let isDone: Bool
            if input.hub == .isAway {
                // The plugin waits for an absent hub without a limit.
                let taking = Task(executorPreference: globalConcurrentExecutor) { await self.take(message, messages) }
                await Task.yield()
                hub.release()
                isDone = await taking.value
            } else {
                isDone = await take(message, messages)
            }
            let topic = topics.first { MQTTClient.matches(message.topic, $0.filter) }
            Judge(input: input, head: nil, sent: input.body, clock: clock)
                .check(isDone, topic, message, hub.takeCounts(), turn: turn)
        }
    }

    /// Takes the message on both connections, as the broker delivers it.
    private func take(_ message: MQTTClient.Message, _ messages: BrokerMessages) async -> Bool {
        let first = await messages.take(message, isTimed: true)
        let second = await messages.take(message, isTimed: false)
        return first && second
    }
}

/// A body in pieces, which counts the bytes that were read.
struct Pieces: AsyncSequence, Sendable {
    struct Cut: Error {}

    let bytes: [UInt8]
    let size: Int
    let isCut: Bool
    let taken = Shared(0)

    init(_ bytes: [UInt8], of size: Int, isCut: Bool) { (self.bytes, self.size, self.isCut) = (bytes, size, isCut) }

    struct Iterator: AsyncIteratorProtocol {
        let pieces: Pieces
        var position = 0

        mutating func next() async throws -> ByteBuffer? {
            guard position < pieces.bytes.count else {
                if pieces.isCut { throw Cut() }
                return nil
            }
            let piece = pieces.bytes[position..<Swift.min(position + pieces.size, pieces.bytes.count)]
            position += piece.count
            pieces.taken.withLock { [position] in $0 = position }
            return ByteBuffer(bytes: piece)
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(pieces: self) }
}

/// A value that all copies share.
final class Shared<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }

    func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        value.withLock { value in body(&value) }
    }
}

/// Collects the body of an answer.
struct Collector: ResponseBodyWriter {
    let bytes = Shared<[UInt8]>([])

    mutating func write(_ buffer: ByteBuffer) async throws {
        bytes.withLock { $0 += buffer.readableBytesView }
    }

    consuming func finish(_ trailing: HTTPFields?) async throws {}
}
