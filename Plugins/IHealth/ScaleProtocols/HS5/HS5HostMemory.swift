/// Reads the users' memories one after the other, and handles the results of deliveries.
extension HS5Host {
    /// Reads the next user's memory; after the last one, opens the measurement.
    mutating func next() {
        request = nil
        if asked != nil { return list() }
        if let user = round.first {
            phase = .openingMemory
            return send(.openMemory(user.position, serial: user.serial, now.wall))
        }
        roundAt = now.uptime + settings.memoryEvery
        guard let serial = settings.measures, let position = users.position(of: serial) else { return phase = .idle }
        phase = .openingMeasurement
        send(.measure(position, serial: serial))
    }

    mutating func counted(_ count: Int) {
        guard announced(count) else { return endMemory() }
        reportStart()
        phase = .transferring
        send(.memoryPacket)
    }

    private mutating func endMemory() {
        if !round.isEmpty { round.removeFirst() }
        phase = .endingMemory
        send(.end)
    }

    mutating func took(_ records: [HS5Record], more: Bool, announced: Int, trailing: Int) {
        request = nil
        if trailing > 0 || announced != records.count {
            warn(.memoryCountDiffers(announced: announced, received: records.count))
        }
        let serial = round.first?.serial
        var readings: [ScaleReading] = []
        for record in records {
            guard (1...Self.model.capacity).contains(record.tenthsOfKilogram) else {
                report(.overCapacity(Self.model))
                continue
            }
            readings.append(reading(record, serial))
        }
        let new = readings.filter { !deliveries.isKept(key(of: $0)) }
        for reading in readings where !new.contains(reading) {
            report(.memoryRecord(reading, isRepeat: true))
        }
        transfer?.received += readings.count - new.count
        guard !new.isEmpty else { return went(on: more) }
        deliver(new, from: .memory, .packet(more: more))
    }

    private mutating func went(on more: Bool) {
        guard phase == .transferring, transfer != nil else { return }
        guard more else {
            finishTransfer()
            return endMemory()
        }
        reportProgress()
        send(.memoryPacket)
    }

    func reading(_ record: HS5Record, _ serial: UInt32?) -> ScaleReading {
        ScaleReading(
            key: record.key, time: record.time, tenthsOfKilogram: record.tenthsOfKilogram,
            composition: record.composition, user: serial, raw: record.bytes)
    }

    /// A key includes the user, and whether there is a composition, because a weight alone does not make its later composition known.
    private func key(of reading: ScaleReading) -> [UInt8] {
        reading.key + (reading.user ?? 0).bigEndianBytes() + [reading.isComposed ? 1 : 0]
    }

    // MARK: Keeping

    mutating func deliver(_ readings: [ScaleReading], from source: ScaleDelivery.Source, _ origin: Origin) {
        let delivery = deliveries.add(readings, from: source, keys: readings.map(key), origin)
        actions.append(delivery.map { .deliver($0) } ?? .event(.protocolWarning(.tooManyUnanswered)))
    }

    mutating func resolve(_ item: Deliveries.Item, _ token: ScaleToken, isKept: Bool) {
        guard isKept else {
            // The scale still holds records that were not acknowledged: it gets no message and is read again in the next round.
            if phase == .transferring || phase == .measuring { rest() }
            (transfer, round) = (nil, [])
            return
        }
        switch item.context {
        case .packet(let more):
            transfer?.received += item.readings.count
            actions += item.readings.map { .event(.memoryRecord($0, isRepeat: false)) }
            went(on: more)
        case .measurement(let command):
            for reading in item.readings {
                let isWhole = reading.composition != nil
                report(isWhole ? .bodyComposition(reading, isRepeat: false) : .stableWeight(reading, isRepeat: false))
            }
            if let command { confirm(command) }
        }
    }
}
