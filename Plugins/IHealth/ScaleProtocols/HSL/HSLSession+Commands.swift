import JSON

extension HSLSession {
    /// Starts a command for a scale.
    mutating func ask(_ command: ScaleCommand, of device: HSLDeviceID) {
        if case .measure(let serial) = command, device.model == .hs5 {
            // It also applies to a scale that has not connected yet.
            scales[device, default: Scale(info: HSLDeviceInfo(device))].measures = serial
            scales[device]?.memoryAt = now.uptime
            return timePasses(device)
        }
        guard phase == .open, let scale = scales[device], scale.isHere, scale.asked == nil,
            isPossible(command, scale)
        else { return report(command.refusal, device) }
        scales[device]?.asked = command
        scales[device]?.hasFreshList = false
        advance(device)
    }

    /// Withdraws a command that waits for its turn.
    mutating func withdraw(_ device: HSLDeviceID) {
        guard let scale = scales[device], let asked = scale.asked, scale.request?.isOfCommand != true else { return }
        scales[device]?.asked = nil
        report(asked.refusal, device)
    }

    /// Uses the unit for the next measurement; an open one is opened again, unless a person is on the scale.
    mutating func display(_ unit: ScaleDisplayUnit) {
        settings.unit = unit
        guard settings.model == .hs4 else { return report(.commandResult(false), nil) }
        report(.commandResult(true), nil)
        for device in devices { reopenForUnit(device) }
    }

    /// Ends an open measurement with another unit; the next one begins immediately.
    mutating func reopenForUnit(_ device: HSLDeviceID) {
        guard let scale = scales[device], scale.isHere, let request = scale.request, request.isWaiting,
            let unit = request.unit, unit != settings.unit
        else { return }
        cancel(device)
    }

    private mutating func isPossible(_ command: ScaleCommand, _ scale: Scale) -> Bool {
        switch command {
        case .listUsers, .createUser, .modifyUser, .deleteUser, .cloud: return scale.info.id.model == .hs5
        case .measure, .display: return false  // Neither is sent to a scale.
        case .autoConnect:
            guard scale.info.id.model == .hs3 else { return false }
            guard let firmware = scale.info.firmware, Self.version(firmware, isAtLeast: [1, 0, 2]) else {
                let found =
                    scale.info.firmware.map { "this one has \($0.prefix(16))" } ?? "this one does not say its own"
                let reason = "HS3: the switch for automatic connection needs firmware 1.0.2 or later, and \(found)"
                report(.commandRefused(reason), scale.info.id)
                return false
            }
            return true
        }
    }

    package static func version(_ text: String, isAtLeast least: [Int]) -> Bool {
        let parts = text.split(separator: ".").map { Int($0) ?? 0 }
        for (place, number) in least.enumerated() {
            let part = place < parts.count ? parts[place] : 0
            if part != number { return part > number }
        }
        return true
    }

    mutating func begin(_ command: ScaleCommand, _ device: HSLDeviceID) {
        switch command {
        case .autoConnect(let on):
            start(on ? .hs3AutoConnectOn : .hs3AutoConnectOff, [:], device)
        case .cloud: start(.hs5Cloud, [:], device)
        case .listUsers, .createUser, .modifyUser, .deleteUser, .measure, .display:
            // A person may just have been created on the scale.
            guard scales[device]?.hasFreshList == true else {
                return start(.hs5OpenUsers, ["user": settings.user.json], device)
            }
            change(command, device)
        }
    }

    private mutating func change(_ command: ScaleCommand, _ device: HSLDeviceID) {
        let users = scales[device]?.users ?? []
        switch command {
        case .createUser(let profile, let wanted):
            let (place, error) = users.place(for: profile.serial, at: wanted)
            if let error { report(.deviceError(error), device) }
            guard let place else { break }
            let arguments: JSONTree = ["user": profile.json, "position": JSONTree(Int(place.index))]
            return start(.hs5CreateUser, arguments, device, for: profile.serial)
        case .modifyUser(let profile) where users.contains(profile.serial):
            return start(.hs5ModifyUser, ["user": profile.json], device, for: profile.serial)
        case .deleteUser(let serial) where users.contains(serial):
            let user: JSONTree = ["serialNub": JSONTree(Int(serial))]
            return start(.hs5DeleteUser, ["user": user], device, for: serial)
        default: break
        }
        scales[device]?.asked = nil
        report(.userResult(false), device)
        advance(device)
    }
}

extension HS5Profile {
    /// The form in HSL: the birthday if it is known, otherwise the age.
    var json: JSONTree {
        JSONTree.members([
            "serialNub": JSONTree(Int(serial)), "height": JSONTree(Int(height)),
            "isAthlete": JSONTree(isAthlete ? 1 : 0), "sex": JSONTree(isMale ? 1 : 0),
            "birthday": birthday.map { .text(String($0.description.prefix(10))) },
            "age": birthday == nil ? JSONTree(Int(age)) : nil,
        ])
    }
}
