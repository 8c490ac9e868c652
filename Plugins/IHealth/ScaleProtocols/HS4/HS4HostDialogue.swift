extension HS4Host {
    mutating func receive(
        _ outputs: [FamilyLink.Output], at now: ScaleMoment, _ actions: inout [ScaleAction]
    ) {
        for output in outputs where phase != .closing {
            switch output {
            case .send(let bytes): actions.append(.send(bytes))
            case .warning(let warning): actions.append(.event(.protocolWarning(warning)))
            case .acknowledged: command = nil
            case .arrival(let arrival): receive(arrival, at: now, &actions)
            }
        }
    }

    private mutating func receive(
        _ arrival: FamilyLink.Arrival, at now: ScaleMoment, _ actions: inout [ScaleAction]
    ) {
        if arrival.isRepeat {
            // No acknowledgement is sent while its content waits to be stored; afterwards the acknowledgement was lost.
            let isHeld = deliveries.current.contains { $0.context.arrival.message == arrival.message }
            if !isHeld { acknowledge(arrival, &actions) }
            return
        }
        switch HS4ScaleMessage(arrival.message) {
        case .stableWeight(let tenths): weighed(tenths, arrival, at: now, &actions)
        case .memoryRecord(let record) where phase == .transferring: took(record, arrival, at: now, &actions)
        case let message:
            acknowledge(arrival, &actions)
            answer(message, arrival, at: now, &actions)
        }
    }

    private mutating func acknowledge(_ arrival: FamilyLink.Arrival, _ actions: inout [ScaleAction]) {
        if let reply = arrival.acknowledgement { actions.append(.send(link.sent(reply))) }
    }

    // MARK: The opening

    mutating func begin(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        guard let key = settings.key else { return identify(at: now, &actions) }
        logIn = LogInDialogue(key: key, nonce: settings.nonce)
        guard let step = logIn?.begin() else { return }
        take(step, at: now, &actions)
    }

    private mutating func take(_ step: LogInDialogue.Step, at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        switch step {
        case .send(let command, let data):
            wait(.loggingIn, for: settings.logInTimeout, at: now)
            switch HS4Command(rawValue: command) {
            case .logInNonce: send(.logInNonce(data), at: now, &actions)
            case .logInAnswer: send(.logInAnswer(data), at: now, &actions)
            default: break
            }
        case .accepted: identify(at: now, &actions)
        case .refused:
            actions.append(.event(.deviceError(.refused(.hs4))))
            close(&actions)
        case .ignore: break
        }
    }

    private mutating func identify(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        logIn = nil
        wait(.identifying, at: now)
        send(.identify, at: now, &actions)
    }

    mutating func stop(then next: Next, at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        wait(.stopping(next), at: now)
        send(.stop, at: now, &actions)
    }

    /// Handles a message without a weighing.
    private mutating func answer(
        _ message: HS4ScaleMessage, _ arrival: FamilyLink.Arrival, at now: ScaleMoment,
        _ actions: inout [ScaleAction]
    ) {
        switch (message, phase) {
        case (.logIn(let step), .loggingIn):
            command = nil
            if let next = logIn?.receive(step) { take(next, at: now, &actions) }
        case (.logIn, _): warn(ScaleWarning.unexpected, arrival, &actions)
        case (.identity(let identity), .identifying):
            command = nil
            self.identity = identity
            tell(.confirm(.identity), &actions)
            actions.append(.event(.connected(identity)))
            stop(then: .memory, at: now, &actions)
        case (.stopped(isIdle: true), .stopping(.memory)):
            wait(.openingMemory, at: now)
            send(.openMemory(now.wall), at: now, &actions)
        case (.stopped(isIdle: true), .stopping(.measurement)):
            wait(.openingMeasurement, at: now)
            send(.measure(now.wall, unit: settings.unit, user: settings.user), at: now, &actions)
        // Only an idle scale accepts commands; the command is repeated until the scale is idle or the time is over.
        case (.stopped, _): break
        case (.memoryReady(true), .openingMemory):
            wait(.summing, at: now)
            send(.memorySummary, at: now, &actions)
        case (.memoryReady, .openingMemory):
            actions.append(.event(.memoryStart(false)))
            stop(then: .measurement, at: now, &actions)
        case (.memorySummary(let count), .summing): counted(Int(count), at: now, &actions)
        case (.measure(accepted: true), .openingMeasurement):
            (command, answerBy, phase, isWeighing) = (nil, nil, .measuring, false)
        case (.measure, .openingMeasurement):
            // Android's 13, "failed to create the measurement connection".
            actions.append(.event(.deviceError(.noAnswer(.hs4))))
            measureAgain(at: now)
        case (.unstableWeight(let tenths), .measuring), (.unstableWeight(let tenths), .openingMeasurement):
            (command, phase, isWeighing) = (nil, .measuring, true)
            answerBy = now.uptime + settings.weighingTimeout
            if (1...HS4Host.capacity).contains(tenths) { actions.append(.event(.unstableWeight(tenths))) }
        case (.error(let raw), _):
            tell(.confirm(.error), &actions)
            actions.append(.event(.deviceError(.sent(raw, by: .hs4, table: settings.errors))))
            if phase == .measuring || phase == .openingMeasurement { measureAgain(at: now) }
        case (.malformed, _): warn(ScaleWarning.malformed, arrival, &actions)
        case (.unknown, _): warn(ScaleWarning.unknown, arrival, &actions)
        default: warn(ScaleWarning.unexpected, arrival, &actions)
        }
    }

    private func warn(
        _ warning: (_ command: UInt8, _ sequence: UInt8) -> ScaleWarning, _ arrival: FamilyLink.Arrival,
        _ actions: inout [ScaleAction]
    ) {
        actions.append(.event(.protocolWarning(warning(arrival.message.command, arrival.message.sequence))))
    }

    /// Schedules a measurement after a weighing, or after a failed one.
    mutating func measureAgain(at now: ScaleMoment) {
        (command, answerBy, isWeighing, phase) = (nil, nil, false, .pausing)
        beginAt = now.uptime + settings.measureAgainAfter
    }

    // MARK: The memory

    private mutating func counted(_ count: Int, at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        guard count > 0 else {
            actions += [
                .event(.memoryCount(0)), .event(.memoryFinish(records: 0)), .event(.deviceError(.noMemory(.hs4))),
            ]
            return stop(then: .measurement, at: now, &actions)
        }
        if count > 200 {
            actions.append(.event(.protocolWarning(.memoryCountAboveLimit(count))))
        }
        transfer = Transfer(announced: min(count, 200))
        actions += [.event(.memoryStart(true)), .event(.memoryCount(min(count, 200))), .event(.memoryProgress(0))]
        askForRecord(at: now, &actions)
    }

    private mutating func askForRecord(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        wait(.transferring, at: now)
        send(.memoryRecord, at: now, &actions)
    }

    /// Handles a record, or the end of the transfer: its byte for "more" is 0, and it contains a record if its date is valid.
    private mutating func took(
        _ record: HS4Record, _ arrival: FamilyLink.Arrival, at now: ScaleMoment, _ actions: inout [ScaleAction]
    ) {
        command = nil
        let more = record.more != 0
        let tenths = record.tenthsOfKilogram
        guard (1...HS4Host.capacity).contains(tenths), more || settings.memoryTail == .parse && record.time != nil
        else {
            acknowledge(arrival, &actions)
            if tenths > HS4Host.capacity { actions.append(.event(.deviceError(.overCapacity(.hs4)))) }
            return went(on: more, reading: nil, isRepeat: false, at: now, &actions)
        }
        let reading = ScaleReading(
            key: record.key, time: record.time, tenthsOfKilogram: tenths, composition: nil, user: nil,
            raw: record.bytes)
        if deliveries.isKept(reading.key) {
            acknowledge(arrival, &actions)
            return went(on: more, reading: reading, isRepeat: true, at: now, &actions)
        }
        answerBy = nil
        deliver(reading, .memory, arrival, more: more, &actions)
    }

    private mutating func went(
        on more: Bool, reading: ScaleReading?, isRepeat: Bool, at now: ScaleMoment, _ actions: inout [ScaleAction]
    ) {
        guard phase == .transferring, var current = transfer else { return }
        if let reading {
            actions.append(.event(.memoryRecord(reading, isRepeat: isRepeat)))
            current.received += 1
            // The announced number may not be the number of records, so 1.0 is reported only at the end.
            let done = min(Double(current.received) / Double(current.announced), 1)
            if done > current.progress, done < 1 {
                current.progress = done
                actions.append(.event(.memoryProgress(done)))
            }
        }
        transfer = current
        if more { return askForRecord(at: now, &actions) }
        actions += [.event(.memoryProgress(1)), .event(.memoryFinish(records: current.received))]
        transfer = nil
        stop(then: .measurement, at: now, &actions)
    }

    // MARK: Weighings

    private mutating func weighed(
        _ tenths: Int, _ arrival: FamilyLink.Arrival, at now: ScaleMoment, _ actions: inout [ScaleAction]
    ) {
        guard (1...HS4Host.capacity).contains(tenths), let date = now.wall.family7 else {
            acknowledge(arrival, &actions)
            tell(.confirm(.stableWeight), &actions)
            if tenths > HS4Host.capacity { actions.append(.event(.deviceError(.overCapacity(.hs4)))) }
            return measureAgain(at: now)
        }
        let weight = [UInt8(truncatingIfNeeded: tenths >> 8), UInt8(truncatingIfNeeded: tenths)]
        let reading = ScaleReading(
            key: date + weight, time: now.wall, tenthsOfKilogram: tenths, raw: arrival.message.data,
            isDatedByHost: true)
        (answerBy, isWeighing) = (nil, false)
        deliver(reading, .weighing, arrival, more: false, &actions)
    }

    private mutating func deliver(
        _ reading: ScaleReading, _ source: ScaleDelivery.Source, _ arrival: FamilyLink.Arrival, more: Bool,
        _ actions: inout [ScaleAction]
    ) {
        let origin = Origin(arrival: arrival, more: more)
        guard let delivery = deliveries.add([reading], from: source, keys: [reading.key], origin) else {
            link.forget(arrival.message)
            return actions.append(.event(.protocolWarning(.tooManyUnanswered)))
        }
        actions.append(.deliver(delivery))
    }

    /// Handles the caller's answer to a delivery.
    mutating func resolve(_ token: ScaleToken, isKept: Bool, at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        guard let item = deliveries.answer(token, isKept: isKept), item.isCurrent, phase != .closing else { return }
        guard isKept else {
            // If the link repeats nothing, a new connection makes the scale send it again.
            if settings.link == .serialPort { return close(&actions) }
            link.forget(item.context.arrival.message)
            if phase == .transferring { answerBy = now.uptime + settings.answerTimeout }
            return
        }
        acknowledge(item.context.arrival, &actions)
        switch item.source {
        case .memory: went(on: item.context.more, reading: item.readings[0], isRepeat: false, at: now, &actions)
        case .weighing, .cloud:
            tell(.confirm(.stableWeight), &actions)
            actions.append(.event(.stableWeight(item.readings[0], isRepeat: false)))
            measureAgain(at: now)
        }
    }
}
