extension OwnCommands {
    /// `reload-keys`: reads the changed keys of plugins on other machines from the disk, and ends sessions with a revoked key at once.
    package struct ReloadKeys: OwnCommand {
        package static let declaration = CommandDeclaration(
            "reload-keys",
            help: "Reads the keys of plugins on other machines again, and ends sessions of revoked keys.")

        package init() {}

        package struct Result: CommandResult, Codable {
            package var keys: Int
            /// The instances whose keys were revoked.
            package var revoked: [String]

            package init(keys: Int, revoked: [String]) { (self.keys, self.revoked) = (keys, revoked) }
        }
    }

    /// `stop`: ends the hub in order.
    package struct Stop: OwnCommand {
        package static let declaration = CommandDeclaration(
            "stop", help: "Stops the hub in an orderly way.", canDryRun: true)

        package init() {}

        package struct Result: CommandResult, Codable {
            /// True in a dry run; otherwise absent.
            package var wouldStop: Bool?

            package init(wouldStop: Bool? = nil) { self.wouldStop = wouldStop }
        }
    }
}
