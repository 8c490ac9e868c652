import JSON
import PhonePayloads
import PluginKit

/// Parses the body of a post and stores its records with the hub.
struct Intake: Sendable {
    let hub: any IngestHub
    let settings: IngestSettings
    let memory: IntakeState
    let tokens: TokenStore
    let complaints: RefusalReports

    enum IntakeError: Error {
        /// The token was revoked in the meantime.
        case revoked
    }

    /// A post with its sender and headers.
    struct Post: Sendable {
        var body: BodyBytes
        var format: PhoneFormat
        var token: PhoneToken
        var grouping: String?
        var repeats: String?
        /// Whether it arrives when it was made; false for a message that a broker may have kept.
        var isFresh = true
        /// Whether its sender may send it again, as after an answer with a failure.
        var mayRepeat = true

        /// Whether its sender does not repeat a failed post.
        var isForgotten: Bool { format == .bleScaleSync || format == .plain }
    }

    /// Prepares the state; called at each start before the first post.
    func begin() async throws {
        try await memory.begin(hasTokens: !tokens.list().isEmpty, now: hub.clock.now())
    }

    /// Reads and stores a post; returns its report when the hub has answered for every record.
    ///
    /// Call it for one post of a token at a time, because the order decides which version of a record is newer.
    ///
    /// - Throws: `PhoneError` if no record was stored; after other errors stored records stay, and the same post again stores the rest.
    func take(_ post: Post) async throws -> IngestReport {
        let bytes = try post.body.bytes()
        let now = hub.clock.now()
        var context = try await context(of: post, arrival: now)
        var arrival: IntakeState.Arrival?
        if post.isForgotten, post.isFresh {
            // Fail here if the body is not JSON, so that its arrival is not remembered.
            _ = try PhoneBody(bytes, format: post.format, context: context)
            let digest = IntakeState.digest(bytes, post.repeats)
            let found = try await memory.arrival(of: digest, by: post.token, now: now)
            context.arrival = found.time
            arrival = found
        }
        var report = IngestReport()
        var body = try PhoneBody(bytes, format: post.format, context: context)
        while let piece = body.next() {
            guard try await tokens.isGood(post.token) else { throw IntakeError.revoked }
            try await store(piece, post, now, &report)
        }
        if let arrival { try await memory.hasStored(arrival, of: post.token, now: hub.clock.now()) }
        return report
    }

    private func context(of post: Post, arrival: Int64) async throws -> PhoneContext {
        let person = post.token.person.map { hub.persons.named($0)?.name ?? $0 }
        var context = PhoneContext(
            plugin: hub.kind, device: post.token.name, person: person, zone: zone(of: person), arrival: arrival,
            grouping: post.grouping)
        context.displayName = person.flatMap { hub.persons.named($0)?.displayName }
        context.otherPersons = hub.persons.filter { $0.name != person }.flatMap { [$0.name, $0.displayName] }
            .compactMap(\.self)
        (context.percent, context.workoutNames) = (settings.percent, settings.workoutNames)
        (context.takesComputed, context.isFresh) = (settings.takesComputed, post.isFresh)
        switch post.format {
        case .healthConnectWebhook, .healthConnectGateway: context.appsSince = try await memory.appsSince
        case .openScale, .openScaleHistory: context.scaleUsers = try await memory.ledger(of: post.token).userNumbers
        default: break
        }
        return context
    }

    private func zone(of person: String?) -> String {
        person.flatMap { hub.persons.named($0)?.zone } ?? hub.persons.lazy.compactMap(\.zone).first ?? "UTC"
    }

    // MARK: - One piece

    private func store(_ piece: PhoneBatch, _ post: Post, _ now: Int64, _ report: inout IngestReport) async throws {
        report.note(piece)
        var records = piece.records + piece.kept
        switch post.format {
        case .healthAutoExport: records = try await memory.settle(records, of: post.token, arrival: now)
        case .healthConnectWebhook:
            let zone = zone(of: post.token.person)
            let today = LocalDay.of(Timestamp(microseconds: now), sampleZone: nil, personZone: zone)
            guard let today else { break }
            let (rising, falling) = try await memory.rising(records, of: post.token, today: today)
            records = rising
            for record in falling {
                report.add(
                    PhoneOmission(
                        record.place, "less than the stored value of that day: the total of a past day does not fall")
                )
            }
        default: break
        }
        let taken = records.isEmpty ? [] : try await store(records, &report)
        if case .healthConnectWebhook = post.format { try await memory.noteDays(taken, of: post.token) }
        if !piece.scaleSteps.isEmpty { try await follow(piece.scaleSteps, post, &report) }
    }

    /// Stores records in calls of one or more whole groups; a long group that may be split goes out in several.
    ///
    /// - Returns: the records that the hub has stored.
    private func store(_ records: [PhoneRecord], _ report: inout IngestReport) async throws -> [PhoneRecord] {
        var (part, taken): ([PhoneRecord], [PhoneRecord]) = ([], [])
        var size = 0
        for record in records {
            let bytes = record.estimatedBytes
            if size + bytes > Self.callBytes, part.last.map(record.mayFollow) ?? false {
                taken += try await send(part, &report)
                (part, size) = ([], 0)
            }
            part.append(record)
            size += bytes
        }
        return taken + (try await send(part, &report))
    }

