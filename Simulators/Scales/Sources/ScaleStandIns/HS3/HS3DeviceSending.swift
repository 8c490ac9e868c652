import ScaleProtocols

extension HS3Device {
    mutating func enqueue(_ outgoing: Outgoing, at now: ScaleMoment, _ actions: inout [StandInAction]) {
        guard queue.count < HS3Device.queueLimit else { return }
        queue.append(outgoing)
        sendNext(at: now, &actions)
    }

    mutating func sendNext(at now: ScaleMoment, _ actions: inout [StandInAction]) {
        guard isLinked, unanswered == nil, !queue.isEmpty else { return }
        unanswered = queue.removeFirst()
        transmit(at: now, &actions)
    }

    /// Sends the unacknowledged frame, for the first time or again.
    mutating func transmit(at now: ScaleMoment, _ actions: inout [StandInAction]) {
        guard var outgoing = unanswered else { return }
        let repeated = outgoing.frame
        let frame = repeated ?? HS3Frame(checked: .scale, outgoing.command.rawValue, sequence, spoilt(outgoing))
        if repeated == nil { sequence &+= 1 }
        outgoing.frame = frame
        outgoing.repeatAt = now.uptime + profile.repeatAfter
        unanswered = outgoing
        guard repeated == nil else { return write(frame.bytes, &actions) }

        counts.sent += 1
        let sentRecords = transferTotal - transferLeft
        if let limit = faults.powerOffAfterRecords, outgoing.records > 0, sentRecords + outgoing.records > limit {
            faults.powerOffAfterRecords = nil
            let whole = max(0, limit - sentRecords)
            write(Array(frame.bytes.prefix(5 + 7 * whole)), &actions)
            actions.append(.event(.fault("power off after \(limit) records")))
            return restart(&actions)
        }
        var bytes = frame.bytes
        if let end = faults.cutAt {
            faults.cutAt = nil
            bytes = Array(bytes.prefix(max(0, end)))
            actions.append(.event(.fault("cut a frame after \(bytes.count) bytes")))
        }
        if isDue(faults.badChecksumEvery, counts.sent), let last = bytes.indices.last {
            bytes[last] ^= 0x55
            actions.append(.event(.fault("wrong checksum in frame \(counts.sent)")))
        }
        write(bytes, &actions)
        if isDue(faults.repeatEvery, counts.sent) {
            actions.append(.event(.fault("repeated frame \(counts.sent)")))
            write(bytes, &actions)
        }
    }

    /// The data of a frame after the faults that damage records.
    private mutating func spoilt(_ outgoing: Outgoing) -> [UInt8] {
        var data = outgoing.data
        let width = outgoing.command == .memory ? 7 : 6
        guard outgoing.command == .memory || outgoing.command == .weight else { return data }
        for start in stride(from: 0, to: data.count - width + 1, by: width) {
            counts.records += 1
            if isDue(faults.badDigitEvery, counts.records) { data[start + 4] |= 0xA0 }
            if isDue(faults.zeroDateEvery, counts.records) {
                // Month and day are the nine bits after the six bits of the year.
                data[start] &= 0b1111_1100
                data[start + 1] &= 0b0000_0001
            }
        }
        return data
    }

    func isDue(_ every: Int?, _ count: Int) -> Bool {
        guard let every, every > 0 else { return false }
        return count % every == 0
    }

    mutating func write(_ bytes: [UInt8], _ actions: inout [StandInAction]) {
        guard isLinked, !bytes.isEmpty else { return }
        actions.append(.send(garbage() + bytes))
    }

    private mutating func garbage() -> [UInt8] {
        (0..<max(0, faults.garbage)).map { place in
            noise = noise &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return place % 3 == 1 ? 0xA0 : UInt8(truncatingIfNeeded: noise >> 56)
        }
    }

    /// Joins and splits the output if a fault requires it.
    func written(_ actions: [StandInAction]) -> [StandInAction] {
        guard let size = faults.pieces, size > 0 else { return actions }
        var (bytes, others): ([UInt8], [StandInAction]) = ([], [])
        for action in actions {
            if case .send(let more) = action { bytes += more } else { others.append(action) }
        }
        let pieces = stride(from: 0, to: bytes.count, by: size).map { start in
            StandInAction.send(Array(bytes[start..<min(start + size, bytes.count)]))
        }
        return pieces + others
    }
}
