extension OwnCommands {
    private static let instance = SettingDeclaration(
        "instance", .string(), help: "As hub.conf names it.", required: true)

    /// `release`: a person starts an instance that waits, usually one in quarantine.
    package struct Release: OwnCommand {
        package static let declaration = CommandDeclaration(
            "release", help: "Starts an instance that is quarantined, failed, finished or waiting.",
            arguments: [OwnCommands.instance], canDryRun: true)

        package var instance: String

        package init(instance: String) { self.instance = instance }

        package struct Result: CommandResult, Codable {
            package var instance: String
            /// The state before the command.
            package var state: InstanceState
            /// Whether the instance was started, or would be.
            package var released: Bool

            package init(instance: String, state: InstanceState, released: Bool) {
                (self.instance, self.state, self.released) = (instance, state, released)
            }
        }
    }

    /// `restart`: a person ends and restarts an instance's process.
    package struct Restart: OwnCommand {
        package static let declaration = CommandDeclaration(
            "restart",
            help: "Asks the process of an instance to finish, and starts it again; a waiting instance starts at once.",
            arguments: [OwnCommands.instance], canDryRun: true)

        package var instance: String

        package init(instance: String) { self.instance = instance }

        package struct Result: CommandResult, Codable {
            package var instance: String
            /// The state before the command.
            package var state: InstanceState
            /// Whether a process was ended first, or would be.
            package var ended: Bool

            package init(instance: String, state: InstanceState, ended: Bool) {
                (self.instance, self.state, self.ended) = (instance, state, ended)
            }
        }
    }

    /// `logout`: the hub forgets the tokens of an instance.
    package struct LogOut: OwnCommand {
        package static let declaration = CommandDeclaration(
            "logout", help: "Forgets the tokens of an instance.",
            arguments: [OwnCommands.instance, SettingDeclaration("account", .string(), help: "Only this account.")],
            canDryRun: true)

        package var instance: String
        package var account: String?

        package init(instance: String, account: String?) { (self.instance, self.account) = (instance, account) }

        package struct Result: CommandResult, Codable {
            package var instance: String
            /// The accounts whose tokens were removed, or would be.
            package var accounts: [String]
            package var dryRun: Bool

            package init(instance: String, accounts: [String], dryRun: Bool) {
                (self.instance, self.accounts, self.dryRun) = (instance, accounts, dryRun)
            }
        }
    }
}
