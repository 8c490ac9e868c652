import JSON
import Platform

extension HSLSession {
    mutating func take(_ event: HSLEvent, at now: ScaleMoment, _ actions: inout [Action]) {
        let device = event.device
        guard device.model == settings.model else { return }
        let name = HSLEventName(rawValue: event.name)
        if name == .deviceDisconnected { return detach(device, isError: true, &actions) }
        if scales[device]?.isHere != true { attach(info(event), at: now, &actions) }
        guard let scale = scales[device], scale.isHere else { return }
        let isRepeat = event == scale.last
        if let last = scale.last, event.number != last.number + 1 {
            warn(device, "events of the scale are missing, or come twice", &actions)
            if event.number == last.number, !isRepeat { scales[device]?.isCounting = false }
        }
        scales[device]?.last = event
        if event.name == "historyData" {
            let items = event.data.list ?? event.data["history"]?.list ?? [event.data]
            for item in items {
                offer(.memoryRecord, item, nil, event, isRepeat: isRepeat, at: now, &actions)
            }
            return
        }
        guard let name else {
            return warn(device, "an event of an unknown name; ignored", &actions)
        }
        if name.isDurable {
            return offer(name, event.data, event.rid, event, isRepeat: isRepeat, at: now, &actions)
        }
        switch name {
        case .battery:
            if let percent = event.data["percent"]?.whole, (0...100).contains(percent) {
                actions.append(.event(.battery(percent), of: device))
            }
        case .deviceError, .error: failed(event, &actions)
        case .deviceConnected: attach(info(event), at: now, &actions)
        default: step(name, event, at: now, &actions)
        }
    }

    private func info(_ event: HSLEvent) -> HSLDeviceInfo {
        func text(_ name: String) -> String? { event.data[name]?.text.map { String($0.prefix(64)) } }
        return HSLDeviceInfo(
            event.device, name: text("name"), firmware: text("firmware"), hardware: text("hardware"),
            transport: text("transport"))
    }

    // MARK: Errors

    private mutating func failed(_ event: HSLEvent, _ actions: inout [Action]) {
        guard let code = event.data["code"]?.whole else {
            return warn(event.device, "an error without a number; ignored", &actions)
        }
        let raw = event.data["raw"]?.text.flatMap { $0.utf8.count == 2 ? [UInt8](hexadecimal: $0)?.first : nil }
        tell(code, raw: raw, event.device, &actions)
    }

    mutating func tell(_ code: Int, raw: UInt8? = nil, _ device: HSLDeviceID, _ actions: inout [Action]) {
        guard let error = family.error(code, raw: raw, of: device.model) else {
            return warn(device, code == 500 ? "the bridge has no network" : "the bridge refused an argument", &actions)
        }
        tell(error, device, &actions)
    }

    /// Reports an error once for each request.
    mutating func tell(_ error: ScaleError, _ device: HSLDeviceID, _ actions: inout [Action]) {
        if let code = error.code, scales[device]?.request?.told.insert(code).inserted == false { return }
        // No person was admitted yet in this session: the measurement that does so follows, so this error is not reported.
        if error.code == 111, let scale = scales[device], scale.request?.operation == .hs4Memory, !scale.wasVerified {
            return
        }
        actions.append(.event(.deviceError(error), of: device))
    }

    // MARK: The steps of a request

    private mutating func step(
        _ name: HSLEventName, _ event: HSLEvent, at now: ScaleMoment, _ actions: inout [Action]
    ) {
        let device = event.device
        guard var request = scales[device]?.request, request.id == event.ref else {
            return warn(device, "\(name.rawValue) belongs to no open request; ignored", &actions)
        }
        guard !request.isRefused else {
            return warn(device, "\(name.rawValue) follows a refusal; ignored", &actions)
        }
        if !request.isCancelled { request.by = nil }
        scales[device]?.request = request
        switch name {
        case .authentication: authenticated(event, at: now, &actions)
        case .serialNub:
            let serial = HSLFields.member("serialNub", of: event.data)?.whole.flatMap { UInt32(exactly: $0) }
            wait(settings.resultTimeout, device, at: now)
            if let serial, HS5Profile.isSerial(serial) { actions.append(.event(.userSerial(serial), of: device)) }
        case .userList: listed(event, at: now, &actions)
        case .result:
            let isGood = event.data["ok"]?.truth ?? false
            scales[device]?.request?.result = isGood
            if request.operation == .hs5Memory, !isGood { actions.append(.event(.memoryStart(false), of: device)) }
            wait(request.operation == .hs5Memory ? settings.recordTimeout : settings.resultTimeout, device, at: now)
        case .memoryStart, .memoryCount, .memoryProgress, .memoryFinish:
            transferred(name, event.data, device, at: now, &actions)
        case .unstableWeight, .impedanceWeight: weighs(name, event.data, device, at: now, &actions)
        default: break
        }
    }

    private mutating func wait(_ time: Duration, _ device: HSLDeviceID, at now: ScaleMoment) {
        guard scales[device]?.request?.isCancelled == false else { return }
        scales[device]?.request?.by = now.uptime + time
    }

