extension HS5Host {
    mutating func receive(_ bytes: [UInt8]) {
        guard let datagram = HS5Datagram(bytes), datagram.message.origin == .scale, let sender = datagram.sender else {
            return warn(.foreignFrame)
        }
        guard sender == scale || scale == nil && sender == (settings.scale ?? sender) else { return }
        let message = HS5ScaleMessage(datagram.message)
        unansweredSearches = 0
        if case .identity(let identity) = message { return found(sender, identity) }
        guard scale != nil else { return }
        // A repetition equals the previous message in every byte. The number alone is not enough: a scale that sends spontaneously during a
        // request may give the same number to two messages.
        if datagram.message == last, datagram.message.sequence != 0 { return }
        last = datagram.message
        // A late answer to an earlier request: its content belongs to another user, packet or question.
        if message.isAnswer, datagram.message.sequence != request?.sequence {
            return warn(ScaleWarning.lateAnswer, datagram.message)
        }
        counter = datagram.message.sequence &+ 1
        answer(message, datagram.message)
    }

    // MARK: The opening

    private mutating func found(_ sender: HS5SenderID, _ identity: ScaleIdentity) {
        guard scale == nil else { return }
        scale = sender
        actions.append(.settle)
        self.identity = identity
        guard let key = settings.key else { return setCloud() }
        logIn = LogInDialogue(key: key, nonce: settings.nonce)
        if let step = logIn?.begin() { take(step) }
    }

    private mutating func take(_ step: LogInDialogue.Step) {
        switch step {
        case .send(let command, let data):
            phase = .loggingIn
            send(command == .logInNonce ? .logInNonce(data) : .logInAnswer(data))
        case .accepted: setCloud()
        case .refused:
            report(.noAnswer(Self.model))
            lose(isError: false)
        case .ignore: break
        }
    }

    private mutating func setCloud() {
        guard let cloud = settings.cloud else { return openSession() }
        (logIn, phase) = (nil, .settingCloudHost)
        send(.cloudHost(cloud.host))
    }

    private mutating func cloudTaken(_ isDone: Bool) {
        request = nil
        if !isDone { warn(.other("the scale does not take the cloud's address")) }
        guard isDone, phase == .settingCloudHost, let path = settings.cloud?.path else { return openSession() }
        phase = .settingCloudPath
        send(.cloudPath(path))
    }

    /// Opens the session; from now on only this scale counts.
    private mutating func openSession() {
        settings.scale = scale
        isOpen = true
        report(.connected(identity))
        list()
    }

    mutating func list() {
        (logIn, phase) = (nil, .listing)
        send(.users(now.wall))
    }

    /// Reads the users first, because a person may just have been created on the scale.
    mutating func beginRound() {
        roundAt = now.uptime + settings.memoryEvery
        list()
    }

    private mutating func answer(_ message: HS5ScaleMessage, _ frame: FamilyMessage) {
        switch (message, phase) {
        case (.logIn(let step), .loggingIn):
            request = nil
            if let next = logIn?.receive(step) { take(next) }
        case (.cloudTaken(let isDone), .settingCloudHost), (.cloudTaken(let isDone), .settingCloudPath):
            cloudTaken(isDone)
        case (.users(let users), .listing): listed(users)
        case (.userCreated(let isDone), .changingUsers), (.userModified(let isDone), .changingUsers),
            (.userDeleted(let isDone), .changingUsers):
            changed(isDone)
        case (.memoryReady(true), .openingMemory):
            phase = .summing
            send(.memorySummary)
        case (.memoryReady, .openingMemory):
            // The user has just been deleted on the scale.
            if !round.isEmpty { round.removeFirst() }
            report(.memoryStart(false))
            next()
        case (.memorySummary(let count), .summing): counted(Int(count))
        case (.memoryPacket(let records, let more, let announced, let trailing), .transferring):
            took(records, more: more, announced: announced, trailing: trailing)
        case (.ended, .endingMemory) where frame.sequence == request?.sequence: next()
        case (.measure(accepted: true), .openingMeasurement): (request, phase) = (nil, .measuring)
        case (.measure, .openingMeasurement):
            report(.refused(Self.model))
            rest()
        case (.unstableWeight, _), (.stableWeight, _), (.impedanceWeight, _), (.composition, _), (.ended, _):
            weighed(message, frame)
        case (.error(let raw), _):
            confirm(.error)
            // This comes before the error, which ends a weighing; its weight was stable.
            endWeighing()
            report(.sent(raw, by: .hs5, table: settings.errors))
            (weighingBy, shown) = (nil, nil)
            if phase == .openingMeasurement || phase == .measuring { rest() }
        case (.busy, _):
            report(.refused(Self.model))
            lose(isError: false)
            searchAt = now.uptime + settings.busyPause
        case (.malformed, _): warn(ScaleWarning.malformed, frame)
        case (.unknown, _): warn(ScaleWarning.unknown, frame)
        default: warn(ScaleWarning.unexpected, frame)
        }
    }

    /// Sends no request until the next round.
    mutating func rest() {
        (request, phase) = (nil, .idle)
        roundAt = min(roundAt ?? .seconds(Int64.max / 4), now.uptime + settings.busyPause)
    }

    mutating func confirm(_ command: FamilyCommand) {
        confirmations.append((now.uptime + settings.confirmAfter, command))
    }
}
