import FoundationEssentials
public import HubSettings
public import HubWire
import Synchronization

/// `hub.conf`, checked against the manifests of the plugins it names.
public struct CheckedConfiguration: Sendable {
    public var loaded: LoadedConfiguration
    /// By instance; those whose program answered `--describe`.
    public var manifests: [String: Manifest]
    /// By instance: the absolute path of its program, where there is one.
    public var executables: [String: String]
    /// By instance: why its program could not be asked, in words for `hub status`.
    public var faults: [String: String]
    /// The file that was read, or was to be.
    public var file = "hub.conf"
    /// Its text; `nil` when it could not be read.
    public var text: String?
}

/// Reads the configuration again: the file, or a text that it once had.
public typealias ConfigurationReload = @Sendable (_ text: String?) async -> CheckedConfiguration

/// Reads `hub.conf` and asks every plugin's program what settings it takes.
public struct ConfigurationLoader: Sendable {
    private let path: String
    private let environment: SettingsEnvironment
    private let finder: ExecutableFinder
    private let patience: Duration

    /// - Parameters:
    ///   - path: of `hub.conf`.
    ///   - programPath: of the running hub: plugins are looked for beside it first.
    public init(path: String, environment: SettingsEnvironment = .process(), programPath: String) {
        self.init(path: path, environment: environment, programPath: programPath, patience: .seconds(10))
    }

    /// - Parameter patience: how long a plugin has to say what it is.
    init(path: String, environment: SettingsEnvironment, programPath: String, patience: Duration) {
        (self.path, self.environment, self.patience) = (path, environment, patience)
        finder = ExecutableFinder(programPath: programPath, searchPath: environment.variables["PATH"] ?? "")
    }

    /// All problems at once.
    ///
    /// Starts each plugin's program once, with `--describe`, and with `--check-settings` for each instance; none of them writes anything.
    /// - Parameters:
    ///   - former: what once stood in the file, to be checked in its place.
    ///   - asksPlugins: whether the programs are asked about their own settings too. A hub that starts does without: it shall be ready
    ///     at once, and a plugin that cannot start says so itself.
    public func load(_ former: String? = nil, asksPlugins: Bool = true) async -> CheckedConfiguration {
        let text: String
        do {
            text = try former ?? String(decoding: environment.readFile(path), as: UTF8.self)
        } catch {
            let problem = SettingsProblem(
                file: path, position: SourcePosition(line: 1, column: 1), message: "cannot be read: \(error)")
            let loaded = LoadedConfiguration(configuration: nil, problems: [problem], refusedInstances: [])
            return CheckedConfiguration(loaded: loaded, manifests: [:], executables: [:], faults: [:], file: path)
        }
        let mode = (try? FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int).map {
            UInt16(truncatingIfNeeded: $0)
        }

        // The first reading only learns which programs there are; the second checks against what they say.
        let asked = Mutex<[String: String]>([:])
        _ = HubConfiguration.load(text: text, file: path, fileMode: mode, environment: environment) {
            instance, executable in
            asked.withLock { $0[instance] = executable }
            return nil
        }
        let answers = await describe(asked.withLock { $0 })
        func reading(_ objections: [String: [SettingObjection]]) -> LoadedConfiguration {
            HubConfiguration.load(
                text: text, file: path, fileMode: mode, environment: environment, objections: objections,
                faults: answers.faults
            ) { instance, _ in answers.manifests[instance]?.settings }
        }
        var loaded = reading([:])
        if asksPlugins, let configuration = loaded.configuration {
            let objections = await SettingsInquiry(patience: patience).objections(
                to: configuration, answers.manifests, answers.executables)
            if !objections.isEmpty { loaded = reading(objections) }
        }
        // A program that runs elsewhere need not be here.
        let elsewhere = loaded.remoteInstances
        return CheckedConfiguration(
            loaded: loaded, manifests: answers.manifests, executables: answers.executables,
            faults: answers.faults.filter { !elsewhere.contains($0.key) }, file: path, text: text)
    }

    private struct Answers {
        var manifests: [String: Manifest] = [:]
        var executables: [String: String] = [:]
        var faults: [String: String] = [:]
    }

    private func describe(_ programs: [String: String]) async -> Answers {
        var answers = Answers()
        for (instance, program) in programs {
            let finding = finder.find(program)
            if case .found(let path) = finding { answers.executables[instance] = path }
            answers.faults[instance] = finding.fault(of: program)
        }
        let paths = Set(answers.executables.values)
        let described = await withTaskGroup(of: (String, Result<Manifest, PluginQuestion.Failure>).self) { group in
            for path in paths { group.addTask { (path, await manifest(of: path)) } }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        for (instance, path) in answers.executables {
            switch described[path] {
            case .success(let manifest): answers.manifests[instance] = manifest
            case .failure(let error):
                answers.faults[instance] =
                    "its program does not say what it is: \(path) --describe: \(error.reason); correct it, or set enabled = false"
            case nil: break
            }
        }
        return answers
    }

    private func manifest(of path: String) async -> Result<Manifest, PluginQuestion.Failure> {
        await PluginQuestion(path: path, arguments: ["--describe"], patience: patience).ask { bytes in
            do throws(PrintedAnswer.Fault) {
                let manifest = try PrintedAnswer(bytes).read(Manifest.self)
                let faults = manifest.faults
                return faults.isEmpty ? .success(manifest) : .failure(.init(reason: faults.joined(separator: "; ")))
            } catch {
                return .failure(.init(reason: error.description))
            }
        }
    }
}
