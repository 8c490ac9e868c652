import ArgumentParser
import Foundation
import HubClient
import Platform

struct BuildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "build", abstract: "Make the program of a plugin in Swift.",
        discussion: """
            If the plugin needs only PluginKit of the sources that this hub was built from,
            as hub plugin new makes it, the PluginKit built there is used: that takes
            seconds. Else, and with --whole, swift build makes all that it needs, which
            takes minutes the first time. Plugins in other languages need no build, and
            nothing is done.

            The program replaces the old one in one step, even if that runs; if it cannot
            be built, the old one stays.

            Examples:
              hub plugin build
              hub plugin build pulse && hub plugin test pulse
              hub plugin build pulse --whole

            Exit codes: 0 it is built; 1 it could not be built, and the compiler says why;
            65 the folder has no plugin; 71 swift could not be started; 130 ended before it
            was done.
            """)

    @Argument(help: "The plugin's folder.", completion: .directory) var path = "."
    @Flag(help: "By swift build, from the sources of all that it needs.") var whole = false

    func run() throws {
        let folder = URL(filePath: path).standardizedFileURL.path
        guard PluginLanguage.built(in: folder) != nil else {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            guard names.contains(where: { $0.hasPrefix("hub-") }) else {
                throw Failure(.badConfiguration, "\(folder) has neither Package.swift nor a program hub-NAME")
            }
            return try Output.print("Nothing has to be built.")
        }
        let package = try SwiftPackage(folder)
        let began = ContinuousClock.now
        let interruption = Interruption()
        let built = whole ? nil : BuiltKit()
        let kit = built.flatMap { package.needsOnly($0) ? $0 : nil }
        if !whole, kit == nil {
            Terminal.explain(
                (built == nil
                    ? "PluginKit was not built beside this program"
                    : "\(package.program) needs more than PluginKit, or is made otherwise than hub plugin new makes it")
                    + ": swift build makes all that it needs, which takes minutes the first time.")
        }
        var way = ""
        if let kit, try build(package, with: kit, interruption) {
            way = " with PluginKit as it was built in \(kit.checkout)"
        } else {
            try buildWhole(package, interruption)
        }
        let time = (ContinuousClock.now - began) / .seconds(1)
        try Output.print("\(package.program): built in \(String(format: "%.1f", time)) s\(way)")
    }

    /// - Returns: whether the program was made; `false` if the built PluginKit does not fit.
    /// - Throws: an error if the plugin itself does not compile.
    private func build(_ package: SwiftPackage, with kit: BuiltKit, _ interruption: Interruption) throws -> Bool {
        let scratch = NSTemporaryDirectory() + "/hub-build-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(
            atPath: scratch, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: scratch) }
        let (object, list) = ("\(scratch)/Plugin.o", "\(scratch)/objects")
        guard try Self.run(kit.compiling(package.sources, to: object), in: package.folder, interruption) else {
            throw Failure(
                .unhealthy,
                "\(package.program) does not compile, and is as it was; "
                    + "if it is PluginKit that does not fit: hub plugin build --whole")
        }
        try kit.listing(object).write(toFile: list, atomically: false, encoding: .utf8)
        let new = "\(package.folder)/.\(package.program).new"
        guard try Self.run(kit.linking(list, to: new), in: package.folder, interruption) else {
            Terminal.explain("It cannot be linked to the build in \(kit.checkout): swift build makes all of it.")
            return false
        }
        try package.place(new)
        return true
    }

    private func buildWhole(_ package: SwiftPackage, _ interruption: Interruption) throws {
        let words = ["swift", "build", "-c", "release", "--product", package.program]
        guard try Self.run(words, in: package.folder, interruption) else {
            throw Failure(.unhealthy, "\(package.program) does not build, and is as it was")
        }
        let new = "\(package.folder)/.\(package.program).new"
        try? FileManager.default.removeItem(atPath: new)
        try FileManager.default.copyItem(atPath: "\(package.folder)/.build/release/\(package.program)", toPath: new)
        try package.place(new)
    }

    /// Runs a program of the PATH until it ends or until Ctrl-C; its output goes to stderr.
    ///
    /// - Returns: whether it ended with 0.
    private static func run(_ words: [String], in folder: String, _ interruption: Interruption) throws -> Bool {
        let child = Process()
        (child.executableURL, child.arguments) = (URL(filePath: "/usr/bin/env"), words)
        child.currentDirectoryURL = URL(filePath: folder)
        child.standardInput = FileHandle.nullDevice
        child.standardOutput = FileHandle.standardError
        do { try child.run() } catch { throw Failure(.system, "\(words[0]): \(error.localizedDescription)") }
        // It has its own process group, which Ctrl-C does not reach.
        while child.isRunning, !interruption.isOver { usleep(20_000) }
        if interruption.isOver {
            child.interrupt()
            child.waitUntilExit()
            throw ExitCode(HubExit.interrupted.rawValue)
        }
        child.waitUntilExit()
        if child.terminationStatus == 127, child.terminationReason == .exit {
            throw Failure(
                .system, "\(words[0]) is not in the PATH: it comes with Swift, from https://www.swift.org/install")
        }
        return child.terminationReason == .exit && child.terminationStatus == 0
    }
}

/// The folder of a Swift plugin.
struct SwiftPackage {
    let folder: String
    /// `hub-NAME`.
    let program: String
    private let manifest: String

    init(_ folder: String) throws(Failure) {
        let file = "\(folder)/Package.swift"
        guard let manifest = try? String(contentsOfFile: file, encoding: .utf8),
            let name = manifest.firstMatch(of: /\.executable\(\s*name:\s*"(hub-[^"\/]+)"/)?.1
        else { throw Failure(.badConfiguration, "\(file) has no product .executable(name: \"hub-NAME\", …)") }
        (self.folder, program, self.manifest) = (folder, String(name), manifest)
    }

    /// All source files of its folder `Sources`.
    var sources: [String] {
        let files = FileManager.default.enumerator(atPath: "\(folder)/Sources")?.compactMap { $0 as? String } ?? []
        return files.filter { $0.hasSuffix(".swift") }.sorted().map { "\(folder)/Sources/\($0)" }
    }

    /// Whether it is one target with plain sources that depends only on the PluginKit of that checkout.
    func needsOnly(_ kit: BuiltKit) -> Bool {
        let packages = manifest.matches(of: /\.package\(\s*path:\s*"([^"]+)"\s*\)/).map { String($0.1) }
        guard packages.count == 1, manifest.matches(of: /\.package\(/).count == 1,
            manifest.matches(of: /\.product\(/).count == 1, manifest.contains(/\.product\(\s*name:\s*"PluginKit"/),
            manifest.matches(of: /[tT]arget\(/).count == 1, !manifest.contains(/[sS]ettings:|resources:|plugins:/)
        else { return false }
        let path = URL(filePath: packages[0], relativeTo: URL(filePath: folder + "/"))
        return path.standardizedFileURL.resolvingSymlinksInPath().path
            == URL(filePath: kit.checkout).resolvingSymlinksInPath().path && !sources.isEmpty
    }

    /// Replaces the program atomically, even if the old one is running.
    func place(_ new: String) throws(Failure) {
        guard rename(new, "\(folder)/\(program)") == 0 else {
            throw Failure(.system, "\(folder)/\(program): \(String(cString: strerror(errno)))")
        }
    }
}
