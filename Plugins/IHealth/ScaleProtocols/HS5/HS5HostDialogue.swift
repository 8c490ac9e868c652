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
        // A repetition equals the previous message in every byte. The number alone is not enough: a scale that sends spontaneously during a
        // request may give the same number to two messages.
        if datagram.message == last, datagram.message.sequence != 0 { return }
        last = datagram.message
        // A late answer to an earlier request: its content belongs to another user, packet or question.
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

    /// Opens the session; from now on only this scale counts.
    private mutating func open(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        settings.scale = scale
        isOpen = true
        actions.append(.event(.connected(identity)))
        list(at: now, &actions)
    }

    mutating func list(at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        (logIn, phase) = (nil, .listing)
        send(.users(now.wall), at: now, &actions)
    }

    /// Reads the users first, because a person may just have been created on the scale.
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
            // The user has just been deleted on the scale.
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
            // This comes before the error, which ends a weighing; its weight was stable.
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

    /// Sends no request until the next round.
    mutating func rest(at now: ScaleMoment) {
        (request, phase) = (nil, .idle)
        roundAt = min(roundAt ?? .seconds(Int64.max / 4), now.uptime + settings.busyPause)
    }

    mutating func confirm(_ command: HS5Command, at now: ScaleMoment) {
        confirmations.append((now.uptime + settings.confirmAfter, command))
    }
}
