extension HS3Host {
    /// Handles one frame of the scale.
    mutating func receive(_ frame: HS3Frame) {
        counter = frame.sequence &+ 1
        let message = HS3ScaleMessage(frame)
        if message == .acknowledge { return acknowledged(frame.sequence) }
        if let seen = recentFrames.first(where: { $0.frame == frame }) {
            if seen.waitsFor == nil { acknowledge(frame.sequence) }
            return
        }
        var offer = Offer.acknowledged
        switch message {
        case .memory(let records, let trailing):
            if trailing > 0 { warn(.trailingBytes(trailing, sequence: frame.sequence)) }
            if phase == .startingMemory { beginTransfer() }
            offer = self.offer(records, .memory, frame)
        case .weight(let record):
            hasSeenWeight = true
            offer = self.offer([record], .weighing, frame)
        default:
            acknowledge(frame.sequence)
            answer(message, frame)
        }
        let token: ScaleToken?
        switch offer {
        case .acknowledged: token = nil
        case .delivered(let delivery): token = delivery
        case .refused: return
        }
        if recentFrames.count == HS3Host.recentFrameLimit { recentFrames.removeFirst() }
        recentFrames.append((frame, token))
    }

    // MARK: The opening

    private mutating func acknowledged(_ sequence: UInt8) {
        // The acknowledgement of an earlier copy of a repeated command comes late and is ignored.
        guard let pending = request, pending.sequence == sequence else { return }
        request = nil
        switch (HS3Command(rawValue: pending.command), phase) {
        case (.open, .opening): wait(.awaitingClock)
        case (.setClock, .settingClock):
            report(.clockSet, .connected(nil))
            sendLastKnown()
        case (.lastKnown, .sendingLastKnown): wait(.awaitingCount)
        case (.startMemory, .startingMemory): beginTransfer()
        default: break
        }
    }

    private mutating func wait(_ phase: Phase) {
        request = nil
        self.phase = phase
        answerBy = now.uptime + settings.timing.answerTimeout
    }

    /// Handles a frame without a weighing.
    ///
    /// If it answers a command whose own acknowledgement was lost, it counts as that acknowledgement, too.
    private mutating func answer(_ message: HS3ScaleMessage, _ frame: HS3Frame) {
        switch (message, phase) {
        case (.clock(let digits), .opening), (.clock(let digits), .awaitingClock):
            wait(.awaitingIDBlock)
            guard let scale = WallTime(hs3BCD: digits, mode: settings.clockMode, host: now.wall) else {
                return warn(.unreadableClock)
            }
            report(.clock(scale, skewSeconds: scale.secondsSince2000 - now.wall.secondsSince2000))
        case (.idBlock, .awaitingIDBlock), (.idBlock, .awaitingClock), (.idBlock, .opening): setClock()
        case (.memoryCount(let count), .sendingLastKnown), (.memoryCount(let count), .awaitingCount):
            guard announced(Int(count)) else { return (request, answerBy, phase) = (nil, nil, .measuring) }
            wait(.startingMemory)
            send(.startMemory, [0, 0, 0])
        case (.error(let raw), _): report(.sent(raw, by: .hs3, table: settings.errors))
        case (.malformed, _): warn(.malformed(command: frame.command, sequence: frame.sequence))
        // Scales send 30 and 31, which need only an acknowledgement.
        case (.unknown, _) where frame.command == 0x30 || frame.command == 0x31: break
        default: warn(.unexpected(command: frame.command, sequence: frame.sequence))
        }
    }

    private mutating func setClock() {
        guard settings.setsClock, (2000...2063).contains(now.wall.year),
            let data = now.wall.hs3Binary(for: .setClock)
        else {
            if settings.setsClock { warn(.clockOutOfRange) }
            report(.connected(nil))
            return sendLastKnown()
        }
        wait(.settingClock)
        send(.setClock, data)
    }

    private mutating func sendLastKnown() {
        let vendorDefault: [UInt8] = [11, 1, 2, 0x2C, 12, 12]
        wait(.sendingLastKnown)
        send(.lastKnown, settings.lastKnown?.hs3Binary(for: .lastKnown) ?? vendorDefault)
    }

