public import ScaleProtocols
public import ScaleStandIns

/// A scale that replays a script; it continues when the host has sent its part.
///
/// A line consists of a direction (`<` scale to host, `>` host to scale), optionally the milliseconds since the previous line, and bytes in
/// hex. If the bytes begin with two decimal digits, the time is needed. `<68 × ff>` repeats that byte, and a line that begins with `#` is a comment.
public struct ReplayDevice: ScaleStandIn {
    /// A line of a script.
    public struct Line: Sendable, Hashable {
        public var isFromHost: Bool
        public var after: Duration
        public var bytes: [UInt8]
    }

    public static let kind: StandInKind = []
    /// A script has no faults.
    public var faults = StandInFaults()

    private let lines: [Line]
    private var next = 0
    private var heard: [UInt8] = []
    private var dueAt: Duration?
    private var isLinked = false

    /// Parses a script; the error contains the line number.
    public init(script: String) throws(SimulatorError) {
        var lines: [Line] = []
        for (index, text) in script.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if let line = try Self.line(text, number: index + 1) { lines.append(line) }
        }
        guard !lines.isEmpty else { throw SimulatorError(.script, "the script has no line") }
        self.lines = lines
    }

    private static func line(_ text: Substring, number: Int) throws(SimulatorError) -> Line? {
        let text = text.drop(while: \.isWhitespace)
        guard let direction = text.first, direction != "#" else { return nil }
        func wrong(_ why: String) -> SimulatorError { SimulatorError(.script, "line \(number): \(why)") }
        guard direction == "<" || direction == ">" else { throw wrong("expected < or > at its start") }
        var words = text.dropFirst().split(whereSeparator: \.isWhitespace).map(String.init)
        var after = Duration.zero
        if let first = words.first, let time = ValueParser.digits(first) {
            after = .milliseconds(time)
            words.removeFirst()
        }
        var bytes: [UInt8] = []
        var place = 0
        while place < words.count {
            if words[place].hasPrefix("<"), place + 2 < words.count {
                guard let count = ValueParser.digits(words[place].dropFirst()), count <= 255,
                    let byte = UInt8(words[place + 2].prefix(2), radix: 16)
                else { throw wrong("expected <n × ff>") }
                bytes += Array(repeating: byte, count: count)
                place += 3
            } else {
                guard words[place].utf8.count == 2, let byte = UInt8(words[place], radix: 16) else {
                    throw wrong("'\(words[place])' is not a byte in hex")
                }
                bytes.append(byte)
                place += 1
            }
        }
        guard !bytes.isEmpty else { throw wrong("there are no bytes") }
        return Line(isFromHost: direction == ">", after: after, bytes: bytes)
    }

    public var isIdle: Bool { next == lines.count }

    public var deadline: Duration? { isLinked ? dueAt : nil }

    public mutating func handle(_ input: StandInInput, at now: ScaleMoment) -> [StandInAction] {
        var actions: [StandInAction] = []
        switch input {
        case .linkOpened:
            // Each connection starts the script from its beginning.
            (isLinked, next, heard, dueAt) = (true, 0, [], nil)
            actions.append(.event(.sessionOpened))
        case .received(let bytes): heard += bytes
        case .linkClosed: (isLinked, dueAt) = (false, nil)
        case .tick: break
        case .weigh, .store, .fail, .moveClock, .restart:
            actions.append(.event(.refused("a script takes no commands")))
        }
        play(at: now, &actions)
        return actions
    }

    private mutating func play(at now: ScaleMoment, _ actions: inout [StandInAction]) {
        while isLinked, next < lines.count {
            let line = lines[next]
            if line.isFromHost {
                guard heard.count >= line.bytes.count else { return dueAt = nil }
                if Array(heard.prefix(line.bytes.count)) != line.bytes {
                    actions.append(.event(.fault("the host sent something else at its line \(next + 1)")))
                }
                heard.removeFirst(line.bytes.count)
            } else {
                let due = dueAt ?? now.uptime + line.after
                guard now.uptime >= due else { return dueAt = due }
                actions.append(.send(line.bytes))
                if next == lines.count - 1 { actions.append(.event(.transferFinished)) }
            }
            (next, dueAt) = (next + 1, nil)
        }
    }
}
