import JSON
import Platform

extension HSLSession {
    /// Handles a durable event.
    ///
    /// - Parameters:
    ///   - given: its rid as written.
    ///   - isRepeat: whether the same line came before, with nothing in between.
    mutating func offer(
        _ kind: HSLEventName, _ data: JSONTree, _ given: String?, _ event: HSLEvent, isRepeat: Bool,
        at now: ScaleMoment, _ actions: inout [Action]
    ) {
        let device = event.device
        let request = scales[device]?.request.flatMap { $0.id == event.ref ? $0 : nil }
        if request?.isRefused == true {
            return warn(device, "\(kind.rawValue) follows a refusal; not taken", &actions)
        }
        let found: HSLReading
        let name: Name
        do throws(HSLReading.InvalidReading) {
            (found, name) = try read(event, kind, data, given, request?.serial, isRepeat, at: now)
        } catch {
            let weight = HSLFields.tenths("weight", of: data)?.tenths
            let rid = given ?? weight.map { device.rid(kind, HSLFields.local(data), tenths: $0) }
            return unusable(error, device, rid, at: now, &actions)
        }
        for warning in found.warnings { warn(device, warning, &actions) }
        if request != nil { goesOn(kind, device, at: now) }
        if kind == .stableWeight, device.model == .hs5 {
            guard request == nil else {
                releaseHeld(device, &actions)
                scales[device]?.held = Held(reading: found.reading, name: name)
                return actions.append(.event(.stableWeight(found.reading, isRepeat: isKept(name, device)), of: device))
            }
            scales[device]?.shown = found.reading
        }
        var (reading, names) = (found.reading, [name])
        if kind == .bodyComposition {
            let weight = scales[device]?.held
            if let weight, weight.reading.tenthsOfKilogram == reading.tenthsOfKilogram {
                scales[device]?.held = nil
                names.insert(weight.name, at: 0)
                reading = reading.following(weight.reading)
            } else {
                releaseHeld(device, &actions)
                if let shown = scales[device]?.shown { reading = reading.following(shown) }
            }
            scales[device]?.shown = nil
        }
        // Of weighings that share an acknowledgement id, the earlier one is acknowledged first.
        if isKept(name, device), !isAwaited(name.rid, device) {
            for name in names { acknowledge(name.rid, device, &actions) }
            return actions.append(.event(told(kind, reading, isRepeat: true), of: device))
        }
        deliver(reading, names, kind, device, &actions)
    }

    /// Reads a weighing and its name.
    private mutating func read(
        _ event: HSLEvent, _ kind: HSLEventName, _ data: JSONTree, _ given: String?, _ user: UInt32?, _ isRepeat: Bool,
        at now: ScaleMoment
    ) throws(HSLReading.InvalidReading) -> (HSLReading, Name) {
        let device = event.device
        let tenths = HSLFields.tenths("weight", of: data)?.tenths ?? 0
        // An id without a time is shared by every weighing with this weight, so it is not a name.
        let own = given == device.rid(kind, nil, tenths: tenths) ? nil : given
        let isUndated = HSLFields.isUndated(kind, data)
        let occurrence =
            isUndated && own == nil ? scales[device]?.undated.next(data, in: event, isRepeat: isRepeat) ?? 0 : 0
        var found = try HSLReading(
            kind, data, of: device, now: now.wall, user: user, rid: own, occurrence: occurrence)
        let rid = given ?? device.rid(kind, HSLFields.local(data), tenths: tenths)
        if let own { return (found, Name(rid: rid, own: own)) }
        guard found.reading.isDatedByHost else {
            let user = found.reading.user.map { " \($0)" } ?? ""
            return (found, Name(rid: rid, own: "\(kind.rawValue) \(found.reading.key.hexadecimal)\(user)"))
        }
        // Without id and time, only the number of its line distinguishes it from another weighing with the same weight.
        eventsWithoutNumber += scales[device]?.isCounting == false ? 1 : 0
        found.warnings.append("a weight has neither a time nor a rid; if it is sent again, it counts as another one")
        return (found, Name(rid: rid, own: "line \(connections) \(event.number) \(eventsWithoutNumber)"))
    }

