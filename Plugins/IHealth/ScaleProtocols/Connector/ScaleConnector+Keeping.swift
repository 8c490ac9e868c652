import Platform
import PluginKit

extension ScaleConnector {
    /// Stores the readings of `delivery`; returns whether all of them are durable now.
    mutating func keep(_ delivery: ScaleDelivery) async throws -> Bool {
        // The clock may have been wrong, as found, when the memory was filled; the current weighing is dated by the clock that has been set.
        let deviation = delivery.source == .memory ? scale.deviation.found : scale.deviation.now
        let isKept = try await keep(delivery.readings, delivery.source) { _ in deviation }
        if isKept, delivery.source == .weighing { scale.impedanceWeight = nil }
        return isKept
    }

    /// Stores weighings that a command has fetched from the vendor's cloud.
    mutating func keep(_ weighings: [CloudWeighing]) async throws -> ScaleCommandQueue.Answer {
        guard scale.device != nil else {
            return .refused("\(setup.model.rawValue): it is not known yet which scale it is; set device_id, or wake it")
        }
        let offsets = Dictionary(
            weighings.map { (KnownWeighings.Key($0.reading), $0.offsetMinutes) },
            uniquingKeysWith: { first, _ in first })
        let clock = clock
        let isKept = try await keep(weighings.map(\.reading), .cloud) { reading in
            // The service reports the time zone of each reading. In another zone the scale's clock differs from this machine's.
            guard let wall = reading.time, let here = clock.place(wall).time.offsetMinutes,
                let there = offsets[KnownWeighings.Key(reading)] ?? nil
            else { return nil }
            return (there - Int(here)) * 60
        }
        return isKept ? .done : .refused("the records cannot be kept now, because the spool is full; try again later")
    }

    /// - Parameter deviation: the error, in seconds, of the clock that dated a reading; `nil` if unknown.
    private mutating func keep(
        _ readings: [ScaleReading], _ source: ScaleDelivery.Source, deviation: (ScaleReading) -> Int?
    ) async throws -> Bool {
        guard let device = scale.device else {
            hub.logger.warning("weighings are not acknowledged, because it is not known yet which scale they are of")
            return false
        }
        let mapping = WeighingMapping(
            source: hub.source(device: device), clock: clock, isGroup: setup.model == .hs5,
            muscleUnit: setup.muscleUnit)
        var (next, samples, undated) = (scale.known, [Sample](), [ScaleReading]())
        for reading in readings {
            let key = next.key(of: reading)
            let old = next[key]
            // A weight alone may have been recorded before its composition arrived, and adds nothing if it arrives again afterwards.
            if let old, reading.isComposed ? old.isSettled && old.isComposed : old.isSettled || old.isComposed {
                next.touch(key)
                continue
            }
            guard let reading = mapping.dated(reading), let wall = reading.time else {
                if old?.isUndated != true { undated.append(reading) }
                next.note(.init(key: key, isUndated: true))
                continue
            }
            let entry = entry(of: reading, source, key, wall, old, &next, mapping, deviation(reading))
            // A copy of the weight alone adds nothing.
            let isCopy = old == nil && !reading.isComposed && entry.twin.flatMap { next[$0] }?.isSettled == true
            if !isCopy { samples += mapping.samples(weighing(of: reading, entry, wall)) }
            next.note(entry)
            // A bridge may repeat the weight that came before this composition: it is the same weighing.
            if let shown = reading.shownAs, entry.twin?.bytes != shown {
                next.note(
                    .init(
                        key: .init(bytes: shown, user: key.user), tenthsOfKilogram: reading.tenthsOfKilogram,
                        isComposed: true, twin: entry.twin ?? key))
            }
        }
        guard try await save(samples, next, undated: undated, device) else { return false }
        next.settle()
        scale.known = next
        for reading in undated { await scale.reports.undated(.init(reading)) }
        return true
    }

