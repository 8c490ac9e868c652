import Platform

/// The greeting of a program that has proved itself: all data that a session needs to continue with it.
public struct HSLGreeting: Sendable, Hashable {
    let nonce: [UInt8]
    let hello: HSLHello
    /// An incomplete line, if there is one.
    let lines: HSLLines
}

/// Runs the greetings of several programs that dial a listening link, so that a program that only holds a connection does not block others.
///
/// It is a value: inputs go in, actions come out. The caller numbers the guests. At most ``limit`` guests are accepted, each for at most the
/// session's time for a greeting. If another one comes, the machine with the most guests loses its oldest. A guest that proves itself is
/// reported by ``Action/admit(_:)``; the caller fetches it with ``enter(_:)`` when it gets the link.
public struct HSLHandshakes: Sendable {
    public enum Input: Sendable, Hashable {
        case came(Int, from: String?)
        case said(Int, [UInt8])
        case left(Int)
        /// The open link is alive, so this guest does not replace it.
        case declined(Int)
        case tick
    }

    public enum Action: Sendable, Hashable {
        case send([UInt8], to: Int)
        /// Close the connection to this guest.
        case dismiss(Int)
        /// This guest has proved itself, and takes precedence over earlier ones.
        case admit(Int)
        /// Report this about the link.
        case warning(String)
    }

    /// The maximum number of guests.
    public static let limit = 16
    /// Maximum number of bytes of a guest that has not proved itself: its two lines, and some reserve.
    static let byteLimit = 2 * HSLLines.limit
    /// The minimum interval between equal warnings.
    static let warningEvery = Duration.seconds(60)

    private struct Peer {
        var session: HSLSession
        var address: String?
        var bytes = 0
        /// How long a guest that has proved itself waits for a sign of life of the open link.
        var waitsUntil: Duration?
    }

    private let settings: HSLSession.Settings
    private let seed: [UInt8]
    private var guests: [Int: Peer] = [:]
    private var refusals = FailedProofLimit()
    /// The uptime of the present input, and the actions that result from it.
    private var (uptime, actions): (Duration, [Action]) = (.zero, [])
    private var told: [String: Duration] = [:]

    /// - Parameter seed: 32 random bytes, from which nonces are made.
    init(settings: HSLSession.Settings, seed: [UInt8]) { (self.settings, self.seed) = (settings, seed) }

    /// The uptime at which to call with ``Input/tick``; `nil` if there is no deadline.
    public var deadline: Duration? {
        guests.values.compactMap { $0.waitsUntil ?? $0.session.deadline }.min()
    }

    public mutating func handle(_ input: Input, at uptime: Duration) -> [Action] {
        self.uptime = uptime
        defer { actions = [] }
        switch input {
        case .came(let number, let address):
            if guests.count >= Self.limit { makeRoom() }
            let own = Digests.authenticate(Array("guest \(number)".utf8), key: seed)
            var session = HSLSession(settings: settings, seed: own)
            (session.isGuest, session.caller) = (true, address)
            guests[number] = Peer(session: session, address: address)
            give(.linkOpened, to: number)
        case .said(let number, let bytes):
            guests[number]?.bytes += bytes.count
            guard let guest = guests[number] else { break }
            guard guest.bytes <= Self.byteLimit else {
                dismiss(number, saying: "too much before a welcome")
                break
            }
            give(.received(bytes), to: number)
        case .left(let number): guests[number] = nil
        case .declined(let number):
            dismiss(number, saying: "another program delivers this scale")
        case .tick:
            for number in guests.keys.sorted() {
                if let until = guests[number]?.waitsUntil {
                    if until <= uptime { dismiss(number, saying: "come again") }
                } else {
                    give(.tick, to: number)
                }
            }
        }
        return actions
    }

    /// Gives the link to this guest; `nil` if it has not proved itself.
    public mutating func enter(_ number: Int) -> HSLGreeting? {
        guard let session = guests[number]?.session, session.isProven, let hello = session.peer else { return nil }
        guests[number] = nil
        return HSLGreeting(nonce: session.nonce, hello: hello, lines: session.lines)
    }

    // MARK: Guests

    private mutating func give(_ input: ScaleInput, to number: Int) {
        guard var guest = guests[number] else { return }
        let wasProven = guest.session.isProven
        // All guests share one count; otherwise a guesser would start at zero with each connection.
        guest.session.refusals = refusals
        let moment = ScaleMoment(uptime: uptime, wall: .startOf2000)
        var isOver = false
        for action in guest.session.handle(input, at: moment) {
            switch action {
            case .send(let bytes): actions.append(.send(bytes, to: number))
            case .event(.protocolWarning(.other(let text))): warn("a caller: \(text)")
            case .close: isOver = true
            case .event, .deliver, .search, .settle, .of: break
            }
        }
        refusals = guest.session.refusals
        guests[number] = guest
        if isOver {
            guests[number] = nil
            actions.append(.dismiss(number))
        } else if guest.session.isProven, !wasProven {
            proved(number)
        }
    }

    /// Admits the newest guest that has proved itself, because it is certainly alive.
    private mutating func proved(_ number: Int) {
        for other in guests.keys.sorted() where guests[other]?.waitsUntil != nil {
            dismiss(other, saying: "a later connection has taken this one's place")
        }
        // The open link gets this much time to answer, and its owner some time to react.
        guests[number]?.waitsUntil = uptime + settings.pongTimeout * 2
        actions.append(.admit(number))
    }

    private mutating func makeRoom() {
        let unproven = guests.filter { $0.value.waitsUntil == nil }
        let crowds = Dictionary(grouping: unproven.keys) { unproven[$0]?.address ?? "" }
        let largest = crowds.values.max { ($0.count, $1.min() ?? 0) < ($1.count, $0.min() ?? 0) }
        guard let oldest = largest?.min() else { return }
        warn("callers: too many wait without a proof")
        dismiss(oldest, saying: "too many connections")
    }

    private mutating func dismiss(_ number: Int, saying reason: String) {
        guard guests.removeValue(forKey: number) != nil else { return }
        actions.append(.send(HSLMessage.bye(reason: reason).bytes, to: number))
        actions.append(.dismiss(number))
    }

    private mutating func warn(_ text: String) {
        told = told.filter { uptime < $0.value + Self.warningEvery }
        guard told[text] == nil, told.count < Self.limit else { return }
        told[text] = uptime
        actions.append(.warning(text))
    }
}
