public import FoundationEssentials
public import ScaleProtocols
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
    /// The faults.
    public var faults: [FaultOption] = []
    /// The same faults as written, because a name may mean another fault on another scale.
    public var faultNames: [String] = []

    private let hourMode: HS3HourMode

    /// The memory in the form of a HS3.
    public var memory: [HS3RecordKey] {
        weighings.compactMap { weighing in
            weighing.time.flatMap { HS3Record($0, tenthsOfKilogram: weighing.tenthsOfKilogram, mode: hourMode)?.key }
        }
    }

    /// Parses a script; errors contain `file`, the place and the expected value.
    public init(json: Data, file: String, hourMode: HS3HourMode = .sdk12) throws(SimulatorError) {
        self.hourMode = hourMode
        let raw: Raw
        do { raw = try JSONDecoder().decode(Raw.self, from: json) } catch {
            throw SimulatorError(.script, "\(file): \(SimulatorScript.explain(error))")
        }
        do {
            (deviceId, clockSkewSeconds) = (raw.deviceId, raw.clockSkewSeconds ?? 0)
            for entry in raw.memory ?? [] {
                let (tenths, time) = (try SimulatorScript.tenths(entry.kg), try SimulatorCommand.time(entry.at))
                weighings.append(StandInWeighing(tenthsOfKilogram: tenths, user: entry.user, time: time))
            }
            for entry in raw.events ?? [] {
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
            faultNames = raw.faults ?? []
            for name in faultNames { faults.append(try FaultOption(name)) }
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

    private struct Raw: Decodable {
        var deviceId: String?
        var clockSkewSeconds: Int?
        var memory: [Stored]?
        var events: [Event]?
        var faults: [String]?

        private enum CodingKeys: String, CodingKey, CaseIterable {
            case deviceId, clockSkewSeconds, memory, events, faults
        }
        init(from decoder: any Decoder) throws {
            try AnyKey.check(decoder, allowed: CodingKeys.allCases.map(\.rawValue))
            let values = try decoder.container(keyedBy: CodingKeys.self)
            deviceId = try values.decodeIfPresent(String.self, forKey: .deviceId)
            clockSkewSeconds = try values.decodeIfPresent(Int.self, forKey: .clockSkewSeconds)
            memory = try values.decodeIfPresent([Stored].self, forKey: .memory)
            events = try values.decodeIfPresent([Event].self, forKey: .events)
            faults = try values.decodeIfPresent([String].self, forKey: .faults)
        }
    }

    private struct Stored: Decodable {
        var kg: Double
        var at: String
        var user: UInt32?

        private enum CodingKeys: String, CodingKey, CaseIterable { case kg, at, user }
        init(from decoder: any Decoder) throws {
            try AnyKey.check(decoder, allowed: CodingKeys.allCases.map(\.rawValue))
            let values = try decoder.container(keyedBy: CodingKeys.self)
            (kg, at) = (try values.decode(Double.self, forKey: .kg), try values.decode(String.self, forKey: .at))
            user = try values.decodeIfPresent(UInt32.self, forKey: .user)
        }
    }

    private struct Event: Decodable {
        var after: String
        var since: String?
        var kg: Double?
        var at: String?
        var error: String?
        var user: UInt32?

        private enum CodingKeys: String, CodingKey, CaseIterable { case after, since, kg, at, error, user }
        init(from decoder: any Decoder) throws {
            try AnyKey.check(decoder, allowed: CodingKeys.allCases.map(\.rawValue))
            let values = try decoder.container(keyedBy: CodingKeys.self)
            after = try values.decode(String.self, forKey: .after)
            since = try values.decodeIfPresent(String.self, forKey: .since)
            kg = try values.decodeIfPresent(Double.self, forKey: .kg)
            at = try values.decodeIfPresent(String.self, forKey: .at)
            error = try values.decodeIfPresent(String.self, forKey: .error)
            user = try values.decodeIfPresent(UInt32.self, forKey: .user)
        }
    }

    /// `Decodable` ignores unknown members; a script with a misspelt one would silently do something different.
    private struct AnyKey: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }

        static func check(_ decoder: any Decoder, allowed: [String]) throws {
            for key in try decoder.container(keyedBy: AnyKey.self).allKeys where !allowed.contains(key.stringValue) {
                throw DecodingError.dataCorrupted(
                    DecodingError.Context(
                        codingPath: decoder.codingPath,
                        debugDescription:
                            "unknown member '\(key.stringValue)'; there are \(allowed.joined(separator: ", "))"))
            }
        }
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
