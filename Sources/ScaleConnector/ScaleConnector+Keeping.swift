import PluginKit
import ScaleFrames

extension ScaleConnector {
    /// Whether all readings of `delivery` are durable now.
    mutating func keep(_ delivery: ScaleDelivery) async throws -> Bool {
        // The memory was filled while the clock was as wrong as it was found; what is weighed now is dated by the clock of
        // now, which has been set.
        let deviation = delivery.source == .memory ? self.deviation.found : self.deviation.now
        let isKept = try await keep(delivery.readings, delivery.source) { _ in deviation }
        if isKept, delivery.source == .weighing { impedanceWeight = nil }
        return isKept
    }

    /// Keeps what a command has fetched from the vendor's cloud.
    mutating func keep(_ weighings: [CloudWeighing]) async throws -> ScaleDesk.Answer {
        guard device != nil else {
            return .refused("\(setup.model.rawValue): nobody knows yet which scale it is; set device_id, or wake it")
        }
        let offsets = Dictionary(
            weighings.map { (KnownWeighings.Key($0.reading), $0.offsetMinutes) },
            uniquingKeysWith: { first, _ in first })
        let clock = clock
        let isKept = try await keep(weighings.map(\.reading), .cloud) { reading in
            // The service says in which zone the date is meant; a scale elsewhere has another wall clock than the one beside the hub.
            guard let wall = reading.time, let here = clock.place(wall).time.offsetMinutes,
                let there = offsets[KnownWeighings.Key(reading)] ?? nil
            else { return nil }
            return (there - Int(here)) * 60
        }
        return isKept ? .done : .refused("the records cannot be kept now, because the spool is full; try again later")
    }

    /// - Parameter deviation: by how many seconds the clock was wrong that a reading was dated by; nil where unknown.
    private mutating func keep(
        _ readings: [ScaleReading], _ source: ScaleDelivery.Source, deviation: (ScaleReading) -> Int?
    ) async throws -> Bool {
        guard let device else {
            hub.logger.warning("weighings are not acknowledged, because nobody knows yet which scale they are of")
            return false
        }
        let mapping = WeighingMapping(
            source: hub.source(device: device), clock: clock, isGroup: setup.model == .hs5,
            muscleUnit: setup.muscleUnit)
        var (next, samples, undated) = (known, [Sample](), [ScaleReading]())
        for reading in readings {
            let key = KnownWeighings.Key(reading)
            let old = known[key]
            // A weight alone may have been shown and recorded before its composition came.
            if let old, old.isSettled, old.isComposed || !reading.isComposed {
                next.touch(key)
                continue
            }
            guard let reading = mapping.dated(reading), let wall = reading.time else {
                if old?.isUndated != true { undated.append(reading) }
                next.note(.init(key: key, isUndated: true))
                continue
            }
            let entry = entry(of: reading, source, key, wall, old, &next, mapping, deviation(reading))
            samples += mapping.samples(weighing(of: reading, entry, wall))
            next.note(entry)
        }
        guard try await save(samples, next, undated: undated.map(\.raw), device) else { return false }
        known = next
        for reading in undated { await reports.undated(.init(reading)) }
        return true
    }

    /// What is remembered of a reading that is given now.
    private func entry(
        of reading: ScaleReading, _ source: ScaleDelivery.Source, _ key: KnownWeighings.Key, _ wall: WallTime,
        _ old: KnownWeighings.Entry?,
        _ next: inout KnownWeighings, _ mapping: WeighingMapping, _ deviation: Int?
    ) -> KnownWeighings.Entry {
        // The first judgement stays, unless there was none because the date could not be read.
        var entry = old.flatMap { $0.isUndated ? nil : $0 } ?? KnownWeighings.Entry(key: key)
        entry.isSettled = true
        (entry.tenthsOfKilogram, entry.isComposed) = (reading.tenthsOfKilogram, reading.isComposed)
        if old == nil || old?.isUndated == true {
            if reading.isDatedByHost {
                entry.hostTime = clock.instant(of: wall, near: hub.clock.now())
            } else {
                entry.isClockSuspect = mapping.isClockSuspect(wall, deviation: deviation, now: hub.clock.now())
            }
            // A HS3 has the same bytes for a weighing of now and for the copy in its memory.
            if source == .weighing, setup.model != .hs3 {
                (entry.liveWall, entry.impedanceWeight) = (wall.secondsSince2000, impedanceWeight)
            } else if source != .weighing, var twin = next.twin(of: reading) {
                entry.twin = twin.key
                (entry.hostTime, entry.liveWall) = (twin.hostTime, twin.liveWall)
                (entry.isClockSuspect, entry.impedanceWeight) = (twin.isClockSuspect, twin.impedanceWeight)
                twin.isTwin = true
                next.note(twin)
            }
        }
        return entry
    }

    /// A copy of a weighing has the identity, the time and the impedance of the weighing it is a copy of.
    private func weighing(
        of reading: ScaleReading, _ entry: KnownWeighings.Entry, _ own: WallTime
    ) -> Weighing {
        let wall = entry.twin == nil ? own : entry.liveWall.flatMap { WallTime(secondsSince2000: $0) } ?? own
        let time: Weighing.Time =
            if let host = entry.hostTime { .host(host) } else if let instant = reading.instant, entry.twin == nil {
                .instant(LocalClock.microseconds(since2000: instant), isSuspect: entry.isClockSuspect)
            } else { .scale(wall, isSuspect: entry.isClockSuspect) }
        // The bytes of a scale; what a bridge said in words is no such thing.
        let raw = reading.isComposed && reading.raw.count <= Self.longestRecord ? reading.raw : nil
        return Weighing(
            key: (entry.twin ?? entry.key).text,
            time: time,
            tenthsOfKilogram: reading.tenthsOfKilogram, composition: reading.composition, user: reading.user,
            slot: reading.user.flatMap { user in users.firstIndex { $0 == user } },
            impedanceWeight: entry.impedanceWeight, raw: raw)
    }

    /// Bytes; more than a record of any scale has.
    private static let longestRecord = 32

    /// Characters of what could not be dated, in the state of one scale; far more than its memory.
    private static let undatedLimit = 1 << 20

    /// Puts the records into the spool and what is known into the state, in one commit.
    ///
    /// What could not be dated is kept there whole, as lines of hex digits: once acknowledged, a scale may forget it.
    private func save(
        _ samples: [Sample], _ next: KnownWeighings, undated: [[UInt8]], _ device: String
    ) async throws -> Bool {
        guard next != known else { return true }
        do {
            var kept: [String: StateValue?] = [
                "weighings-\(device)": .bytes(next.bytes), "rule-\(device)": .text(next.rule),
            ]
            if !undated.isEmpty {
                let old = try await hub.state.text("undated-\(device)") ?? ""
                let lines = old.split(separator: "\n").map(String.init)
                let new = undated.map(KnownWeighings.Key.hex).filter { !lines.contains($0) }
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
            // The scale repeats what is not acknowledged, and shows its memory again in the next session.
            hub.logger.warning("weighings are not acknowledged, because they cannot be kept: \(error)")
            return false
        }
    }
}
