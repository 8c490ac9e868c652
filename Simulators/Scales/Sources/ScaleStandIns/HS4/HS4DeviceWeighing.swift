import ScaleProtocols

extension HS4Device {
    // MARK: Weighings

    mutating func weigh(_ person: StandInWeighing) {
        let tenths = person.tenthsOfKilogram
        guard tenths <= ScaleModel.hs4.capacity else { return fail(0xE1) }
        guard tenths > 0, let record = HS4Record(person.time ?? clock, tenthsOfKilogram: tenths, more: 1) else {
            return report(.refused("a HS4 weighs 0.1–180 kg"))
        }
        guard isLinked, mode == .measuring else { return keep(record) }
        for part in [9, 11, 10] {
            let weight = (tenths * part / 10).bigEndianBytes(2)
            actions.append(.send(link.stream(FamilyCommand.unstableWeight.rawValue, weight)))
        }
        enqueue(Outgoing(command: .stableWeight, data: Array(record.key.suffix(2)), record: record))
    }

    mutating func fail(_ raw: UInt8) { enqueue(Outgoing(command: .error, data: [raw])) }

    mutating func store(_ person: StandInWeighing, at time: WallTime) {
        guard let record = HS4Record(time, tenthsOfKilogram: person.tenthsOfKilogram, more: 1) else {
            return report(.refused("a HS4 stores 0–6553.5 kg"))
        }
        keep(record)
    }

    mutating func keep(_ record: HS4Record) {
        memory.append(record)
        if memory.count > profile.memoryLimit { memory.removeFirst(memory.count - profile.memoryLimit) }
        report(.stored(record.key))
    }

    mutating func sendRecord() {
        guard transferLeft > 0, let next = memory.first, let time = next.time else {
            // No record is left, or its bytes are not a date: the end, without a record.
            return enqueue(Outgoing(command: .memoryRecords, data: Array(repeating: 0, count: 16), isLastRecord: true))
        }
        transferLeft -= 1
        let isTail = transferLeft == 0 && profile.tailHoldsRecord
        let more = isTail ? 0 : UInt8(max(1, min(transferLeft, 255)))
        guard let record = HS4Record(time, tenthsOfKilogram: next.tenthsOfKilogram, more: more) else { return }
        enqueue(Outgoing(command: .memoryRecords, data: record.bytes, record: record, isLastRecord: isTail))
        if let limit = faults.powerOffAfterRecords {
            faults.powerOffAfterRecords = limit > 1 ? limit - 1 : nil
            if limit <= 1 {
                report(.fault("power off in the middle of the memory"))
                restart()
            }
        }
    }

    // MARK: Sending

    mutating func enqueue(_ outgoing: Outgoing) {
        guard isLinked, queue.count < 64 else { return }
        queue.append(outgoing)
        sendNext()
    }

    mutating func sendNext() {
        guard unanswered == nil, !queue.isEmpty else { return }
        unanswered = queue.removeFirst()
        transmit()
    }

    mutating func transmit() {
        guard var outgoing = unanswered else { return }
        let isFirst = outgoing.frames.isEmpty
        if isFirst {
            counts.sent += 1
            outgoing.frames = link.frames(outgoing.command.rawValue, outgoing.data)
        }
        outgoing.repeatAt = now.uptime + profile.repeatAfter
        // A serial port has no acknowledgements, so the scale waits only for explicit confirmations.
        let isWaitedFor = link.style == .lowEnergy || outgoing.record != nil && outgoing.command == .stableWeight
        unanswered = isWaitedFor ? outgoing : nil
        actions += (isFirst ? spoilt(outgoing.frames) : outgoing.frames).map(StandInAction.send)
        if !isWaitedFor {
            if outgoing.command == .memoryRecords { unasked = outgoing }
            sendNext()
        }
    }

    private mutating func spoilt(_ frames: [[UInt8]]) -> [[UInt8]] {
        var frames = frames
        if faults.garbage > 0, let first = frames.first {
            frames[0] = (0..<faults.garbage).map { $0 % 3 == 0 ? 0xA0 : UInt8(truncatingIfNeeded: $0 * 37) } + first
        }
        if isDue(faults.badChecksumEvery, counts.sent), let last = frames.indices.last {
            frames[last][frames[last].count - 1] ^= 0x55
            report(.fault("wrong checksum in message \(counts.sent)"))
        }
        if isDue(faults.losePieceEvery, counts.sent), frames.count > 1 { frames.removeFirst() }
        if isDue(faults.shuffleEvery, counts.sent) { frames.reverse() }
        if isDue(faults.repeatEvery, counts.sent) { frames += frames }
        return frames
    }
}
