import Foundation
import HubClient
import HubSettings
import HubWire

/// A `hub.conf` that does not exist yet, and the folders of the hub until then.
struct FutureConfiguration {
    /// Absolute, with links resolved.
    let path: String
    /// The folders that the hub has with the new file.
    let data, run: String
    /// Whether the new file must name the folders, because not every user's defaults are these.
    let namesFolders: Bool

    /// The file of a hub of the machine.
    private static let system = (path: "/etc/health-hub/hub.conf", data: "/var/lib/health-hub", run: "/run/health-hub")

    init(_ path: String, _ environment: SettingsEnvironment = .process()) throws(Failure) {
        self.path = path
        namesFolders = path == Self.system.path
        guard !namesFolders else {
            (data, run) = (Self.system.data, Self.system.run)
            return
        }
        let loaded = HubConfiguration.load(text: "", file: path, environment: environment) { _, _ in nil }
        guard let hub = loaded.hub else {
            throw Failure(.badConfiguration, loaded.problems.first?.description ?? "\(path): its folders are not known")
        }
        (data, run) = (hub.data, hub.run)
    }

    /// The file that `hub run` waits for; nil if there is a file.
    ///
    /// - Parameter named: the value of `--config`.
    /// - Throws: ``Failure`` if there is a file that cannot be read.
    static func wanted(named: String?) throws(Failure) -> FutureConfiguration? {
        do throws(Failure) { _ = try ConfigurationFile.path(named: named) } catch {
            let path = try SetupFile.place(named)
            guard access(path, F_OK) != 0 else { throw error }
            return try FutureConfiguration(path)
        }
        return nil
    }

    /// The addresses of a running hub that waits for its file; nil if none runs.
    ///
    /// - Parameter named: the value of `--config`.
    static func waiting(
        named: String?, _ environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> OwnerEndpoints? {
        let variable = environment["HUB_CONF"].flatMap { $0.isEmpty ? nil : $0 }
        let places = (named ?? variable).map { [$0] } ?? Array(ConfigurationFile.places(environment).dropFirst())
        for place in places where access(place, F_OK) != 0 {
            let path = URL(filePath: place).standardizedFileURL.resolvingSymlinksInPath().path
            guard let run = try? FutureConfiguration(path).run else { continue }
            let endpoints = OwnerEndpoints(run: run)
            if UnixSocket.presence(endpoints.door) == .listening { return endpoints }
        }
        return nil
    }

    // MARK: - The hub until then

    /// The data folder until the file exists; nothing in it must last.
    var temporaryData: String { "\(data)/setup" }

    static let page = "web"

    /// The implied configuration: the page alone, without access to records, at a loopback address.
    func text(port: Int) -> String {
        """
        [hub]
        data = \(tomlQuoted(temporaryData))
        run = \(tomlQuoted(run))

        [plugin.\(Self.page)]
        listen = "\(Self.listen(port))"
        grants = { read = [], write = [] }

        """
    }

    /// The set-up before the first answer; it has the page enabled, at its present address.
    func draft(port: Int) throws(Failure) -> SetupDraft {
        var draft = SetupDraft(path: path, old: nil)
        if namesFolders {
            try draft.set(["hub"], "data", .string(data))
            try draft.set(["hub"], "run", .string(run))
        }
        try draft.enable(Self.page)
        try draft.set(["plugin", Self.page], "listen", .string(Self.listen(port)))
        return draft
    }

    private static func listen(_ port: Int) -> String { "127.0.0.1:\(port)" }
}
