/// The users of the scale with their positions, and changes to them.
extension HS5Host {
    mutating func listed(_ list: [UInt32?]) {
        request = nil
        users = list
        report(.userList(list))
        if let asked {
            guard case .listUsers = asked else { return change(asked) }
            self.asked = nil
        }
        round = list.enumerated().compactMap { index, serial in
            guard let serial, let position = HS5Position(index) else { return nil }
            return User(position: position, serial: serial)
        }
        next()
    }

    mutating func execute(_ command: ScaleCommand) {
        if case .measure(let serial) = command {
            settings.measures = serial
            // The list is read first, because positions may have changed.
            if phase == .idle || phase == .measuring, weighingBy == nil { beginRound() }
            return
        }
        // The cloud's request in this protocol is unknown.
        guard scale != nil, asked == nil, phase != .loggingIn, phase != .closing,
            command.refusal == .userResult(false)
        else { return report(command.refusal) }
        asked = command
        // Only between two users' memories or weighings; the list is read first, because positions may have changed.
        if phase == .idle || phase == .measuring && weighingBy == nil { beginRound() }
    }

    /// Withdraws a command that waits for its turn.
    mutating func withdraw() {
        guard let asked, phase != .changingUsers else { return }
        self.asked = nil
        report(asked.refusal)
    }

    private mutating func change(_ command: ScaleCommand) {
        let message: HS5HostMessage?
        switch command {
        case .createUser(let profile, let wanted):
            let (place, error) = users.place(for: profile.serial, at: wanted)
            if let error { report(error) }
            message = place.map { .createUser($0, profile) }
        case .modifyUser(let profile): message = users.position(of: profile.serial).map { .modifyUser($0, profile) }
        case .deleteUser(let serial): message = users.position(of: serial).map { .deleteUser($0, serial: serial) }
        case .listUsers, .measure, .display, .autoConnect, .cloud: message = nil
        }
        guard let message else { return changed(false) }
        phase = .changingUsers
        send(message)
    }

    mutating func changed(_ isDone: Bool) {
        (request, asked) = (nil, nil)
        report(.userResult(isDone))
        list()
    }
}
