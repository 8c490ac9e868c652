import PhonePayloads
import Platform
import PluginKit

/// The persistent state for each phone, saved before a record depends on it.
actor IntakeState {
    private let state: PluginState
    private var offsets: [String: OffsetHistory] = [:]

    init(_ state: PluginState) { self.state = state }

    // MARK: - Apps of Health Connect

    private static let appsKey = "apps-since"

    /// Sets the time since which apps are separate sources; it is later than 0 if there were tokens before.
    ///
    /// An earlier version stored all apps under one source. Records that began before this time keep that source.
    func begin(hasTokens: Bool, now: Int64) async throws {
        try await state.transaction { transaction in
            guard try transaction.value(Self.appsKey) == nil else { return }
            let isNew = try !hasTokens && transaction.keys(prefix: "").isEmpty
            try transaction.set(Self.appsKey, to: .integer(isNew ? 0 : now))
        }
    }

    /// The time since which each app is a separate source.
    var appsSince: Int64? {
        get async throws {
            try await state.integer(Self.appsKey)
        }
    }

    // MARK: - Clocks

    /// Gives each time the offset with which it was first seen; saves new offsets before it returns.
    func settle(_ records: [PhoneRecord], of token: PhoneToken, arrival: Int64) async throws -> [PhoneRecord] {
        let key = "offsets/\(token.name)"
        var history: OffsetHistory
        if let known = offsets[token.name] {
            history = known
        } else {
            history = OffsetHistory(try await state.text(key) ?? "")
        }
        var records = records
        let hasChanged = history.settle(&records, arrival: arrival)
        if hasChanged { try await state.set(key, to: .text(history.text)) }
        offsets[token.name] = history
        return records
    }

    // MARK: - Posts without a time

    /// How long equal bytes count as the same post, in microseconds.
    static let sameFor: Int64 = 60_000_000
    /// The same before the hub has stored the post, because senders may repeat it later.
    static let keptFor: Int64 = 600_000_000

    /// A post without a time, dated by its arrival.
    struct Arrival: Hashable, Sendable {
        var time: Int64
        var digest: String
        /// The time until which equal bytes count as this post.
        var until: Int64
    }

    /// The digest by which repeated posts are recognized.
    ///
    /// - Parameter repeats: the header `Idempotency-Key`, with which a sender distinguishes two equal posts.
    static func digest(_ body: UnsafeRawBufferPointer, _ repeats: String?) -> String {
        Digests.sha256(Digests.sha256(body) + Array((repeats ?? "").utf8)).prefix(16).hexadecimal
    }

    /// The arrival time of a post: now, or the time of the same bytes a moment ago.
    ///
    /// The arrival is on disk when the call returns.
    func arrival(of digest: String, by token: PhoneToken, now: Int64) async throws -> Arrival {
        let key = "arrivals/\(token.name)"
        return try await state.transaction { transaction in
            var known = Self.read(try transaction.text(key) ?? "").filter { $0.until > now }
            if let found = known.first(where: { $0.digest == digest }) { return found }
            // Times are rounded to the second; two posts in one second get different times.
            var time = now - now % 1_000_000
            while known.contains(where: { $0.time == time }) { time += 1_000 }
            let arrival = Arrival(time: time, digest: digest, until: now + Self.keptFor)
            known.append(arrival)
            try transaction.set(key, to: .text(Self.text(known.suffix(1_000))))
            return arrival
        }
    }

    /// Notes that the hub has stored the post, so that equal bytes soon count as a new one.
    func hasStored(_ arrival: Arrival, of token: PhoneToken, now: Int64) async throws {
        let key = "arrivals/\(token.name)"
        try await state.transaction { transaction in
            var known = Self.read(try transaction.text(key) ?? "").filter { $0.until > now }
            for index in known.indices where known[index].digest == arrival.digest {
                known[index].until = min(known[index].until, max(now, arrival.time) + Self.sameFor)
            }
            try transaction.set(key, to: .text(Self.text(known)))
        }
    }

    private static func read(_ text: String) -> [Arrival] {
        text.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ").map(String.init)
            guard parts.count == 3, let time = Int64(parts[0]), let until = Int64(parts[2]) else { return nil }
            return Arrival(time: time, digest: parts[1], until: until)
        }
    }

    private static func text(_ arrivals: some Sequence<Arrival>) -> String {
        arrivals.map { "\($0.time) \($0.digest) \($0.until)\n" }.joined()
    }

    // MARK: - Readings that a broker retains

    /// Remembers a reading among the last hundred of a phone; returns whether it was new.
    func noteReading(_ digest: String, of token: PhoneToken) async throws -> Bool {
        let key = "readings/\(token.name)"
        return try await state.transaction { transaction in
            let known = (try transaction.text(key) ?? "").split(separator: "\n").map(String.init)
            guard !known.contains(digest) else { return false }
            try transaction.set(key, to: .text((known + [digest]).suffix(100).joined(separator: "\n")))
            return true
        }
    }

    // MARK: - openScale

    func ledger(of token: PhoneToken) async throws -> OpenScaleLedger {
        let text = try await state.transaction { transaction in
            var (text, part) = ("", 0)
            while let piece = try transaction.text(Self.ledgerKey(token, part)) {
                (text, part) = (text + piece, part + 1)
            }
            return text
        }
        return OpenScaleLedger(text)
    }

    /// Saves the ledger in parts, because a state value is at most a mebibyte and decades of weighings may be more.
    func keep(_ ledger: OpenScaleLedger, of token: PhoneToken) async throws {
        var parts: [String] = []
        var rest = Array(ledger.text.utf8)[...]
        while !rest.isEmpty {
            let most = rest.prefix(PluginState.Transaction.maximumValueBytes)
            let piece =
                most.count == rest.count ? most : most.prefix(through: most.lastIndex(of: 0x0A) ?? most.endIndex - 1)
            parts.append(String(decoding: piece, as: UTF8.self))
            rest = rest[piece.endIndex...]
        }
        let pieces = parts.isEmpty ? [""] : parts
        try await state.transaction { transaction in
            for (part, piece) in pieces.enumerated() {
                try transaction.set(Self.ledgerKey(token, part), to: .text(piece))
            }
            var part = pieces.count
            while try transaction.value(Self.ledgerKey(token, part)) != nil {
                try transaction.set(Self.ledgerKey(token, part), to: nil)
                part += 1
            }
        }
    }

    private static func ledgerKey(_ token: PhoneToken, _ part: Int) -> String {
        part == 0 ? "openscale/\(token.name)" : "openscale/\(token.name)/\(part + 1)"
    }

    // MARK: - Days of Health Connect

    /// Separates days that may be stored from past days whose value fell.
    ///
    /// The value of a past day must not fall, because an incomplete count looks like a complete one.
    func rising(_ records: [PhoneRecord], of token: PhoneToken, today: LocalDate) async throws -> (
        rising: [PhoneRecord], falling: [PhoneRecord]
    ) {
        let days = records.contains { if case .day = $0.record { true } else { false } }
        guard days else { return (records, []) }
        let known = Self.days(try await state.text("days/\(token.name)") ?? "")
        let falling = records.indices.filter { index in
            guard case .day(let day) = records[index].record, day.date < today else { return false }
            return known["\(day.type) \(day.date.text)"].map { $0 > day.value } ?? false
        }
        let kept = records.indices.filter { !falling.contains($0) }
        return (kept.map { records[$0] }, falling.map { records[$0] })
    }

    /// Notes that the hub has these days.
    func noteDays(_ records: [PhoneRecord], of token: PhoneToken) async throws {
        let key = "days/\(token.name)"
        var known: [String: Double]?
        for record in records {
            guard case .day(let day) = record.record else { continue }
            if known == nil { known = Self.days(try await state.text(key) ?? "") }
            known?["\(day.type) \(day.date.text)"] = day.value
        }
        guard let known else { return }
        // The window of the app is two days; if chosen by hand, some weeks.
        let lines = known.map { "\($0.key) \($0.value)" }.sorted {
            $0.split(separator: " ")[1] < $1.split(separator: " ")[1]
        }
        try await state.set(key, to: .text(lines.suffix(2_000).joined(separator: "\n")))
    }

    private static func days(_ text: String) -> [String: Double] {
        Dictionary(
            text.split(separator: "\n").compactMap { line in
                let parts = line.split(separator: " ")
                guard parts.count == 3, let value = Double(parts[2]) else { return nil }
                return ("\(parts[0]) \(parts[1])", value)
            }, uniquingKeysWith: { _, last in last })
    }
}
