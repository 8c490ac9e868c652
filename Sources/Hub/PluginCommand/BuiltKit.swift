import Foundation

/// The built PluginKit beside this program.
///
/// A Swift plugin is compiled against it and linked with it in seconds. SwiftPM would build PluginKit and its dependencies again, in minutes.
struct BuiltKit {
    /// The folder of this project's sources.
    let checkout: String
    /// The folder of the modules and objects, such as `.build/release`.
    private let folder: String
    private let objects: [String]

    /// A plugin that depends only on PluginKit.
    private static let model = (program: "hub-json-lines", objects: "/JSONLines.build/")

    /// - Returns: `nil` if this program was moved from where it was built, or if no plugin was built there.
    init?() {
        guard let place = PackagePlace.ofThisProgram else { return nil }
        let folder = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path
        let list = "\(folder)/\(Self.model.program).product/Objects.LinkFileList"
        guard FileManager.default.fileExists(atPath: "\(folder)/Modules/PluginKit.swiftmodule"),
            let text = try? String(contentsOfFile: list, encoding: .utf8)
        else { return nil }
        objects = text.split(separator: "\n").map { $0.trimmingCharacters(in: ["\"", "'"]) }
            .filter { !$0.contains(Self.model.objects) }
        guard !objects.isEmpty, objects.allSatisfy(FileManager.default.fileExists(atPath:)) else { return nil }
        (checkout, self.folder) = (place.path, folder)
    }

    private var isOptimised: Bool { folder.hasSuffix("/release") }

    /// The command line that compiles sources to an object.
    func compiling(_ sources: [String], to object: String) -> [String] {
        let main = sources.contains { $0.hasSuffix("/main.swift") } ? [] : ["-parse-as-library"]
        return ["swiftc", "-c", "-wmo", "-o", object, "-module-name", "Plugin", "-swift-version", "6"]
            + (isOptimised ? ["-O", "-static-stdlib"] : ["-Onone"]) + main
            + ([folder + "/Modules"] + maps).flatMap { ["-I", $0] } + sources
    }

    /// The command line that links an object to a program.
    ///
    /// - Parameter list: the path of a file with the text of ``listing(_:)``.
    func linking(_ list: String, to program: String) -> [String] {
        ["swiftc", "-emit-executable", "-o", program, "@\(list)"]
            + (isOptimised ? ["-static-stdlib", "-Xlinker", "-s"] : [])
    }

    /// The list of the files to link, in the format that swiftc reads.
    func listing(_ object: String) -> String {
        (objects + [object]).map { "\"\($0.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\"\n" }.joined()
    }

    /// Folders with the C modules of this project and of its packages.
    private var maps: [String] {
        let manager = FileManager.default
        func folders(in path: String) -> [String] {
            ((try? manager.contentsOfDirectory(atPath: path)) ?? []).sorted().map { "\(path)/\($0)" }
        }
        let packages = folders(in: "\(checkout)/.build/checkouts").map { $0 + "/Sources" }
        return (["\(checkout)/Sources/Platform/C"] + packages).flatMap(folders).filter {
            manager.fileExists(atPath: $0 + "/module.modulemap")
        }
    }
}
