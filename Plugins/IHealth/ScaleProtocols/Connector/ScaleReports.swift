import PluginKit

/// Reports about the scale for people: events, progress, live weights and log lines.
///
/// Texts and log lines contain no weight. LIVE messages do, and they are not stored.
struct ScaleReports {
    let hub: PluginContext
    let model: ScaleModel
    /// `nil` until the scale has identified itself.
    var device: String?

    /// Whether the dialogue was in progress when the link ended.
    var wasMeasuring = false
    /// The scale position of the person whose measurement is open.
    var slot: Int?
    private var isClockSet = false
    /// Whether the hub may show an error that the next good session resolves; unknown after a start.
    private var mayShowError = true
    /// Whether the hub may show a low battery; only a weighing resolves that.
    private var mayShowLowBattery = true
    private var progress = 0.0
    /// The number of look-ups of users, and with them of memories, since the scale connected.
    private var looks = 0
    /// The number of records that the memory announced, until the event is sent.
    private var announced: Int?
    private var isMemoryReported = false
    /// Whether this connection has sent the event of an empty memory.
    private var isEmptyReported = false
    private var authentication: UserAuthentication?
    /// Whether the person was refused, and no session has succeeded since.
    private var isRefused = false
    /// Kinds of damage reported on this connection, because a noisy line would fill the log.
    private var told: Set<String> = []
    private var users: [UInt32?]?

    init(hub: PluginContext, model: ScaleModel, device: String?) {
        (self.hub, self.model, self.device) = (hub, model, device)
    }

    mutating func report(_ event: ScaleEvent) async {
        switch event {
        case .clockSet: isClockSet = true
        case .connected(let identity): await connected(identity)
        case .disconnected:
            hub.logger.info("the scale has disconnected")
            (told, progress, isClockSet, users) = ([], 0, false, nil)
            (looks, announced, isMemoryReported, isEmptyReported) = (0, nil, false, false)
            (authentication, isRefused) = (nil, false)
            await send("disconnected")
        case .clock(let time, let skew):
            let isWrong = abs(skew) > WeighingMapping.tolerance
            await send(
                "clock", isWrong ? .warning : .info,
                text: isWrong
                    ? "the scale's clock was wrong by \(skew) s; weighings of its memory are marked clockSuspect" : nil,
                data: "{\"local\":\"\(time)\",\"skewSeconds\":\(skew)}")
        case .memoryStart(true): (progress, announced, isMemoryReported) = (0, nil, false)
        case .memoryStart(false): break  // An error follows.
        case .memoryCount(let count):
            announced = count
            // Afterwards the memories are checked again and again, mostly without finding anything new.
            if looks <= 1 { await reportMemory() }
        case .memoryProgress(let done): if isMemoryReported { await pass(done) }
        case .memoryFinish(let records):
            if isMemoryReported { await send("memory-end", data: "{\"readable\":\(records)}") }
            (announced, isMemoryReported) = (nil, false)
        case .memoryRecord(_, isRepeat: false): await reportMemory()
        case .memoryRecord(_, isRepeat: true): break
        case .unstableWeight(let tenths), .impedanceWeight(let tenths): await pass(weight: tenths)
        case .stableWeight(let reading, _), .bodyComposition(let reading, _):
            await pass(weight: reading.tenthsOfKilogram)
            await resolve()
            await resolveBattery()
        case .battery(let percent): await send("battery", data: "{\"percent\":\(percent)}")
        case .authentication(let result):
            guard result != authentication else { break }
            authentication = result
            await report(result, text: nil)
        case .userList(let list):
            looks += 1
            await report(users: list)
        case .userResult, .commandResult, .commandRefused, .userSerial, .cloudRecord: break  // For callers.
        case .deviceError(let error): await report(error)
        case .protocolWarning(let warning): await report(warning)
        }
    }

    private mutating func reportMemory() async {
        guard let count = announced else { return }
        (announced, isMemoryReported) = (nil, true)
        await send("memory", data: "{\"count\":\(count)}")
    }

    private mutating func connected(_ identity: ScaleIdentity?) async {
        hub.logger.info("the scale is connected")
        var data = "{\"model\":\"\(model.rawValue)\""
        if let identity {
            // The texts of an identity are ASCII without control characters; quotes and backslashes are dropped.
            func plain(_ text: String) -> String { text.filter { $0 != "\"" && $0 != "\\" } }
            data += ",\"name\":\"\(plain(identity.name))\",\"firmware\":\"\(plain(identity.firmware))\""
            data += ",\"hardware\":\"\(plain(identity.hardware))\",\"manufacturer\":\"\(plain(identity.manufacturer))\""
        }
        if model == .hs3 { data += ",\"clockSet\":\(isClockSet)" }
        await send("connected", data: data + "}")
        await resolve()
    }

