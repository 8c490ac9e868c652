public import Foundation
import HubWire
import Logging
public import PluginKit
import ZeroMQ

/// A test case of a plugin: a folder with a script for the far side and the records that the hub must hold at the end.
///
/// | file | |
/// |---|---|
/// | `settings.toml` | the plugin's settings; the far side provides the values of `"${NAME}"`, such as its address |
/// | `script.json` | the script of the far side, in the plugin's own format |
/// | `expected.jsonl` | the records, one per line in the order in which the hub first stored them, as the source sends them; the text `"*"` matches any value; lines that begin with `#` are comments |
/// | `deliveries.jsonl` | for a sink: the deliveries, one per line in their order, as `{"want", "records", "results"}`: the records as the hub writes them, and the results that the sink must return; each delivery is sent when the previous one is answered. `expected.jsonl` is optional then |
/// | `hub.json` | optional: `{"clock": "…", "persons": […]}` of the hub, with persons as in WELCOME |
///
/// ```swift
/// @Test(arguments: PluginCase.all(in: .module)) func `gives what the case expects`(_ testCase: PluginCase) async throws {
///     try await testCase.run(KitchenScale()) { script in try await SimulatedScale(script: script) }
/// }
/// ```
public struct PluginCase: Sendable, CustomStringConvertible {
    /// The far side of a running case: a simulated scale or service.
    public protocol FarSide: Sendable {
        /// The values of `${NAME}` in `settings.toml`.
        var variables: [String: String] { get }
        func stop() async
        /// The differences from the case on the far side, one line each, after the plugin has ended.
        func differences() async throws -> [String]
    }

    public var name: String
    public var directory: URL

    public var description: String { name }

    /// The case in `directory`.
    public init(directory: URL) { (name, self.directory) = (directory.lastPathComponent, directory) }

    /// The cases of a test target: the folders in its resource `Cases`, by name.
    ///
    /// If there are none, the run ends with a precondition failure, because a test without cases would pass without checking anything.
    public static func all(in bundle: Bundle, folder: String = "Cases") -> [PluginCase] {
        let root = (bundle.resourceURL ?? bundle.bundleURL).appending(path: folder)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: root.path)) ?? []
        let cases = names.filter { !$0.hasPrefix(".") }.sorted().map { PluginCase(directory: root.appending(path: $0)) }
        precondition(!cases.isEmpty, "there are no cases in \(root.path)")
        return cases
    }

    /// Runs the case and compares all stored records with the expected ones.
    ///
    /// It starts the far side, a ``FakeHub`` and the plugin, waits for the expected number of records, and stops the plugin as the hub does.
    /// - Parameter deadline: the time limit; after it the comparison uses the records received by then.
    /// - Throws: ``CaseFailure``, or an error from reading the case or starting the far side.
    public func run<P: Plugin>(
        _ plugin: P, deadline: Duration = .seconds(30), farSide start: (Data) async throws -> any FarSide
    ) async throws {
        let deliveries = try CaseDelivery.read(directory.appending(path: "deliveries.jsonl"))
        let isSourceToo = deliveries.isEmpty || FileManager.default.fileExists(atPath: file("expected.jsonl").path)
        let expected = isSourceToo ? try lines("expected.jsonl").map { try CaseValue(json: $0) } : []
        let place = try TestPlace()
        let far = try await start(try Data(contentsOf: directory.appending(path: "script.json")))
        do {
            try await play(plugin, expected, deliveries, place, far, deadline)
        } catch {
            await far.stop()
            throw error
        }
        await far.stop()
    }

    private func play<P: Plugin>(
        _ plugin: P, _ expected: [CaseValue], _ deliveries: [CaseDelivery], _ place: TestPlace, _ far: any FarSide,
        _ deadline: Duration
    ) async throws {
        let settings = try settings(of: P.self, far.variables)
        let hub = try FakeHub(door: place.door, context: place.context, behaviour: try behaviour())
        try await hub.start()
        let run = PluginRun(plugin, at: place, door: hub.door, settings: settings)
        let patience = Task {
            guard (try? await Task.sleep(for: deadline)) != nil else { return }
            run.stop()
        }
        async let exit = run.end()
        let arrival = Task {
            await hub.records(expected.count)
            return await CaseDelivery.play(deliveries, hub)
        }
        // Continue when all records have arrived, or when the plugin has ended, also because of the deadline.
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = await arrival.value }
            group.addTask { _ = await run.end() }
            await group.next()
            run.stop()
            _ = await run.end()
            await hub.giveUpWaiting()
        }
        patience.cancel()
        let status = await exit
        var differences = try await report(expected, hub.held)
        differences += await arrival.value
        differences += await hub.violations.map { "the plugin broke the protocol: \($0)" }
        differences += try await far.differences()
        if status != .done { differences.append("the plugin ended with status \(status.rawValue)") }
        await hub.vanish()
        guard differences.isEmpty else { throw CaseFailure(name: name, differences: differences) }
    }

    private func report(_ expected: [CaseValue], _ held: [FakeHub.Held]) throws -> [String] {
        var differences: [String] = []
        for index in 0..<max(expected.count, held.count) {
            if index >= held.count {
                differences.append("record \(index + 1) did not come")
            } else if index >= expected.count {
                differences.append("record \(index + 1) is not expected: \(held[index].text)")
            } else {
                let actual = try CaseValue(json: held[index].text)
                differences += expected[index].differences(from: actual, at: "").map { "record \(index + 1): \($0)" }
            }
        }
        return differences
    }

    private func file(_ name: String) -> URL { directory.appending(path: name) }

    private func lines(_ file: String) throws -> [Substring] {
        try String(contentsOf: self.file(file), encoding: .utf8).split(separator: "\n")
            .filter { !$0.hasPrefix("#") && !$0.allSatisfy(\.isWhitespace) }
    }

    private func settings<P: Plugin>(of: P.Type, _ variables: [String: String]) throws -> PluginSettings {
        let file = directory.appending(path: "settings.toml")
        let environment = SettingsEnvironment(variables: variables, currentDirectory: directory.path) { _ in
            throw UnreadableFile(reason: "a case has no secret files")
        }
        let read = SettingsFile.load(
            text: try String(contentsOf: file, encoding: .utf8), file: file.lastPathComponent, fileMode: 0o600,
            environment: environment, declarations: P.manifest.settings)
        guard let values = read.settings else {
            throw CaseFailure(name: name, differences: read.problems.map(\.description))
        }
        return PluginSettings(values)
    }

    private struct HubFile: Decodable { var clock: String? }

    private func behaviour() throws -> FakeHub.Behaviour {
        var behaviour = FakeHub.Behaviour()
        guard let data = try? Data(contentsOf: directory.appending(path: "hub.json")) else { return behaviour }
        if let clock = try JSONDecoder().decode(HubFile.self, from: data).clock { behaviour.clock = clock }
        if let persons = try Welcome.persons(in: Array(data), named: "hub.json") {
            behaviour.persons = persons
        }
        return behaviour
    }
}

extension PluginCase.FarSide {
    public func differences() async throws -> [String] { [] }
}

/// The differences from the expectations of a case.
public struct CaseFailure: Error, CustomStringConvertible {
    public var name: String
    /// One line for each difference.
    public var differences: [String]

    public var description: String { "case \(name):\n" + differences.map { "  \($0)" }.joined(separator: "\n") }
}
