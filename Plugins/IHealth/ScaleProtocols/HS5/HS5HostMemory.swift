/// Reads the users' memories one after the other, and handles the results of deliveries.
extension HS5Host {
    /// Reads the next user's memory; after the last one, opens the measurement.
    mutating func next(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        request = nil
        if asked != nil { return list(at: now, &actions) }
        if let user = round.first {
            phase = .openingMemory
            return send(.openMemory(user.position, serial: user.serial, now.wall), at: now, &actions)
        }
        roundAt = now.uptime + settings.memoryEvery
        guard let serial = settings.measures, let place = users.firstIndex(where: { $0 == serial }),
            let position = HS5Position(place)
        else { return phase = .idle }
        phase = .openingMeasurement
        send(.measure(position, serial: serial), at: now, &actions)
    }

    mutating func counted(_ count: Int, at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        guard count > 0 else {
            actions += [
                .event(.memoryCount(0)), .event(.memoryFinish(records: 0)), .event(.deviceError(.noMemory(.hs5))),
            ]
            return endMemory(at: now, &actions)
        }
        if count > 200 { actions.append(.event(.protocolWarning(.memoryCountAboveLimit(count)))) }
        transfer = Transfer(announced: min(count, 200))
        actions += [.event(.memoryStart(true)), .event(.memoryCount(min(count, 200))), .event(.memoryProgress(0))]
        phase = .transferring
        send(.memoryPacket, at: now, &actions)
    }

    private mutating func endMemory(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        if !round.isEmpty { round.removeFirst() }
        phase = .endingMemory
        send(.end, at: now, &actions)
    }

    mutating func took(
        _ records: [HS5Record], more: Bool, announced: Int, trailing: Int, at now: ScaleMoment,
        _ actions: inout [ScaleAction]
    ) {
        request = nil
        if trailing > 0 || announced != records.count {
            actions.append(
                .event(.protocolWarning(.memoryCountDiffers(announced: announced, received: records.count))))
        }
        let serial = round.first?.serial
        var readings: [ScaleReading] = []
        for record in records {
            guard (1...HS5Host.capacity).contains(record.tenthsOfKilogram) else {
                actions.append(.event(.deviceError(.overCapacity(.hs5))))
                continue
            }
            readings.append(reading(record, serial))
        }
        let new = readings.filter { !deliveries.isKept(key(of: $0)) }
        for reading in readings where !new.contains(reading) {
            actions.append(.event(.memoryRecord(reading, isRepeat: true)))
        }
        transfer?.received += readings.count - new.count
        guard !new.isEmpty else { return went(on: more, at: now, &actions) }
        deliver(new, from: .memory, .packet(more: more), &actions)
    }

    private mutating func went(on more: Bool, at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        guard phase == .transferring, var current = transfer else { return }
        if more {
            let done = min(Double(current.received) / Double(current.announced), 1)
            if done > current.progress, done < 1 {
                current.progress = done
                actions.append(.event(.memoryProgress(done)))
            }
            transfer = current
            return send(.memoryPacket, at: now, &actions)
        }
        actions += [.event(.memoryProgress(1)), .event(.memoryFinish(records: current.received))]
        transfer = nil
        endMemory(at: now, &actions)
    }

    func reading(_ record: HS5Record, _ serial: UInt32?) -> ScaleReading {
        ScaleReading(
            key: record.key, time: record.time, tenthsOfKilogram: record.tenthsOfKilogram,
            composition: record.composition, user: serial, raw: record.bytes)
    }

    /// A key includes the user, and whether there is a composition, because a weight alone does not make its later composition known.
    private func key(of reading: ScaleReading) -> [UInt8] {
        reading.key + (reading.user ?? 0).bigEndianBytes + [reading.isComposed ? 1 : 0]
    }

    // MARK: Keeping

    mutating func deliver(
        _ readings: [ScaleReading], from source: ScaleDelivery.Source, _ origin: Origin,
        _ actions: inout [ScaleAction]
    ) {
        let delivery = deliveries.add(readings, from: source, keys: readings.map(key), origin)
        actions.append(delivery.map { .deliver($0) } ?? .event(.protocolWarning(.tooManyUnanswered)))
    }

    /// Handles the caller's answer to a delivery.
    mutating func resolve(_ token: ScaleToken, isKept: Bool, at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        guard let item = deliveries.answer(token, isKept: isKept), item.isCurrent, phase != .closing, phase != .offline
        else { return }
        guard isKept else {
            // The scale still holds records that were not acknowledged: it gets no message and is read again in the next round.
            if phase == .transferring || phase == .measuring { rest(at: now) }
            (transfer, round) = (nil, [])
            return
        }
        switch item.context {
        case .packet(let more):
            transfer?.received += item.readings.count
            actions += item.readings.map { .event(.memoryRecord($0, isRepeat: false)) }
            went(on: more, at: now, &actions)
        case .measurement(let command):
            for reading in item.readings {
                if reading.composition != nil {
                    actions.append(.event(.bodyComposition(reading, isRepeat: false)))
                } else {
                    actions.append(.event(.stableWeight(reading, isRepeat: false)))
                }
            }
            if let command { confirm(command, at: now) }
        }
    }
}
