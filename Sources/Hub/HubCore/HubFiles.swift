import Glibc
public import HubSettings

/// The files and folders of a hub.
public struct HubFiles: Hashable, Sendable {
    /// The folder of all files that must not be lost.
    public let data: String
    /// The folder of the sockets.
    public let run: String

    package init(data: String, run: String) { (self.data, self.run) = (data, run) }

    public init(_ section: HubSection) { (data, run) = (section.data, section.run) }

    /// The store's database.
    public var store: String { "\(data)/hub.sqlite" }

    /// The tokens of plugins, in no backup.
    public var secrets: String { "\(data)/secrets.db" }

    /// The plugins' private folders, one for each instance.
    public var plugins: String { "\(data)/plugins" }

    /// The programs that `hub plugin install` has installed.
    public var programs: String { InstalledPrograms(data: data).folder }

    /// The known states of devices.
    var devices: String { "\(data)/devices.json" }

    /// Why no store may be created here: there is none, but other files show that there was one; nil if all is well.
    ///
    /// A new store in its place would look like a working hub that has lost every record.
    public var lostStore: String? {
        let bytes = HubFiles.size(store)
        guard bytes ?? 0 == 0, let trace = [secrets, devices].first(where: { HubFiles.size($0) ?? 0 > 0 }) else {
            return nil
        }
        return "the store \(store) is \(bytes == nil ? "missing" : "empty"), but a hub has lived here (\(trace)); "
            + "nothing was changed. Put its records back: hub restore BACKUP. "
            + "To begin without them, move \(data) away"
    }

    /// Makes the data folder with mode 0700 if it is missing.
    public func prepare() throws(HubError) { try HubDirectories.make(data) }

    private static func size(_ path: String) -> Int? {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : nil
    }
}
