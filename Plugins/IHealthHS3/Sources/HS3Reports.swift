import PluginKit
import ScaleFrames
import ScaleLinks

/// What people are told about the scale: events, progress and log lines.
///
/// No text holds a weight.
struct HS3Reports {
    let hub: PluginContext
    let device: String

    /// Whether the dialogue was over, and nothing asked, when the link ended.
    var wasMeasuring = false
    /// Whether the hub may show an error that the next good session takes back; after a start nobody knows.
    private var mayShowError = true
    private var progress = 0.0
    /// Kinds of damage told on this connection: a noisy line would fill the log.
    private var told: Set<String> = []

    init(hub: PluginContext, device: String) { (self.hub, self.device) = (hub, device) }

    mutating func report(_ event: HS3Host.Event) async {
        switch event {
        case .connected(let isClockSet):
            hub.logger.info("the scale is connected")
            await send("connected", data: "{\"clockSet\":\(isClockSet)}")
            await resolve()
        case .disconnected:
            hub.logger.info("the scale has disconnected")
            (told, progress) = ([], 0)
            await send("disconnected")
        case .clock(let time, let skew):
            let isWrong = abs(skew) > WeightMapping.tolerance
            await send(
                "clock", isWrong ? .warning : .info,
                text: isWrong
                    ? "the scale's clock was wrong by \(skew) s; weighings of its memory are marked clockSuspect" : nil,
                data: "{\"local\":\"\(time)\",\"skewSeconds\":\(skew)}")
        case .memoryStart(true): progress = 0
        case .memoryStart(false): break  // An error follows.
        case .memoryCount(let count): await send("memory", data: "{\"count\":\(count)}")
        case .memoryProgress(let done): await pass(done)
        case .memoryFinish(let records): await send("memory-end", data: "{\"readable\":\(records)}")
        case .memoryRecord: break
        case .stableWeight: await resolve()
        case .deviceError(let error): await report(error)
        case .protocolWarning(let warning): await report(warning)
        }
    }

    /// Nobody answers; attempts go on.
    mutating func unreachable(_ error: ScaleLinkError) async {
        // A scale sleeps all day but for a minute: that is no error.
        guard error.code != .asleep else { return hub.logger.info("\(error)") }
        hub.logger.warning("\(error)")
        mayShowError = true
        await send("error", .error, text: error.description)
    }

    /// A weighing whose date cannot be read.
    ///
    /// No time is made up for it: it becomes no record. It stays in the scale's memory and, as bytes, in the state; another
    /// `hour_mode` may make its date readable.
    func undated(_ key: HS3RecordKey) async {
        hub.logger.warning("a weighing of the scale has no readable date and is not recorded")
        await send(
            "undated", .warning,
            text: "a weighing has no readable date and is not recorded; it stays in the scale's memory",
            data: "{\"raw\":\"\(key)\"}")
    }

    private mutating func report(_ error: ScaleError) async {
        let severity: DeviceEvent.Severity =
            switch error.errorClass {
            case .information: .info
            case .device, .authorisation: .error
            // A scale switches itself off without a word: the usual end, unless something was still going on.
            case .link: error == .disconnected(.hs3) && wasMeasuring ? .info : .warning
            case .measurement, .busy, .userManagement, .unknown: .warning
            }
        if severity != .info {
            mayShowError = true
            hub.logger.warning("\(error.sentence)")
        }
        var data = "{\"name\":\"\(error.name)\",\"class\":\"\(error.errorClass.rawValue)\""
        if let raw = error.raw { data += ",\"raw\":\(raw)" }
        await send("error", severity, code: error.code.map(Int64.init), text: error.sentence, data: data + "}")
    }

    private mutating func report(_ warning: HS3Host.Warning) async {
        // The name of the case, without its numbers.
        guard told.insert(String("\(Mirror(reflecting: warning).children.first?.label ?? "\(warning)")")).inserted
        else {
            return
        }
        hub.logger.warning("\(warning)")
        await send("protocol", .warning, text: "\(warning)")
    }

    private mutating func resolve() async {
        guard mayShowError else { return }
        mayShowError = false
        await send("error", isResolved: true)
    }

    /// In tenths: the hub passes on 50 a second.
    private mutating func pass(_ done: Double) async {
        guard done >= progress + 0.1 || done == 1 else { return }
        progress = done
        do throws(WireError) {
            await hub.live(try LiveValue(type: "weight", progress: done, device: device))
        } catch {
            hub.logger.debug("progress could not be told: \(error)")
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
            hub.logger.debug("an event could not be told: \(error)")
        }
    }
}
