import JSON
import Platform

extension HSLSession {
    mutating func take(_ event: HSLEvent) {
        let device = event.device
        guard device.model == settings.model else { return }
        let name = HSLEventName(rawValue: event.name)
        if name == .deviceDisconnected { return detach(device, isError: true) }
        if scales[device]?.isHere != true { attach(HSLDeviceInfo(event.device, event.data)) }
        guard let scale = scales[device], scale.isHere else { return }
        let isRepeat = event == scale.last
        if let last = scale.last, event.number != last.number + 1 {
            warn(device, "events of the scale are missing, or come twice")
            if event.number == last.number, !isRepeat { scales[device]?.isCounting = false }
        }
        scales[device]?.last = event
        if event.name == "historyData" {
            let items = event.data.list ?? event.data["history"]?.list ?? [event.data]
            for item in items {
                offer(.memoryRecord, item, nil, event, isRepeat: isRepeat)
            }
            return
        }
        guard let name else {
            return warn(device, "an event of an unknown name; ignored")
        }
        if name.isDurable {
            return offer(name, event.data, event.rid, event, isRepeat: isRepeat)
        }
        switch name {
        case .battery:
            if let percent = event.data["percent"]?.whole, (0...100).contains(percent) {
                report(.battery(percent), device)
            }
        case .deviceError, .error: failed(event)
        case .deviceConnected: attach(HSLDeviceInfo(event.device, event.data))
        default: step(name, event)
        }
    }

    // MARK: Errors

    private mutating func failed(_ event: HSLEvent) {
        guard let code = event.data["code"]?.whole else {
            return warn(event.device, "an error without a number; ignored")
        }
        let raw = event.data["raw"]?.text.flatMap { $0.utf8.count == 2 ? [UInt8](hexadecimal: $0)?.first : nil }
        tell(code, raw: raw, event.device)
    }

    mutating func tell(_ code: Int, raw: UInt8? = nil, _ device: HSLDeviceID) {
        guard let error = family.error(code, raw: raw, of: device.model) else {
            return warn(device, code == 500 ? "the bridge has no network" : "the bridge refused an argument")
        }
        tell(error, device)
    }

    /// Reports an error once for each request.
    mutating func tell(_ error: ScaleError, _ device: HSLDeviceID) {
        if let code = error.code, scales[device]?.request?.told.insert(code).inserted == false { return }
        // No person was admitted yet in this session: the measurement that does so follows, so this error is not reported.
        if error.code == 111, let scale = scales[device], scale.request?.operation == .hs4Memory, !scale.wasVerified {
            return
        }
        report(.deviceError(error), device)
    }

    // MARK: The steps of a request

    private mutating func step(_ name: HSLEventName, _ event: HSLEvent) {
        let device = event.device
        guard var request = scales[device]?.request, request.id == event.ref else {
            return warn(device, "\(name.rawValue) belongs to no open request; ignored")
        }
        guard !request.isRefused else {
            return warn(device, "\(name.rawValue) follows a refusal; ignored")
        }
        if !request.isCancelled { request.by = nil }
        scales[device]?.request = request
        switch name {
        case .authentication: authenticated(event)
        case .serialNub:
            let serial = HSLFields.member("serialNub", of: event.data)?.whole.flatMap { UInt32(exactly: $0) }
            wait(settings.resultTimeout, device)
            if let serial, HS5Profile.isSerial(serial) { report(.userSerial(serial), device) }
        case .userList: listed(event)
        case .result:
            let isGood = event.data["ok"]?.truth ?? false
            scales[device]?.request?.result = isGood
            if request.operation == .hs5Memory, !isGood { report(.memoryStart(false), device) }
            wait(request.operation == .hs5Memory ? settings.recordTimeout : settings.resultTimeout, device)
        case .memoryStart, .memoryCount, .memoryProgress, .memoryFinish:
            transferred(name, event.data, device)
        case .unstableWeight, .impedanceWeight: weighs(name, event.data, device)
        default: break
        }
    }

    private mutating func wait(_ time: Duration, _ device: HSLDeviceID) {
        guard scales[device]?.request?.isCancelled == false else { return }
        scales[device]?.request?.by = now.uptime + time
    }

