/// The settings of one plugin in a separate file, as `--settings FILE` takes them.
///
/// The file has the keys of `[plugin.<instance>]` at the top level, without those that the hub reads.
public struct SettingsFile: Sendable {
    /// The settings with defaults; nil if there is an error.
    public var settings: [String: SettingValue]?
    /// Sorted by line.
    public var problems: [SettingsProblem]

    /// Reads and checks such a file; parameters as for ``HubConfiguration/load(text:file:fileMode:environment:manifests:)``.
    public static func load(
        text: String, file: String, fileMode: UInt16? = nil, environment: SettingsEnvironment,
        declarations: [SettingDeclaration]
    ) -> SettingsFile {
        let document = TOMLDocument(text)
        var checker = TableChecker(
            file: file, isPrivate: fileMode.map { $0 & 0o077 == 0 } ?? false, environment: environment)
        let start = SourcePosition(line: 1, column: 1)
        for fault in document.faults { checker.report(at: fault.position, table: nil, fault.message) }
        for fault in SettingDeclaration.faults(in: declarations) {
            checker.report(at: start, table: nil, "the manifest is wrong: \(fault)")
        }
        let values = checker.values(
            of: document.fields, table: nil, declarations: declarations,
            header: document.faults.isEmpty ? start : nil)
        let problems = checker.problems.sortedByPlace()
        return SettingsFile(settings: problems.hasErrors ? nil : values, problems: problems)
    }
}
