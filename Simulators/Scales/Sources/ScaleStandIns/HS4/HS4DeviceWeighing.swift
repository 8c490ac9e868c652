import ScaleProtocols

extension HS4Device {
    mutating func weigh(_ person: StandInWeighing, at now: ScaleMoment, _ actions: inout [StandInAction]) {
        let tenths = person.tenthsOfKilogram
        guard tenths <= ScaleModel.hs4.capacity else {
            return enqueue(Outgoing(command: .error, data: [0xE1]), at: now, &actions)
        }
        guard tenths > 0, let record = HS4Record(person.time ?? clock(at: now), tenthsOfKilogram: tenths, more: 1)
        else {
            return actions.append(.event(.refused("a HS4 weighs 0.1–180 kg")))
        }
        guard isLinked, mode == .measuring else { return keep(record, &actions) }
        for part in [9, 11, 10] {
            let settling = tenths * part / 10
            actions.append(
                .send(
                    link.stream(
                        HS4Command.unstableWeight.rawValue,
                        [UInt8(truncatingIfNeeded: settling >> 8), UInt8(truncatingIfNeeded: settling)])))
        }
        enqueue(
            Outgoing(command: .stableWeight, data: Array(record.key.suffix(2)), record: record), at: now, &actions)
    }

    mutating func remember(_ time: WallTime, _ tenths: Int, _ actions: inout [StandInAction]) {
        guard let record = HS4Record(time, tenthsOfKilogram: tenths, more: 1) else {
            return actions.append(.event(.refused("a HS4 stores 0–6553.5 kg")))
        }
        keep(record, &actions)
    }

    mutating func keep(_ record: HS4Record, _ actions: inout [StandInAction]) {
        memory.append(record)
        if memory.count > profile.memoryLimit { memory.removeFirst(memory.count - profile.memoryLimit) }
        actions.append(.event(.stored(record.key)))
    }

    mutating func sendRecord(at now: ScaleMoment, _ actions: inout [StandInAction]) {
        guard transferLeft > 0, let next = memory.first, let time = next.time else {
            // No record is left, or its bytes are not a date: the end, without a record.
            return enqueue(
                Outgoing(command: .memoryRecord, data: Array(repeating: 0, count: 16), isLastRecord: true), at: now,
                &actions)
        }
        transferLeft -= 1
        let isTail = transferLeft == 0 && profile.tailHoldsRecord
        let more = isTail ? 0 : UInt8(max(1, min(transferLeft, 255)))
        guard let record = HS4Record(time, tenthsOfKilogram: next.tenthsOfKilogram, more: more) else { return }
        enqueue(
            Outgoing(command: .memoryRecord, data: record.bytes, record: record, isLastRecord: isTail), at: now,
            &actions
        )
        if let limit = faults.powerOffAfterRecords {
            faults.powerOffAfterRecords = limit > 1 ? limit - 1 : nil
            if limit <= 1 {
                actions.append(.event(.fault("power off in the middle of the memory")))
                restart(&actions)
            }
        }
    }
}