    /// Less than the hub accepts in one frame.
    private static let callBytes = 800_000

    private func send(_ records: [PhoneRecord], _ report: inout IngestReport) async throws -> [PhoneRecord] {
        guard !records.isEmpty else { return [] }
        var taken: [PhoneRecord] = []
        let old = hub.clock.now() - 48 * 3_600_000_000
        // A first post of a year must not flood the subscribers.
        let isHistory = records.allSatisfy { $0.record.end.map { $0 < old } ?? true }
        for (record, result) in zip(records, try await results(of: records, isHistory)) {
            switch result {
            case .stored: report.stored += 1
            case .duplicate: report.duplicate += 1
            case .rejected(let code, let reason):
                report.add(PhoneRejection(record.place, code.rawValue, reason))
                continue
            }
            taken.append(record)
        }
        return taken
    }

    /// Sends a call; splits a call that is refused as a whole, so that only the refused group is lost.
    private func results(of records: [PhoneRecord], _ isHistory: Bool) async throws -> [RecordResult] {
        do throws(GiveError) {
            return try await hub.store(records.map(\.record), isBackfill: isHistory)
        } catch {
            guard error.code == .invalid || error.code == .refused else { throw error }
            let starts = records.indices.dropFirst().filter { records[$0].mayFollow(records[$0 - 1]) }
            guard !starts.isEmpty else {
                let code: RecordRejection.Code = records.count > 1 ? .group : .size
                return records.map { _ in .rejected(code, reason: error.message) }
            }
            let middle = starts[starts.count / 2]
            return try await results(of: Array(records[..<middle]), isHistory)
                + results(of: Array(records[middle...]), isHistory)
        }
    }

    // MARK: - openScale

    private func follow(_ steps: [OpenScaleStep], _ post: Post, _ report: inout IngestReport) async throws {
        var ledger = try await memory.ledger(of: post.token)
        for step in steps {
            let gone = ledger.gone(by: step).compactMap { RecordKey($0) }
            let source = Source(plugin: hub.kind, device: post.token.name, account: "openscale")
            for first in stride(from: 0, to: gone.count, by: 500) {
                let keys = Array(gone[first..<min(gone.count, first + 500)])
                for result in try await hub.retract(keys, of: source, reason: "taken away in openScale") {
                    switch result {
                    case .stored: report.retracted += 1
                    case .duplicate: report.duplicate += 1
                    // The record never arrived, or a person has retracted it.
                    case .rejected: break
                    }
                }
            }
            ledger.apply(step)
        }
        // Saved after the retractions: if the process is killed in between, it repeats them.
        try await memory.keep(ledger, of: post.token)
    }

    /// Writes a post that its sender will not repeat to the disk; its records are sent when the hub is available.
    ///
    /// - Returns: kept records as `stored`, and the refused ones; nil if the sender repeats posts, or there are too many records.
    func keep(_ post: Post) async throws -> IngestReport? {
        guard post.isForgotten else { return nil }
        let bytes = try post.body.bytes()
        // Fail here if the body is not JSON, so that its arrival is not remembered.
        _ = try PhoneBody(bytes, format: post.format, context: await context(of: post, arrival: 0))
        let digest = IntakeState.digest(bytes, post.repeats)
        let arrival = try await memory.arrival(of: digest, by: post.token, now: hub.clock.now())
        var body = try PhoneBody(
            bytes, format: post.format, context: await context(of: post, arrival: arrival.time))
        var (records, report): ([Record], IngestReport) = ([], IngestReport())
        while let piece = body.next() {
            report.note(piece)
            records += piece.records.map(\.record)
            guard records.count <= Self.maximumKept else { return nil }
        }
        if !records.isEmpty { try await hub.give(records) }
        report.stored = records.count
        guard !post.mayRepeat else { return report }
        try await memory.hasStored(arrival, of: post.token, now: hub.clock.now())
        _ = try await memory.noteReading(digest, of: post.token)
        return report
    }

    private static let maximumKept = 1_000

    /// Remembers a reading that the broker retained; returns whether it was new.
    func noteReading(_ post: Post) async throws -> Bool {
        try await memory.noteReading(IntakeState.digest(try post.body.bytes(), post.repeats), of: post.token)
    }
}

extension PhoneRecord {
    /// Whether a call may end between two records; a group stays in one call.
    func mayFollow(_ other: PhoneRecord) -> Bool { isLoose || group == nil || group != other.group }

    var group: String? { if case .sample(let sample) = record { sample.group } else { nil } }

    /// Whether its group may be split over several batches: a route or an ECG may be long.
    var isLoose: Bool {
        guard case .sample(let sample) = record else { return false }
        return sample.type == .workoutRoute || sample.type.rawValue == "x.hae.ecgVoltages"
    }

    /// Estimated bytes of the record as it is sent.
    var estimatedBytes: Int {
        guard case .sample(let sample) = record else { return 400 }
        return 400 + (sample.metadata?.text.utf8.count ?? 0) + (sample.extra?.text.utf8.count ?? 0)
    }
}

extension Record {
    /// The end of a sample; nil for other records.
    fileprivate var end: Int64? { if case .sample(let sample) = self { sample.end.microseconds } else { nil } }
}
