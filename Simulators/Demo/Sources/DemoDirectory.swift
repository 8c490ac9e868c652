import Foundation
import HubClient

/// The folder a demonstration lives in.
struct DemoDirectory: Sendable {
    let path: String
    /// Whether it goes away with the demonstration.
    let isTemporary: Bool

    var configuration: String { path + "/hub.conf" }

    /// A new folder that only its owner can open, short enough for the names of sockets.
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

    /// The folder a person named: a new or an empty one, so that the account at the end is of this demonstration alone.
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

    /// Where the connector of a scale that dials waits for it.
    func link(of scale: DemoScale) -> String { "unix://\(path)/\(scale.model).sock" }

    /// What the stand-in for Exist keeps.
    var existState: String { path + "/exist.db" }

    /// The stand-in for Exist, as `hub.conf` names it.
    struct Account: Sendable {
        let address: String
        /// Whose days go there.
        let person: String
        /// Whether it is still there.
        var isOpen = true
    }

    /// Writes `hub.conf` of the household.
    ///
    /// - Parameters:
    ///   - clock: what `[hub] clock` says; `nil` for the machine's.
    ///   - network: the address of the HS5.
    ///   - hasScales: false when the month is over and the scales are gone.
    ///   - exist: where days go.
    ///   - page: its section; empty: there is none.
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
            // Anna's measurement is held open; the others are found in the memory.
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

    /// Adds a section to `hub.conf` as it is.
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
