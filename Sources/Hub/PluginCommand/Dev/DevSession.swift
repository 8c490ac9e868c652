import Foundation
import HealthText
import HubClient
import HubCore
import HubSettings
import HubWire

/// A plugin and its hub, restarted with each save.
actor DevSession {
    private let path: String
    private let folder: String
    private let settings: [String]
    private let place: DevFolders
    private let view: DevView
    private let build: BuildStep?
    private let hubEnded: @Sendable () -> Void
    private var subject: PluginUnderTest?
    private var standIn: SimulatorProcess?
    private var hub: HubInstance?
    private var observer: DevObserver?
    private var tap: HelperProcess?
    private var watch: FolderWatch?
    private var program: ProgramIdentity?
    private var isEnding = false

    /// - Parameters:
    ///   - build: a shell command; `nil` if there is nothing to build.
    ///   - hubEnded: called if the hub ends without being asked.
    init(
        _ path: String, settings: [String], place: DevFolders, build: BuildStep?, _ view: DevView,
        hubEnded: @escaping @Sendable () -> Void
    ) {
        (self.path, self.settings, self.place, self.build) = (path, settings, place, build)
        folder = DevFolders.folder(of: path)
        (self.view, self.hubEnded) = (view, hubEnded)
    }

    /// Runs until it is ended; returns early if the watched folder is gone.
    ///
    /// - Throws: ``Failure`` if it cannot begin.
    func run() async throws {
        // Start watching first, so that no save is missed.
        let watch = try FolderWatch(folder, except: place.isKept ? place.scratch : nil)
        self.watch = watch
        if let build, needsBuild, !(try await make(build)) {
            view.say(.build, "nothing runs until it is built; waiting for a change")
        } else {
            try await begin()
        }
        for await changed in watch.changes {
            if isEnding { return }
            do { try await follow(changed) } catch let failure as Failure {
                if isEnding { return }
                view.say(.restart, failure.message, .bad)
            } catch let refusal as PluginError {
                view.say(.restart, "\(refusal); the old one keeps running", .bad)
            }
        }
    }

    private var needsBuild: Bool { (try? PluginUnderTest(path, settings: settings)) == nil }

    // MARK: - Start

    private func begin() async throws {
        let subject: PluginUnderTest
        do { subject = try PluginUnderTest(path, settings: settings) } catch {
            throw Failure(.badConfiguration, error.description)
        }
        standIn = try startStandIn(subject)
        _ = try place.write(configuration(subject))
        let hub = try await HubInstance(configuration: place.configuration, run: place.run, instance: subject.name) {
            [view] in
            view.say(.hub, $0)
        } ended: { [hubEnded] in
            hubEnded()
        }
        guard !isEnding else { return await hub.end() }
        (self.hub, self.subject, program) = (hub, subject, ProgramIdentity(subject.program))
        var facts = DevView.Facts()
        (facts.door, facts.feed, facts.configuration) = (hub.endpoints.door, hub.endpoints.feed, place.configuration)
        view.say(
            .hub,
            "a separate one for \(subject.name), which touches nothing of yours; in another terminal: export HUB_CONF=\(place.configuration)",
            nil, facts)
        let shown = place.lastShown()
        if !view.json { tap = try startTap(shown) }
        let observer = DevObserver(subject.name, hub.endpoints, data: "\(place.scratch)/data", shown: shown, view)
        self.observer = observer
        observer.start()
        view.say(.hub, "watching \(folder)\(view.json ? "" : "; Ctrl-C ends it")")
    }

    private func startStandIn(_ subject: PluginUnderTest) throws -> SimulatorProcess? {
        guard let simulator = subject.simulator else { return nil }
        do {
            let standIn = try SimulatorProcess(simulator, scratch: place.scratch)
            let said = standIn.values.sorted { $0.key < $1.key }.map { "{\($0.key)} is \($0.value)" }
            view.say(.simulator, "started" + (said.isEmpty ? "" : ": \(said.joined(separator: ", "))"))
            return standIn
        } catch let refusal as PluginError { throw Failure(.badConfiguration, refusal.description) }
    }

    private func configuration(_ subject: PluginUnderTest) -> String {
        subject.configuration(place.scratch, run: place.run, standIn?.values ?? [:], hub: "log_level = \"warning\"")
    }

    /// Starts `hub tap`, which shows records in words and ends when its stdin does.
    private func startTap(_ shown: DevObserver.Shown) throws -> HelperProcess {
        try HelperProcess(
            "hub",
            ["tap", "--until-eof", "--config", place.configuration, "--since", shown.cursor ?? "0"] + DevObserver.topics
        ) { [view] line in if let line { view.record(line) } }
    }

    // MARK: - Saves

    private func follow(_ changed: Set<String>) async throws {
        // A build writes the program; if the program is the same as before, no restart is needed.
        let own = subject.map { String($0.program.dropFirst(folder.count + 1)) }
        if let subject, changed == [own], program == ProgramIdentity(subject.program) { return }
        let data = subject?.data ?? []
        let files = changed.filter { !$0.hasSuffix(".md") }.sorted()
        let parts = files.filter { file in !data.contains { file == $0 || file.hasPrefix($0 + "/") } }
        var facts = DevView.Facts()
        facts.files = files
        guard !files.isEmpty else { return }
        let names = (files.count > 4 ? files.prefix(3) + ["\(files.count - 3) more"] : files[...])
            .joined(separator: ", ")
        guard !parts.isEmpty else {
            return view.say(.saved, "\(names), which the plugin reads: it goes on as it is", nil, facts)
        }
        view.say(.saved, names, nil, facts)
        let isSettings = parts.allSatisfy { ["test.conf", "sample.conf"].contains($0) }
        if let build, subject == nil || !isSettings, !(try await make(build)) {
            return view.say(.build, subject == nil ? "waiting for a change" : "the former program keeps running", .bad)
        }
        guard let hub, let before = subject else { return try await begin() }
        let subject = try PluginUnderTest(path, settings: settings)
        guard subject.name == before.name else {
            throw Failure(
                .badConfiguration, "test.conf names \(subject.name) now, and \(before.name) before: begin again")
        }
        if parts.contains("simulator") {
            standIn?.end()
            standIn = try startStandIn(subject)
        }
        (self.subject, program) = (subject, ProgramIdentity(subject.program))
        _ = try place.write(configuration(subject))
        try await restart(hub, subject.name)
    }

    /// Applies changed settings and a changed manifest, which restarts the plugin; for other changes it restarts the plugin itself.
    private func restart(_ hub: HubInstance, _ name: String) async throws {
        let report = try await hub.apply()
        guard report.applied else {
            for problem in report.problems { view.say(.restart, problem.description, .bad) }
            for (_, fault) in report.faults.sorted(by: { $0.key < $1.key }) { view.say(.restart, fault, .bad) }
            return view.say(.restart, "not done: the former one keeps running", .bad)
        }
        let step = report.instances.first { $0.instance == name }
        observer?.sendGenerated()
        switch step?.action {
        case .start, .restart, .stop, .greet:
            view.say(.restart, step?.why.map { "\(step?.action.rawValue ?? ""): \($0)" } ?? "")
        case .leave:
            try await hub.restart()
            view.say(.restart, "its process is ended and started again")
        case nil:
            let faults = report.faults[name].map { [$0] } ?? report.problems.map(\.description)
            for fault in faults { view.say(.restart, fault, .bad) }
        }
    }

    /// - Returns: whether the build succeeded.
    private func make(_ build: BuildStep) async throws -> Bool {
        view.say(.build, build.line)
        let began = ContinuousClock.now
        let isMade = try await build.run { [view] in view.say(.build, $0) }
        guard !isEnding else { return false }
        let seconds = NumberText.duration(seconds: (ContinuousClock.now - began) / .seconds(1))
        view.say(.build, (isMade ? "done in " : "failed after ") + seconds, isMade ? .good : .bad)
        return isMade
    }

    // MARK: - End

    /// Ends all its processes, in order.
    func end() async {
        isEnding = true
        watch?.close()
        build?.kill()
        await observer?.finish()
        await tap?.end(patience: .milliseconds(500))
        await hub?.end()
        await observer?.close()
        standIn?.end()
        if let observer { place.keep(observer.shown) }
    }
}

/// Identifies a version of a program file: another file, or one written since, has another identity.
private struct ProgramIdentity: Equatable {
    private let number: UInt64
    private let seconds: Int
    private let nanoseconds: Int

    init?(_ path: String) {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return nil }
        (number, seconds, nanoseconds) = (UInt64(facts.st_ino), facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec)
    }
}
