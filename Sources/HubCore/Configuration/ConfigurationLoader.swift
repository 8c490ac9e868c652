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
    /// Instances whose program was found nowhere.
    package var missing: Set<String> = []
    /// By instance: how reliable its program was found, where that is known of the file that is there.
    package var tiers: [String: PluginTier] = [:]
    /// How the programs are kept to what they need; `nil`: no one has looked.
    public var isolation: Isolation?
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
    /// Where `hub-confine` is looked for.
    private let launcherFinder: ExecutableFinder

    /// - Parameters:
    ///   - path: of `hub.conf`.
    ///   - programPath: of the running hub: plugins are looked for beside it first.
    public init(path: String, environment: SettingsEnvironment = .process(), programPath: String) {
        self.init(path: path, environment: environment, programPath: programPath, patience: .seconds(10))
    }

    /// - Parameters:
    ///   - patience: how long a plugin has to say what it is.
    ///   - launcherFolder: where `hub-confine` is; beside the hub if not given.
    init(
        path: String, environment: SettingsEnvironment, programPath: String, patience: Duration,
        launcherFolder: String? = nil
    ) {
        (self.path, self.environment, self.patience) = (path, environment, patience)
        let searchPath = environment.variables["PATH"] ?? ""
        finder = ExecutableFinder(programPath: programPath, searchPath: searchPath)
        launcherFinder = launcherFolder.map { ExecutableFinder(programPath: "\($0)/hub", searchPath: "") } ?? finder
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
        let first = HubConfiguration.load(text: text, file: path, fileMode: mode, environment: environment) {
            instance, executable in
            asked.withLock { $0[instance] = executable }
            return nil
        }
        let isolation = await Isolation.look(launcherFinder)
        let hidden = [path] + (first.hub.map { [$0.data, $0.run] } ?? [])
        let reaches = first.confinements.mapValues { ProgramReach($0, nil, nil, isolation, hidden: hidden) }
        var finder = finder
        finder.installed = first.hub.map { InstalledPrograms(data: $0.data) }
        let answers = await describe(asked.withLock { $0 }, finder, reaches, isolation)
        func reading(_ objections: [String: [SettingObjection]]) -> LoadedConfiguration {
            HubConfiguration.load(
                text: text, file: path, fileMode: mode, environment: environment, objections: objections,
                faults: answers.faults, rights: answers.manifests.mapValues(\.owner)
            ) { instance, _ in answers.manifests[instance]?.settings }
        }
        var loaded = reading([:])
        if asksPlugins {
            let said = await SettingsInquiry(patience: patience) {
                ProgramReach($0.confinement, $1, $0, isolation, hidden: hidden)
            }.answers(on: loaded.askedInstances, answers.manifests, answers.executables)
            let missing =
                loaded.configuration.map { DayProducers($0, said.compactMapValues(\.days)).warnings } ?? [:]
            let objections = Self.objections(said, loaded).merging(missing, uniquingKeysWith: +).filter { !$1.isEmpty }
            if !objections.isEmpty { loaded = reading(objections) }
        }
        // A program that runs elsewhere, or shall not run, need not be here.
        let needless = loaded.remoteInstances.union(
            loaded.configuration?.plugins.filter { !$0.enabled }.map(\.name) ?? [])
        return CheckedConfiguration(
            loaded: loaded, manifests: answers.manifests, executables: answers.executables,
            faults: answers.faults.filter { !needless.contains($0.key) },
            missing: answers.missing.subtracting(needless),
            tiers: Self.tiers(answers), isolation: isolation, file: path, text: text)
    }

    /// Those of an instance with other mistakes only if they are about a setting that is right: its program has heard the default of the rest.
    private static func objections(
        _ said: [String: SettingsInquiry.Answer], _ loaded: LoadedConfiguration
    ) -> [String: [SettingObjection]] {
        let partial = Set(loaded.refusedInstances)
        return Dictionary(
            uniqueKeysWithValues: said.map { instance, answer in
                guard partial.contains(instance) else { return (instance, answer.objections) }
                let wrong = Set(loaded.problems.filter { $0.table == "plugin.\(instance)" }.compactMap(\.key))
                return (instance, answer.objections.filter { $0.setting.map { !wrong.contains($0) } ?? false })
            })
    }

    /// By instance: how reliable its program was found.
    private static func tiers(_ answers: Answers) -> [String: PluginTier] {
        let versions = answers.executables.keys.compactMap { instance in
            answers.manifests[instance].map { (answers.executables[instance] ?? "", $0.version) }
        }
        let known = Dictionary(versions, uniquingKeysWith: { first, _ in first })
            .compactMap { path, version in PluginTier(of: path, version: version).map { (path, $0) } }
        let tiers = Dictionary(known, uniquingKeysWith: { first, _ in first })
        return answers.executables.compactMapValues { tiers[$0] }
    }

    private struct Answers {
        var manifests: [String: Manifest] = [:]
        var executables: [String: String] = [:]
        var faults: [String: String] = [:]
        var missing: Set<String> = []
    }

    private func describe(
        _ programs: [String: String], _ finder: ExecutableFinder, _ reaches: [String: ProgramReach],
        _ isolation: Isolation
    ) async -> Answers {
        var answers = Answers()
        for (instance, program) in programs {
            let finding = finder.find(program)
            if case .found(let path) = finding { answers.executables[instance] = path }
            answers.faults[instance] = finding.fault(of: program)
            if answers.faults[instance] != nil { answers.missing.insert(instance) }
            // Never started without what is to confine it.
            if let fault = isolation.fault, reaches[instance] != .unconfined, answers.executables[instance] != nil {
                answers.executables[instance] = nil
                answers.faults[instance] = fault
            }
        }
        let programs = Dictionary(
            answers.executables.map { ($0, Asked(path: $1, reach: reaches[$0] ?? .unconfined)) },
            uniquingKeysWith: { first, _ in first })
        let described = await withTaskGroup(of: (Asked, Result<Manifest, PluginQuestion.Failure>).self) { group in
            for program in Set(programs.values) { group.addTask { (program, await manifest(of: program)) } }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        for (instance, program) in programs {
            let path = program.path
            switch described[program] {
            case .success(let manifest): answers.manifests[instance] = manifest
            case .failure(let error):
                answers.faults[instance] =
                    "its program does not say what it is: \(path) --describe: \(error.reason); correct it, or set enabled = false"
            case nil: break
            }
        }
        return answers
    }

    /// A program, once for all instances that start it in the same way.
    private struct Asked: Hashable {
        let path: String
        let reach: ProgramReach
    }

    private func manifest(of program: Asked) async -> Result<Manifest, PluginQuestion.Failure> {
        await PluginQuestion.manifest(of: program.path, program.reach, patience: patience)
    }
}
