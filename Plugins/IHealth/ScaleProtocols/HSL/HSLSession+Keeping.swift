import JSON
import Platform

extension HSLSession {
    struct Held: Sendable {
        var reading: ScaleReading
        var name: Name
    }

    /// The name of a durable event.
    struct Name: Sendable, Hashable {
        /// The id for its acknowledgement.
        var rid: String
        /// The key that identifies a repetition: no other weighing has it.
        var own: String
    }

    /// Counts identical weighings without id and date within one transfer.
    struct UndatedCounts: Sendable {
        private var counts: [JSONTree: Int] = [:]
        private var request: Int?
        private var event: HSLEvent?
        private var before: [JSONTree: Int] = [:]

        /// More than any memory has.
        private static let limit = 1024

        /// The number of earlier events like `data`; a repeated line is counted once.
        mutating func next(_ data: JSONTree, in line: HSLEvent, isRepeat: Bool) -> Int {
            if line.ref != request { (counts, request, event) = ([:], line.ref, nil) }
            if event != line { (event, before) = (line, counts) } else if isRepeat { counts = before }
            if counts.count >= Self.limit { counts = [:] }
            defer { counts[data, default: 0] += 1 }
            return counts[data, default: 0]
        }
    }

    /// The events of a delivery.
    struct Origin: Sendable {
        var device: HSLDeviceID
        /// The names of the events that it acknowledges.
        var names: [Name]
        var event: HSLEventName
        /// Whether its event was reported when it came.
        var isReported: Bool
    }

    /// Handles a durable event.
    ///
    /// - Parameters:
    ///   - given: its rid as written.
    ///   - isRepeat: whether the same line came before, with nothing in between.
    mutating func offer(_ kind: HSLEventName, _ data: JSONTree, _ given: String?, _ event: HSLEvent, isRepeat: Bool) {
        let device = event.device
        let request = scales[device]?.request.flatMap { $0.id == event.ref ? $0 : nil }
        if request?.isRefused == true {
            return warn(device, "\(kind.rawValue) follows a refusal; not taken")
        }
        let found: HSLReading
        let name: Name
        do throws(HSLReading.InvalidReading) {
            (found, name) = try read(event, kind, data, given, request?.serial, isRepeat)
        } catch {
            let weight = HSLFields.tenths("weight", of: data)?.tenths
            let rid = given ?? weight.map { device.rid(kind, HSLFields.local(data), tenths: $0) }
            return unusable(error, device, rid)
        }
        for warning in found.warnings { warn(device, warning) }
        if request != nil { goesOn(kind, device) }
        if kind == .stableWeight, device.model == .hs5 {
            guard request == nil else {
                releaseHeld(device)
                scales[device]?.held = Held(reading: found.reading, name: name)
                return report(.stableWeight(found.reading, isRepeat: isKept(name, device)), device)
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
                releaseHeld(device)
                if let shown = scales[device]?.shown { reading = reading.following(shown) }
            }
            scales[device]?.shown = nil
        }
        // Of weighings that share an acknowledgement id, the earlier one is acknowledged first.
        if isKept(name, device), !isAwaited(name.rid, device) {
            for name in names { acknowledge(name.rid, device) }
            return report(told(kind, reading, isRepeat: true), device)
        }
        deliver(reading, names, kind, device)
    }

    /// Reads a weighing and its name.
    private mutating func read(
        _ event: HSLEvent, _ kind: HSLEventName, _ data: JSONTree, _ given: String?, _ user: UInt32?, _ isRepeat: Bool
    ) throws(HSLReading.InvalidReading) -> (HSLReading, Name) {
        let device = event.device
        let tenths = HSLFields.tenths("weight", of: data)?.tenths ?? 0
        // An id without a time is shared by every weighing with this weight, so it is not a name.
        let own = given == device.rid(kind, nil, tenths: tenths) ? nil : given
        let isUndated = HSLFields.isUndated(kind, data)
        let occurrence =
            isUndated && own == nil ? scales[device]?.undated.next(data, in: event, isRepeat: isRepeat) ?? 0 : 0
        var found = try HSLReading(kind, data, of: device, now: now.wall, user: user, rid: own, occurrence: occurrence)
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
    private mutating func goesOn(_ name: HSLEventName, _ device: HSLDeviceID) {
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
    private mutating func unusable(_ refusal: HSLReading.InvalidReading, _ device: HSLDeviceID, _ rid: String?) {
        switch refusal {
        case .overCapacity: tell(.overCapacity(device.model), device)
        case .noWeight: warn(device, "a weighing without a weight; dropped")
        }
        if let rid { acknowledge(rid, device) }
    }

    private func isKept(_ name: Name, _ device: HSLDeviceID) -> Bool { deliveries.isKept("\(device)|\(name.own)") }

    /// Whether a weighing with this acknowledgement id waits to be stored.
    private func isAwaited(_ rid: String, _ device: HSLDeviceID) -> Bool {
        deliveries.current.map(\.context).contains { origin in
            origin.device == device && origin.names.contains { $0.rid == rid }
        }
    }

    private mutating func acknowledge(_ rid: String, _ device: HSLDeviceID) {
        guard phase == .open, !withheld.contains("\(device)|\(rid)") else { return }
        scales[device]?.lastAcknowledged = rid
        send(.acknowledge(device, rid: rid))
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
    mutating func releaseHeld(_ device: HSLDeviceID) {
        guard let held = scales[device]?.held else { return }
        scales[device]?.held = nil
        scales[device]?.shown = held.reading
        guard !isKept(held.name, device) else { return acknowledge(held.name.rid, device) }
        deliver(held.reading, [held.name], .stableWeight, device, isReported: true)
    }

    private mutating func deliver(
        _ reading: ScaleReading, _ names: [Name], _ kind: HSLEventName, _ device: HSLDeviceID, isReported: Bool = false
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
            send(.error(complaint))
            return closeNow()
        }
        turn(to: device)
        actions.append(.deliver(delivery))
    }

    private mutating func closeNow() {
        phase = .closing
        actions.append(.close)
    }

    /// Handles the caller's answer to a delivery.
    mutating func resolve(_ token: ScaleToken, isKept: Bool) {
        guard let item = deliveries.answer(token, isKept: isKept) else { return }
        let (origin, device) = (item.context, item.context.device)
        let isCurrent = item.isCurrent && phase == .open
        if isKept {
            if isCurrent { for name in origin.names { acknowledge(name.rid, device) } }
            if !origin.isReported {
                report(told(origin.event, item.readings[0], isRepeat: false), device)
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
        for event in backlog { report(event, device) }
    }
}
