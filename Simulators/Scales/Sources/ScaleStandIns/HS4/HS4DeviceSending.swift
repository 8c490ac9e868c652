import ScaleProtocols

extension HS4Device {
    mutating func enqueue(_ outgoing: Outgoing, at now: ScaleMoment, _ actions: inout [StandInAction]) {
        guard isLinked, queue.count < 64 else { return }
        queue.append(outgoing)
        sendNext(at: now, &actions)
    }

    mutating func sendNext(at now: ScaleMoment, _ actions: inout [StandInAction]) {
        guard unanswered == nil, !queue.isEmpty else { return }
        unanswered = queue.removeFirst()
        transmit(at: now, &actions)
    }

    mutating func transmit(at now: ScaleMoment, _ actions: inout [StandInAction]) {
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
        actions += (isFirst ? spoilt(outgoing.frames, &actions) : outgoing.frames).map(StandInAction.send)
        if !isWaitedFor {
            if outgoing.command == .memoryRecord { unasked = outgoing }
            sendNext(at: now, &actions)
        }
    }

    func spoilt(_ frames: [[UInt8]], _ actions: inout [StandInAction]) -> [[UInt8]] {
        var frames = frames
        if faults.garbage > 0, let first = frames.first {
            frames[0] = (0..<faults.garbage).map { $0 % 3 == 0 ? 0xA0 : UInt8(truncatingIfNeeded: $0 * 37) } + first
        }
        if isDue(faults.badChecksumEvery, counts.sent), let last = frames.indices.last {
            frames[last][frames[last].count - 1] ^= 0x55
            actions.append(.event(.fault("wrong checksum in message \(counts.sent)")))
        }
        if isDue(faults.losePieceEvery, counts.sent), frames.count > 1 { frames.removeFirst() }
        if isDue(faults.shuffleEvery, counts.sent) { frames.reverse() }
        if isDue(faults.repeatEvery, counts.sent) { frames += frames }
        return frames
    }

    func isDue(_ every: Int?, _ count: Int) -> Bool { every.map { $0 > 0 && count % $0 == 0 } ?? false }

    /// Splits the output into the chunks of the fault.
    func written(_ actions: [StandInAction]) -> [StandInAction] {
        guard let size = faults.pieces, size > 0 else { return actions }
        return actions.flatMap { action -> [StandInAction] in
            guard case .send(let bytes) = action else { return [action] }
            return stride(from: 0, to: bytes.count, by: size).map {
                .send(Array(bytes[$0..<min($0 + size, bytes.count)]))
            }
        }
    }
}
