import FoundationEssentials
public import HubSettings
public import HubWire
import Synchronization

/// `hub.conf`, checked against the manifests of the plugins it names.
public struct CheckedConfiguration: Sendable {
    public var loaded: LoadedConfiguration
    /// The manifests of the programs that answered `--describe`, by instance.
    public var manifests: [String: Manifest]
    /// The absolute path of an instance's program, if it was found.
    public var executables: [String: String]
    /// Why an instance's program could not be asked, in words for `hub status`.
    public var faults: [String: String]
    /// Instances whose program was not found.
    package var missing: Set<String> = []
    /// The tested reliability of an instance's program, if it is known for its present file.
    package var tiers: [String: PluginTier] = [:]
    /// How the programs are confined; `nil` if that was not determined.
    public var isolation: Isolation?
    /// The path of the file.
    public var file = "hub.conf"
    /// The text of the file; `nil` if it could not be read.
    public var text: String?
}

/// Reads the configuration again: from the file, or from an earlier text of it.
public typealias ConfigurationReload = @Sendable (_ text: String?) async -> CheckedConfiguration

/// Reads `hub.conf` and asks the program of each plugin for its settings.
public struct ConfigurationLoader: Sendable {
    private let path: String
    private let environment: SettingsEnvironment
    private let finder: ExecutableFinder
    private let patience: Duration
    /// Where to look for `hub-confine`.
    private let launcherFinder: ExecutableFinder

    /// - Parameters:
    ///   - path: the path of `hub.conf`.
    ///   - programPath: the path of the running hub; plugins are searched in its folder first.
    public init(path: String, environment: SettingsEnvironment = .process(), programPath: String) {
        self.init(path: path, environment: environment, programPath: programPath, patience: .seconds(10))
    }

    /// - Parameters:
    ///   - patience: how long a plugin may take to answer.
    ///   - launcherFolder: the folder of `hub-confine`; the hub's folder if not given.
    init(
        path: String, environment: SettingsEnvironment, programPath: String, patience: Duration,
        launcherFolder: String? = nil
    ) {
        (self.path, self.environment, self.patience) = (path, environment, patience)
        let searchPath = environment.variables["PATH"] ?? ""
        finder = ExecutableFinder(programPath: programPath, searchPath: searchPath)
        launcherFinder = launcherFolder.map { ExecutableFinder(programPath: "\($0)/hub", searchPath: "") } ?? finder
    }

