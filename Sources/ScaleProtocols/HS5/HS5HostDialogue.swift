extension HS5Host {
    mutating func receive(_ bytes: [UInt8], at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        guard let datagram = HS5Datagram(bytes), datagram.message.origin == .scale, let sender = datagram.sender else {
            return actions.append(.event(.protocolWarning(.foreignFrame)))
        }
        guard sender == scale || scale == nil && sender == (settings.scale ?? sender) else { return }
        let message = HS5ScaleMessage(datagram.message)
        unansweredSearches = 0
        if case .identity(let identity) = message { return found(sender, identity, at: now, &actions) }
        guard scale != nil else { return }
        // A repeat is the one before, byte for byte. The number alone does not tell: a scale that speaks unasked while it is asked
        // may give one to two messages.
        if datagram.message == last, datagram.message.sequence != 0 { return }
        last = datagram.message
        // Late, and to a request that has been answered or given up: what it says belongs to another user, packet or question.
        if message.isAnswer, datagram.message.sequence != request?.reply {
            let (command, sequence) = (datagram.message.command, datagram.message.sequence)
            return actions.append(.event(.protocolWarning(.lateAnswer(command: command, sequence: sequence))))
        }
        counter = datagram.message.sequence &+ 1
        answer(message, datagram.message, at: now, &actions)
    }

    // MARK: The opening

    private mutating func found(
        _ sender: HS5SenderID, _ identity: ScaleIdentity, at now: ScaleMoment, _ actions: inout [ScaleAction]
    ) {
        guard scale == nil else { return }
        scale = sender
        actions.append(.settle)
        self.identity = identity
        guard let key = settings.key else { return setCloud(at: now, &actions) }
        var logIn = LogInDialogue(key: key, nonce: settings.nonce)
        let step = logIn.begin()
        self.logIn = logIn
        take(step, at: now, &actions)
    }

    private mutating func take(_ step: LogInDialogue.Step, at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        switch step {
        case .send(let command, let data):
            phase = .loggingIn
            let isNonce = HS5Command(rawValue: command) == .logInNonce
            send(isNonce ? .logInNonce(data) : .logInAnswer(data), at: now, &actions)
        case .accepted: setCloud(at: now, &actions)
        case .refused:
            actions.append(.event(.deviceError(.noAnswer(.hs5))))
            lose(at: now, isError: false, &actions)
        case .ignore: break
        }
    }

    private mutating func setCloud(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        guard let cloud = settings.cloud else { return open(at: now, &actions) }
        (logIn, phase) = (nil, .settingCloudHost)
        send(.cloudHost(cloud.host), at: now, &actions)
    }

    private mutating func cloudTaken(_ isDone: Bool, at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        request = nil
        if !isDone { actions.append(.event(.protocolWarning(.other("the scale does not take the cloud's address")))) }
        guard isDone, phase == .settingCloudHost, let path = settings.cloud?.path else {
            return open(at: now, &actions)
        }
        phase = .settingCloudPath
        send(.cloudPath(path), at: now, &actions)
    }

    /// The session stands; from now on no other scale is meant.
    private mutating func open(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        settings.scale = scale
        isOpen = true
        actions.append(.event(.connected(identity)))
        list(at: now, &actions)
    }

    private mutating func list(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        (logIn, phase) = (nil, .listing)
        send(.users(now.wall), at: now, &actions)
    }

    /// The users first: a person may have been created at the scale.
    mutating func beginRound(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        roundAt = now.uptime + settings.memoryEvery
        list(at: now, &actions)
    }

    private mutating func answer(
        _ message: HS5ScaleMessage, _ frame: FamilyMessage, at now: ScaleMoment, _ actions: inout [ScaleAction]
    ) {
        switch (message, phase) {
        case (.logIn(let step), .loggingIn):
            request = nil
            if let next = logIn?.receive(step) { take(next, at: now, &actions) }
        case (.cloudTaken(let isDone), .settingCloudHost), (.cloudTaken(let isDone), .settingCloudPath):
            cloudTaken(isDone, at: now, &actions)
        case (.users(let users), .listing): listed(users, at: now, &actions)
        case (.userCreated(let isDone), .changingUsers), (.userModified(let isDone), .changingUsers),
            (.userDeleted(let isDone), .changingUsers):
            changed(isDone, at: now, &actions)
        case (.memoryReady(true), .openingMemory):
            phase = .summing
            send(.memorySummary, at: now, &actions)
        case (.memoryReady, .openingMemory):
            // The user was deleted at the scale a moment ago.
            if !round.isEmpty { round.removeFirst() }
            actions.append(.event(.memoryStart(false)))
            next(at: now, &actions)
        case (.memorySummary(let count), .summing): counted(Int(count), at: now, &actions)
        case (.memoryPacket(let records, let more, let announced, let trailing), .transferring):
            took(records, more: more, announced: announced, trailing: trailing, at: now, &actions)
        case (.ended, .endingMemory) where frame.sequence == request?.reply: next(at: now, &actions)
        case (.measure(accepted: true), .openingMeasurement): (request, phase) = (nil, .measuring)
        case (.measure, .openingMeasurement):
            actions.append(.event(.deviceError(.refused(.hs5))))
            rest(at: now)
        case (.unstableWeight, _), (.stableWeight, _), (.impedanceWeight, _), (.composition, _), (.ended, _):
            weighed(message, frame, at: now, &actions)
        case (.error(let raw), _):
            confirm(.error, at: now)
            // Before the error, which ends a weighing; its weight had stood.
            endWeighing(at: now, &actions)
            actions.append(.event(.deviceError(.sent(raw, by: .hs5, table: settings.errors))))
            (weighingBy, shown) = (nil, nil)
            if phase == .openingMeasurement || phase == .measuring { rest(at: now) }
        case (.busy, _):
            actions.append(.event(.deviceError(.refused(.hs5))))
            lose(at: now, isError: false, &actions)
            searchAt = now.uptime + settings.busyPause
        case (.malformed, _):
            actions.append(.event(.protocolWarning(.malformed(command: frame.command, sequence: frame.sequence))))
        case (.unknown, _):
            actions.append(.event(.protocolWarning(.unknown(command: frame.command, sequence: frame.sequence))))
        default:
            actions.append(.event(.protocolWarning(.unexpected(command: frame.command, sequence: frame.sequence))))
        }
    }

    /// Nothing is asked until the next round.
    private mutating func rest(at now: ScaleMoment) {
        (request, phase) = (nil, .idle)
        roundAt = min(roundAt ?? .seconds(Int64.max / 4), now.uptime + settings.busyPause)
    }

    mutating func confirm(_ command: HS5Command, at now: ScaleMoment) {
        confirmations.append((now.uptime + settings.confirmAfter, command))
    }

    // MARK: Users

    private mutating func listed(_ list: [UInt32?], at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        request = nil
        users = list
        actions.append(.event(.userList(list)))
        if let asked {
            guard case .listUsers = asked else { return change(asked, at: now, &actions) }
            self.asked = nil
        }
        round = list.enumerated().compactMap { index, serial in
            guard let serial, let position = HS5Position(index) else { return nil }
            return User(position: position, serial: serial)
        }
        next(at: now, &actions)
    }

    mutating func ask(_ command: ScaleCommand, at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        if case .measure(let serial) = command {
            settings.measures = serial
            // A list is asked for first, for who is where may have changed.
            if phase == .idle || phase == .measuring, weighingBy == nil { beginRound(at: now, &actions) }
            return
        }
        // Nobody knows how the cloud would be asked on the wire.
        guard scale != nil, asked == nil, phase != .loggingIn, phase != .closing,
            command.refusal == .userResult(false)
        else { return actions.append(.event(command.refusal)) }
        asked = command
        // Between two users' memories or weighings; a list is asked for first, for who is where may have changed.
        if phase == .idle || phase == .measuring && weighingBy == nil { beginRound(at: now, &actions) }
    }

    private mutating func change(_ command: ScaleCommand, at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        func position(of serial: UInt32) -> HS5Position? {
            users.firstIndex { $0 == serial }.flatMap { HS5Position($0) }
        }
        let message: HS5HostMessage?
        switch command {
        case .createUser(let profile, let wanted):
            let isTaken = wanted.map { users.indices.contains(Int($0.index)) && users[Int($0.index)] != nil } ?? false
            if position(of: profile.serial) != nil || isTaken {
                actions.append(.event(.deviceError(.userExists)))
                message = nil
            } else if let place = wanted ?? users.firstIndex(where: { $0 == nil }).flatMap({ HS5Position($0) }) {
                message = .createUser(place, profile)
            } else {
                actions.append(.event(.deviceError(.noPlace)))
                message = nil
            }
        case .modifyUser(let profile): message = position(of: profile.serial).map { .modifyUser($0, profile) }
        case .deleteUser(let serial): message = position(of: serial).map { .deleteUser($0, serial: serial) }
        case .listUsers, .measure, .display, .autoConnect, .cloud: message = nil
        }
        guard let message else { return changed(false, at: now, &actions) }
        phase = .changingUsers
        send(message, at: now, &actions)
    }

    private mutating func changed(_ isDone: Bool, at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        (request, asked) = (nil, nil)
        actions.append(.event(.userResult(isDone)))
        list(at: now, &actions)
    }

    // MARK: The memory

    /// The next user's memory; after the last one the measurement.
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

    private mutating func counted(_ count: Int, at now: ScaleMoment, _ actions: inout [ScaleAction]) {
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

    private mutating func took(
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
        let new = readings.filter { !keptKeys.contains(key(of: $0)) }
        for reading in readings where !new.contains(reading) {
            actions.append(.event(.memoryRecord(reading, isRepeat: true)))
        }
        transfer?.received += readings.count - new.count
        guard !new.isEmpty else { return went(on: more, at: now, &actions) }
        deliver(Waiting(readings: new, source: .memory, more: more), &actions)
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

    /// One weighing is one user's; a weight whose composition comes later is not known with it yet.
    private func key(of reading: ScaleReading) -> [UInt8] {
        reading.key + (reading.user ?? 0).bigEndianBytes + [reading.isComposed ? 1 : 0]
    }

    // MARK: Keeping

    mutating func deliver(_ waiting: Waiting, _ actions: inout [ScaleAction]) {
        guard deliveries.count < HS5Host.waitingLimit else {
            return actions.append(.event(.protocolWarning(.tooManyUnanswered)))
        }
        let token = ScaleToken(number: nextToken)
        nextToken += 1
        deliveries[token] = waiting
        actions.append(
            .deliver(ScaleDelivery(token: token, source: waiting.source, readings: waiting.readings)))
    }

    /// The caller's answer to a delivery.
    mutating func resolve(_ token: ScaleToken, isKept: Bool, at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        guard let waiting = deliveries.removeValue(forKey: token) else { return }
        if isKept { for reading in waiting.readings { keptKeys.insert(key(of: reading)) } }
        guard waiting.isCurrent, phase != .closing, phase != .offline else { return }
        guard isKept else {
            // The scale still holds what was not asked past: it is told nothing and asked anew in the next round.
            if phase == .transferring || phase == .measuring { rest(at: now) }
            (transfer, round) = (nil, [])
            return
        }
        switch waiting.source {
        case .memory:
            transfer?.received += waiting.readings.count
            actions += waiting.readings.map { .event(.memoryRecord($0, isRepeat: false)) }
            went(on: waiting.more, at: now, &actions)
        case .weighing, .cloud:
            for reading in waiting.readings {
                if reading.composition != nil {
                    actions.append(.event(.bodyComposition(reading, isRepeat: false)))
                } else {
                    actions.append(.event(.stableWeight(reading, isRepeat: false)))
                }
            }
            if let command = waiting.confirms { confirm(command, at: now) }
        }
    }
}
