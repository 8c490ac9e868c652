/// The users of the scale with their positions, and changes to them.
extension HS5Host {
    mutating func listed(_ list: [UInt32?], at now: ScaleMoment, _ actions: inout [ScaleAction]) {
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
            // The list is read first, because positions may have changed.
            if phase == .idle || phase == .measuring, weighingBy == nil { beginRound(at: now, &actions) }
            return
        }
        // The cloud's request in this protocol is unknown.
        guard scale != nil, asked == nil, phase != .loggingIn, phase != .closing,
            command.refusal == .userResult(false)
        else { return actions.append(.event(command.refusal)) }
        asked = command
        // Only between two users' memories or weighings; the list is read first, because positions may have changed.
        if phase == .idle || phase == .measuring && weighingBy == nil { beginRound(at: now, &actions) }
    }

    /// Withdraws a command that waits for its turn.
    mutating func withdraw(_ actions: inout [ScaleAction]) {
        guard let asked, phase != .changingUsers else { return }
        self.asked = nil
        actions.append(.event(asked.refusal))
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

    mutating func changed(_ isDone: Bool, at now: ScaleMoment, _ actions: inout [ScaleAction]) {
        (request, asked) = (nil, nil)
        actions.append(.event(.userResult(isDone)))
        list(at: now, &actions)
    }
}
