extension HSLSession {
    /// A durable event.
    mutating func offer(
        _ name: HSLEventName, _ data: HSLJSON, _ given: String?, _ event: HSLEvent, at now: ScaleMoment,
        _ actions: inout [Action]
    ) {
        let device = event.device
        let request = scales[device]?.request.flatMap { $0.id == event.ref ? $0 : nil }
        if request?.isRefused == true {
            return warn(device, "\(name.rawValue) follows a refusal; not taken", &actions)
        }
        let found: HSLReading
        do throws(HSLReading.Refusal) {
            found = try HSLReading(name, data, of: device, now: now.wall, user: request?.serial)
        } catch {
            let weight = HSLFields.tenths("weight", of: data)?.tenths
            let rid = given ?? weight.map { device.rid(name, HSLFields.local(data), tenths: $0) }
            return unusable(error, device, rid, at: now, &actions)
        }
        for warning in found.warnings { warn(device, warning, &actions) }
        let rid = given ?? device.rid(name, found.reading.time, tenths: found.reading.tenthsOfKilogram)
        if request != nil { goesOn(name, device, at: now) }
        if name == .stableWeight, device.model == .hs5, request != nil {
            releaseHeld(device, &actions)
            scales[device]?.held = Held(reading: found.reading, rid: rid)
            return actions.append(.event(.stableWeight(found.reading, isRepeat: isKept(rid, device)), of: device))
        }
        var rids = [rid]
        if name == .bodyComposition, let held = scales[device]?.held {
            scales[device]?.held = nil
            if held.reading.tenthsOfKilogram == found.reading.tenthsOfKilogram {
                rids.insert(held.rid, at: 0)
            } else {
                deliver(held.reading, [held.rid], .stableWeight, device, isTold: true, &actions)
            }
        }
        if isKept(rid, device) {
            for rid in rids { acknowledge(rid, device, &actions) }
            return actions.append(.event(told(name, found.reading, isRepeat: true), of: device))
        }
        deliver(found.reading, rids, name, device, &actions)
    }

    /// What the request of a durable event does next.
    private mutating func goesOn(_ name: HSLEventName, _ device: HSLDeviceID, at now: ScaleMoment) {
        guard let request = scales[device]?.request else { return }
        let isOver = request.operation == .hs3Init && request.isWaiting
        if !request.isCancelled {
            let time =
                name == .memoryRecord
                ? settings.recordTimeout
                : name == .cloudRecord ? settings.authenticationTimeout : settings.weighingTimeout
            scales[device]?.request?.by = isOver ? nil : now.uptime + time
        }
        if name == .memoryRecord {
            var transfer = request.transfer ?? Transfer()
            transfer.received += 1
            scales[device]?.request?.transfer = transfer
        } else {
            scales[device]?.request?.hasWeighed = true
            if !isOver { scales[device]?.request?.isWaiting = false }
        }
    }

    /// It will never be usable: acknowledged, or it would come for ever, and told.
    private mutating func unusable(
        _ refusal: HSLReading.Refusal, _ device: HSLDeviceID, _ rid: String?, at now: ScaleMoment,
        _ actions: inout [Action]
    ) {
        switch refusal {
        case .overCapacity: tell(.overCapacity(device.model), device, &actions)
        case .noWeight: warn(device, "a weighing without a weight; dropped", &actions)
        }
        if let rid { acknowledge(rid, device, &actions) }
    }

    private func isKept(_ rid: String, _ device: HSLDeviceID) -> Bool { keptEvents.contains("\(device)|\(rid)") }

    private mutating func acknowledge(_ rid: String, _ device: HSLDeviceID, _ actions: inout [Action]) {
        guard phase == .open else { return }
        scales[device]?.lastAcknowledged = rid
        actions.append(.send(HSLMessage.acknowledge(device, rid: rid).bytes))
    }

    private func told(_ name: HSLEventName, _ reading: ScaleReading, isRepeat: Bool) -> ScaleEvent {
        switch name {
        case .memoryRecord: .memoryRecord(reading, isRepeat: isRepeat)
        case .bodyComposition: .bodyComposition(reading, isRepeat: isRepeat)
        case .cloudRecord: .cloudRecord(reading, isRepeat: isRepeat)
        default: .stableWeight(reading, isRepeat: isRepeat)
        }
    }

    /// A weight whose composition does not come.
    mutating func releaseHeld(_ device: HSLDeviceID, _ actions: inout [Action]) {
        guard let held = scales[device]?.held else { return }
        scales[device]?.held = nil
        guard !isKept(held.rid, device) else { return acknowledge(held.rid, device, &actions) }
        deliver(held.reading, [held.rid], .stableWeight, device, isTold: true, &actions)
    }

    private mutating func deliver(
        _ reading: ScaleReading, _ rids: [String], _ name: HSLEventName, _ device: HSLDeviceID, isTold: Bool = false,
        _ actions: inout [Action]
    ) {
        // On its way already.
        let isWaiting = deliveries.values.contains { $0.isCurrent && $0.device == device && $0.rids == rids }
        guard !isWaiting else { return }
        guard deliveries.count < Self.waitingLimit else {
            // Not acknowledged: the device repeats it in the next session.
            let complaint = HSLComplaint(.tooManyUnacknowledged, "too many records wait to be kept")
            guard phase == .open else { return }
            actions.append(.send(HSLMessage.error(complaint).bytes))
            return closeNow(&actions)
        }
        let token = ScaleToken(number: nextToken)
        nextToken += 1
        deliveries[token] = Waiting(
            device: device, rids: rids, reading: reading, event: name, isTold: isTold, isCurrent: phase == .open)
        let source: ScaleDelivery.Source =
            name == .memoryRecord ? .memory : name == .cloudRecord ? .cloud : .weighing
        actions.append(.deliver(ScaleDelivery(token: token, source: source, readings: [reading]), of: device))
    }

    private mutating func closeNow(_ actions: inout [Action]) {
        phase = .closing
        actions.append(.close)
    }

    /// The caller's answer to a delivery.
    mutating func resolve(_ token: ScaleToken, isKept: Bool, at now: ScaleMoment, _ actions: inout [Action]) {
        guard let waiting = deliveries.removeValue(forKey: token) else { return }
        let device = waiting.device
        if isKept { for rid in waiting.rids { keptEvents.insert("\(device)|\(rid)") } }
        let isCurrent = waiting.isCurrent && phase == .open
        if isKept {
            if isCurrent { for rid in waiting.rids { acknowledge(rid, device, &actions) } }
            if !waiting.isTold {
                actions.append(.event(told(waiting.event, waiting.reading, isRepeat: false), of: device))
            }
        } else if isCurrent {
            reconnectAt = reconnectAt ?? now.uptime + settings.reconnectAfter
        }
        guard !deliveries.values.contains(where: { $0.device == device && $0.isCurrent }) else { return }
        let backlog = scales[device]?.backlog ?? []
        scales[device]?.backlog = []
        actions += backlog.map { .event($0, of: device) }
    }
}