    /// Reports that the scale does not answer; attempts continue.
    mutating func unreachable(_ error: ScaleLinkError) async {
        // A scale sleeps for all but a minute of the day, so this is not an error.
        guard error.code != .asleep else { return hub.logger.info("\(error)") }
        hub.logger.warning("\(error)")
        mayShowError = true
        await send("error", .error, text: error.description)
    }

    /// Reports the result of the verification, without the person's name.
    mutating func report(_ result: UserAuthentication, text: String?) async {
        let isAllowed = result.allowsMeasuring(on: model)
        await send(
            "authentication", isAllowed ? .info : .warning, code: Int64(result.rawValue), text: text,
            data: "{\"name\":\"\(result.name)\"}")
    }

    /// Reports a weighing whose date cannot be read.
    ///
    /// No time is invented for it, so it becomes no record. The bytes from the scale or the bridge are stored completely in the state, because
    /// they may forget the weighing once it is acknowledged. Another `hour_mode` may make the date of a HS3 readable.
    func undated(_ key: KnownWeighings.Key) async {
        hub.logger.warning("a weighing has no readable date, or one that no record can have, and is not recorded")
        await send(
            "undated", .warning,
            text:
                "a weighing has no readable date, or one that no record can have, and is not recorded; its data is kept"
                + " in the state of this plugin",
            data: "{\"raw\":\"\(key.text)\"}")
    }

    mutating func report(_ error: ScaleError, text: String? = nil) async {
        // Finding these again changes nothing.
        if error == .noMemory(model) {
            guard !isEmptyReported else { return }
            isEmptyReported = true
        }
        if error.code == 111, text == nil {
            guard !isRefused else { return }
            isRefused = true
        }
        let severity: DeviceEvent.Severity =
            switch error.errorClass {
            case .information: .info
            // A command failed: its caller is notified, and the scale has no fault.
            case .userManagement: .info
            case .device, .authorisation: .error
            // A scale switches itself off without notice: the usual end, unless a dialogue was in progress.
            case .link: error == .disconnected(model) && wasMeasuring ? .info : .warning
            case .measurement, .busy, .unknown: .warning
            }
        let sentence = text ?? error.sentence
        if severity != .info {
            mayShowError = true
            hub.logger.warning("\(sentence)")
        }
        var data = "{\"name\":\"\(error.name)\",\"class\":\"\(error.errorClass.rawValue)\""
        if let raw = error.raw { data += ",\"raw\":\(raw)" }
        await send("error", severity, code: error.code.map(Int64.init), text: sentence, data: data + "}")
        if error.isLowBattery {
            mayShowLowBattery = true
            await send("battery", .warning, data: "{\"low\":true}")
        }
    }

    private mutating func report(_ warning: ScaleWarning) async {
        if case .lateAnswer = warning { return hub.logger.debug("\(warning)") }
        guard told.insert(warning.kind).inserted else { return }
        hub.logger.warning("\(warning)")
        await send("protocol", .warning, text: "\(warning)")
    }

    private mutating func report(users list: [UInt32?]) async {
        guard users != list else { return }
        users = list
        let entries = list.enumerated().compactMap { position, serial in
            serial.map { "{\"position\":\(position),\"serialNumber\":\($0)}" }
        }
        await send("users", data: "{\"users\":[\(entries.joined(separator: ","))]}")
    }

    mutating func resolve() async {
        isRefused = false
        guard mayShowError else { return }
        mayShowError = false
        await send("error", isResolved: true)
    }

    /// Resolves a low battery: a scale with a low battery does not weigh, and reports that each time.
    private mutating func resolveBattery() async {
        guard mayShowLowBattery else { return }
        mayShowLowBattery = false
        await send("battery", data: "{\"low\":false}")
    }

    /// Sends progress in tenths, because the hub relays at most 50 messages a second.
    private mutating func pass(_ done: Double) async {
        guard done >= progress + 0.1 || done == 1 else { return }
        progress = done
        do throws(WireError) {
            await hub.live(try LiveValue(type: "weight", progress: done, device: device))
        } catch {
            hub.logger.debug("progress could not be reported: \(error)")
        }
    }

    private func pass(weight tenths: Int) async {
        do throws(WireError) {
            await hub.live(
                try LiveValue(
                    type: "weight", value: Double(tenths) / 10, unit: "kg", device: device,
                    subject: slot.map(Subject.slot)))
        } catch {
            hub.logger.debug("a passing weight could not be reported: \(error)")
        }
    }

    private func send(
        _ name: String, _ severity: DeviceEvent.Severity = .info, code: Int64? = nil, text: String? = nil,
        data: String? = nil, isResolved: Bool = false
    ) async {
        do throws(WireError) {
            await hub.event(
                try DeviceEvent(
                    name, device: device, severity: severity, code: code, text: text,
                    data: data.flatMap { RawJSON($0) },
                    isResolved: isResolved))
        } catch {
            hub.logger.debug("an event could not be reported: \(error)")
        }
    }
}

extension ScaleError {
    fileprivate var isLowBattery: Bool {
        self.code == (model == .hs5 ? 6 : 1) && errorClass == .device
    }
}
