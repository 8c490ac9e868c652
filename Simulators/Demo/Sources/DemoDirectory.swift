import Foundation
import HubClient

/// The folder of a demonstration.
struct DemoDirectory: Sendable {
    let path: String
    /// Whether the folder is removed at the end.
    let isTemporary: Bool

    var configuration: String { path + "/hub.conf" }

    /// Creates a folder that only its owner can open, with a path short enough for socket names.
    static func temporary() throws(Failure) -> DemoDirectory {
        let wanted = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
        let folder = wanted.utf8.count <= 60 && wanted.hasPrefix("/") ? wanted : "/tmp"
        var template = Array("\(folder)/hub-demo-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw Failure(.system, "\(folder): no folder can be made there: \(String(cString: strerror(errno)))")
        }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return DemoDirectory(path: path, isTemporary: true)
    }

    /// The folder that a person named; it must be new or empty, so that the final account covers this demonstration only.
    static func kept(_ path: String) throws(Failure) -> DemoDirectory {
        let path = URL(filePath: path).standardizedFileURL.path
        if let content = try? FileManager.default.contentsOfDirectory(atPath: path), !content.isEmpty {
            throw Failure(.usage, "--keep \(path): the folder is not empty; name a new one")
        }
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw Failure(.system, "--keep \(path): the folder cannot be made: \(error.localizedDescription)")
        }
        return DemoDirectory(path: path, isTemporary: false)
    }

    /// The socket at which the connector waits for a scale that dials.
    func link(of scale: DemoScale) -> String { "unix://\(path)/\(scale.model).sock" }

    /// The state file of the stand-in for Exist.
    var existState: String { path + "/exist.db" }

    /// The stand-in for Exist in `hub.conf`.
    struct Account: Sendable {
        let address: String
        /// The person whose days go there.
        let person: String
        /// Whether the stand-in is still running.
        var isOpen = true
    }

    /// Writes `hub.conf` of the household.
    ///
    /// - Parameters:
    ///   - clock: the value of `[hub] clock`; `nil` for the machine's clock.
    ///   - network: the address of the HS5.
    ///   - hasScales: false when the month is over and the scales have ended.
    ///   - exist: the destination of days.
    ///   - page: the page's section; empty for no page.
    func write(
        _ household: [DemoPerson], clock: String?, network: String, hasScales: Bool = true, exist: Account? = nil,
        page: String = ""
    ) throws(Failure) {
        var text = """
            # Written by hub demo.
            [hub]
            data = "\(path)/data"
            run = "\(path)/run"
            log_level = "error"
            zone = "\(DemoCalendar.zone)"

            """
        if let clock { text += "clock = \"\(clock)\"\n" }
        for person in household {
            let expected = person.gains ? person.weight.lowerBound : person.weight.upperBound
            text += """

                [person.\(person.name)]
                height = \(person.height)
                sex = "\(person.sex)"
                birth_date = "\(person.birthDate)"
                unit = "\(person.unit)"
                zone = "\(DemoCalendar.zone)"
                expected_weight = \(expected)
                slots = { \(DemoScale.hs5.instance) = \(person.slot) }

                """
        }
        for scale in DemoScale.allCases {
            let link = scale == .hs5 ? "\(network)?bind=0" : link(of: scale).replacing("unix:", with: "unix-accept:")
            text += """

                [plugin.\(scale.instance)]
                link = "\(link)"
                device_id = "\(scale.device)"

                """
            // Anna's measurement is open; the weigh-ins of the others are read from the memory.
            if scale == .hs5 { text += "user = 1\nmemory_every = \"1s\"\n" }
            if !hasScales { text += "enabled = false  # The month is over, and this scale was none.\n" }
        }
        text += "\n[plugin.gap-filler]\n"
        if let exist { text += DemoDirectory.exporter(exist) }
        try write(text + page)
    }

    private func write(_ text: String) throws(Failure) {
        do {
            try Data(text.utf8).write(to: URL(filePath: configuration))
        } catch {
            throw Failure(.system, "\(configuration): cannot be written: \(error.localizedDescription)")
        }
    }

    /// Appends a section to `hub.conf`.
    func add(_ section: String) throws(Failure) {
        guard let text = try? String(contentsOfFile: configuration, encoding: .utf8) else {
            throw Failure(.system, "\(configuration): cannot be read")
        }
        try write(text + section)
    }

    private static func exporter(_ exist: Account) -> String {
        """

        [plugin.\(ExistStandIn.instance)]
        base = "\(exist.address)"
        login = "token"
        persons = ["\(exist.person)"]
        days = 1000  # All there are, not only the last thirty.
        \(exist.isOpen ? "" : "enabled = false  # This Exist was none: start hub-exist-server first.\n")
        """
    }

    /// Removes a temporary folder; keeps any other.
    func remove() {
        if isTemporary { try? FileManager.default.removeItem(atPath: path) }
    }
}
