import PluginKit
import ScaleProtocols

/// The commands for the users of the scale: `users-list`, `users-create`, `users-modify`, `users-delete`.
enum UserCommands {
    static let all: [Command<IHealthHS5>] = [list, create, modify, delete]

    /// A user of the scale.
    struct User: Encodable, Sendable {
        var position: Int
        var serialNumber: UInt32
        /// The person with this position in hub.conf, who gets the user's weighings.
        var person: String?
        /// The person who got the number, if that is not the owner of the position.
        var createdFor: String?

        /// - Parameter number: the person who got the number.
        init(_ position: Int, _ serial: UInt32, of slots: Slots, number: String?) {
            (self.position, serialNumber, person) = (position, serial, slots.owner(of: position))
            createdFor = number == person ? nil : number
        }
    }

    private static let who: [SettingDeclaration] = [
        SettingDeclaration("person", .string(), help: "The hub's person; values not given here come from hub.conf."),
        SettingDeclaration(
            "serial", .integer(Bounds(1, 0x7FFF_FFFF)),
            help: "The scale's number of the user; a person without one gets the next that is free."),
        IHealthHS5.deviceArgument,
    ]

    private static let body: [SettingDeclaration] = [
        SettingDeclaration("height", .integer(Bounds(81, 219)), help: "Centimetres."),
        SettingDeclaration("sex", .choice(["female", "male"]), help: "The sex that the scale's formulas assume."),
        SettingDeclaration("birth_date", .date, help: "The date of birth, for an age of 7 to 99."),
        SettingDeclaration("athlete", .boolean, help: "Whether the scale is to use its formulas for athletes."),
    ]

    private static let list = Command<IHealthHS5>(
        "users-list", help: "Lists the users of the scale, by position.", arguments: [IHealthHS5.deviceArgument]
    ) { plugin, call in
        let (numbers, slots) = (try await Numbers.read(call.hub.state), Slots(call))
        return try await users(plugin, call).enumerated().compactMap { position, serial in
            serial.map { User(position, $0, of: slots, number: numbers.person(of: $0)) }
        }
    }

    private static let create = Command<IHealthHS5>(
        "users-create", help: "Creates a user of the scale, for a person of hub.conf or with the given values.",
        arguments: who + body + [
            SettingDeclaration(
                "position", .integer(Bounds(0, 19)),
                help:
                    "One of the scale's 20: a person's is that of hub.conf; else the first free one that is no person's."
            )
        ], canDryRun: true
    ) { plugin, call in
        // Two concurrent commands could get the same number.
        try await plugin.numbering.withLock { try await make(plugin, call) }
    }

    private static func make(_ plugin: IHealthHS5, _ call: CommandCall) async throws -> User {
        let present = try await users(plugin, call)
        let before = try await Numbers.read(call.hub.state)
        var numbers = before
        let serial = try numbers.number(call.arguments, avoiding: present)
        let profile = try ScaleUserProfile(call).made(serial)
        let slots = Slots(call)
        let position = try slots.position(call, present)
        if !call.isDryRun {
            // Save the number first, so that another person cannot get it if this is interrupted.
            try await numbers.write(call.hub.state)
            do {
                _ = try await plugin.queue.demand(
                    .createUser(profile, at: position), .hs5, of: call,
                    refusal: "HS5: the scale did not create the user")
            } catch let failure as CommandFailure where failure.code == "refused" {
                // The user does not exist. If no answer came, the user may exist, so the number stays.
                try await before.write(call.hub.state)
                throw failure
            }
        }
        return User(Int(position.index), serial, of: slots, number: numbers.person(of: serial))
    }

    private static let modify = Command<IHealthHS5>(
        "users-modify", help: "Tells the scale that a user's body has changed.", arguments: who + body, canDryRun: true
    ) { plugin, call in
        try await change(plugin, call) { serial in .modifyUser(try ScaleUserProfile(call).made(serial)) }
    }

    private static let delete = Command<IHealthHS5>(
        "users-delete", help: "Deletes a user of the scale, with what its memory holds of them.", arguments: who,
        canDryRun: true
    ) { plugin, call in
        try await change(plugin, call) { serial in .deleteUser(serial: serial) }
    }

    private static func change(
        _ plugin: IHealthHS5, _ call: CommandCall, _ command: (UInt32) throws -> ScaleCommand
    ) async throws -> User {
        let present = try await users(plugin, call)
        let numbers = try await Numbers.read(call.hub.state)
        let serial = try numbers.known(call.arguments)
        guard let position = present.firstIndex(where: { $0 == serial }) else {
            throw CommandFailure("refused", "HS5: the scale has no user \(serial); users-list shows whom it has")
        }
        let wanted = try command(serial)
        if !call.isDryRun {
            _ = try await plugin.queue.demand(wanted, .hs5, of: call, refusal: "HS5: the scale did not change the user")
        }
        return User(position, serial, of: Slots(call), number: numbers.person(of: serial))
    }

    private static func users(_ plugin: IHealthHS5, _ call: CommandCall) async throws -> [UInt32?] {
        let answer = try await plugin.queue.demand(
            .listUsers, .hs5, of: call, refusal: "HS5: the scale did not list its users")
        if case .users(let list) = answer { return list }
        return []
    }
}

/// The body data for the scale: from the command, or else from `hub.conf`.
struct ScaleUserProfile {
    private let height: Double?
    private let sex: String?
    private let birthDate: LocalDate?
    private let isAthlete: Bool
    private let today: WallTime

    init(_ call: CommandCall) throws {
        let person = try Self.person(call)
        let (arguments, known) = (call.arguments, person?.profile)
        height = arguments["height"]?.number ?? known?.height
        sex = arguments["sex"]?.string ?? known?.sex?.rawValue
        birthDate = arguments["birth_date"]?.string.flatMap { LocalDate($0) } ?? known?.birthDate
        isAthlete = arguments["athlete"]?.boolean ?? known?.athlete ?? false
        let setup = try IHealthHS5().setup(call.hub.settings)
        today = setup.clock(persons: call.hub.persons.map(\.zone)).clock.wall(at: call.hub.clock.now())
    }

    static func person(_ call: CommandCall) throws -> Welcome.PersonEntry? {
        guard let name = call.arguments["person"]?.string else { return nil }
        guard let person = call.hub.persons.first(where: { $0.name == name }) else {
            throw CommandFailure("command", "person: the hub tells this plugin of no \"\(name)\"")
        }
        return person
    }

    func made(_ serial: UInt32) throws -> HS5Profile {
        guard let height, let birthDate, let birthday = WallTime(birthDate.year, birthDate.month, birthDate.day) else {
            throw CommandFailure(
                "command", "the scale needs height and birth_date; give them here, or in hub.conf of the person")
        }
        guard let sex, sex == "female" || sex == "male" else {
            throw CommandFailure(
                "command", "the scale's formulas know female and male; give sex here, or in hub.conf of the person")
        }
        let made = HS5Profile(
            serial: serial, birthday: birthday, today: today, height: Int(height.rounded()), isAthlete: isAthlete,
            isMale: sex == "male")
        guard let made else {
            throw CommandFailure("command", "a HS5 takes people of 7 to 99 years and 81 to 219 cm")
        }
        return made
    }
}
