import JSON

extension HSLSession {
    /// The state of one scale.
    struct Scale: Sendable {
        var info: HSLDeviceInfo
        var isHere = false
        var last: HSLEvent?
        /// Whether the events are numbered, as they must be: each number occurs only once.
        var isCounting = true
        var lastAcknowledged: String?
        var request: Request?
        /// No request is sent before this time.
        var pauseUntil: Duration?
        /// When to read its memory, or on a HS5 the users and theirs; `nil` for not again while it stays connected.
        var memoryAt: Duration?
        /// Whether a HS4 still needs a person: it sends its memory only to a person admitted to a measurement.
        var needsVerification = false
        /// Whether a person was admitted in this session.
        var wasVerified = false
        var users: [UInt32?] = []
        /// HS5: the user whose measurement is open; `nil` for none, and weighings come from the memory.
        var measures: UInt32?
        /// HS5: the heights of users, in centimetres.
        var heights: [UInt32: Int] = [:]
        /// Users whose memory has not been read in this round.
        var round: [UInt32] = []
        /// Whether the list of users is fresh; a change to the users requires that.
        var hasFreshList = false
        var asked: ScaleCommand?
        /// HS5: a weight whose composition may follow.
        var held: Held?
        /// HS5: the weight that was delivered alone, until someone steps on again; its composition may still follow.
        var shown: ScaleReading?
        var undated = UndatedCounts()
        /// Events to report once the records before them are stored.
        var backlog: [ScaleEvent] = []
    }

    /// An open request.
    struct Request: Sendable {
        var id: Int
        var operation: HSLOperation
        /// The user whose memory or measurement it concerns.
        var serial: UInt32?
        /// When the request must have made progress.
        var by: Duration?
        /// Whether it is idle, so that it may be ended for another request.
        var isWaiting = false
        var isCancelled = false
        /// HS4: the unit in which the scale displays this measurement.
        var unit: ScaleDisplayUnit?
        /// HS4: whether the person may be weighed.
        var isAdmitted = false
        /// Whether no more data may come of it.
        var isRefused = false
        /// Whether it produced a weight.
        var hasWeighed = false
        var result: Bool?
        /// Whether the request belongs to a command; a command that is withdrawn still waits for its end.
        var isOfCommand: Bool {
            switch operation {
            case .hs3AutoConnectOn, .hs3AutoConnectOff, .hs5CreateUser, .hs5ModifyUser, .hs5DeleteUser, .hs5Cloud: true
            case .hs3Init, .hs4Measure, .hs4Memory, .hs5OpenUsers, .hs5Measure, .hs5Memory, .listDevices, .stopSession:
                false
            }
        }
        var transfer: Transfer?
        /// The vendor's numbers of errors already reported.
        var told: Set<Int> = []
    }

    struct Transfer: Sendable {
        var announced: Int?
        var received = 0
        var progress = -1.0
    }

    // MARK: Connected scales

    mutating func attach(_ info: HSLDeviceInfo) {
        let device = info.id
        guard device.model == settings.model else { return }
        guard only == nil || only == device else {
            guard others.count < Self.scaleLimit, others.insert(device).inserted else { return }
            return warn(nil, "another scale, \(device), is behind this link; it is left alone, for device_id names one")
        }
        guard scales[device] != nil || scales.count < Self.scaleLimit else {
            return warn(device, "more than \(Self.scaleLimit) scales behind one link; this one is not served")
        }
        var scale = scales[device] ?? Scale(info: info, measures: settings.measures)
        scale.info = HSLDeviceInfo(
            device, name: info.name ?? scale.info.name, firmware: info.firmware ?? scale.info.firmware,
            hardware: info.hardware ?? scale.info.hardware, transport: info.transport ?? scale.info.transport)
        guard !scale.isHere else { return scales[device] = scale }
        (scale.isHere, scale.memoryAt, scale.pauseUntil, scale.wasVerified) = (true, now.uptime, nil, false)
        scales[device] = scale
        let identity = ScaleIdentity(
            protocolName: "HSL/1", name: scale.info.name ?? device.model.rawValue,
            firmware: scale.info.firmware ?? "", hardware: scale.info.hardware ?? "", manufacturer: "iHealth",
            model: device.model.rawValue)
        report(.connected(identity), device)
        advance(device)
    }

