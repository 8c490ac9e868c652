import ArgumentParser
import Foundation
import PostgreSQL
import Samples

struct StudyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "study", abstract: "Make, show and end studies.",
        discussion: """
            Examples:
              hub-central-admin study new heart --title "Hearts" --type weight --type heartRate
              hub-central-admin study list
              hub-central-admin study show heart
              hub-central-admin study offer heart house7
              hub-central-admin study end heart --erase --dry-run
            """, subcommands: [New.self, List.self, Show.self, Offer.self, End.self])

    struct New: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a study, and the log-in of its readers, whose password is shown once.",
            discussion: """
                A type is one of the registry (Docs/Samples.md), or one of your own with its
                unit, as x.acme.glow:lx. No figures about fewer persons than --group are shown.

                Examples:
                  hub-central-admin study new heart --title "Hearts" --type weight --type heartRate
                  hub-central-admin study new steps --title "Steps" --type stepCount --figures-only --group 10 --ends 2028-12-31
                """)
        @OptionGroup var place: DatabaseOptions
        @Argument(help: "Lower-case letters, digits and -.") var name: String
        @Option(help: "Its title for people.") var title: String
        @Option(
            help: ArgumentHelp(
                "The purpose of the study, in words for the people who are asked to take part.", valueName: "file"))
        var words: String?
        @Option(name: .customLong("type"), help: "A type that it asks for; once for each.") var types: [String]
        @Option(help: "The least persons of a figure, 2 or more.") var group = 5
        @Flag(help: "Its readers see figures about groups, and no single record.") var figuresOnly = false
        @Option(help: ArgumentHelp("Its last day.", valueName: "yyyy-mm-dd")) var ends: String?
        @Flag(help: "One JSON document.") var json = false

        func validate() throws {
            guard name.wholeMatch(of: #/[a-z0-9][a-z0-9-]{0,39}/#) != nil else {
                throw ValidationError("\"\(name)\": expected lower-case letters, digits and -, at most 40")
            }
            guard !types.isEmpty else { throw ValidationError("--type: a study asks for one type at least") }
            guard group >= 2 else { throw ValidationError("--group: expected 2 or more, not \(group)") }
            if let ends, LocalDate(ends) == nil {
                throw ValidationError("--ends: expected yyyy-mm-dd, not \"\(ends)\"")
            }
        }

        func run() async throws {
            let asked = try types.map(Self.type)
            let text = try words.map { try String(contentsOfFile: $0, encoding: .utf8) } ?? ""
            let reader = "study_" + name.replacing("-", with: "_")
            let password = randomWord(bytes: 18)
            let desk = try await place.desk()
            try await desk.transaction {
                for type in asked {
                    try await desk.ask(
                        "INSERT INTO central.type (id, unit, cumulative) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING",
                        type.id, type.unit, "\(type.isCumulative)")
                }
                // The desk is a member of the reader's role, for stats and export.
                try await desk.ask(
                    "CREATE ROLE \(identifier(reader)) LOGIN IN ROLE staff ROLE central_desk PASSWORD \(literal(scramVerifier(of: password, salt: randomBytes(16))))"
                )
                try await desk.ask(
                    """
                    INSERT INTO central.study (name, title, words, reader, types, rows, min_group, ends)
                    SELECT $1, $2, $3, $4, array_agg(type_no ORDER BY type_no), $6, $7, $8 FROM central.type WHERE id = ANY ($5)
                    """, name, title, text, reader, array(asked.map(\.id)), "\(!figuresOnly)", "\(group)", ends)
            }
            try say(
                "Made \(name). Its readers log in as \(reader) with the password \(password), which is shown once.",
                json: [("study", name), ("reader", reader), ("password", password)], if: json)
        }

        private static func type(_ text: String) throws -> (id: String, unit: String?, isCumulative: Bool) {
            if let type = TypeRegistry.standard.resolve(text) {
                return (type.id.rawValue, type.unit, type.aggregation == .cumulative)
            }
            let parts = text.split(separator: ":", maxSplits: 1).map(String.init)
            guard parts.count == 2, parts[0].hasPrefix("x.") || parts[0].hasPrefix("hc.") else {
                let near = TypeRegistry.standard.suggestion(for: text).map { "; did you mean \($0.rawValue)?" } ?? ""
                throw ValidationError("--type \"\(text)\": not in the registry\(near) One of your own: x.NAME:UNIT")
            }
            return (parts[0], parts[1], false)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show all studies.")
        @OptionGroup var place: DatabaseOptions
        @Flag(help: "One JSON document.") var json = false
        func run() async throws {
            try await place.desk().show(
                """
                SELECT name AS study, title, CASE WHEN rows THEN 'records' ELSE 'figures' END AS sees, min_group AS "group", ends, ended::date AS ended,
                    (SELECT count(*) FROM central.offer o WHERE o.study_no = s.study_no) AS hubs,
                    (SELECT count(*) FROM central.consent c WHERE c.study_no = s.study_no AND withdrawn IS NULL) AS persons
                FROM central.study s ORDER BY name
                """, json: json)
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show one study: its hubs, and how many take part in what.")
        @OptionGroup var place: DatabaseOptions
        @Argument var study: String
        @Flag(help: "One JSON document.") var json = false
        func run() async throws {
            try await place.desk().show(
                """
                SELECT h.login AS hub, count(c.*) FILTER (WHERE c.withdrawn IS NULL) AS persons, count(c.withdrawn) AS withdrawn, min(c.given)::date AS first,
                    (SELECT string_agg(DISTINCT t.id, ' ') FROM central.consent x JOIN central.type t ON t.type_no = ANY (x.types)
                        WHERE x.study_no = s.study_no AND x.hub_no = h.hub_no AND x.withdrawn IS NULL) AS types
                FROM central.study s JOIN central.offer o USING (study_no) JOIN central.hub h USING (hub_no) LEFT JOIN central.consent c USING (study_no, hub_no)
                WHERE s.name = $1 GROUP BY h.hub_no, h.login, s.study_no ORDER BY h.login
                """, study, json: json)
        }
    }

    struct Offer: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Offer a study to hubs that are enrolled already.")
        @OptionGroup var place: DatabaseOptions
        @Argument var study: String
        @Argument(help: "Hubs; all, if none is given.") var hubs: [String] = []
        @Flag(help: "One JSON document.") var json = false
        func run() async throws {
            let desk = try await place.desk()
            let names = try hubs.map(hubLogin)
            var count = 0
            try await desk.transaction {
                count = try await desk.ask(
                    """
                    INSERT INTO central.offer SELECT hub_no, study_no FROM central.hub, central.study
                    WHERE name = $1 AND ended IS NULL AND (login = ANY ($2) OR $2 = '{}') ON CONFLICT DO NOTHING RETURNING 1
                    """, study, array(names)
                ).rows.count
            }
            try say("Offered \(study) to \(count) more hubs.", json: [("study", study), ("offered", count)], if: json)
        }
    }

    struct End: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End a study: its consents end, and it takes no more records.",
            discussion: """
                Its readers see nothing any more. Without --erase its records stay until someone
                asks for their erasure. With --erase the next run of erase deletes the records
                that no other consent covers.

                Examples:
                  hub-central-admin study end heart --erase --dry-run
                  hub-central-admin study end heart --erase
                """)
        @OptionGroup var place: DatabaseOptions
        @Argument var study: String
        @Flag(help: "Ask for the erasure of records that no other consent covers.") var erase = false
        @Flag(help: "Print whom it affects, and change nothing.") var dryRun = false
        @Flag(help: "One JSON document.") var json = false

        func run() async throws {
            let desk = try await place.desk()
            guard let reader = try await desk.ask("SELECT reader FROM central.study WHERE name = $1", study)["reader"]
            else {
                throw AdminError("there is no study \(study): hub-central-admin study list")
            }
            let persons =
                Int(
                    try await desk.ask(
                        "SELECT count(*) AS n FROM central.consent JOIN central.study USING (study_no) WHERE name = $1 AND withdrawn IS NULL",
                        study)["n"] ?? "") ?? 0
            if !dryRun {
                try await desk.transaction {
                    try await desk.ask("UPDATE central.study SET ended = coalesce(ended, now()) WHERE name = $1", study)
                    if erase {
                        // Includes persons who withdrew without erasure.
                        try await desk.ask(
                            """
                            INSERT INTO central.erasure (hub_no, person_no) SELECT DISTINCT hub_no, person_no FROM central.consent c JOIN central.study USING (study_no)
                            WHERE name = $1 AND NOT EXISTS (SELECT FROM central.erasure e WHERE (e.hub_no, e.person_no) = (c.hub_no, c.person_no) AND e.done IS NULL)
                            """, study)
                    }
                    try await desk.ask(
                        """
                        UPDATE central.consent c SET withdrawn = now(), pseudonym = gen_random_uuid(), salt = gen_random_uuid() FROM central.study s
                        WHERE s.study_no = c.study_no AND s.name = $1 AND c.withdrawn IS NULL
                        """, study)
                    try await desk.ask("ALTER ROLE \(identifier(reader)) NOLOGIN")
                }
            }
            try say(
                "\(dryRun ? "Would end" : "Ended") \(study), in which \(persons) persons take part\(erase ? "; their records that no other consent covers \(dryRun ? "would go" : "go") with the next hub-central-admin erase" : "").",
                json: [("study", study), ("persons", persons), ("erase", erase), ("dryRun", dryRun)], if: json)
        }
    }
}
