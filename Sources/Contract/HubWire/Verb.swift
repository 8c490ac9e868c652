import Samples

/// The word in a message's first frame (Protocol §3).
public enum Verb: String, Hashable, Sendable, CaseIterable {
    case hello = "HELLO"
    case welcome = "WELCOME"
    case samples = "SAMPLES"
    case stored = "STORED"
    case live = "LIVE"
    case event = "EVENT"
    case want = "WANT"
    case deliver = "DELIVER"
    case done = "DONE"
    case query = "QUERY"
    case result = "RESULT"
    case command = "COMMAND"
    case progress = "PROGRESS"
    case outcome = "OUTCOME"
    case token = "TOKEN"
    case tokenPut = "TOKEN-PUT"
    case ping = "PING"
    case pong = "PONG"
    case stop = "STOP"
    case bye = "BYE"
    case error = "ERROR"

    /// The verb with exactly these bytes; `nil` for any other bytes.
    ///
    /// It allocates no memory.
    public init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count <= Word.longest, let index = Self.words.firstIndex(of: Word(bytes)) else { return nil }
        self = Self.allCases[index]
    }

    /// Whether these bytes spell `LIVE`; called for every message.
    public static func isLive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count == 4 && UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self)) == 0x4C49_5645
    }

    /// A short word as numbers, for comparison in every message.
    private struct Word: Equatable {
        static let longest = 9
        var (count, letters, last): (Int, UInt64, UInt8) = (0, 0, 0)

        init(_ bytes: some Sequence<UInt8>) {
            for byte in bytes {
                count += 1
                (letters, last) = (letters << 8 | UInt64(last), byte)
            }
        }
    }

    private static let words = allCases.map { Word($0.rawValue.utf8) }

    /// The bytes of the verb frame.
    public var bytes: [UInt8] { Array(rawValue.utf8) }

    /// Verbs that a client may send; `serves` of a version 1 hub lists at least these.
    public static let fromClient: Set<Verb> = [
        .hello, .samples, .live, .event, .want, .done, .query, .tokenPut, .command, .progress, .outcome, .token, .ping,
        .pong, .bye,
    ]
}

/// The major versions of the protocol.
public enum ProtocolVersion {
    /// The versions that this module speaks, highest first.
    ///
    /// A hub speaks the current and the previous major version; there was none before 1.
    public static let spoken = [1]

    /// The highest version that both sides speak (R4.9); `nil` if there is none.
    public static func common(with offered: [Int]) -> Int? { spoken.filter(offered.contains).max() }
}

/// The form of instance names and plugin kinds (Protocol §4.2).
public enum PeerName {
    /// The rule in words that follow "expected".
    public static let expected = "1 to 64 letters, digits, \"_\", \"-\" or \".\", the first a letter or digit"

    /// Names that no instance and no plugin kind may have: the hub, and the source of entries by hand.
    public static let reserved: Set<String> = ["hub", Source.byHand]

    /// Whether `text` matches `[A-Za-z0-9][A-Za-z0-9_.-]{0,63}`.
    public static func isValid(_ text: some StringProtocol) -> Bool {
        let bytes = text.utf8
        guard let first = bytes.first, bytes.count <= 64, isAlphanumeric(first) else { return false }
        return bytes.allSatisfy { isAlphanumeric($0) || $0 == 0x5F || $0 == 0x2E || $0 == 0x2D }
    }

    static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
}