    mutating func detach(_ device: HSLDeviceID, isError: Bool) {
        guard var scale = scales[device], scale.isHere else { return }
        let asked = scale.asked
        let isReported = scale.request?.told.contains(ScaleError.disconnected(device.model).code ?? -1) ?? false
        (scale.isHere, scale.request, scale.asked, scale.last) = (false, nil, nil, nil)
        (scale.isCounting, scale.undated) = (true, UndatedCounts())
        (scale.pauseUntil, scale.memoryAt, scale.round, scale.hasFreshList) = (nil, nil, [], false)
        scales[device] = scale
        // A weight that was shown as stable is a weighing, even without the rest of it.
        releaseHeld(device)
        if let asked { report(asked.refusal, device) }
        if isError, !isReported { report(.deviceError(.disconnected(device.model)), device) }
        report(.disconnected, device)
    }

    // MARK: Choosing the next request

    /// When to read the memory of an idle scale.
    func dueAt(_ scale: Scale) -> Duration? {
        guard scale.isHere, scale.pauseUntil == nil, let request = scale.request else {
            return scale.isHere && scale.request == nil && scale.pauseUntil == nil ? scale.memoryAt : nil
        }
        return request.isWaiting && !request.isCancelled ? scale.memoryAt : nil
    }

    mutating func timePasses(_ device: HSLDeviceID) {
        guard let scale = scales[device], scale.isHere else { return }
        if let by = scale.request?.by, now.uptime >= by { return timedOut(device) }
        if let due = dueAt(scale), now.uptime >= due, scale.request != nil {
            cancel(device)
        }
        advance(device)
    }

    /// Starts the next request of a scale that has none.
    mutating func advance(_ device: HSLDeviceID) {
        guard phase == .open, let scale = scales[device], scale.isHere else { return }
        if let request = scale.request {
            // A request that waits for a person is cancelled in favour of a command.
            if scale.asked != nil, request.isWaiting { cancel(device) }
            return
        }
        if let asked = scale.asked { return begin(asked, device) }
        if let pause = scale.pauseUntil {
            guard now.uptime >= pause else { return }
            scales[device]?.pauseUntil = nil
        }
        let isMemoryDue = scale.memoryAt.map { now.uptime >= $0 } ?? false
        let user = settings.user.json
        switch device.model {
        case .hs3:
            scales[device]?.memoryAt = nil
            start(.hs3Init, ["user": user], device)
        case .hs4 where isMemoryDue && !scale.needsVerification:
            start(.hs4Memory, ["user": ["userID": .text(settings.user.userID)]], device)
        case .hs4:
            let unit = JSONTree(Int(settings.unit.rawValue))
            start(.hs4Measure, ["unit": unit, "user": user], device)
            scales[device]?.request?.unit = settings.unit
        case .hs5 where isMemoryDue: start(.hs5OpenUsers, ["user": user], device)
        case .hs5:
            if let serial = scale.round.first {
                start(.hs5Memory, ["user": ["serialNub": JSONTree(Int(serial))]], device, for: serial)
            } else if let serial = scale.measures, scale.users.contains(serial) {
                let height = scale.heights[serial] ?? settings.user.height
                let person = JSONTree.members([
                    "serialNub": JSONTree(Int(serial)), "height": height.map { JSONTree($0) },
                ])
                start(.hs5Measure, ["user": person], device, for: serial)
                scales[device]?.request?.isWaiting = true
                scales[device]?.request?.by = nil
            }
        }
    }

    mutating func start(
        _ operation: HSLOperation, _ arguments: JSONTree, _ device: HSLDeviceID, for serial: UInt32? = nil
    ) {
        let limit =
            switch operation {
            case .hs3Init, .hs4Measure, .hs4Memory, .hs5OpenUsers, .hs5Cloud: settings.authenticationTimeout
            default: settings.resultTimeout
            }
        scales[device]?.request = Request(id: nextRequest, operation: operation, serial: serial, by: now.uptime + limit)
        let request = HSLRequest(id: nextRequest, device: device, operation: operation, arguments: arguments)
        nextRequest += 1
        send(.request(request))
    }

    mutating func cancel(_ device: HSLDeviceID) {
        guard let request = scales[device]?.request, !request.isCancelled else { return }
        scales[device]?.request?.isCancelled = true
        scales[device]?.request?.by = now.uptime + settings.resultTimeout
        send(.cancel(ref: request.id))
    }

