import GRDB
import HubWire
import Samples

extension WriteTransaction {
    /// Why a new sample or day, or a new version, may not be stored; `nil` if it may.
    mutating func refusal(of key: StreamKey, extra: JSONObject?) throws -> RecordRejection? {
        if try !caches.mayUse(key, in: db) {
            return RecordRejection(reached: .streams, caches.allowance.limits.streams)
        }
        guard let extra else { return nil }
        let allowance = caches.allowance
        return allowance.used.extraBytes + Int64(extra.text.utf8.count) > allowance.limits.extraBytes
            ? RecordRejection(reached: .extraBytes, allowance.limits.extraBytes) : nil
    }

    /// Why a record may not get another version from its source.
    func refusalOfVersion(_ number: Int64) throws -> RecordRejection? {
        let limit = caches.allowance.limits.versions
        guard limit != .max, try versions(of: number) >= limit else { return nil }
        return RecordRejection(reached: .versions, limit)
    }

    mutating func charge(_ extra: JSONObject?) {
        if let extra { caches.allowance.used.extraBytes += Int64(extra.text.utf8.count) }
    }

    // MARK: - Groups

    /// The members of groups that would exceed a limit.
    ///
    /// The whole group is refused before any of it is stored.
    ///
    /// Close to a limit, all new members of a group are refused. A group that has begun to be stored therefore never reaches the limit in the middle.
    mutating func membersBeyondLimits(of batch: IntakeBatch) throws -> [Int: RecordRejection] {
        let limits = caches.allowance.limits
        guard limits != .none else { return [:] }
        let isNear = caches.allowance.isNear(batch.items.count)
        var refusals: [Int: RecordRejection] = [:]
        var members: [String: (count: Int64, plugin: String)] = [:]
        for (place, item) in batch.items.enumerated() {
            guard case .success(let intake) = item, case .sample(let sample) = intake.record, let group = sample.group
            else { continue }
            members[group, default: (0, sample.source.plugin)].count += 1
            let known = try find(sample.source, sample.key)
            guard try known.map({ addsInformation(sample, for: try sourceVersion(of: $0)) }) ?? true else { continue }
            if isNear {
                refusals[place] = caches.allowance.nearest
            } else if let known, try versions(of: known.number) + Int64(batch.items.count) > limits.versions {
                refusals[place] = RecordRejection(reached: .versions, limits.versions)
            }
        }
        for (group, (count, plugin)) in members {
            let stored = try size(of: group, plugin, limit: limits.groupSamples)
            guard stored + count > limits.groupSamples else { continue }
            for (place, item) in batch.items.enumerated() {
                guard case .success(let intake) = item, case .sample(let sample) = intake.record, sample.group == group,
                    try find(sample.source, sample.key)?.sample.group != group
                else { continue }
                refusals[place] = RecordRejection(reached: .groupSamples, limits.groupSamples)
            }
        }
        return refusals
    }

    /// The number of samples of one plugin in a group, counted up to a limit.
    private func size(of group: String, _ plugin: String, limit: Int64) throws -> Int64 {
        let sql = """
            SELECT count(*) FROM (SELECT 1 FROM sample INDEXED BY sample_group
                WHERE grouping = ?1 AND source IN (SELECT id FROM source WHERE plugin = ?2) LIMIT ?3)
            """
        let statement = try RawStatement(cached: sql, in: db)
        defer { statement.clear() }
        statement.bind(1, group)
        statement.bind(2, plugin)
        statement.bind(3, limit)
        return try statement.step() ? statement.integer(0) : 0
    }

    // MARK: - Versions

    /// The number of superseded versions of a record, including those hidden by manual changes.
    func versions(of number: Int64) throws -> Int64 { try VersionCount.of(number, in: db) }

    /// Counts another superseded version of a record.
    func countVersion(of number: Int64) throws {
        let statement = try RawStatement(
            cached: """
                INSERT INTO revision (number, count) VALUES (?1, 1) ON CONFLICT (number) DO UPDATE SET count = count + 1
                """, in: db)
        statement.bind(1, number)
        try statement.run()
    }
}

/// The table `revision`: a row for each record with superseded versions.
enum VersionCount {
    static func of(_ number: Int64, in db: Database) throws -> Int64 {
        let statement = try RawStatement(cached: "SELECT count FROM revision WHERE number = ?1", in: db)
        defer { statement.clear() }
        statement.bind(1, number)
        return try statement.step() ? statement.integer(0) : 0
    }
}