    /// Updates the request of a durable event.
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

    /// Acknowledges a record that will never be usable, so that it does not come again forever, and reports it.
    private mutating func unusable(
        _ refusal: HSLReading.InvalidReading, _ device: HSLDeviceID, _ rid: String?, at now: ScaleMoment,
        _ actions: inout [Action]
    ) {
        switch refusal {
        case .overCapacity: tell(.overCapacity(device.model), device, &actions)
        case .noWeight: warn(device, "a weighing without a weight; dropped", &actions)
        }
        if let rid { acknowledge(rid, device, &actions) }
    }

    private func isKept(_ name: Name, _ device: HSLDeviceID) -> Bool { deliveries.isKept("\(device)|\(name.own)") }

    /// Whether a weighing with this acknowledgement id waits to be stored.
    private func isAwaited(_ rid: String, _ device: HSLDeviceID) -> Bool {
        deliveries.current.map(\.context).contains { origin in
            origin.device == device && origin.names.contains { $0.rid == rid }
        }
    }

    private mutating func acknowledge(_ rid: String, _ device: HSLDeviceID, _ actions: inout [Action]) {
        guard phase == .open, !withheld.contains("\(device)|\(rid)") else { return }
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

    /// Delivers a weight whose composition does not come, or not in time.
    mutating func releaseHeld(_ device: HSLDeviceID, _ actions: inout [Action]) {
        guard let held = scales[device]?.held else { return }
        scales[device]?.held = nil
        scales[device]?.shown = held.reading
        guard !isKept(held.name, device) else { return acknowledge(held.name.rid, device, &actions) }
        deliver(held.reading, [held.name], .stableWeight, device, isReported: true, &actions)
    }

    private mutating func deliver(
        _ reading: ScaleReading, _ names: [Name], _ kind: HSLEventName, _ device: HSLDeviceID, isReported: Bool = false,
        _ actions: inout [Action]
    ) {
        // Already on its way.
        let isWaiting = deliveries.current.map(\.context).contains {
            $0.device == device && $0.names.last == names.last
        }
        guard !isWaiting else { return }
        let source: ScaleDelivery.Source =
            kind == .memoryRecord ? .memory : kind == .cloudRecord ? .cloud : .weighing
        let delivery = deliveries.add(
            [reading], from: source, keys: names.map { "\(device)|\($0.own)" },
            Origin(device: device, names: names, event: kind, isReported: isReported), isCurrent: phase == .open)
        guard let delivery else {
            // Without an acknowledgement the device repeats it in the next session.
            let complaint = HSLMessageError(.tooManyUnacknowledged, "too many records wait to be kept")
            guard phase == .open else { return }
            actions.append(.send(HSLMessage.error(complaint).bytes))
            return closeNow(&actions)
        }
        actions.append(.deliver(delivery, of: device))
    }

    private mutating func closeNow(_ actions: inout [Action]) {
        phase = .closing
        actions.append(.close)
    }

    /// Handles the caller's answer to a delivery.
    mutating func resolve(_ token: ScaleToken, isKept: Bool, at now: ScaleMoment, _ actions: inout [Action]) {
        guard let item = deliveries.answer(token, isKept: isKept) else { return }
        let (origin, device) = (item.context, item.context.device)
        let isCurrent = item.isCurrent && phase == .open
        if isKept {
            if isCurrent { for name in origin.names { acknowledge(name.rid, device, &actions) } }
            if !origin.isReported {
                actions.append(.event(told(origin.event, item.readings[0], isRepeat: false), of: device))
            }
        } else if isCurrent {
            // The acknowledgement of another weighing with the same id would acknowledge this one, too.
            for name in origin.names where name.rid != name.own { withheld.insert("\(device)|\(name.rid)") }
            let isFull = withheld.count >= Self.withheldLimit
            reconnectAt = isFull ? now.uptime : reconnectAt ?? now.uptime + settings.reconnectAfter
        }
        guard !deliveries.current.contains(where: { $0.context.device == device }) else { return }
        let backlog = scales[device]?.backlog ?? []
        scales[device]?.backlog = []
        actions += backlog.map { .event($0, of: device) }
    }
}
