public import FoundationEssentials
import ScaleProtocols
public import ScaleStandIns

/// A scale and its day, from a JSON file.
///
/// ```json
/// {
///   "deviceId": "020000003001",
///   "clockSkewSeconds": 46,
///   "memory": [{"kg": 72.3, "at": "2026-11-19T07:30:05"}],
///   "events": [{"after": "2s", "kg": 72.1}, {"after": "5s", "error": "Er7"}],
///   "faults": ["bad-checksum=3"]
/// }
/// ```
/// All members are optional; an unknown member is an error. `after` counts from the first session, or with `"since": "memory"` from the end of
/// the first memory transfer, however long that takes. A weighing may have an `at`, and on a HS5 the number of its `user`.
public struct SimulatorScript: Sendable, Hashable {
    /// Twelve hex digits; `nil` if the script names none.
    public var deviceId: String?
    /// The number of seconds by which the scale's clock is ahead.
    public var clockSkewSeconds = 0
    /// The initial memory in the order of the file; each weighing has its time.
    public var weighings: [StandInWeighing] = []
    /// The planned events with their times, counted from the first session.
    public var events: [PlannedCommand] = []
    /// The faults as written, because a name may mean another fault on another scale.
    public var faults: [String] = []

    /// Parses a script; errors contain `file`, the place and the expected value.
    public init(json: Data, file: String) throws(SimulatorError) {
        let raw: Raw
        do { raw = try JSONDecoder().decode(Strict<Raw>.self, from: json).value } catch {
            throw SimulatorError(.script, "\(file): \(SimulatorScript.explain(error))")
        }
        do {
            (deviceId, clockSkewSeconds) = (raw.deviceId, raw.clockSkewSeconds ?? 0)
            for entry in (raw.memory ?? []).map(\.value) {
                let (tenths, time) = (try SimulatorScript.tenths(entry.kg), try SimulatorCommand.time(entry.at))
                weighings.append(StandInWeighing(tenthsOfKilogram: tenths, user: entry.user, time: time))
            }
            for entry in (raw.events ?? []).map(\.value) {
                let after = try ValueParser.duration(entry.after)
                guard let since = PlannedCommand.Start(rawValue: entry.since ?? "session") else {
                    throw SimulatorError(.script, "since '\(entry.since ?? "")': expected session or memory")
                }
                switch (entry.kg, entry.error) {
                case (let kg?, nil):
                    let time: WallTime? = if let text = entry.at { try SimulatorCommand.time(text) } else { nil }
                    let tenths = try SimulatorScript.tenths(kg)
                    events.append(
                        PlannedCommand(
                            after: after, since: since,
                            command: .stepOn(tenthsOfKilogram: tenths, at: time, user: entry.user)))
                case (nil, let error?):
                    events.append(
                        PlannedCommand(after: after, since: since, command: .fail(try ValueParser.errorByte(error))))
                default:
                    throw SimulatorError(.script, "an event needs either kg or error")
                }
            }
            faults = raw.faults ?? []
            for fault in faults { _ = try FaultOption(fault) }
        } catch {
            throw SimulatorError(.script, "\(file): \(error)")
        }
        events.sort { $0.after < $1.after }
    }

    private static func tenths(_ kilograms: Double) throws(SimulatorError) -> Int {
        let tenths = (kilograms * 10).rounded()
        guard (0...9999).contains(tenths), abs(kilograms * 10 - tenths) < 1e-6 else {
            throw SimulatorError(.script, "kg \(kilograms): expected 0 to 999.9 with at most one decimal")
        }
        return Int(tenths)
    }

    private static func explain(_ error: any Error) -> String {
        func place(_ path: [any CodingKey]) -> String {
            path.isEmpty
                ? "the file" : path.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }.joined(separator: ".")
        }
        return switch error as? DecodingError {
        case .keyNotFound(let key, let context): "\(place(context.codingPath)) has no \(key.stringValue)"
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            "\(place(context.codingPath)): \(context.debugDescription)"
        default: "\(error)"
        }
    }

    private struct Raw: Members {
        static let members = ["deviceId", "clockSkewSeconds", "memory", "events", "faults"]
        var deviceId: String?
        var clockSkewSeconds: Int?
        var memory: [Strict<Stored>]?
        var events: [Strict<Event>]?
        var faults: [String]?
    }

    private struct Stored: Members {
        static let members = ["kg", "at", "user"]
        var kg: Double
        var at: String
        var user: UInt32?
    }

    private struct Event: Members {
        static let members = ["after", "since", "kg", "at", "error", "user"]
        var after: String
        var since: String?
        var kg: Double?
        var at: String?
        var error: String?
        var user: UInt32?
    }

    private protocol Members: Decodable { static var members: [String] { get } }

    /// Refuses unknown members, which `Decodable` ignores: a script with a misspelt one would silently do something different.
    private struct Strict<Value: Members>: Decodable {
        let value: Value

        init(from decoder: any Decoder) throws {
            for key in try decoder.container(keyedBy: AnyKey.self).allKeys
            where !Value.members.contains(key.stringValue) {
                throw DecodingError.dataCorrupted(
                    DecodingError.Context(
                        codingPath: decoder.codingPath,
                        debugDescription:
                            "unknown member '\(key.stringValue)'; there are \(Value.members.joined(separator: ", "))"))
            }
            value = try Value(from: decoder)
        }
    }

    private struct AnyKey: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

/// A command with its time.
public struct PlannedCommand: Sendable, Hashable {
    /// The event from which the time counts.
    public enum Start: String, Sendable, Hashable {
        /// The first session opens.
        case session
        /// The first memory transfer is complete: later weighings are live, whatever the speed of this machine.
        case memory
    }

    public var after: Duration
    public var since: Start
    /// The command to run.
    public var command: SimulatorCommand

    public init(after: Duration, since: Start = .session, command: SimulatorCommand) {
        (self.after, self.since, self.command) = (after, since, command)
    }
}