    private mutating func authenticated(_ event: HSLEvent, at now: ScaleMoment, _ actions: inout [Action]) {
        let device = event.device
        guard let result = event.data["code"]?.whole.flatMap({ UserAuthentication(code: $0) }) else {
            return warn(device, "the result of an authentication is none; ignored", &actions)
        }
        actions.append(.event(.authentication(result), of: device))
        guard result.allowsMeasuring(on: device.model) else {
            tell(.notVerified(device.model), device, &actions)
            scales[device]?.request?.isRefused = true
            scales[device]?.pauseUntil = now.uptime + settings.verifyAgainAfter
            return wait(settings.resultTimeout, device, at: now)
        }
        switch scales[device]?.request?.operation {
        case .hs4Measure:
            scales[device]?.needsVerification = false
            scales[device]?.wasVerified = true
            scales[device]?.request?.isAdmitted = true
            scales[device]?.request?.isWaiting = true
            // The memory may have waited for this.
            timePasses(device, at: now, &actions)
            // The unit may have changed since this measurement was requested.
            reopenForUnit(device, at: now, &actions)
        case .hs3Init: wait(settings.recordTimeout, device, at: now)
        default: wait(settings.resultTimeout, device, at: now)
        }
    }

    private mutating func listed(_ event: HSLEvent, at now: ScaleMoment, _ actions: inout [Action]) {
        var users: [UInt32?] = Array(repeating: nil, count: HS5Position.count)
        for item in event.data["users"]?.list?.prefix(64) ?? [] {
            guard let position = item["position"]?.whole.flatMap({ HS5Position($0) }),
                let serial = HSLFields.member("serialNumber", of: item)?.whole.flatMap({ UInt32(exactly: $0) }),
                HS5Profile.isSerial(serial)
            else {
                warn(event.device, "a user of the list has no place or number; ignored", &actions)
                continue
            }
            users[Int(position.index)] = serial
        }
        scales[event.device]?.users = users
        wait(settings.resultTimeout, event.device, at: now)
        actions.append(.event(.userList(users), of: event.device))
    }

    /// Handles an unsettled weight, or the weight at the impedance measurement.
    private mutating func weighs(
        _ name: HSLEventName, _ data: JSONTree, _ device: HSLDeviceID, at now: ScaleMoment, _ actions: inout [Action]
    ) {
        scales[device]?.request?.isWaiting = false
        if name == .unstableWeight { scales[device]?.shown = nil }
        wait(settings.weighingTimeout, device, at: now)
        guard let weight = HSLFields.tenths("weight", of: data), (1...device.model.capacity).contains(weight.tenths)
        else { return }
        actions.append(
            .event(
                name == .unstableWeight ? .unstableWeight(weight.tenths) : .impedanceWeight(weight.tenths), of: device)
        )
    }

    // MARK: The memory

    private mutating func transferred(
        _ name: HSLEventName, _ data: JSONTree, _ device: HSLDeviceID, at now: ScaleMoment, _ actions: inout [Action]
    ) {
        var transfer = scales[device]?.request?.transfer ?? Transfer()
        wait(settings.recordTimeout, device, at: now)
        switch name {
        case .memoryStart:
            let isGood = data["ok"]?.truth ?? true
            note(.memoryStart(isGood), device, &actions)
            if !isGood {
                tell(.noAnswer(device.model), device, &actions)
                scales[device]?.request?.isRefused = true
            }
        case .memoryCount:
            guard let count = data["count"]?.whole, count >= 0 else {
                return warn(device, "a count of records that is none; ignored", &actions)
            }
            if count > 200 { actions.append(.event(.protocolWarning(.memoryCountAboveLimit(count)), of: device)) }
            transfer.announced = min(count, 200)
            note(.memoryCount(min(count, 200)), device, &actions)
        case .memoryProgress:
            // 1.0 is reported when the last record has arrived.
            guard let done = data["progress"]?.decimal, done > transfer.progress, (0..<1).contains(done) else { break }
            transfer.progress = done
            note(.memoryProgress(done), device, &actions)
        case .memoryFinish:
            if let announced = transfer.announced, announced != transfer.received {
                let warning = ScaleWarning.memoryCountDiffers(announced: announced, received: transfer.received)
                actions.append(.event(.protocolWarning(warning), of: device))
            }
            if transfer.received > 0 { note(.memoryProgress(1), device, &actions) }
            note(.memoryFinish(records: transfer.received), device, &actions)
            if transfer.received == 0 { tell(.noMemory(device.model), device, &actions) }
            if scales[device]?.request?.operation == .hs3Init {
                scales[device]?.request?.isWaiting = true
                if scales[device]?.request?.isCancelled == false { scales[device]?.request?.by = nil }
            }
        default: break
        }
        scales[device]?.request?.transfer = transfer
        // A command may have waited for the end of the memory.
        if name == .memoryFinish { advance(device, at: now, &actions) }
    }

    /// Reports an event only after the records before it are stored.
    private mutating func note(_ event: ScaleEvent, _ device: HSLDeviceID, _ actions: inout [Action]) {
        guard deliveries.current.contains(where: { $0.context.device == device }) else {
            return actions.append(.event(event, of: device))
        }
        scales[device]?.backlog.append(event)
    }
}
