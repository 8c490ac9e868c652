import Foundation
import Testing

/// The layers of CONTRIBUTING: a library imports its own layer and those before it, a plugin imports anything but Hub.
struct LayerTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        .standardizedFileURL
    private static let layers = ["Platform", "Health", "Contract", "Kit", "Hub"]

    private static func folders(in path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: root.appending(path: path).path).filter { name in
            var isFolder: ObjCBool = false
            let place = root.appending(path: "\(path)/\(name)").path
            return FileManager.default.fileExists(atPath: place, isDirectory: &isFolder) && isFolder.boolValue
        }
    }

    /// The modules that the Swift files below a folder import, each with a file that does.
    private static func imports(below path: String) throws -> [String: String] {
        let folder = root.appending(path: path).path
        var found: [String: String] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) where name.hasSuffix(".swift") {
            // A plugin's tests are exempt.
            if path.hasPrefix("Plugins"), "/\(name)".contains("/Tests/") { continue }
            let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
            let pattern = /^(?:@\w+ )*(?:public |package |internal )?import (?:struct |enum |class |func )?(\w+)/
            for match in text.matches(of: pattern.anchorsMatchLineEndings()) {
                found[String(match.1)] = "\(path)/\(name)"
            }
        }
        return found
    }

    /// The names of the libraries of the layers from one on.
    private static func modules(from layer: Int) throws -> Set<String> {
        Set(try layers[layer...].flatMap { try folders(in: "Sources/\($0)") })
    }

    /// The names of the libraries that plugins, stand-ins and tests have for themselves.
    private static func outside() throws -> Set<String> {
        let manifest = try String(contentsOf: root.appending(path: "Package.swift"), encoding: .utf8)
        let pattern = /"(?:Plugins|Simulators|Tests)\/[^"]*?(\w+)(?:\/Sources|\/Tests)?"/
        let paths = manifest.matches(of: pattern).map { String($0.1) }
        return Set(paths).subtracting(["Sources", "Tests"])
    }

    @Test(arguments: layers.indices) func `a layer imports itself and the layers before it`(_ layer: Int) throws {
        let forbidden = try Self.modules(from: layer + 1).union(Self.outside())
        let folders = try Self.folders(in: "Sources/\(Self.layers[layer])")
        #expect(!folders.isEmpty)
        for folder in folders {
            let path = "Sources/\(Self.layers[layer])/\(folder)"
            for (module, file) in try Self.imports(below: path) where forbidden.contains(module) {
                Issue.record("\(file) imports \(module)")
            }
        }
    }

    @Test func `a plugin imports nothing of the hub`() throws {
        let (hub, plugins) = (try Self.modules(from: 4), try Self.imports(below: "Plugins"))
        #expect(hub.contains("HubStore") && plugins["PluginKit"] != nil)
        for (module, file) in plugins where hub.contains(module) { Issue.record("\(file) imports \(module)") }
    }

    @Test func `the folder of a layer is the only place of its libraries`() throws {
        #expect(try Self.folders(in: "Sources").sorted() == Self.layers.sorted())
    }
}
