extension HS4Host {
    mutating func receive(_ arrival: FamilyLink.Arrival) {
        if arrival.isRepeat {
            // No acknowledgement is sent while its content waits to be stored; afterwards the acknowledgement was lost.
            let isHeld = deliveries.current.contains { $0.context.arrival.message == arrival.message }
            if !isHeld { acknowledge(arrival) }
            return
        }
        switch HS4ScaleMessage(arrival.message) {
        case .stableWeight(let tenths): weighed(tenths, arrival)
        case .memoryRecord(let record) where phase == .transferring: took(record, arrival)
        case let message:
            acknowledge(arrival)
            answer(message, arrival)
        }
    }

    private mutating func acknowledge(_ arrival: FamilyLink.Arrival) {
        if let reply = arrival.acknowledgement { actions.append(.send(link.sent(reply))) }
    }

    // MARK: The opening

    mutating func begin() {
        guard let key = settings.key else { return identify() }
        logIn = LogInDialogue(key: key, nonce: settings.nonce)
        if let step = logIn?.begin() { take(step) }
    }

    private mutating func take(_ step: LogInDialogue.Step) {
        switch step {
        case .send(let command, let data):
            wait(.loggingIn, for: settings.logInTimeout)
            send(command == .logInNonce ? .logInNonce(data) : .logInAnswer(data))
        case .accepted: identify()
        case .refused:
            report(.refused(Self.model))
            close()
        case .ignore: break
        }
    }

    private mutating func identify() {
        logIn = nil
        wait(.identifying)
        send(.identify)
    }

    mutating func stop(then next: Next) {
        wait(.stopping(next))
        send(.stop)
    }

    /// Handles a message without a weighing.
    private mutating func answer(_ message: HS4ScaleMessage, _ arrival: FamilyLink.Arrival) {
        switch (message, phase) {
        case (.logIn(let step), .loggingIn):
            request = nil
            if let next = logIn?.receive(step) { take(next) }
        case (.logIn, _): warn(ScaleWarning.unexpected, arrival.message)
        case (.identity(let identity), .identifying):
            request = nil
            tell(.confirm(.identity))
            report(.connected(identity))
            stop(then: .memory)
        case (.stopped(isIdle: true), .stopping(.memory)):
            wait(.openingMemory)
            send(.openMemory(now.wall))
        case (.stopped(isIdle: true), .stopping(.measurement)):
            wait(.openingMeasurement)
            send(.measure(now.wall, unit: settings.unit, user: settings.user))
        // Only an idle scale accepts commands; the command is repeated until the scale is idle or the time is over.
        case (.stopped, _): break
        case (.memoryReady(true), .openingMemory):
            wait(.summing)
            send(.memorySummary)
        case (.memoryReady, .openingMemory):
            report(.memoryStart(false))
            stop(then: .measurement)
        case (.memorySummary(let count), .summing): counted(Int(count))
        case (.measure(accepted: true), .openingMeasurement):
            (request, answerBy, phase, isWeighing) = (nil, nil, .measuring, false)
        case (.measure, .openingMeasurement):
            // Android's 13, "failed to create the measurement connection".
            report(.noAnswer(Self.model))
            measureAgain()
        case (.unstableWeight(let tenths), .measuring), (.unstableWeight(let tenths), .openingMeasurement):
            (request, phase, isWeighing) = (nil, .measuring, true)
            answerBy = now.uptime + settings.weighingTimeout
            if (1...Self.model.capacity).contains(tenths) { report(.unstableWeight(tenths)) }
        case (.error(let raw), _):
            tell(.confirm(.error))
            report(.sent(raw, by: .hs4, table: settings.errors))
            if phase == .measuring || phase == .openingMeasurement { measureAgain() }
        case (.malformed, _): warn(ScaleWarning.malformed, arrival.message)
        case (.unknown, _): warn(ScaleWarning.unknown, arrival.message)
        default: warn(ScaleWarning.unexpected, arrival.message)
        }
    }

    /// Schedules a measurement after a weighing, or after a failed one.
    mutating func measureAgain() {
        (request, answerBy, isWeighing, phase) = (nil, nil, false, .pausing)
        beginAt = now.uptime + settings.measureAgainAfter
    }

    // MARK: The memory

    private mutating func counted(_ count: Int) {
        guard announced(count) else { return stop(then: .measurement) }
        reportStart()
        askForRecord()
    }

    private mutating func askForRecord() {
        wait(.transferring)
        send(.memoryRecord)
    }

    /// Handles a record, or the end of the transfer: its byte for "more" is 0, and it contains a record if its date is valid.
    private mutating func took(_ record: HS4Record, _ arrival: FamilyLink.Arrival) {
        request = nil
        let more = record.more != 0
        let tenths = record.tenthsOfKilogram
        guard (1...Self.model.capacity).contains(tenths), more || settings.memoryTail == .parse && record.time != nil
        else {
            acknowledge(arrival)
            if tenths > Self.model.capacity { report(.overCapacity(Self.model)) }
            return went(on: more, reading: nil, isRepeat: false)
        }
        let reading = ScaleReading(
            key: record.key, time: record.time, tenthsOfKilogram: tenths, composition: nil, user: nil,
            raw: record.bytes)
        if deliveries.isKept(reading.key) {
            acknowledge(arrival)
            return went(on: more, reading: reading, isRepeat: true)
        }
        answerBy = nil
        deliver(reading, .memory, arrival, more: more)
    }

    private mutating func went(on more: Bool, reading: ScaleReading?, isRepeat: Bool) {
        guard phase == .transferring, transfer != nil else { return }
        if let reading {
            report(.memoryRecord(reading, isRepeat: isRepeat))
            transfer?.received += 1
            reportProgress()
        }
        if more { return askForRecord() }
        finishTransfer()
        stop(then: .measurement)
    }

    // MARK: Weighings

    private mutating func weighed(_ tenths: Int, _ arrival: FamilyLink.Arrival) {
        guard (1...Self.model.capacity).contains(tenths), let date = now.wall.family7 else {
            acknowledge(arrival)
            tell(.confirm(.stableWeight))
            if tenths > Self.model.capacity { report(.overCapacity(Self.model)) }
            return measureAgain()
        }
        let reading = ScaleReading(
            key: date + tenths.bigEndianBytes(2), time: now.wall, tenthsOfKilogram: tenths, raw: arrival.message.data,
            isDatedByHost: true)
        (answerBy, isWeighing) = (nil, false)
        deliver(reading, .weighing, arrival, more: false)
    }

    private mutating func deliver(
        _ reading: ScaleReading, _ source: ScaleDelivery.Source, _ arrival: FamilyLink.Arrival, more: Bool
    ) {
        let origin = Origin(arrival: arrival, more: more)
        guard let delivery = deliveries.add([reading], from: source, keys: [reading.key], origin) else {
            link.forget(arrival.message)
            return warn(.tooManyUnanswered)
        }
        actions.append(.deliver(delivery))
    }

    mutating func resolve(_ item: Deliveries.Item, _ token: ScaleToken, isKept: Bool) {
        guard isKept else {
            // If the link repeats nothing, a new connection makes the scale send it again.
            if settings.link == .serialPort { return close() }
            link.forget(item.context.arrival.message)
            if phase == .transferring { answerBy = now.uptime + settings.timing.answerTimeout }
            return
        }
        acknowledge(item.context.arrival)
        guard item.source != .memory else {
            return went(on: item.context.more, reading: item.readings[0], isRepeat: false)
        }
        tell(.confirm(.stableWeight))
        report(.stableWeight(item.readings[0], isRepeat: false))
        measureAgain()
    }
}