    /// The entry to remember for a reading that is given now.
    private func entry(
        of reading: ScaleReading, _ source: ScaleDelivery.Source, _ key: KnownWeighings.Key, _ wall: WallTime,
        _ old: KnownWeighings.Entry?,
        _ next: inout KnownWeighings, _ mapping: WeighingMapping, _ deviation: Int?
    ) -> KnownWeighings.Entry {
        // The first judgement stays, unless there was none because the date was unreadable.
        var entry = old.flatMap { $0.isUndated ? nil : $0 } ?? KnownWeighings.Entry(key: key)
        entry.isSettled = true
        // The weight came alone, and the weight at its impedance measurement after it.
        if source == .weighing, old?.isComposed == false, entry.impedanceWeight == nil {
            entry.impedanceWeight = scale.impedanceWeight
        }
        (entry.tenthsOfKilogram, entry.isComposed) = (reading.tenthsOfKilogram, reading.isComposed)
        if old == nil || old?.isUndated == true {
            if reading.isDatedByHost {
                entry.hostTime = clock.instant(of: wall, near: hub.clock.now())
            } else {
                entry.isClockSuspect = mapping.isClockSuspect(wall, deviation: deviation, now: hub.clock.now())
            }
            if var twin = twin(of: reading, source, next) {
                entry.twin = twin.key
                (entry.hostTime, entry.liveWall) = (twin.hostTime, twin.liveWall)
                entry.isClockSuspect = twin.isClockSuspect
                entry.impedanceWeight = twin.impedanceWeight ?? (source == .weighing ? scale.impedanceWeight : nil)
                twin.isTwin = true
                next.note(twin)
            } else if source == .weighing, setup.model != .hs3 || reading.isDatedByHost {
                // A HS3 has the same bytes for a current weighing and for its copy in the memory.
                (entry.liveWall, entry.impedanceWeight) = (wall.secondsSince2000, scale.impedanceWeight)
            }
        }
        return entry
    }

    /// The recorded weighing that is the same as this reading.
    private func twin(
        of reading: ScaleReading, _ source: ScaleDelivery.Source, _ known: KnownWeighings
    ) -> KnownWeighings.Entry? {
        let shown = reading.shownAs.flatMap { bytes in
            known[.init(bytes: bytes, user: reading.user)] ?? known[.init(bytes: bytes)]
        }
        if let shown, shown.twin == nil { return shown }
        guard source == .weighing else { return known.twin(of: reading) }
        return reading.isComposed ? known.twin(of: reading, amongDatedByHost: true) : nil
    }

    /// A copy of a weighing takes its identity, time and impedance from the original.
    private func weighing(
        of reading: ScaleReading, _ entry: KnownWeighings.Entry, _ own: WallTime
    ) -> Weighing {
        let wall = entry.twin == nil ? own : entry.liveWall.flatMap { WallTime(secondsSince2000: $0) } ?? own
        let time: Weighing.Time =
            if let host = entry.hostTime { .host(host) } else if let instant = reading.instant, entry.twin == nil {
                .instant(LocalClock.microseconds(since2000: instant), isSuspect: entry.isClockSuspect)
            } else { .scale(wall, isSuspect: entry.isClockSuspect) }
        // The bytes that a scale has sent; a bridge's reading in JSON has none.
        let raw = reading.isComposed && reading.raw.count <= Self.longestRecord ? reading.raw : nil
        return Weighing(
            key: (entry.twin ?? entry.key).text,
            time: time,
            tenthsOfKilogram: reading.tenthsOfKilogram, composition: reading.composition, user: entry.key.user,
            slot: entry.key.user.flatMap { user in scale.users.firstIndex { $0 == user } },
            impedanceWeight: entry.impedanceWeight, raw: raw)
    }

    /// Maximum number of bytes, more than a record of any scale has.
    private static let longestRecord = 32

    /// Maximum number of characters for undated weighings in the state of one scale, far more than its memory holds.
    private static let undatedLimit = 1 << 20

    /// Puts the records into the spool and the known weighings into the state, in one commit.
    ///
    /// Undated weighings are stored there completely, one line each with name and bytes in hex digits, because a scale may forget them once
    /// they are acknowledged.
    private func save(
        _ samples: [Sample], _ next: KnownWeighings, undated: [ScaleReading], _ device: String
    ) async throws -> Bool {
        guard !next.changed.isEmpty else { return true }
        do {
            var kept = next.changes(of: device)
            kept.updateValue(.text(next.rule), forKey: "rule-\(device)")
            if !undated.isEmpty {
                let old = try await hub.state.text("undated-\(device)") ?? ""
                let lines = old.split(separator: "\n").map(String.init)
                let new = undated.map { KnownWeighings.Key($0).text + " " + $0.raw.hexadecimal }
                    .filter { !lines.contains($0) }
                let text = (lines + new).joined(separator: "\n")
                guard text.utf8.count <= Self.undatedLimit else {
                    hub.logger.warning("weighings are not acknowledged: too many of them have no readable date")
                    return false
                }
                kept["undated-\(device)"] = .text(text)
            }
            let changes = kept
            if samples.isEmpty {
                try await hub.state.transaction { transaction in
                    for (key, value) in changes { try transaction.set(key, to: value) }
                }
            } else {
                try await hub.give(samples, saving: changes)
            }
            return true
        } catch let error as GiveError where !error.mayRetry {
            throw error
        } catch {
            // The scale repeats unacknowledged weighings, and shows its memory again in the next session.
            hub.logger.warning("weighings are not acknowledged, because they cannot be kept: \(error)")
            return false
        }
    }
}