    private mutating func timedOut(_ device: HSLDeviceID) {
        guard let request = scales[device]?.request else { return }
        guard !request.isCancelled else {
            return close(HSLMessageError(.timeout, "no end of a cancelled request", ref: request.id))
        }
        if request.transfer == nil, request.operation == .hs4Memory || request.operation == .hs5Memory {
            report(.memoryStart(false), device)
        }
        // This comes before the error, which ends a weighing.
        releaseHeld(device)
        tell(.noAnswer(device.model), device)
        scales[device]?.pauseUntil = now.uptime + settings.retryAfter
        cancel(device)
    }

    // MARK: The end of requests

    mutating func take(_ result: HSLResult) {
        if let open = listing, open.id == result.ref {
            listing = nil
            for info in result.devices ?? [] { attach(info) }
            return
        }
        guard let device = scales.first(where: { $0.value.request?.id == result.ref })?.key else {
            return warn(nil, "the end of a request that is not open; ignored")
        }
        if result.status == .failed, let code = result.errorCode { tell(code, device) }
        end(device, result.status)
    }

    mutating func complained(_ complaint: HSLMessageError) {
        if let open = listing, complaint.ref == open.id, complaint.known == .unsupported {
            // Its scales report themselves.
            return listing = nil
        }
        warn(nil, "the other side reports \(complaint.code.prefix(40))")
        guard let ref = complaint.ref, let device = scales.first(where: { $0.value.request?.id == ref })?.key else {
            return
        }
        if scales[device]?.asked != nil {
            let words = String(
                String.UnicodeScalarView(complaint.text.unicodeScalars.filter { $0.value >= 0x20 }.prefix(120)))
            let reason =
                "\(device.model.rawValue): the program behind the link refuses: \(complaint.code.prefix(40)), \(words)"
            report(.commandRefused(reason), device)
        }
        end(device, .failed)
    }

    private mutating func end(_ device: HSLDeviceID, _ status: HSLResult.Status) {
        guard let request = scales[device]?.request else { return }
        scales[device]?.request = nil
        releaseHeld(device)
        let isDone = status == .done
        let endsAlone =
            request.operation == .hs3Init || request.operation == .hs4Measure
            || request.operation == .hs5Measure
        if status == .failed || isDone && endsAlone && !request.hasWeighed, scales[device]?.pauseUntil == nil {
            scales[device]?.pauseUntil = now.uptime + settings.retryAfter
        }
        switch request.operation {
        case .hs4Memory:
            let isRefused = request.told.contains(111)
            let isNew = scales[device]?.wasVerified == false
            scales[device]?.needsVerification = isRefused && isNew
            scales[device]?.memoryAt = isDone ? nil : now.uptime + settings.memoryEvery
            // The measurement that admits the person follows immediately.
            if isRefused, isNew {
                scales[device]?.pauseUntil = nil
                scales[device]?.memoryAt = now.uptime
            }
        case .hs5OpenUsers:
            scales[device]?.memoryAt = now.uptime + settings.memoryEvery
            let users = scales[device]?.users.compactMap(\.self) ?? []
            scales[device]?.round = isDone ? users : []
            scales[device]?.hasFreshList = isDone
            if scales[device]?.asked == .listUsers { scales[device]?.asked = nil }
            if !isDone, let asked = scales[device]?.asked {
                scales[device]?.asked = nil
                report(asked.refusal, device)
            }
        case .hs5Memory: if scales[device]?.round.isEmpty == false { scales[device]?.round.removeFirst() }
        // A weighing of an unknown person is in a memory.
        case .hs5Measure: if isDone { scales[device]?.memoryAt = now.uptime }
        case .hs5CreateUser, .hs5ModifyUser, .hs5DeleteUser:
            finish(device, .userResult(isDone && request.result == true))
            scales[device]?.memoryAt = now.uptime
        case .hs3AutoConnectOn, .hs3AutoConnectOff:
            finish(device, .commandResult(isDone && request.result == true))
        case .hs5Cloud: finish(device, .commandResult(isDone))
        case .hs3Init, .hs4Measure, .listDevices, .stopSession: break
        }
        advance(device)
    }

    private mutating func finish(_ device: HSLDeviceID, _ event: ScaleEvent) {
        scales[device]?.asked = nil
        scales[device]?.pauseUntil = nil
        report(event, device)
    }
}
