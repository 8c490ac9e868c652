import ArgumentParser
import Foundation
import HubClient
import HubWire
import Samples

struct NewCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new", abstract: "Make a plugin: a folder that runs as it is, in the language of your choice.",
        discussion: """
            The folder NAME gets the program hub-NAME, which is a whole small plugin, the
            hub's client library if the language has one, README.md, the lines for hub.conf
            (sample.conf), the settings for hub plugin test (test.conf), and a workflow for
            GitHub. It is platinum as it is; then change it for your device or service.

              --source [TYPE]  gives new lines of a text file (weight, if not given)
              --sink [TYPE]    writes each record of a type into a folder

            TYPE has a number or named values, such as heartRate or sleepAnalysis.
            Languages: python, sh, ruby, php, perl and swift. Only Swift needs a build. To
            run, they need the language, ZeroMQ and the folder; sh needs jq in place of
            ZeroMQ.

            Examples:
              hub plugin new kitchen-scale
              hub plugin new pulse --lang ruby --source heartRate
              hub plugin new archive --lang sh --sink bloodGlucose
              hub plugin new pulse --lang swift --dry-run

            Exit codes: 0 it is made; 64 the name, the type or the language is not valid;
            71 the folder could not be written.
            """)

    @Argument(help: "Of the plugin kind and of the folder, such as kitchen-scale.") var name: String
    @Option(
        name: .customLong("lang"), help: "The language.", completion: .list(PluginLanguage.allCases.map(\.rawValue)))
    var language = PluginLanguage.python.rawValue
    @Option(defaultAsFlag: "weight", help: ArgumentHelp("Gives records of this type.", valueName: "type"))
    var source: String?
    @Option(defaultAsFlag: "weight", help: ArgumentHelp("Takes records of this type.", valueName: "type"))
    var sink: String?
    @Option(name: .customLong("in"), help: "The folder in which NAME is made; this one, if not given.") var place = "."
    @Option(help: "For Swift: the folder or address of this project; if not given, the folder of this program's build.")
    var package: String?
    @Flag(help: "List the files, and make none.") var dryRun = false
    @OptionGroup var noQuestion: AssumeYesOption

    func run() throws {
        let folder = try checked()
        let files = folder.files()
        if dryRun {
            for file in files { try Output.print("\(name)/\(file.path)  \(file.text.utf8.count) bytes") }
            return
        }
        do { try folder.write(files) } catch { throw Failure(.system, "\(folder.path): \(error.localizedDescription)") }
        let language = folder.language
        try Output.print(
            "\(name): a \(folder.role) of \(folder.type.id) in \(language.name), \(files.count) files. Next:")
        // The printed commands run in this folder, whatever the new folder is called.
        let path = place == "." ? name : OwnerEndpoints.quoted("\(place)/\(name)")
        if !folder.build.isEmpty { try Output.print("  hub plugin build \(path)") }
        try Output.print("  hub plugin test \(path)")
        // Print the path of the file that the hub reads now: a new hub.conf in this folder would take its place.
        if let configuration = try? ConfigurationFile.path(named: nil) {
            let absolute = URL(filePath: configuration).standardizedFileURL.path
            try Output.print("  cat \(path)/sample.conf >> \(OwnerEndpoints.quoted(absolute))")
            try Output.print("  hub apply")
        } else {
            try Output.print("  hub setup                 makes hub.conf, which this machine does not have")
            try Output.print("  then add the lines of \(path)/sample.conf to it, and hub apply")
        }
        if folder.role == .source {
            Terminal.explain(
                "Its readings.txt is invented, for hub plugin test. After hub apply the hub has those values: "
                    + "first name a file of your own in sample.conf.")
        }
        if !language.isOnThisMachine {
            let looked = language.interpreter.map { " Looked at: \($0)." } ?? ""
            Terminal.explain("It needs \(language.needs.replacing("`", with: "")), which this machine lacks.\(looked)")
        }
    }

    /// Checks the arguments and returns the folder to make.
    private func checked() throws -> PluginFolder {
        guard PeerName.isValid(name) else { throw Failure(.usage, "\(name): expected \(PeerName.expected)") }
        guard name != "hub", name != Source.byHand else {
            throw Failure(.usage, "\(name) is the hub's own name; choose another")
        }
        guard let language = PluginLanguage(rawValue: language) else {
            let names = PluginLanguage.allCases.map(\.rawValue)
            let near = EditDistance.nearest(to: language, among: names).map { "did you mean \($0.name)? " } ?? ""
            throw Failure(
                .usage,
                "--lang \(language): \(near)there are \(names.joined(separator: ", ")); "
                    + "in any other a plugin follows Docs/Protocol.md, chapter 13")
        }
        guard source == nil || sink == nil else {
            throw Failure(
                .usage, "--source and --sink: choose one; to make a plugin that is both, add the other by hand")
        }
        let role: PluginRole = sink == nil ? .source : .sink
        let type = try Self.type(sink ?? source ?? "weight")
        let package = package.map { PackagePlace($0) } ?? PackagePlace.ofThisProgram
        guard language != .swift || package != nil else {
            throw Failure(
                .usage,
                "--package: name the folder or the address of this project, which has PluginKit; "
                    + "this program was moved out of the folder of its build")
        }
        let path = URL(filePath: place).standardizedFileURL.appending(path: name).path
        guard !FileManager.default.fileExists(atPath: path) else {
            throw Failure(.usage, "\(path) is there already: choose another name, or remove it")
        }
        return PluginFolder(name: name, language: language, role: role, type: type, path: path, package: package)
    }

    private static func type(_ name: String) throws -> HealthType {
        guard let type = TypeRegistry.standard.resolve(name) else {
            let near = TypeRegistry.standard.suggestion(for: name).map { "; did you mean \($0)?" } ?? ""
            throw Failure(.usage, "there is no type \(name)\(near) Docs/Samples.md lists them")
        }
        guard type.kind == .quantity || type.kind == .category else {
            throw Failure(
                .usage,
                "\(type.id) is of the kind \(type.kind.rawValue), for which there is no template: "
                    + "begin with a type of a number or of named values, and see Docs/Samples.md")
        }
        return type
    }
}
