import FoundationEssentials
import HubSettings
import HubWire

/// Asks the programs of plugins about settings that obey their manifests.
///
/// Programs check the combined meaning of several settings, and rules that a manifest cannot express.
struct SettingsInquiry: Sendable {
    let patience: Duration
    /// How an instance's program is started for the question.
    let reach: @Sendable (PluginInstance, Manifest?) -> ConfinementRules

    /// The answer of a program about the settings of an instance.
    struct Answer: Sendable {
        var objections: [SettingObjection] = []
        var days: DayUse?
    }

    /// The answers by instance; programs that cannot check settings are left out.
    func answers(
        on plugins: [PluginInstance], _ manifests: [String: Manifest], _ executables: [String: String]
    ) async -> [String: Answer] {
        await withTaskGroup(of: (String, Answer).self) { group in
            for plugin in plugins where plugin.startsHere && manifests[plugin.name]?.checksSettings == true {
                guard let path = executables[plugin.name] else { continue }
                let reach = reach(plugin, manifests[plugin.name])
                group.addTask { (plugin.name, await judgement(of: path, on: plugin, reach)) }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }

    private func judgement(of path: String, on plugin: PluginInstance, _ reach: ConfinementRules) async -> Answer {
        let question = PluginQuestion(
            path: path, arguments: ["--check-settings"], reach: reach, input: InstancePolicy(plugin, nil).settings.text,
            patience: patience)
        let answer = await question.ask { bytes in
            do throws(PrintedAnswer.InvalidAnswer) {
                return .success(try PrintedAnswer(bytes).read(SettingsVerdict.self))
            } catch {
                return .failure(HubError(.unanswered, error.description))
            }
        }
        switch answer {
        case .success(let verdict):
            let objections = verdict.objections.prefix(32).map { objection in
                SettingObjection(
                    setting: objection.setting, reason: plugin.withoutSecrets(String(objection.reason.prefix(1_024))))
            }
            return Answer(objections: Array(objections), days: verdict.days)
        case .failure(let failure):
            return Answer(objections: [
                SettingObjection(
                    .warning, reason: "\(path) --check-settings: \(failure.message); its settings were checked in part")
            ])
        }
    }
}
