public import HubSettings

/// Where a hub keeps what is its own.
public struct HubFiles: Hashable, Sendable {
    /// The folder of everything that must not be lost.
    public let data: String
    /// The folder of the sockets.
    public let run: String

    public init(_ section: HubSection) { (data, run) = (section.data, section.run) }

    /// The store's database.
    public var store: String { "\(data)/hub.sqlite" }

    /// The tokens of plugins, in no backup.
    public var secrets: String { "\(data)/secrets.db" }

    /// The plugins' private folders, one for each instance.
    public var plugins: String { "\(data)/plugins" }

    /// Makes the data folder where it is missing, with mode 0700.
    public func prepare() throws(HubError) { try HubDirectories.make(data) }
}