    private mutating func authenticated(_ event: HSLEvent) {
        let device = event.device
        guard let result = event.data["code"]?.whole.flatMap({ UserAuthentication(code: $0) }) else {
            return warn(device, "the result of an authentication is none; ignored")
        }
        report(.authentication(result), device)
        guard result.allowsMeasuring(on: device.model) else {
            tell(.notVerified(device.model), device)
            scales[device]?.request?.isRefused = true
            scales[device]?.pauseUntil = now.uptime + settings.verifyAgainAfter
            return wait(settings.resultTimeout, device)
        }
        switch scales[device]?.request?.operation {
        case .hs4Measure:
            scales[device]?.needsVerification = false
            scales[device]?.wasVerified = true
            scales[device]?.request?.isAdmitted = true
            scales[device]?.request?.isWaiting = true
            // The memory may have waited for this.
            timePasses(device)
            // The unit may have changed since this measurement was requested.
            reopenForUnit(device)
        case .hs3Init: wait(settings.recordTimeout, device)
        default: wait(settings.resultTimeout, device)
        }
    }

    private mutating func listed(_ event: HSLEvent) {
        var users: [UInt32?] = Array(repeating: nil, count: HS5Position.count)
        for item in event.data["users"]?.list?.prefix(64) ?? [] {
            guard let position = item["position"]?.whole.flatMap({ HS5Position($0) }),
                let serial = HSLFields.member("serialNumber", of: item)?.whole.flatMap({ UInt32(exactly: $0) }),
                HS5Profile.isSerial(serial)
            else {
                warn(event.device, "a user of the list has no place or number; ignored")
                continue
            }
            users[Int(position.index)] = serial
        }
        scales[event.device]?.users = users
        wait(settings.resultTimeout, event.device)
        report(.userList(users), event.device)
    }

    /// Handles an unsettled weight, or the weight at the impedance measurement.
    private mutating func weighs(_ name: HSLEventName, _ data: JSONTree, _ device: HSLDeviceID) {
        scales[device]?.request?.isWaiting = false
        if name == .unstableWeight { scales[device]?.shown = nil }
        wait(settings.weighingTimeout, device)
        guard let weight = HSLFields.tenths("weight", of: data), (1...device.model.capacity).contains(weight.tenths)
        else { return }
        report(name == .unstableWeight ? .unstableWeight(weight.tenths) : .impedanceWeight(weight.tenths), device)
    }

    // MARK: The memory

    private mutating func transferred(_ name: HSLEventName, _ data: JSONTree, _ device: HSLDeviceID) {
        var transfer = scales[device]?.request?.transfer ?? Transfer()
        wait(settings.recordTimeout, device)
        switch name {
        case .memoryStart:
            let isGood = data["ok"]?.truth ?? true
            note(.memoryStart(isGood), device)
            if !isGood {
                tell(.noAnswer(device.model), device)
                scales[device]?.request?.isRefused = true
            }
        case .memoryCount:
            guard let count = data["count"]?.whole, count >= 0 else {
                return warn(device, "a count of records that is none; ignored")
            }
            if count > 200 { report(.protocolWarning(.memoryCountAboveLimit(count)), device) }
            transfer.announced = min(count, 200)
            note(.memoryCount(min(count, 200)), device)
        case .memoryProgress:
            // 1.0 is reported when the last record has arrived.
            guard let done = data["progress"]?.decimal, done > transfer.progress, (0..<1).contains(done) else { break }
            transfer.progress = done
            note(.memoryProgress(done), device)
        case .memoryFinish:
            if let announced = transfer.announced, announced != transfer.received {
                let warning = ScaleWarning.memoryCountDiffers(announced: announced, received: transfer.received)
                report(.protocolWarning(warning), device)
            }
            if transfer.received > 0 { note(.memoryProgress(1), device) }
            note(.memoryFinish(records: transfer.received), device)
            if transfer.received == 0 { tell(.noMemory(device.model), device) }
            if scales[device]?.request?.operation == .hs3Init {
                scales[device]?.request?.isWaiting = true
                if scales[device]?.request?.isCancelled == false { scales[device]?.request?.by = nil }
            }
        default: break
        }
        scales[device]?.request?.transfer = transfer
        // A command may have waited for the end of the memory.
        if name == .memoryFinish { advance(device) }
    }

    /// Reports an event only after the records before it are stored.
    private mutating func note(_ event: ScaleEvent, _ device: HSLDeviceID) {
        guard deliveries.current.contains(where: { $0.context.device == device }) else {
            return report(event, device)
        }
        scales[device]?.backlog.append(event)
    }
}
