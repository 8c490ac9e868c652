import Digests

/// What is known of a program that has greeted and proved itself: all that a session needs to go on with it.
public struct HSLGreeting: Sendable, Hashable {
    let nonce: [UInt8]
    let hello: HSLHello
    /// The beginning of a line, where one is not complete yet.
    let lines: HSLLines
}

/// Where those who dial an awaited link greet and prove themselves, several at a time: a program that only holds a connection keeps no other out.
///
/// A value: inputs go in, actions come out. Guests are told apart by numbers of the caller's. At most ``limit`` are here, each for at most
/// the session's time for a greeting; where one more comes, the machine that has sent most of them loses its oldest. A guest that proves itself
/// is named by ``Action/admit(_:)``, and asked for with ``enter(_:)`` when the link is to be theirs.
public struct HSLHandshakes: Sendable {
    public enum Input: Sendable, Hashable {
        case came(Int, from: String?)
        case said(Int, [UInt8])
        case left(Int)
        /// The open link is alive, so this guest does not get its place.
        case declined(Int)
        case tick
    }

    public enum Action: Sendable, Hashable {
        case send([UInt8], to: Int)
        /// Close the connection to this guest.
        case dismiss(Int)
        /// This guest has proved itself, and comes before those who did so earlier.
        case admit(Int)
        /// Report this about the link.
        case warning(String)
    }

    /// How many guests there may be.
    public static let limit = 16
    /// Bytes of a guest that has not proved itself: its two lines, and some more.
    static let byteLimit = 2 * HSLLines.limit
    /// How often the same is told.
    static let warningEvery = Duration.seconds(60)

    private struct Peer {
        var session: HSLSession
        var address: String?
        var bytes = 0
        /// Until when a guest that has proved itself waits for the open link to show whether it is alive.
        var waitsUntil: Duration?
    }

    private let settings: HSLSession.Settings
    private let seed: [UInt8]
    private var guests: [Int: Peer] = [:]
    private var refusals = WrongProofs()
    private var told: [String: Duration] = [:]

    /// - Parameter seed: 32 random bytes, from which nonces are made.
    init(settings: HSLSession.Settings, seed: [UInt8]) { (self.settings, self.seed) = (settings, seed) }

    /// The uptime at which to call with ``Input/tick``; nil where nothing is waited for.
    public var deadline: Duration? {
        guests.values.compactMap { $0.waitsUntil ?? $0.session.deadline }.min()
    }

    public mutating func handle(_ input: Input, at uptime: Duration) -> [Action] {
        var actions: [Action] = []
        switch input {
        case .came(let number, let address):
            if guests.count >= Self.limit { makeRoom(at: uptime, &actions) }
            let own = Digests.authenticate(Array("guest \(number)".utf8), key: seed)
            var session = HSLSession(settings: settings, seed: own)
            (session.isGuest, session.caller) = (true, address)
            guests[number] = Peer(session: session, address: address)
            give(.linkOpened, to: number, at: uptime, &actions)
        case .said(let number, let bytes):
            guests[number]?.bytes += bytes.count
            guard let guest = guests[number] else { break }
            guard guest.bytes <= Self.byteLimit else {
                dismiss(number, saying: "too much before a welcome", at: uptime, &actions)
                break
            }
            give(.received(bytes), to: number, at: uptime, &actions)
        case .left(let number): guests[number] = nil
        case .declined(let number):
            dismiss(number, saying: "another program delivers this scale", at: uptime, &actions)
        case .tick:
            for number in guests.keys.sorted() {
                if let until = guests[number]?.waitsUntil {
                    if until <= uptime { dismiss(number, saying: "come again", at: uptime, &actions) }
                } else {
                    give(.tick, to: number, at: uptime, &actions)
                }
            }
        }
        return actions
    }

    /// The link is this guest's now; nil where it has not proved itself.
    public mutating func enter(_ number: Int) -> HSLGreeting? {
        guard let session = guests[number]?.session, session.isProven, let hello = session.peer else { return nil }
        guests[number] = nil
        return HSLGreeting(nonce: session.nonce, hello: hello, lines: session.lines)
    }

    // MARK: Guests

    private mutating func give(
        _ input: HSLSession.Input, to number: Int, at uptime: Duration, _ actions: inout [Action]
    ) {
        guard var guest = guests[number] else { return }
        let wasProven = guest.session.isProven
        // One count for all, or a guesser would begin at nought with each connection.
        guest.session.refusals = refusals
        let moment = ScaleMoment(uptime: uptime, wall: .startOf2000)
        var isOver = false
        for action in guest.session.handle(input, at: moment) {
            switch action {
            case .send(let bytes): actions.append(.send(bytes, to: number))
            case .event(.protocolWarning(.other(let text)), _): warn("a caller: \(text)", at: uptime, &actions)
            case .close: isOver = true
            case .event, .deliver: break
            }
        }
        refusals = guest.session.refusals
        guests[number] = guest
        if isOver {
            guests[number] = nil
            actions.append(.dismiss(number))
        } else if guest.session.isProven, !wasProven {
            proved(number, at: uptime, &actions)
        }
    }

    /// The newest of those who have proved themselves is the one that is let in: it is the one that lives.
    private mutating func proved(_ number: Int, at uptime: Duration, _ actions: inout [Action]) {
        for other in guests.keys.sorted() where guests[other]?.waitsUntil != nil {
            dismiss(other, saying: "a later connection has taken this one's place", at: uptime, &actions)
        }
        // The open link has so long to answer, and its owner some time to see to it.
        guests[number]?.waitsUntil = uptime + settings.pongTimeout * 2
        actions.append(.admit(number))
    }

    private mutating func makeRoom(at uptime: Duration, _ actions: inout [Action]) {
        let unproven = guests.filter { $0.value.waitsUntil == nil }
        let crowds = Dictionary(grouping: unproven.keys) { unproven[$0]?.address ?? "" }
        let largest = crowds.values.max { ($0.count, $1.min() ?? 0) < ($1.count, $0.min() ?? 0) }
        guard let oldest = largest?.min() else { return }
        warn("callers: too many wait without a proof", at: uptime, &actions)
        dismiss(oldest, saying: "too many connections", at: uptime, &actions)
    }

    private mutating func dismiss(
        _ number: Int, saying reason: String, at uptime: Duration, _ actions: inout [Action]
    ) {
        guard guests.removeValue(forKey: number) != nil else { return }
        actions.append(.send(HSLMessage.bye(reason: reason).bytes, to: number))
        actions.append(.dismiss(number))
    }

    private mutating func warn(_ text: String, at uptime: Duration, _ actions: inout [Action]) {
        told = told.filter { uptime < $0.value + Self.warningEvery }
        guard told[text] == nil, told.count < Self.limit else { return }
        told[text] = uptime
        actions.append(.warning(text))
    }
}
