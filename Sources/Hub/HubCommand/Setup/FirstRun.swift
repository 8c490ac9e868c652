import Foundation
import HubClient
import HubCore
import HubSettings
import HubWire

/// The first run of a hub: until there is a `hub.conf`, only its page runs, where the owner sets the hub up.
struct FirstRun {
    let future: FutureConfiguration
    /// The value of `--config`.
    let named: String?
    /// Of the page.
    let port: Int

    /// Runs the page until there is a `hub.conf`, from it or from anyone else.
    ///
    /// - Returns: whether there is one; false if the hub was asked to end.
    func run(_ interruption: Interruption) async throws -> Bool {
        try checkPlace()
        let loader = ConfigurationLoader(path: future.path, programPath: HubProgram.path)
        let checked = await loader.load(future.text(port: port), asksPlugins: false)
        guard let configuration = checked.loaded.configuration, checked.executables[FutureConfiguration.page] != nil,
            !checked.loaded.problems.hasErrors
        else { throw Failure(.noConfiguration, Self.failure(checked, future.path)) }

        let isWritten = AwaitableValue(false)
        let server = SetupServer(try future.draft(port: port)) { isWritten.change { $0 = true } }
        let running = try RunningHub(waitingFor: server, checked, configuration)
        // Only now, because another hub that waits for its file would use the folder.
        removeFolder()
        defer { removeFolder() }
        // The hub releases this one when it ends; the given one must stay for the hub that follows.
        let own = Interruption()
        Terminal.complain("there is no \(future.path) yet: this hub only asks for its contents, and takes no records")
        try await running.run(own) {
            Terminal.complain("set-up: in another terminal, \(link) prints a link to it; hub setup asks there instead")
        } end: {
            while !own.isOver, !interruption.isOver, !isThere {
                await isWritten.wait(upTo: .milliseconds(500)) { $0 }
            }
        }
        guard isThere, !interruption.isOver else { return false }
        keepPage()
        return true
    }

    /// Reports now that the file cannot be written, and not after all answers.
    private func checkPlace() throws(Failure) {
        do throws(Failure) { _ = try SetupFile(named: future.path) } catch {
            guard error.exit == .system else { throw error }
            throw Failure(
                .noConfiguration, "there is no \(future.path), and the page could not have it written: \(error.message)"
            )
        }
    }

    private var isThere: Bool { (try? ConfigurationFile.path(named: named)) != nil }

    private var link: String {
        "hub web" + (named.map { " --config \(OwnerEndpoints.quoted($0))" } ?? "")
    }

    private static func failure(_ checked: CheckedConfiguration, _ path: String) -> String {
        let reason =
            checked.faults[FutureConfiguration.page]
            ?? checked.loaded.problems.first { $0.severity == .error }?.message ?? "it cannot be started"
        return
            "there is no \(path), and the page that would ask for its contents does not run: \(reason); hub setup makes one"
    }

    // MARK: - The folder of the page

    /// Leaves the state of the page to the hub that follows, so that the browser stays logged in.
    private func keepPage() {
        guard let path = try? ConfigurationFile.path(named: named), let text = try? ConfigurationFile.text(path),
            (try? ConfigurationEditor(text))?.isEnabled(FutureConfiguration.page) == true,
            let hub = HubConfiguration.load(text: text, file: path, environment: .process(), manifests: { _, _ in [] })
                .hub, case let files = HubFiles(hub), (try? files.prepare()) != nil
        else { return }
        let place = "\(files.plugins)/\(FutureConfiguration.page)"
        guard access(place, F_OK) != 0 else { return }
        let former = HubFiles(HubSection(data: future.temporaryData, run: future.run))
        // Without the state, the owner only has to log in again.
        try? FileManager.default.createDirectory(
            atPath: files.plugins, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        try? FileManager.default.moveItem(atPath: "\(former.plugins)/\(FutureConfiguration.page)", toPath: place)
    }

    private func removeFolder() { try? FileManager.default.removeItem(atPath: future.temporaryData) }
}
