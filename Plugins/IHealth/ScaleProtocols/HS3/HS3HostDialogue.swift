extension HS3Host {
    /// Handles one frame of the scale.
    mutating func receive(_ frame: HS3Frame, at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        counter = frame.sequence &+ 1
        let message = HS3ScaleMessage(frame)
        if message == .acknowledge { return acknowledged(frame.sequence, at: now, &actions) }
        if let seen = recentFrames.first(where: { $0.frame == frame }) {
            if seen.waitsFor == nil { acknowledge(frame.sequence, &actions) }
            return
        }
        let token: ScaleToken?
        switch message {
        case .memory(let records, let trailing):
            if trailing > 0 { warn(.trailingBytes(trailing, sequence: frame.sequence), &actions) }
            if phase == .startingMemory { beginTransfer(at: now, &actions) }
            switch offer(records, .memory, frame, at: now, &actions) {
            case .acknowledged: token = nil
            case .delivered(let delivery): token = delivery
            case .refused: return
            }
        case .weight(let record):
            hasSeenWeight = true
            switch offer([record], .weighing, frame, at: now, &actions) {
            case .acknowledged: token = nil
            case .delivered(let delivery): token = delivery
            case .refused: return
            }
        default:
            token = nil
            acknowledge(frame.sequence, &actions)
            answer(message, frame, at: now, &actions)
        }
        if recentFrames.count == HS3Host.recentFrameLimit { recentFrames.removeFirst() }
        recentFrames.append(SeenFrame(frame: frame, waitsFor: token))
    }

    func warn(_ warning: ScaleWarning, _ actions: inout [ScaleAction]) {
        actions.append(.event(.protocolWarning(warning)))
    }

    // MARK: The opening

    private mutating func acknowledged(_ sequence: UInt8, at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        // The acknowledgement of an earlier copy of a repeated command comes late and is ignored.
        guard let pending = command, pending.sequence == sequence else { return }
        command = nil
        switch (pending.command, phase) {
        case (.open, .opening): wait(.awaitingClock, at: now)
        case (.setClock, .settingClock):
            actions += [.event(.clockSet), .event(.connected(nil))]
            sendLastKnown(at: now, &actions)
        case (.lastKnown, .sendingLastKnown): wait(.awaitingCount, at: now)
        case (.startMemory, .startingMemory): beginTransfer(at: now, &actions)
        default: break
        }
    }

    private mutating func wait(_ phase: Phase, at now: ScaleMoment) {
        command = nil
        self.phase = phase
        answerBy = now.uptime + settings.answerTimeout
    }

    /// Handles a frame without a weighing.
    ///
    /// If it answers a command whose own acknowledgement was lost, it counts as that acknowledgement, too.
    private mutating func answer(
        _ message: HS3ScaleMessage, _ frame: HS3Frame, at now: ScaleMoment, _ actions: inout [ScaleAction]
    ) {
        switch (message, phase) {
        case (.clock(let digits), .opening), (.clock(let digits), .awaitingClock):
            wait(.awaitingIDBlock, at: now)
            guard let scale = WallTime(hs3BCD: digits, mode: settings.clockMode, host: now.wall) else {
                return warn(.unreadableClock, &actions)
            }
            let skew = scale.secondsSince2000 - now.wall.secondsSince2000
            actions.append(.event(.clock(scale, skewSeconds: skew)))
        case (.idBlock, .awaitingIDBlock), (.idBlock, .awaitingClock), (.idBlock, .opening):
            setClock(at: now, &actions)
        case (.memoryCount(let count), .sendingLastKnown), (.memoryCount(let count), .awaitingCount):
            counted(Int(count), at: now, &actions)
        case (.error(let raw), _):
            actions.append(.event(.deviceError(.sent(raw, by: .hs3, table: settings.errors))))
        case (.malformed, _):
            warn(.malformed(command: frame.command, sequence: frame.sequence), &actions)
        // Scales send 30 and 31, which need only an acknowledgement.
        case (.unknown, _) where frame.command == 0x30 || frame.command == 0x31: break
        default:
            warn(.unexpected(command: frame.command, sequence: frame.sequence), &actions)
        }
    }

    private mutating func setClock(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        guard settings.setsClock else {
            actions.append(.event(.connected(nil)))
            return sendLastKnown(at: now, &actions)
        }
        guard (2000...2063).contains(now.wall.year), let data = now.wall.hs3Binary(for: .setClock) else {
            warn(.clockOutOfRange, &actions)
            actions.append(.event(.connected(nil)))
            return sendLastKnown(at: now, &actions)
        }
        wait(.settingClock, at: now)
        send(.setClock, data, at: now, &actions)
    }

    private mutating func sendLastKnown(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        let vendorDefault: [UInt8] = [11, 1, 2, 0x2C, 12, 12]
        wait(.sendingLastKnown, at: now)
        send(.lastKnown, settings.lastKnown?.hs3Binary(for: .lastKnown) ?? vendorDefault, at: now, &actions)
    }

    // MARK: The memory

    private mutating func counted(_ announced: Int, at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        if announced > 200 { warn(.memoryCountAboveLimit(announced), &actions) }
        let count = min(announced, 200)
        guard count > 0 else {
            (command, answerBy, phase) = (nil, nil, .measuring)
            actions += [
                .event(.memoryCount(0)), .event(.memoryFinish(records: 0)), .event(.deviceError(.noMemory(.hs3))),
            ]
            return
        }
        transfer = Transfer(count: count)
        wait(.startingMemory, at: now)
        send(.startMemory, [0, 0, 0], at: now, &actions)
    }

    private mutating func beginTransfer(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        wait(.transferring, at: now)
        actions += [.event(.memoryStart(true)), .event(.memoryCount(transfer?.count ?? 0))]
    }

    private mutating func advance(_ slots: [Slot], at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        var isComplete = false
        for slot in slots {
            if let reading = slot.reading {
                actions.append(.event(.memoryRecord(reading, isRepeat: slot.isRepeat)))
                transfer?.readings += 1
            }
            guard var current = transfer, let index = slot.index else { continue }
            current.slots += 1
            let done = Double(current.count - min(Int(index), current.count)) / Double(current.count)
            if done > current.progress {
                current.progress = done
                actions.append(.event(.memoryProgress(done)))
            }
            transfer = current
            isComplete = isComplete || index == 0
        }
        guard phase == .transferring, let current = transfer else { return }
        guard isComplete else { return answerBy = now.uptime + settings.answerTimeout }
        if current.slots != current.count {
            warn(.memoryCountDiffers(announced: current.count, received: current.slots), &actions)
        }
        actions.append(.event(.memoryFinish(records: current.readings)))
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
    private mutating func offer(
        _ records: [HS3Record], _ source: ScaleDelivery.Source, _ frame: HS3Frame, at now: ScaleMoment,
        _ actions: inout [ScaleAction]
    ) -> Offer {
        let mode = hourMode(for: records)
        var isOverCapacity = false
        let slots = records.map { record in
            var slot = Slot(index: record.index, reading: nil, isRepeat: deliveries.isKept(record.key.bytes))
            if let tenths = record.key.tenthsOfKilogram {
                if tenths <= 1500 {
                    slot.reading = ScaleReading(
                        key: record.key.bytes, time: WallTime(hs3Packed: record.key.packedTime, mode: mode),
                        tenthsOfKilogram: tenths, raw: record.bytes)
                } else {
                    isOverCapacity = true
                }
            } else {
                warn(.badWeightDigits(command: frame.command, sequence: frame.sequence), &actions)
            }
            return slot
        }
        if isOverCapacity { actions.append(.event(.deviceError(.overCapacity(.hs3)))) }

        let new = slots.filter { !$0.isRepeat }.compactMap(\.reading)
        guard !new.isEmpty else {
            acknowledge(frame.sequence, &actions)
            report(slots, source, at: now, &actions)
            return .acknowledged
        }
        let origin = Origin(sequence: frame.sequence, slots: slots)
        guard let delivery = deliveries.add(new, from: source, keys: new.map(\.key), origin) else {
            warn(.tooManyUnanswered, &actions)
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

    private mutating func report(
        _ slots: [Slot], _ source: ScaleDelivery.Source, at now: ScaleMoment, _ actions: inout [ScaleAction]
    ) {
        switch source {
        case .memory: advance(slots, at: now, &actions)
        case .weighing, .cloud:
            for slot in slots {
                guard let reading = slot.reading else { continue }
                actions.append(.event(.stableWeight(reading, isRepeat: slot.isRepeat)))
            }
        }
    }

    /// Handles the caller's answer to a delivery.
    mutating func resolve(_ token: ScaleToken, isKept: Bool, at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        guard let item = deliveries.answer(token, isKept: isKept), item.isCurrent, phase != .closing else { return }
        let seen = recentFrames.firstIndex { $0.waitsFor == token }
        guard isKept else {
            if let seen { recentFrames.remove(at: seen) }
            if phase == .transferring, item.source == .memory { answerBy = now.uptime + settings.answerTimeout }
            return
        }
        if let seen { recentFrames[seen].waitsFor = nil }
        acknowledge(item.context.sequence, &actions)
        report(item.context.slots, item.source, at: now, &actions)
        if phase == .opening { command?.nextResend = now.uptime + settings.nextResend }
    }
}