    /// Loads the file and returns all of its problems at once.
    ///
    /// Starts each plugin's program once with `--describe`, and once for each instance with `--check-settings`; none of these writes anything.
    /// - Parameters:
    ///   - former: an earlier text of the file, to be checked instead of the file.
    ///   - asksPlugins: whether to ask the programs about their settings too. A starting hub does not, because it should be ready at once;
    ///     a plugin that cannot start reports that itself.
    ///   - known: an earlier result, whose manifests are taken for programs that it has asked, and whose confinement is taken.
    public func load(
        _ former: String? = nil, asksPlugins: Bool = true, knowing known: CheckedConfiguration? = nil
    ) async -> CheckedConfiguration {
        let text: String
        do { text = try former ?? String(decoding: environment.readFile(path), as: UTF8.self) } catch {
            let problem = SettingsProblem(
                file: path, position: SourcePosition(line: 1, column: 1), message: "cannot be read: \(error)")
            let loaded = LoadedConfiguration(configuration: nil, problems: [problem], refusedInstances: [])
            return CheckedConfiguration(loaded: loaded, manifests: [:], executables: [:], faults: [:], file: path)
        }
        let mode = (try? FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int).map {
            UInt16(truncatingIfNeeded: $0)
        }

        // The first pass only finds the programs; the second checks the file against their answers.
        let asked = Mutex<[String: String]>([:])
        let first = HubConfiguration.load(text: text, file: path, fileMode: mode, environment: environment) {
            instance, executable in
            asked.withLock { $0[instance] = executable }
            return nil
        }
        let isolation = if let isolation = known?.isolation { isolation } else { await Isolation.look(launcherFinder) }
        let hidden = [path] + (first.hub.map { [$0.data, $0.run] } ?? [])
        let reaches = first.confinements.mapValues { ConfinementRules($0, nil, nil, isolation, hidden: hidden) }
        var finder = finder
        finder.installed = first.hub.map { InstalledPrograms(data: $0.data) }
        let answers = await describe(asked.withLock { $0 }, finder, reaches, isolation, knowing: known)
        func reading(_ objections: [String: [SettingObjection]]) -> LoadedConfiguration {
            HubConfiguration.load(
                text: text, file: path, fileMode: mode, environment: environment, objections: objections,
                faults: answers.faults, rights: answers.manifests.mapValues(\.owner)
            ) { instance, _ in answers.manifests[instance]?.settings }
        }
        var loaded = reading([:])
        if asksPlugins {
            let said = await SettingsInquiry(patience: patience) {
                ConfinementRules($0.confinement, $1, $0, isolation, hidden: hidden)
            }.answers(on: loaded.askedInstances, answers.manifests, answers.executables)
            let missing = loaded.configuration.map { DayProducers($0, said.compactMapValues(\.days)).warnings } ?? [:]
            let objections = Self.objections(said, loaded).merging(missing, uniquingKeysWith: +).filter { !$1.isEmpty }
            if !objections.isEmpty { loaded = reading(objections) }
        }
        // A program that runs elsewhere, or is disabled, need not be installed here.
        let needless = loaded.remoteInstances.union(
            loaded.configuration?.plugins.filter { !$0.enabled }.map(\.name) ?? [])
        return CheckedConfiguration(
            loaded: loaded, manifests: answers.manifests, executables: answers.executables,
            faults: answers.faults.filter { !needless.contains($0.key) },
            missing: answers.missing.subtracting(needless),
            tiers: Self.tiers(answers), isolation: isolation, file: path, text: text)
    }

    /// The programs' objections.
    ///
    /// If an instance has other errors, its program was asked with defaults for the wrong settings. Then only objections to correct settings count.
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

    /// The tested reliability of each instance's program, by instance.
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
        _ programs: [String: String], _ finder: ExecutableFinder, _ reaches: [String: ConfinementRules],
        _ isolation: Isolation, knowing known: CheckedConfiguration?
    ) async -> Answers {
        var answers = Answers()
        for (instance, program) in programs {
            let finding = finder.find(program)
            if case .found(let path) = finding { answers.executables[instance] = path }
            answers.faults[instance] = finding.fault(of: program)
            if answers.faults[instance] != nil { answers.missing.insert(instance) }
            // A program that must be confined never starts without the launcher.
            if let fault = isolation.fault, reaches[instance] != .unconfined, answers.executables[instance] != nil {
                answers.executables[instance] = nil
                answers.faults[instance] = fault
            }
        }
        for (instance, path) in answers.executables where known?.executables[instance] == path {
            answers.manifests[instance] = known?.manifests[instance]
        }
        let programs = Dictionary(
            answers.executables.filter { answers.manifests[$0.key] == nil }
                .map { ($0, Asked(path: $1, reach: reaches[$0] ?? .unconfined)) },
            uniquingKeysWith: { first, _ in first })
        let described = await withTaskGroup(of: (Asked, Result<Manifest, HubError>).self) { group in
            for program in Set(programs.values) { group.addTask { (program, await manifest(of: program)) } }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        for (instance, program) in programs {
            let path = program.path
            switch described[program] {
            case .success(let manifest): answers.manifests[instance] = manifest
            case .failure(let error):
                answers.faults[instance] =
                    "its program reports no manifest: \(path) --describe: \(error.message); correct it, or set enabled = false"
            case nil: break
            }
        }
        return answers
    }

    /// A program that is asked once for all instances that start it in the same way.
    private struct Asked: Hashable {
        let path: String
        let reach: ConfinementRules
    }

    private func manifest(of program: Asked) async -> Result<Manifest, HubError> {
        await PluginQuestion.manifest(of: program.path, program.reach, patience: patience)
    }
}