    // MARK: The memory

    private mutating func beginTransfer() {
        wait(.transferring)
        report(.memoryStart(true), .memoryCount(transfer?.announced ?? 0))
    }

    private mutating func advance(_ slots: [Slot]) {
        var isComplete = false
        for slot in slots {
            if let reading = slot.reading {
                report(.memoryRecord(reading, isRepeat: slot.isRepeat))
                transfer?.received += 1
            }
            guard let current = transfer, let index = slot.index else { continue }
            transfer?.slots += 1
            let done = Double(current.announced - min(Int(index), current.announced)) / Double(current.announced)
            if done > current.progress {
                transfer?.progress = done
                report(.memoryProgress(done))
            }
            isComplete = isComplete || index == 0
        }
        guard phase == .transferring, let current = transfer else { return }
        guard isComplete else { return answerBy = now.uptime + settings.timing.answerTimeout }
        if current.slots != current.announced {
            warn(.memoryCountDiffers(announced: current.announced, received: current.slots))
        }
        report(.memoryFinish(records: current.received))
        (transfer, answerBy, phase) = (nil, nil, .measuring)
    }

    // MARK: Weighings

    private enum Offer {
        /// Nothing in the frame is new.
        case acknowledged
        case delivered(ScaleToken)
        /// The frame counts as new when the scale repeats it.
        case refused
    }

    /// Decodes the records of a frame and delivers the new ones.
    private mutating func offer(_ records: [HS3Record], _ source: ScaleDelivery.Source, _ frame: HS3Frame) -> Offer {
        let mode = hourMode(for: records)
        var isOverCapacity = false
        let slots = records.map { record in
            var slot = Slot(index: record.index, reading: nil, isRepeat: deliveries.isKept(record.key.bytes))
            if let tenths = record.key.tenthsOfKilogram {
                if tenths <= Self.model.capacity {
                    slot.reading = ScaleReading(
                        key: record.key.bytes, time: WallTime(hs3Packed: record.key.packedTime, mode: mode),
                        tenthsOfKilogram: tenths, raw: record.bytes)
                } else {
                    isOverCapacity = true
                }
            } else {
                warn(.badWeightDigits(command: frame.command, sequence: frame.sequence))
            }
            return slot
        }
        if isOverCapacity { report(.overCapacity(Self.model)) }

        let new = slots.filter { !$0.isRepeat }.compactMap(\.reading)
        guard !new.isEmpty else {
            acknowledge(frame.sequence)
            report(slots, source)
            return .acknowledged
        }
        let origin = Origin(sequence: frame.sequence, slots: slots)
        guard let delivery = deliveries.add(new, from: source, keys: new.map(\.key), origin) else {
            warn(.tooManyUnanswered)
            return .refused
        }
        if phase == .transferring, source == .memory { answerBy = nil }
        actions.append(.deliver(delivery))
        return .delivered(delivery.token)
    }

    private mutating func hourMode(for records: [HS3Record]) -> HS3HourMode {
        guard settings.hourMode == .auto else { return settings.hourMode }
        provenHourMode = HS3HourMode.proven(by: records.map(\.key.packedTime)) ?? provenHourMode
        return provenHourMode ?? .sdk12
    }

    private mutating func report(_ slots: [Slot], _ source: ScaleDelivery.Source) {
        guard source != .memory else { return advance(slots) }
        for slot in slots {
            if let reading = slot.reading { report(.stableWeight(reading, isRepeat: slot.isRepeat)) }
        }
    }

    mutating func resolve(_ item: Deliveries.Item, _ token: ScaleToken, isKept: Bool) {
        let seen = recentFrames.firstIndex { $0.waitsFor == token }
        guard isKept else {
            if let seen { recentFrames.remove(at: seen) }
            if phase == .transferring, item.source == .memory { answerBy = now.uptime + settings.timing.answerTimeout }
            return
        }
        if let seen { recentFrames[seen].waitsFor = nil }
        acknowledge(item.context.sequence)
        report(item.context.slots, item.source)
        if phase == .opening { request?.repeatAt = now.uptime + settings.timing.nextResend }
    }
}
